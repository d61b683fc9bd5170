//! Losses that proved not to be any are discarded.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.5.11.

use super::bounds::{LongTerm, ShortTerm};
use super::{Bbr3, State};
use crate::Ctx;
use units::BitRate;

/// The bounds before the losses, and the state that the losses ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    pub(super) state: Option<State>,
    short_term: ShortTerm,
    long_term: LongTerm,
}

/// The larger of two bounds, of which none is infinite.
fn larger<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    Some(a?.max(b?))
}

impl Bbr3 {
    /// 5.5.11.1 SaveStateUponLoss.
    pub(super) fn save_state(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            short_term: self.short_term,
            long_term: self.long_term,
        };
    }

    /// 5.5.11.2 HandleSpuriousLossDetection, but for the window.
    pub(super) fn undo_losses(&mut self, cx: &mut Ctx<'_>) {
        self.latest.reset_losses();
        self.full_pipe.restart(BitRate::ZERO);
        let before = self.undo.short_term;
        self.short_term = ShortTerm {
            bandwidth: larger(self.short_term.bandwidth, before.bandwidth),
            flight: larger(self.short_term.flight, before.flight),
        };
        self.long_term.flight = larger(self.long_term.flight, self.undo.long_term.flight);
        let is_in_probe_rtt = matches!(self.state, State::ProbeRtt(_));
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.is_reached = false;
                if !is_in_probe_rtt {
                    self.enter(cx, State::Startup);
                }
            }
            Some(State::ProbeUp) if self.state != State::ProbeUp && !is_in_probe_rtt => {
                self.start_probe_refill(cx);
            }
            _ => {}
        }
    }
}
