//! The lab's clock: CLOCK_MONOTONIC, counted from the beginning of the run.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use units::{Duration, Instant};

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

/// The time of a run. Copies show the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// When the run begins, nanoseconds of CLOCK_MONOTONIC.
    epoch: u64,
}

impl Clock {
    /// A clock that shows zero after `lead`; until then, too.
    pub(crate) fn starting_in(lead: Duration) -> Self {
        Self {
            epoch: monotonic() + lead.as_nanos(),
        }
    }

    /// The time now.
    pub(crate) fn now(self) -> Instant {
        Instant::from_nanos(monotonic().saturating_sub(self.epoch))
    }

    /// The same moment in nanoseconds of CLOCK_MONOTONIC.
    pub(crate) fn monotonic(self, at: Instant) -> u64 {
        self.epoch + at.as_nanos()
    }

    /// Sleeps until `at`. May wake a little later, never earlier.
    pub(crate) fn sleep_until(self, at: Instant) {
        let at = timespec(self.monotonic(at));
        // interrupted by a signal: once more
        while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(rustix::io::Errno::INTR) {}
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub(crate) fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec * SECOND + now.tv_nsec).cast_unsigned()
}

/// A span or a moment for the kernel.
pub(crate) fn timespec(nanos: u64) -> Timespec {
    let nanos = nanos.cast_signed();
    Timespec {
        tv_sec: nanos / SECOND,
        tv_nsec: nanos % SECOND,
    }
}
