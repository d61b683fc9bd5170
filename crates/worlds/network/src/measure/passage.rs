//! How a flow's packets pass through a chain of queues.

use super::Samples;
use super::levels::Levels;
use scenario::QueueResult;
use units::{Bytes, Duration};

/// Records the packets of a flow: how long each took from the first queue to the end of the last,
/// and what it found waiting in the last as it came there.
#[derive(Debug)]
pub struct PassageMeter {
    name: String,
    found: Levels<u64>,
    found_sum: u128,
    found_max: Bytes,
    sojourn: Samples,
    drops: u64,
}

impl PassageMeter {
    /// No packet yet.
    pub fn new(name: String) -> Self {
        Self {
            name,
            found: Levels::default(),
            found_sum: 0,
            found_max: Bytes::ZERO,
            sojourn: Samples::default(),
            drops: 0,
        }
    }

    /// A packet has passed in this time, and had found so much in the last queue.
    pub fn passed(&mut self, found: Bytes, sojourn: Duration) {
        self.found.record_n(found.get(), 1);
        self.found_sum += u128::from(found.get());
        self.found_max = self.found_max.max(found);
        self.sojourn.record(sojourn);
    }

    /// A packet was dropped in one of the queues.
    pub fn dropped(&mut self) {
        self.drops += 1;
    }

    /// The result: bytes are those found, one packet one sample.
    pub fn finish(mut self) -> QueueResult {
        let found = self.found.all();
        let packets = found.len();
        QueueResult {
            name: self.name,
            mean_bytes: if packets == 0 {
                0.0
            } else {
                self.found_sum as f64 / packets as f64
            },
            p99_bytes: found.value_at_quantile(0.99) as f64,
            max_bytes: self.found_max.get() as f64,
            sojourn: self.sojourn.distribution(),
            drops: self.drops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_is_one_sample() {
        let mut meter = PassageMeter::new("ran/gaming".into());
        for (found, ms) in [(0, 2), (1500, 4), (3000, 6)] {
            meter.passed(Bytes::new(found), Duration::from_millis(ms));
        }
        meter.dropped();
        let result = meter.finish();
        assert!((result.mean_bytes - 1500.0).abs() < 1e-9);
        assert_eq!((result.max_bytes, result.drops), (3000.0, 1));
        assert!((result.sojourn.mean - 4.0).abs() < 1e-9);
        assert_eq!(result.sojourn.count, 3);
    }
}
