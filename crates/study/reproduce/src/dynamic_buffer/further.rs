//! Beyond the paper: without the emulator's limit, in bytes, other disciplines, real ticks, and what the
//! settings of `default` are worth. The pedestrian's trace, an interval of 20 ms.

use super::variants::{BBR, BDP, CODEL, DEFAULT, DRQL, DYNRLC, USP_BDP, VANILLA, Variant};
use super::{Drive, Setup, Sharing, tables};
use crate::experiment::Experiment;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

/// Repeats of each.
const REPEATS: u32 = 2;
const INTERVAL: u32 = 20;

pub(super) const CAP: Section = Section {
    id: "cap",
    title: "Without the limit of 30 packets",
    experiments: |extent| unless_quick(extent, cap),
    report: |extent, results| {
        let text = "`cap=unlimited`. The authors' code without its limit gave Vanilla 1327 ms.";
        shown(extent, results, text, &["flows have", "variant"], cap)
    },
};

pub(super) const BYTES: Section = Section {
    id: "bytes",
    title: "In bytes, with small packets of the game",
    experiments: |extent| unless_quick(extent, bytes),
    report: |extent, results| {
        let text = "`unit=bytes`, `packet=\"64 B\"`: what the paper's algorithms state, where its code counts \
            packets. The limit of 30 packets is one of 45 kB.";
        shown(extent, results, text, &["flows have", "variant"], bytes)
    },
};

pub(super) const DISCIPLINES: Section = Section {
    id: "disciplines",
    title: "Other disciplines in the RLC, and marks instead of drops",
    experiments: |extent| unless_quick(extent, disciplines),
    report: |extent, results| {
        let text = "The bulk flow's `ecn`; `l4s` is with DCTCP. Their settings are those of their documents, \
            made for links whose packets leave one by one: a pull every 10 ms is itself a sojourn of 5 ms on \
            average.";
        let heads = ["flows have", "RLC", "ECN"];
        shown(extent, results, text, &heads, disciplines)
    },
};

pub(super) const TICKS: Section = Section {
    id: "ticks",
    title: "Ticks of real radios",
    experiments: |extent| unless_quick(extent, ticks),
    report: |extent, results| {
        let text = "10 ms as emulated; 1 ms and 125 us with the same packets a tick, so 10 and 80 times the \
            rate. Times of the algorithms in the paper's own milliseconds stay (CoDel, DynRLC, DRQL). \
            1 ms lasts 50 s, 125 us 20 s, instead of 200 s.";
        shown(
            extent,
            results,
            text,
            &["flows have", "variant", "tick"],
            ticks,
        )
    },
};

pub(super) const SETTINGS: Section = Section {
    id: "settings",
    title: "Settings of `default`",
    experiments: |extent| unless_quick(extent, settings),
    report: |extent, results| {
        let text = "Preparation: how long before its slot a packet must have come (half a slot of 125 us \
            by default). Allowance: what a flow may keep waiting in the UPF (15 ms by default). ECN as \
            above.";
        shown(extent, results, text, &["flows have", "setting"], settings)
    },
};

pub(super) const SENDERS: Section = Section {
    id: "senders",
    title: "Senders further away",
    experiments: |extent| unless_quick(extent, senders),
    report: |extent, results| {
        let text = "`default` with senders at other round-trip times, and other allowances: what a flow may keep \
            waiting must bridge its sender's round trip.";
        let heads = ["flows have", "round trip", "allowance"];
        shown(extent, results, text, &heads, senders)
    },
};

/// What distinguishes an experiment from the others, and the experiment.
type Row = (Vec<String>, Experiment);

fn unless_quick(extent: &Extent, rows: fn() -> Vec<Row>) -> Vec<Experiment> {
    match extent.quick {
        true => Vec::new(),
        false => rows()
            .into_iter()
            .map(|(_, experiment)| experiment)
            .collect(),
    }
}

fn shown(
    extent: &Extent,
    results: &Results,
    text: &str,
    heads: &[&str],
    rows: fn() -> Vec<Row>,
) -> Part {
    if extent.quick {
        return Part::default();
    }
    let table = tables::of(results, heads, rows());
    Part {
        text: format!("{text} Pedestrian, interval 20 ms, {REPEATS} repeats.\n\n{table}"),
        ..Part::default()
    }
}

fn at(sharing: Sharing, variant: &Variant) -> Experiment {
    Setup::new(sharing, Drive::Pedestrian)
        .at(variant, INTERVAL)
        .at_most(REPEATS)
}

fn row(sharing: Sharing, labels: &[&str], experiment: Experiment) -> Row {
    let cells = core::iter::once(sharing.words()).chain(labels.iter().copied());
    (cells.map(str::to_owned).collect(), experiment)
}

/// Every variant of both scenarios, changed.
fn every(change: fn(Experiment) -> Experiment) -> Vec<Row> {
    let of = |sharing: Sharing| {
        let variants = sharing.variants().iter();
        variants.map(move |v| row(sharing, &[v.name], change(at(sharing, v))))
    };
    Sharing::BOTH.into_iter().flat_map(of).collect()
}

fn cap() -> Vec<Row> {
    every(|experiment| experiment.set("cap", "unlimited"))
}

fn bytes() -> Vec<Row> {
    every(|experiment| experiment.set("unit", "bytes").set("packet", "64 B"))
}

fn disciplines() -> Vec<Row> {
    const ROWS: [(&str, &str); 12] = [
        ("red", "off"),
        ("red", "classic"),
        ("codel", "off"),
        ("codel", "classic"),
        ("fq-codel", "off"),
        ("fq-codel", "classic"),
        ("sfq", "off"),
        ("dualpi2", "off"),
        ("dualpi2", "classic"),
        ("dualpi2", "l4s"),
        ("default", "off"),
        ("default", "classic"),
    ];
    let of = |sharing: Sharing| {
        ROWS.map(|(rlc, ecn)| {
            let base = Setup::new(sharing, Drive::Pedestrian).base(INTERVAL);
            let experiment = base
                .set("sample-interval", "1 s")
                .at_most(REPEATS)
                .set("rlc", rlc);
            row(sharing, &[rlc, ecn], with_ecn(experiment, ecn))
        })
    };
    Sharing::BOTH.into_iter().flat_map(of).collect()
}

/// L4S goes with a scalable congestion control.
fn with_ecn(experiment: Experiment, ecn: &str) -> Experiment {
    let marked = experiment.set("ecn", ecn);
    match ecn {
        "l4s" => marked.set("cc", "dctcp"),
        _ => marked,
    }
}

fn ticks() -> Vec<Row> {
    let individual = [VANILLA, BBR, CODEL, DYNRLC, DRQL, BDP, DEFAULT];
    let individual = individual.map(|v| (Sharing::Individual, v));
    let shared = [USP_BDP, DEFAULT].map(|v| (Sharing::Shared, v));
    let all = individual.into_iter().chain(shared);
    all.flat_map(|(sharing, variant)| {
        ["10 ms", "1 ms", "125 us"].map(|tick| {
            let experiment = at(sharing, &variant).set("tick", tick);
            let experiment = match tick {
                "125 us" => experiment.set("duration", "20 s"),
                "1 ms" => experiment.set("duration", "50 s"),
                _ => experiment,
            };
            row(sharing, &[variant.name, tick], experiment)
        })
    })
    .collect()
}

fn settings() -> Vec<Row> {
    const ROWS: [(&str, &str, &str); 10] = [
        ("preparation 0", "cell.queues.preparation", "0 s"),
        (
            "preparation 62.5 us (the default)",
            "cell.queues.preparation",
            "62500 ns",
        ),
        ("preparation 125 us", "cell.queues.preparation", "125 us"),
        ("preparation 1 ms", "cell.queues.preparation", "1 ms"),
        ("allowance 5 ms", "cell.queues.allowance", "5 ms"),
        ("allowance 10 ms", "cell.queues.allowance", "10 ms"),
        (
            "allowance 15 ms (the default)",
            "cell.queues.allowance",
            "15 ms",
        ),
        ("allowance 20 ms", "cell.queues.allowance", "20 ms"),
        ("ECN classic", "ecn", "classic"),
        ("ECN l4s, DCTCP", "ecn", "l4s"),
    ];
    let of = |sharing: Sharing| {
        ROWS.map(|(label, key, value)| {
            let experiment = at(sharing, &DEFAULT);
            let experiment = match key {
                "ecn" => with_ecn(experiment, value),
                _ => experiment.set(key, value),
            };
            row(sharing, &[label], experiment)
        })
    };
    Sharing::BOTH.into_iter().flat_map(of).collect()
}

fn senders() -> Vec<Row> {
    let of = |(sharing, rtt): (Sharing, &'static str)| {
        ["10 ms", "15 ms", "20 ms", "40 ms"].map(|allowance| {
            let experiment = at(sharing, &DEFAULT)
                .set("path.rtt", rtt)
                .set("cell.queues.allowance", allowance);
            row(sharing, &[rtt, allowance], experiment)
        })
    };
    let pairs = Sharing::BOTH
        .into_iter()
        .flat_map(|sharing| ["10 ms", "20 ms", "40 ms"].map(|rtt| (sharing, rtt)));
    pairs.flat_map(of).collect()
}
