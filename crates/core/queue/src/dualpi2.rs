//! DualPI2: a low-latency queue for scalable transports beside a classic one, coupled.
//!
//! Source: RFC 9332, section 2 and appendix A. ECT(1) and CE go to the low-latency queue L, all else to
//! the classic queue C. A PI controller on the delay of C gives the base probability p'; C drops or
//! marks with `p'^2`, L marks with the larger of `k p'` and its own ramp.
//!
//! *Deviations*
//! - Drops and marks are spread evenly by a counter, as in the RFC's pseudocode (`recur`): nothing is
//!   drawn at random.
//! - The controller's timer is caught up with when the queue is next touched, with the delay as it was
//!   at each tick: nothing changes between, so the result is that of a timer.
//! - Overload (appendix A.2): once `k p'` is 1, L too drops with `p'^2`, marked or not, and C drops what
//!   it would mark. This is the one case in which a packet that can be marked is dropped before the
//!   queue is full.
//! - The head is looked at before it is taken, so that a packet that does not fit the budget stays.
//! - The weighted scheduler is by bytes and not by packets.

use crate::config::Configure;
use crate::fifo::{Fifo, try_mark};
use crate::registry::{ANYWHERE, Algorithm, Made, Parameter, Quantity};
use crate::{
    Capacity, ConfigError, Dequeued, DisciplineConfig, Ecn, Occupancy, Packet, QueueManagement,
    Ratio, error,
};
use units::{Bytes, Duration, Instant, Rng};

/// RFC 9332 appendix A.1.
const TARGET: Duration = Duration::from_millis(15);
const MAX_RTT: Duration = Duration::from_millis(100);
const COUPLING: Ratio = Ratio::from_ppm(2_000_000);
/// RFC 9332 appendix A.2: minTh and range.
const RAMP_FROM: Duration = Duration::from_micros(800);
const RAMP_RANGE: Duration = Duration::from_micros(400);
/// RFC 9332 appendix A.1: Th_len.
const MIN_LENGTH: usize = 1;
/// Of the time-shifted FIFO.
const SHIFT: Duration = Duration::from_millis(50);

/// Which of the two queues goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DualScheduler {
    /// The packet that has waited longer, those of the low-latency queue counting so much more.
    TimeShifted {
        /// The advantage of the low-latency queue.
        shift: Duration,
    },
    /// Weighted round robin by bytes.
    Weighted {
        /// The classic queue's part of the link while both wait, above 0 and below 1.
        classic: Ratio,
    },
}

/// How DualPI2 works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DualPi2Config {
    /// The classic queue's delay aimed at, above zero.
    pub target: Duration,
    /// The longest round trip time that is to be stable, above zero.
    pub max_rtt: Duration,
    /// k: how many times the base probability the low-latency queue is marked with, at least 1.
    pub coupling: Ratio,
    /// The low-latency queue's delay from which it marks by itself.
    pub ramp_from: Duration,
    /// The further delay at which it marks all; zero is a step.
    pub ramp_range: Duration,
    /// The low-latency queue does not mark by itself with no more than so many packets waiting.
    pub min_length: usize,
    /// Which queue goes first.
    pub scheduler: DualScheduler,
}

impl Default for DualPi2Config {
    /// RFC 9332 appendix A.
    fn default() -> Self {
        Self {
            target: TARGET,
            max_rtt: MAX_RTT,
            coupling: COUPLING,
            ramp_from: RAMP_FROM,
            ramp_range: RAMP_RANGE,
            min_length: MIN_LENGTH,
            scheduler: DualScheduler::TimeShifted { shift: SHIFT },
        }
    }
}

const TARGET_KEY: &Parameter = &Parameter::new(
    "dualpi2-target",
    Quantity::Duration,
    "15 ms",
    (1e-6, 10.0),
    "DualPI2: target of the classic queue's delay (RFC 9332 A.1).",
);
const THRESHOLD: &Parameter = &Parameter::new(
    "dualpi2-threshold",
    Quantity::Duration,
    "800 us",
    (0.0, 10.0),
    "DualPI2: delay of the low-latency queue from which on it marks (RFC 9332 A.1).",
);
const RANGE: &Parameter = &Parameter::new(
    "dualpi2-range",
    Quantity::Duration,
    "400 us",
    (0.0, 10.0),
    "DualPI2: over so much more delay its marking rises to all packets; zero: a step.",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "dualpi2",
    title: "DualPI2",
    places: ANYWHERE,
    is_aqm: true,
    is_backpressure: false,
    parameters: &[TARGET_KEY, THRESHOLD, RANGE],
    make: |values| {
        Made::Discipline(DisciplineConfig::DualPi2(DualPi2Config {
            target: values.duration(TARGET_KEY),
            ramp_from: values.duration(THRESHOLD),
            ramp_range: values.duration(RANGE),
            ..DualPi2Config::default()
        }))
    },
};
impl Configure for DualPi2Config {
    type Queue<P: Packet + Send> = DualPi2<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, _ratio: f64) {}
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        _rng: &mut Rng,
    ) -> Result<DualPi2<P>, ConfigError> {
        DualPi2::new(self.clone(), capacity)
    }
}

impl DualPi2Config {
    /// # Errors
    /// Times of zero, a coupling below one, a part of the link that is none or all.
    pub fn check(&self) -> Result<(), ConfigError> {
        error::expect_time("dualpi2 target", self.target)?;
        error::expect_time("dualpi2 round trip time", self.max_rtt)?;
        let coupling = self.coupling;
        error::expect(
            coupling >= Ratio::ONE,
            "dualpi2 coupling",
            &coupling.as_f64(),
            "at least 1",
        )?;
        if let DualScheduler::Weighted { classic } = self.scheduler {
            error::expect(
                classic > Ratio::ZERO && classic < Ratio::ONE,
                "dualpi2 classic part",
                &classic.as_f64(),
                "above 0 and below 1",
            )?;
        }
        Ok(())
    }
}

/// The PI controller of the classic queue (appendix A.1).
#[derive(Debug)]
struct Pi {
    /// Seconds.
    target: f64,
    /// Per second: alpha and beta of appendix A.1.
    integral_gain: f64,
    proportional_gain: f64,
    /// p', 0 to 1.
    base_probability: f64,
    /// The delay at the last update, seconds.
    last_delay: f64,
    /// Tupdate.
    interval: Duration,
    next_update: Instant,
}

impl Pi {
    fn new(config: &DualPi2Config) -> Self {
        let interval = config
            .target
            .min(config.max_rtt / 3)
            .max(Duration::from_nanos(1));
        let max_rtt = config.max_rtt.as_secs_f64();
        Self {
            target: config.target.as_secs_f64(),
            integral_gain: 0.1 * interval.as_secs_f64() / (max_rtt * max_rtt),
            proportional_gain: 0.3 / max_rtt,
            base_probability: 0.0,
            last_delay: 0.0,
            interval,
            next_update: Instant::ZERO + interval,
        }
    }

    /// `p' += alpha (delay - target) + beta (delay - last delay)`.
    fn update(&mut self, delay: Duration) {
        let delay = delay.as_secs_f64();
        let change = self.integral_gain * (delay - self.target)
            + self.proportional_gain * (delay - self.last_delay);
        self.base_probability = (self.base_probability + change).clamp(0.0, 1.0);
        self.last_delay = delay;
    }

    /// Makes the updates that are due; `head` is when the head of the classic queue came.
    #[inline]
    fn catch_up(&mut self, now: Instant, head: Option<Instant>) {
        if now >= self.next_update {
            self.tick_until(now, head);
        }
    }

    #[cold]
    fn tick_until(&mut self, now: Instant, head: Option<Instant>) {
        while now >= self.next_update {
            let at = self.next_update;
            self.update(head.map_or(Duration::ZERO, |head| at.saturating_since(head)));
            self.next_update = at + self.interval;
            if head.is_none() && self.base_probability <= 0.0 {
                // an empty queue changes nothing more
                let missed = now.saturating_since(at) / self.interval;
                self.next_update = at + self.interval * (missed + 1);
            }
        }
    }
}

/// Spreads events of a probability evenly (appendix A.1, `recur`).
#[derive(Debug, Default)]
struct Recurrence(f64);

impl Recurrence {
    fn is_due(&mut self, probability: f64) -> bool {
        self.0 += probability;
        if self.0 > 1.0 {
            self.0 -= 1.0;
            return true;
        }
        false
    }
}

/// The low-latency queue's own probability (appendix A.2, `laqm`).
fn ramp(delay: Duration, from: Duration, range: Duration) -> f64 {
    if delay >= from + range {
        1.0
    } else if delay <= from {
        0.0
    } else {
        delay.saturating_sub(from).ratio(range)
    }
}

/// The two queues.
#[derive(Debug)]
pub struct DualPi2<P> {
    config: DualPi2Config,
    capacity: Capacity,
    low_latency: Fifo<P>,
    classic: Fifo<P>,
    pi: Pi,
    low_latency_marks: Recurrence,
    low_latency_drops: Recurrence,
    classic_events: Recurrence,
    /// Weighted scheduler: what the low-latency queue has had above its part, bytes times parts per
    /// million; zero while only one queue waits.
    advantage: i128,
}

impl<P: Packet> DualPi2<P> {
    /// Empty queues.
    ///
    /// # Errors
    /// As [`DualPi2Config::check`]; a capacity of zero.
    pub fn new(config: DualPi2Config, capacity: Capacity) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            pi: Pi::new(&config),
            config,
            capacity,
            low_latency: Fifo::new(),
            classic: Fifo::new(),
            low_latency_marks: Recurrence::default(),
            low_latency_drops: Recurrence::default(),
            classic_events: Recurrence::default(),
            advantage: 0,
        })
    }

    /// p_CL: what the low-latency queue marks for the classic one.
    fn coupled_probability(&self) -> f64 {
        self.config.coupling.as_f64() * self.pi.base_probability
    }
    /// p_C: what the classic queue drops or marks.
    fn classic_probability(&self) -> f64 {
        self.pi.base_probability * self.pi.base_probability
    }
    fn is_overloaded(&self) -> bool {
        self.coupled_probability() >= 1.0
    }

    fn catch_up(&mut self, now: Instant) {
        let head = self.classic.front().map(|head| head.enqueued_at);
        self.pi.catch_up(now, head);
    }

    /// Whether the low-latency queue goes first; none if both are empty.
    fn is_low_latency_next(&self, now: Instant) -> Option<bool> {
        let (low_latency, classic) = match (self.low_latency.front(), self.classic.front()) {
            (None, None) => return None,
            (Some(_), None) => return Some(true),
            (None, Some(_)) => return Some(false),
            (Some(low_latency), Some(classic)) => (low_latency, classic),
        };
        Some(match self.config.scheduler {
            DualScheduler::TimeShifted { shift } => {
                let waited = |head: &Dequeued<P>| now.saturating_since(head.enqueued_at);
                waited(low_latency) + shift >= waited(classic)
            }
            DualScheduler::Weighted { .. } => self.advantage <= 0,
        })
    }

    fn account(&mut self, is_low_latency: bool, bytes: Bytes) {
        let DualScheduler::Weighted { classic } = self.config.scheduler else {
            return;
        };
        if self.low_latency.front().is_none() || self.classic.front().is_none() {
            self.advantage = 0;
            return;
        }
        let bytes = i128::from(bytes.get());
        let part = i128::from(classic.as_ppm());
        let all = i128::from(Ratio::ONE.as_ppm());
        self.advantage += if is_low_latency {
            bytes * part
        } else {
            bytes * (part - all)
        };
    }

    /// The head of L, with so many packets behind it: false if it is to be dropped.
    fn admits_low_latency(&mut self, head: &mut P, sojourn: Duration, behind: usize) -> bool {
        let coupled = self.coupled_probability();
        if self.is_overloaded() && self.low_latency_drops.is_due(self.classic_probability()) {
            return false;
        }
        let own = if behind < self.config.min_length {
            0.0
        } else {
            ramp(sojourn, self.config.ramp_from, self.config.ramp_range)
        };
        if self.low_latency_marks.is_due(own.max(coupled.min(1.0))) {
            try_mark(head);
        }
        true
    }

    /// The head of C: false if it is to be dropped.
    fn admits_classic(&mut self, head: &mut P) -> bool {
        if !self.classic_events.is_due(self.classic_probability()) {
            return true;
        }
        !self.is_overloaded() && try_mark(head)
    }
}

impl<P: Packet + Send> QueueManagement<P> for DualPi2<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        self.catch_up(now);
        if !self.capacity.admits(self.occupancy(), packet.bytes()) {
            return Err(packet);
        }
        match packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => self.low_latency.push(now, packet),
            Ecn::NotEct | Ecn::Ect0 => self.classic.push(now, packet),
        }
        Ok(())
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        self.catch_up(now);
        loop {
            let is_low_latency = self.is_low_latency_next(now)?;
            let queue = if is_low_latency {
                &mut self.low_latency
            } else {
                &mut self.classic
            };
            let bytes = queue.front()?.packet.bytes();
            if bytes > budget {
                return None;
            }
            let mut head = queue.pop()?;
            let behind = queue.occupancy().packets;
            self.account(is_low_latency, bytes);
            let sojourn = now.saturating_since(head.enqueued_at);
            let is_sent = if is_low_latency {
                self.admits_low_latency(&mut head.packet, sojourn, behind)
            } else {
                self.admits_classic(&mut head.packet)
            };
            if is_sent {
                return Some(head);
            }
            dropped(head.packet);
        }
    }

    #[inline]
    fn occupancy(&self) -> Occupancy {
        let (low_latency, classic) = (self.low_latency.occupancy(), self.classic.occupancy());
        Occupancy {
            packets: low_latency.packets + classic.packets,
            bytes: low_latency.bytes + classic.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet::TestPacket;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }
    fn dualpi2(config: DualPi2Config) -> DualPi2<TestPacket> {
        DualPi2::new(config, Capacity::Unlimited).unwrap()
    }
    fn put(queue: &mut DualPi2<TestPacket>, now: Instant, ecn: Ecn) {
        queue
            .enqueue(now, TestPacket::new(1500).with_ecn(ecn))
            .unwrap();
    }

    #[test]
    fn appendix_a_1_gains() {
        let pi = Pi::new(&DualPi2Config::default());
        assert_eq!(pi.interval, Duration::from_millis(15));
        assert!((pi.integral_gain - 0.15).abs() < 1e-12);
        assert!((pi.proportional_gain - 3.0).abs() < 1e-12);
    }

    #[test]
    fn appendix_a_1_a_step_of_delay() {
        let mut pi = Pi::new(&DualPi2Config::default());
        pi.update(Duration::from_millis(35));
        // 0.15 x 20 ms + 3 x 35 ms
        assert!((pi.base_probability - 0.108).abs() < 1e-12);
        pi.update(Duration::from_millis(15));
        // 0 + 3 x -20 ms
        assert!((pi.base_probability - 0.048).abs() < 1e-12);
        pi.update(Duration::ZERO);
        assert!((pi.base_probability - 0.00075).abs() < 1e-12);
        pi.update(Duration::ZERO);
        assert!(pi.base_probability.abs() < 1e-12);
    }

    #[test]
    fn late_ticks_see_the_delay_of_their_time() {
        let (mut late, mut timely) = (
            Pi::new(&DualPi2Config::default()),
            Pi::new(&DualPi2Config::default()),
        );
        for ms in 0..=200 {
            timely.catch_up(at_ms(ms), Some(at_ms(3)));
        }
        late.catch_up(at_ms(200), Some(at_ms(3)));
        assert!((timely.base_probability - late.base_probability).abs() < 1e-15);
        assert!(late.base_probability > 0.0);
        assert_eq!(timely.next_update, late.next_update);
        late.catch_up(at_ms(1_000_000_000), None);
        assert!(late.next_update > at_ms(1_000_000_000));
    }

    #[test]
    fn appendix_a_2_ramp() {
        let (from, range) = (RAMP_FROM, RAMP_RANGE);
        assert_eq!(ramp(Duration::from_micros(800), from, range), 0.0);
        assert_eq!(ramp(Duration::from_micros(1000), from, range), 0.5);
        assert_eq!(ramp(Duration::from_micros(1200), from, range), 1.0);
        let step = |us| ramp(Duration::from_micros(us), from, Duration::ZERO);
        assert_eq!((step(799), step(800)), (0.0, 1.0));
    }

    /// With p' held, how many of 10,000 packets are marked and dropped.
    fn marks_and_drops(base_probability: f64, ecn: Ecn) -> (u32, u32) {
        let mut queue = dualpi2(DualPi2Config::default());
        let (mut marks, mut drops) = (0, 0);
        for _ in 0..10_000 {
            queue.pi.base_probability = base_probability;
            put(&mut queue, at_ms(0), ecn);
            let out = queue.dequeue(at_ms(0), Bytes::MAX, &mut |_| drops += 1);
            marks += u32::from(out.is_some_and(|out| out.packet.ecn == Ecn::Ce));
        }
        (marks, drops)
    }

    #[test]
    fn section_2_1_low_latency_marks_are_twice_the_root_of_classic_drops() {
        for p in [0.01_f64, 0.1, 0.3] {
            let (marks, none) = marks_and_drops(p, Ecn::Ect1);
            let (unmarked, drops) = marks_and_drops(p, Ecn::NotEct);
            assert_eq!((none, unmarked), (0, 0));
            assert!((f64::from(marks) - 20_000.0 * p).abs() <= 1.0, "{marks}");
            assert!(
                (f64::from(drops) - 10_000.0 * p * p).abs() <= 1.0,
                "{drops}"
            );
            // a classic packet that can be marked is marked as often as others are dropped
            assert_eq!(marks_and_drops(p, Ecn::Ect0), (drops, 0));
        }
    }

    #[test]
    fn appendix_a_2_overload_drops_from_both() {
        let (marks, drops) = marks_and_drops(0.6, Ecn::Ect1);
        assert!(
            drops.abs_diff(3600) <= 1 && marks.abs_diff(6400) <= 1,
            "{marks} {drops}"
        );
        assert_eq!(marks_and_drops(0.6, Ecn::Ect0).0, 0);
    }

    #[test]
    fn time_shifted_the_classic_head_goes_first_once_it_is_so_much_older() {
        let mut queue = dualpi2(DualPi2Config::default());
        put(&mut queue, at_ms(0), Ecn::Ect0);
        put(&mut queue, at_ms(49), Ecn::Ect1);
        assert_eq!(queue.is_low_latency_next(at_ms(49)), Some(true));
        let mut queue = dualpi2(DualPi2Config::default());
        put(&mut queue, at_ms(0), Ecn::Ect0);
        put(&mut queue, at_ms(51), Ecn::Ect1);
        assert_eq!(queue.is_low_latency_next(at_ms(51)), Some(false));
    }

    #[test]
    fn weighted_the_classic_queue_gets_its_part() {
        let config = DualPi2Config {
            scheduler: DualScheduler::Weighted {
                classic: Ratio::from_ppm(100_000),
            },
            ..DualPi2Config::default()
        };
        let mut queue = dualpi2(config);
        for _ in 0..1000 {
            put(&mut queue, at_ms(0), Ecn::Ect1);
            put(&mut queue, at_ms(0), Ecn::Ect0);
        }
        let out = |queue: &mut DualPi2<TestPacket>| {
            queue
                .dequeue(at_ms(0), Bytes::MAX, &mut |_| panic!("dropped"))
                .unwrap()
        };
        let sent = (0..500).map(|_| out(&mut queue).packet.ecn);
        let classic = sent.filter(|&ecn| ecn == Ecn::Ect0).count();
        assert!((49..=51).contains(&classic), "{classic}");
    }
}
