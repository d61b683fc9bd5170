//! quinn's time: `std::time::Instant`, of a simulated axis.
//!
//! The standard library makes an instant only by reading the system's clock. It is read once in the
//! life of the process, for the zero of the axis; nothing is ever compared with the clock, and what
//! runs sees differences only.

use std::sync::OnceLock;
use std::time::Instant as StdInstant;
use units::{Duration, Instant};

static ZERO: OnceLock<StdInstant> = OnceLock::new();

/// The zero of the axis.
#[expect(
    clippy::disallowed_methods,
    reason = "the zero of a simulated axis, which no clock is compared with"
)]
fn zero() -> StdInstant {
    *ZERO.get_or_init(StdInstant::now)
}

/// Simulated time, as quinn takes it.
pub(super) fn std_instant(at: Instant) -> StdInstant {
    zero() + std::time::Duration::from_nanos(at.as_nanos())
}

/// Simulated time in the form that quinn takes.
pub(super) fn instant(at: StdInstant) -> Instant {
    Instant::ZERO + duration(at.saturating_duration_since(zero()))
}

/// A span of time in the form that quinn takes; what is longer than 584 years ends there.
pub(super) fn duration(span: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_to_the_nanosecond() {
        for ns in [0, 1, 999_999_999, 86_400_000_000_001] {
            let at = Instant::from_nanos(ns);
            assert_eq!(instant(std_instant(at)), at);
        }
        assert_eq!(
            duration(std::time::Duration::MAX),
            Duration::from_nanos(u64::MAX)
        );
    }
}
