//! How full a queue is over time, and how long packets wait in it.

use super::Samples;
use super::levels::Levels;
use scenario::QueueResult;
use units::{Bytes, Duration, Instant};

/// Records a queue. Times of calls never decrease.
#[derive(Debug)]
pub struct QueueMeter {
    name: String,
    /// Since when `bytes` holds.
    since: Instant,
    /// What waits now.
    bytes: Bytes,
    /// First call: what was before is not part of the mean.
    began: Instant,
    /// Byte-nanoseconds.
    area: u128,
    max: Bytes,
    /// Nanoseconds without a packet. The usual level of most queues; it needs no histogram.
    empty: u64,
    /// Nanoseconds at each other level.
    levels: Levels<u64>,
    sojourn: Samples,
    drops: u64,
}

impl QueueMeter {
    /// An empty queue, watched from `began` on.
    pub fn new(name: String, began: Instant) -> Self {
        Self {
            name,
            since: began,
            bytes: Bytes::ZERO,
            began,
            area: 0,
            max: Bytes::ZERO,
            empty: 0,
            levels: Levels::default(),
            sojourn: Samples::default(),
            drops: 0,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What waits now.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// From `now` on, `bytes` wait.
    pub fn set(&mut self, now: Instant, bytes: Bytes) {
        if bytes != self.bytes {
            self.end_level(now);
            self.bytes = bytes;
            self.max = self.max.max(bytes);
        }
    }

    /// Writes down for how long the present level has held.
    fn end_level(&mut self, now: Instant) {
        let held = now.saturating_since(self.since).as_nanos();
        self.since = self.since.max(now);
        if self.bytes.is_zero() {
            self.empty += held;
        } else if held > 0 {
            self.area += u128::from(self.bytes.get()) * u128::from(held);
            self.levels.record_n(self.bytes.get(), held);
        }
    }

    /// A packet left after it had waited so long.
    pub fn left(&mut self, sojourn: Duration) {
        self.sojourn.record(sojourn);
    }

    /// A packet was dropped.
    pub fn dropped(&mut self) {
        self.drops += 1;
    }

    /// The result over the time from the beginning until `end`.
    pub fn finish(mut self, end: Instant) -> QueueResult {
        self.end_level(end);
        self.levels.record_n(0, self.empty);
        let span = end.saturating_since(self.began).as_nanos();
        let mean = if span == 0 {
            0.0
        } else {
            self.area as f64 / span as f64
        };
        QueueResult {
            name: self.name,
            mean_bytes: mean,
            p99_bytes: self
                .levels
                .all()
                .value_at_quantile(0.99)
                .min(self.max.get()) as f64,
            max_bytes: self.max.get() as f64,
            sojourn: self.sojourn.distribution(),
            drops: self.drops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_weighted_by_time() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut meter = QueueMeter::new("q".into(), at(0));
        meter.set(at(0), Bytes::new(1000)); // 10 ms
        meter.set(at(10), Bytes::new(3000)); // 30 ms
        meter.set(at(40), Bytes::ZERO); // 60 ms
        meter.left(Duration::from_millis(5));
        meter.dropped();
        let result = meter.finish(at(100));
        assert!((result.mean_bytes - 1000.0).abs() < 1e-9);
        assert_eq!((result.max_bytes, result.drops), (3000.0, 1));
        assert!((result.p99_bytes - 3000.0).abs() <= 3.0);
        assert!((result.sojourn.mean - 5.0).abs() < 1e-9);
    }
}
