//! DCTCP: a window that falls in proportion to the share of data that was marked.
//!
//! Source: RFC 8257 sections 3.3 to 3.5, held against Linux `tcp_dctcp.c`. Windows are in bytes,
//! alpha and the share of marked data are ratios from 0 to 1.
//!
//! | section | here |
//! | --- | --- |
//! | 3.3 steps 1 to 3, 8: bytes acknowledged, and those of them that were marked | `marks::Observation` |
//! | 3.3 step 5: M = marked / acknowledged | `marks::Observation::share` |
//! | 3.3 step 6: alpha = alpha (1 - g) + g M | `marks::smoothed` |
//! | 3.3 step 9: cwnd = cwnd (1 - alpha / 2) | `marks::reduced` |
//! | 3.4: growth, slow start and restart as Reno | `reno.rs` |
//! | 3.5: a loss halves, whatever alpha is; one reduction a window of data | `on_loss` |
//!
//! The receiver's half, an echo that reports of each packet whether it was marked (3.2), and the rule
//! that a window is reduced once for each window of data are the transport's. Without marks (ECN is
//! off, or the queues do not mark) it is NewReno, as in Linux.
//!
//! *Deviations*
//! - Windows of observation are the transport's round trips, which begin at a delivery instead of at
//!   a position.
//! - The window falls with the first echo of a round trip, by the alpha of the round trips before, as
//!   in Linux; step 9 stands behind the update of alpha. A connection's first echo finds alpha at 1
//!   and halves, as 3.3 needs of a new connection.
//! - alpha is a number of f64, computed by `+ - * /` only, not Linux's ten bits (with which it cannot
//!   fall below 1/64).

pub use crate::reno::Config;

use crate::marks::{Observation, reduced, smoothed};
use crate::reno::{Reno, halved};
use crate::window::{shows_window, time_stamp};
use crate::{
    AckSample, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd, Sent,
};

/// alpha of a new connection, of whose marks nothing is known (3.3: 1).
pub const INITIAL_ALPHA: f64 = 1.0;

/// DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    observation: Observation,
    /// RFC 8257's alpha (3.3 step 6): the smoothed share of marked data; 0 to 1.
    alpha: f64,
}

impl Dctcp {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        Self {
            reno: Reno::new(config),
            observation: Observation::default(),
            alpha: INITIAL_ALPHA,
        }
    }

    /// RFC 8257's alpha (3.3 step 6): the smoothed share of data that was marked, 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The end of a round trip.
    fn update_alpha(&mut self, cx: &mut Ctx<'_>) {
        if let Some(share) = self.observation.share() {
            self.alpha = smoothed(self.alpha, share);
            let per_mille = (self.alpha * 1000.0) as u64;
            cx.trace.event(cx.now, "alpha_per_mille", per_mille);
        }
        self.observation = Observation::default();
    }
}

impl CongestionControl for Dctcp {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        time_stamp(cx.now)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        self.observation.add(ack);
        if ack.is_round_start {
            self.update_alpha(cx);
        }
        if self.reno.may_grow(ack) {
            self.reno.open_window(ack.newly_acked);
        }
        self.reno.window.update_pacing_rate(ack.srtt);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        let alpha = self.alpha;
        self.reno.on_loss(cx, loss, |window| {
            let cwnd = window.cwnd();
            window.reduce_to(match loss.kind {
                LossKind::Ecn => reduced(cwnd, alpha),
                LossKind::Fast | LossKind::Timeout => halved(cwnd),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuildConfig;
    use crate::marks::tests::Bench;
    use crate::rtt_round::tests::{ack, ms};
    use units::Bytes;

    const MSS: Bytes = Bytes::new(1_000);

    /// A connection outside slow start with a window of 100 segments, in a recovery.
    fn connection(alpha: f64) -> Bench<Dctcp> {
        let mut dctcp = Dctcp::new(Config::new(BuildConfig {
            mss: MSS,
            initial_window: MSS * 100,
        }));
        dctcp.alpha = alpha;
        dctcp.reno.window.leave_slow_start();
        let mut bench = Bench::new(dctcp);
        bench.is_recovering = true;
        bench
    }

    /// A round trip of 20 acknowledged segments, of which so many were marked.
    fn round(bench: &mut Bench<Dctcp>, marked: u32) {
        bench.round(ms(10), 20, marked);
    }

    #[test]
    fn rfc_8257_3_3_step_6_alpha_decays_by_a_sixteenth_each_round_trip() {
        let mut bench = connection(INITIAL_ALPHA);
        for k in 1..=40 {
            round(&mut bench, 0);
            let expected = (15.0_f64 / 16.0).powi(k);
            assert!((bench.cc.alpha() - expected).abs() < 1e-12, "round {k}");
        }
        // 10 of 20 marked: from 0 it closes in on one half
        let mut bench = connection(0.0);
        round(&mut bench, 10);
        assert_eq!(bench.cc.alpha(), 0.5 / 16.0);
        round(&mut bench, 10);
        assert_eq!(bench.cc.alpha(), 0.5 / 16.0 * 15.0 / 16.0 + 0.5 / 16.0);
        for _ in 0..500 {
            round(&mut bench, 10);
        }
        assert!((bench.cc.alpha() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn rfc_8257_3_3_step_5_the_share_is_of_bytes() {
        let mut observation = Observation::default();
        assert_eq!(observation.share(), None);
        let mut large = ack(ms(10), false);
        large.newly_acked = Bytes::new(3_000);
        observation.add(&large);
        large.newly_acked = Bytes::new(1_000);
        large.newly_marked = large.newly_acked;
        observation.add(&large);
        assert_eq!(observation.share(), Some(0.25));
    }

    #[test]
    fn rfc_8257_3_3_step_9_the_window_falls_by_half_of_alpha() {
        for (alpha, left) in [
            (1.0, 50_000),
            (0.5, 75_000),
            (0.125, 93_750),
            (0.0, 100_000),
        ] {
            let mut bench = connection(alpha);
            bench.react(LossKind::Ecn);
            let left = Bytes::new(left);
            assert_eq!(bench.cc.cwnd(), left, "alpha {alpha}");
            assert_eq!(bench.cc.ssthresh(), Some(left), "alpha {alpha}");
        }
    }

    #[test]
    fn rfc_8257_3_5_a_loss_is_answered_as_by_reno() {
        let mut bench = connection(0.01);
        bench.react(LossKind::Fast);
        assert_eq!(bench.cc.cwnd(), MSS * 50);
        let mut bench = connection(0.01);
        bench.react(LossKind::Timeout);
        assert_eq!(
            (bench.cc.cwnd(), bench.cc.ssthresh()),
            (MSS, Some(MSS * 50))
        );
    }

    #[test]
    fn a_round_trip_in_which_nothing_was_acknowledged_leaves_alpha() {
        let mut bench = connection(0.3);
        let mut empty = ack(ms(10), true);
        empty.newly_acked = Bytes::ZERO;
        bench.with(|dctcp, cx| dctcp.on_ack(cx, &empty));
        assert_eq!(bench.cc.alpha(), 0.3);
    }
}
