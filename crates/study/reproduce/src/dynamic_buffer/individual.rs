//! The first scenario (6.1, figures 5, 7 and 8): an SDAP queue each, one RLC queue.

use super::variants::{BBR, BDP, CODEL, DRQL, DYNRLC, INDIVIDUAL, VANILLA, Variant};
use super::{Drive, Setup, Sharing, average, figures, intervals, measures, on_recorded, tables};
use crate::claim::{Cause, Cell, Claim, Verdict};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

const WALK: Setup = Setup::new(Sharing::Individual, Drive::Pedestrian);
const TRIP: Setup = Setup::new(Sharing::Individual, Drive::Train);

/// Figures 5 and 7.
pub(super) const PEDESTRIAN: Section = Section {
    id: "individual-pedestrian",
    title: "Individual SDAP queues, one RLC queue, pedestrian (figures 5 and 7)",
    experiments: |extent| WALK.grid(intervals(extent)),
    report: pedestrian,
};

/// Figure 8.
pub(super) const TRAIN: Section = Section {
    id: "individual-train",
    title: "Individual SDAP queues, one RLC queue, train (figure 8)",
    experiments: |extent| TRIP.grid(intervals(extent)),
    report: train,
};

/// How far a mean delay may lie outside the paper's range, as a share of its ends.
pub(super) const DELAY_TOLERANCE: f64 = 0.15;
/// How far a utilisation may.
const UTILISATION_TOLERANCE: f64 = 0.01;

/// Why BBR is elsewhere.
pub(super) const WHY_BBR: &str = "BBR differs between versions: the authors' own code gives 59 and 46 ms over the BBR \
    of kernel 6.18; see below";

fn pedestrian(extent: &Extent, results: &Results) -> Part {
    let intervals = intervals(extent);
    let mut claims = Vec::new();
    for variant in INDIVIDUAL {
        claims.extend(beside_the_paper(results, intervals, variant));
    }
    let lost = Cell::span(WALK.each(results, intervals, &CODEL, measures::lost));
    claims.push(
        Claim::new(
            "section 6.1",
            "CoDel, pedestrian: lost packets of the game, %",
            "2.2",
        )
        .measured(
            std::slice::from_ref(&lost),
            lost.within(2.2 / 1.5..=2.2 * 1.5),
        )
        .if_not(super::shared::WHY_CODEL),
    );
    claims.push(order(
        "figure 7",
        results,
        WALK,
        intervals,
        &INDIVIDUAL[..6],
    ));
    claims.extend(ratios(results, intervals));
    claims.push(least_reduction(results, intervals));
    Part {
        claims: claims.into_iter().map(|c| on_recorded(extent, c)).collect(),
        text: tables::grid(results, WALK, intervals, true),
        figures: vec![
            figures::found("fig5", results, WALK, intervals),
            figures::against("fig7", results, WALK, intervals),
        ],
    }
}

/// Delay and utilisation of a variant, of which the paper gives ranges.
fn beside_the_paper(results: &Results, intervals: &[u32], variant: &Variant) -> Vec<Claim> {
    let (Some(paper), Some(authors)) = (variant.paper, variant.authors) else {
        return Vec::new();
    };
    let delay = Cell::span(WALK.each(results, intervals, variant, measures::delay));
    let used = Cell::span(WALK.each(results, intervals, variant, measures::used));
    let (least, most) = (
        paper.delay[0] * (1.0 - DELAY_TOLERANCE),
        paper.delay[1] * (1.0 + DELAY_TOLERANCE),
    );
    let is_near = delay.within(least..=most);
    let is_used = used.within(
        paper.utilisation[0] - UTILISATION_TOLERANCE..=paper.utilisation[1] + UTILISATION_TOLERANCE,
    );
    let why = if *variant == INDIVIDUAL[1] {
        WHY_BBR
    } else {
        ""
    };
    vec![
        Claim::new(
            "figure 7",
            format!("{}, pedestrian: mean delay, ms (± 15 %)", variant.name),
            paper.delay_text,
        )
        .measured(&[delay, Cell::Stated(authors.delay)], is_near)
        .if_not(why),
        Claim::new(
            "figure 7",
            format!("{}, pedestrian: utilisation (± 0.01)", variant.name),
            paper.utilisation_text,
        )
        .measured(&[used, Cell::Stated(authors.utilisation)], is_used)
        .if_not(why)
        .decimals(4),
    ]
}

/// That mean delays, averaged over the intervals, fall from each of these variants to the next.
pub(super) fn order(
    place: &'static str,
    results: &Results,
    setup: Setup,
    intervals: &[u32],
    variants: &[Variant],
) -> Claim {
    let delays: Vec<Estimate> = variants
        .iter()
        .map(|variant| average(&setup.each(results, intervals, variant, measures::delay)))
        .collect();
    let wrong: Vec<String> = variants
        .windows(2)
        .zip(delays.windows(2))
        .filter_map(|(pair, delays)| {
            let words = match Cell::Each(delays.to_vec()).falls() {
                Verdict::DoesNotHold => "is not above",
                Verdict::Undecided => "may not be above",
                _ => return None,
            };
            Some(format!("{} {words} {}", pair[0].name, pair[1].name))
        })
        .collect();
    let delays = Cell::Each(delays);
    let falls = delays.falls();
    let names: Vec<&str> = variants.iter().map(|v| v.name).collect();
    Claim::new(
        place,
        format!(
            "{}, {}: mean delay of {}, ms",
            setup.sharing.words(),
            setup.drive.name(),
            names.join(" > "),
        ),
        "falls in this order",
    )
    .measured(&[delays], falls)
    .if_not(&wrong.join("; "))
}

/// What 5G-BDP is worth beside the others.
fn ratios(results: &Results, intervals: &[u32]) -> Vec<Claim> {
    let rows: [(Variant, f64, &'static str); 5] = [
        (VANILLA, 7.9, "7.9"),
        (BBR, 3.5, "3.5"),
        (CODEL, 2.7, "2.7"),
        (DYNRLC, 1.7, "1.7"),
        (DRQL, 1.7, "1.7"),
    ];
    let claim = |(variant, times, text): (Variant, f64, &'static str)| {
        ratio_claim(
            "section 6.1",
            results,
            WALK,
            intervals,
            [&variant, &BDP],
            (times, text),
        )
    };
    rows.map(claim).to_vec()
}

/// How many times as long the game waits under one variant as under another, on average over the
/// intervals.
pub(super) fn ratio_claim(
    place: &'static str,
    results: &Results,
    setup: Setup,
    intervals: &[u32],
    [over, under]: [&Variant; 2],
    (times, text): (f64, &'static str),
) -> Claim {
    let ratio = average(&setup.ratios(results, intervals, [over, under], measures::delay));
    let ratio = Cell::One(ratio);
    let is_near = ratio.within(times * (1.0 - DELAY_TOLERANCE)..=times * (1.0 + DELAY_TOLERANCE));
    Claim::new(
        place,
        format!("mean delay, {} over {} (± 15 %)", over.name, under.name),
        text,
    )
    .measured(&[ratio], is_near)
    .if_not(super::shared::why(over))
}

fn least_reduction(results: &Results, intervals: &[u32]) -> Claim {
    let ratios = WALK.ratios(results, intervals, [&BDP, &VANILLA], measures::delay);
    let less = Cell::span(ratios.into_iter().map(reduction));
    let verdict = reduced(&less, as_theirs(results, WALK, intervals));
    Claim::new(
        "section 7",
        "5G-BDP, pedestrian: delay less than Vanilla's, %",
        ">= 70",
    )
    .measured(&[less], verdict)
}

/// What the paper has of Vanilla's delay: if ours is so, what is less than it is so by the mechanism.
pub(super) fn as_theirs(results: &Results, setup: Setup, intervals: &[u32]) -> Cause {
    let delay = Cell::span(setup.each(results, intervals, &VANILLA, measures::delay));
    Cause::Baseline(delay.within(75.0 * (1.0 - DELAY_TOLERANCE)..=85.0 * (1.0 + DELAY_TOLERANCE)))
}

/// That a delay is less by what the paper states, %, or by more.
pub(super) fn reduced(less: &Cell, baseline: Cause) -> Verdict {
    less.at_least(70.0).beyond(less.at_least(85.0), baseline)
}

/// By how many per cent less something is that is so many times as much.
pub(super) fn reduction(ratio: Estimate) -> Estimate {
    Estimate {
        mean: 100.0 * (1.0 - ratio.mean),
        ci95: 100.0 * ratio.ci95,
    }
}

fn train(extent: &Extent, results: &Results) -> Part {
    let intervals = intervals(extent);
    let delay = |variant| Cell::span(TRIP.each(results, intervals, variant, measures::delay));
    let (vanilla, codel) = (delay(&VANILLA), delay(&CODEL));
    let used = Cell::span(
        INDIVIDUAL[..6]
            .iter()
            .flat_map(|variant| TRIP.each(results, intervals, variant, measures::used)),
    );
    let near = |cell: &Cell, [least, most]: [f64; 2]| {
        cell.within(least * (1.0 - DELAY_TOLERANCE)..=most * (1.0 + DELAY_TOLERANCE))
    };
    let reduction = Cell::span(
        TRIP.ratios(results, intervals, [&BDP, &VANILLA], measures::delay)
            .into_iter()
            .map(reduction),
    );
    let is_less = reduced(&reduction, as_theirs(results, TRIP, intervals));
    let claims = vec![
        Claim::new(
            "figure 8",
            "Vanilla, train: mean delay, ms (± 15 %)",
            "75 to 85",
        )
        .measured(std::slice::from_ref(&vanilla), near(&vanilla, [75.0, 85.0])),
        Claim::new(
            "figure 8",
            "CoDel, train: mean delay, ms (± 15 %)",
            "about 25",
        )
        .measured(std::slice::from_ref(&codel), near(&codel, [25.0, 25.0]))
        .if_not(super::shared::WHY_CODEL),
        Claim::new(
            "figure 8",
            "all of the paper's, train: utilisation",
            "0.97 to 1.0",
        )
        .measured(std::slice::from_ref(&used), used.at_least(0.97))
        .decimals(4),
        order("figure 8", results, TRIP, intervals, &INDIVIDUAL[..6]),
        Claim::new(
            "section 7",
            "5G-BDP, train: delay less than Vanilla's, %",
            ">= 70",
        )
        .measured(&[reduction], is_less),
    ];
    Part {
        claims: claims.into_iter().map(|c| on_recorded(extent, c)).collect(),
        text: tables::grid(results, TRIP, intervals, false),
        figures: vec![figures::against("fig8", results, TRIP, intervals)],
    }
}
