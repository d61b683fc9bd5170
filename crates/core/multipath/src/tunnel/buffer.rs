//! The scheduler's buffer: packets that no path has been chosen for, in their order.
//!
//! With a scheduler that bounds what its paths hold ([`crate::scheduler::Scheduler::bounds_paths`]) the queue of
//! all paths stands here, where no bottleneck signals it. CoDel can (RFC 8289, [`queue::CoDel`]), as packets
//! leave for a path, with a bound ([`queue::BoundedCoDel`]) where senders do not answer it. They have no number of the connection yet, so that what is dropped leaves no gap for the
//! receiver to wait for. What is of use whole alone ([`Payload::follows`]) is one packet to CoDel, as a packet that is to be
//! segmented is to a queue of the kernel: dropped as a whole, or not at all.

use super::TunnelConfig;
use crate::Payload;
use core::fmt;
use core::str::FromStr;
use queue::{BoundedCoDel, BoundedCoDelConfig, Capacity, CoDelConfig};
use std::collections::VecDeque;
use units::{Bytes, Duration, Ecn, Instant};

/// Standing sojourn time that CoDel tolerates there unless given. With RFC 8289's 5 ms one download by Cubic leaves
/// the paths empty after each reduction (docs/results/nested-cc.md).
pub const CODEL_TARGET: Duration = Duration::from_millis(15);
/// For how long it may be exceeded unless given (RFC 8289 4.3).
pub const CODEL_INTERVAL: Duration = Duration::from_millis(100);

/// Senders have so many intervals more to answer CoDel, before the wait is bounded.
const ANSWER_INTERVALS: u64 = 3;

/// How the scheduler's buffer signals that packets wait in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BufferQueue {
    /// What does not fit is dropped, and nothing else.
    DropTail,
    /// What waits too long is marked or dropped as well.
    CoDel,
    /// The same, and where that is not answered, nothing waits for longer.
    #[default]
    BoundedCoDel,
}

impl BufferQueue {
    /// All of them, in the order of messages.
    pub const ALL: [Self; 3] = [Self::DropTail, Self::CoDel, Self::BoundedCoDel];
    /// Their names.
    pub const NAMES: &'static [&'static str] = &[
        Self::DropTail.name(),
        Self::CoDel.name(),
        Self::BoundedCoDel.name(),
    ];

    /// The name that scenario files and configurations use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DropTail => "drop-tail",
            Self::CoDel => "codel",
            Self::BoundedCoDel => "bounded-codel",
        }
    }
}

impl fmt::Display for BufferQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No queue of the scheduler's buffer has the requested name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown queue {name:?}; known are {known}", known = BufferQueue::NAMES.join(", "))]
pub struct UnknownBufferQueue {
    /// The requested name.
    pub name: String,
}

impl FromStr for BufferQueue {
    type Err = UnknownBufferQueue;

    fn from_str(name: &str) -> Result<Self, UnknownBufferQueue> {
        let found = Self::ALL.into_iter().find(|queue| queue.name() == name);
        found.ok_or_else(|| UnknownBufferQueue {
            name: name.to_owned(),
        })
    }
}

/// A payload as a queue sees it.
#[derive(Debug)]
struct Waiting<P> {
    payload: P,
    /// CoDel has marked it.
    is_marked: bool,
}

impl<P: Payload> queue::Packet for Waiting<P> {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.payload.len() as u64)
    }
    fn ecn(&self) -> Ecn {
        self.payload.ecn()
    }
    fn mark(&mut self) {
        self.payload.mark();
        self.is_marked = true;
    }
}

enum Packets<P> {
    Plain(VecDeque<P>),
    CoDel(Box<Managed<P>>),
}

/// What CoDel manages: the first packet of each whole stands in its queue, the others stand beside it.
struct Managed<P> {
    firsts: BoundedCoDel<Waiting<P>>,
    /// How many others each of those has, in their order.
    counts: VecDeque<usize>,
    /// The others of all of them, in their order.
    others: VecDeque<P>,
    /// How many of the foremost are of a first one that has left: they are next.
    next: usize,
}

impl<P: Payload> Managed<P> {
    fn new(config: BoundedCoDelConfig) -> Self {
        let firsts = BoundedCoDel::new(config, Capacity::Unlimited);
        Self {
            firsts: firsts.expect("both times are above zero"),
            counts: VecDeque::new(),
            others: VecDeque::new(),
            next: 0,
        }
    }

    fn push(&mut self, now: Instant, payload: P) {
        if payload.follows() {
            *self.counts.back_mut().unwrap_or(&mut self.next) += 1;
            self.others.push_back(payload);
            return;
        }
        let waiting = Waiting {
            payload,
            is_marked: false,
        };
        let pushed = self.firsts.push(now, waiting);
        debug_assert!(pushed.is_ok(), "without limit");
        self.counts.push_back(0);
    }

    fn front(&self) -> Option<&P> {
        match self.next {
            0 => self.firsts.front().map(|first| &first.packet.payload),
            _ => self.others.front(),
        }
    }

    /// The next packet, and whether CoDel has marked it; what it drops is counted.
    fn pop(&mut self, now: Instant, dropped: &mut u64) -> Option<(P, bool)> {
        if self.next > 0 {
            self.next -= 1;
            return self.others.pop_front().map(|other| (other, false));
        }
        let (counts, others) = (&mut self.counts, &mut self.others);
        let first = self.firsts.pop(now, Bytes::MAX, &mut |_| {
            let with_it = counts.pop_front().unwrap_or(0);
            others.drain(..with_it);
            *dropped += 1 + with_it as u64;
        });
        self.next = first.as_ref().and_then(|_| counts.pop_front()).unwrap_or(0);
        first.map(|first| (first.packet.payload, first.packet.is_marked))
    }

    fn len(&self) -> usize {
        self.firsts.occupancy().packets + self.others.len()
    }
}

/// Packets that no path has been chosen for. How many there may be, the tunnel decides.
pub(super) struct Buffer<P> {
    packets: Packets<P>,
    /// Dropped because packets waited too long.
    dropped: u64,
    /// Marked instead.
    marked: u64,
}

impl<P: Payload> Buffer<P> {
    pub(super) fn new(config: &TunnelConfig) -> Self {
        // no time of zero is a queue's
        let interval = config.codel_interval.max(Duration::from_nanos(1));
        let codel = CoDelConfig {
            target: config.codel_target.max(Duration::from_nanos(1)),
            interval,
            mtu: Bytes::new(config.mtu as u64),
            ecn: true,
        };
        let managed =
            |answer| Packets::CoDel(Box::new(Managed::new(BoundedCoDelConfig { codel, answer })));
        let packets = match config.scheduler_queue {
            BufferQueue::DropTail => Packets::Plain(VecDeque::new()),
            BufferQueue::CoDel => managed(None),
            BufferQueue::BoundedCoDel => managed(Some(interval * ANSWER_INTERVALS)),
        };
        Self {
            packets,
            dropped: 0,
            marked: 0,
        }
    }

    pub(super) fn push(&mut self, now: Instant, payload: P) {
        match &mut self.packets {
            Packets::Plain(packets) => packets.push_back(payload),
            Packets::CoDel(managed) => managed.push(now, payload),
        }
    }

    /// The packet that has waited longest.
    pub(super) fn front(&self) -> Option<&P> {
        match &self.packets {
            Packets::Plain(packets) => packets.front(),
            Packets::CoDel(managed) => managed.front(),
        }
    }

    /// The next packet that leaves for a path.
    pub(super) fn pop(&mut self, now: Instant) -> Option<P> {
        match &mut self.packets {
            Packets::Plain(packets) => packets.pop_front(),
            Packets::CoDel(managed) => {
                let (payload, is_marked) = managed.pop(now, &mut self.dropped)?;
                self.marked += u64::from(is_marked);
                Some(payload)
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.packets {
            Packets::Plain(packets) => packets.len(),
            Packets::CoDel(managed) => managed.len(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packets dropped because they, or those before them, waited too long.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Packets marked because they, or those before them, waited too long.
    pub(super) fn marked(&self) -> u64 {
        self.marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Data(u64, Ecn);

    /// Numbers from this on are of wholes of four.
    const WHOLES: u64 = 1_000_000;

    impl Payload for Data {
        fn len(&self) -> usize {
            1_400
        }
        fn follows(&self) -> bool {
            self.0 >= WHOLES && !self.0.is_multiple_of(4)
        }
        fn ecn(&self) -> Ecn {
            self.1
        }
        fn mark(&mut self) {
            self.1 = Ecn::Ce;
        }
    }

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn buffer(scheduler_queue: BufferQueue) -> Buffer<Data> {
        let config = TunnelConfig {
            scheduler_queue,
            ..TunnelConfig::default()
        };
        Buffer::new(&config)
    }

    /// A packet comes and one leaves each millisecond for a second, behind `standing` others: those that left.
    fn run(buffer: &mut Buffer<Data>, standing: u64, ecn: Ecn) -> Vec<Data> {
        let mut left = Vec::new();
        for number in 0..standing {
            buffer.push(at_ms(0), Data(number, ecn));
        }
        for ms in 1..=1_000 {
            buffer.push(at_ms(ms), Data(standing + ms - 1, ecn));
            left.extend(buffer.pop(at_ms(ms)));
        }
        left
    }

    #[test]
    fn every_name_is_a_queue_and_others_are_none() {
        for queue in BufferQueue::ALL {
            assert_eq!(queue.name().parse(), Ok(queue));
        }
        let error = "red".parse::<BufferQueue>().expect_err("unknown");
        let text = "unknown queue \"red\"; known are drop-tail, codel, bounded-codel";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn what_waits_too_long_is_dropped_from_the_front_and_the_rest_keeps_its_order() {
        let mut codel = buffer(BufferQueue::CoDel);
        let left = run(&mut codel, 200, Ecn::NotEct);
        assert!(left.is_sorted_by_key(|data| data.0));
        assert!(codel.dropped() > 0 && left.len() == 1_000);
        // none was lost but those that were dropped
        let waiting = codel.len() as u64;
        assert_eq!(1_200, 1_000 + codel.dropped() + waiting);
        assert_eq!(codel.marked(), 0);
        assert_eq!(left.last().map(|data| data.0), Some(1_199 - waiting));
    }

    #[test]
    fn packets_that_can_be_marked_are_not_dropped() {
        let mut codel = buffer(BufferQueue::CoDel);
        let left = run(&mut codel, 200, Ecn::Ect0);
        let marked = left.iter().filter(|data| data.1 == Ecn::Ce).count();
        assert!(marked > 0);
        assert_eq!(codel.marked(), marked as u64);
        assert_eq!((codel.dropped(), left.len()), (0, 1_000));
    }

    #[test]
    fn a_short_queue_and_the_last_packet_are_left_alone() {
        let mut codel = buffer(BufferQueue::CoDel);
        assert_eq!(run(&mut codel, 4, Ecn::NotEct).len(), 1_000);
        codel.push(at_ms(1_000), Data(0, Ecn::NotEct));
        while codel.len() > 1 {
            codel.pop(at_ms(1_001));
        }
        assert!(codel.pop(at_ms(9_000)).is_some() && codel.is_empty());
        assert_eq!(codel.dropped(), 0);
    }

    #[test]
    fn what_is_of_use_whole_alone_is_dropped_whole() {
        let mut codel = buffer(BufferQueue::CoDel);
        let mut left = Vec::new();
        for number in 0..400 {
            codel.push(at_ms(0), Data(WHOLES + number, Ecn::NotEct));
        }
        for ms in 1..=1_000 {
            codel.push(at_ms(ms), Data(WHOLES + 399 + ms, Ecn::NotEct));
            assert!(codel.front().is_some());
            left.extend(codel.pop(at_ms(ms)));
        }
        assert!(codel.dropped() > 0 && codel.dropped().is_multiple_of(4));
        assert_eq!(1_400, 1_000 + codel.dropped() + codel.len() as u64);
        left.extend(core::iter::from_fn(|| codel.pop(at_ms(1_000))));
        assert!(codel.is_empty() && left.is_sorted_by_key(|data| data.0));
        for whole in left.chunks(4) {
            let begin = whole[0].0;
            assert!(begin.is_multiple_of(4), "{begin}");
            assert!(whole.iter().map(|data| data.0).eq(begin..begin + 4));
        }
    }

    #[test]
    fn drop_tail_drops_nothing_that_waits() {
        let mut plain = buffer(BufferQueue::DropTail);
        assert_eq!(run(&mut plain, 200, Ecn::NotEct).len(), 1_000);
        assert_eq!((plain.dropped(), plain.len()), (0, 200));
    }
}
