//! NewReno.
//!
//! Source: RFC 5681 section 3 (slow start, congestion avoidance, reduction), RFC 6582 (NewReno),
//! RFC 3465 (appropriate byte counting). Windows are in bytes.
//!
//! | section | here |
//! | --- | --- |
//! | RFC 5681 3.1 equation (2), RFC 3465 2.2: cwnd += min(acked, L SMSS) | `reno.rs`, `abc_increase` |
//! | RFC 3465 2.3: L = 2, after a timeout L = 1 | [`ABC_LIMIT`] |
//! | RFC 3465 2.1: one SMSS for each cwnd of acknowledged bytes | `reno.rs`, `ByteCounter` |
//! | RFC 5681 equation (4): ssthresh = max(flight / 2, 2 SMSS) | `reno.rs`, `halved` |
//! | RFC 5681 3.1: ssthresh is held when a timeout repeats | `reno.rs`, `on_loss` |
//! | RFC 5681 4.1: restart window | `on_restart_after_idle` |
//! | RFC 6582 3.2 step 3: cwnd = ssthresh when recovery ends | `on_loss` (the transport's PRR leads there) |
//!
//! *Deviations*
//! - RFC 6582's window inflation (3.2 steps 2 and 3) is not here: the transport has SACK and PRR
//!   (RFC 6937), which replaces it.
//! - cwnd is reduced rather than FlightSize (`window.rs`).
//! - Linux counts every segment of a stretched acknowledgement in slow start; L = 2 is the RFC's
//!   limit and the same while the receiver acknowledges every second segment.

pub use crate::reno::{ABC_LIMIT, ABC_LIMIT_AFTER_TIMEOUT, Config};

use crate::reno::{Reno, halved};
use crate::window::{shows_window, time_stamp};
use crate::{
    AckSample, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd, Sent,
};

/// beta_ecn of standard TCP (RFC 8511 3.1: 0.8).
const ABE_BETA: f64 = 0.8;

/// NewReno: additive increase of one segment a round trip, halving at each congestion event.
#[derive(Clone, Debug)]
pub struct NewReno {
    reno: Reno,
    /// Marks in congestion avoidance reduce the window by RFC 8511.
    is_abe: bool,
}

impl NewReno {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        Self {
            reno: Reno::new(config),
            is_abe: config.is_abe,
        }
    }
}

impl CongestionControl for NewReno {
    fn name(&self) -> &'static str {
        if self.is_abe {
            "newreno-abe"
        } else {
            "newreno"
        }
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        time_stamp(cx.now)
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, ack: &AckSample) {
        if self.reno.may_grow(ack) {
            self.reno.open_window(ack.newly_acked);
        }
        self.reno.window.update_pacing_rate(ack.srtt);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        let is_abe = self.is_abe && loss.kind == LossKind::Ecn;
        self.reno.on_loss(cx, loss, |window| {
            window.reduce_to(if is_abe && !window.in_slow_start() {
                window.cwnd().mul_f64(ABE_BETA)
            } else {
                halved(window.cwnd())
            });
        });
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.reno.on_recovery_end(end);
    }

    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.reno.window.restart_after_idle();
    }
    shows_window!(reno.window);
}
