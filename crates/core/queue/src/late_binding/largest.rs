//! The largest slot of the recent past.

use units::{Bytes, Duration, Instant};

/// Parts that the past is divided into: one of them expires at a time.
const PARTS: usize = 8;

/// The largest of the values of a sliding window of time, which is up to an eighth longer than requested
/// for.
#[derive(Clone, Debug)]
pub(super) struct Largest {
    part: Duration,
    /// The largest of each part; `parts[number % PARTS]`.
    parts: [Bytes; PARTS],
    /// Number of the newest part.
    number: u64,
}

impl Largest {
    /// Of the last `window`, above zero.
    pub(super) fn new(window: Duration) -> Self {
        Self {
            part: (window / (PARTS as u64 - 1)).max(Duration::from_nanos(1)),
            parts: [Bytes::ZERO; PARTS],
            number: 0,
        }
    }

    pub(super) fn add(&mut self, now: Instant, value: Bytes) {
        let number = now.as_nanos() / self.part.as_nanos();
        let passed = number.saturating_sub(self.number).min(PARTS as u64);
        for step in 1..=passed {
            self.parts[((self.number + step) % PARTS as u64) as usize] = Bytes::ZERO;
        }
        if passed == PARTS as u64 {
            self.parts = [Bytes::ZERO; PARTS];
        }
        self.number = self.number.max(number);
        let newest = &mut self.parts[(self.number % PARTS as u64) as usize];
        *newest = value.max(*newest);
    }

    /// Zero before anything was added.
    pub(super) fn get(&self) -> Bytes {
        self.parts.iter().copied().max().unwrap_or(Bytes::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_kept_for_the_window_and_expires_soon_after() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut largest = Largest::new(Duration::from_millis(700));
        largest.add(at(0), Bytes::new(5));
        largest.add(at(50), Bytes::new(9));
        for ms in (100..=750).step_by(10) {
            largest.add(at(ms), Bytes::new(1));
            assert_eq!(largest.get(), Bytes::new(9), "{ms}");
        }
        largest.add(at(800), Bytes::new(2));
        assert_eq!(largest.get(), Bytes::new(2));
        largest.add(at(5000), Bytes::new(1));
        assert_eq!(largest.get(), Bytes::new(1));
    }
}
