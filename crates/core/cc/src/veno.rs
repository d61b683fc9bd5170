//! Veno: Reno that takes a loss without a queue for a random one, and gives way less.
//!
//! Source: Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks",
//! IEEE JSAC 21(2), 2003. Windows are in bytes.
//!
//! | the paper's rule | here |
//! | --- | --- |
//! | N = Actual (RTT - BaseRTT) = Diff BaseRTT, Diff = cwnd / BaseRTT - cwnd / RTT | `backlog_exceeds` |
//! | N < beta = 3: the path is free, otherwise congested | `Veno::is_congested` |
//! | additive increase: 1 / cwnd for each acknowledgement, when congested for every other | `Veno::open_window` |
//! | multiplicative decrease: cwnd 4/5 of it when the path is free, else 1/2 | `reduced` |
//! | slow start as Reno, also after a timeout, which always halves ssthresh | `Veno::on_loss` |
//! | BaseRTT is measured afresh from each packet loss on | `Veno::on_loss` |
//!
//! *Deviations*
//! - Bytes are counted rather than acknowledgements: half of them when congested.
//! - A mark (RFC 3168) is no random loss: it halves the window and leaves BaseRTT.
//! - BaseRTT expires after an idle time longer than a retransmission timeout, too.
//! - N is not looked at in a recovery, whose window is not the one that is delayed.
//!
//! *Linux and ns-3* take the last sample for RTT where the paper smooths it, keep BaseRTT for the
//! whole connection, and leave 4/5 after a timeout too; Linux skips every other increase.

pub use crate::reno::Config;

use crate::reno::{Reno, halved};
use crate::rtt_round::RttRound;
use crate::window::{shows_window, time_stamp};
use crate::{
    AckSample, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd, Sent,
};
use units::{Bytes, Duration};

/// beta: from so many segments in the queue on the path is congested (section III).
pub const BETA_SEGMENTS: u64 = 3;
/// One of so many acknowledged bytes counts when the path is congested.
const CONGESTED_SHARE: u64 = 2;

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

    /// Slow start, then a segment in each round trip, or in every other; half bytes are dropped.
    fn open_window(&mut self, acked: Bytes) {
        let left = self.reno.slow_start(acked);
        let counted = if self.is_congested {
            left / CONGESTED_SHARE
        } else {
            left
        };
        self.reno.add_segment_per(self.reno.window.cwnd(), counted);
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
        // neither a mark nor a timeout is a random loss
        let is_congested = self.is_congested || loss.kind != LossKind::Fast;
        self.reno.on_loss(cx, loss, |window| {
            window.reduce_to(reduced(window.cwnd(), is_congested));
        });
        if loss.kind != LossKind::Ecn {
            self.round = RttRound::default();
        }
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.reno.on_recovery_end(end);
    }

    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.reno.window.restart_after_idle();
        self.round = RttRound::default();
        self.is_congested = false;
    }
    shows_window!(reno.window);
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
            (99_000, LossKind::Timeout, 15),
        ] {
            let mut veno = veno();
            veno.acks(1, Duration::from_micros(rtt_us), |_| ());
            veno.lose(kind);
            assert_eq!(veno.ssthresh(), Some(MSS * left), "{rtt_us} us {kind:?}");
            let cwnd = match kind {
                LossKind::Timeout => MSS,
                _ => MSS * left,
            };
            assert_eq!(veno.cwnd(), cwnd, "{rtt_us} us {kind:?}");
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
    fn a_packet_loss_resets_base_rtt_and_a_mark_does_not() {
        // 24 segments, RTT 110 ms: with BaseRTT 90 ms 24 * 20 / 110 = 4.4 are queued, with 100 ms
        // 2.2
        for (kind, is_congested) in [(LossKind::Fast, false), (LossKind::Ecn, true)] {
            let mut veno = veno();
            veno.lose(kind);
            veno.reno.window.limit_to(MSS * 24);
            veno.reno.window.grow(MSS * 24 - veno.cwnd());
            let recovering = kind == LossKind::Fast;
            veno.acks(1, ms(100), |ack| ack.is_recovering = recovering);
            veno.acks(1, ms(110), |ack| ack.newly_acked = Bytes::ZERO);
            assert_eq!(veno.is_congested, is_congested, "{kind:?}");
        }
    }

    #[test]
    fn what_was_counted_while_congested_is_half_of_what_was_acknowledged() {
        // 30 of 30 acknowledged while congested count 15, 15 more when the path is free complete
        // the window
        let mut veno = veno();
        veno.acks(30, ms(110), |_| ());
        veno.acks(14, ms(95), |_| ());
        assert_eq!(veno.cwnd(), MSS * 30);
        veno.acks(1, ms(95), |_| ());
        assert_eq!(veno.cwnd(), MSS * 31);
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
