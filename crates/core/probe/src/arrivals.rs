//! What a receiver counts of a heavy workload: bytes by the millisecond of its clock, in the order in which they came.

use crate::message::{Arrival, Data, MAX_ARRIVALS};
use std::collections::VecDeque;
use units::{Bytes, Instant};

/// The counts of a receiver.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Milliseconds with packets that are kept at most.
    limit: usize,
    /// Those that the other end may not have yet.
    waiting: VecDeque<Arrival>,
    /// How many were before them.
    first: u64,
    next: u64,
    received: u64,
    bytes: Bytes,
}

impl Arrivals {
    /// Keeps at most so many milliseconds with packets.
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            waiting: VecDeque::new(),
            first: 0,
            next: 0,
            received: 0,
            bytes: Bytes::ZERO,
        }
    }

    /// Counts a packet of that many bytes, its headers included. False if no more can be kept.
    pub fn add(&mut self, now: Instant, data: &Data, bytes: Bytes) -> bool {
        self.next = self.next.max(data.number.saturating_add(1));
        self.received += 1;
        self.bytes += bytes;
        let at_ms = now.as_nanos() / 1_000_000;
        let delay_ns = now
            .as_nanos()
            .cast_signed()
            .wrapping_sub(data.at.as_nanos().cast_signed());
        if let Some(last) = self.waiting.back_mut()
            && (last.at_ms, last.round) == (at_ms, data.round)
        {
            last.bytes += bytes;
            last.delay_ns = last.delay_ns.min(delay_ns);
            return true;
        }
        if self.waiting.len() == self.limit {
            return false;
        }
        self.waiting.push_back(Arrival {
            at_ms,
            bytes,
            delay_ns,
            round: data.round,
        });
        true
    }

    /// The other end has this many, from the beginning.
    pub fn forget(&mut self, arrivals: u64) {
        while self.first < arrivals && self.waiting.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// From the number on, at most [`MAX_ARRIVALS`], with how many were before them. What came in this millisecond may
    /// grow yet, and is left out.
    pub fn from(&self, number: u64, now: Instant) -> (u64, Vec<Arrival>) {
        let now_ms = now.as_nanos() / 1_000_000;
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let complete = self.waiting.iter().skip(skipped);
        let complete = complete.take_while(|arrival| arrival.at_ms < now_ms);
        let arrivals = complete.take(MAX_ARRIVALS).copied().collect();
        (number.max(self.first), arrivals)
    }

    /// Those that are kept.
    pub fn into_kept(self) -> Vec<Arrival> {
        self.waiting.into()
    }

    /// The number after the highest that has come.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Packets that have come.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Their bytes.
    pub const fn bytes(&self) -> Bytes {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn data(number: u64, at: u64) -> Data {
        Data {
            session: 1,
            number,
            round: 0,
            at: Instant::from_nanos(at),
        }
    }

    #[test]
    fn packets_of_a_millisecond_are_one_arrival_that_is_handed_on_once_it_is_over() {
        let mut arrivals = Arrivals::new(100);
        let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
        let bytes = Bytes::new(1_400);
        assert!(arrivals.add(at(5_100), &data(0, 4_000_000), bytes));
        assert!(arrivals.add(at(5_900), &data(2, 5_000_000), bytes));
        assert!(arrivals.add(at(7_000), &data(3, 5_500_000), bytes));
        assert_eq!((arrivals.next(), arrivals.received()), (4, 3));
        assert_eq!(arrivals.bytes(), Bytes::new(4_200));
        let expected = Arrival {
            at_ms: 5,
            bytes: Bytes::new(2_800),
            delay_ns: 900_000,
            round: 0,
        };
        assert_eq!(arrivals.from(0, at(5_950)), (0, vec![]));
        assert_eq!(arrivals.from(0, at(7_100)), (0, vec![expected]));
        assert_eq!(arrivals.from(0, at(8_000)).1.len(), 2);
        assert_eq!(arrivals.from(1, at(8_000)).1.len(), 1);
        arrivals.forget(1);
        let (first, left) = arrivals.from(0, at(8_000));
        assert_eq!((first, left.len()), (1, 1));
        arrivals.forget(u64::MAX);
        assert_eq!(arrivals.from(0, at(8_000)), (2, vec![]));
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        let mut arrivals = Arrivals::new(100);
        let mut count = 0;
        while arrivals.add(
            Instant::from_nanos(count * 1_000_000),
            &data(count, 0),
            Bytes::new(1),
        ) {
            count += 1;
        }
        assert_eq!(count, 100);
    }
}
