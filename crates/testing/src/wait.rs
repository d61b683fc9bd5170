//! Waiting for a condition instead of for a time.

use std::thread;
use std::time::{Duration, Instant};

/// After this a wait is a hang: far longer than any step of any test takes on a busy machine.
pub const HANG_LIMIT: Duration = Duration::from_secs(90);

/// How many times as long a slow machine has, an emulated one: a whole number in this variable.
const FACTOR: &str = "BRIMFUL_HANG_FACTOR";

/// Time between two looks at a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// [`HANG_LIMIT`], or as many times of it as the environment has.
fn hang_limit() -> Duration {
    let factor = std::env::var(FACTOR);
    HANG_LIMIT * factor.map_or(1, |text| factor_of(&text))
}

/// True on a slow machine, an emulated one, where tests do less: `BRIMFUL_HANG_FACTOR` is set there.
pub fn is_slow_machine() -> bool {
    std::env::var_os(FACTOR).is_some()
}

fn factor_of(text: &str) -> u32 {
    let factor = text
        .parse()
        .ok()
        .filter(|factor| (1..=1_000).contains(factor));
    factor.unwrap_or_else(|| panic!("{FACTOR}={text}: it is a number from 1 to 1000"))
}

/// Polls `condition` until it gives a value.
///
/// # Panics
/// After [`HANG_LIMIT`], or `BRIMFUL_HANG_FACTOR` times of it, naming `what` did not come about.
#[track_caller]
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let (start, limit) = (Instant::now(), hang_limit());
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        thread::sleep(POLL_INTERVAL);
    }
}

/// Polls `condition` until it holds.
///
/// # Panics
/// As [`wait_for`].
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_a_number_that_makes_limits_longer() {
        assert_eq!(factor_of("12"), 12);
        for wrong in ["0", "-1", "1001", "", "x"] {
            let refused = std::panic::catch_unwind(|| factor_of(wrong)).expect_err(wrong);
            let message = refused.downcast_ref::<String>().expect("a message");
            let expected = format!("BRIMFUL_HANG_FACTOR={wrong}: it is a number from 1 to 1000");
            assert_eq!(*message, expected);
        }
    }

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
