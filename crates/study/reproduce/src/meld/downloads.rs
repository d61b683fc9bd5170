//! The downloads: figures 4, 5 and 6.

use super::{
    BASE, CONTROLS, TRANSPORTS, VARIANTS, both, download, gain, named, often, runs, tables,
};
use crate::claim::{Cause, Cell, Claim, Verdict};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::measure::{goodput, rtt};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, Metric};

/// Figure 4.
pub(super) const GOODPUT: Section = Section {
    id: "fig4",
    title: "Goodput of a download of 20 MB (figure 4)",
    experiments: |_| all(),
    report: goodputs,
};
/// Figures 5 and 6.
pub(super) const DELAY: Section = Section {
    id: "fig5",
    title: "Its round-trip times (figures 5 and 6)",
    experiments: |extent| {
        let mut all = all();
        let of = |control| TRANSPORTS.map(|transport| often(extent, transport, control, "me"));
        all.extend(CONTROLS.into_iter().flat_map(of));
        all
    },
    report: delays,
};

/// Every transport, controller and variant.
fn all() -> Vec<Experiment> {
    let mut all = Vec::new();
    for transport in TRANSPORTS {
        for control in CONTROLS {
            all.extend(VARIANTS.map(|variant| download(transport, control, variant)));
        }
    }
    all
}

/// Goodput of a variant above that without, %, over both transports.
fn gains(results: &Results, control: &str, variant: &str) -> [Cell; 2] {
    both(|transport| {
        let [with, off] = [variant, "off"].map(|v| download(transport, control, v));
        gain(results, [&with, &off], goodput("download"))
    })
}

fn goodputs(_: &Extent, results: &Results) -> Part {
    let claim = |control: &str, variant: &str, paper, min, twice: Option<f64>| {
        let cells = gains(results, control, variant);
        // a gain is over a controller of ours, of which the paper states no number
        let more = twice.map_or(Verdict::DoesNotHold, |twice| cells[0].above(twice));
        let cause = Cause::Baseline(Verdict::NotMeasured);
        let verdict = cells[0].at_least(min).beyond(more, cause);
        let what = format!(
            "{}, MELD-{}: goodput above plain, %",
            named(control),
            variant.to_uppercase()
        );
        Claim::new("figure 4", what, paper)
            .measured(&cells, verdict)
            .decimals(0)
    };
    let plain_cubic = "taken as 5 to twice theirs: plain Cubic takes less of our link than of theirs, where it was near the optimum: it \
         has more to gain";
    let claims = vec![
        claim("newreno", "de", "+131", 100.0, Some(262.0)).note("taken as 100 to twice as much"),
        claim("newreno", "me", "> +80", 80.0, None),
        claim("cubic", "de", "+9", 5.0, Some(18.0)).note(plain_cubic),
        claim("cubic", "me", "+8", 5.0, Some(16.0)).note(plain_cubic),
    ];
    let mut rows = Vec::new();
    for transport in TRANSPORTS {
        for control in CONTROLS {
            for variant in VARIANTS {
                let labels = [transport, control, variant].map(str::to_owned);
                rows.push((labels.to_vec(), download(transport, control, variant)));
            }
        }
    }
    Part {
        claims,
        text: tables::flows(results, &["transport", "cc", "MELD"], &rows, "download"),
        figures: vec![bars(results)],
    }
}

/// Figure 4, of both transports.
fn bars(results: &Results) -> Figure {
    let panels = TRANSPORTS.map(|transport| {
        let of = |variant: &str| -> Vec<Estimate> {
            let each = CONTROLS.map(|control| download(transport, control, variant));
            each.iter()
                .map(|at| results.mean(at, goodput("download")))
                .collect()
        };
        Panel {
            title: transport.to_uppercase(),
            x: Axis::linear("congestion control"),
            y: Axis::linear("goodput (Mbit/s)"),
            shape: Shape::Groups {
                conditions: CONTROLS.map(|c| named(c).to_owned()).to_vec(),
                series: VARIANTS.map(|v| (v.to_owned(), of(v))).to_vec(),
            },
        }
    });
    Figure {
        name: "fig4",
        title: "Goodput of 20 MB with and without loss discrimination".to_owned(),
        columns: 2,
        panels: panels.to_vec(),
    }
}

fn delays(extent: &Extent, results: &Results) -> Part {
    let mean = |control: &'static str| {
        both(|transport| results.mean(&often(extent, transport, control, "me"), rtt("download")))
    };
    let over = |control: &'static str, [variant, other]: [&'static str; 2]| {
        both(|transport| {
            let [over, under] = [variant, other].map(|v| download(transport, control, v));
            results.ratio(&over, &under, rtt("download"))
        })
    };
    let risen = CONTROLS.map(|control| over(control, ["de", "off"]));
    let kept = CONTROLS.map(mean);
    let above = over("cubic", ["me", "off"]);
    let below = CONTROLS.map(|control| over(control, ["me", "de"]));
    let mut claims = Vec::new();
    for (control, cells) in CONTROLS.into_iter().zip(&risen) {
        let what = format!("{}, MELD-DE: mean RTT over plain's", named(control));
        claims.push(
            Claim::new("figure 5", what, "rises much")
                .measured(cells, cells[0].at_least(1.5))
                .note("taken as at least 1.5"),
        );
    }
    for (control, cells) in CONTROLS.into_iter().zip(&below) {
        let what = format!("{}, MELD-ME: mean RTT over MELD-DE's", named(control));
        claims.push(
            Claim::new("figure 6", what, "lower")
                .measured(cells, cells[0].at_most(0.75))
                .note("taken as at most 0.75"),
        );
    }
    claims.push(
        Claim::new("figure 6", "Cubic, MELD-ME: mean RTT over plain's", "above")
            .measured(&above, above[0].above(1.0)),
    );
    for (control, cells) in CONTROLS.into_iter().zip(&kept) {
        let what = format!("{}, MELD-ME: mean RTT{}, ms", named(control), runs(extent));
        claims.push(
            Claim::new("our goal", what, "(<= 82.5)")
                .measured(cells, cells[0].at_most(1.5 * BASE))
                .if_not(
                    "slow start overshoots before there is a loss to decide on, and what is found lost in a \
                     queue below Q_th after that is silent",
                ),
        );
    }
    Part {
        claims,
        text: String::new(),
        figures: vec![over_time(results)],
    }
}

/// Figures 5 and 6: the RTT over time, one run of each.
fn over_time(results: &Results) -> Figure {
    let panels = CONTROLS.map(|control| {
        let traces = VARIANTS.map(|variant| {
            let runs = results.runs(&download("quic", control, variant));
            let series = runs.first().and_then(|run| {
                let mut all = run.series.iter();
                all.find(|s| s.entity == "download" && s.metric == Metric::Rtt)
            });
            let points = series.map_or(&[][..], |s| &s.points);
            Trace {
                name: variant.to_owned(),
                points: points
                    .iter()
                    .map(|(at, ms)| (at.since_start().as_secs_f64(), *ms))
                    .collect(),
            }
        });
        Panel {
            title: named(control).to_owned(),
            x: Axis::linear("time (s)"),
            y: Axis::linear("RTT (ms)"),
            shape: Shape::Lines(traces.to_vec()),
        }
    });
    Figure {
        name: "fig5",
        title: "Round-trip time over a download by QUIC, one run each".to_owned(),
        columns: 2,
        panels: panels.to_vec(),
    }
}
