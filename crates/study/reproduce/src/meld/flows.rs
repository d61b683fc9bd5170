//! Several downloads of one user at a time, and an upload beside them.

use super::{TRANSPORTS, tables, unless_quick};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::completion;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{FlowResult, RunResult};

pub(super) const SECTION: Section = Section {
    id: "flows",
    title: "2 to 16 downloads, and 5 MB upwards beside them",
    experiments: |extent| unless_quick(extent, || cases().map(Case::experiment).collect()),
    report,
};

/// Downloads.
const COUNTS: [u32; 4] = [2, 4, 8, 16];
/// What decides on their losses.
const VARIANTS: [&str; 5] = ["off", "de", "me", "default", "yield"];
/// Of each: none of the numbers decides a claim.
const REPEATS: u32 = 3;
/// The flow of `scenarios/meld/upload.toml` that has no reports.
const UPLOAD: &str = "up";

#[derive(Clone, Copy)]
struct Case {
    transport: &'static str,
    count: u32,
    variant: &'static str,
}

fn cases() -> impl Iterator<Item = Case> {
    let counted = TRANSPORTS
        .into_iter()
        .flat_map(|transport| COUNTS.map(|count| (transport, count)));
    counted.flat_map(|(transport, count)| {
        VARIANTS.map(|variant| Case {
            transport,
            count,
            variant,
        })
    })
}

impl Case {
    /// They begin within a second; the upload begins at 5 s.
    fn experiment(self) -> Experiment {
        Experiment::of("meld/upload")
            .set("transport", self.transport)
            .set("meld", self.variant)
            .set("flow.down.count", self.count.to_string())
            .set("flow.down.start-jitter", "1 s")
            .set("duration", "30 s")
            .at_most(REPEATS)
    }
}

fn downloads(run: &RunResult) -> impl Iterator<Item = &FlowResult> {
    run.flows.iter().filter(|flow| flow.name != UPLOAD)
}

/// Goodput of the downloads together, Mbit/s.
fn together(run: &RunResult) -> Option<f64> {
    let rates = downloads(run).map(|flow| flow.goodput.as_bps() as f64 / 1e6);
    Some(rates.sum())
}

/// Jain's index of their goodputs.
fn jain(run: &RunResult) -> Option<f64> {
    let rates = || downloads(run).map(|flow| flow.goodput.as_bps() as f64);
    let squares: f64 = rates().map(|rate| rate * rate).sum();
    let count = downloads(run).count() as f64;
    (squares > 0.0).then(|| rates().sum::<f64>().powi(2) / (count * squares))
}

/// The mean of their mean round-trip times, ms.
fn rtt(run: &RunResult) -> Option<f64> {
    let measured = || downloads(run).filter(|flow| flow.rtt.count > 0);
    let count = measured().count() as f64;
    (count > 0.0).then(|| measured().map(|flow| flow.rtt.mean).sum::<f64>() / count)
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let rows = cases().map(|case| {
        let experiment = case.experiment();
        let shown =
            |of: fn(&RunResult) -> Option<f64>| tables::shown(results.mean(&experiment, of));
        vec![
            case.transport.to_owned(),
            case.count.to_string(),
            case.variant.to_owned(),
            shown(together),
            shown(jain),
            shown(rtt),
            shown(|run| completion(UPLOAD)(run)),
        ]
    });
    let heads = [
        "transport",
        "downloads",
        "MELD",
        "together Mbit/s",
        "Jain",
        "mean RTT ms",
        "upload s",
    ];
    Part {
        text: format!(
            "Downloads without end by NewReno that begin within a second, for 30 s ({REPEATS} repeats); the upload begins at 5 s \
             and has no reports. A dash: it was not over in some repeat.\n\n{}",
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Distribution;
    use units::BitRate;

    #[test]
    fn the_upload_is_none_of_the_downloads() {
        let flow = |name: &str, mbps: u64, mean: f64| FlowResult {
            name: name.to_owned(),
            goodput: BitRate::from_mbps(mbps),
            rtt: Distribution {
                count: 1,
                mean,
                ..Distribution::default()
            },
            ..FlowResult::default()
        };
        let run = RunResult {
            flows: vec![
                flow("down", 2, 60.0),
                flow("down-2", 6, 80.0),
                flow(UPLOAD, 7, 50.0),
            ],
            ..RunResult::default()
        };
        assert_eq!((together(&run), rtt(&run)), (Some(8.0), Some(70.0)));
        // 64 of 2 x 40
        assert_eq!(jain(&run), Some(0.8));
    }
}
