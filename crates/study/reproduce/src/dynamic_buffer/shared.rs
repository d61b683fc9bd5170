//! The second scenario (6.2, figures 10 and 11): one SDAP queue, one RLC queue.

use super::individual::{as_theirs, order, ratio_claim, reduced, reduction};
use super::variants::{
    BBR, CODEL_BDP, CODEL_DRQL, CODEL_DYNRLC, SHARED, USP_BDP, USP_DRQL, USP_DYNRLC, VANILLA,
    Variant,
};
use super::{Drive, Setup, Sharing, average, figures, intervals, measures, on_recorded, tables};
use crate::claim::{Cell, Claim, Verdict};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

const WALK: Setup = Setup::new(Sharing::Shared, Drive::Pedestrian);
const TRIP: Setup = Setup::new(Sharing::Shared, Drive::Train);

/// Figure 10.
pub(super) const PEDESTRIAN: Section = Section {
    id: "shared-pedestrian",
    title: "One SDAP queue, one RLC queue, pedestrian (figure 10)",
    experiments: |extent| WALK.grid(intervals(extent)),
    report: pedestrian,
};

/// Figure 11.
pub(super) const TRAIN: Section = Section {
    id: "shared-train",
    title: "One SDAP queue, one RLC queue, train (figure 11)",
    experiments: |extent| TRIP.grid(intervals(extent)),
    report: train,
};

/// Those that the paper compares.
fn of_the_paper() -> &'static [Variant] {
    &SHARED[..SHARED.len() - 1]
}

fn pedestrian(extent: &Extent, results: &Results) -> Part {
    let intervals = intervals(extent);
    let rows: [(Variant, f64, &'static str); 7] = [
        (VANILLA, 7.3, "7.3"),
        (BBR, 3.1, "3.1"),
        (CODEL_DYNRLC, 1.9, "1.9"),
        (CODEL_BDP, 1.5, "1.5"),
        (CODEL_DRQL, 2.1, "2.1"),
        (USP_DYNRLC, 1.4, "1.4"),
        (USP_DRQL, 1.3, "1.3"),
    ];
    let ratio = |(variant, times, text): (Variant, f64, &'static str)| {
        let pair = [&variant, &USP_BDP];
        ratio_claim("figure 10", results, WALK, intervals, pair, (times, text))
    };
    let mut claims = rows.map(ratio).to_vec();
    let shares: [(Variant, f64, &'static str); 3] = [
        (CODEL_DYNRLC, 2.4, "2.4"),
        (CODEL_BDP, 3.8, "3.8"),
        (CODEL_DRQL, 2.5, "2.5"),
    ];
    claims.extend(losses(results, intervals, shares));
    claims.push(order("figure 10", results, WALK, intervals, of_the_paper()));
    claims.push(authors(results, intervals, &CODEL_BDP));
    claims.push(authors(results, intervals, &USP_BDP));
    claims.push(least_reduction(results, WALK, intervals));
    Part {
        claims: claims.into_iter().map(|c| on_recorded(extent, c)).collect(),
        text: tables::grid(results, WALK, intervals, false),
        figures: vec![figures::against("fig10", results, WALK, intervals)],
    }
}

/// What CoDel at SDAP drops of the game's packets.
pub(super) fn losses(
    results: &Results,
    intervals: &[u32],
    rows: [(Variant, f64, &'static str); 3],
) -> Vec<Claim> {
    let claim = |(variant, share, text): (Variant, f64, &'static str)| {
        let lost = Cell::One(average(&WALK.each(
            results,
            intervals,
            &variant,
            measures::lost,
        )));
        let is_near = lost.within(share / 1.5..=share * 1.5);
        Claim::new(
            "section 6.2",
            format!(
                "{}: lost packets of the game, % (within a factor of 1.5)",
                variant.name
            ),
            text,
        )
        .measured(&[lost], is_near)
        .if_not(why(&variant))
    };
    rows.map(claim).to_vec()
}

/// Beside the authors' own code, where the paper has no number.
pub(super) fn authors(results: &Results, intervals: &[u32], variant: &Variant) -> Claim {
    let delay = Cell::One(average(&WALK.each(
        results,
        intervals,
        variant,
        measures::delay,
    )));
    let stated = variant.authors.map_or("", |a| a.delay);
    let tolerance = super::individual::DELAY_TOLERANCE;
    let is_near = stated.parse::<f64>().map_or(Verdict::NotMeasured, |ms| {
        delay.within(ms * (1.0 - tolerance)..=ms * (1.0 + tolerance))
    });
    Claim::new(
        "the authors' code",
        format!("{}, pedestrian: mean delay, ms (± 15 %)", variant.name),
        "-",
    )
    .measured(&[delay, Cell::Stated(stated)], is_near)
    .if_not(match variant.name.contains("CoDel") {
        true => "their CoDel is a part of it, the rest was not found: see below",
        false => "",
    })
}

/// Why CoDel is not where the authors have it.
pub(super) const WHY_CODEL: &str = "theirs is not RFC 8289's: see the same claim of the authors' CoDel, and what each change is worth";

/// Why USP is not, on the train, with the authors' code for it.
pub(super) const WHY_USP: &str = "where the radio takes 10 packets and more a pull, their USP detects no saturation: \
    see below";

/// Why a variant is not where the authors have it.
pub(super) fn why(variant: &Variant) -> &'static str {
    match variant.name {
        "BBR" => super::individual::WHY_BBR,
        name if name.starts_with("CoDel@") => WHY_CODEL,
        _ => "",
    }
}

fn least_reduction(results: &Results, setup: Setup, intervals: &[u32]) -> Claim {
    let ratios = setup.ratios(results, intervals, [&USP_BDP, &VANILLA], measures::delay);
    let less = Cell::span(ratios.into_iter().map(reduction));
    let verdict = reduced(&less, as_theirs(results, setup, intervals));
    Claim::new(
        "section 7",
        format!(
            "USP@5G-BDP, {}: delay less than Vanilla's, %",
            setup.drive.name()
        ),
        ">= 70",
    )
    .measured(&[less], verdict)
}

fn train(extent: &Extent, results: &Results) -> Part {
    let intervals = intervals(extent);
    let mean =
        |variant: &Variant| average(&TRIP.each(results, intervals, variant, measures::delay));
    let sorted = |all: [&Variant; 3]| {
        let mut means = all.map(mean);
        means.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        means
    };
    let [codel, ..] = sorted([&CODEL_DYNRLC, &CODEL_DRQL, &CODEL_BDP]);
    let [.., usp] = sorted([&USP_DYNRLC, &USP_DRQL, &USP_BDP]);
    let both = Cell::Each(vec![codel, usp]);
    let is_worse = both.falls();
    let claims = vec![
        Claim::new(
            "figure 11",
            "train: the least mean delay of the three with CoDel at SDAP, the greatest of the three \
             with USP, ms",
            "the first is greater",
        )
        .measured(&[both], is_worse),
        order("figure 11", results, TRIP, intervals, of_the_paper()),
        least_reduction(results, TRIP, intervals),
    ];
    Part {
        claims: claims.into_iter().map(|c| on_recorded(extent, c)).collect(),
        text: tables::grid(results, TRIP, intervals, false),
        figures: vec![figures::against("fig11", results, TRIP, intervals)],
    }
}
