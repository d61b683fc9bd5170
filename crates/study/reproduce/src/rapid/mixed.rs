//! Mixed downloads (4.2, figure 5): a Cubic download without end, and a page of 2 MB every second
//! from a BBR server that sends no faster than 16 Mbit/s.
//!
//! *Reading of what is counted.* The paper gives neither a duration nor a time from which on it counts. Both flows
//! are continuous (4.2), and downloads that end within BBR's window of 10 s for its RTTmin are an exception of which
//! it states that (4.3): a run has three of these windows, and its first two seconds, in which the download fills the
//! buffer, are not counted. [`super::mixed_windows`] has what other durations and windows give.

use super::{MIN_INCREASE, Mode, Modes, PAPER_BELOW, Radio, Sweep, at_rtt, rtts, with_or_without};
use crate::claim::{Cause, Cell, Claim};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure};
use crate::measure::{Window, load_time};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

const FLOWS: [&str; 2] = ["bulk", "web"];

/// What is counted of a run.
pub(super) const COUNTED: Window = Window::from(2.0);

/// What the page states of what is counted.
const TEXT: &str = "Claims and figure count from 2 s to the end, 30 s; the paper gives neither, and [other \
    windows](#what-figure-5-counts) give other numbers. The table is of the whole run. Load times are those of the pages \
    that were loaded until its end; a flow that starves loads few. The paper's load times are its goodputs in other \
    words: a page of 16 Mbit takes 16 s at 1 Mbit/s, 3.2 s at 5 and 1.5 s at 11.";

/// In line of sight: figure 5 a, b, e, f.
pub(super) const LOS: Section = Section {
    id: "fig5-los",
    title: "Download and pages of 2 MB a second in line of sight (figure 5)",
    experiments: |extent| experiments(Radio::Los, extent),
    report: |extent, results| report(Radio::Los, extent, results),
};

/// Behind buildings: figure 5 c, d, g, h.
pub(super) const NLOS: Section = Section {
    id: "fig5-nlos",
    title: "Download and pages of 2 MB a second behind buildings (figure 5)",
    experiments: |extent| experiments(Radio::Nlos, extent),
    report: |extent, results| report(Radio::Nlos, extent, results),
};

pub(super) fn scenario(radio: Radio) -> &'static str {
    radio.pick("rapid/mixed-los", "rapid/mixed-nlos")
}

/// Long runs: steps of their series that are no shorter than they need be.
pub(super) fn at(scenario: &'static str, mode: Mode, rtt: u32) -> Experiment {
    at_rtt(scenario, mode, rtt).set("sample-interval", "100 ms")
}

fn experiments(radio: Radio, extent: &Extent) -> Vec<Experiment> {
    let rtts = rtts(extent).iter();
    rtts.flat_map(|rtt| Mode::ALL.map(|mode| at(scenario(radio), mode, *rtt)))
        .collect()
}

/// By how many per cent the round-trip time of a flow is above its base, as counted.
fn percent(name: &str, base: f64) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| Some(100.0 * (COUNTED.rtt(name)(run)? - base) / base)
}

/// By how much it is above it, ms, to divide by.
fn divisible_increase(name: &str, base: f64) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| Some((COUNTED.rtt(name)(run)? - base).max(MIN_INCREASE))
}

/// How many times as long as with the proxy a flow waits without, in each mode.
fn relief(sweep: &Sweep<'_>, flow: &str) -> Modes {
    Modes::of(|mode| match mode {
        Mode::None => Cell::Empty,
        _ => sweep.times(Mode::None, mode, |rtt| divisible_increase(flow, rtt)),
    })
}

fn report(radio: Radio, extent: &Extent, results: &Results) -> Part {
    let sweep = Sweep {
        results,
        scenario: scenario(radio),
        rtts: rtts(extent),
        at,
    };
    let mut claims = slow_flow(radio, &sweep);
    claims.push(bound(radio, &sweep));
    claims.extend(delay(radio, &sweep));
    Part {
        claims,
        text: format!("{TEXT}\n\n{}", sweep.table(&FLOWS)),
        figures: vec![figure(radio, &sweep)],
    }
}

/// What the slow flow gets, and how long its pages take.
fn slow_flow(radio: Radio, sweep: &Sweep<'_>) -> Vec<Claim> {
    let name = radio.name();
    let web = sweep.modes(|_| COUNTED.goodput("web"));
    let least = web.none.least();
    let is_starved = match radio {
        Radio::Los => web.none.below(1.0),
        Radio::Nlos => web.none.within(3.0..=8.0),
    };
    let starves = match radio {
        Radio::Los => {
            "it starves until BBR's RTTmin of the empty buffer expires; the queue is taken for the RTTmin then, and BBR \
             gets more with each of its windows of 10 s (what figure 5 counts)"
        }
        Radio::Nlos if least < 3.0 => "ours starves more",
        Radio::Nlos => "ours starves less",
    };
    let claimed = radio.pick(11.0, 8.0);
    let load = sweep.modes(|_| load_time("web"));
    let loads = load.judge(|cell| match radio {
        Radio::Los => cell
            .at_most(1.5)
            .beyond(cell.at_most(1.2), Cause::Mechanism),
        Radio::Nlos => cell.highest().minus(&load.none.lowest()).below(0.0),
    });
    vec![
        Claim::new(
            radio.pick("figure 5a", "figure 5c"),
            format!("{name}, without: the slow flow of 16 Mbit/s gets, Mbit/s"),
            radio.pick("< 1", "about 5 (taken as 3 to 8)"),
        )
        .measured(&web.without(), is_starved)
        .if_not(starves),
        Claim::new(
            radio.pick("figure 5b", "figure 5d"),
            format!("{name}, with: the same, Mbit/s"),
            radio.pick("11", "8"),
        )
        .judged(
            &web.with(),
            web.judge(|cell| {
                let more = cell.at_least(1.2 * claimed);
                cell.at_least(claimed).beyond(more, Cause::Mechanism)
            }),
        )
        .note("it requests 16"),
        Claim::new(
            radio.pick("figure 5b", "figure 5d"),
            format!("{name}: page load time, s"),
            radio.pick("16 -> 1.5", "3 to 16 -> less"),
        )
        .judged(&load.row(), loads)
        .note("a page is sent over one second"),
    ]
}

/// What we ask of ourselves for the download beside the pages.
fn bound(radio: Radio, sweep: &Sweep<'_>) -> Claim {
    let (what, least) = radio.pick(
        (
            "LOS: the download has, of what pages and headers leave, %",
            "(>= 95)",
        ),
        ("NLOS: goodput of both together, over none's, %", "(>= 90)"),
    );
    let ours = Modes::of(|mode| match (mode, radio) {
        (Mode::None, _) => Cell::Empty,
        (_, Radio::Los) => sweep.span(mode, |_| rest_used),
        (_, Radio::Nlos) => sweep.times(mode, Mode::None, |_| both).scaled(100.0),
    });
    let verdict = ours.default.at_least(radio.pick(95.0, 90.0));
    Claim::new("our bound", what, least).measured(&ours.with(), verdict)
}

/// Share of a segment that is payload: 1440 of it and 52 of TCP, IP and options, and what PDCP, RLC
/// and MAC put before it.
const PAYLOAD: f64 = 0.96;

/// What the download has of what the pages leave of the link, %.
fn rest_used(run: &RunResult) -> Option<f64> {
    let capacity = PAYLOAD * run.link.capacity.as_bps() as f64 / 1e6;
    let rest = capacity - COUNTED.goodput("web")(run)?;
    Some(100.0 * COUNTED.goodput("bulk")(run)? / rest)
}

/// What both have, Mbit/s.
fn both(run: &RunResult) -> Option<f64> {
    Some(COUNTED.goodput("bulk")(run)? + COUNTED.goodput("web")(run)?)
}

fn delay(radio: Radio, sweep: &Sweep<'_>) -> Vec<Claim> {
    let name = radio.name();
    let grown = sweep.modes(|rtt| percent("web", rtt));
    let of_the_paper = grown.none.highest().at_least(8000.0);
    let mut claims = Vec::new();
    if radio == Radio::Los {
        claims.push(
            Claim::new(
                "figure 5e",
                "LOS, without: RTT increase of the slow flow, %",
                "> 8000 in some cases",
            )
            .measured(&grown.without(), of_the_paper)
            .if_not("10 MB of buffer are 94 ms, 9400 % of 1 ms, and are not full all the time"),
        );
    }
    for (flow, shown) in FLOWS.into_iter().zip(["the download", "the slow flow"]) {
        let relief = relief(sweep, flow);
        let place = radio.pick("figure 5f", "figure 5h");
        // what it is without the proxy is stated in line of sight, of the slow flow
        let is_stated = radio == Radio::Los && flow == "web";
        let verdicts = relief.judge(|cell| match is_stated {
            true => {
                let more = cell.highest().above(50.0);
                cell.at_least(10.0)
                    .beyond(more, Cause::Baseline(of_the_paper))
            }
            false => cell.at_least(10.0),
        });
        let what = format!("{name}: RTT increase of {shown}, none's over ours");
        let claim = Claim::new(place, what, "10 to 50").judged(&relief.with(), verdicts);
        let claim = match is_stated {
            true => claim,
            false => {
                claim.note("taken as at least 10: the paper does not state it without the proxy")
            }
        };
        claims.push(claim.if_published_not(PAPER_BELOW));
    }
    claims
}

/// What a row of the figure shows.
#[derive(Clone, Copy)]
struct Shown {
    what: &'static str,
    /// Where the paper has it: in line of sight without and with, then behind buildings.
    letters: [&'static str; 4],
    axis: Axis,
    flows: &'static [&'static str],
    measure: fn(&str, f64, &RunResult) -> Option<f64>,
}

const SHOWN: [Shown; 4] = [
    Shown {
        what: "goodput of the download",
        letters: ["(a) ", "(b) ", "(c) ", "(d) "],
        axis: Axis::linear("goodput (Mbit/s)"),
        flows: &["bulk"],
        measure: |flow, _, run| COUNTED.goodput(flow)(run),
    },
    Shown {
        what: "goodput of the pages",
        letters: ["(a) ", "(b) ", "(c) ", "(d) "],
        axis: Axis::linear("goodput, of 16 (Mbit/s)"),
        flows: &["web"],
        measure: |flow, _, run| COUNTED.goodput(flow)(run),
    },
    Shown {
        what: "RTT increase",
        letters: ["(e) ", "(f) ", "(g) ", "(h) "],
        axis: Axis::logarithmic("RTT increase (%)"),
        flows: &FLOWS,
        measure: |flow, rtt, run| percent(flow, rtt)(run),
    },
    Shown {
        what: "page load time",
        letters: [""; 4],
        axis: Axis::linear("page load time (s)"),
        flows: &["web"],
        measure: |flow, _, run| load_time(flow)(run),
    },
];

fn figure(radio: Radio, sweep: &Sweep<'_>) -> Figure {
    let panel = |shown: Shown, mode: Mode| {
        let measure = shown.measure;
        let series = shown.flows.iter().map(|flow| {
            let values = sweep.each(mode, |rtt| move |run: &RunResult| measure(flow, rtt, run));
            ((*flow).to_owned(), values)
        });
        let letter = shown.letters[radio.pick(0, 2) + usize::from(mode != Mode::None)];
        let title = format!("{letter}{}, {}", shown.what, with_or_without(mode));
        sweep.panel(title, shown.axis, series.collect())
    };
    let rows = SHOWN.into_iter();
    Figure {
        name: radio.pick("fig5-los", "fig5-nlos"),
        title: format!(
            "Download by Cubic and pages by BBR at 16 Mbit/s, {}",
            radio.words()
        ),
        columns: 2,
        panels: rows
            .flat_map(|shown| [Mode::None, Mode::Default].map(|mode| panel(shown, mode)))
            .collect(),
    }
}
