//! Radios that carry much now and nothing then: how much of them is used, at what delay. No experiment of the
//! paper.

use super::{Mode, default_only, in_mode};
use crate::claim::{Cell, Claim, Verdict};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Scale, Shape, Trace};
use crate::markdown;
use crate::measure::{flow, utilisation};
use crate::ran::Results;
use crate::rapid::tables;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

const SCENARIO: &str = "rapid/trace-bursty";
/// Repeats: of a trace that is played as it is, the seed changes the start and the failures of blocks.
const REPEATS: u32 = 3;
/// The base round-trip time, ms.
const BASE: f64 = 50.0;

pub(super) const SECTION: Section = Section {
    id: "bursty",
    title: "Bursty radios",
    experiments: |extent| rows(extent).map(|row| row.experiment()).collect(),
    report,
};

/// What the radio does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Drive {
    name: &'static str,
    /// A recorded trace, by its path.
    recorded: Option<&'static str>,
    /// The goal is that of radios that change slowly.
    is_smooth: bool,
    /// All variants, not those without and with the proxy alone.
    is_frontier: bool,
}

const fn shipped(name: &'static str, is_smooth: bool) -> Drive {
    Drive {
        name,
        recorded: None,
        is_smooth,
        is_frontier: false,
    }
}

static DRIVES: [Drive; 9] = [
    Drive {
        is_frontier: true,
        ..shipped("bursty", false)
    },
    Drive {
        recorded: Some("mahimahi/Verizon-LTE-short.down"),
        is_frontier: true,
        ..shipped("Verizon LTE (recorded)", false)
    },
    Drive {
        recorded: Some("mahimahi/ATT-LTE-driving-2016.down"),
        is_frontier: true,
        ..shipped("AT&T LTE, driving (recorded)", false)
    },
    shipped("pedestrian", false),
    shipped("train", false),
    shipped("mmwave", false),
    shipped("drive-lte", true),
    shipped("drive-nr", true),
    shipped("static", true),
];

/// What keeps the queue short.
#[derive(Clone, Copy, Debug)]
struct Variant {
    name: &'static str,
    mode: Mode,
    settings: &'static [(&'static str, &'static str)],
    /// The line of the figure that it is a point of.
    line: &'static str,
}

const NONE: Variant = Variant {
    name: "Cubic",
    mode: Mode::None,
    settings: &[],
    line: "Cubic",
};
const DEFAULT: Variant = Variant {
    name: "`default`",
    mode: Mode::Default,
    settings: &[],
    line: "default, by utilisation-goal",
};

const fn goal(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Variant {
    Variant {
        name,
        settings,
        ..DEFAULT
    }
}

/// A standing queue that does not follow the radio.
const fn fixed(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Variant {
    Variant {
        name,
        settings,
        line: "default, by fixed targets",
        ..DEFAULT
    }
}

const fn peer(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Variant {
    Variant {
        name,
        settings,
        line: name,
        ..NONE
    }
}

static VARIANTS: [Variant; 15] = [
    NONE,
    peer("BBR", &[("cc", "bbr")]),
    peer(
        "Cubic over CoDel",
        &[("cell.queues.rlc.algorithm", "codel")],
    ),
    peer(
        "Cubic over CoDel and DRQL",
        &[
            ("cell.queues.rlc.algorithm", "drql"),
            ("cell.queues.sdap.algorithm", "codel"),
        ],
    ),
    peer(
        "Cubic over late binding",
        &[("cell.queues.rlc.algorithm", "default")],
    ),
    Variant {
        name: "RAPID as published",
        mode: Mode::Paper,
        settings: &[],
        line: "RAPID as published",
    },
    DEFAULT,
    goal("`default`, goal 0.90", &[("pep.utilisation-goal", "0.9")]),
    goal("`default`, goal 0.95", &[("pep.utilisation-goal", "0.95")]),
    goal("`default`, goal 0.99", &[("pep.utilisation-goal", "0.99")]),
    goal(
        "`default`, goal 0.99, delay 300 ms",
        &[
            ("pep.utilisation-goal", "0.99"),
            ("pep.delay-goal", "300 ms"),
        ],
    ),
    fixed(
        "`default` without `variation`",
        &[("pep.without", "[\"variation\"]")],
    ),
    fixed(
        "the same, target 20 ms",
        &[
            ("pep.without", "[\"variation\"]"),
            ("pep.target-queue", "20 ms"),
        ],
    ),
    fixed(
        "the same, target 50 ms",
        &[
            ("pep.without", "[\"variation\"]"),
            ("pep.target-queue", "50 ms"),
        ],
    ),
    fixed(
        "the same, target 100 ms",
        &[
            ("pep.without", "[\"variation\"]"),
            ("pep.target-queue", "100 ms"),
        ],
    ),
];

/// A line of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    drive: &'static Drive,
    variant: &'static Variant,
}

impl Row {
    fn experiment(&self) -> Experiment {
        at(self.drive, self.variant)
    }
}

fn at(drive: &Drive, variant: &Variant) -> Experiment {
    let mut experiment = in_mode(SCENARIO, variant.mode).at_most(REPEATS);
    for &(key, value) in variant.settings {
        experiment = experiment.set(key, value);
    }
    match drive.recorded {
        Some(recorded) => experiment.on(recorded),
        None => experiment.set("trace", drive.name),
    }
}

/// Those that there are: without the recordings nothing stands for them.
fn drives(extent: &Extent) -> Vec<&'static Drive> {
    let drives = DRIVES.iter();
    drives
        .filter(|drive| extent.is_recorded || drive.recorded.is_none())
        .take(if extent.quick { 1 } else { DRIVES.len() })
        .collect()
}

fn rows(extent: &Extent) -> impl Iterator<Item = Row> {
    let is_quick = extent.quick;
    drives(extent).into_iter().flat_map(move |drive| {
        let variants = VARIANTS.iter().filter(move |variant| {
            let is_main = variant.settings.is_empty() && variant.mode != Mode::Paper;
            is_main || (drive.is_frontier && !is_quick)
        });
        variants.map(move |variant| Row { drive, variant })
    })
}

/// The 95th percentile of the round-trip time over its base, ms.
fn p95_over(run: &RunResult) -> Option<f64> {
    Some(flow(run, "bulk")?.rtt.p95 - BASE)
}

fn report(extent: &Extent, results: &Results) -> Part {
    Part {
        claims: claims(extent, results),
        text: text(extent, results),
        figures: figures(extent, results),
    }
}

fn claims(extent: &Extent, results: &Results) -> Vec<Claim> {
    let drives = drives(extent);
    let used =
        |drive: &'static Drive| results.ratio(&at(drive, &DEFAULT), &at(drive, &NONE), utilisation);
    let delay = |drive: &'static Drive| results.mean(&at(drive, &DEFAULT), p95_over);
    let names = |verdict: &dyn Fn(&'static Drive) -> Verdict| {
        let of = |found: Verdict, words: &str| {
            let all = drives.iter().filter(|drive| verdict(drive) == found);
            let names: Vec<_> = all.map(|drive| drive.name).collect();
            (!names.is_empty()).then(|| format!("{words} {}", names.join(", ")))
        };
        let both = [
            of(Verdict::DoesNotHold, "not on"),
            of(Verdict::Undecided, "undecided on"),
        ];
        both.into_iter().flatten().collect::<Vec<_>>().join("; ")
    };
    let rate_on = |drive: &'static Drive| Cell::One(used(drive)).at_least(0.97);
    let delay_on = |drive: &'static Drive| Cell::One(delay(drive)).at_most(100.0);
    let on_all = |verdict: &dyn Fn(&'static Drive) -> Verdict| {
        let verdicts = drives.iter().map(|drive| verdict(drive));
        verdicts
            .reduce(Verdict::and)
            .unwrap_or(Verdict::NotMeasured)
    };
    let all = drives.iter().copied();
    let rate = Claim::new(
        "our goal",
        "bursty and smooth radios: utilisation over that without a proxy",
        "(>= 0.97)",
    )
    .measured(
        &default_only(Cell::span(all.clone().map(used))),
        on_all(&rate_on),
    )
    .if_not(&names(&rate_on))
    .decimals(3);
    let wait = Claim::new(
        "our goal",
        "the same: p95 of the RTT over the base RTT, ms",
        "(<= 100)",
    )
    .measured(
        &default_only(Cell::span(all.clone().map(delay))),
        on_all(&delay_on),
    )
    .if_not(&names(&delay_on));
    let smooth: Vec<_> = all.filter(|drive| drive.is_smooth).collect();
    let mut claims = vec![rate, wait];
    if !smooth.is_empty() {
        let used = |drive: &&'static Drive| results.mean(&at(drive, &DEFAULT), utilisation);
        let [rate, wait] = [
            Cell::span(smooth.iter().map(used)),
            Cell::span(smooth.iter().map(|drive| delay(drive))),
        ];
        let (is_used, is_short) = (rate.at_least(98.5), wait.at_most(10.0));
        claims.push(
            Claim::new("our goal", "smooth radios: utilisation, %", "(>= 98.5)")
                .measured(&default_only(rate), is_used),
        );
        claims.push(
            Claim::new(
                "our goal",
                "smooth radios: p95 of the RTT over the base RTT, ms",
                "(<= 10)",
            )
            .measured(&default_only(wait), is_short)
            .if_not(
                "by 1 ms, and that by HARQ: without block errors (`ue.phone.channel.bler=0`) it is 4 to 7 ms below the base",
            ),
        );
    }
    claims
}

fn text(extent: &Extent, results: &Results) -> String {
    let head = [
        "radio",
        "",
        "utilisation %",
        "over Cubic's",
        "goodput Mbit/s",
        "RTT p50 ms",
        "p95",
        "p99",
    ];
    let lines = rows(extent).map(|row| {
        let at_row = row.experiment();
        let mean = |measure: &dyn Fn(&RunResult) -> Option<f64>| {
            tables::shown(results.mean(&at_row, measure))
        };
        let relative = results.ratio(&at_row, &at(row.drive, &NONE), utilisation);
        vec![
            row.drive.name.to_owned(),
            row.variant.name.to_owned(),
            mean(&utilisation),
            format!("{:.3}", relative.mean),
            mean(&crate::measure::goodput("bulk")),
            mean(&|run| Some(flow(run, "bulk")?.rtt.p50)),
            mean(&|run| Some(flow(run, "bulk")?.rtt.p95)),
            mean(&|run| Some(flow(run, "bulk")?.rtt.p99)),
        ]
    });
    format!("{PREFACE}\n\n{}", markdown::table(&head, lines))
}

const PREFACE: &str = "One download at a base RTT of 50 ms over 120 s, the first seconds included; the buffer of the base \
    station holds 3 MB. The least RTT measured is 38 to 39 ms. `bursty` is generated, the recordings are those of Mahimahi. A fixed target is `target-queue` \
    without the part `variation`. The figure's axes are those on which Sprout (NSDI 2013), C2TCP (IEEE JSAC 2019) and ABC (NSDI \
    2020) show themselves on recordings of the same kind; their figures are of other parts of these recordings, other base \
    round-trip times and buffers, so that they are no rows of this table. ABC states 1.5 times the throughput of Cubic over CoDel on \
    cellular paths (its abstract); that ratio is in the table's terms the goodput of a row over that of Cubic over CoDel.";

fn figures(extent: &Extent, results: &Results) -> Vec<Figure> {
    if extent.quick {
        return Vec::new();
    }
    let frontier = drives(extent).into_iter().filter(|drive| drive.is_frontier);
    let panels: Vec<_> = frontier.map(|drive| panel(drive, results)).collect();
    vec![Figure {
        name: "bursty",
        title: "Utilisation and delay over bursty radios".to_owned(),
        columns: panels.len(),
        panels,
    }]
}

fn panel(drive: &'static Drive, results: &Results) -> Panel {
    let mut traces: Vec<Trace> = Vec::new();
    for variant in &VARIANTS {
        let at = at(drive, variant);
        let wait = results
            .mean(&at, |run| Some(flow(run, "bulk")?.rtt.p95))
            .mean;
        let point = (wait, results.mean(&at, utilisation).mean);
        match traces.iter_mut().find(|trace| trace.name == variant.line) {
            Some(trace) => trace.points.push(point),
            None => traces.push(Trace {
                name: variant.line.to_owned(),
                points: vec![point],
            }),
        }
    }
    Panel {
        title: drive.name.to_owned(),
        x: Axis::logarithmic("RTT, 95th percentile (ms)"),
        y: Axis {
            label: "utilisation (%)",
            scale: Scale::Close,
        },
        shape: Shape::Dots(traces),
    }
}
