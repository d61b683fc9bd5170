//! Figure 9a without a proxy: what BBR gets beside Cubic, by who begins first and by how much.

use super::{Mode, in_mode, tables};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{Window, completion, rtt};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

pub(super) const SECTION: Section = Section {
    id: "fig9-order",
    title: "4G: who begins first (figure 9a)",
    experiments: |extent| starts(extent).iter().map(|s| s.experiment()).collect(),
    report,
};

/// When the two downloads begin, s; one of them at 0.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Starts {
    cubic: f64,
    bbr: f64,
}

/// By how much the first is ahead, s.
const AHEAD: [f64; 4] = [0.1, 0.5, 2.0, 10.0];

fn starts(extent: &Extent) -> Vec<Starts> {
    let ahead: &[f64] = match extent.quick {
        true => &AHEAD[2..3],
        false => &AHEAD,
    };
    let cubic_first = ahead.iter().rev().map(|s| Starts {
        cubic: 0.0,
        bbr: *s,
    });
    let bbr_first = ahead.iter().map(|s| Starts {
        cubic: *s,
        bbr: 0.0,
    });
    let at_once = core::iter::once(Starts {
        cubic: 0.0,
        bbr: 0.0,
    });
    cubic_first.chain(at_once).chain(bbr_first).collect()
}

impl Starts {
    fn experiment(self) -> Experiment {
        let experiment = in_mode("rapid/oai-fast", Mode::None);
        match self {
            Self { bbr, .. } if bbr > 0.0 => experiment.set("flow.bbr.start", format!("{bbr} s")),
            Self { cubic, .. } if cubic > 0.0 => {
                experiment.set("flow.cubic.start", format!("{cubic} s"))
            }
            _ => experiment,
        }
    }

    fn words(self) -> String {
        match self {
            Self { bbr, .. } if bbr > 0.0 => format!("Cubic, by {bbr} s"),
            Self { cubic, .. } if cubic > 0.0 => format!("BBR, by {cubic} s"),
            _ => "at once".to_owned(),
        }
    }

    /// Share of what both get that is BBR's, while both download, %.
    fn share(self, run: &RunResult) -> Option<f64> {
        let end = (self.cubic + completion("cubic")(run)?).min(self.bbr + completion("bbr")(run)?);
        let both = Window::between(self.cubic.max(self.bbr), end);
        let (cubic, bbr) = (both.goodput("cubic")(run)?, both.goodput("bbr")(run)?);
        Some(100.0 * bbr / (cubic + bbr))
    }
}

fn report(extent: &Extent, results: &Results) -> Part {
    let starts = starts(extent);
    Part {
        text: table(&starts, results),
        ..Part::default()
    }
}

fn table(starts: &[Starts], results: &Results) -> String {
    let head = [
        "first",
        "BBR's share %",
        "least",
        "greatest",
        "RTT of Cubic ms",
        "RTT of BBR ms",
    ];
    let rows = starts.iter().map(|s| {
        let at = s.experiment();
        let shares: Vec<f64> = results
            .runs(&at)
            .iter()
            .filter_map(|run| s.share(run))
            .collect();
        let of = |pick: fn(f64, f64) -> f64| {
            let found = shares.iter().copied().reduce(pick);
            found.map_or("-".to_owned(), |share| format!("{share:.1}"))
        };
        vec![
            s.words(),
            tables::shown(results.mean(&at, |run| s.share(run))),
            of(f64::min),
            of(f64::max),
            tables::shown(results.mean(&at, rtt("cubic"))),
            tables::shown(results.mean(&at, rtt("bbr"))),
        ]
    });
    format!(
        "`oai-fast` without a proxy. The share is of what both get from the later one's start to the earlier one's \
         end; the least and the greatest are those of single repeats.\n\n{}",
        markdown::table(&head, rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{FlowResult, Metric, Series};
    use units::{Duration, Instant};

    #[test]
    fn the_share_is_that_of_the_time_in_which_both_download() {
        let flow = |name: &str, seconds| FlowResult {
            name: name.into(),
            completion: Some(Duration::from_secs(seconds)),
            ..FlowResult::default()
        };
        let series = |name: &str, values: [f64; 4]| Series {
            entity: name.into(),
            metric: Metric::Goodput,
            points: (1..)
                .zip(values)
                .map(|(s, v)| (Instant::from_nanos(s * 1_000_000_000), v))
                .collect(),
        };
        let run = RunResult {
            flows: vec![flow("cubic", 3), flow("bbr", 3)],
            series: vec![
                series("cubic", [10.0, 6.0, 6.0, 0.0]),
                series("bbr", [0.0, 2.0, 2.0, 8.0]),
            ],
            ..RunResult::default()
        };
        let starts = Starts {
            cubic: 0.0,
            bbr: 1.0,
        };
        assert_eq!(starts.share(&run), Some(25.0));
    }
}
