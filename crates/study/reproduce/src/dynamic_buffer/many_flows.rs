//! Fifty mixed flows of one user over the eight bearers that it may have (section 2 has the number of bearers;
//! the paper has no experiment with more than one).

use super::variants::{
    BDP, CODEL, CODEL_BDP, CODEL_DRQL, DEFAULT, DRQL, DYNRLC, USP_BDP, VANILLA, Variant,
};
use crate::claim::{Cell, Claim, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::utilisation;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{FlowResult, RunResult};

const SCENARIO: &str = "dynamic-buffer/many-flows";
/// Repeats of each.
const REPEATS: u32 = 3;

pub(super) const SECTION: Section = Section {
    id: "many-flows",
    title: "Fifty mixed flows over eight bearers",
    experiments: |extent| match extent.quick {
        true => Vec::new(),
        false => rows()
            .map(|(queues, variant)| at(queues, variant))
            .collect(),
    },
    report,
};

/// As the knob `queues` has it, and in words.
const QUEUES: [(&str, &str); 2] = [
    ("individual", "SDAP queues by class"),
    ("shared", "one SDAP queue a bearer"),
];

static VARIANTS: [Variant; 9] = [
    VANILLA, CODEL, DYNRLC, DRQL, BDP, CODEL_DRQL, CODEL_BDP, USP_BDP, DEFAULT,
];

fn rows() -> impl Iterator<Item = (&'static (&'static str, &'static str), &'static Variant)> {
    QUEUES
        .iter()
        .flat_map(|queues| VARIANTS.iter().map(move |variant| (queues, variant)))
}

fn at(queues: &(&'static str, &'static str), variant: &Variant) -> Experiment {
    variant
        .of(Experiment::of(SCENARIO).set("queues", queues.0))
        .at_most(REPEATS)
}

/// The flows of a kind: their names begin so.
fn kind<'a>(run: &'a RunResult, prefix: &'a str) -> impl Iterator<Item = &'a FlowResult> {
    let flows = run.flows.iter();
    flows.filter(move |flow| flow.name.starts_with(prefix))
}

/// The mean over the flows of a kind that have it.
fn mean(
    prefix: &'static str,
    value: fn(&FlowResult) -> Option<f64>,
) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| {
        let values: Vec<f64> = kind(run, prefix).filter_map(value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// The greatest of the flows of a kind that have it.
fn worst(
    prefix: &'static str,
    value: fn(&FlowResult) -> Option<f64>,
) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| kind(run, prefix).filter_map(value).reduce(f64::max)
}

fn delay(flow: &FlowResult) -> Option<f64> {
    (flow.owd.count > 0).then_some(flow.owd.mean)
}

fn delay_p99(flow: &FlowResult) -> Option<f64> {
    (flow.owd.count > 0).then_some(flow.owd.p99)
}

fn load(flow: &FlowResult) -> Option<f64> {
    (flow.load_time.count > 0).then_some(flow.load_time.mean)
}

fn goodput(flow: &FlowResult) -> Option<f64> {
    Some(flow.goodput.as_bps() as f64 / 1e6)
}

/// Packets of a kind that were lost, % of those that were sent.
fn lost(prefix: &'static str) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| {
        let (mut lost, mut came) = (0, 0);
        for flow in kind(run, prefix) {
            (lost, came) = (lost + flow.lost, came + flow.owd.count);
        }
        (lost + came > 0).then(|| 100.0 * lost as f64 / (lost + came) as f64)
    }
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    Part {
        claims: claims(results),
        text: text(results),
        figures: Vec::new(),
    }
}

fn claims(results: &Results) -> Vec<Claim> {
    let ours = |measure: &dyn Fn(&RunResult) -> Option<f64>| {
        Cell::span(
            QUEUES
                .iter()
                .map(|queues| results.mean(&at(queues, &DEFAULT), measure)),
        )
    };
    let waits = ours(&worst("gaming", delay));
    let peaks = ours(&worst("gaming", delay_p99));
    let used = ours(&utilisation);
    // half a tick of 1 ms and 1 ms of the path, one way, are 1.5
    let (is_short, is_tight) = (waits.at_most(3.0), peaks.at_most(5.0));
    let is_used = used.at_least(99.0);
    let row = |cell: Cell| [cell, Cell::Empty];
    vec![
        Claim::new(
            "our target",
            "`default`, fifty flows: mean one-way delay of the game that waits longest, ms",
            "(<= 3)",
        )
        .measured(&row(waits), is_short),
        Claim::new("our target", "the same: 99th percentile, ms", "(<= 5)")
            .measured(&row(peaks), is_tight)
            .if_not(
                "eight bearers take turns, and games, calls and videos that need more than three quarters of a bearer's part leave others \
                 the rest: with 1, 2, 4 and 8 packets a tick all the time it is 17, 9.0, 4.4 and 2.9 ms",
            ),
        Claim::new("our target", "the same: utilisation, %", "(>= 99)")
            .measured(&row(used), is_used),
    ]
}

fn text(results: &Results) -> String {
    let head = [
        "queues",
        "variant",
        "games: delay mean ms",
        "games: p99 of the worst",
        "games: lost %",
        "calls: delay mean ms",
        "calls: p99 of the worst",
        "calls: lost %",
        "pages: load time ms",
        "downloads Mbit/s each",
        "least",
        "utilisation %",
    ];
    let lines = rows().map(|(queues, variant)| {
        let at = at(queues, variant);
        let shown =
            |measure: &dyn Fn(&RunResult) -> Option<f64>| with_interval(results.mean(&at, measure));
        vec![
            queues.1.to_owned(),
            variant.name.to_owned(),
            shown(&mean("gaming", delay)),
            shown(&worst("gaming", delay_p99)),
            shown(&lost("gaming")),
            shown(&mean("voip", delay)),
            shown(&worst("voip", delay_p99)),
            shown(&lost("voip")),
            shown(&mean("web", load)),
            shown(&mean("bulk", goodput)),
            shown(&|run| kind(run, "bulk").filter_map(goodput).reduce(f64::min)),
            shown(&utilisation),
        ]
    });
    format!(
        "Each of eight bearers carries a download (Cubic or BBR), pages of 100 kB, two games, a call and a video at a constant rate; \
         pedestrian at ticks of 1 ms (some 48 Mbit/s), 30 s, {REPEATS} repeats. Delays are one way from end to end (0.5 ms for a packet \
         that waits half a tick and nowhere else, and 1 ms of the path). By class: games and calls before pages, pages before the rest.\n\n{}",
        markdown::table(&head, lines)
    )
}
