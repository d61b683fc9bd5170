//! What part each path of a tunnel carries towards the user, for observers.

use network::measure::SeriesSet;
use scenario::{Experiment, Metric};
use units::Instant;

/// Packets on the paths since the last step. They are counted with the carrier's headers, as the lab sees them; the
/// simulator counts what is inside, and the shares differ by no more than the paths' headers do.
#[derive(Debug, Default)]
pub(super) struct PathShares {
    /// Name of each path among the entities, and bytes.
    paths: Vec<(String, u64)>,
}

impl PathShares {
    /// Of an experiment's tunnel; without one there are none.
    pub(super) fn new(experiment: &Experiment) -> Self {
        let tunnels = experiment.tunnel.iter();
        let paths = tunnels.flat_map(|tunnel| &tunnel.paths);
        Self {
            paths: paths
                .map(|path| (format!("path/{}", path.name), 0))
                .collect(),
        }
    }

    /// A packet has come through a path.
    pub(super) fn count(&mut self, path: usize, bytes: usize) {
        if let Some((_, carried)) = self.paths.get_mut(path) {
            *carried += bytes as u64;
        }
    }

    /// Ends a step. While nothing is carried there are no shares.
    pub(super) fn record(&mut self, now: Instant, series: &mut SeriesSet) {
        let all: u64 = self.paths.iter().map(|(_, carried)| carried).sum();
        for (name, carried) in &mut self.paths {
            let carried = core::mem::take(carried);
            if all > 0 {
                let share = carried as f64 / all as f64;
                series.record(name, Metric::PathShare, now, share);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Observer;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Debug, Default)]
    struct Points(Arc<Mutex<Vec<(String, f64)>>>);

    impl Observer for Points {
        fn sample(&mut self, entity: &str, metric: Metric, _: Instant, value: f64) {
            assert_eq!(metric, Metric::PathShare);
            let mut points = self.0.lock().expect("no panic");
            points.push((entity.to_owned(), value));
        }
        fn step(&mut self, _: Instant) {}
    }

    #[test]
    fn shares_are_of_a_step_and_there_are_none_of_an_idle_one() {
        let points = Points::default();
        let mut series = SeriesSet::default();
        series.observe(Some(Box::new(points.clone())));
        let named = |name: &str| (name.to_owned(), 0);
        let mut shares = PathShares {
            paths: vec![named("path/a"), named("path/b")],
        };
        let taken = || core::mem::take(&mut *points.0.lock().expect("no panic"));
        shares.record(Instant::ZERO, &mut series);
        assert_eq!(taken(), []);
        shares.count(0, 3_000);
        shares.count(1, 1_000);
        shares.record(Instant::ZERO, &mut series);
        let of = |name: &str, share| (name.to_owned(), share);
        assert_eq!(taken(), [of("path/a", 0.75), of("path/b", 0.25)]);
        shares.count(1, 1_000);
        shares.record(Instant::ZERO, &mut series);
        assert_eq!(taken(), [of("path/a", 0.0), of("path/b", 1.0)]);
    }
}
