//! Mixed downloads (4.2, figure 5): a Cubic download without end, and a page of 2 MB every second
//! from a BBR server that sends no faster than 16 Mbit/s.

use super::{Mode, Sweep, at_rtt, each_mode, grid, none_only, rtts, tables};
use crate::claim::{Cell, Claim, Verdict};
use crate::figure::{Axis, Figure, Panel, Shape};
use crate::measure::{goodput, increase, load_time};
use crate::results::Results;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

const SCENARIO: &str = "rapid/mixed-los";
const FLOWS: [&str; 2] = ["bulk", "web"];

/// In line of sight: figure 5 a, b, e, f.
pub(super) const LOS: Section = Section {
    id: "fig5-los",
    title: "Download and pages of 2 MB a second, line of sight (figure 5)",
    experiments: |extent| grid(SCENARIO, rtts(extent)),
    report: los,
};

fn los(extent: &Extent, results: &Results) -> Part {
    let sweep = Sweep {
        results,
        scenario: SCENARIO,
        rtts: rtts(extent),
    };
    Part {
        claims: claims(&sweep),
        text: table(&sweep),
        figures: vec![figure(&sweep, "fig5-los")],
    }
}

fn percent(name: &str, base: f64) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| increase(name, base)(run).map(|ms| 100.0 * ms / base)
}

fn claims(sweep: &Sweep<'_>) -> Vec<Claim> {
    let web = each_mode(|mode| sweep.span(mode, |_| goodput("web")));
    let load = each_mode(|mode| sweep.span(mode, |_| load_time("web")));
    let delay = each_mode(|mode| sweep.span(mode, |rtt| percent("web", rtt)));
    let times = |mode| sweep.times(Mode::None, mode, |rtt| increase("web", rtt));
    let factor = times(Mode::Default);
    vec![
        Claim {
            place: "figure 5a",
            what: "LOS, without: the slow flow of 16 Mbit/s gets, Mbit/s".to_owned(),
            paper: "< 1",
            verdict: Verdict::of(web[0].most() < 1.0),
            ours: none_only(web[0].clone()),
            reason: "ours starves less: it asks for 16 Mbit/s and gets less than half of it"
                .to_owned(),
        },
        Claim {
            place: "figure 5b",
            what: "LOS: the same with the proxy, Mbit/s".to_owned(),
            paper: "< 1 -> 11",
            verdict: Verdict::of(web[2].least() >= 11.0).or_better(web[2].least() >= 15.5),
            ours: web,
            reason: "all that it asks for is 16".to_owned(),
        },
        Claim {
            place: "figure 5b",
            what: "LOS: page load time, s".to_owned(),
            paper: "16 -> 1.5",
            verdict: Verdict::of(load[2].most() <= 1.5).or_better(load[2].most() <= 1.2),
            ours: load,
            reason: "a page is sent over one second".to_owned(),
        },
        Claim {
            place: "figure 5e",
            what: "LOS: RTT increase of the slow flow, %".to_owned(),
            paper: "> 8000 in some cases",
            verdict: Verdict::of(delay[0].most() >= 8000.0),
            ours: delay,
            reason: "the greatest is at 1 ms".to_owned(),
        },
        Claim {
            place: "figure 5f",
            what: "LOS: RTT increase of the slow flow, none's over ours".to_owned(),
            paper: "10 to 50",
            verdict: Verdict::of(factor.least() >= 10.0).or_better(factor.most() > 50.0),
            ours: vec![Cell::Empty, times(Mode::Paper), factor],
            reason: String::new(),
        },
    ]
}

fn table(sweep: &Sweep<'_>) -> String {
    let rows: Vec<tables::Labelled> = sweep
        .rtts
        .iter()
        .flat_map(|rtt| {
            Mode::ALL.map(|mode| {
                (
                    format!("{rtt} ms"),
                    mode,
                    at_rtt(sweep.scenario, mode, *rtt),
                )
            })
        })
        .collect();
    tables::flows(sweep.results, "RTT", &rows, &FLOWS)
}

/// What a row of the figure shows.
#[derive(Clone, Copy)]
struct Shown {
    what: &'static str,
    axis: Axis,
    flows: &'static [&'static str],
    measure: fn(&str, f64, &RunResult) -> Option<f64>,
}

const SHOWN: [Shown; 4] = [
    Shown {
        what: "goodput of the download",
        axis: Axis::linear("goodput (Mbit/s)"),
        flows: &["bulk"],
        measure: |flow, _, run| goodput(flow)(run),
    },
    Shown {
        what: "goodput of the pages",
        axis: Axis::linear("goodput of 16 (Mbit/s)"),
        flows: &["web"],
        measure: |flow, _, run| goodput(flow)(run),
    },
    Shown {
        what: "RTT increase",
        axis: Axis::logarithmic("RTT increase (%)"),
        flows: &FLOWS,
        measure: |flow, rtt, run| percent(flow, rtt)(run),
    },
    Shown {
        what: "page load time",
        axis: Axis::linear("page load time (s)"),
        flows: &["web"],
        measure: |flow, _, run| load_time(flow)(run),
    },
];

fn figure(sweep: &Sweep<'_>, name: &'static str) -> Figure {
    let panel = |shown: Shown, mode: Mode| {
        let series = shown.flows.iter().map(|flow| {
            let measure = shown.measure;
            let values = sweep.each(mode, |rtt| move |run: &RunResult| measure(flow, rtt, run));
            ((*flow).to_owned(), values)
        });
        let with = if mode == Mode::None {
            "without RAPID"
        } else {
            "with RAPID (default)"
        };
        Panel {
            title: format!("{}, {with}", shown.what),
            x: Axis::linear("base RTT (ms)"),
            y: shown.axis,
            shape: Shape::Groups {
                conditions: sweep.rtts.iter().map(u32::to_string).collect(),
                series: series.collect(),
            },
        }
    };
    let rows = SHOWN.into_iter();
    Figure {
        name,
        title: "Download by Cubic and pages by BBR at 16 Mbit/s, line of sight".to_owned(),
        columns: 2,
        panels: rows
            .flat_map(|shown| [Mode::None, Mode::Default].map(|mode| panel(shown, mode)))
            .collect(),
    }
}
