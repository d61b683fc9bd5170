//! Table II.

use super::measures::{completed, completion, delay, goodput, lost, rtt, throughput};
use super::{CONTROLS, SIZES, both, downloads, has_modes, judge, named};
use crate::claim::{Cause, Cell, Claim, Verdict, Verdicts, with_interval};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape};
use crate::markdown;
use crate::measure::jain;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, RunResult};

/// Table II, with both modes and Cubic.
pub(super) const SECTION: Section = Section {
    id: "table2",
    title: "Five downloads (table II)",
    experiments: |_| {
        rows()
            .into_iter()
            .map(|(_, experiment)| experiment)
            .collect()
    },
    report,
};

/// What table II has, in its order.
const PAPER: [(&str, [[&str; 4]; 2]); 5] = [
    (
        "DS throughput",
        [
            ["22.73", "35.82", "37.01", "32.88"],
            ["37.01", "58.98", "58.88", "56.3"],
        ],
    ),
    (
        "DSDL",
        [
            ["66.45", "127.12", "134.22", "90.17"],
            ["115.87", "153.93", "144.9", "99.91"],
        ],
    ),
    (
        "goodput",
        [
            ["3.14", "5.08", "5.32", "4.69"],
            ["6.47", "7.50", "7.56", "7.26"],
        ],
    ),
    (
        "RTT",
        [
            ["623.5", "1063.0", "1042.5", "739.9"],
            ["770.8", "1174.1", "1036.6", "913.0"],
        ],
    ),
    (
        "Jain",
        [
            ["0.791", "0.816", "0.825", "0.809"],
            ["0.614", "0.636", "0.645", "0.633"],
        ],
    ),
];

type Measure = fn(&RunResult) -> Option<f64>;

/// Every algorithm, size and mode, with its labels.
fn rows() -> Vec<([String; 3], Experiment)> {
    let mut rows = Vec::new();
    for size in SIZES {
        for control in CONTROLS.into_iter().chain(["cubic"]) {
            let modes: &[&str] = match has_modes(control) {
                true => &["paper", "default"],
                false => &[""],
            };
            for mode in modes {
                let labels = [size, named(control), mode].map(str::to_owned);
                rows.push((labels, downloads(control, size, mode)));
            }
        }
    }
    rows
}

/// One algorithm over another, drop by drop, in both modes.
fn over(
    results: &Results,
    [control, base]: [&'static str; 2],
    size: &'static str,
    measure: Measure,
) -> [Cell; 2] {
    both(|mode| ratio(results, [control, base], size, mode, measure))
}

fn ratio(
    results: &Results,
    [control, base]: [&str; 2],
    size: &str,
    mode: &str,
    measure: Measure,
) -> Estimate {
    let [control, base] = [control, base].map(|cc| downloads(cc, size, mode));
    results.ratio(&control, &base, measure)
}

fn report(_: &Extent, results: &Results) -> Part {
    let mut claims = goodputs(results);
    claims.extend(delays(results));
    claims.extend(goals(results));
    Part {
        claims,
        text: text(results),
        figures: vec![bars(results)],
    }
}

fn goodputs(results: &Results) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (size, paper, min) in [("1 MB", "1.49", 1.4), ("10 MB", "1.12", 1.1)] {
        let cells = over(results, ["cdbe", "bbr"], size, goodput);
        claims.push(
            Claim::new("table II", format!("{size}: goodput, CDBE over BBR"), paper)
                .judged(&cells, judge(&cells, |cell| cell.at_least(min)))
                .note(format!("taken as at least {min}"))
                .if_not("see below"),
        );
    }
    for (size, paper) in [("1 MB", "0.92"), ("10 MB", "0.97")] {
        let cells = over(results, ["cdbe", "cqic"], size, goodput);
        claims.push(
            Claim::new(
                "table II",
                format!("{size}: goodput, CDBE over CQIC"),
                paper,
            )
            .judged(&cells, judge(&cells, |cell| cell.below(1.0)))
            .if_not("more here, see below"),
        );
        let cells = over(results, ["cqic-s", "cqic"], size, goodput);
        let paper = if size == "1 MB" { "1.05" } else { "1.01" };
        claims.push(
            Claim::new(
                "table II",
                format!("{size}: goodput, CQIC-S over CQIC"),
                paper,
            )
            .judged(&cells, judge(&cells, |cell| cell.at_least(1.0)))
            .if_not("see below"),
        );
    }
    for (size, paper, min) in [("1 MB", "0.81", 0.81), ("10 MB", "0.63", 0.63)] {
        let cells = both(|mode| results.mean(&downloads("cdbe", size, mode), jain));
        claims.push(
            Claim::new(
                "table II",
                format!("{size}: Jain's index of goodputs, CDBE"),
                paper,
            )
            .judged(
                &cells,
                judge(&cells, |cell| {
                    let easier = Cause::Baseline(Verdict::DoesNotHold);
                    cell.at_least(min).beyond(cell.above(min + 0.05), easier)
                }),
            )
            .note("users that are out of range for a while lower it"),
        );
    }
    claims
}

fn delays(results: &Results) -> Vec<Claim> {
    let below = |place, what: String, paper, pair, size, measure: Measure, bound| {
        let cells = over(results, pair, size, measure);
        Claim::new(place, what, paper)
            .judged(&cells, judge(&cells, |cell| cell.below(bound)))
            .if_not("see below")
    };
    let mut claims = vec![
        below(
            "table II",
            "10 MB: DSDL, CDBE over BBR".to_owned(),
            "0.86",
            ["cdbe", "bbr"],
            "10 MB",
            delay,
            1.0,
        ),
        below(
            "table II",
            "10 MB: DSDL, CDBE over CQIC".to_owned(),
            "0.65",
            ["cdbe", "cqic"],
            "10 MB",
            delay,
            1.0,
        ),
        below(
            "table II",
            "1 MB: DSDL, CDBE over CQIC".to_owned(),
            "0.71",
            ["cdbe", "cqic"],
            "1 MB",
            delay,
            1.0,
        ),
    ];
    for (size, paper) in [("1 MB", "0.98"), ("10 MB", "0.88")] {
        claims.push(below(
            "table II",
            format!("{size}: RTT, CQIC-S over CQIC"),
            paper,
            ["cqic-s", "cqic"],
            size,
            rtt,
            1.0,
        ));
    }
    for (size, paper, cost) in [("1 MB", "1.19", 1.19), ("10 MB", "1.18", 1.18)] {
        let cells = over(results, ["cdbe", "bbr"], size, rtt);
        // a cost of the published, which it has over the same BBR: ours has to have no more of it
        let twice = cells[0].above(2.0 * cost);
        let published = (cells[0].above(1.0)).beyond(twice, Cause::Baseline(Verdict::DoesNotHold));
        let less = cells[1].below(1.0);
        let ours = cells[1]
            .at_most(cost)
            .beyond(less, Cause::Baseline(published));
        claims.push(
            Claim::new("table II", format!("{size}: RTT, CDBE over BBR"), paper)
                .judged(&cells, Verdicts::both(published, ours))
                .note("ours is judged by whether it has no more")
                .if_published_not(
                    "more than twice of it, which is acknowledgements' wait for the uplink, see below; the paper blames the uplink \
                     for it too, which carries its reports in a block more",
                ),
        );
    }
    claims
}

fn goals(results: &Results) -> Vec<Claim> {
    let more = over(results, ["cdbe", "cqic"], "10 MB", goodput);
    let less = over(results, ["cdbe", "bbr"], "10 MB", delay);
    let queue = both(|mode| {
        let [cdbe, bbr] = ["cdbe", "bbr"].map(|cc| downloads(cc, "10 MB", mode));
        results.ratio(&cdbe, &bbr, |run| delay(run).map(|ms| ms - WIRE))
    });
    vec![
        Claim::new("our goal", "10 MB: goodput over CQIC's", "(>= 1)")
            .measured(&more, more[1].at_least(1.0))
            .if_not("see below"),
        Claim::new("our goal", "10 MB: DSDL over BBR's", "(<= 0.7)")
            .measured(&less, less[1].at_most(0.7))
            .if_not("see below"),
        Claim::new(
            "our goal",
            "10 MB: DSDL above the wire's 50 ms, over BBR's",
            "(<= 0.7)",
        )
        .measured(&queue, queue[1].at_most(0.7))
        .if_not("see below"),
    ]
}

/// One-way delay of the wire, ms.
const WIRE: f64 = 50.0;

fn text(results: &Results) -> String {
    let measures: [Measure; 8] = [
        throughput, delay, goodput, rtt, jain, completed, completion, lost,
    ];
    let heads = [
        "size",
        "cc",
        "mode",
        "DS throughput Mbit/s",
        "DSDL ms",
        "goodput Mbit/s",
        "RTT ms",
        "Jain",
        "completed %",
        "their time s",
        "lost",
    ];
    let lines = rows().into_iter().map(|(labels, experiment)| {
        let cells = measures.map(|measure| {
            // what only some drops have is averaged over those
            let runs = results.runs(&experiment).iter();
            let values: Vec<f64> = runs.filter_map(measure).collect();
            with_interval(scenario::estimate(&values))
        });
        labels.into_iter().chain(cells).collect()
    });
    let heads_of_paper = ["size", "paper", "BBR", "CQIC", "CQIC-S", "CDBE"];
    let paper = SIZES.iter().enumerate().flat_map(|(i, size)| {
        PAPER.iter().map(move |(what, values)| {
            let values = values[i].iter().map(|text| (*text).to_owned());
            [(*size).to_owned(), (*what).to_owned()]
                .into_iter()
                .chain(values)
                .collect()
        })
    });
    format!(
        "{}\nThe paper's table II (its RTT read as seconds):\n\n{}",
        markdown::table(&heads, lines),
        markdown::table(&heads_of_paper, paper)
    )
}

/// Goodput and delay of all.
fn bars(results: &Results) -> Figure {
    let measures: [(&'static str, Measure); 2] =
        [("goodput (Mbit/s)", goodput), ("DSDL (ms)", delay)];
    let all = [
        ("BBR", "bbr", "paper"),
        ("CQIC", "cqic", "paper"),
        ("CQIC-S", "cqic-s", "paper"),
        ("CDBE", "cdbe", "paper"),
        ("CDBE default", "cdbe", "default"),
    ];
    let panels = measures.map(|(label, measure)| Panel {
        title: String::new(),
        x: Axis::linear("size"),
        y: Axis::linear(label),
        shape: Shape::Groups {
            conditions: SIZES.map(str::to_owned).to_vec(),
            series: all
                .map(|(name, control, mode)| {
                    let each =
                        SIZES.map(|size| results.mean(&downloads(control, size, mode), measure));
                    (name.to_owned(), each.to_vec())
                })
                .to_vec(),
        },
    });
    Figure {
        name: "table2",
        title: "Goodput and downstream delay of five downloads".to_owned(),
        columns: 2,
        panels: panels.to_vec(),
    }
}
