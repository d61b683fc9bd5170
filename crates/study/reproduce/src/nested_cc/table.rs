//! Table 3: the mean download time of each combination, by both schedulers.

use super::combination::Combination;
use super::{SCHEDULERS, average, carried, mean, nested, places, rank};
use crate::claim::{Cell, Claim, Verdict, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

/// Table 3.
pub(super) const SECTION: Section = Section {
    id: "table3",
    title: "Mean download times (table 3)",
    experiments,
    report,
};

/// Least rank correlation with the paper's order that is taken as the same order.
const MIN_CORRELATION: f64 = 0.8;
/// Percentage points within which two download times count as equal.
const EQUAL: f64 = 1.0;

/// A row: the combination, and the paper's numbers for CPF and SRTT, %.
pub(super) struct Row {
    pub(super) combination: Combination,
    pub(super) paper: [f64; 2],
}

const fn row(combination: Combination, cpf: f64, srtt: f64) -> Row {
    Row {
        combination,
        paper: [cpf, srtt],
    }
}

/// The table, in its order.
pub(super) const ROWS: [Row; 11] = [
    row(Combination::new("cubic", "ccid5"), 124.3, 101.6),
    row(Combination::new("cubic", "bbr"), 94.2, 75.7),
    row(Combination::new("cubic", "ccid2"), 92.4, 90.6),
    row(Combination::new("bbr", "newreno"), 87.0, 65.4),
    row(Combination::new("bbr", "ccid2"), 77.5, 66.1),
    row(Combination::new("cubic", "newreno"), 77.8, 67.5),
    row(Combination::new("bbr", "bbr"), 76.2, 65.8),
    row(Combination::new("cubic", "newreno").waiting(), 70.2, 60.0),
    row(Combination::new("bbr", "ccid5"), 67.9, 66.4),
    row(Combination::new("cubic", "bbrv2").waiting(), 65.6, 61.1),
    row(Combination::new("bbr", "bbrv2"), 59.9, 58.9),
];

/// Server's controllers.
pub(super) const SERVERS: [&str; 2] = ["cubic", "bbr"];

fn experiments(extent: &Extent) -> Vec<Experiment> {
    let mut all = Vec::new();
    for place in places(extent) {
        all.extend(SERVERS.map(|server| place.alone(server)));
        for row in &ROWS {
            all.extend(SCHEDULERS.map(|scheduler| nested(row.combination, scheduler, &place)));
        }
    }
    all
}

/// Ours for each row and scheduler, %.
fn measured(extent: &Extent, results: &Results) -> [Vec<Estimate>; 2] {
    let places = places(extent);
    SCHEDULERS.map(|scheduler| {
        let rows = ROWS.iter();
        rows.map(|row| average(results, row.combination, scheduler, &places))
            .collect()
    })
}

fn report(extent: &Extent, results: &Results) -> Part {
    let ours = measured(extent, results);
    let mut claims = vec![order(&ours), better(&ours)];
    claims.extend(SERVERS.map(|server| best(server, &ours)));
    claims.push(dearer(extent, results));
    Part {
        claims,
        text: text(extent, results, &ours),
        figures: Vec::new(),
    }
}

fn order(ours: &[Vec<Estimate>; 2]) -> Claim {
    let cells: Vec<Cell> = ours
        .iter()
        .enumerate()
        .map(|(scheduler, ours)| {
            let paper: Vec<f64> = ROWS.iter().map(|row| row.paper[scheduler]).collect();
            let ours: Vec<f64> = ours.iter().map(|e| e.mean).collect();
            Cell::Exact(rank::correlation(&paper, &ours))
        })
        .collect();
    let holds =
        Cell::Each(cells.iter().flat_map(Cell::estimates).collect()).at_least(MIN_CORRELATION);
    Claim::new(
        "table 3",
        "order of the combinations: Spearman's rank correlation",
        "1",
    )
    .measured(&cells, holds)
    .note(format!("taken as at least {MIN_CORRELATION}"))
    .if_not("see below")
    .decimals(2)
}

fn better(ours: &[Vec<Estimate>; 2]) -> Claim {
    let [cpf, srtt] = ours;
    let above: Vec<Estimate> = cpf
        .iter()
        .zip(srtt)
        .map(|(cpf, srtt)| Estimate {
            mean: srtt.mean - cpf.mean,
            ci95: srtt.ci95.hypot(cpf.ci95),
        })
        .collect();
    let worse: Vec<String> = ROWS
        .iter()
        .zip(&above)
        .filter(|(_, above)| Cell::One(**above).at_most(EQUAL) != Verdict::Holds)
        .map(|(row, _)| row.combination.name())
        .collect();
    let verdict = Cell::Each(above.clone()).at_most(EQUAL);
    let claim = Claim::new(
        "table 3",
        "SRTT's mean download time less CPF's, over the rows, percentage points",
        "below 0 in every row",
    );
    let claim = claim.measured(&[Cell::Empty, Cell::span(above)], verdict);
    match worse.is_empty() {
        true => claim.note(format!("taken as no row more than {EQUAL} above")),
        false => claim.note(format!("not: {}", worse.join(", "))),
    }
}

/// BBRv2 gives the shortest downloads of all tunnel controllers, under one of the server's.
fn best(server: &str, ours: &[Vec<Estimate>; 2]) -> Claim {
    let times = |scheduler: usize| {
        let rows = ROWS.iter().zip(&ours[scheduler]);
        rows.filter(move |(row, _)| row.combination.server == server)
    };
    let of = |scheduler: usize, is_bbr: bool| {
        let mine =
            times(scheduler).filter(|(row, _)| (row.combination.tunnel == "bbrv2") == is_bbr);
        mine.map(|(_, e)| *e).fold(
            Estimate {
                mean: f64::INFINITY,
                ci95: 0.0,
            },
            |a, b| match b.mean < a.mean {
                true => b,
                false => a,
            },
        )
    };
    let cells = [0, 1].map(|s| Cell::Each(vec![of(s, true), of(s, false)]));
    let holds = |[bbrv2, other]: [Cell; 2]| bbrv2.minus(&other).at_most(EQUAL);
    let what = format!(
        "{}: over BBRv2, and over the best of the other tunnel controllers, %",
        super::combination::named(server)
    );
    let paper = match server {
        "cubic" => "CPF 65.6, 70.2; SRTT 61.1, 60.0",
        _ => "CPF 59.9, 67.9; SRTT 58.9, 65.4",
    };
    Claim::new("table 3", what, paper)
        .measured(&cells, holds([0, 1].map(|of| cells[0].at(of))))
        .note("the verdict is on CPF: by SRTT the paper's own Cubic is not best over BBRv2")
        .if_not("see below")
}

/// SRTT uses the expensive path more.
fn dearer(extent: &Extent, results: &Results) -> Claim {
    let places = places(extent);
    let share = |scheduler: &str| {
        mean(ROWS.iter().flat_map(|row| {
            places
                .iter()
                .map(|place| results.mean(&nested(row.combination, scheduler, place), carried(1)))
        }))
    };
    let [cpf, srtt] = SCHEDULERS.map(share);
    Claim::new(
        "section 5.4",
        "what the expensive path carries, over all rows, %",
        "SRTT more than CPF",
    )
    .measured(
        &[Cell::One(cpf), Cell::One(srtt)],
        Cell::One(srtt).minus(&cpf.into()).above(0.0),
    )
    .if_not("see below")
}

fn text(extent: &Extent, results: &Results, ours: &[Vec<Estimate>; 2]) -> String {
    let places = places(extent);
    let rows = ROWS.iter().enumerate().map(|(i, row)| {
        let dear = |scheduler: &str| {
            let shares = places
                .iter()
                .map(|place| results.mean(&nested(row.combination, scheduler, place), carried(1)));
            with_interval(mean(shares))
        };
        vec![
            row.combination.name(),
            format!("{:.1}", row.paper[0]),
            with_interval(ours[0][i]),
            format!("{:.1}", row.paper[1]),
            with_interval(ours[1][i]),
            dear(SCHEDULERS[0]),
            dear(SCHEDULERS[1]),
        ]
    });
    let heads = [
        "",
        "CPF: paper",
        "CPF: ours",
        "SRTT: paper",
        "SRTT: ours",
        "expensive path, CPF %",
        "SRTT %",
    ];
    format!(
        "Mean over the scenarios of the download time in per cent of that without a tunnel, and what the expensive \
         path carried.\n\n{}",
        markdown::table(&heads, rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_own_table_bears_its_claims_out() {
        let paper = [0, 1].map(|s| {
            let rows = ROWS.iter();
            rows.map(|row| Estimate {
                mean: row.paper[s],
                ci95: 0.0,
            })
            .collect::<Vec<_>>()
        });
        assert_eq!(order(&paper).verdicts.published, Some(Verdict::Holds));
        assert_eq!(better(&paper).verdicts.published, Some(Verdict::Holds));
        for server in SERVERS {
            assert_eq!(
                best(server, &paper).verdicts.published,
                Some(Verdict::Holds)
            );
        }
    }

    #[test]
    fn another_order_does_not_hold_and_names_where() {
        let mut turned = [0, 1].map(|s| {
            let rows = ROWS.iter().rev();
            rows.map(|row| Estimate {
                mean: row.paper[s],
                ci95: 0.0,
            })
            .collect::<Vec<_>>()
        });
        assert_eq!(
            order(&turned).verdicts.published,
            Some(Verdict::DoesNotHold)
        );
        turned[1][0].mean = 200.0;
        let claim = better(&turned);
        assert_eq!(claim.verdicts.published, Some(Verdict::DoesNotHold));
        assert!(
            claim.reason.contains("Cubic over CCID5"),
            "{}",
            claim.reason
        );
        turned[0][3].mean = f64::NAN;
        assert_eq!(
            order(&turned).verdicts.published,
            Some(Verdict::DoesNotHold)
        );
        assert_eq!(
            better(&turned).verdicts.published,
            Some(Verdict::DoesNotHold)
        );
    }
}
