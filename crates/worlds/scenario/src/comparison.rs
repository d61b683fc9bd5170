//! Variants against the first of them, seed by seed.

use crate::result::{ApplicationResult, FlowResult, RunResult};
use crate::statistics::{Estimate, Ratio, estimate, ratio_of_units, unit_means};
use serde::Serialize;

/// A variant and its repeats.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// What distinguishes it from the others, e.g. `pep=default`.
    pub label: &'a str,
    /// Its repeats.
    pub runs: &'a [RunResult],
}

/// One number of one flow, in a variant and in the base.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The variant.
    pub variant: String,
    /// The flow.
    pub flow: String,
    /// What is compared, with its unit, e.g. `goodput_bps`.
    pub metric: &'static str,
    /// In the base.
    pub base: Estimate,
    /// In the variant.
    pub value: Estimate,
    /// The variant's over the base's of the same seed; none where one of the two is zero.
    pub ratio: Option<Ratio>,
}

/// Why variants cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// Not the same seeds: no pairs can be made.
    #[error(
        "variant {variant:?} ran with the seeds {seeds:?}, the base with {base:?}: run both with \
         the same --seed and --repeats"
    )]
    Seeds {
        /// The variant.
        variant: String,
        /// Its seeds.
        seeds: Vec<u64>,
        /// The base's.
        base: Vec<u64>,
    },
}

/// What is compared: its name, and its value if the flow has one.
type Metric = (&'static str, fn(&FlowResult) -> Option<f64>);

const METRICS: [Metric; 8] = [
    ("goodput_bps", |f| Some(f.goodput.as_bps() as f64)),
    ("completion_s", |f| f.completion.map(|t| t.as_secs_f64())),
    ("rtt_mean_ms", |f| (f.rtt.count > 0).then_some(f.rtt.mean)),
    ("rtt_p95_ms", |f| (f.rtt.count > 0).then_some(f.rtt.p95)),
    ("owd_mean_ms", |f| (f.owd.count > 0).then_some(f.owd.mean)),
    ("segment_delay_mean_ms", |f| {
        (f.segment_delay.count > 0).then_some(f.segment_delay.mean)
    }),
    ("load_time_mean_ms", |f| {
        (f.load_time.count > 0).then_some(f.load_time.mean)
    }),
    ("jitter_ms", |f| (f.jitter_ms > 0.0).then_some(f.jitter_ms)),
];

/// The names of what is compared of a flow: that of every flow, and what its application measures beyond.
fn metrics_of(flow: &FlowResult) -> Vec<&'static str> {
    let common = METRICS.map(|(name, _)| name);
    let own = flow.application.as_ref().map(ApplicationResult::measures);
    let own = own.unwrap_or_default().into_iter();
    let own = own.filter(|m| m.is_compared && !common.contains(&m.name));
    common.into_iter().chain(own.map(|m| m.name)).collect()
}

/// The value of that name, if the flow has one.
fn value_of(flow: &FlowResult, metric: &str) -> Option<f64> {
    if let Some((_, of)) = METRICS.iter().find(|(name, _)| *name == metric) {
        return of(flow);
    }
    let measures = flow.application.as_ref()?.measures();
    measures.iter().find(|m| m.name == metric)?.value
}

/// Compares every variant with the first, flow by flow. Flows are matched by name; a number that is
/// missing in one repeat of either is left out.
///
/// # Errors
/// [`CompareError::Seeds`] if the repeats cannot be paired.
pub fn compare(variants: &[Labelled<'_>]) -> Result<Vec<Compared>, CompareError> {
    let Some((base, others)) = variants.split_first() else {
        return Ok(Vec::new());
    };
    let mut rows = Vec::new();
    for variant in others {
        let (seeds, base_seeds) = (seeds(variant), seeds(base));
        if seeds != base_seeds {
            let variant = variant.label.to_owned();
            return Err(CompareError::Seeds {
                variant,
                seeds,
                base: base_seeds,
            });
        }
        let units = RunResult::units(variant.runs);
        let flows = variant.runs.first().map_or(&[][..], |run| &run.flows);
        for flow in flows {
            for metric in metrics_of(flow) {
                let (Some(values), Some(base)) = (
                    values(variant, &flow.name, metric),
                    values(base, &flow.name, metric),
                ) else {
                    continue;
                };
                rows.push(Compared {
                    variant: variant.label.to_owned(),
                    flow: flow.name.clone(),
                    metric,
                    base: estimate(&unit_means(&base, &units)),
                    value: estimate(&unit_means(&values, &units)),
                    ratio: ratio_of_units(&values, &base, &units),
                });
            }
        }
    }
    Ok(rows)
}

fn seeds(variant: &Labelled<'_>) -> Vec<u64> {
    variant.runs.iter().map(|run| run.seed).collect()
}

/// One value for each repeat, if each has one.
fn values(variant: &Labelled<'_>, flow: &str, metric: &str) -> Option<Vec<f64>> {
    let find = |run: &RunResult| {
        let flow = run.flows.iter().find(|f| f.name == flow)?;
        value_of(flow, metric)
    };
    variant.runs.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    fn run(seed: u64, goodput: u64) -> RunResult {
        let flow = FlowResult {
            name: "bulk".into(),
            goodput: BitRate::from_bps(goodput),
            ..FlowResult::default()
        };
        RunResult {
            seed,
            flows: vec![flow],
            ..RunResult::default()
        }
    }

    #[test]
    fn ratios_are_paired_by_seed() {
        let base = [run(1, 100), run(2, 1000)];
        let other = [run(1, 150), run(2, 1500)];
        let rows = compare(&[
            Labelled {
                label: "pep=none",
                runs: &base,
            },
            Labelled {
                label: "pep=default",
                runs: &other,
            },
        ])
        .expect("same seeds");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].metric, "goodput_bps");
        // 1.5 for both seeds: no spread is left
        let ratio = rows[0].ratio.expect("a ratio");
        assert!((ratio.mean - 1.5).abs() < 1e-12, "{ratio:?}");
        assert!(ratio.ci95 < 1e-12, "{ratio:?}");
        assert_eq!(rows[0].base.mean, 550.0);
    }

    #[test]
    fn other_seeds_are_refused() {
        let (base, other) = ([run(1, 100)], [run(2, 100)]);
        let error = compare(&[
            Labelled {
                label: "a",
                runs: &base,
            },
            Labelled {
                label: "b",
                runs: &other,
            },
        ])
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "variant \"b\" ran with the seeds [2], the base with [1]: run both with the same --seed \
             and --repeats"
        );
    }

    #[test]
    fn a_base_of_zero_has_no_ratio() {
        let (base, other) = ([run(1, 0)], [run(1, 100)]);
        let rows = compare(&[
            Labelled {
                label: "a",
                runs: &base,
            },
            Labelled {
                label: "b",
                runs: &other,
            },
        ])
        .expect("same seeds");
        assert_eq!(rows[0].ratio, None);
    }
}
