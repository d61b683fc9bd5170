//! DRAIN: what STARTUP queued is let out.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 section 4.3.3, Linux `bbr_check_drain`.

use super::{Bbr, State};
use crate::bbr_parts::Gain;
use crate::{AckSample, Ctx};

impl Bbr {
    /// 4.3.3 BBRCheckDrain: drains when the pipe is full, until no more than a BDP is in flight.
    pub(super) fn check_drain(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        if self.state == State::Startup && self.full_pipe.is_filled {
            self.state = State::Drain;
            cx.trace.event(cx.now, "drain", self.cwnd.get());
        }
        if self.state == State::Drain
            && self.in_network(ack.bytes_in_flight) <= self.inflight(self.max_bw(), Gain::UNIT)
        {
            self.enter_probe_bw(cx);
        }
    }
}
