//! Ours: the scheduler `aware`, and what was lost sent again inside the tunnel.

use super::combination::{Combination, named};
use super::contours::{self, Contour};
use super::regions::{self, Values};
use super::table::SERVERS;
use super::{AWARE, carried, cheap_used, mean, nested, places, relative};
use crate::claim::{Cell, Claim, Verdict, number, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

/// The scenarios of figure 10.
pub(super) const TABLE: Section = Section {
    id: "ours-table",
    title: "Ours: `aware`",
    experiments,
    report: table,
};

/// The whole plane.
pub(super) const CONTOURS: Section = Section {
    id: "ours-contours",
    title: "Ours, wherever the proxy stands",
    experiments: |extent| contours::experiments(extent, &PLANES, &SERVERS),
    report: planes,
};

/// Most of the single path's download time, %: the goal.
const GOAL: f64 = 54.0;
/// Nowhere more than that of one path, %.
const CEILING: f64 = 100.0;
/// The same of every point of the plane, %.
const PLANE_CEILING: f64 = 99.0;
/// What the cheap path carries of its rate while the download lasts, %: the tunnel's and the carrier's
/// headers take about five of a hundred.
const CHEAP: f64 = 92.0;

/// A difference of RTTs beyond which the reordering's limit (100 ms, its margin of 10 ms included) is
/// shorter than what one path is slower, ms.
const LAG: f64 = 180.0;

/// A tunnel of ours.
#[derive(Clone, Copy)]
struct Tunnel {
    control: &'static str,
    /// What is lost is sent again up to this age.
    reliability: Option<&'static str>,
    /// Where the paths differ by more than the reordering waits, packets of the fast one are delayed.
    equalises: bool,
    /// The goals are judged by it; others run once.
    is_goal: bool,
}

const fn over(control: &'static str) -> Tunnel {
    Tunnel {
        control,
        reliability: None,
        equalises: false,
        is_goal: false,
    }
}

const TUNNELS: [Tunnel; 6] = [
    Tunnel {
        reliability: Some("200 ms"),
        equalises: true,
        is_goal: true,
        ..over("ccid2")
    },
    Tunnel {
        reliability: Some("200 ms"),
        ..over("ccid2")
    },
    over("ccid2"),
    over("ccid5"),
    over("bbrv2"),
    over("bbrv3"),
];

impl Tunnel {
    fn name(self) -> String {
        let mut name = named(self.control).to_owned();
        if let Some(age) = self.reliability {
            name += &format!(", repairing up to {age}");
        }
        if self.equalises {
            name += ", equalised beyond 90 ms";
        }
        name
    }

    fn experiment(self, server: &'static str, place: &super::place::Place) -> Experiment {
        let combination = Combination::new(server, self.control);
        let mut experiment = nested(combination, AWARE, place);
        if let Some(age) = self.reliability {
            experiment = experiment.set("reliability", age);
        }
        if self.equalises && place.asymmetry > LAG {
            experiment = experiment
                .set("tunnel.delay-equalisation", "true")
                .set("tunnel.max-wait", "150 ms");
        }
        match self.is_goal {
            true => experiment,
            false => experiment.at_most(1),
        }
    }
}

fn experiments(extent: &Extent) -> Vec<Experiment> {
    let mut all = Vec::new();
    for place in places(extent) {
        for server in SERVERS {
            all.push(place.alone(server));
            all.extend(TUNNELS.map(|tunnel| tunnel.experiment(server, &place)));
        }
    }
    all
}

/// Means over the scenarios.
struct Means {
    time: Estimate,
    worst: Estimate,
    dear: Estimate,
    cheap: Estimate,
}

fn means(extent: &Extent, results: &Results, server: &'static str, tunnel: Tunnel) -> Means {
    let places = places(extent);
    let of = |measure: fn(&scenario::RunResult) -> Option<f64>| {
        mean(
            places
                .iter()
                .map(|place| results.mean(&tunnel.experiment(server, place), measure)),
        )
    };
    let times: Vec<Estimate> = places
        .iter()
        .map(|place| relative(results, &tunnel.experiment(server, place), server, place))
        .collect();
    let worst = times
        .iter()
        .copied()
        .reduce(|a, b| match b.mean > a.mean || b.mean.is_nan() {
            true => b,
            false => a,
        });
    Means {
        time: mean(times),
        worst: worst.unwrap_or(Estimate {
            mean: f64::NAN,
            ci95: f64::NAN,
        }),
        dear: of(|run| carried(1)(run)),
        cheap: of(cheap_used),
    }
}

fn table(extent: &Extent, results: &Results) -> Part {
    let ours = TUNNELS[0];
    let mut claims = Vec::new();
    let column = |estimate| [Cell::Empty, Cell::Empty, Cell::One(estimate)];
    for server in SERVERS {
        let of = means(extent, results, server, ours);
        let name = format!("{} over {}, `aware`", named(server), ours.name());
        let goal = |what: String, paper, value: Estimate, verdict: Verdict| {
            Claim::new("our goal", what, paper)
                .measured(&column(value), verdict)
                .if_not("see below")
        };
        claims.extend([
            goal(
                format!("{name}: mean download time, %"),
                "(<= 54)",
                of.time,
                Cell::One(of.time).at_most(GOAL),
            ),
            goal(
                format!("{name}: longest of a scenario, %"),
                "(<= 100)",
                of.worst,
                Cell::One(of.worst).at_most(CEILING),
            ),
            goal(
                format!("{name}: of what the cheap path can carry, used, %"),
                "(>= 92)",
                of.cheap,
                Cell::One(of.cheap).at_least(CHEAP),
            ),
        ]);
    }
    let mut rows = Vec::new();
    for server in SERVERS {
        for tunnel in TUNNELS {
            let of = means(extent, results, server, tunnel);
            let shown = |estimate: Estimate| match tunnel.is_goal {
                true => with_interval(estimate),
                false => number(estimate.mean),
            };
            rows.push(vec![
                format!("{} over {}", named(server), tunnel.name()),
                shown(of.time),
                shown(of.worst),
                shown(of.dear),
                shown(of.cheap),
            ]);
        }
    }
    let heads = [
        "",
        "download time %",
        "longest of a scenario %",
        "expensive path's part %",
        "cheap path used %",
    ];
    Part {
        claims,
        text: format!(
            "`aware` over different tunnels: means over the scenarios of figure 10. Rows without \
             intervals are of one run each.\n\n{}",
            markdown::table(&heads, rows)
        ),
        figures: Vec::new(),
    }
}

const fn plane(server: &'static str) -> Contour {
    Contour {
        scheduler: AWARE,
        ..Contour::of(Combination::new(server, "ccid2"), 20.0, 500)
    }
}

const PLANES: [Contour; 2] = [plane("cubic"), plane("bbr")];

fn planes(extent: &Extent, results: &Results) -> Part {
    let mut claims = Vec::new();
    let mut panels: Vec<(String, Option<Values>)> = Vec::new();
    for contour in PLANES {
        let (Some(with), Some(alone)) = (
            contour.values(extent, results),
            contour.values_alone(extent, results),
        ) else {
            continue;
        };
        let name = format!("{}, `aware`", contour.combination.name());
        // throughput of equal files: times are in the inverse ratio
        let time = regions::over(&alone, &with);
        let max = time.iter().map(|(_, t)| 100.0 * t);
        let max = max.fold(0.0, |a: f64, b| if b.is_nan() { b } else { a.max(b) });
        claims.push(
            Claim::new(
                "our goal",
                format!("{name}: longest download of all points, %"),
                "(<= 99)",
            )
            .measured(
                &[Cell::Empty, Cell::Empty, Cell::Exact(max)],
                Cell::Exact(max).at_most(PLANE_CEILING),
            )
            .if_not("see below"),
        );
        panels.push((
            format!("{name}: against one path"),
            Some(regions::over(&with, &alone)),
        ));
    }
    let all = panels
        .iter()
        .map(|(title, values)| (title.clone(), values.as_ref()));
    let title = "Ours: throughput against one path without a tunnel, asymmetry 20 ms, buffers of 500 packets";
    let figure = contours::figure("ours", title, all, contours::GAIN, 2);
    Part {
        claims,
        figures: figure.into_iter().collect(),
        ..Part::default()
    }
}
