//! The bitrate by the throughput of past segments.
//!
//! The estimate is the harmonic mean of the last five segments' throughputs, each its size over the time from its request
//! until it was whole (X. Yin, A. Jindal, V. Sekar, B. Sinopoli, "A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over
//! HTTP", ACM SIGCOMM 2015, section 7.1.1, "RB"; J. Jiang, V. Sekar, H. Zhang, "FESTIVE", ACM CoNEXT 2012, uses
//! the same mean of twenty). The greatest bitrate within a share of it is chosen (dash.js 4: 0.9), the lowest if there is none.

use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration};

/// Segments that the estimate is of.
const WINDOW: usize = 5;

/// The rule, of a ladder.
#[derive(Clone, Debug)]
pub(super) struct Throughput {
    ladder: Vec<BitRate>,
    safety: f64,
    /// Of the last segments, Mbit/s; above zero.
    samples: VecDeque<f64>,
}

impl Throughput {
    /// Of a ladder that rises.
    pub(super) fn new(ladder: &[BitRate], safety: f64) -> Self {
        Self {
            ladder: ladder.to_vec(),
            safety,
            samples: VecDeque::new(),
        }
    }

    /// A segment of so many bytes took so long.
    pub(super) fn on_segment(&mut self, bytes: Bytes, time: Duration) {
        let mbps = BitRate::from_bytes_per(bytes, time).as_mbps_f64();
        if mbps > 0.0 {
            self.samples.push_back(mbps);
        }
        if self.samples.len() > WINDOW {
            self.samples.pop_front();
        }
    }

    /// The harmonic mean, Mbit/s.
    fn estimate(&self) -> Option<f64> {
        let inverse: f64 = self.samples.iter().map(|mbps| mbps.recip()).sum();
        (inverse > 0.0).then(|| self.samples.len() as f64 / inverse)
    }

    /// The place in the ladder of the next segment; the lowest before the first.
    pub(super) fn choose(&self) -> usize {
        let Some(estimate) = self.estimate() else {
            return 0;
        };
        let is_within = |rate: &BitRate| rate.as_mbps_f64() <= self.safety * estimate;
        self.ladder.iter().rposition(is_within).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_harmonic_and_of_the_last_five() {
        let mut rule = Throughput::new(&[1, 2, 4, 8].map(BitRate::from_mbps), 0.9);
        assert_eq!(rule.choose(), 0);
        // 1 MB in 1 s and in 4 s: 8 and 2 Mbit/s, harmonic mean 3.2
        rule.on_segment(Bytes::new(1_000_000), Duration::from_secs(1));
        assert_eq!(rule.choose(), 2, "0.9 x 8 = 7.2");
        rule.on_segment(Bytes::new(1_000_000), Duration::from_secs(4));
        assert!((rule.estimate().unwrap() - 3.2).abs() < 1e-9);
        assert_eq!(rule.choose(), 1, "0.9 x 3.2 = 2.88");
        for _ in 0..5 {
            rule.on_segment(Bytes::new(1_000_000), Duration::from_millis(500));
        }
        assert_eq!(rule.estimate(), Some(16.0));
        assert_eq!(rule.choose(), 3);
    }

    #[test]
    fn below_the_ladder_the_lowest_is_taken() {
        let mut rule = Throughput::new(&[2, 4].map(BitRate::from_mbps), 0.9);
        rule.on_segment(Bytes::new(1_000), Duration::from_secs(1));
        assert_eq!(rule.choose(), 0);
    }
}
