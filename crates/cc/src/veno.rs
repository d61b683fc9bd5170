//! Veno: Reno that takes a loss without a queue for a random one, and gives way less.
//!
//! Source: Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks",
//! IEEE JSAC 21(2), 2003; beta and the order of steps as in Linux `tcp_veno.c`. Windows are in bytes.
//!
//! | the paper's rule | here |
//! | --- | --- |
//! | N = Actual (RTT - BaseRTT) = Diff BaseRTT, Diff = cwnd / BaseRTT - cwnd / RTT | `backlog_exceeds` |
//! | N < beta = 3: the path is free, otherwise congested | `Veno::is_congested` |
//! | additive increase: a segment each round trip, when congested in every other | `Veno::open_window` |
//! | multiplicative decrease: cwnd 4/5 of it when the path is free, else 1/2 | `reduced` |
//! | slow start and timeouts as Reno | `reno.rs` |
//!
//! *Deviations*
//! - RTT is the smoothed round-trip time; Linux takes that of the last acknowledgement.
//! - A timeout sets ssthresh by the same rule, as in Linux.
//! - A mark (RFC 3168) is no random loss and halves the window; Linux answers it as a loss.
//! - BaseRTT is the least of the connection, as in Linux, and is forgotten after an idle time longer
//!   than a retransmission timeout.
//! - When congested, two windows of acknowledged bytes add one segment; Linux skips every other
//!   increase, which is the same but for a change of state between them.

pub use crate::reno::Config;

use crate::reno::{Reno, halved};
use crate::rtt_round::RttRound;
use crate::window::time_stamp;
use crate::{
    AckSample, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd, Sent,
};
use units::{BitRate, Bytes, Duration};

/// beta: from so many segments in the queue on the path is congested (section III).
pub const BETA_SEGMENTS: u64 = 3;
/// Round trips for one segment when the path is congested.
const CONGESTED_ROUNDS: u64 = 2;

/// N >= beta. N = cwnd (RTT - BaseRTT) / RTT is compared without the division, exactly.
fn backlog_exceeds(cwnd: Bytes, base_rtt: Duration, rtt: Duration, mss: Bytes) -> bool {
    let queueing = rtt.saturating_sub(base_rtt);
    let backlog = u128::from(cwnd.get()) * u128::from(queueing.as_nanos());
    let beta = u128::from((mss * BETA_SEGMENTS).get()) * u128::from(rtt.as_nanos());
    !queueing.is_zero() && backlog >= beta
}

/// The window after a loss: half, or four fifths if it seems random; rounds down.
fn reduced(cwnd: Bytes, is_congested: bool) -> Bytes {
    if is_congested {
        halved(cwnd)
    } else {
        // in this order nothing overflows
        cwnd.saturating_sub(Bytes::new(cwnd.get().div_ceil(5)))
    }
}

/// Veno: Reno with a look at the queue.
#[derive(Clone, Debug)]
pub struct Veno {
    reno: Reno,
    round: RttRound,
    /// The last acknowledgement outside recovery showed beta segments or more in the queue.
    is_congested: bool,
}

impl Veno {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        Self {
            reno: Reno::new(config),
            round: RttRound::default(),
            is_congested: false,
        }
    }

    /// Updates N against beta.
    fn observe(&mut self, ack: &AckSample) {
        self.round.on_ack(ack);
        // the window of a recovery is not the one whose delay is measured
        if !ack.is_recovering
            && let Some(base_rtt) = self.round.base_rtt()
        {
            let window = &self.reno.window;
            self.is_congested = backlog_exceeds(window.cwnd(), base_rtt, ack.srtt, window.mss());
        }
    }

    /// Slow start, then a segment in each round trip, or in every other.
    fn open_window(&mut self, acked: Bytes) {
        let left = self.reno.slow_start(acked);
        let cwnd = self.reno.window.cwnd();
        let per = if self.is_congested {
            cwnd * CONGESTED_ROUNDS
        } else {
            cwnd
        };
        self.reno.add_segment_per(per, left);
    }
}

impl CongestionControl for Veno {
    fn name(&self) -> &'static str {
        "veno"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        time_stamp(cx.now)
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, ack: &AckSample) {
        self.observe(ack);
        if self.reno.may_grow(ack) {
            self.open_window(ack.newly_acked);
        }
        self.reno.window.update_pacing_rate(ack.srtt);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        let is_congested = self.is_congested || loss.kind == LossKind::Ecn;
        self.reno.on_loss(cx, loss, |window| {
            window.reduce_to(reduced(window.cwnd(), is_congested));
        });
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.reno.on_recovery_end(end);
    }

    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.reno.window.restart_after_idle();
        self.round = RttRound::default();
        self.is_congested = false;
    }

    fn cwnd(&self) -> Bytes {
        self.reno.window.cwnd()
    }
    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.reno.window.ssthresh())
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        self.reno.window.pacing_rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuildConfig;
    use crate::rtt_round::tests::{ack, ms};
    use units::{Instant, Streams};

    const MSS: Bytes = Bytes::new(1_000);

    /// A connection outside slow start, window 30 segments, BaseRTT 90 ms.
    fn veno() -> Veno {
        let mut veno = Veno::new(Config::new(BuildConfig {
            mss: MSS,
            initial_window: MSS * 30,
        }));
        veno.reno.window.limit_to(MSS * 30);
        veno.acks(1, ms(90), |ack| ack.newly_acked = Bytes::ZERO);
        veno
    }

    fn with_cx(run: impl FnOnce(&mut Ctx<'_>)) {
        let mut rng = Streams::new(1).stream("cc");
        run(&mut Ctx {
            now: Instant::ZERO,
            rng: &mut rng,
            trace: &mut (),
        });
    }

    impl Veno {
        fn acks(&mut self, segments: u64, rtt: Duration, change: impl Fn(&mut AckSample)) {
            with_cx(|cx| {
                for _ in 0..segments {
                    let mut ack = ack(rtt, false);
                    change(&mut ack);
                    self.on_ack(cx, &ack);
                }
            });
        }

        fn lose(&mut self, kind: LossKind) {
            with_cx(|cx| {
                let loss = LossSample {
                    kind,
                    lost: MSS,
                    bytes_in_flight: Bytes::ZERO,
                    lost_sent_at: Instant::ZERO,
                };
                self.on_loss(cx, &loss);
            });
        }
    }

    #[test]
    fn backlog_n_against_beta() {
        // 30 (100 - 90) / 100 = 3 segments
        let exceeds = |us| backlog_exceeds(MSS * 30, ms(90), Duration::from_micros(us), MSS);
        assert!(!exceeds(90_000) && !exceeds(99_999));
        assert!(exceeds(100_000) && exceeds(500_000));
        assert!(!backlog_exceeds(MSS * 30, ms(90), Duration::ZERO, MSS));
    }

    #[test]
    fn a_random_loss_takes_a_fifth_and_congestion_half() {
        for (rtt_us, kind, left) in [
            (99_000, LossKind::Fast, 24),
            (101_000, LossKind::Fast, 15),
            (99_000, LossKind::Ecn, 15),
        ] {
            let mut veno = veno();
            veno.acks(1, Duration::from_micros(rtt_us), |_| ());
            veno.lose(kind);
            assert_eq!(
                (veno.cwnd(), veno.ssthresh()),
                (MSS * left, Some(MSS * left)),
                "{rtt_us} us {kind:?}"
            );
        }
        assert_eq!(reduced(Bytes::new(9), false), Bytes::new(7));
        assert_eq!(reduced(Bytes::MAX, false).get(), u64::MAX / 5 * 4);
    }

    #[test]
    fn a_recovery_does_not_change_what_was_seen_before_it() {
        let mut veno = veno();
        veno.acks(1, ms(101), |_| ());
        veno.acks(10, ms(90), |ack| ack.is_recovering = true);
        veno.lose(LossKind::Fast);
        assert_eq!(veno.cwnd(), MSS * 15);
    }

    #[test]
    fn congestion_halves_the_increase() {
        let mut free = veno();
        free.acks(30, ms(95), |_| ());
        assert_eq!(free.cwnd(), MSS * 31);
        let mut congested = veno();
        congested.acks(59, ms(110), |_| ());
        assert_eq!(congested.cwnd(), MSS * 30);
        congested.acks(1, ms(110), |_| ());
        assert_eq!(congested.cwnd(), MSS * 31);
    }
}
