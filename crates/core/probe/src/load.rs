//! The heavy workload's sender: packets in equal steps above what the path carries, never more of them under way than a
//! window.
//!
//! The window is what the rate carries in [`WINDOW`], so that a path of a part 1/k of the rate has a queue of k times that, and
//! an end that no longer answers is sent no more. Where nothing comes of a whole window for [`STALL`] although the other end
//! answers, all of it is taken for lost.

use units::{BitRate, Bytes, Duration, Instant};

/// What may be under way, as a time at the rate.
pub const WINDOW: Duration = Duration::from_millis(500);
/// Packets of a window at least.
pub const MIN_WINDOW: u64 = 64;
/// After this time without one of the window it is lost.
pub const STALL: Duration = Duration::from_secs(1);
/// What a sender that was held up makes up for.
const MAX_BEHIND: Duration = Duration::from_millis(5);

/// A sender of numbered packets.
#[derive(Clone, Debug)]
pub struct Load {
    /// Between two packets.
    step: Duration,
    /// Packets.
    window: u64,
    is_on: bool,
    /// The next packet's number, and when it is due.
    next: u64,
    due: Instant,
    /// All before it have come or are lost, and since when that is so.
    base: u64,
    moved: Instant,
}

impl Load {
    /// Of packets of that size at that rate; of rate zero nothing is sent.
    pub fn new(rate: BitRate, packet: Bytes) -> Self {
        let window = rate.bytes_in(WINDOW).get() / packet.get().max(1);
        Self {
            step: packet / rate,
            window: window.max(MIN_WINDOW),
            is_on: false,
            next: 0,
            due: Instant::ZERO,
            base: 0,
            moved: Instant::ZERO,
        }
    }

    /// Begins to send, or ends.
    pub fn set(&mut self, now: Instant, is_on: bool) {
        if is_on && !self.is_on {
            (self.due, self.base, self.moved) = (now, self.next, now);
        }
        self.is_on = is_on && self.step != Duration::MAX;
    }

    /// The other end states the number after the highest that has come.
    pub fn acknowledge(&mut self, now: Instant, next: u64) {
        let next = next.min(self.next);
        if next > self.base {
            (self.base, self.moved) = (next, now);
        } else if self.is_full() && now.saturating_since(self.moved) >= STALL {
            (self.base, self.moved) = (self.next, now);
        }
    }

    /// The number of a packet that is to be sent now.
    pub fn send(&mut self, now: Instant) -> Option<u64> {
        if self.next_deadline()? > now {
            return None;
        }
        self.due = (self.due + self.step).max(now - MAX_BEHIND);
        self.next += 1;
        Some(self.next - 1)
    }

    /// When the next packet is due; none while nothing may be sent.
    pub fn next_deadline(&self) -> Option<Instant> {
        (self.is_on && !self.is_full()).then_some(self.due)
    }

    /// Packets that were sent.
    pub const fn sent(&self) -> u64 {
        self.next
    }

    const fn is_full(&self) -> bool {
        self.next - self.base >= self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1_250);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn sent(load: &mut Load, now: Instant) -> u64 {
        std::iter::from_fn(|| load.send(now)).count() as u64
    }

    #[test]
    fn packets_leave_by_the_rate() {
        // 10 Mbit/s are one of 1250 bytes each millisecond
        let mut load = Load::new(BitRate::from_mbps(10), PACKET);
        assert_eq!(load.next_deadline(), None);
        load.set(at(3), true);
        let counts = [3, 4, 6].map(|ms| sent(&mut load, at(ms)));
        assert_eq!(counts, [1, 1, 2]);
        assert_eq!(load.next_deadline(), Some(at(7)));
        // held up for 94 ms: not all of that at once
        assert_eq!(sent(&mut load, at(100)), 7);
        load.set(at(100), false);
        assert_eq!(sent(&mut load, at(200)), 0);
    }

    #[test]
    fn no_more_is_under_way_than_the_window() {
        let mut load = Load::new(BitRate::from_mbps(10), PACKET);
        load.set(at(0), true);
        let all: u64 = (0..2_000).map(|ms| sent(&mut load, at(ms))).sum();
        assert_eq!(all, 500);
        load.acknowledge(at(2_000), 100);
        let more: u64 = (2_000..4_000).map(|ms| sent(&mut load, at(ms))).sum();
        assert_eq!(more, 100);
        // a number that was never sent counts as the last one
        load.acknowledge(at(2_500), u64::MAX);
        assert_eq!(load.base, 600);
    }

    #[test]
    fn a_window_of_which_nothing_comes_is_lost() {
        let mut load = Load::new(BitRate::from_mbps(10), PACKET);
        load.set(at(0), true);
        let all: u64 = (0..2_000).map(|ms| sent(&mut load, at(ms))).sum();
        assert_eq!(all, 500);
        load.acknowledge(at(2_000), 1);
        let one: u64 = (2_000..2_010).map(|ms| sent(&mut load, at(ms))).sum();
        assert_eq!(one, 1);
        assert_eq!(load.next_deadline(), None);
        load.acknowledge(at(2_999), 1);
        assert_eq!(load.next_deadline(), None);
        load.acknowledge(at(3_000), 1);
        assert!(load.next_deadline().is_some());
    }

    #[test]
    fn of_rate_zero_nothing_is_sent() {
        let mut load = Load::new(BitRate::ZERO, PACKET);
        load.set(at(0), true);
        assert_eq!((load.send(at(9)), load.next_deadline()), (None, None));
    }
}
