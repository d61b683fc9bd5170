//! The authors' CoDel and USP, as they wrote them, instead of the RFC's and algorithm 3: which claims come to
//! hold with them, and what each of their changes is worth.

use super::individual::{DELAY_TOLERANCE, order, ratio_claim};
use super::shared::{WHY_USP, authors, losses};
use super::variants::{
    BBR, BDP, CODEL, CODEL_BDP, CODEL_DRQL, CODEL_DYNRLC, EMULATOR_CODEL, EMULATOR_CODEL_BDP,
    EMULATOR_CODEL_DRQL, EMULATOR_CODEL_DYNRLC, EMULATOR_USP_BDP, EMULATOR_USP_DRQL,
    EMULATOR_USP_DYNRLC, USP_BDP, USP_DRQL, USP_DYNRLC, VANILLA, Variant,
};
use super::{Drive, Setup, Sharing, intervals, measures, on_recorded, tables};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

pub(super) const CLAIMS: Section = Section {
    id: "emulator",
    title: "With the authors' CoDel and USP",
    experiments: |extent| {
        rows(intervals(extent))
            .into_iter()
            .map(|(_, e)| e)
            .collect()
    },
    report: claims,
};

pub(super) const ABLATION: Section = Section {
    id: "emulator-ablation",
    title: "What each change in the authors' CoDel and USP is worth",
    experiments: |extent| match extent.quick {
        true => Vec::new(),
        false => ablation().into_iter().map(|(_, e)| e).collect(),
    },
    report: |extent, results| match extent.quick {
        true => Part::default(),
        false => Part {
            text: format!(
                "{ABLATION_TEXT}\n\n{}",
                tables::of(results, &["trace", "variant", "changed"], ablation())
            ),
            ..Part::default()
        },
    },
};

const ABLATION_TEXT: &str = "One at a time. CoDel: *1* a drop loses the judged packet and the one behind \
    it; *2* a packet is dropped although no full packet is behind it; *3* the next drop is reckoned from \
    now; *the rest* is when a drop is counted, and what becomes of the state when a drop empties the queue \
    ([line by line](../algorithms/queues.md#the-authors-code)). USP: *amount* is a tenth of what entered the \
    SDAP queue, rounded up; *period* counts forwarding opportunities. Interval 20 ms.";

/// A setup's variants: as their documents have them, beside the authors'.
type Pairs = &'static [[Variant; 2]];

const INDIVIDUAL: Pairs = &[[CODEL, EMULATOR_CODEL]];

const SHARED: Pairs = &[
    [CODEL_DRQL, EMULATOR_CODEL_DRQL],
    [CODEL_DYNRLC, EMULATOR_CODEL_DYNRLC],
    [CODEL_BDP, EMULATOR_CODEL_BDP],
    [USP_DYNRLC, EMULATOR_USP_DYNRLC],
    [USP_DRQL, EMULATOR_USP_DRQL],
    [USP_BDP, EMULATOR_USP_BDP],
];

const fn pairs(sharing: Sharing) -> Pairs {
    match sharing {
        Sharing::Individual => INDIVIDUAL,
        Sharing::Shared => SHARED,
    }
}

/// What distinguishes an experiment from the others, and the experiment.
type Row = (Vec<String>, Experiment);

/// Every pair on both traces, and what their claims are compared with.
fn rows(intervals: &[u32]) -> Vec<Row> {
    let row = |setup: Setup, variant: &Variant, ms: u32| {
        let cells = [setup.sharing.words(), setup.drive.name(), variant.name];
        let mut cells = cells.map(str::to_owned).to_vec();
        cells.push(format!("{ms} ms"));
        (cells, setup.at(variant, ms))
    };
    let of = |setup: Setup| {
        let others: &[Variant] = match setup.sharing {
            Sharing::Individual => &[VANILLA, BBR, BDP],
            Sharing::Shared => &[VANILLA, BBR],
        };
        let variants = others.iter().chain(pairs(setup.sharing).as_flattened());
        variants
            .flat_map(|variant| intervals.iter().map(move |ms| row(setup, variant, *ms)))
            .collect::<Vec<_>>()
    };
    Setup::all().flat_map(of).collect()
}

fn claims(extent: &Extent, results: &Results) -> Part {
    let intervals = intervals(extent);
    let mut claims = individual(results, intervals);
    claims.extend(shared(results, intervals));
    let is_shown = |(cells, _): &Row| !matches!(cells[2].as_str(), "Vanilla" | "BBR" | "5G-BDP");
    let shown = rows(intervals).into_iter().filter(is_shown);
    let heads = ["flows have", "trace", "variant", "interval"];
    Part {
        claims: claims.into_iter().map(|c| on_recorded(extent, c)).collect(),
        text: tables::of(results, &heads, shown),
        ..Part::default()
    }
}

/// Figures 7 and 8, section 6.1.
fn individual(results: &Results, intervals: &[u32]) -> Vec<Claim> {
    let walk = Setup::new(Sharing::Individual, Drive::Pedestrian);
    let trip = Setup::new(Sharing::Individual, Drive::Train);
    let delay = |place, setup: Setup, text, [least, most]: [f64; 2], run| {
        let delay = Cell::span(setup.each(results, intervals, &EMULATOR_CODEL, measures::delay));
        let is_near =
            delay.within(least * (1.0 - DELAY_TOLERANCE)..=most * (1.0 + DELAY_TOLERANCE));
        let trace = setup.drive.name();
        let what = format!("{}, {trace}: mean delay, ms (± 15 %)", EMULATOR_CODEL.name);
        Claim::new(place, what, text).measured(&[delay, run], is_near)
    };
    let run = Cell::Stated("28.5, 27.0");
    vec![
        delay("figure 7", walk, "25.7 to 26.7", [25.66, 26.69], run),
        lost(results, walk, intervals),
        ratio_claim(
            "section 6.1",
            results,
            walk,
            intervals,
            [&EMULATOR_CODEL, &BDP],
            (2.7, "2.7"),
        ),
        delay("figure 8", trip, "about 25", [25.0, 25.0], Cell::Empty),
    ]
}

fn lost(results: &Results, setup: Setup, intervals: &[u32]) -> Claim {
    let lost = Cell::span(setup.each(results, intervals, &EMULATOR_CODEL, measures::lost));
    let is_near = lost.within(2.2 / 1.5..=2.2 * 1.5);
    let what = format!(
        "{}, pedestrian: lost packets of the game, %",
        EMULATOR_CODEL.name
    );
    Claim::new("section 6.1", what, "2.2").measured(&[lost], is_near)
}

/// Figures 10 and 11, section 6.2.
fn shared(results: &Results, intervals: &[u32]) -> Vec<Claim> {
    let walk = Setup::new(Sharing::Shared, Drive::Pedestrian);
    let trip = Setup::new(Sharing::Shared, Drive::Train);
    let times: [(Variant, f64, &'static str); 7] = [
        (VANILLA, 7.3, "7.3"),
        (BBR, 3.1, "3.1"),
        (EMULATOR_CODEL_DYNRLC, 1.9, "1.9"),
        (EMULATOR_CODEL_BDP, 1.5, "1.5"),
        (EMULATOR_CODEL_DRQL, 2.1, "2.1"),
        (EMULATOR_USP_DYNRLC, 1.4, "1.4"),
        (EMULATOR_USP_DRQL, 1.3, "1.3"),
    ];
    let ratio = |(variant, times, text): (Variant, f64, &'static str)| {
        let pair = [&variant, &EMULATOR_USP_BDP];
        ratio_claim("figure 10", results, walk, intervals, pair, (times, text))
    };
    let mut claims = times.map(ratio).to_vec();
    let shares: [(Variant, f64, &'static str); 3] = [
        (EMULATOR_CODEL_DYNRLC, 2.4, "2.4"),
        (EMULATOR_CODEL_BDP, 3.8, "3.8"),
        (EMULATOR_CODEL_DRQL, 2.5, "2.5"),
    ];
    claims.extend(losses(results, intervals, shares));
    let of_the_paper = [
        VANILLA,
        BBR,
        EMULATOR_CODEL_DRQL,
        EMULATOR_CODEL_DYNRLC,
        EMULATOR_CODEL_BDP,
        EMULATOR_USP_DYNRLC,
        EMULATOR_USP_DRQL,
        EMULATOR_USP_BDP,
    ];
    let falls = |place, setup| order(place, results, setup, intervals, &of_the_paper);
    claims.push(falls("figure 10", walk));
    claims.push(authors(results, intervals, &EMULATOR_CODEL_BDP));
    claims.push(authors(results, intervals, &EMULATOR_USP_BDP));
    let train = falls("figure 11", trip);
    let wrong = train.reason.clone();
    claims.push(train.if_not(&format!("{wrong}: {WHY_USP}")));
    claims
}

const INTERVAL: u32 = 20;

/// Each change alone.
fn ablation() -> Vec<Row> {
    let codel = [
        (Sharing::Individual, CODEL, EMULATOR_CODEL),
        (Sharing::Shared, CODEL_DYNRLC, EMULATOR_CODEL_DYNRLC),
        (Sharing::Shared, CODEL_DRQL, EMULATOR_CODEL_DRQL),
        (Sharing::Shared, CODEL_BDP, EMULATOR_CODEL_BDP),
    ];
    let usp = [
        (Drive::Pedestrian, USP_DYNRLC, EMULATOR_USP_DYNRLC),
        (Drive::Pedestrian, USP_DRQL, EMULATOR_USP_DRQL),
        (Drive::Pedestrian, USP_BDP, EMULATOR_USP_BDP),
        (Drive::Train, USP_BDP, EMULATOR_USP_BDP),
    ];
    let codel = codel.into_iter().flat_map(codel_rows);
    codel.chain(usp.into_iter().flat_map(usp_rows)).collect()
}

fn at(sharing: Sharing, variant: &Variant) -> Experiment {
    Setup::new(sharing, Drive::Pedestrian).at(variant, INTERVAL)
}

fn row(drive: Drive, variant: &Variant, label: &str, experiment: Experiment) -> Row {
    let cells = [drive.name(), variant.name, label].map(str::to_owned);
    (cells.to_vec(), experiment)
}

/// Which of the three is changed as the authors have it: losses, test of the mtu, next drop.
const CODEL_CHANGES: [(&str, [bool; 3]); 5] = [
    ("the rest", [false, false, false]),
    ("the rest and 1", [true, false, false]),
    ("the rest and 2", [false, true, false]),
    ("the rest and 3", [false, false, true]),
    ("all", [true, true, true]),
];

fn codel_rows((sharing, rfc, emulator): (Sharing, Variant, Variant)) -> Vec<Row> {
    let keys = match sharing {
        Sharing::Individual => [
            "cell.queues.rlc.codel-emulator-loses-two",
            "cell.queues.rlc.codel-emulator-tests-mtu",
            "cell.queues.rlc.codel-emulator-from-now",
        ],
        Sharing::Shared => [
            "cell.queues.sdap.codel-emulator-loses-two",
            "cell.queues.sdap.codel-emulator-tests-mtu",
            "cell.queues.sdap.codel-emulator-from-now",
        ],
    };
    let mut rows = vec![row(
        Drive::Pedestrian,
        &rfc,
        "nothing (RFC 8289)",
        at(sharing, &rfc),
    )];
    rows.extend(CODEL_CHANGES.map(|(label, [two, no_test, now])| {
        // as they are, so that it is the experiment of the claims
        let is_all = two && no_test && now;
        let base = at(sharing, &emulator);
        let experiment = match is_all {
            true => base,
            false => base
                .set(keys[0], two.to_string())
                .set(keys[1], (!no_test).to_string())
                .set(keys[2], now.to_string()),
        };
        row(Drive::Pedestrian, &rfc, label, experiment)
    }));
    rows
}

fn usp_rows((drive, paper, emulator): (Drive, Variant, Variant)) -> Vec<Row> {
    let at = |variant: &Variant| Setup::new(Sharing::Shared, drive).at(variant, INTERVAL);
    let (amount, period) = (
        "cell.queues.sdap.usp-emulator-amount",
        "cell.queues.sdap.usp-emulator-period",
    );
    let rows = [
        ("nothing (algorithm 3)", at(&paper)),
        ("amount", at(&emulator).set(period, "false")),
        ("period", at(&emulator).set(amount, "false")),
        ("both", at(&emulator)),
    ];
    rows.map(|(label, experiment)| row(drive, &paper, label, experiment))
        .to_vec()
}
