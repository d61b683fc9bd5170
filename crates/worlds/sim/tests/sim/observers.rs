//! What observers are reported beside the series of results.

use cc::meld::Reason;
use scenario::{Experiment, Metric, Observer, Overrides, RunResult, load};
use sim::Simulation;
use std::sync::{Arc, Mutex};
use units::Instant;

/// A point: whose, of what, when, and its value.
type Point = (String, Metric, Instant, f64);

/// Keeps all points.
#[derive(Clone, Debug, Default)]
struct Keeper(Arc<Mutex<Vec<Point>>>);

impl Observer for Keeper {
    fn sample(&mut self, entity: &str, metric: Metric, at: Instant, value: f64) {
        let mut points = self.0.lock().expect("no panic");
        points.push((entity.to_owned(), metric, at, value));
    }
    fn step(&mut self, _: Instant) {}
}

fn shipped(file: &str, set: &[(&str, &str)]) -> Experiment {
    let file = format!("{}/../../../scenarios/{file}", env!("CARGO_MANIFEST_DIR"));
    let set = set.iter().map(|&(key, value)| (key.into(), value.into()));
    let overrides = Overrides {
        set: set.collect(),
        ..Overrides::default()
    };
    let mut points = load(file.as_ref(), &overrides).expect("valid");
    points.remove(0).experiment
}

/// What an observed run gives, and what its observer is reported; the run is as without one.
fn observed(experiment: &Experiment) -> (RunResult, Vec<Point>) {
    let keeper = Keeper::default();
    let mut simulation = Simulation::new(experiment, experiment.seed).expect("valid");
    simulation.observe(Box::new(keeper.clone()));
    simulation.run();
    let result = simulation.finish();
    let alone = sim::run(experiment, experiment.seed).expect("valid");
    assert_eq!(format!("{result:?}"), format!("{alone:?}"));
    let points = std::mem::take(&mut *keeper.0.lock().expect("no panic"));
    (result, points)
}

#[test]
fn of_the_radio_and_of_melds_decisions() {
    let set = [("transport", "tcp"), ("cc", "newreno"), ("meld", "default")];
    let (result, points) = observed(&shipped("meld/download-20m.toml", &set));
    let of = |metric| -> Vec<f64> {
        let found = points.iter().filter(|(_, of, ..)| *of == metric);
        found.map(|(.., value)| *value).collect()
    };
    let used = of(Metric::Utilisation);
    assert!(
        used.iter().all(|share| (0.0..=1.0).contains(share)),
        "{used:?}"
    );
    assert!(used.iter().any(|share| *share > 0.5), "{used:?}");
    let mcs = of(Metric::Mcs);
    assert!(
        !mcs.is_empty() && mcs.iter().all(|mcs| (0.0..=28.0).contains(mcs)),
        "{mcs:?}"
    );
    let flow = &result.flows[0];
    let decided = |is_it: fn(Reason) -> bool| {
        let decisions = flow.loss_decisions.iter();
        decisions
            .filter(|(_, decision)| is_it(decision.reason))
            .count() as f64
    };
    let last = |metric| *of(metric).last().expect("it was reported");
    let is_unknown = |reason| matches!(reason, Reason::NoReport | Reason::Stale);
    assert!(decided(|reason| !reason.is_congestion()) > 0.0);
    // decisions after the last step are not reported
    for (metric, all) in [
        (Metric::LossRadio, decided(|reason| !reason.is_congestion())),
        (Metric::LossUnknown, decided(is_unknown)),
    ] {
        assert!(
            last(metric) <= all && last(metric) >= 0.5 * all,
            "{metric:?} of {all}"
        );
    }
    let kept = |metric| result.series.iter().any(|series| series.metric == metric);
    assert!(kept(Metric::Cqi) && !kept(Metric::Mcs) && !kept(Metric::LossRadio));
}

#[test]
fn of_the_shares_of_a_tunnels_paths() {
    let set = [("tunnel-cc", "ccid2"), ("file", "5 MB")];
    let (_, points) = observed(&shipped("nested-cc/default.toml", &set));
    let shares = points
        .iter()
        .filter(|(_, metric, ..)| *metric == Metric::PathShare);
    let shares: Vec<_> = shares
        .map(|(entity, _, at, share)| (entity, *at, *share))
        .collect();
    let steps: std::collections::BTreeSet<Instant> = shares.iter().map(|s| s.1).collect();
    assert!(!steps.is_empty());
    for step in steps {
        let of_step = shares.iter().filter(|(_, at, _)| *at == step);
        let sum: f64 = of_step.map(|(.., share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{step:?}: {sum}");
    }
    assert!(
        shares.iter().any(|(entity, ..)| *entity != shares[0].0),
        "two paths"
    );
}
