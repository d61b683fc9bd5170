//! How long packets take on each path: half the round-trip time, smoothed.

use crate::PathId;
use units::Duration;

/// Latencies of the paths.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    weight: f64,
    /// By path number; none while the path is unknown or has gone.
    paths: Vec<Option<Duration>>,
}

impl Latencies {
    pub(super) fn new(weight: f64) -> Self {
        Self {
            weight: weight.clamp(0.0, 1.0),
            paths: Vec::new(),
        }
    }

    /// A new sample of a path's round-trip time.
    pub(super) fn on_rtt(&mut self, path: PathId, rtt: Duration) {
        let index = usize::from(path.0);
        if self.paths.len() <= index {
            self.paths.resize(index + 1, None);
        }
        let sample = rtt / 2;
        let smoothed = match self.paths[index] {
            Some(old) => sample.mul_f64(self.weight) + old.mul_f64(1.0 - self.weight),
            None => sample,
        };
        self.paths[index] = Some(smoothed);
    }

    /// The path carries nothing any more.
    pub(super) fn remove(&mut self, path: PathId) {
        if let Some(latency) = self.paths.get_mut(usize::from(path.0)) {
            *latency = None;
        }
    }

    /// The latency of a path.
    pub(super) fn of(&self, path: PathId) -> Option<Duration> {
        self.paths.get(usize::from(path.0)).copied().flatten()
    }

    /// The greatest.
    pub(super) fn max(&self) -> Duration {
        self.known().max().unwrap_or(Duration::ZERO)
    }

    /// The minimum.
    pub(super) fn min(&self) -> Duration {
        self.known().min().unwrap_or(Duration::ZERO)
    }

    fn known(&self) -> impl Iterator<Item = Duration> + '_ {
        self.paths.iter().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 1 of the paper: a new value makes 95 % of the estimate.
    #[test]
    fn new_samples_weigh_most() {
        let mut latencies = Latencies::new(0.95);
        latencies.on_rtt(PathId(1), Duration::from_millis(40));
        latencies.on_rtt(PathId(1), Duration::from_millis(80));
        assert_eq!(latencies.of(PathId(1)), Some(Duration::from_millis(39)));
        latencies.on_rtt(PathId(0), Duration::from_millis(20));
        let range = (latencies.min(), latencies.max());
        assert_eq!(
            range,
            (Duration::from_millis(10), Duration::from_millis(39))
        );
        latencies.remove(PathId(1));
        assert_eq!(latencies.max(), Duration::from_millis(10));
    }
}
