//! Waiting for a condition instead of for a time.

use std::thread;
use std::time::{Duration, Instant};

/// After this a wait is a hang: far longer than any step of any test takes on a busy machine.
pub const HANG_LIMIT: Duration = Duration::from_secs(90);

/// Time between two looks at a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Polls `condition` until it gives a value.
///
/// # Panics
/// After [`HANG_LIMIT`], naming `what` did not come about.
#[track_caller]
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(
            start.elapsed() < HANG_LIMIT,
            "{what}: not within {HANG_LIMIT:?}"
        );
        thread::sleep(POLL_INTERVAL);
    }
}

/// Polls `condition` until it holds.
///
/// # Panics
/// After [`HANG_LIMIT`], naming `what` did not come about.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_polled_until_it_holds() {
        let mut looks = 0;
        let value = wait_for("the third look", || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(value, 3);
        wait_until("what holds already", || true);
    }
}
