//! What a path has sent and whose arrival is not certain: a ring of records by packet number.
//!
//! A number is *in flight* until it is acknowledged or found lost; a lost one is kept for a
//! while, since it may arrive nonetheless. Two sets of bits hold the states, so that a run of an
//! Ack Vector costs a few operations for each 64 packets, however much of it was reported before.

use super::bits::{BitRing, word_spans};
use crate::seq::MpSeq;
use cc::PacketStamp;
use units::{Bytes, Instant};

/// Records at first.
const INITIAL_CAPACITY: usize = 256;

/// A packet that was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    pub(super) sent_at: Instant,
    /// Of the controller; data only.
    pub(super) stamp: PacketStamp,
    pub(super) mp_seq: Option<MpSeq>,
    /// Size of what it carries.
    pub(super) bytes: u32,
    /// What it counts in the window; 0 for one that carries nothing, or has left beyond the window.
    pub(super) counted: u32,
    /// It has left with a congestion mark.
    pub(super) was_marked: bool,
}

impl Record {
    pub(super) fn is_data(&self) -> bool {
        self.bytes > 0 || self.counted > 0
    }
    /// It carries data and does not count in the window.
    fn is_beyond(&self) -> bool {
        self.bytes > 0 && self.counted == 0
    }
}

/// What became of a packet as an acknowledgement named it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) number: u64,
    pub(super) record: Record,
    /// It had been found lost before.
    pub(super) was_lost: bool,
}

/// The ring.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    records: Vec<Record>,
    in_flight: BitRing,
    lost: BitRing,
    /// Nothing below is in flight or kept as lost.
    base: u64,
    /// Nothing below is in flight.
    first: u64,
    /// Number of the next packet.
    next: u64,
    /// The ring never grows beyond this.
    max_capacity: u64,
    /// Data packets in flight.
    packets: u64,
    /// Those of them that do not count in the window.
    beyond: u64,
    /// What they count.
    counted: u64,
    /// The three greatest numbers known to have arrived, each plus one, falling; 0 for none.
    arrived: [u64; 3],
}

impl Flight {
    /// One that keeps at most so many numbers, rounded up to a power of two, at least 64.
    pub(super) fn new(max_capacity: usize) -> Self {
        let capacity = max_capacity.min(INITIAL_CAPACITY);
        let in_flight = BitRing::new(capacity);
        Self {
            records: vec![Record::default(); in_flight.capacity() as usize],
            lost: in_flight.clone(),
            in_flight,
            base: 0,
            first: 0,
            next: 0,
            max_capacity: BitRing::new(max_capacity).capacity(),
            packets: 0,
            beyond: 0,
            counted: 0,
            arrived: [0; 3],
        }
    }

    fn capacity(&self) -> u64 {
        self.records.len() as u64
    }

    fn slot(&self, number: u64) -> usize {
        (number & (self.capacity() - 1)) as usize
    }

    pub(super) fn record(&self, number: u64) -> &Record {
        &self.records[self.slot(number)]
    }

    /// Number of the next packet.
    pub(super) fn next(&self) -> u64 {
        self.next
    }
    /// Data packets in flight.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }
    /// The last packet has left with a congestion mark.
    pub(super) fn note_marked(&mut self) {
        if let Some(last) = self.next.checked_sub(1) {
            let slot = self.slot(last);
            self.records[slot].was_marked = true;
        }
    }
    /// Those of them that do not count in the window.
    pub(super) fn beyond(&self) -> u64 {
        self.beyond
    }
    /// What data in flight counts in the window.
    pub(super) fn counted(&self) -> Bytes {
        Bytes::new(self.counted)
    }
    /// Numbers that may still be sent without evicting older ones.
    pub(super) fn free(&self) -> u64 {
        self.max_capacity - (self.next - self.base)
    }
    /// The greatest number that has arrived.
    pub(super) fn latest_arrived(&self) -> Option<u64> {
        self.arrived[0].checked_sub(1)
    }
    /// RFC 4341 section 5, NUMDUPACK = 3: three packets with greater numbers have arrived.
    pub(super) fn has_three_after(&self, number: u64) -> bool {
        self.arrived[2] > number + 1
    }

    /// A packet was sent. `number` is at least [`Self::next`]; numbers between were used
    /// elsewhere and have no record here. What has to be evicted for it is given to `evict`.
    pub(super) fn push(
        &mut self,
        number: u64,
        record: Record,
        evict: &mut impl FnMut(u64, Record),
    ) {
        debug_assert!(
            number >= self.next,
            "{number} was sent before {}",
            self.next
        );
        self.make_room(number, evict);
        self.next = number + 1;
        let slot = self.slot(number);
        self.in_flight.insert(number);
        self.packets += u64::from(record.is_data());
        self.beyond += u64::from(record.is_beyond());
        self.counted += u64::from(record.counted);
        self.records[slot] = record;
    }

    /// Makes the ring reach up to `number`.
    fn make_room(&mut self, number: u64, evict: &mut impl FnMut(u64, Record)) {
        if number - self.base < self.capacity() {
            return;
        }
        self.advance_base();
        while number - self.base >= self.capacity() && self.capacity() < self.max_capacity {
            self.grow();
        }
        if number - self.base >= self.capacity() {
            let keep_from = number + 1 - self.capacity();
            while let Some(oldest) = self.first_in_flight()
                && oldest < keep_from
            {
                let record = self.take_in_flight(oldest);
                evict(oldest, record);
            }
            self.lost.remove_range(self.base, keep_from.min(self.next));
            self.base = keep_from;
            self.first = self.first.max(keep_from);
        }
    }

    fn grow(&mut self) {
        let mut records = vec![Record::default(); self.records.len() * 2];
        let mask = records.len() as u64 - 1;
        for number in self.base..self.next {
            records[(number & mask) as usize] = *self.record(number);
        }
        self.records = records;
        self.in_flight = self.in_flight.doubled(self.base, self.next);
        self.lost = self.lost.doubled(self.base, self.next);
    }

    /// Moves the base to the first number that is in flight or kept as lost.
    pub(super) fn advance_base(&mut self) {
        let first = self.first_in_flight().unwrap_or(self.next);
        self.base = self.lost.first_in(self.base, first).unwrap_or(first);
    }

    /// The lowest number in flight.
    pub(super) fn first_in_flight(&mut self) -> Option<u64> {
        let found = self.in_flight.first_in(self.first, self.next);
        self.first = found.unwrap_or(self.next);
        found
    }

    /// Takes a number out of what is in flight; it must be.
    fn take_in_flight(&mut self, number: u64) -> Record {
        self.in_flight.remove(number);
        let record = *self.record(number);
        self.packets -= u64::from(record.is_data());
        self.beyond -= u64::from(record.is_beyond());
        self.counted -= u64::from(record.counted);
        record
    }

    /// A number in flight is taken for lost, and kept.
    pub(super) fn mark_lost(&mut self, number: u64) -> Record {
        self.lost.insert(number);
        self.take_in_flight(number)
    }

    /// Lost packets below `number` are not expected any more.
    pub(super) fn expire_lost_below(&mut self, number: u64) {
        self.lost.remove_range(self.base, number.min(self.next));
        self.advance_base();
    }

    /// The peer has the packets from `start` to before `end`; calls `arrived` for each of them that
    /// was not known to have arrived, in order.
    pub(super) fn take_arrived(&mut self, start: u64, end: u64, mut arrived: impl FnMut(&Arrived)) {
        for span in word_spans(start.max(self.base), end.min(self.next)) {
            let in_flight = self.in_flight.word(span.first) & span.mask;
            let lost = self.lost.word(span.first) & span.mask;
            let mut left = in_flight | lost;
            if left == 0 {
                continue;
            }
            *self.in_flight.word_mut(span.first) &= !in_flight;
            *self.lost.word_mut(span.first) &= !lost;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let number = span.first + u64::from(bit);
                let was_lost = lost >> bit & 1 == 1;
                let record = *self.record(number);
                if !was_lost {
                    self.packets -= u64::from(record.is_data());
                    self.beyond -= u64::from(record.is_beyond());
                    self.counted -= u64::from(record.counted);
                }
                self.note_arrived(number);
                arrived(&Arrived {
                    number,
                    record,
                    was_lost,
                });
            }
        }
    }

    fn note_arrived(&mut self, number: u64) {
        let mut new = number + 1;
        for place in &mut self.arrived {
            if new > *place {
                core::mem::swap(&mut new, place);
            }
        }
    }

    /// Lowest number that an acknowledgement can still report anything new of.
    pub(super) fn base(&self) -> u64 {
        self.base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(counted: u32) -> Record {
        Record {
            bytes: counted,
            counted,
            ..Record::default()
        }
    }

    fn push(flight: &mut Flight, count: u64) -> Vec<u64> {
        let mut evicted = Vec::new();
        for _ in 0..count {
            let next = flight.next();
            flight.push(next, record(1_000), &mut |number, _| evicted.push(number));
        }
        evicted
    }

    fn arrive(flight: &mut Flight, start: u64, end: u64) -> Vec<(u64, bool)> {
        let mut numbers = Vec::new();
        flight.take_arrived(start, end, |a| numbers.push((a.number, a.was_lost)));
        numbers
    }

    #[test]
    fn a_packet_arrives_once() {
        let mut flight = Flight::new(1_000);
        push(&mut flight, 100);
        assert_eq!(flight.counted(), Bytes::new(100_000));
        let numbers = arrive(&mut flight, 60, 70);
        assert_eq!(numbers, (60..70).map(|n| (n, false)).collect::<Vec<_>>());
        assert_eq!(arrive(&mut flight, 60, 71), [(70, false)]);
        assert_eq!((flight.packets(), flight.first_in_flight()), (89, Some(0)));
        assert!(flight.has_three_after(67) && !flight.has_three_after(68));
        assert_eq!(flight.latest_arrived(), Some(70));
    }

    #[test]
    fn lost_numbers_are_kept_until_they_expire() {
        let mut flight = Flight::new(1_000);
        push(&mut flight, 10);
        arrive(&mut flight, 5, 10);
        for number in 0..5 {
            assert_eq!(flight.first_in_flight(), Some(number));
            flight.mark_lost(number);
        }
        assert_eq!((flight.packets(), flight.base()), (0, 0));
        assert_eq!(arrive(&mut flight, 1, 2), [(1, true)]);
        flight.expire_lost_below(4);
        assert_eq!(flight.base(), 4);
        assert_eq!(arrive(&mut flight, 0, 5), [(4, true)]);
    }

    #[test]
    fn the_ring_grows_up_to_its_bound_and_then_evicts_the_oldest() {
        let mut flight = Flight::new(1_024);
        assert!(push(&mut flight, 1_024).is_empty());
        assert_eq!(flight.free(), 0);
        assert_eq!(arrive(&mut flight, 300, 302), [(300, false), (301, false)]);
        assert_eq!(push(&mut flight, 2), [0, 1]);
        assert_eq!((flight.packets(), flight.base()), (1_022, 2));
        arrive(&mut flight, 2, 4);
        assert!(
            push(&mut flight, 2).is_empty(),
            "what has arrived makes room"
        );
    }

    #[test]
    fn numbers_that_others_used_are_holes() {
        let mut flight = Flight::new(256);
        flight.push(10, record(1_000), &mut |_, _| unreachable!());
        assert_eq!(arrive(&mut flight, 0, 11), [(10, false)]);
        flight.push(5_000, record(1_000), &mut |_, _| unreachable!());
        assert_eq!(
            (flight.first_in_flight(), flight.packets()),
            (Some(5_000), 1)
        );
    }
}
