//! YeAH-TCP: grows like Scalable TCP while the path is free, like Reno once a queue shows, and takes
//! the queue out of the window when it becomes too long.
//!
//! Source: Baiocchi, Castellani and Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007,
//! with the constants and the order of steps of Linux `tcp_yeah.c`, which an author of the paper wrote;
//! Kelly, "Scalable TCP", ACM CCR 33(2), 2003. Windows are in bytes, rounds are the transport's.
//!
//! | the paper's rule | here |
//! | --- | --- |
//! | RTTqueue = RTTmin - RTTbase, Q = RTTqueue cwnd / RTTmin | `rtt_round.rs` |
//! | L = RTTqueue / RTTbase | `is_congested` |
//! | fast mode while Q < Qmax and L < 1 / phi: Scalable TCP | `YeAh::open_window` |
//! | slow mode else: Reno | `YeAh::open_window` |
//! | precautionary decongestion: Q leaves the window if Q > Qmax | `decongested` |
//! | `reno_count`, the window that a competing Reno flow is taken to have | `YeAh::slow_round`, `YeAh::fast_round` |
//! | loss: cwnd less min(max(cwnd / 8, Q), cwnd / 2), or half against Reno flows | `reduction` |
//!
//! *Deviations*
//! - Q is taken out of the window at once, at most half of it, and not below `reno_count`, as in
//!   Linux (gamma = 1, epsilon = 1/2).
//! - Q = Qmax and L = 1 / phi still are fast mode, as in Linux.
//! - In fast mode 100 acknowledged segments add one; below a window of 100, a window of them does, as
//!   in Linux. Kelly's 0.01 for each segment would be slower than Reno there.
//! - A mark (RFC 3168) is answered as a loss is. A timeout has the same ssthresh, as in Linux.
//! - Q, L and `reno_count` keep their fractions, where Linux has whole segments.
//! - A round in which cwnd did not limit the sender is not judged: its window is not what was in
//!   flight. Linux would judge it together with the next.
//! - RTTbase expires after an idle time longer than a retransmission timeout, as Vegas does.

pub use crate::reno::Config;

use crate::reno::{Reno, halved};
use crate::rtt_round::{PathDelay, Round, RttRound};
use crate::window::{shows_window, time_stamp};
use crate::{AckSample, CongestionControl, Ctx, LossSample, PacketStamp, RecoveryEnd, Sent};
use units::Bytes;

/// Qmax: segments that may lie in the queue (Linux `TCP_YEAH_ALPHA`).
pub const MAX_QUEUE_SEGMENTS: u64 = 80;
/// phi: the queue may delay by RTTbase / phi (Linux `TCP_YEAH_PHY`).
pub const PHI: u64 = 8;
/// A decongestion takes away at most 1 / so much of the window (Linux `TCP_YEAH_EPSILON`).
const DECONGESTION_LIMIT: u64 = 2;
/// A loss takes away at least 1 / so much of the window (Linux `TCP_YEAH_DELTA`).
const MIN_REDUCTION: u64 = 8;
/// rho: rounds of slow mode after which the flow is taken to compete with Reno (`TCP_YEAH_RHO`).
const COMPETITION_ROUNDS: u32 = 16;
/// zeta: rounds of fast mode after which it is taken not to (`TCP_YEAH_ZETA`).
const NO_COMPETITION_ROUNDS: u32 = 50;
/// Fast mode adds a segment for so many acknowledged ones (Linux `TCP_SCALABLE_AI_CNT`).
const SCALABLE_SEGMENTS: u64 = 100;
/// Least `reno_count`, in segments.
const MIN_RENO_SEGMENTS: u64 = 2;

/// True if Q or L are above their bounds: slow mode.
fn is_congested(queued: Bytes, delay: PathDelay, mss: Bytes) -> bool {
    queued > mss * MAX_QUEUE_SEGMENTS || delay.queueing() > delay.base_rtt / PHI
}

/// Precautionary decongestion: the window without the queue, at least half of it and `reno_count`.
fn decongested(cwnd: Bytes, queued: Bytes, reno_count: Bytes) -> Bytes {
    let removed = queued.min(cwnd / DECONGESTION_LIMIT);
    cwnd.saturating_sub(removed).max(reno_count)
}

/// What a loss takes out of the window: the queue, between an eighth and half of the window; half
/// of it when the flow competes with Reno flows, which halve theirs.
fn reduction(cwnd: Bytes, queued: Bytes, slow_rounds: u32) -> Bytes {
    if slow_rounds >= COMPETITION_ROUNDS {
        return halved(cwnd);
    }
    queued.min(halved(cwnd)).max(cwnd / MIN_REDUCTION)
}

/// YeAH-TCP: two modes of growth, chosen once a round trip by the queue.
#[derive(Clone, Debug)]
pub struct YeAh {
    reno: Reno,
    round: RttRound,
    /// Q of the last round that was judged.
    last_queue: Bytes,
    /// Rounds of slow mode in a row; 0 in fast mode.
    slow_rounds: u32,
    /// Rounds of fast mode since the last loss or discarded competition.
    fast_rounds: u32,
    /// Window that a competing Reno flow is taken to have; >= 2 segments.
    reno_count: Bytes,
}

impl YeAh {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        let reno = Reno::new(config);
        let reno_count = reno.window.mss() * MIN_RENO_SEGMENTS;
        Self {
            reno,
            round: RttRound::default(),
            last_queue: Bytes::ZERO,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_count,
        }
    }

    fn min_reno_count(&self) -> Bytes {
        self.reno.window.mss() * MIN_RENO_SEGMENTS
    }

    /// Slow start, then Scalable TCP in fast mode and Reno in slow mode.
    fn open_window(&mut self, acked: Bytes) {
        let left = self.reno.slow_start(acked);
        let (cwnd, mss) = (self.reno.window.cwnd(), self.reno.window.mss());
        let per = if self.slow_rounds == 0 {
            cwnd.min(mss * SCALABLE_SEGMENTS)
        } else {
            cwnd
        };
        self.reno.add_segment_per(per, left);
    }

    /// Once each round trip: chooses the mode.
    fn judge(&mut self, cx: &mut Ctx<'_>, delay: PathDelay) {
        let queued = delay.queued(self.reno.window.cwnd());
        if is_congested(queued, delay, self.reno.window.mss()) {
            self.slow_round(cx, queued);
        } else {
            self.fast_round();
        }
        self.last_queue = queued;
    }

    /// A round with a queue: at worst the window loses it, and `reno_count` grows as Reno would.
    fn slow_round(&mut self, cx: &mut Ctx<'_>, queued: Bytes) {
        let window = &mut self.reno.window;
        let (cwnd, mss) = (window.cwnd(), window.mss());
        if queued > mss * MAX_QUEUE_SEGMENTS && cwnd > self.reno_count {
            window.close_to(decongested(cwnd, queued, self.reno_count));
            cx.trace
                .event(cx.now, "decongestion", self.reno.window.cwnd().get());
        }
        let min = self.min_reno_count();
        self.reno_count = if self.reno_count <= min {
            halved(self.reno.window.cwnd()).max(min)
        } else {
            self.reno_count + mss
        };
        self.slow_rounds = self.slow_rounds.saturating_add(1);
    }

    /// A round without a queue: after enough of them no other flow competes.
    fn fast_round(&mut self) {
        self.slow_rounds = 0;
        self.fast_rounds += 1;
        if self.fast_rounds > NO_COMPETITION_ROUNDS {
            self.fast_rounds = 0;
            self.reno_count = self.min_reno_count();
        }
    }
}

impl CongestionControl for YeAh {
    fn name(&self) -> &'static str {
        "yeah"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        time_stamp(cx.now)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        let round = self.round.on_ack(ack);
        if self.reno.may_grow(ack) {
            self.open_window(ack.newly_acked);
            if let Round::Ended(delay) = round {
                self.judge(cx, delay);
            }
        }
        self.reno.window.update_pacing_rate(ack.srtt);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        let (queued, slow_rounds) = (self.last_queue, self.slow_rounds);
        let is_new = self.reno.on_loss(cx, loss, |window| {
            let cwnd = window.cwnd();
            window.reduce_to(cwnd.saturating_sub(reduction(cwnd, queued, slow_rounds)));
        });
        if is_new {
            self.fast_rounds = 0;
            self.reno_count = halved(self.reno_count).max(self.min_reno_count());
        }
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.reno.on_recovery_end(end);
        self.round.restart();
    }

    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.reno.window.restart_after_idle();
        self.round = RttRound::default();
    }
    shows_window!(reno.window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt_round::tests::{ack, ms};
    use crate::{BuildConfig, LossKind};
    use units::{Duration, Instant, Streams};

    const MSS: Bytes = Bytes::new(1_000);

    /// A connection outside slow start with a window of so many segments.
    fn yeah(segments: u64) -> YeAh {
        let mut yeah = YeAh::new(Config::new(BuildConfig {
            mss: MSS,
            initial_window: MSS * segments,
        }));
        yeah.reno.window.limit_to(MSS * segments);
        yeah
    }

    fn with_cx(run: impl FnOnce(&mut Ctx<'_>)) {
        let mut rng = Streams::new(1).stream("cc");
        run(&mut Ctx {
            now: Instant::ZERO,
            rng: &mut rng,
            trace: &mut (),
        });
    }

    impl YeAh {
        fn judge_rtt(&mut self, base_rtt: Duration, rtt: Duration) {
            with_cx(|cx| self.judge(cx, PathDelay { base_rtt, rtt }));
        }

        fn lose(&mut self) {
            with_cx(|cx| {
                let loss = LossSample {
                    kind: LossKind::Fast,
                    lost: MSS,
                    bytes_in_flight: Bytes::ZERO,
                    lost_sent_at: Instant::ZERO,
                };
                self.on_loss(cx, &loss);
            });
        }

        fn acks(&mut self, segments: u64) {
            with_cx(|cx| {
                for _ in 0..segments {
                    self.on_ack(cx, &ack(ms(80), false));
                }
            });
        }
    }

    #[test]
    fn mode_by_q_and_l() {
        // L = 10 / 80 = 1/8 is allowed, a microsecond more is not
        let mut small = yeah(90);
        small.judge_rtt(ms(80), ms(90));
        assert_eq!((small.slow_rounds, small.fast_rounds), (0, 1));
        small.judge_rtt(ms(80), Duration::from_micros(90_001));
        assert_eq!((small.slow_rounds, small.cwnd()), (1, MSS * 90));
        // Q = 1000 * 4 / 50 = 80 is allowed, L = 4 / 46 < 1/8
        let mut large = yeah(1_000);
        large.judge_rtt(ms(46), ms(50));
        assert_eq!((large.slow_rounds, large.cwnd()), (0, MSS * 1_000));
        large.judge_rtt(ms(45), ms(50));
        assert_eq!((large.slow_rounds, large.cwnd()), (1, MSS * 900));
    }

    #[test]
    fn fast_mode_adds_a_hundredth_and_slow_mode_a_segment_a_round() {
        let mut fast = yeah(1_000);
        fast.acks(1_000);
        assert_eq!(fast.cwnd(), MSS * 1_010);
        // below 100 segments as Reno
        let mut small = yeah(50);
        small.acks(50);
        assert_eq!(small.cwnd(), MSS * 51);
        let mut slow = yeah(1_000);
        slow.slow_rounds = 1;
        slow.acks(999);
        assert_eq!(slow.cwnd(), MSS * 1_000);
        slow.acks(1);
        assert_eq!(slow.cwnd(), MSS * 1_001);
    }

    #[test]
    fn decongestion_removes_q_down_to_half_and_reno_count() {
        let segments = |cwnd, queued, reno| decongested(MSS * cwnd, MSS * queued, MSS * reno);
        assert_eq!(segments(1_000, 100, 2), MSS * 900);
        assert_eq!(segments(150, 100, 2), MSS * 75);
        assert_eq!(segments(1_000, 100, 950), MSS * 950);
    }

    #[test]
    fn no_decongestion_below_what_a_reno_flow_would_have() {
        let mut yeah = yeah(1_000);
        yeah.reno_count = MSS * 1_000;
        yeah.judge_rtt(ms(40), ms(50));
        assert_eq!((yeah.slow_rounds, yeah.cwnd()), (1, MSS * 1_000));
    }

    #[test]
    fn reno_count_starts_at_half_the_window_and_grows_by_a_segment() {
        let mut yeah = yeah(90);
        for round in 0..5 {
            yeah.judge_rtt(ms(40), ms(50));
            assert_eq!(yeah.reno_count, MSS * (45 + round));
        }
        yeah.lose();
        assert_eq!(yeah.reno_count, Bytes::new(24_500));
        // fifty-one rounds of fast mode: no other flow competes
        for _ in 0..50 {
            yeah.judge_rtt(ms(40), ms(40));
        }
        assert_eq!(yeah.reno_count, Bytes::new(24_500));
        yeah.judge_rtt(ms(40), ms(40));
        assert_eq!(yeah.reno_count, MSS * 2);
    }

    #[test]
    fn reduction_is_q_between_an_eighth_and_half() {
        let of_800 = |queued, slow_rounds| reduction(MSS * 800, MSS * queued, slow_rounds);
        assert_eq!(of_800(0, 0), MSS * 100);
        assert_eq!(of_800(200, 0), MSS * 200);
        assert_eq!(of_800(600, 15), MSS * 400);
        // sixteen rounds of slow mode: Reno flows are there
        assert_eq!(of_800(0, 16), MSS * 400);
    }

    #[test]
    fn decongestion_ends_slow_start_and_l_alone_does_not() {
        // slow start at 900 segments: L = 10 / 40, Q = 900 * 10 / 50 = 180 leave the window
        let start = |segments| {
            YeAh::new(Config::new(BuildConfig {
                mss: MSS,
                initial_window: MSS * segments,
            }))
        };
        let mut large = start(900);
        large.judge_rtt(ms(40), ms(50));
        assert_eq!(
            (large.cwnd(), large.ssthresh()),
            (MSS * 720, Some(MSS * 720))
        );
        // at 90 segments 18 are queued: slow mode by L, but slow start goes on
        let mut small = start(90);
        small.judge_rtt(ms(40), ms(50));
        assert_eq!((small.slow_rounds, small.ssthresh()), (1, Some(Bytes::MAX)));
    }

    #[test]
    fn a_loss_takes_the_queue_of_the_last_round() {
        let mut yeah = yeah(1_000);
        yeah.reno_count = MSS * 1_000;
        yeah.judge_rtt(ms(40), ms(50));
        yeah.lose();
        assert_eq!(yeah.cwnd(), MSS * 800);
    }
}
