//! Westwood+: after a loss the window is what the path has been seen to carry, not half.
//!
//! Source: Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and
//! Vegas TCP congestion control", ACM CCR 34(2), 2004; Mascolo et al., "TCP Westwood: bandwidth
//! estimation for enhanced transport over wireless links", MobiCom 2001; rules of Linux
//! `tcp_westwood.c` where stated. Windows are in bytes, bandwidths in bit/s.
//!
//! | rule of the paper | here |
//! | --- | --- |
//! | on each round trip: b_k = d_k / Delta_k, acknowledged data over the time it took | `Bandwidth::on_ack` |
//! | filter: B_k = a B_(k-1) + (1 - a) b_k, a = 0.9 | `filtered` |
//! | three duplicate acknowledgements: ssthresh = max(2, BWE RTTmin / mss), cwnd = ssthresh | `on_loss` |
//! | timeout: the same ssthresh, cwnd = 1 | `on_loss` |
//! | otherwise as Reno | `reno.rs` |
//!
//! *Deviations*
//! - The filter begins with the first sample, as Mascolo's own change of 2006 to Linux has it, not
//!   with zero, which would hold the estimate low for 20 round trips.
//! - Linux filters twice with 7/8, and never more often than each 50 ms, for its clock is coarse;
//!   the paper's filter and its round trips are used here.
//! - Linux sets the window when the recovery ends; here it is set when the loss is found, as in the
//!   paper, and PRR leads the flight there.
//! - cwnd falls to ssthresh but is never raised to it by a loss: where the estimate is above cwnd,
//!   slow start goes on (MobiCom 2001: "if cwin > ssthresh").
//! - A timeout drops RTTmin once ssthresh is set, by the same change: the path may have changed.
//! - A timeout within a recovery keeps the ssthresh that the recovery began with, as RFC 5681 has it
//!   for all controllers here; Linux would compute it again.
//! - Without an estimate (a loss in the first two round trips) the window is halved.
//! - An idle time longer than a retransmission timeout is left out of the samples.

pub use crate::reno::Config;

use crate::reno::{Reno, halved};
use crate::window::{shows_window, time_stamp};
use crate::{
    AckSample, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd, Sent,
};
use units::{BitRate, Bytes, Duration, Instant};

/// The filter keeps so many tenths of the old estimate (a = 0.9).
const KEPT_TENTHS: u128 = 9;

/// B_k = 0.9 B_(k-1) + 0.1 b_k; rounds down.
fn filtered(estimate: BitRate, sample: BitRate) -> BitRate {
    let sum = u128::from(estimate.as_bps()) * KEPT_TENTHS
        + u128::from(sample.as_bps()) * (10 - KEPT_TENTHS);
    BitRate::from_bps(u64::try_from(sum / 10).unwrap_or(u64::MAX))
}

/// BWE, the low-pass filtered rate of acknowledged data.
#[derive(Clone, Copy, Debug, Default)]
struct Bandwidth {
    /// BWE; none before a whole round trip has been seen.
    estimate: Option<BitRate>,
    /// When the round being measured began.
    since: Option<Instant>,
    /// d_k: payload acknowledged since.
    acked: Bytes,
}

impl Bandwidth {
    /// Counts an acknowledgement; the one that begins a round is the last of the round before.
    fn on_ack(&mut self, now: Instant, acked: Bytes, is_round_start: bool) {
        self.acked += acked;
        if !is_round_start {
            return;
        }
        if let Some(since) = self.since {
            let elapsed = now.saturating_since(since);
            if elapsed.is_zero() {
                return; // goes into the next sample
            }
            let sample = BitRate::from_bytes_per(self.acked, elapsed);
            self.estimate = Some(match self.estimate {
                Some(estimate) => filtered(estimate, sample),
                None => sample,
            });
        }
        self.since = Some(now);
        self.acked = Bytes::ZERO;
    }

    /// Leaves the time until the next round out; the estimate stays.
    fn pause(&mut self) {
        self.since = None;
        self.acked = Bytes::ZERO;
    }
}

/// Westwood+: Reno whose ssthresh after a loss is the estimated bandwidth-delay product.
#[derive(Clone, Debug)]
pub struct Westwood {
    reno: Reno,
    bandwidth: Bandwidth,
    /// RTTmin; none before the first sample, and after a timeout.
    min_rtt: Option<Duration>,
}

impl Westwood {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        Self {
            reno: Reno::new(config),
            bandwidth: Bandwidth::default(),
            min_rtt: None,
        }
    }

    /// BWE RTTmin, which fills the pipe and leaves no queue.
    fn bdp(&self) -> Option<Bytes> {
        Some(self.bandwidth.estimate?.bytes_in(self.min_rtt?))
    }
}

impl CongestionControl for Westwood {
    fn name(&self) -> &'static str {
        "westwood"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        time_stamp(cx.now)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        self.bandwidth
            .on_ack(cx.now, ack.newly_acked, ack.is_round_start);
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        if self.reno.may_grow(ack) {
            self.reno.open_window(ack.newly_acked);
        }
        self.reno.window.update_pacing_rate(ack.srtt);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        let bdp = self.bdp();
        self.reno.on_loss(cx, loss, |window| {
            window.limit_to(bdp.unwrap_or_else(|| halved(window.cwnd())));
        });
        if loss.kind == LossKind::Timeout {
            self.min_rtt = None;
        }
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.reno.on_recovery_end(end);
    }

    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.reno.window.restart_after_idle();
        self.bandwidth.pause();
    }
    shows_window!(reno.window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuildConfig;
    use crate::rtt_round::tests::{ack, ms};
    use units::Streams;

    const MSS: Bytes = Bytes::new(1_000);

    fn at(time: u64) -> Instant {
        Instant::ZERO + ms(time)
    }

    #[test]
    fn filter_keeps_nine_tenths() {
        let (old, new) = (BitRate::from_mbps(10), BitRate::from_mbps(20));
        assert_eq!(filtered(old, new), BitRate::from_mbps(11));
        assert_eq!(filtered(new, BitRate::ZERO), BitRate::from_mbps(18));
        assert_eq!(filtered(BitRate::MAX, BitRate::MAX), BitRate::MAX);
    }

    #[test]
    fn a_sample_is_the_acknowledged_data_of_a_round_over_its_time() {
        let mut bandwidth = Bandwidth::default();
        bandwidth.on_ack(at(100), MSS, true);
        assert_eq!(bandwidth.estimate, None);
        for i in 1..10 {
            bandwidth.on_ack(at(100 + i), MSS, false);
        }
        // 10 kB in 20 ms
        bandwidth.on_ack(at(120), MSS, true);
        assert_eq!(bandwidth.estimate, Some(BitRate::from_mbps(4)));
        // 20 kB in 10 ms are 16 Mbit/s: 3.6 + 1.6
        bandwidth.on_ack(at(130), MSS * 20, true);
        assert_eq!(bandwidth.estimate, Some(BitRate::from_bps(5_200_000)));
        // a pause is not measured
        bandwidth.pause();
        bandwidth.on_ack(at(9_000), MSS, true);
        assert_eq!(bandwidth.estimate, Some(BitRate::from_bps(5_200_000)));
    }

    /// 5 segments each 10 ms, RTTmin 40 ms: 4 Mbit/s, 20 segments; the window is 30.
    fn westwood() -> Westwood {
        let mut westwood = Westwood::new(Config::new(BuildConfig {
            mss: MSS,
            initial_window: MSS * 30,
        }));
        westwood.min_rtt = Some(ms(40));
        westwood.bandwidth.estimate = Some(BitRate::from_mbps(4));
        westwood
    }

    fn lose(westwood: &mut Westwood, kind: LossKind) {
        let mut rng = Streams::new(1).stream("cc");
        let mut cx = Ctx {
            now: at(0),
            rng: &mut rng,
            trace: &mut (),
        };
        let loss = LossSample {
            kind,
            lost: MSS,
            bytes_in_flight: MSS * 29,
            lost_sent_at: at(0),
        };
        westwood.on_loss(&mut cx, &loss);
    }

    #[test]
    fn a_loss_leaves_bwe_times_rtt_min() {
        for kind in [LossKind::Fast, LossKind::Ecn] {
            let mut westwood = westwood();
            lose(&mut westwood, kind);
            assert_eq!(
                (westwood.cwnd(), westwood.ssthresh()),
                (MSS * 20, Some(MSS * 20))
            );
        }
        let mut westwood = westwood();
        lose(&mut westwood, LossKind::Timeout);
        assert_eq!(
            (westwood.cwnd(), westwood.ssthresh()),
            (MSS, Some(MSS * 20))
        );
    }

    #[test]
    fn an_estimate_above_the_window_does_not_raise_it() {
        let mut westwood = westwood();
        westwood.bandwidth.estimate = Some(BitRate::from_mbps(10));
        lose(&mut westwood, LossKind::Fast);
        assert_eq!(
            (westwood.cwnd(), westwood.ssthresh()),
            (MSS * 30, Some(MSS * 50))
        );
    }

    #[test]
    fn b_k_closes_in_on_a_new_rate_by_a_tenth_a_round() {
        // from 4 to 8 Mbit/s: what is missing is 4 * 0.9^k, 2.3620 after five rounds
        let mut bandwidth = Bandwidth {
            estimate: Some(BitRate::from_mbps(4)),
            since: Some(at(0)),
            acked: Bytes::ZERO,
        };
        for k in 1..=5 {
            bandwidth.on_ack(at(20 * k), MSS * 20, true);
        }
        assert_eq!(bandwidth.estimate, Some(BitRate::from_bps(5_638_040)));
    }

    #[test]
    fn a_timeout_within_a_recovery_keeps_its_ssthresh() {
        let mut westwood = westwood();
        lose(&mut westwood, LossKind::Fast);
        westwood.bandwidth.estimate = Some(BitRate::from_mbps(1));
        lose(&mut westwood, LossKind::Timeout);
        assert_eq!(
            (westwood.cwnd(), westwood.ssthresh()),
            (MSS, Some(MSS * 20))
        );
    }

    #[test]
    fn at_least_two_segments_and_a_new_rtt_min_after_a_timeout() {
        let mut westwood = westwood();
        westwood.bandwidth.estimate = Some(BitRate::from_bps(1));
        lose(&mut westwood, LossKind::Timeout);
        assert_eq!(westwood.ssthresh(), Some(MSS * 2));
        let mut rng = Streams::new(1).stream("cc");
        let mut cx = Ctx {
            now: at(1_000),
            rng: &mut rng,
            trace: &mut (),
        };
        westwood.on_ack(&mut cx, &ack(ms(70), false));
        assert_eq!(westwood.min_rtt, Some(ms(70)));
    }
}
