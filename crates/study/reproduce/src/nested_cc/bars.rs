//! Figure 10: the scenarios one by one, and what the text reads off them.

use super::combination::{Combination, named};
use super::table::{ROWS, SERVERS};
use super::{mean, nested, place::Place, places, relative};
use crate::claim::{Cell, Claim, with_interval};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape};
use crate::markdown;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

/// Figure 10.
pub(super) const SECTION: Section = Section {
    id: "fig10",
    title: "Scenario by scenario (figure 10): CPF",
    experiments,
    report,
};

/// Percentage points within which two download times count as equal.
const EQUAL: f64 = 2.0;

fn experiments(extent: &Extent) -> Vec<Experiment> {
    let mut all = Vec::new();
    for place in places(extent) {
        all.extend(SERVERS.map(|server| place.alone(server)));
        all.extend(
            ROWS.iter()
                .map(|row| nested(row.combination, "cpf", &place)),
        );
    }
    all
}

fn time(results: &Results, combination: Combination, place: &Place) -> Estimate {
    let experiment = nested(combination, "cpf", place);
    relative(results, &experiment, combination.server, place)
}

/// Mean over the scenarios whose name ends so; none if there is none in this reproduction.
fn over(
    results: &Results,
    places: &[Place],
    combination: Combination,
    end: &str,
) -> Option<Estimate> {
    let there: Vec<&Place> = places.iter().filter(|p| p.name.ends_with(end)).collect();
    let times = there.iter().map(|place| time(results, combination, place));
    (!there.is_empty()).then(|| mean(times))
}

/// What the text reports of a scenario beside its opposite.
struct Reading {
    combination: Combination,
    /// What is to be the shorter.
    shorter: &'static str,
    /// What is to be the longer.
    longer: &'static str,
}

const fn reading(
    server: &'static str,
    tunnel: &'static str,
    shorter: &'static str,
    longer: &'static str,
) -> Reading {
    Reading {
        combination: Combination::new(server, tunnel),
        shorter,
        longer,
    }
}

/// Section 5.4, in its order.
const READINGS: [Reading; 14] = [
    reading("bbr", "bbr", "NEAR", "DIST"),
    reading("bbr", "ccid5", "NEAR", "DIST"),
    reading("bbr", "bbr", "BUF1000", "BUF250"),
    reading("bbr", "bbr", "LONG", "LONG CDL1"),
    reading("cubic", "bbr", "NEAR", "DIST"),
    reading("cubic", "ccid5", "NEAR", "DIST"),
    reading("cubic", "bbr", "BUF1000", "BUF250"),
    reading("cubic", "ccid5", "BUF1000", "BUF250"),
    reading("bbr", "newreno", "LONG", "SHORT"),
    reading("bbr", "ccid2", "LONG", "SHORT"),
    reading("bbr", "newreno", "BUF250", "BUF1000"),
    reading("bbr", "ccid2", "BUF250", "BUF1000"),
    reading("cubic", "newreno", "BUF250", "BUF1000"),
    reading("cubic", "ccid2", "BUF1000", "BUF250"),
];

fn report(extent: &Extent, results: &Results) -> Part {
    let places = places(extent);
    let mut claims: Vec<Claim> = READINGS
        .iter()
        .filter_map(|reading| claim(results, &places, reading))
        .collect();
    claims.extend(codel(results, &places));
    claims.extend(no_help(results, &places));
    Part {
        claims,
        text: text(results, &places),
        figures: vec![figure(results, &places)],
    }
}

fn claim(results: &Results, places: &[Place], reading: &Reading) -> Option<Claim> {
    let Reading {
        combination,
        shorter,
        longer,
    } = reading;
    let of = |end| over(results, places, *combination, end);
    let (short, long) = (of(shorter)?, of(longer)?);
    let what = format!(
        "{}: download time {shorter}, {longer}, %",
        combination.name()
    );
    Some(
        Claim::new("figure 10", what, "the first is shorter")
            .measured(
                &[Cell::Each(vec![short, long])],
                Cell::Each(vec![long, short]).falls(),
            )
            .if_not("see below"),
    )
}

/// CoDel's losses hurt Cubic over CCID2, and less where the tunnel repairs them.
fn codel(results: &Results, places: &[Place]) -> Option<Claim> {
    let harm = |tunnel| {
        let combination = Combination::new("cubic", tunnel);
        let with = over(results, places, combination, "CDL1")?;
        let plain = places.iter().filter(|p| {
            places
                .iter()
                .any(|other| other.name == format!("{} CDL1", p.name))
        });
        let without = mean(plain.map(|place| time(results, combination, place)));
        Some(Estimate {
            mean: with.mean - without.mean,
            ci95: with.ci95.hypot(without.ci95),
        })
    };
    let (ccid2, newreno) = (harm("ccid2")?, harm("newreno")?);
    Some(
        Claim::new(
            "figure 10f",
            "what CoDel adds to the download time, Cubic over CCID2 and over NewReno, percentage points",
            "much more over CCID2",
        )
        .measured(
            &[Cell::Each(vec![ccid2, newreno])],
            Cell::One(ccid2).minus(&newreno.into()).above(EQUAL),
        )
        .if_not("see below"),
    )
}

/// A near proxy helps BBR and CCID5 tunnels only.
fn no_help(results: &Results, places: &[Place]) -> Option<Claim> {
    let others = ROWS
        .iter()
        .map(|row| row.combination)
        .filter(|c| !["bbr", "ccid5"].contains(&c.tunnel));
    let gains: Option<Vec<Estimate>> = others
        .map(|combination| {
            let near = over(results, places, combination, "NEAR")?;
            let far = over(results, places, combination, "DIST")?;
            Some(Estimate {
                mean: far.mean - near.mean,
                ci95: far.ci95.hypot(near.ci95),
            })
        })
        .collect();
    let cell = Cell::span(gains?);
    let verdict = cell.at_most(EQUAL);
    Some(
        Claim::new(
            "figure 10",
            "what NEAR saves against DIST over all other tunnels, percentage points",
            "nothing",
        )
        .measured(&[cell], verdict)
        .note(format!("taken as at most {EQUAL}"))
        .if_not("see below"),
    )
}

/// As the figure's axis has a scenario.
fn short(place: &Place) -> String {
    match place.name.split_once(' ') {
        None if place.name.starts_with("ASYM") => match place.name.as_str() {
            "ASYM0" => "A0".to_owned(),
            "ASYM40" => "A1".to_owned(),
            _ => "A2".to_owned(),
        },
        None => place.name.chars().take(1).collect(),
        Some((rtt, what)) => {
            let what = match what {
                "BUF250" => "b",
                "BUF1000" => "B",
                other => &other[..1],
            };
            format!("{}{what}", &rtt[..1])
        }
    }
}

/// Figures 10c to 10f, and BBRv2.
const PANELS: [(&str, [Combination; 2]); 5] = [
    (
        "BBR over ...",
        [
            Combination::new("bbr", "bbr"),
            Combination::new("bbr", "ccid5"),
        ],
    ),
    (
        "Cubic over ...",
        [
            Combination::new("cubic", "bbr"),
            Combination::new("cubic", "ccid5"),
        ],
    ),
    (
        "BBR over ...",
        [
            Combination::new("bbr", "newreno"),
            Combination::new("bbr", "ccid2"),
        ],
    ),
    (
        "Cubic over ...",
        [
            Combination::new("cubic", "newreno"),
            Combination::new("cubic", "ccid2"),
        ],
    ),
    (
        "over BBRv2: BBR, and Cubic (static)",
        [
            Combination::new("bbr", "bbrv2"),
            Combination::new("cubic", "bbrv2").waiting(),
        ],
    ),
];

fn figure(results: &Results, places: &[Place]) -> Figure {
    let panels = PANELS.map(|(title, pair)| Panel {
        title: title.to_owned(),
        x: Axis::linear("scenario"),
        y: Axis::linear("download time (% of one path)"),
        shape: Shape::Groups {
            conditions: places.iter().map(short).collect(),
            series: pair
                .into_iter()
                .map(|combination| {
                    let times = places.iter().map(|place| time(results, combination, place));
                    let name = match combination.tunnel {
                        "bbrv2" => combination.name(),
                        tunnel => named(tunnel).to_owned(),
                    };
                    (name, times.collect())
                })
                .collect(),
        },
    });
    Figure {
        name: "fig10",
        title: "Download time by scenario, CPF".to_owned(),
        columns: 2,
        panels: panels.to_vec(),
    }
}

fn text(results: &Results, places: &[Place]) -> String {
    let names: Vec<String> = ROWS.iter().map(|row| row.combination.name()).collect();
    let heads: Vec<&str> = core::iter::once("")
        .chain(names.iter().map(String::as_str))
        .collect();
    let rows = places.iter().map(|place| {
        let times = ROWS
            .iter()
            .map(|row| with_interval(time(results, row.combination, place)));
        core::iter::once(place.name.clone()).chain(times).collect()
    });
    format!(
        "Download time in per cent of that without a tunnel. In the figure S and L are SHORT and LONG, N and D \
         NEAR and DIST, b and B buffers of 250 and 1000 packets, C is CoDel; A0, A1 and A2 are asymmetries of 0, \
         40 and 200 ms.\n\n{}",
        markdown::table(&heads, rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_distinguishes_all_scenarios() {
        let names: Vec<String> = super::super::place::all().iter().map(short).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(name.len() <= 2 && !names[..i].contains(name), "{name}");
        }
    }
}
