//! What the paper leaves open: beside other flows, and with the bottleneck elsewhere.

use super::measures::delay;
use super::{CONTROLS, MODES, has_modes, judge, named};
use crate::claim::{Cell, Claim, Verdicts, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{flow, goodput, one_way_delay, rtt};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

/// Beside Cubic, BBR, and its like.
pub(super) const COEXISTENCE: Section = Section {
    id: "coexist",
    title: "Beside other flows (left open in sections V-D-3 and VI)",
    experiments: |_| {
        let mut all = Vec::new();
        for place in PLACES {
            for rival in RIVALS {
                all.extend(MODES.map(|mode| pair(place, "cdbe", rival, mode)));
            }
            all.push(pair(place, "bbr", "cubic", "paper"));
        }
        all
    },
    report: coexistence,
};
/// A wire before the radio.
pub(super) const WIRED: Section = Section {
    id: "wired",
    title: "The bottleneck elsewhere: a wire of 10 Mbit/s before the radio",
    experiments: |_| CONTROLS.iter().flat_map(|cc| of_modes(cc)).collect(),
    report: wired,
};

const PLACES: [&str; 2] = ["ran", "wired"];
const RIVALS: [&str; 3] = ["cubic", "bbr", "cdbe"];
/// Repeats of each.
const REPEATS: u32 = 10;

fn pair(place: &str, control: &str, rival: &str, mode: &str) -> Experiment {
    Experiment::of("cdbe/coexist")
        .set("place", place)
        .set("cc", control)
        .set("rival", rival)
        .set("mode", mode)
        .set("sample-interval", "1 s")
        .at_most(REPEATS)
}

/// Share of the first flow in what both deliver, %.
fn share(run: &RunResult) -> Option<f64> {
    let of = |name| flow(run, name).map(|flow| flow.delivered.get() as f64);
    let (first, rival) = (of("cdbe")?, of("rival")?);
    (first + rival > 0.0).then(|| 100.0 * first / (first + rival))
}

fn coexistence(_: &Extent, results: &Results) -> Part {
    let mut claims = Vec::new();
    let mut rows = Vec::new();
    for place in PLACES {
        for rival in RIVALS {
            let of = |mode| results.mean(&pair(place, "cdbe", rival, mode), share);
            let cells = MODES.map(|mode| Cell::One(of(mode)));
            // no claim of the paper's
            let verdicts = Verdicts::ours(cells[1].within(25.0..=75.0));
            claims.push(
                Claim::new(
                    "section V-D",
                    format!(
                        "beside {}, {}: CDBE's share of both, %",
                        named(rival),
                        where_is(place)
                    ),
                    "left open",
                )
                .judged(&cells, verdicts)
                .note("taken as 25 to 75 with `default`"),
            );
        }
        let all = RIVALS
            .iter()
            .flat_map(|rival| MODES.map(|mode| ("cdbe", *rival, mode)));
        for (control, rival, mode) in all.chain([("bbr", "cubic", "paper")]) {
            let experiment = pair(place, control, rival, mode);
            let mean = |measure: &dyn Fn(&RunResult) -> Option<f64>| {
                with_interval(results.mean(&experiment, measure))
            };
            let mode = if has_modes(control) { mode } else { "" };
            rows.push(vec![
                where_is(place).to_owned(),
                named(control).to_owned(),
                mode.to_owned(),
                named(rival).to_owned(),
                mean(&goodput("cdbe")),
                mean(&goodput("rival")),
                mean(&rtt("cdbe")),
                mean(&|run| flow(run, "cdbe").map(|flow| flow.lost as f64)),
                mean(&|run| flow(run, "rival").map(|flow| flow.lost as f64)),
            ]);
        }
    }
    let heads = [
        "bottleneck",
        "cc",
        "mode",
        "rival",
        "goodput Mbit/s",
        "the rival's goodput",
        "RTT ms",
        "lost",
        "the rival's lost",
    ];
    Part {
        claims,
        text: format!(
            "Two downloads of one user, which share its buffer of 125 kB; the wire has one of 155 kB.\n\n{}",
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}

fn where_is(place: &str) -> &'static str {
    match place {
        "ran" => "radio",
        _ => "wire",
    }
}

fn behind_wire(control: &str, mode: &str) -> Experiment {
    Experiment::of("cdbe/wired-bottleneck")
        .set("cc", control)
        .set("mode", mode)
        .set("sample-interval", "1 s")
        .at_most(REPEATS)
}

/// In the modes that an algorithm has.
fn of_modes(control: &str) -> Vec<Experiment> {
    let modes = MODES.iter().take(if has_modes(control) { 2 } else { 1 });
    modes.map(|mode| behind_wire(control, mode)).collect()
}

fn wired(_: &Extent, results: &Results) -> Part {
    let rate =
        MODES.map(|mode| Cell::One(results.mean(&behind_wire("cdbe", mode), goodput("download"))));
    let less = MODES.map(|mode| {
        let [cdbe, cqic] = ["cdbe", "cqic"].map(|cc| match cc {
            "cqic" => behind_wire(cc, "paper"),
            _ => behind_wire(cc, mode),
        });
        Cell::One(results.ratio(&cdbe, &cqic, delay))
    });
    let claims = vec![
        Claim::new(
            "section V-D-3",
            "behind a wire of 10 Mbit/s: CDBE's goodput, Mbit/s",
            "fills it",
        )
        .judged(&rate, judge(&rate, |cell| cell.at_least(9.0)))
        .note("taken as at least 9"),
        Claim::new(
            "section V-D-3",
            "behind the wire: DSDL, CDBE over CQIC",
            "less",
        )
        .judged(&less, judge(&less, |cell| cell.below(1.0))),
    ];
    let rows = CONTROLS.iter().flat_map(|control| {
        let modes = MODES.iter().take(if has_modes(control) { 2 } else { 1 });
        modes.map(|mode| {
            let experiment = behind_wire(control, mode);
            let mean = |measure: &dyn Fn(&RunResult) -> Option<f64>| {
                with_interval(results.mean(&experiment, measure))
            };
            vec![
                named(control).to_owned(),
                if has_modes(control) {
                    (*mode).to_owned()
                } else {
                    String::new()
                },
                mean(&goodput("download")),
                mean(&rtt("download")),
                mean(&delay),
                mean(&one_way_delay("download")),
                mean(&|run| flow(run, "download").map(|flow| flow.lost as f64)),
            ]
        })
    });
    let heads = [
        "cc",
        "mode",
        "goodput Mbit/s",
        "RTT ms",
        "DSDL ms",
        "delay of data ms",
        "lost",
    ];
    Part {
        claims,
        text: markdown::table(&heads, rows),
        ..Part::default()
    }
}
