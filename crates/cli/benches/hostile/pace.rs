//! When something ends, and how often it may happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Between two looks of one who waits.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The end of an attacker, a fault or a user.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Waits for so long, or to the end. False at the end.
    pub fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.is_set() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
        false
    }
}

/// Ends what waits for it also where a thread beside it panics.
pub struct StopOnDrop(pub Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Events at a rate. What a busy machine delays is caught up by at most a tenth of a second's worth.
pub struct Pace {
    rate: f64,
    last: Instant,
    credit: f64,
}

impl Pace {
    /// So many a second.
    pub fn new(rate: f64) -> Self {
        Self {
            rate,
            last: Instant::now(),
            credit: 0.0,
        }
    }

    /// Waits for the next ones, and gives how many there are to be; none at the end.
    pub fn next(&mut self, stop: &Stop) -> Option<usize> {
        loop {
            let now = Instant::now();
            self.credit += self.rate * (now - self.last).as_secs_f64();
            self.credit = self.credit.min((self.rate / 10.0).max(1.0));
            self.last = now;
            if stop.is_set() {
                return None;
            }
            if self.credit >= 1.0 {
                let due = self.credit.floor();
                self.credit -= due;
                return Some(due as usize);
            }
            let wait = Duration::from_secs_f64((1.0 - self.credit) / self.rate);
            std::thread::sleep(wait.clamp(Duration::from_millis(1), POLL_INTERVAL));
        }
    }
}
