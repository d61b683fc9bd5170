//! The summary of an experiment: means over its repeats, in the form of `summary.json`.
//!
//! Every leaf is a number in the unit that its name gives: the mean over the repeats. `goodput_bps`
//! and `completion_s` come with their 95 % confidence interval; `completion_s` is null where a flow
//! did not finish in every repeat. A distribution without samples is zero throughout, with
//! `samples` zero. Names, and the axes of a sweep, are texts.

mod conditions;
mod tunnel;

use crate::result::{Distribution, FlowResult, LossBursts, QueueResult, RunResult};
use crate::statistics::{Estimate, estimate, unit_means};
use crate::{Experiment, PepMode};
pub use conditions::{NetworkShares, TraceSummary};
use edge::marker::Verdict;
use serde::{Serialize, Serializer, ser::SerializeMap};
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
    /// How runs in real time kept time; not printed of the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_time: Option<RealTimeSummary>,
}

/// How runs in real time kept time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealTimeSummary {
    /// How late the cell's slots were run.
    pub lateness_ms: Spread,
    /// Rates and sizes of the scenario were multiplied by this, 0 to 1.
    pub scale: f64,
    /// Packets that the kernel of a host did not take.
    pub refused: f64,
    /// What was run otherwise than the scenario specifies, one sentence each; not printed if nothing was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Its congestion control, or `udp`.
    pub cc: String,
    /// Payload over the time from start to completion, or the run's end.
    pub goodput_bps: Estimate,
    /// End-to-end round-trip times.
    pub rtt_ms: Spread,
    /// One-way delays.
    pub owd_ms: Spread,
    /// One-way delays of segments, before they wait for those that precede them (TCP); not printed of
    /// others.
    #[serde(skip_serializing_if = "Spread::is_empty")]
    pub segment_delay_ms: Spread,
    /// From start to completion; none unless it finished in every repeat.
    pub completion_s: Option<Estimate>,
    /// In how many repeats it finished (0 if it has no end).
    pub finished: usize,
    /// Load times of pages or transfers.
    pub load_time_ms: Spread,
    /// Interarrival jitter at the end (RFC 3550 6.4.1).
    pub jitter_ms: f64,
    /// Payload delivered.
    pub delivered_bytes: f64,
    /// Segments sent again.
    pub retransmits: f64,
    /// Packets that the network dropped.
    pub lost: f64,
    /// Packets lost in a row, of UDP; not printed of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_bursts: Option<BurstSummary>,
    /// How often each reason decided of a loss, with MELD; not printed without.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub loss_decisions: BTreeMap<&'static str, f64>,
}

/// Packets lost in a row, over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurstSummary {
    /// Share of packets lost, 0 to 1.
    pub loss_rate: f64,
    /// Bursts of a repeat.
    pub bursts: f64,
    /// Packets of a burst; zero without any.
    pub mean_length: f64,
    /// By length, up to the longest that there was.
    pub by_length: Vec<BurstsOfLength>,
}

/// Bursts of one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BurstsOfLength {
    /// Packets lost in a row; of the last length that is distinguished, or more.
    pub length: usize,
    /// Such bursts of a repeat.
    pub bursts: f64,
    /// The share of all bursts, 0 to 1.
    pub share: f64,
}

impl BurstSummary {
    /// Of all repeats that measured it; none if none did.
    fn of<'a>(repeats: impl Iterator<Item = &'a LossBursts>) -> Option<Self> {
        let (mut all, mut measured) = (LossBursts::default(), 0u32);
        for repeat in repeats {
            measured += 1;
            all.packets += repeat.packets;
            all.lost += repeat.lost;
            for (sum, count) in all.by_length.iter_mut().zip(repeat.by_length) {
                *sum += count;
            }
        }
        let bursts = all.bursts();
        let ratio = |of: u64, to: u64| if to == 0 { 0.0 } else { of as f64 / to as f64 };
        let longest = all.by_length.iter().rposition(|&count| count > 0);
        let listed = longest.map_or(0, |index| index + 1);
        let by_length = all.by_length.iter().zip(1..).take(listed);
        (measured > 0).then(|| Self {
            loss_rate: ratio(all.lost, all.packets),
            bursts: bursts as f64 / f64::from(measured),
            mean_length: ratio(all.lost, bursts),
            by_length: by_length
                .map(|(&count, length)| BurstsOfLength {
                    length,
                    bursts: count as f64 / f64::from(measured),
                    share: ratio(count, bursts),
                })
                .collect(),
        })
    }
}

/// A distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Greatest.
    pub max: f64,
    /// How many samples a repeat had.
    pub samples: f64,
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueSummary {
    /// Its name.
    pub name: String,
    /// What waited, over time.
    pub bytes: QueueBytes,
    /// How long packets waited.
    pub sojourn_ms: Spread,
    /// Packets dropped.
    pub drops: f64,
}

/// What waited in a queue, over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueBytes {
    /// Mean.
    pub mean: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Greatest.
    pub max: f64,
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
        let queues = first.map_or(&[][..], |run| &run.queues).iter();
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
            flows: flows.map(|(i, flow)| flow_summary(i, flow, runs)).collect(),
            queues: queues
                .map(|queue| queue_summary(&queue.name, runs))
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
            real_time: real_time_summary(runs),
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

    /// The same, of runs over several traces: each was made with one of these experiments, which the
    /// number of its unit names.
    #[must_use]
    pub fn over(mut self, experiments: &[&Experiment], runs: &[RunResult]) -> Self {
        let (mut traces, mut radios) = (Vec::new(), Vec::new());
        for (number, experiment) in experiments.iter().enumerate() {
            let of_unit = runs.iter().filter(|run| run.unit == Some(number));
            let of_unit: Vec<RunResult> = of_unit.cloned().collect();
            traces.extend(conditions::traces(experiment, &of_unit));
            let radio = conditions::radio(experiment);
            radios.extend(radio.filter(|radio| !radios.contains(radio)));
        }
        self.traces = traces;
        self.radio = (!radios.is_empty()).then(|| radios.join("; "));
        self
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

fn flow_summary(index: usize, named: &FlowResult, runs: &[RunResult]) -> FlowSummary {
    let flows = || runs.iter().filter_map(|run| run.flows.get(index));
    let of = |value: fn(&FlowResult) -> f64| mean(flows().map(value));
    let goodput: Vec<f64> = flows().map(|flow| flow.goodput.as_bps() as f64).collect();
    let completion: Vec<f64> = flows()
        .filter_map(|flow| flow.completion)
        .map(|time| time.as_secs_f64())
        .collect();
    let units = RunResult::units(runs);
    let of_units = |values: &[f64]| estimate(&unit_means(values, &units));
    let all_finished = completion.len() == runs.len() && !runs.is_empty();
    FlowSummary {
        name: named.name.clone(),
        cc: named.cc.clone(),
        goodput_bps: of_units(&goodput),
        rtt_ms: Spread::of(flows().map(|flow| &flow.rtt)),
        owd_ms: Spread::of(flows().map(|flow| &flow.owd)),
        segment_delay_ms: Spread::of(flows().map(|flow| &flow.segment_delay)),
        completion_s: all_finished.then(|| of_units(&completion)),
        finished: completion.len(),
        load_time_ms: Spread::of(flows().map(|flow| &flow.load_time)),
        jitter_ms: of(|flow| flow.jitter_ms),
        delivered_bytes: of(|flow| flow.delivered.get() as f64),
        retransmits: of(|flow| flow.retransmits as f64),
        lost: of(|flow| flow.lost as f64),
        loss_bursts: BurstSummary::of(flows().filter_map(|flow| flow.loss_bursts.as_ref())),
        loss_decisions: loss_decisions(flows(), runs.len()),
    }
}

/// How often each reason decided, in a repeat.
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

fn loss_decisions<'a>(
    flows: impl Iterator<Item = &'a FlowResult>,
    repeats: usize,
) -> BTreeMap<&'static str, f64> {
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    for (_, decision) in flows.flat_map(|flow| &flow.loss_decisions) {
        *counts.entry(decision.reason.name()).or_default() += 1;
    }
    let mean = |count: u64| count as f64 / repeats as f64;
    counts
        .into_iter()
        .map(|(reason, count)| (reason, mean(count)))
        .collect()
}

/// Of the runs that were in real time, if any was.
fn real_time_summary(runs: &[RunResult]) -> Option<RealTimeSummary> {
    let times = || runs.iter().filter_map(|run| run.real_time.as_ref());
    let notes = times().next()?.notes.clone();
    Some(RealTimeSummary {
        lateness_ms: Spread::of(times().map(|time| &time.lateness)),
        scale: mean(times().map(|time| time.scale)),
        refused: mean(times().map(|time| time.refused as f64)),
        notes,
    })
}

fn queue_summary(name: &str, runs: &[RunResult]) -> QueueSummary {
    let queues = || {
        runs.iter()
            .filter_map(|run| run.queues.iter().find(|q| q.name == name))
    };
    let of = |value: fn(&QueueResult) -> f64| mean(queues().map(value));
    QueueSummary {
        name: name.to_owned(),
        bytes: QueueBytes {
            mean: of(|queue| queue.mean_bytes),
            p99: of(|queue| queue.p99_bytes),
            max: of(|queue| queue.max_bytes),
        },
        sojourn_ms: Spread::of(queues().map(|queue| &queue.sojourn)),
        drops: of(|queue| queue.drops as f64),
    }
}

impl Spread {
    /// True if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.samples == 0.0
    }

    /// The mean of each number over the repeats that have samples.
    fn of<'a>(repeats: impl Iterator<Item = &'a Distribution> + Clone) -> Self {
        let measured = repeats.clone().filter(|d| d.count > 0);
        let of = |value: fn(&Distribution) -> f64| mean(measured.clone().map(value));
        Self {
            min: of(|d| d.min),
            mean: of(|d| d.mean),
            p50: of(|d| d.p50),
            p90: of(|d| d.p90),
            p95: of(|d| d.p95),
            p99: of(|d| d.p99),
            max: of(|d| d.max),
            samples: mean(repeats.map(|d| d.count as f64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkResult, Overrides, load_str};
    use serde_json::Value;
    use units::{BitRate, Bytes, Duration};

    /// Bursts of two repeats: 1, 1, 3 of 100 packets; 12 of 100.
    #[test]
    fn bursts_of_repeats_are_counted_together() {
        let of = |lengths: &[u64]| {
            let mut bursts = LossBursts {
                packets: 100,
                ..LossBursts::default()
            };
            lengths.iter().for_each(|length| bursts.add(*length));
            bursts
        };
        let repeats = [of(&[1, 1, 3]), of(&[12])];
        let summary = BurstSummary::of(repeats.iter()).unwrap();
        assert!((summary.loss_rate - 17.0 / 200.0).abs() < 1e-12);
        assert!((summary.mean_length - 17.0 / 4.0).abs() < 1e-12);
        let lengths: Vec<_> = summary
            .by_length
            .iter()
            .map(|b| (b.length, b.share))
            .collect();
        assert_eq!(lengths.len(), LossBursts::MAX_LENGTH);
        assert_eq!(lengths[..3], [(1, 0.5), (2, 0.0), (3, 0.25)]);
        // 12 in a row are among those of the greatest length
        assert_eq!(lengths[9], (10, 0.25));
        assert!(BurstSummary::of([].iter()).is_none());
        assert!(
            BurstSummary::of([of(&[])].iter())
                .unwrap()
                .by_length
                .is_empty()
        );
    }

    const TEXT: &str = "name = \"pair\"\nseed = 5\nrepeats = 2\n[path]\nrtt = \"10 ms\"\n\
        [link]\nrate = \"100 Mbit/s\"\n[flow.bulk]\napp = { kind = \"bulk\", size = \"1 MB\" }\n\
        [flow.voip]\napp = { kind = \"voip\" }\n";

    fn run(seed: u64, goodput: u64, completion: Option<u64>, rtt: f64) -> RunResult {
        let distribution = Distribution {
            count: 4,
            min: rtt,
            mean: rtt,
            p95: rtt,
            ..Distribution::default()
        };
        let bulk = FlowResult {
            name: "bulk".into(),
            cc: "cubic".into(),
            delivered: Bytes::new(1_000_000),
            goodput: BitRate::from_bps(goodput),
            rtt: distribution,
            completion: completion.map(Duration::from_millis),
            retransmits: seed,
            ..FlowResult::default()
        };
        let voip = FlowResult {
            name: "voip".into(),
            cc: "udp".into(),
            ..FlowResult::default()
        };
        let queue = QueueResult {
            name: "link/down".into(),
            max_bytes: 9.0,
            ..Default::default()
        };
        RunResult {
            seed,
            elapsed: Duration::from_secs(1),
            flows: vec![bulk, voip],
            queues: vec![queue],
            link: LinkResult {
                utilisation: 0.5,
                capacity: BitRate::from_mbps(100),
            },
            events: 100 * seed,
            ..RunResult::default()
        }
    }

    fn summary(runs: &[RunResult]) -> Value {
        let points = load_str(TEXT, &Overrides::default()).expect("valid");
        let summary = Summary::of(&points[0].experiment, "sim", runs, "0.1.0");
        serde_json::to_value(summary).expect("plain data")
    }

    #[test]
    fn means_over_repeats_worked_by_hand() {
        let s = summary(&[run(5, 10, Some(1000), 20.0), run(6, 14, Some(3000), 40.0)]);
        assert_eq!(s["scenario"], "pair");
        assert_eq!(
            (s["seed"].as_u64(), s["repeats"].as_u64()),
            (Some(5), Some(2))
        );
        let bulk = &s["flows"][0];
        // 10 and 14: mean 12, s = 2 sqrt 2, ci95 = 12.706 x 2
        assert_eq!(bulk["goodput_bps"]["mean"], 12.0);
        let ci = bulk["goodput_bps"]["ci95"].as_f64().expect("a number");
        assert!((ci - 25.412).abs() < 1e-2, "{ci}");
        assert_eq!(bulk["completion_s"]["mean"], 2.0);
        assert_eq!(bulk["rtt_ms"]["p95"], 30.0);
        assert_eq!(bulk["retransmits"], 5.5);
        assert_eq!(s["events"], 550.0);
        assert_eq!(s["queues"][0]["bytes"]["max"], 9.0);
        assert_eq!(s["link"]["capacity_bps"], 100e6);
    }

    #[test]
    fn a_flow_that_did_not_always_finish_has_no_completion_time() {
        let s = summary(&[run(5, 10, Some(1000), 20.0), run(6, 14, None, 40.0)]);
        assert_eq!(s["flows"][0]["completion_s"], Value::Null);
        assert_eq!(s["flows"][0]["finished"], 1);
    }

    /// All leaves with their paths.
    fn leaves(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(map) => {
                map.iter()
                    .for_each(|(k, v)| leaves(&format!("{path}.{k}"), v, found));
            }
            Value::Array(items) => items.iter().for_each(|v| leaves(path, v, found)),
            leaf => found.push((path.to_owned(), leaf.clone())),
        }
    }

    #[test]
    fn every_leaf_is_a_number_but_for_names_and_unfinished_completions() {
        let s = summary(&[run(5, 10, None, f64::NAN)]);
        let mut found = Vec::new();
        leaves("", &s, &mut found);
        for (path, leaf) in found {
            let may_be_text = [
                ".name",
                ".cc",
                ".scenario",
                ".world",
                ".version",
                ".pep",
                ".drawn",
                ".unit",
            ];
            let may_be_null = path.ends_with(".completion_s");
            let is_text = may_be_text.iter().any(|end| path.ends_with(end));
            assert!(
                leaf.is_number() || is_text || (may_be_null && leaf.is_null()),
                "{path}: {leaf}"
            );
        }
        for key in [
            "scenario", "world", "seed", "repeats", "version", "wall_s", "events",
        ] {
            assert!(s.get(key).is_some(), "{key}");
        }
    }

    #[test]
    fn a_flow_without_samples_is_marked() {
        let s = summary(&[run(5, 10, None, 20.0)]);
        assert_eq!(s["flows"][1]["rtt_ms"]["samples"], 0.0);
        assert_eq!(s["flows"][1]["rtt_ms"]["mean"], 0.0);
        assert!(s.get("axes").is_none());
    }
}
