//! CoDel: controlled delay.
//!
//! Source: RFC 8289, section 5 (pseudocode) and section 4.4 (constants). A queue whose every packet has
//! waited longer than `target` for an `interval` is standing: one packet is dropped, and as long as it
//! stands another after `interval / sqrt(count)`.
//!
//! *Deviations*
//! - ECN (RFC 8289 section 4.1 leaves it open): an ECN-capable packet is marked
//!   and sent instead of dropped; it counts as the drop does.
//! - The head is looked at before it is taken, so that a packet that does not fit the budget is neither
//!   taken nor examined. No packet is lost but the one that is meant.
//! - A queue with a limit drops what does not fit on arrival (RFC 8289 has no limit).
//!
//! What the dynamic-buffer paper's authors made of it is in `codel_emulator.rs`.

use crate::config::Configure;
use crate::fifo::{Fifo, try_mark};
use crate::registry::{ANYWHERE, Algorithm, Made, Parameter, Quantity, Values};
use crate::{
    Capacity, ConfigError, Dequeued, DisciplineConfig, Occupancy, Packet, QueueManagement, error,
};
use units::{Bytes, Duration, Instant, Rng};

/// Section 4.4: 5 % of the interval.
const TARGET: Duration = Duration::from_millis(5);
/// Section 4.3: a worst round trip time.
const INTERVAL: Duration = Duration::from_millis(100);
/// An Ethernet frame, as in RFC 8290 section 5.2.3.
pub(crate) const FRAME: Bytes = Bytes::new(1514);
/// Section 5.6, the drop rate of an earlier dropping state holds for so many intervals.
const MEMORY_INTERVALS: u64 = 16;

/// How CoDel works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// The sojourn time of a queue that does not stand, above zero.
    pub target: Duration,
    /// How long it must have been exceeded, above zero.
    pub interval: Duration,
    /// Nothing is dropped with no more than this waiting behind it: a full packet.
    pub mtu: Bytes,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    /// RFC 8289: 5 ms, 100 ms; frames of 1514 bytes, with ECN.
    fn default() -> Self {
        Self {
            target: TARGET,
            interval: INTERVAL,
            mtu: FRAME,
            ecn: true,
        }
    }
}

impl CoDelConfig {
    /// # Errors
    /// A target or an interval of zero.
    pub fn check(&self) -> Result<(), ConfigError> {
        error::expect_time("codel target", self.target)?;
        error::expect_time("codel interval", self.interval)
    }
}

pub(crate) const TARGET_KEY: &Parameter = &Parameter::new(
    "codel-target",
    Quantity::Duration,
    "5 ms",
    (1e-6, 10.0),
    "CoDel, FQ-CoDel: the standing sojourn time that is tolerated (RFC 8289 4.4).",
);
pub(crate) const INTERVAL_KEY: &Parameter = &Parameter::new(
    "codel-interval",
    Quantity::Duration,
    "100 ms",
    (1e-6, 100.0),
    "CoDel, FQ-CoDel: for how long it may be exceeded (RFC 8289 4.3).",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "codel",
    title: "CoDel",
    places: ANYWHERE,
    is_aqm: true,
    is_backpressure: false,
    parameters: &[TARGET_KEY, INTERVAL_KEY],
    make: |values| Made::Discipline(DisciplineConfig::CoDel(CoDelConfig::of(values))),
};

impl CoDelConfig {
    /// Section 5.5: nothing stands, as this packet has waited, with so many bytes behind it.
    #[inline(always)]
    pub(crate) fn is_short(&self, sojourn: Duration, behind: Bytes) -> bool {
        sojourn < self.target || behind <= self.mtu
    }

    pub(crate) fn of(values: &Values<'_>) -> Self {
        Self {
            target: values.duration(TARGET_KEY),
            interval: values.duration(INTERVAL_KEY),
            mtu: values.shared.mtu,
            ecn: values.shared.ecn,
        }
    }
}

impl Configure for CoDelConfig {
    type Queue<P: Packet + Send> = CoDel<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, _ratio: f64) {}
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        _rng: &mut Rng,
    ) -> Result<CoDel<P>, ConfigError> {
        CoDel::new(self.clone(), capacity)
    }
}

/// When to drop: the state of one queue, without the queue.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct DropLaw {
    /// When the sojourn time will have been above the target for an interval; [`BELOW`] while it is
    /// not.
    first_above: Instant,
    /// When to drop next; of no meaning before the first drop.
    drop_next: Instant,
    /// Drops in this dropping state.
    count: u32,
    /// `count` as the dropping state began.
    last_count: u32,
    is_dropping: bool,
    /// `drop_next` is to be moved on if the packet after the drop has waited too long, too.
    is_step_due: bool,
}

/// No time: the sojourn time is not above the target. (A queue has one of these states for each flow:
/// an `Option` would make it a third larger.)
const BELOW: Instant = Instant::MAX;

impl Default for DropLaw {
    fn default() -> Self {
        Self {
            first_above: BELOW,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            is_dropping: false,
            is_step_due: false,
        }
    }
}

/// Section 5.3: `t + interval / sqrt(count)`.
pub(crate) fn control_law(t: Instant, interval: Duration, count: u32) -> Instant {
    t + interval.mul_f64(f64::from(count).sqrt().recip())
}

impl DropLaw {
    /// The queue has run empty.
    pub(crate) fn on_empty(&mut self) {
        self.first_above = BELOW;
        self.is_dropping = false;
        self.is_step_due = false;
    }

    /// A packet that has waited less than the target, or alone, changes nothing, nor does an empty queue.
    pub(crate) fn is_calm(&self) -> bool {
        self.first_above == BELOW && !self.is_dropping && !self.is_step_due
    }

    /// Section 5.5: whether the queue has stood for an interval. `behind` are the bytes that wait
    /// behind the packet.
    #[inline]
    fn is_standing(
        &mut self,
        config: &CoDelConfig,
        now: Instant,
        sojourn: Duration,
        behind: Bytes,
    ) -> bool {
        if config.is_short(sojourn, behind) {
            self.first_above = BELOW;
            return false;
        }
        if self.first_above == BELOW {
            self.first_above = now + config.interval;
            return false;
        }
        now >= self.first_above
    }

    /// Section 5.6, for one packet at the head: whether it is to signal congestion.
    #[inline]
    pub(crate) fn signals_congestion(
        &mut self,
        config: &CoDelConfig,
        now: Instant,
        sojourn: Duration,
        behind: Bytes,
    ) -> bool {
        let is_standing = self.is_standing(config, now, sojourn, behind);
        if !self.is_dropping {
            if is_standing {
                self.enter(config, now);
            }
            return is_standing;
        }
        if !is_standing {
            self.is_dropping = false;
            self.is_step_due = false;
            return false;
        }
        if self.is_step_due {
            self.is_step_due = false;
            self.drop_next = control_law(self.drop_next, config.interval, self.count);
        }
        if now < self.drop_next {
            return false;
        }
        self.count += 1;
        self.is_step_due = true;
        true
    }

    /// The dropping state begins with a drop: at the rate of the last one if that was not long ago.
    fn enter(&mut self, config: &CoDelConfig, now: Instant) {
        self.is_dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_recent = now.saturating_since(self.drop_next) < config.interval * MEMORY_INTERVALS;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next = control_law(now, config.interval, self.count);
        self.last_count = self.count;
    }
}

/// The packets that CoDel manages, in order.
pub(crate) trait Source<P> {
    fn front(&self) -> Option<&Dequeued<P>>;
    /// Signals congestion by a mark; false if the packet cannot carry one.
    fn mark_front(&mut self) -> bool;
    fn pop(&mut self) -> Option<Dequeued<P>>;
    fn bytes(&self) -> Bytes;
}

impl<P: Packet> Source<P> for Fifo<P> {
    fn front(&self) -> Option<&Dequeued<P>> {
        self.front()
    }
    fn mark_front(&mut self) -> bool {
        self.front_mut().is_some_and(try_mark)
    }
    fn pop(&mut self) -> Option<Dequeued<P>> {
        self.pop()
    }
    fn bytes(&self) -> Bytes {
        self.occupancy().bytes
    }
}

/// What stands at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// A packet that is to be sent, of so many bytes.
    Ready(Bytes),
    /// One that does not fit.
    TooLarge,
    /// None.
    Empty,
}

/// Drops what is to be dropped until a packet is at the head that is not, and marks that if it is to be
/// marked. It is left where it is: its way out is one copy.
#[inline]
pub(crate) fn prepare<P: Packet>(
    source: &mut impl Source<P>,
    law: &mut DropLaw,
    config: &CoDelConfig,
    now: Instant,
    budget: Bytes,
    dropped: &mut dyn FnMut(P),
) -> Head {
    loop {
        let Some(head) = source.front() else {
            law.on_empty();
            return Head::Empty;
        };
        let bytes = head.packet.bytes();
        if bytes > budget {
            return Head::TooLarge;
        }
        let sojourn = now.saturating_since(head.enqueued_at);
        let behind = source.bytes().saturating_sub(bytes);
        let is_congested = law.signals_congestion(config, now, sojourn, behind);
        let is_sent = !is_congested || (config.ecn && source.mark_front());
        if is_sent {
            return Head::Ready(bytes);
        }
        if let Some(victim) = source.pop() {
            dropped(victim.packet);
        }
    }
}

/// One queue under CoDel.
#[derive(Debug)]
pub struct CoDel<P> {
    config: CoDelConfig,
    capacity: Capacity,
    packets: Fifo<P>,
    law: DropLaw,
}

impl<P: Packet> CoDel<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// As [`CoDelConfig::check`]; a capacity of zero.
    pub fn new(config: CoDelConfig, capacity: Capacity) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            config,
            capacity,
            packets: Fifo::new(),
            law: DropLaw::default(),
        })
    }

    /// As [`QueueManagement::enqueue`], for packets that stay on their thread too.
    #[inline]
    pub fn push(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if !self
            .capacity
            .admits(self.packets.occupancy(), packet.bytes())
        {
            return Err(packet);
        }
        self.packets.push(now, packet);
        Ok(())
    }

    /// As [`QueueManagement::dequeue`], for packets that stay on their thread too.
    #[inline]
    pub fn pop(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        let (packets, law) = (&mut self.packets, &mut self.law);
        match prepare(packets, law, &self.config, now, budget, dropped) {
            Head::Ready(_) => packets.pop(),
            Head::TooLarge | Head::Empty => None,
        }
    }

    /// The packet that has waited longest, and since when. It may be dropped as it leaves.
    pub fn front(&self) -> Option<&Dequeued<P>> {
        self.packets.front()
    }

    /// The packet that has waited longest, whatever CoDel would make of it.
    pub(crate) fn take_front(&mut self) -> Option<Dequeued<P>> {
        self.packets.pop()
    }

    /// How much is waiting.
    #[inline]
    pub fn occupancy(&self) -> Occupancy {
        self.packets.occupancy()
    }
}

impl<P: Packet + Send> QueueManagement<P> for CoDel<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        self.push(now, packet)
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        self.pop(now, budget, dropped)
    }

    #[inline]
    fn occupancy(&self) -> Occupancy {
        self.packets.occupancy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::test_packet::TestPacket;

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// One packet of 1500 bytes comes and one leaves each millisecond, from a queue of `standing`
    /// packets: what is dropped and what is marked, with the time.
    fn run(standing: u64, millis: u64, ecn: Ecn) -> (Vec<Instant>, Vec<Instant>, u64) {
        let mut codel = CoDel::new(CoDelConfig::default(), Capacity::Unlimited).unwrap();
        for _ in 0..standing {
            codel
                .enqueue(at_us(0), TestPacket::new(1500).with_ecn(ecn))
                .unwrap();
        }
        let (mut drops, mut marks, mut sent) = (Vec::new(), Vec::new(), 0);
        for ms in 1..=millis {
            let now = at_us(ms * 1000);
            let mut dropped = |_: TestPacket| drops.push(now);
            if let Some(out) = codel.dequeue(now, Bytes::MAX, &mut dropped) {
                sent += 1;
                if out.packet.ecn() == Ecn::Ce {
                    marks.push(now);
                }
            }
            // the queue keeps its length: what was dropped is replaced, too
            while codel.occupancy().packets < standing as usize {
                codel
                    .enqueue(now, TestPacket::new(1500).with_ecn(ecn))
                    .unwrap();
            }
        }
        (drops, marks, sent)
    }

    #[test]
    fn section_5_3_control_law() {
        let law = |count| control_law(Instant::ZERO, INTERVAL, count);
        assert_eq!(law(1), at_us(100_000));
        assert_eq!(law(4), at_us(50_000));
        assert_eq!(law(100), at_us(10_000));
        assert_eq!(law(2).as_nanos(), 70_710_678);
    }

    #[test]
    fn a_standing_queue_is_dropped_from_at_interval_over_sqrt_count() {
        let (drops, _, _) = run(20, 1000, Ecn::NotEct);
        // the first packet to have waited 5 ms leaves at 5 ms: standing since, an interval later the
        // first drop; each next at the sum of interval / sqrt(count), seen at the next millisecond
        let mut exact = at_us(105_000);
        let mut expected = vec![exact];
        for count in 1.. {
            exact = control_law(exact, INTERVAL, count);
            let next_ms = exact.as_nanos().div_ceil(1_000_000);
            if next_ms > 1000 {
                break;
            }
            expected.push(at_us(next_ms * 1000));
        }
        assert_eq!(drops, expected);
        assert!(drops.len() > 20, "{}", drops.len());
    }

    #[test]
    fn a_mark_takes_the_place_of_each_drop() {
        let (drops, _, sent) = run(20, 1000, Ecn::NotEct);
        let (no_drops, marks, all) = run(20, 1000, Ecn::Ect0);
        assert!(no_drops.is_empty());
        assert_eq!(marks, drops);
        assert_eq!((sent, all), (1000, 1000));
    }

    #[test]
    fn a_queue_below_target_or_of_one_packet_is_left_alone() {
        assert_eq!(run(4, 2000, Ecn::NotEct).0, vec![]);
        let mut codel = CoDel::new(CoDelConfig::default(), Capacity::Unlimited).unwrap();
        for ms in 0..2000 {
            codel
                .enqueue(at_us(ms * 1000), TestPacket::new(1500))
                .unwrap();
            let late = at_us(ms * 1000 + 900_000);
            let out = codel.dequeue(late, Bytes::MAX, &mut |_| panic!("dropped"));
            assert!(out.is_some());
        }
    }

    #[test]
    fn section_5_6_the_rate_of_a_recent_dropping_state_is_taken_up_again() {
        let config = CoDelConfig::default();
        let mut law = DropLaw::default();
        let (long, short) = (Duration::from_millis(50), Duration::from_millis(1));
        let plenty = Bytes::new(100_000);
        let mut now = at_us(0);
        let mut signals = |now, sojourn| law.signals_congestion(&config, now, sojourn, plenty);
        let mut drops = 0;
        while drops < 10 {
            drops += u32::from(signals(now, long));
            now += Duration::from_millis(1);
        }
        assert!(!signals(now, short));
        while !signals(now, long) {
            now += Duration::from_millis(1);
        }
        assert_eq!(law.count, 9);
        assert_eq!(law.drop_next, control_law(now, INTERVAL, 9));
        // and reset after 16 intervals
        law.on_empty();
        let later = now + INTERVAL * 20;
        assert!(!law.signals_congestion(&config, later, long, plenty));
        assert!(law.signals_congestion(&config, later + INTERVAL, long, plenty));
        assert_eq!(law.count, 1);
    }

    #[test]
    fn a_head_that_does_not_fit_stays_and_is_not_examined() {
        let mut codel = CoDel::new(CoDelConfig::default(), Capacity::Unlimited).unwrap();
        for _ in 0..10 {
            codel.enqueue(at_us(0), TestPacket::new(1500)).unwrap();
        }
        for ms in 1..1000 {
            let out = codel.dequeue(at_us(ms * 1000), Bytes::new(1499), &mut |_| {
                panic!("dropped")
            });
            assert!(out.is_none());
        }
        assert_eq!(codel.occupancy().packets, 10);
    }
}
