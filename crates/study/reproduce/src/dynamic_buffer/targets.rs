//! What `default` has to reach, of which the paper has nothing.

use super::variants::{BDP, DEFAULT, USP_BDP, Variant};
use super::{ENDS, Setup, Sharing, intervals, measures, tables};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::measure::goodput;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, RunResult};

/// As emulated.
pub(super) const EMULATED: Section = Section {
    id: "targets",
    title: "Our targets for `default`",
    experiments: |extent| {
        Setup::all()
            .flat_map(|s| s.grid(intervals(extent)))
            .collect()
    },
    report: emulated,
};

/// With a pull each millisecond, as radios have it.
pub(super) const MILLISECOND: Section = Section {
    id: "targets-1ms",
    title: "The same with a pull each millisecond, ten times the rate",
    experiments: |extent| match extent.quick {
        true => Vec::new(),
        false => quick_pulls().map(|(_, e)| e).collect(),
    },
    report: millisecond,
};

/// Repeats with ticks of 1 ms, which take ten times as long.
const REPEATS: u32 = 2;

/// Why the bulk flow's wait does not shrink with the tick.
const WHY_BULK: &str = "what the bulk flow may keep waiting is a time (`cell.queues.allowance`, 15 ms), \
    whatever the tick";

/// Bounds of `default`, over all conditions.
struct Bounds {
    ticks: &'static str,
    mean: (f64, &'static str),
    p99: (f64, &'static str),
    bulk: (f64, &'static str),
}

const BY_TEN: Bounds = Bounds {
    ticks: "ticks of 10 ms",
    mean: (6.0, "(<= 5 + 1)"),
    p99: (12.0, "(<= 10 + 2)"),
    bulk: (50.0, "(< 50)"),
};

const BY_ONE: Bounds = Bounds {
    ticks: "ticks of 1 ms",
    mean: (0.6, "(<= 0.5 + 0.1)"),
    p99: (1.2, "(<= 1 + 0.2)"),
    bulk: (5.0, "(< 5)"),
};

impl Bounds {
    /// The claims on what was measured under every condition; `rate` is the bulk flow's goodput over
    /// that beside the best of the paper's variants.
    fn claims(
        &self,
        sharing: Sharing,
        each: impl Fn(fn(&RunResult) -> Option<f64>) -> Vec<Estimate>,
        rate: Option<Cell>,
    ) -> Vec<Claim> {
        let span = |measure| Cell::span(each(measure));
        let [mean, p99, used, bulk, lost] = [
            span(measures::delay),
            span(measures::p99),
            span(measures::used),
            span(measures::bulk),
            span(measures::lost),
        ];
        let what = |what: &str| format!("`default`, {}, {}: {what}", sharing.words(), self.ticks);
        let claim = |name, bound, cell: &Cell, verdict| {
            Claim::new("our target", what(name), bound)
                .measured(std::slice::from_ref(cell), verdict)
        };
        let mut claims = vec![
            claim(
                "mean delay, ms",
                self.mean.1,
                &mean,
                mean.at_most(self.mean.0),
            ),
            claim(
                "99th percentile, ms",
                self.p99.1,
                &p99,
                p99.at_most(self.p99.0),
            ),
            claim("utilisation", "(>= 0.999)", &used, used.at_least(0.999)).decimals(4),
            claim(
                "the bulk flow's own mean delay, ms",
                self.bulk.1,
                &bulk,
                bulk.below(self.bulk.0),
            )
            .if_not(WHY_BULK)
            .decimals(2),
            claim(
                "lost packets of the game, %",
                "(0)",
                &lost,
                lost.at_most(0.0),
            ),
        ];
        claims.extend(rate.map(|rate| {
            let name = "the bulk flow's goodput over that beside the paper's best";
            claim(name, "(>= 0.99)", &rate, rate.at_least(0.99)).decimals(3)
        }));
        claims
    }
}

/// The variant of the paper's that delays the least.
const fn best(sharing: Sharing) -> Variant {
    match sharing {
        Sharing::Individual => BDP,
        Sharing::Shared => USP_BDP,
    }
}

fn setups(sharing: Sharing) -> impl Iterator<Item = Setup> {
    Setup::all().filter(move |setup| setup.sharing == sharing)
}

fn emulated(extent: &Extent, results: &Results) -> Part {
    let intervals = intervals(extent);
    let claims = Sharing::BOTH.into_iter().flat_map(|sharing| {
        let each = |measure: fn(&RunResult) -> Option<f64>| {
            setups(sharing)
                .flat_map(|setup| setup.each(results, intervals, &DEFAULT, measure))
                .collect()
        };
        let rates = setups(sharing).flat_map(|setup| {
            let pair = [&DEFAULT, &best(sharing)];
            setup.ratios(results, intervals, pair, goodput("bulk"))
        });
        BY_TEN.claims(sharing, each, Some(Cell::span(rates)))
    });
    Part {
        claims: claims.collect(),
        ..Part::default()
    }
}

/// The setups with ticks of 1 ms.
fn quick_pulls() -> impl Iterator<Item = ((Setup, u32), Experiment)> {
    let of = |setup: Setup| {
        ENDS.iter()
            .map(move |ms| ((setup, *ms), at_one(setup, *ms)))
    };
    Setup::all().flat_map(of)
}

fn at_one(setup: Setup, interval: u32) -> Experiment {
    setup
        .at(&DEFAULT, interval)
        .set("tick", "1 ms")
        .at_most(REPEATS)
}

fn millisecond(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let claims = Sharing::BOTH.into_iter().flat_map(|sharing| {
        let each = |measure: fn(&RunResult) -> Option<f64>| {
            quick_pulls()
                .filter(|((setup, _), _)| setup.sharing == sharing)
                .map(|(_, experiment)| results.mean(&experiment, measure))
                .collect()
        };
        BY_ONE.claims(sharing, each, None)
    });
    let rows = quick_pulls().map(|((setup, ms), experiment)| {
        let cells = [setup.sharing.words(), setup.drive.name()].map(str::to_owned);
        (
            cells.into_iter().chain([format!("{ms} ms")]).collect(),
            experiment,
        )
    });
    Part {
        claims: claims.collect(),
        text: tables::of(results, &["flows have", "trace", "interval"], rows),
        ..Part::default()
    }
}
