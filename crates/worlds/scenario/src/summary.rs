//! The summary of an experiment: means over its repeats, in the form of `summary.json`.
//!
//! Every leaf is a number in the unit that its name gives: the mean over the repeats. `goodput_bps`
//! and `completion_s` come with their 95 % confidence interval; `completion_s` is null where a flow
//! did not finish in every repeat. A distribution without samples is zero throughout, with
//! `samples` zero. Names, and the axes of a sweep, are texts.

mod application;
mod bursts;
mod conditions;
mod flow;
mod handover;
mod queue;
mod real_time;
mod spread;
mod tunnel;

use crate::result::RunResult;
use crate::{Experiment, PepMode};
pub use application::ApplicationSummary;
pub use bursts::{BurstSummary, BurstsOfLength};
pub use conditions::{NetworkShares, TraceSummary};
use edge::marker::Verdict;
pub use flow::FlowSummary;
pub use handover::{HandoverEvent, HandoverSummary};
pub use queue::{QueueBytes, QueueSummary};
pub use real_time::RealTimeSummary;
use serde::{Serialize, Serializer, ser::SerializeMap};
pub use spread::Spread;
use std::collections::BTreeMap;
pub use tunnel::{TunnelPathSummary, TunnelSummary};

/// The summary of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the scenario.
    pub scenario: String,
    /// `sim` or `lab`.
    pub world: String,
    /// What the proxy did: `none`, `split`, `paper` or `default`.
    pub pep: &'static str,
    /// Names and values of the sweep's axes; not printed if there is no sweep.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub axes: Vec<(String, String)>,
    /// Seed of the first repeat.
    pub seed: u64,
    /// How many repeats it is the mean of.
    pub repeats: usize,
    /// Version of Brimful.
    pub version: String,
    /// Base round-trip time from end to end, ms.
    pub path_rtt_ms: f64,
    /// The radio of the bottleneck, in words; not printed of a wired one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<String>,
    /// The traces that drove users' channels; not printed without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TraceSummary>,
    /// What each seed draws, in words.
    pub drawn: Vec<&'static str>,
    /// How many different outcomes the repeats had.
    pub distinct_repeats: usize,
    /// What one value of an interval is: a `repeat`, or a `trace` with all its repeats.
    pub unit: &'static str,
    /// How many such values the intervals are of.
    pub units: usize,
    /// What was done otherwise than requested, and why intervals mean nothing if so; not printed if
    /// there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Flows, in the file's order.
    pub flows: Vec<FlowSummary>,
    /// Queues.
    pub queues: Vec<QueueSummary>,
    /// The bottleneck.
    pub link: LinkSummary,
    /// Simulated (or real) time that a run covered, s.
    pub elapsed_s: f64,
    /// Wall-clock time of a run, s.
    pub wall_s: f64,
    /// Events of a run.
    pub events: f64,
    /// Packets over links, counted once each link.
    pub packet_hops: f64,
    /// What the tunnel did; not printed without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<TunnelSummary>,
    /// Packets that are not split by what became of them, where they are marked; not printed elsewhere.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unsplit: BTreeMap<&'static str, f64>,
    /// Handovers between cells; not printed with one cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handovers: Option<HandoverSummary>,
    /// How runs in real time kept time; not printed of the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_time: Option<RealTimeSummary>,
}

/// The bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Share of its capacity that was used, 0 to 1.
    pub utilisation: f64,
    /// Its mean capacity.
    pub capacity_bps: f64,
}

fn as_map<S: Serializer>(axes: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(axes.len()))?;
    for (name, value) in axes {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

impl Summary {
    /// The summary of an experiment's repeats, in `world` (`sim` or `lab`) and by this version.
    pub fn of(experiment: &Experiment, world: &str, runs: &[RunResult], version: &str) -> Self {
        let of = |value: fn(&RunResult) -> f64| mean(runs.iter().map(value));
        let first = runs.first();
        let flows = first.map_or(&[][..], |run| &run.flows).iter().enumerate();
        let queues = first.map_or(&[][..], |run| &run.queues).iter().enumerate();
        let distinct_repeats = conditions::distinct(runs);
        Self {
            scenario: experiment.name.clone(),
            world: world.to_owned(),
            pep: pep_name(&experiment.pep.mode),
            axes: Vec::new(),
            seed: experiment.seed,
            repeats: runs.len(),
            version: version.to_owned(),
            path_rtt_ms: 1e3 * experiment.path.rtt.as_secs_f64(),
            radio: conditions::radio(experiment),
            traces: conditions::traces(experiment, runs),
            drawn: experiment.draws(),
            distinct_repeats,
            unit: match first.and_then(|run| run.unit) {
                Some(_) => "trace",
                None => "repeat",
            },
            units: RunResult::units(runs).last().map_or(0, |last| last + 1),
            notes: conditions::note(runs.len(), distinct_repeats)
                .into_iter()
                .collect(),
            flows: flows
                .map(|(i, named)| flow::flow_summary(i, named, runs))
                .collect(),
            queues: queues
                .map(|(place, named)| queue::queue_summary(place, &named.name, runs))
                .collect(),
            link: LinkSummary {
                utilisation: of(|run| run.link.utilisation),
                capacity_bps: of(|run| run.link.capacity.as_bps() as f64),
            },
            elapsed_s: of(|run| run.elapsed.as_secs_f64()),
            wall_s: of(|run| run.wall.as_secs_f64()),
            events: of(|run| run.events as f64),
            packet_hops: of(|run| run.packet_hops as f64),
            tunnel: TunnelSummary::of(runs),
            unsplit: unsplit(runs),
            handovers: experiment
                .cells
                .is_some()
                .then(|| HandoverSummary::of(runs)),
            real_time: real_time::real_time_summary(runs),
        }
    }

    /// The same, with the notes of its scenario before its own.
    #[must_use]
    pub fn with_notes(mut self, notes: &[String]) -> Self {
        let own = std::mem::take(&mut self.notes);
        for note in notes.iter().chain(&own) {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        self
    }

    /// The same, of runs over several traces, as [`RunResult::joined`] has them: each was made with one of these
    /// experiments, which the number of its unit names. Of one experiment as [`Self::of`].
    ///
    /// # Panics
    /// Without any experiment.
    pub fn over_traces(
        experiments: &[&Experiment],
        world: &str,
        runs: &[RunResult],
        version: &str,
    ) -> Self {
        let summary = Self::of(experiments[0], world, runs, version);
        if experiments.len() < 2 {
            return summary;
        }
        let (mut traces, mut radios) = (Vec::new(), Vec::new());
        for (number, experiment) in experiments.iter().enumerate() {
            let of_unit = runs.iter().filter(|run| run.unit == Some(number));
            traces.extend(conditions::traces(experiment, of_unit));
            let radio = conditions::radio(experiment);
            radios.extend(radio.filter(|radio| !radios.contains(radio)));
        }
        Self {
            traces,
            radio: (!radios.is_empty()).then(|| radios.join("; ")),
            ..summary
        }
    }

    /// The same for a point of a sweep.
    #[must_use]
    pub fn at_point(self, axes: &[(String, String)]) -> Self {
        Self {
            axes: axes.to_vec(),
            ..self
        }
    }
}

/// What the proxy does, in a word.
fn pep_name(mode: &PepMode) -> &'static str {
    match mode {
        PepMode::None => "none",
        PepMode::Split => "split",
        PepMode::Rapid(config) => config.allocator.mode.name(),
    }
}

/// The mean of finite values; zero if there is none.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values
        .filter(|value| value.is_finite())
        .fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    if n == 0 { 0.0 } else { sum / f64::from(n) }
}

/// The mean of a run for each verdict.
fn unsplit(runs: &[RunResult]) -> BTreeMap<&'static str, f64> {
    let counts = || runs.iter().filter_map(|run| run.unsplit.as_ref());
    if counts().next().is_none() {
        return BTreeMap::new();
    }
    let of = |verdict| mean(counts().map(|counts| counts.of(verdict) as f64));
    Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict.name(), of(verdict)))
        .collect()
}

#[cfg(test)]
mod tests;
