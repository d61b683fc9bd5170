//! How much of what is not split may go on into the base station, where it waits at the edge instead
//! (`pep.unsplit = "queue"`): what keeps the base station's queue at a few milliseconds.
//!
//! ```text
//!   V as in `virtual_queue.rs` without slack:  what will be in the base station as the next packet gets there
//!   b = max(least, A / 2),  least: 2 slots of a base station, A: how old the last report had become as the next one came; at most 20 ms
//!   open while V < R (b + w),  w: how long what waits there of the flows of the proxy takes
//! ```
//! It is a window of bytes, not a rate alone, which would add up its own error. b bridges what the radio can carry more than
//! was known: a rate that grows by b / A between two reports finds the base station's queue empty.
//!
//! Open without a limit where nothing is known: before the first report, once the last is too old, and where it has no rate.

use super::fixed::{BYTE_SHIFT, delay, drained};
use super::report::Reporter;
use super::virtual_queue::VirtualQueue;
use super::{MarkerConfig, Order};
use rapid::Unsplit;
use units::{Bytes, Duration, Instant};

/// A gap in the reports counts as so much age at most.
const MAX_AGE: Duration = Duration::from_millis(20);

/// The window of one UE.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteWindow {
    reporter: Reporter,
    order: Order,
    queue: VirtualQueue,
    /// When the last report was made.
    reported_at: Option<Instant>,
    /// b, ns.
    depth: u64,
}

/// b of a report that comes with the last one so old.
fn depth(least: Duration, age: Duration) -> Duration {
    least.max(age.min(MAX_AGE) / 2)
}

/// What b is at least where a base station with slots of that duration reports.
pub fn two_slots(slot: Duration) -> Duration {
    slot * 2
}

impl ByteWindow {
    /// A report came at `now`; b is `least` at least ([`two_slots`] of a base station).
    pub fn on_report(
        &mut self,
        now: Instant,
        unsplit: &Unsplit,
        least: Duration,
        config: &MarkerConfig,
    ) {
        let age = match self.reported_at.replace(unsplit.reported_at) {
            Some(last) => now.saturating_since(last),
            None => now.saturating_since(unsplit.reported_at),
        };
        self.order = Order {
            slack: 0,
            ..self.reporter.order(now, unsplit, config)
        };
        self.depth = (depth(least, age) + self.reporter.own_wait()).as_nanos();
    }

    /// Whether a packet may go on.
    pub fn is_open(&mut self, now: Instant) -> bool {
        let now = now.since_start().as_nanos();
        self.queue.advance(now);
        let order = &self.order;
        if order.number == 0 || now > order.valid_until || order.drain == 0 {
            return true;
        }
        self.queue.follow(now, order);
        self.queue.length() < drained(self.depth, order.drain)
    }

    /// What the radio carries in so long, by the last report; none if it has no rate.
    pub(super) fn carried(&self, time: Duration) -> Option<Bytes> {
        let drain = self.order.drain;
        let bytes = drained(time.as_nanos(), drain) >> BYTE_SHIFT;
        (drain > 0).then(|| Bytes::new(bytes))
    }

    /// It has gone on.
    pub fn on_passed(&mut self, bytes: Bytes) {
        self.queue.add(bytes.get());
    }

    /// When it opens, as far as is known, where it was closed at `now`.
    pub fn opens_at(&self, now: Instant) -> Instant {
        let most = drained(self.depth, self.order.drain);
        let excess = self.queue.length().saturating_sub(most);
        let until_stale = Instant::from_nanos(self.order.valid_until.saturating_add(1));
        // drained in whole units, rounded down
        let sent = now + Duration::from_nanos(delay(excess, self.order.drain) + 1_000);
        sent.min(until_stale.max(now + Duration::from_nanos(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    /// Of slots of 1 ms.
    const LEAST: Duration = Duration::from_millis(2);

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// 16 Mbit/s, 2 bytes a microsecond.
    fn unsplit(queue: u64, us: u64) -> Unsplit {
        Unsplit {
            capacity: BitRate::from_mbps(16),
            share: BitRate::from_mbps(16),
            is_contested: false,
            queue: Bytes::new(queue),
            reported_at: at(us),
            own_wait: Duration::ZERO,
            is_by_chance: false,
        }
    }

    fn config() -> MarkerConfig {
        MarkerConfig {
            transit: Duration::ZERO,
            ..MarkerConfig::default()
        }
    }

    /// Packets of 500 bytes that go on at once.
    fn passed(window: &mut ByteWindow, now: Instant) -> u64 {
        let mut packets = 0;
        while packets < 1_000 && window.is_open(now) {
            window.on_passed(Bytes::new(500));
            packets += 1;
        }
        packets
    }

    #[test]
    fn b_is_two_slots_or_half_of_the_age() {
        let ms = Duration::from_millis;
        let depth = |slot, age| depth(two_slots(slot), age);
        assert_eq!(depth(ms(1), ms(2)), ms(2));
        assert_eq!(depth(ms(1), ms(7)), Duration::from_micros(3_500));
        assert_eq!(depth(Duration::from_micros(125), ms(2)), ms(1));
        assert_eq!(depth(ms(1), ms(900)), ms(10), "a gap");
    }

    #[test]
    fn two_slots_of_bytes_go_on_and_as_much_again_as_the_radio_sends() {
        let mut window = ByteWindow::default();
        window.on_report(at(10_000), &unsplit(0, 9_000), LEAST, &config());
        // b = 2 ms: 4,000 bytes
        assert_eq!(passed(&mut window, at(10_000)), 8);
        let opens = window.opens_at(at(10_000));
        assert!(opens > at(10_000) && opens < at(10_005), "{opens:?}");
        assert_eq!(passed(&mut window, at(10_000)), 0);
        // 1 ms later 2,000 bytes have been sent
        assert_eq!(passed(&mut window, at(11_000)), 4);
    }

    #[test]
    fn what_is_reported_to_wait_counts() {
        let mut window = ByteWindow::default();
        // 7,000 bytes as of 1 ms ago, of which 2,000 have been sent since
        window.on_report(at(10_000), &unsplit(7_000, 9_000), LEAST, &config());
        assert_eq!(passed(&mut window, at(10_000)), 0);
        // 1,000 more than 4,000
        let opens = window.opens_at(at(10_000));
        assert!((at(10_490)..at(10_510)).contains(&opens), "{opens:?}");
        assert_eq!(passed(&mut window, at(11_000)), 2);
    }

    #[test]
    fn without_reports_and_rates_it_is_open() {
        let mut window = ByteWindow::default();
        assert_eq!(passed(&mut window, at(5)), 1_000, "before the first");
        let mut window = ByteWindow::default();
        window.on_report(at(10_000), &unsplit(1_000_000, 10_000), LEAST, &config());
        assert_eq!(passed(&mut window, at(10_000)), 0);
        let opens = window.opens_at(at(10_000));
        assert!((at(110_000)..at(110_002)).contains(&opens), "{opens:?}");
        assert_eq!(passed(&mut window, at(110_001)), 1_000, "too old");
        let mut window = ByteWindow::default();
        let nothing = Unsplit {
            share: BitRate::ZERO,
            capacity: BitRate::ZERO,
            ..unsplit(1_000_000, 10_000)
        };
        window.on_report(at(10_000), &nothing, LEAST, &config());
        assert_eq!(passed(&mut window, at(10_000)), 1_000, "no rate");
    }
}
