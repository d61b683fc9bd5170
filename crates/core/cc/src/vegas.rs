//! Vegas: keeps two to four packets in the queue, and needs no loss to learn of one.
//!
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet",
//! IEEE JSAC 13(8), 1995; where stated, Linux `tcp_vegas.c`. Windows are in bytes.
//!
//! | the paper's mechanism | here |
//! | --- | --- |
//! | Expected = cwnd / BaseRTT, Actual = cwnd / RTT, Diff = Expected - Actual | `rtt_round.rs` |
//! | congestion avoidance: Diff < alpha, cwnd + 1; Diff > beta, cwnd - 1, once a round trip | `step` |
//! | modified slow start: the window grows in every other round trip and stays in those between | `Vegas::end_slow_start_round` |
//! | it ends when Diff > gamma, one buffer | `Vegas::end_slow_start_round` |
//!
//! alpha, beta and gamma are numbers of buffers: they are compared with Diff * BaseRTT, the packets
//! in the queue. [`SlowStart`] chooses between the paper's slow start and that of Linux.
//!
//! *Deviations*
//! - The paper only changes its mode where slow start ends, the authors' code takes an eighth of the
//!   window. Here the queue that was measured leaves it but for one segment, as in Linux.
//! - In congestion avoidance RTT is the smallest of the round, as in Linux, not that of one
//!   distinguished segment: a delayed acknowledgement is no queue. In the paper's slow start it is
//!   the distinguished segment's, the first one of the round in which the window stays: those before
//!   it left in bursts while the window grew.
//! - Linux computes Diff * BaseRTT as cwnd (RTT - BaseRTT) / BaseRTT, and rounds it down to whole
//!   segments. The paper's Diff gives cwnd (RTT - BaseRTT) / RTT, which is used here, in bytes.
//! - A round with fewer than three samples is Reno's, as in Linux.
//! - A loss or a mark halves the window, as in Linux; the paper's finer retransmission timer is the
//!   transport's matter (RACK), as is not to reduce twice for losses of one round trip.
//! - Linux drops BaseRTT whenever it sends with nothing in flight, here only after an idle time
//!   longer than a retransmission timeout.
//! - The window grows only while it limits the sender.

pub use crate::reno::Config;

use crate::reno::{Reno, halved};
use crate::rtt_round::{PathDelay, Round, RttRound};
use crate::window::{shows_window, time_stamp};
use crate::{AckSample, CongestionControl, Ctx, LossSample, PacketStamp, RecoveryEnd, Sent};
use units::Bytes;

/// With fewer segments queued the window grows (the paper measures with 1 and 2; Linux 2).
pub const ALPHA_SEGMENTS: u64 = 2;
/// With more segments queued it shrinks (the paper measures with 3 and 4; Linux 4).
pub const BETA_SEGMENTS: u64 = 4;
/// With more segments queued slow start ends.
pub const GAMMA_SEGMENTS: u64 = 1;

/// When slow start opens the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStart {
    /// In every other round trip, as in the paper: in those between the window stays, so that the
    /// delay at their end is that of a steady window. It is left with a queue of at most one
    /// bandwidth-delay product.
    EveryOtherRound,
    /// In every round trip, as in Linux. The window has doubled up to twice since the packets were
    /// sent whose delay is measured, so it may be left with four bandwidth-delay products in flight,
    /// which shrink by a segment a round.
    EveryRound,
}

/// What a round's queue requests outside slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Up,
    Stay,
    Down,
}

/// The congestion avoidance rule: between alpha and beta segments shall be queued.
fn step(queued: Bytes, mss: Bytes) -> Step {
    if queued < mss * ALPHA_SEGMENTS {
        Step::Up
    } else if queued > mss * BETA_SEGMENTS {
        Step::Down
    } else {
        Step::Stay
    }
}

/// Slow start's end: the window that the actual rate needs, cwnd BaseRTT / RTT, and one segment
/// (Linux).
fn window_without_queue(cwnd: Bytes, queued: Bytes, mss: Bytes) -> Bytes {
    cwnd.saturating_sub(queued) + mss
}

/// Vegas: the window follows the measured queue, one segment a round trip.
#[derive(Clone, Debug)]
pub struct Vegas {
    reno: Reno,
    round: RttRound,
    slow_start: SlowStart,
    /// Slow start keeps the window in this round, to measure its queue.
    is_held: bool,
}

impl Vegas {
    /// A controller at the start of a connection, with the paper's slow start.
    pub fn new(config: Config) -> Self {
        Self {
            reno: Reno::new(config),
            round: RttRound::default(),
            slow_start: SlowStart::EveryOtherRound,
            is_held: false,
        }
    }

    /// The same with Linux's slow start.
    pub fn linux(config: Config) -> Self {
        Self {
            slow_start: SlowStart::EveryRound,
            ..Self::new(config)
        }
    }

    /// Once each round trip outside slow start: compares the queue with the thresholds.
    fn avoid_congestion(&mut self, ack: &AckSample, delay: PathDelay) {
        let window = &mut self.reno.window;
        let (cwnd, mss) = (window.cwnd(), window.mss());
        match step(delay.queued(cwnd), mss) {
            Step::Up if ack.is_cwnd_limited => window.grow(mss),
            Step::Down => window.close_to(cwnd.saturating_sub(mss)),
            Step::Up | Step::Stay => {}
        }
    }

    /// Once each round trip in slow start: where a queue can be measured, it goes on or ends.
    fn end_slow_start_round(&mut self, cx: &mut Ctx<'_>, ack: &AckSample, delay: PathDelay) {
        let Some(delay) = self.steady_delay(ack, delay) else {
            self.is_held = true;
            return;
        };
        self.is_held = false;
        let window = &mut self.reno.window;
        let (cwnd, mss) = (window.cwnd(), window.mss());
        let queued = delay.queued(cwnd);
        if queued > mss * GAMMA_SEGMENTS {
            window.close_to(window_without_queue(cwnd, queued, mss));
            cx.trace
                .event(cx.now, "vegas_gamma", self.reno.window.cwnd().get());
        } else if ack.is_cwnd_limited {
            self.reno.slow_start(ack.newly_acked);
        }
    }

    /// The delay that slow start may compare with gamma, if the round gave it. In the paper's, that
    /// of the segment whose acknowledgement ends a round in which the window stayed.
    fn steady_delay(&self, ack: &AckSample, round: PathDelay) -> Option<PathDelay> {
        match self.slow_start {
            SlowStart::EveryRound => Some(round),
            SlowStart::EveryOtherRound if self.is_held => Some(PathDelay {
                rtt: ack.rtt?,
                ..round
            }),
            SlowStart::EveryOtherRound => None,
        }
    }
}

impl CongestionControl for Vegas {
    fn name(&self) -> &'static str {
        match self.slow_start {
            SlowStart::EveryOtherRound => "vegas",
            SlowStart::EveryRound => "vegas-linux",
        }
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        time_stamp(cx.now)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        let may_grow = self.reno.may_grow(ack);
        match self.round.on_ack(ack) {
            // while losses are repaired, delays are no measure of the window
            _ if ack.is_recovering => {
                if may_grow {
                    self.reno.open_window(ack.newly_acked);
                }
            }
            Round::Running => {
                if may_grow && !self.is_held {
                    self.reno.slow_start(ack.newly_acked);
                }
            }
            Round::Unclear => {
                self.is_held = false;
                if may_grow {
                    self.reno.open_window(ack.newly_acked);
                }
            }
            Round::Ended(delay) if self.reno.window.in_slow_start() => {
                self.end_slow_start_round(cx, ack, delay);
            }
            Round::Ended(delay) => self.avoid_congestion(ack, delay),
        }
        self.reno.window.update_pacing_rate(ack.srtt);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        self.reno
            .on_loss(cx, loss, |window| window.reduce_to(halved(window.cwnd())));
        self.is_held = false;
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.reno.on_recovery_end(end);
        self.round.restart();
    }

    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.reno.window.restart_after_idle();
        self.round = RttRound::default();
        self.is_held = false;
    }
    shows_window!(reno.window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuildConfig;
    use crate::rtt_round::tests::{ack, ms};
    use units::{Duration, Instant, Streams};

    const MSS: Bytes = Bytes::new(1_000);

    fn config() -> Config {
        Config::new(BuildConfig {
            mss: MSS,
            initial_window: MSS * 20,
        })
    }

    /// A connection with BaseRTT 80 ms and a window of 20 segments.
    fn vegas(ssthresh: Bytes) -> Vegas {
        with_base_rtt(Vegas::new(config()), ssthresh)
    }

    fn with_base_rtt(mut vegas: Vegas, ssthresh: Bytes) -> Vegas {
        vegas.reno.window.limit_to(ssthresh);
        // a limited sender would open its window
        vegas.on_acks(&[ms(80)], |ack| ack.is_cwnd_limited = false);
        vegas
    }

    impl Vegas {
        /// Acknowledgements of which the last ends the round.
        fn on_acks(&mut self, rtts: &[Duration], change: impl Fn(&mut AckSample)) {
            let mut rng = Streams::new(1).stream("cc");
            let mut cx = Ctx {
                now: Instant::ZERO,
                rng: &mut rng,
                trace: &mut (),
            };
            for (i, &rtt) in rtts.iter().enumerate() {
                let mut ack = ack(rtt, i + 1 == rtts.len());
                change(&mut ack);
                self.on_ack(&mut cx, &ack);
            }
        }
    }

    #[test]
    fn congestion_avoidance_compares_diff_with_alpha_and_beta() {
        // 20 segments, BaseRTT 80 ms: n queued for RTT = 80 / (1 - n / 20), so 2 for 88.9 ms, 4 for
        // 100 ms
        for (rtt_us, expected) in [
            (80_000, 21),
            (88_880, 21),
            (88_889, 20),
            (99_999, 20),
            (100_000, 20),
            (100_010, 19),
            (200_000, 19),
        ] {
            let mut vegas = vegas(MSS * 20);
            vegas.on_acks(&[Duration::from_micros(rtt_us); 3], |_| ());
            assert_eq!(vegas.cwnd(), MSS * expected, "{rtt_us} us");
        }
    }

    #[test]
    fn the_least_sample_of_the_round_decides_once() {
        let mut vegas = vegas(MSS * 20);
        vegas.on_acks(&[ms(150), ms(90), ms(150), ms(150)], |_| ());
        assert_eq!(vegas.cwnd(), MSS * 20);
        vegas.on_acks(&[ms(150); 30], |_| ());
        assert_eq!(vegas.cwnd(), MSS * 19);
    }

    /// A round of so many acknowledgements, of which the last one has a delay of its own.
    fn round(acks: usize, others: Duration, last: Duration) -> Vec<Duration> {
        let mut rtts = vec![others; acks - 1];
        rtts.push(last);
        rtts
    }

    #[test]
    fn slow_start_doubles_the_window_in_every_other_round() {
        let mut vegas = Vegas::new(config());
        // the first acknowledgement begins the first round, the nineteen others follow
        vegas.on_acks(&[ms(80)], |_| ());
        for (grown, held) in [(19, 40), (39, 80), (79, 160)] {
            vegas.on_acks(&round(grown + 1, ms(80), ms(80)), |_| ());
            assert_eq!(vegas.cwnd(), MSS * held, "grown");
            vegas.on_acks(&[ms(80); 10], |_| ());
            // the acknowledgement that ends the round is the first to open the window again
            assert_eq!(vegas.cwnd(), MSS * (held + 1), "kept for a round");
        }
        assert_eq!(vegas.ssthresh(), Some(Bytes::MAX));
    }

    #[test]
    fn slow_start_ends_above_gamma_by_the_segment_sent_into_a_steady_window() {
        // With BaseRTT 80 ms and 40 segments, 82 ms are 40 * 2 / 82 = 0.98 queued, 84 ms 1.905: the
        // actual rate needs 38.096 segments. The bursts of the round before are not looked at.
        for (last, cwnd, ends) in [(82, 41_000, false), (84, 39_096, true)] {
            let mut vegas = Vegas::new(config());
            vegas.on_acks(&[ms(80)], |_| ());
            vegas.on_acks(&round(20, ms(80), ms(120)), |_| ());
            assert_eq!(vegas.cwnd(), MSS * 40);
            vegas.on_acks(&round(40, ms(120), ms(last)), |_| ());
            let cwnd = Bytes::new(cwnd);
            let ssthresh = if ends { cwnd } else { Bytes::MAX };
            assert_eq!((vegas.cwnd(), vegas.ssthresh()), (cwnd, Some(ssthresh)));
        }
    }

    #[test]
    fn a_held_window_waits_for_a_sample_of_the_distinguished_segment() {
        let mut vegas = Vegas::new(config());
        vegas.on_acks(&[ms(80)], |_| ());
        vegas.on_acks(&[ms(80); 20], |_| ());
        // one that was sent again gives no sample, so another round is waited for
        vegas.on_acks(&[ms(80); 40], |ack| {
            ack.rtt = ack.rtt.filter(|_| !ack.is_round_start);
        });
        assert_eq!(vegas.cwnd(), MSS * 40);
        vegas.on_acks(&[ms(80); 40], |_| ());
        assert_eq!(vegas.cwnd(), MSS * 41);
    }

    #[test]
    fn linux_slow_start_measures_each_round_and_goes_on_meanwhile() {
        // RTT 100 ms: 4 of 20 queued, the rate needs 16
        let linux = || with_base_rtt(Vegas::linux(config()), Bytes::MAX);
        let unlimited = |ack: &mut AckSample| ack.is_cwnd_limited = false;
        let mut slow = linux();
        slow.on_acks(&[ms(100); 3], unlimited);
        assert_eq!((slow.cwnd(), slow.ssthresh()), (MSS * 17, Some(MSS * 17)));
        // 83 ms: with 22 segments 0.8 are queued, slow start goes on, one for each acknowledged
        let mut slow = linux();
        slow.on_acks(&[ms(83); 3], |_| ());
        assert_eq!((slow.cwnd(), slow.ssthresh()), (MSS * 23, Some(Bytes::MAX)));
        // the smallest of the round counts, wherever in it
        let mut slow = linux();
        slow.on_acks(&[ms(80), ms(200), ms(200)], unlimited);
        assert_eq!(slow.ssthresh(), Some(Bytes::MAX));
    }

    #[test]
    fn with_two_samples_it_behaves_like_reno() {
        let mut vegas = vegas(MSS * 20);
        for _ in 0..10 {
            vegas.on_acks(&[ms(200), ms(200)], |ack| ack.newly_acked = MSS * 2);
        }
        // only the acknowledgements that end a round count: 20 of 20 segments
        assert_eq!(vegas.cwnd(), MSS * 21);
    }

    #[test]
    fn a_window_that_does_not_limit_only_shrinks() {
        let unlimited = |ack: &mut AckSample| ack.is_cwnd_limited = false;
        let mut vegas = vegas(MSS * 20);
        vegas.on_acks(&[ms(80); 3], unlimited);
        assert_eq!(vegas.cwnd(), MSS * 20);
        vegas.on_acks(&[ms(160); 3], unlimited);
        assert_eq!(vegas.cwnd(), MSS * 19);
    }

    #[test]
    fn two_segments_stay_after_slow_start_and_four_after_that() {
        // of 20 segments 19.84 are queued: the rate needs 0.16
        let mut slow = with_base_rtt(Vegas::linux(config()), Bytes::MAX);
        slow.on_acks(&[Duration::from_secs(10); 3], |ack| {
            ack.is_cwnd_limited = false;
        });
        assert_eq!(slow.cwnd(), MSS * 2);
        // a window of four cannot have more than four in the queue
        let mut vegas = vegas(MSS * 20);
        for _ in 0..40 {
            vegas.on_acks(&[Duration::from_secs(10); 3], |_| ());
        }
        assert_eq!(vegas.cwnd(), MSS * 4);
    }
}
