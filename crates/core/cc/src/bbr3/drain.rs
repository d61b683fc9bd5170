//! Drain: what Startup queued is let out.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.3.2.

use super::{Bbr3, State};
use crate::bbr_parts::Gain;
use crate::{AckSample, Ctx};

impl Bbr3 {
    pub(super) fn enter_drain(&mut self, cx: &mut Ctx<'_>) {
        let since = self.round.count;
        self.enter(cx, State::Drain { since });
    }

    /// CheckDrainDone: a BDP or less is in flight, or it has lasted too long (version 3).
    pub(super) fn check_drain_done(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        let State::Drain { since } = self.state else {
            return;
        };
        let is_drained = ack.bytes_in_flight <= self.flight(self.bandwidth(), Gain::UNIT);
        let rounds = self.round.count.saturating_sub(since);
        let is_too_long = self.rules.drain_rounds.is_some_and(|max| rounds > max);
        if is_drained || is_too_long {
            self.start_probe_down(cx);
        }
    }
}
