//! What a run measures, handed to a dashboard while the run is under way.

use crate::args::World;
use dash::{About, Feed, Kind, Source};
use scenario::{Experiment, Metric, Observer, Observers, Transport};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a run is, for those who watch.
pub(crate) fn about(experiment: &Experiment, world: World) -> About {
    let (world, source) = match world {
        World::Sim => (dash::World::Sim, Source::Run),
        World::Lab => (dash::World::Lab, Source::Lab),
    };
    About {
        title: experiment.name.clone(),
        world,
        source,
    }
}

/// Shows one of the runs in progress: the first to begin, and when it has ended, the next that
/// begins.
pub(crate) fn observers(feed: Feed, world: World) -> Observers {
    let is_busy = Arc::new(AtomicBool::new(false));
    Observers::new(move |experiment, seed| {
        if is_busy.swap(true, Ordering::AcqRel) {
            return None;
        }
        let mut about = about(experiment, world);
        if experiment.repeats > 1 {
            about.title = format!("{}, seed {seed}", about.title);
        }
        feed.begin(about);
        let mut shown = Shown::new(feed.clone(), experiment, None);
        shown.place = Some(Place(Arc::clone(&is_busy)));
        Some(Box::new(shown))
    })
}

/// The one place before those who watch.
#[derive(Debug)]
struct Place(Arc<AtomicBool>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Hands the samples of a run on to a feed.
#[derive(Debug)]
pub(crate) struct Shown {
    feed: Feed,
    /// UE and congestion control of each flow.
    flows: BTreeMap<String, (String, String)>,
    /// The samples of this step.
    samples: Vec<(String, Metric, f64)>,
    began: Instant,
    /// Simulated seconds in a second.
    pace: Option<f64>,
    place: Option<Place>,
}

impl Shown {
    /// Of an experiment; with a pace, so many simulated seconds pass in one.
    pub(crate) fn new(feed: Feed, experiment: &Experiment, pace: Option<f64>) -> Self {
        let ue = |index: usize| experiment.ues.get(index).map(|ue| ue.name.clone());
        let flows = experiment.flows.iter().map(|flow| {
            let cc = match flow.transport {
                Transport::Udp => "udp".to_owned(),
                _ => flow.cc.name.clone(),
            };
            (flow.name.clone(), (ue(flow.ue).unwrap_or_default(), cc))
        });
        Self {
            feed,
            flows: flows.collect(),
            samples: Vec::new(),
            began: Instant::now(),
            pace,
            place: None,
        }
    }
}

impl Observer for Shown {
    fn sample(&mut self, entity: &str, metric: Metric, _at: units::Instant, value: f64) {
        self.samples.push((entity.to_owned(), metric, value));
    }

    fn step(&mut self, at: units::Instant) {
        let seconds = at.as_secs_f64();
        if let Some(pace) = self.pace {
            let due = self.began + Duration::from_secs_f64(seconds / pace);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let mut by_ue: BTreeMap<(&str, Metric), f64> = BTreeMap::new();
        let mut round = self.feed.round(seconds);
        for (entity, metric, value) in &self.samples {
            let name = metric.name();
            let kind = Kind::of(entity, name);
            let parent = match (kind, self.flows.get(entity)) {
                (Kind::Flow, Some((ue, cc))) => {
                    round.describe(entity, cc);
                    if matches!(metric, Metric::Goodput | Metric::Received) {
                        *by_ue.entry((ue, *metric)).or_default() += value;
                    }
                    Some(ue.as_str())
                }
                (Kind::Ue, _) => Some("cell"),
                _ => None,
            };
            round.put(kind, entity, parent, name, *value);
        }
        for ((ue, metric), sum) in by_ue {
            round.put(Kind::Ue, ue, Some("cell"), metric.name(), sum);
        }
        round.finish();
        self.samples.clear();
    }
}
