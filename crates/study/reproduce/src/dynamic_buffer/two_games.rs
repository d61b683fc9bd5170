//! Two games beside the bulk flow (6.2, last paragraph), of which the paper has no figures: the results "are
//! very similar" to those of one.

use super::variants::{
    BBR, BDP, CODEL, CODEL_BDP, CODEL_DYNRLC, DEFAULT, DRQL, DYNRLC, USP_BDP, USP_DYNRLC, VANILLA,
    Variant,
};
use super::{Drive, Setup, Sharing, measures, on_recorded, tables};
use crate::claim::{Cell, Claim, Verdict, number, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{dropped, sojourn};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, RunResult};

pub(super) const TWO_GAMES: Section = Section {
    id: "two-games",
    title: "Two games beside the bulk flow (section 6.2)",
    experiments: |extent| match extent.quick {
        true => Vec::new(),
        false => all()
            .flat_map(|(sharing, variant, ms)| {
                [two(sharing, variant, ms), one(sharing, variant, ms)]
            })
            .collect(),
    },
    report,
};

/// Repeats of each.
const REPEATS: u32 = 2;
/// Mean intervals of the game that varies, ms; the other's is 50 ms.
const INTERVALS: [u32; 6] = [20, 30, 40, 50, 60, 70];
/// How far the delay may be from that of one game: "very similar".
const TOLERANCE: f64 = 0.15;

/// The game that is there in every experiment, and the second.
const GAMES: [&str; 2] = ["ran/gaming", "ran/gaming-steady"];

const fn variants(sharing: Sharing) -> &'static [Variant] {
    match sharing {
        Sharing::Individual => &[VANILLA, BBR, CODEL, DYNRLC, DRQL, BDP, DEFAULT],
        Sharing::Shared => &[
            VANILLA,
            CODEL_DYNRLC,
            CODEL_BDP,
            USP_DYNRLC,
            USP_BDP,
            DEFAULT,
        ],
    }
}

fn all() -> impl Iterator<Item = (Sharing, &'static Variant, u32)> {
    Sharing::BOTH.into_iter().flat_map(|sharing| {
        variants(sharing)
            .iter()
            .flat_map(move |variant| INTERVALS.map(|ms| (sharing, variant, ms)))
    })
}

fn one(sharing: Sharing, variant: &Variant, interval: u32) -> Experiment {
    Setup::new(sharing, Drive::Pedestrian)
        .at(variant, interval)
        .at_most(REPEATS)
}

fn two(sharing: Sharing, variant: &Variant, interval: u32) -> Experiment {
    let queues = match sharing {
        Sharing::Individual => "individual",
        Sharing::Shared => "shared",
    };
    let base = Experiment::of("dynamic-buffer/two-games")
        .on(Drive::Pedestrian.recorded())
        .set("trace", Drive::Pedestrian.name())
        .set("interval", format!("{interval} ms"))
        .set("queues", queues);
    variant
        .of(base)
        .set("sample-interval", "1 s")
        .at_most(REPEATS)
}

fn delay(game: usize) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| sojourn(run, GAMES[game]).map(|s| s.mean)
}

/// The delay of the game that varies, beside the one that it has alone.
fn ratio(results: &Results, sharing: Sharing, variant: &Variant, interval: u32) -> Estimate {
    let pair = (
        two(sharing, variant, interval),
        one(sharing, variant, interval),
    );
    // the experiments are of two scenarios, so that seeds do not pair them
    let [of_two, of_one] = [&pair.0, &pair.1].map(|e| results.mean(e, measures::delay));
    Estimate {
        mean: of_two.mean / of_one.mean,
        ci95: (of_two.ci95 / of_one.mean).hypot(of_two.mean * of_one.ci95 / of_one.mean.powi(2)),
    }
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let claims = Sharing::BOTH
        .into_iter()
        .map(|sharing| on_recorded(extent, similar(results, sharing)));
    let heads = [
        "flows have",
        "variant",
        "interval",
        "delay mean ms",
        "over that of one game",
        "the other game's delay",
        "utilisation",
        "lost %",
        "the other game's lost %",
    ];
    let rows = all().map(|(sharing, variant, ms)| {
        let experiment = two(sharing, variant, ms);
        let mean = |measure: &dyn Fn(&RunResult) -> Option<f64>| results.mean(&experiment, measure);
        vec![
            sharing.words().to_owned(),
            variant.name.to_owned(),
            format!("{ms} ms"),
            with_interval(mean(&delay(0))),
            with_interval(ratio(results, sharing, variant, ms)),
            with_interval(mean(&delay(1))),
            tables::share(mean(&measures::used)),
            number(mean(&|run| dropped(run, GAMES[0])).mean),
            number(mean(&|run| dropped(run, GAMES[1])).mean),
        ]
    });
    Part {
        claims: claims.collect(),
        text: format!(
            "The paper's case: one game has packets every 50 ms on average, the other's interval varies; it \
             gives no figures. Pedestrian, {REPEATS} repeats.\n\n{}",
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}

fn similar(results: &Results, sharing: Sharing) -> Claim {
    let ratios = all()
        .filter(|(of, ..)| *of == sharing)
        .map(|(_, variant, ms)| (variant, ms, ratio(results, sharing, variant, ms)));
    let ratios: Vec<(&Variant, u32, Estimate)> = ratios.collect();
    let is_similar = |ratio: &Estimate| Cell::One(*ratio).within(1.0 - TOLERANCE..=1.0 + TOLERANCE);
    let mut other: Vec<String> = ratios
        .iter()
        .filter(|(.., ratio)| is_similar(ratio) == Verdict::DoesNotHold)
        .map(|(variant, ms, ratio)| {
            let ratio = with_interval(*ratio);
            format!("{} at {ms} ms is not ({ratio})", variant.name)
        })
        .collect();
    let verdicts: Vec<Verdict> = ratios.iter().map(|(.., ratio)| is_similar(ratio)).collect();
    let undecided = verdicts
        .iter()
        .filter(|v| **v == Verdict::Undecided)
        .count();
    if undecided > 0 {
        let all = verdicts.len();
        other.push(format!(
            "of {all} cases {undecided} are undecided, by {REPEATS} repeats"
        ));
    }
    let verdict = verdicts
        .into_iter()
        .reduce(Verdict::and)
        .unwrap_or(Verdict::NotMeasured);
    let what = format!(
        "two games, {}, pedestrian: mean delay of one over that with one game, all variants (± 15 %)",
        sharing.words()
    );
    let span = Cell::span(ratios.into_iter().map(|(.., ratio)| ratio));
    Claim::new("section 6.2", what, "very similar")
        .measured(&[span], verdict)
        .if_not(&other.join("; "))
        .decimals(2)
}
