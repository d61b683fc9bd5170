//! What observers are reported beside the series of results, as in the simulator. Needs root.

use crate::{CELL, experiment, options};
use scenario::{Metric, Observer, Observers};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use testing::has_root;
use units::Instant;

/// Points of the flow's losses.
#[derive(Clone, Debug, Default)]
struct Losses(Arc<Mutex<Vec<(Metric, f64)>>>);

impl Observer for Losses {
    fn sample(&mut self, entity: &str, metric: Metric, _: Instant, value: f64) {
        let all = [
            Metric::LossCongestion,
            Metric::LossRadio,
            Metric::LossUnknown,
        ];
        if entity == "bulk" && all.contains(&metric) {
            self.0.lock().expect("no panic").push((metric, value));
        }
    }
    fn step(&mut self, _: Instant) {}
}

#[test]
fn what_meld_decides_in_the_kernel_is_shown() {
    if !has_root("what_meld_decides_in_the_kernel_is_shown") {
        return;
    }
    let losses = Losses::default();
    let mut options = options(&Arc::new(AtomicBool::new(false)));
    let of_run = losses.clone();
    options.observers = Observers::new(move |_, _| Some(Box::new(of_run.clone())));
    let meld = experiment(CELL, &[("flow.bulk.meld", "default")]);
    let result = lab::run(&meld, 1, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(result.flows[0].delivered.get(), 4_000_000);
    let points = losses.0.lock().expect("no panic");
    for metric in [
        Metric::LossCongestion,
        Metric::LossRadio,
        Metric::LossUnknown,
    ] {
        let of = points.iter().filter(|(of, _)| *of == metric);
        let values: Vec<f64> = of.map(|(_, value)| *value).collect();
        assert!(!values.is_empty(), "{metric:?}");
        // so far
        assert!(values.is_sorted(), "{values:?}");
    }
}
