//! What the repeats ran on, and what differed between them: what a reader needs to judge a mean and
//! its interval.

use crate::cells::NamedCell;
use crate::experiment::{AccessSpec, ChannelSpec, Direction, Experiment, TraceSpec};
use crate::result::{ApplicationResult, FlowResult, RunResult};
use radio::trace::{Network, NetworkTimes};
use ran::Rat;
use serde::Serialize;
use std::collections::BTreeSet;
use units::Duration;

/// The part of a trace that drove a user's channel, or its uplink.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceSummary {
    /// The user.
    pub ue: String,
    /// The cell that it was recorded in, where each of several has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// What it drove: `down` or `up`.
    pub direction: &'static str,
    /// The trace's file.
    pub file: String,
    /// What it was recorded on, in words: `5G 58.1 %, LTE 41.9 %`.
    pub recorded_on: String,
    /// The same as shares of its time; not printed if it states none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networks: Option<NetworkShares>,
    /// How long the trace is.
    pub duration_s: f64,
    /// How much of it a repeat used.
    pub used_s: f64,
    /// Where in it each repeat began, in the order of their seeds.
    pub offsets_s: Vec<f64>,
    /// How much of it all repeats together used.
    pub covered_s: f64,
}

/// Shares of a trace's time, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NetworkShares {
    /// On LTE.
    pub lte: f64,
    /// On 5G.
    pub nr: f64,
    /// On an older network.
    pub older: f64,
    /// Not written down.
    pub unknown: f64,
}

impl NetworkShares {
    fn of(times: &NetworkTimes) -> Option<Self> {
        times.is_known().then(|| Self {
            lte: times.share(Network::Lte),
            nr: times.share(Network::Nr),
            older: times.share(Network::Older),
            unknown: times.share(Network::Unknown),
        })
    }
}

/// The radio in words: `LTE, 100 PRBs`, `5G, slots of 500 us, 273 PRBs`; of several cells, the first and how many there
/// are. None of a wired bottleneck.
pub(super) fn radio(experiment: &Experiment) -> Option<String> {
    let first = of_first(experiment)?;
    Some(match &experiment.cells {
        None => first,
        Some(cells) => format!("{first}, the first of {} cells", cells.cells.len()),
    })
}

fn of_first(experiment: &Experiment) -> Option<String> {
    match &experiment.access {
        AccessSpec::Link(_) => None,
        AccessSpec::Cell(cell) => Some(match cell.config.rat {
            Rat::Lte => format!("LTE, {} PRBs", cell.config.n_prb.get()),
            rat @ Rat::Nr { .. } => format!(
                "5G, slots of {}, {} PRBs",
                rat.slot_duration(),
                cell.config.n_prb.get()
            ),
        }),
    }
}

/// The traces of the users that have one, those of the uplink after all of the downlink.
pub(super) fn traces<'a>(
    experiment: &Experiment,
    runs: impl IntoIterator<Item = &'a RunResult>,
) -> Vec<TraceSummary> {
    let runs: Vec<&RunResult> = runs.into_iter().collect();
    let down = experiment.ues.iter().enumerate().flat_map(|(index, ue)| {
        let specs = downlink(experiment, (index, &ue.channel)).into_iter();
        let summary = |(cell, spec): (Option<&str>, &TraceSpec)| {
            let offset = |run: &RunResult| Some(ue.offset_in(spec, run.seed));
            TraceSummary {
                cell: cell.map(str::to_owned),
                ..trace(&ue.name, Direction::Down, spec, offset, &runs)
            }
        };
        specs.map(summary).collect::<Vec<_>>()
    });
    let up = experiment.ues.iter().filter_map(|ue| {
        let offset = |run: &RunResult| ue.uplink_offset(run.seed);
        let spec = ue.uplink.as_ref()?;
        Some(trace(&ue.name, Direction::Up, spec, offset, &runs))
    });
    down.chain(up).collect()
}

/// The traces that drive a user's downlink: of several cells, one each, with their names.
fn downlink<'a>(
    experiment: &'a Experiment,
    (ue, channel): (usize, &'a ChannelSpec),
) -> Vec<(Option<&'a str>, &'a TraceSpec)> {
    match (channel, &experiment.cells) {
        (ChannelSpec::Trace(_), Some(cells)) => {
            let cells = cells.cells.iter();
            let named =
                |cell: &'a NamedCell| Some((Some(cell.name.as_str()), cell.traces.get(ue)?));
            cells.filter_map(named).collect()
        }
        (ChannelSpec::Trace(spec), None) => vec![(None, spec)],
        _ => Vec::new(),
    }
}

/// A part of a trace, from where to which time; beyond the trace's end its beginning follows.
type Span = (Duration, Duration);

fn trace(
    ue: &str,
    direction: Direction,
    TraceSpec {
        trace, playback, ..
    }: &TraceSpec,
    offset: impl Fn(&RunResult) -> Option<Duration>,
    runs: &[&RunResult],
) -> TraceSummary {
    let lap = trace.lap(playback);
    let span = |run: &RunResult| {
        let offset = offset(run)?;
        let begin = Duration::from_nanos(offset.as_nanos().checked_rem(lap.as_nanos())?);
        let end = match playback.repeat {
            true => begin + run.elapsed.min(lap),
            false => (begin + run.elapsed).min(lap),
        };
        Some((begin, end))
    };
    let spans: Vec<Span> = runs.iter().copied().filter_map(span).collect();
    let used = spans.iter().map(|(begin, end)| *end - *begin);
    TraceSummary {
        ue: ue.to_owned(),
        cell: None,
        direction: match direction {
            Direction::Down => "down",
            Direction::Up => "up",
        },
        file: trace.source.clone(),
        recorded_on: trace.networks.to_string(),
        networks: NetworkShares::of(&trace.networks),
        duration_s: lap.as_secs_f64(),
        used_s: super::mean(used.map(Duration::as_secs_f64)),
        offsets_s: spans.iter().map(|(begin, _)| begin.as_secs_f64()).collect(),
        covered_s: covered(&spans, lap).as_secs_f64(),
    }
}

/// How much of a lap some of these spans cover; what goes beyond its end is at its beginning.
fn covered(spans: &[Span], lap: Duration) -> Duration {
    let mut parts: Vec<Span> = Vec::new();
    for &(begin, end) in spans {
        parts.push((begin, end.min(lap)));
        if end > lap {
            parts.push((Duration::ZERO, (end - lap).min(begin)));
        }
    }
    parts.sort_unstable();
    let (mut sum, mut reached) = (Duration::ZERO, Duration::ZERO);
    for (begin, end) in parts {
        sum += end.saturating_sub(begin.max(reached));
        reached = reached.max(end);
    }
    sum
}

/// How many different outcomes the repeats had, by all that was measured of their flows.
pub(super) fn distinct(runs: &[RunResult]) -> usize {
    let outcomes: BTreeSet<Vec<u64>> = runs.iter().map(outcome).collect();
    outcomes.len()
}

fn outcome(run: &RunResult) -> Vec<u64> {
    let of_flow = |flow: &FlowResult| {
        let spreads = [&flow.rtt, &flow.owd, &flow.segment_delay, &flow.load_time];
        let spreads = spreads.into_iter().flat_map(|spread| {
            let (count, mean) = (spread.count, spread.mean.to_bits());
            [count, mean, spread.p95.to_bits(), spread.max.to_bits()]
        });
        let counts = [
            flow.delivered.get(),
            flow.goodput.as_bps(),
            flow.completion.map_or(u64::MAX, |time| time.as_nanos()),
            flow.jitter_ms.to_bits(),
            flow.retransmits,
            flow.lost,
        ];
        let application = flow
            .application
            .iter()
            .flat_map(ApplicationResult::measures);
        let application = application.map(|of| of.value.map_or(u64::MAX, f64::to_bits));
        let all = counts.into_iter().chain(spreads).chain(application);
        all.collect::<Vec<u64>>()
    };
    run.flows.iter().flat_map(of_flow).collect()
}

/// What there is to note of intervals that mean nothing: several repeats that are one.
pub(super) fn note(repeats: usize, distinct: usize) -> Option<String> {
    (repeats > 1 && distinct == 1).then(|| {
        format!(
            "all {repeats} repeats are alike: nothing that matters here is drawn at random, and the \
             intervals have no meaning; draw something, for example the offset of a trace \
             (--trace-offset random) or when flows begin (start-jitter)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_is_covered_is_counted_once() {
        // 0 to 30, of which 20 to 30 twice; 90 to 100 and, over the end, 0 to 5 again
        let spans = [(s(0), s(30)), (s(20), s(30)), (s(90), s(105))];
        assert_eq!(covered(&spans, s(100)), s(40));
        assert_eq!(covered(&[(s(40), s(140))], s(100)), s(100));
        assert_eq!(covered(&[], s(100)), s(0));
    }

    #[test]
    fn repeats_that_are_alike_are_noted() {
        let run = |goodput| RunResult {
            flows: vec![FlowResult {
                goodput: units::BitRate::from_bps(goodput),
                ..FlowResult::default()
            }],
            ..RunResult::default()
        };
        let note_of = |runs: &[RunResult]| note(runs.len(), distinct(runs));
        assert!(note_of(&[run(1), run(1)]).is_some_and(|note| note.contains("all 2 repeats")));
        assert_eq!(note_of(&[run(1), run(2)]), None);
        assert_eq!(note_of(&[run(1)]), None);
    }
}
