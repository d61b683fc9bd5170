//! Fast eMBB downloads (4.2, figure 4): Cubic and BBR, 200 MB each, at round-trip times of 1 to
//! 10 ms.

use super::{Mode, Sweep, at_rtt, default_only, each_mode, grid, none_only, rtts, tables};
use crate::claim::{Cell, Claim, Verdict};
use crate::figure::{Axis, Figure, Panel, Shape};
use crate::measure::{self, completion, goodput, increase};
use crate::results::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Metric, RunResult};

const SCENARIO: &str = "rapid/fast-embb-los";
const FLOWS: [&str; 2] = ["cubic", "bbr"];

/// In line of sight: figure 4 a, b, e, f.
pub(super) const LOS: Section = Section {
    id: "fig4-los",
    title: "Fast eMBB downloads, line of sight (figure 4): 200 MB each over 852.6 Mbit/s",
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
        figures: vec![figure(&sweep, "fig4-los", ["a", "b", "e", "f"])],
    }
}

fn claims(sweep: &Sweep<'_>) -> Vec<Claim> {
    let mut claims = delay(sweep);
    claims.extend(shares(sweep));
    claims
}

/// By how many per cent the round-trip time of a flow is above its base.
fn percent(name: &str, base: f64) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| increase(name, base)(run).map(|ms| 100.0 * ms / base)
}

fn delay(sweep: &Sweep<'_>) -> Vec<Claim> {
    let factor = |mode| sweep.times(Mode::None, mode, |rtt| increase("cubic", rtt));
    let times = factor(Mode::Default);
    let verdict = Verdict::of(times.least() >= 10.0).or_better(times.most() > 50.0);
    let mut claims = vec![Claim {
        place: "abstract",
        what: "LOS: RTT increase of Cubic, none's over ours".to_owned(),
        paper: "10 to 50",
        ours: vec![Cell::Empty, factor(Mode::Paper), times],
        verdict,
        reason: "`paper`: see below".to_owned(),
    }];
    for (name, own) in FLOWS
        .into_iter()
        .zip(["RTT increase of Cubic", "RTT increase of BBR"])
    {
        let ours = each_mode(|mode| sweep.span(mode, |rtt| percent(name, rtt)));
        let holds = ours[0].least() >= 100.0;
        claims.push(Claim {
            place: "figure 4e, f",
            what: format!("LOS: {own}, %"),
            paper: "100 to 5000 -> negligible",
            verdict: Verdict::of(holds && 10.0 * ours[2].most() <= ours[0].most()),
            reason: match holds {
                true => "negligible is taken as a tenth".to_owned(),
                false => "its mean counts the time after Cubic's end, when it is alone".to_owned(),
            },
            ours,
        });
    }
    claims
}

/// Goodput of a flow until the other's end, Mbit/s: while they compete.
fn while_both_run(name: &str, other: &str, run: &RunResult) -> Option<f64> {
    let end = completion(other)(run)?.min(completion(name)(run)?);
    measure::mean_until(run, name, Metric::Goodput, end).map(|bps| bps / 1e6)
}

fn shares(sweep: &Sweep<'_>) -> Vec<Claim> {
    let at_1 = |mode, measure: &dyn Fn(&RunResult) -> Option<f64>| {
        Cell::One(
            sweep
                .results
                .mean(&at_rtt(sweep.scenario, mode, 1), measure),
        )
    };
    let bbr = at_1(Mode::None, &completion("bbr"));
    let last = each_mode(|mode| at_1(mode, &measure::last_completion));
    let jain = each_mode(|mode| sweep.span(mode, |_| measure::jain));
    let alone = sweep.times(Mode::Default, Mode::None, |_| goodput("bbr"));
    let both = sweep.times(Mode::Default, Mode::None, |_| {
        |run: &RunResult| while_both_run("bbr", "cubic", run)
    });
    vec![
        Claim {
            place: "figure 4a",
            what: "LOS, RTT 1 ms, without: completion of BBR's 200 MB, s".to_owned(),
            paper: ">= 8",
            verdict: Verdict::of(bbr.least() >= 8.0),
            ours: none_only(bbr),
            reason:
                "BBR takes the whole link once Cubic is done; the paper's 8 s need a link that \
                     stays half empty for 4 s"
                    .to_owned(),
        },
        Claim {
            place: "figure 4b",
            what: "LOS, RTT 1 ms: completion of both, s".to_owned(),
            paper: "8 -> 4",
            verdict: Verdict::of(last[2].most() <= 4.2),
            ours: last,
            reason: "with the proxy".to_owned(),
        },
        Claim {
            place: "figure 4b",
            what: "LOS: Jain's index of the two goodputs".to_owned(),
            paper: "-> fair",
            verdict: Verdict::of(jain[2].least() >= 0.99),
            ours: jain,
            reason: String::new(),
        },
        Claim {
            place: "figure 4b",
            what: "LOS: BBR's goodput until all is there, `default`'s over none's".to_owned(),
            paper: "2.5 (+150 %)",
            verdict: Verdict::of(alone.most() >= 2.5),
            ours: default_only(alone),
            reason: "without the proxy, BBR makes up for it after Cubic has finished".to_owned(),
        },
        Claim {
            place: "figure 4b",
            what: "LOS: the same while Cubic downloads as well".to_owned(),
            paper: "2.5 (+150 %)",
            verdict: Verdict::of(both.most() >= 2.5).or_better(both.least() > 2.5),
            ours: default_only(both),
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

fn figure(sweep: &Sweep<'_>, name: &'static str, letters: [&str; 4]) -> Figure {
    let panel = |letter: &str, mode: Mode, delay: bool| {
        let series = FLOWS.map(|flow| {
            let values = match delay {
                true => sweep.each(mode, |rtt| percent(flow, rtt)),
                false => sweep.each(mode, |_| goodput(flow)),
            };
            (flow.to_owned(), values)
        });
        let (what, y) = match delay {
            true => ("RTT increase", Axis::logarithmic("RTT increase (%)")),
            false => ("goodput", Axis::linear("goodput (Mbit/s)")),
        };
        let with = if mode == Mode::None {
            "without RAPID"
        } else {
            "with RAPID (default)"
        };
        Panel {
            title: format!("({letter}) {what}, {with}"),
            x: Axis::linear("base RTT (ms)"),
            y,
            shape: Shape::Groups {
                conditions: sweep.rtts.iter().map(u32::to_string).collect(),
                series: series.to_vec(),
            },
        }
    };
    let [a, b, e, f] = letters;
    Figure {
        name,
        title: "Fast eMBB downloads in line of sight: Cubic and BBR, 200 MB each".to_owned(),
        columns: 2,
        panels: vec![
            panel(a, Mode::None, false),
            panel(b, Mode::Default, false),
            panel(e, Mode::None, true),
            panel(f, Mode::Default, true),
        ],
    }
}
