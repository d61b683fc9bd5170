//! What applications measured, over all repeats.

use crate::result::{ApplicationResult, Measure, RunResult};
use crate::statistics::{Estimate, estimate, unit_means};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// What an application measured: `{"kind": ..., "<measure>": {"mean", "ci95"} or null, ...}`.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplicationSummary {
    /// The kind of application.
    pub kind: &'static str,
    /// Its measures in order, with the mean of those repeats that have a value; none if none has.
    pub measures: Vec<(Measure, Option<Estimate>)>,
}

impl ApplicationSummary {
    /// Of the flow of this index, if its application measures.
    pub(super) fn of(index: usize, runs: &[RunResult]) -> Option<Self> {
        let units = RunResult::units(runs);
        let of_run = |run: &RunResult| run.flows.get(index)?.application.clone();
        let results: Vec<(usize, ApplicationResult)> = runs
            .iter()
            .zip(units)
            .filter_map(|(run, unit)| Some((unit, of_run(run)?)))
            .collect();
        let (_, first) = results.first()?;
        let of_measure = |(place, measure): (usize, Measure)| {
            let (units, values): (Vec<usize>, Vec<f64>) = results
                .iter()
                .filter_map(|(unit, result)| Some((*unit, result.measures().get(place)?.value?)))
                .unzip();
            let known = !values.is_empty();
            (
                measure,
                known.then(|| estimate(&unit_means(&values, &units))),
            )
        };
        Some(Self {
            kind: first.kind(),
            measures: first
                .measures()
                .into_iter()
                .enumerate()
                .map(of_measure)
                .collect(),
        })
    }
}

impl Serialize for ApplicationSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.measures.len()))?;
        map.serialize_entry("kind", self.kind)?;
        for (measure, value) in &self.measures {
            map.serialize_entry(measure.name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{FlowResult, VideoResult};
    use units::Duration;

    fn run(startup: Option<u64>, stalls: u64) -> RunResult {
        let video = VideoResult {
            startup_delay: startup.map(Duration::from_secs),
            stalls,
            ..VideoResult::default()
        };
        RunResult {
            flows: vec![FlowResult {
                application: Some(ApplicationResult::Video(video)),
                ..FlowResult::default()
            }],
            ..RunResult::default()
        }
    }

    #[test]
    fn a_mean_is_of_the_repeats_that_have_a_value() {
        let runs = [run(Some(1), 2), run(None, 4), run(Some(3), 6)];
        let summary = ApplicationSummary::of(0, &runs).expect("it measured");
        let json = serde_json::to_value(&summary).expect("a map");
        assert_eq!(json["kind"], "video");
        assert_eq!(json["startup_delay_s"]["mean"], 2.0);
        assert_eq!(json["stalls"]["mean"], 4.0);
        assert!(json["stall_ratio"].is_null(), "{json}");
        let names: Vec<&str> = summary.measures.iter().map(|(of, _)| of.name).collect();
        assert_eq!(names[..2], ["startup_delay_s", "stalls"]);
    }

    #[test]
    fn other_flows_have_none() {
        let runs = [RunResult {
            flows: vec![FlowResult::default()],
            ..RunResult::default()
        }];
        assert_eq!(ApplicationSummary::of(0, &runs), None);
    }
}
