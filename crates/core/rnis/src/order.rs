//! Whether a message comes in its turn.
//!
//! Sources repeat messages (a poll faster than the base station), deliver them out of order (a
//! broker with several connections) and jump back in time (a base station that starts again, a
//! clock that is set). A message that is a little older than the last is late and of no use; one
//! that is much older, or older like all others now, is the first of a new series.

use units::Duration;

/// A message older than the last by at least this begins a new series.
pub const RESTART_AFTER: Duration = Duration::from_secs(10);

/// So many older messages one after the other begin a new series as well.
pub const RESTART_COUNT: u32 = 8;

/// Where a message stands in its series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The first of all.
    First,
    /// In its turn, this long after the one before.
    Next(Duration),
    /// Of the same time as the one before.
    Repeated,
    /// Older than the one before.
    Late,
    /// The first of a new series, after a jump back.
    Restarted,
}

impl Arrival {
    /// Whether the message is to be used.
    pub fn is_new(self) -> bool {
        matches!(self, Self::First | Self::Next(_) | Self::Restarted)
    }
}

/// The order of one source's messages for one cell, by the source's own time.
#[derive(Clone, Debug, Default)]
pub struct Order {
    last_ns: Option<u64>,
    older_in_a_row: u32,
}

impl Order {
    /// Places a message of this time, in nanoseconds of the source's clock.
    pub fn on_message(&mut self, time_ns: u64) -> Arrival {
        let Some(last) = self.last_ns else {
            self.last_ns = Some(time_ns);
            return Arrival::First;
        };
        if time_ns == last {
            return Arrival::Repeated;
        }
        if time_ns > last {
            self.accept(time_ns);
            return Arrival::Next(Duration::from_nanos(time_ns - last));
        }
        self.older_in_a_row += 1;
        let far = Duration::from_nanos(last - time_ns) >= RESTART_AFTER;
        if far || self.older_in_a_row >= RESTART_COUNT {
            self.accept(time_ns);
            return Arrival::Restarted;
        }
        Arrival::Late
    }

    fn accept(&mut self, time_ns: u64) {
        self.last_ns = Some(time_ns);
        self.older_in_a_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_repeats_and_late_reports_are_distinguished() {
        let mut order = Order::default();
        assert_eq!(order.on_message(100), Arrival::First);
        assert_eq!(
            order.on_message(150),
            Arrival::Next(Duration::from_nanos(50))
        );
        assert_eq!(order.on_message(150), Arrival::Repeated);
        assert_eq!(order.on_message(120), Arrival::Late);
        assert_eq!(
            order.on_message(200),
            Arrival::Next(Duration::from_nanos(50))
        );
    }

    #[test]
    fn a_far_jump_back_and_many_small_ones_begin_again() {
        let hour = 3_600_000_000_000;
        let mut order = Order::default();
        order.on_message(hour);
        assert_eq!(order.on_message(5), Arrival::Restarted);
        assert_eq!(order.on_message(6), Arrival::Next(Duration::from_nanos(1)));

        order.on_message(1_000_000);
        for n in 1..RESTART_COUNT {
            assert_eq!(order.on_message(1_000 + u64::from(n)), Arrival::Late);
        }
        assert_eq!(order.on_message(2_000), Arrival::Restarted);
        assert_eq!(
            order.on_message(2_001),
            Arrival::Next(Duration::from_nanos(1))
        );
    }
}
