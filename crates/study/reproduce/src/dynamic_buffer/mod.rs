//! Dynamic buffers: Irazabal et al., "Dynamic Buffer Sizing and Pacing as Enablers of 5G Low-Latency
//! Services", IEEE Transactions on Mobile Computing, section 6.

mod emulator;
mod figures;
mod further;
mod individual;
mod many_flows;
mod measures;
mod shared;
mod tables;
mod targets;
mod two_games;
mod variants;

use crate::claim::{Claim, Verdict};
use crate::experiment::Experiment;
use crate::ran::Results;
use crate::section::{Extent, Repeats, System};
use crate::shipped;
use scenario::{Estimate, RunResult, World};
use variants::Variant;

/// The system.
pub(crate) static SYSTEM: System = System {
    name: "dynamic-buffer",
    title: "Dynamic buffers: ours beside the paper",
    columns: &["ours", "authors' code, run by us"],
    files: shipped::DYNAMIC_BUFFER,
    repeats: Repeats {
        full: 3,
        quick: 1,
        lab: 3,
    },
    lab: &[
        "individual-pedestrian",
        "individual-train",
        "shared-pedestrian",
        "shared-train",
    ],
    apart: &["many-flows"],
    worlds: "",
    preface: "A greedy TCP flow (`bulk`) and a game (`gaming`) share a radio that serves packets every 10 \
        ms, as many as a trace states. `default` is [ours](../algorithms/late-binding.md). The delay is the \
        game's, from the entry into the UPF until the MAC forwards: at least 5 ms on average. The authors' \
        code was built and run by us on kernel 6.18, with intervals of 20 and 70 ms. Everything counts \
        packets and the RLC holds 30 of them, as in that code; the paper does not state it. Where a claim is a \
        range over several conditions, each of them was judged.",
    quick: "intervals of 20 and 70 ms, no ticks of 1 ms, none of the tables of other settings",
    sections: &[
        individual::PEDESTRIAN,
        individual::TRAIN,
        figures::OVER_TIME,
        figures::BOXPLOTS,
        shared::PEDESTRIAN,
        shared::TRAIN,
        emulator::CLAIMS,
        emulator::ABLATION,
        two_games::TWO_GAMES,
        targets::EMULATED,
        targets::MILLISECOND,
        further::CAP,
        further::BYTES,
        further::DISCIPLINES,
        further::TICKS,
        further::SETTINGS,
        further::SENDERS,
        many_flows::SECTION,
    ],
    discussion: include_str!("discussion.md"),
};

/// How flows share queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// A queue each in SDAP, one in the RLC: section 6.1.
    Individual,
    /// One in SDAP, one in the RLC: section 6.2.
    Shared,
}

impl Sharing {
    const BOTH: [Self; 2] = [Self::Individual, Self::Shared];

    const fn scenario(self) -> &'static str {
        match self {
            Self::Individual => "dynamic-buffer/individual-sdap",
            Self::Shared => "dynamic-buffer/shared-sdap",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Individual => "SDAP queues of their own",
            Self::Shared => "one SDAP queue",
        }
    }

    /// The paper's variants and ours.
    const fn variants(self) -> &'static [Variant] {
        match self {
            Self::Individual => variants::INDIVIDUAL,
            Self::Shared => variants::SHARED,
        }
    }
}

/// What drives the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drive {
    Pedestrian,
    Train,
}

impl Drive {
    const BOTH: [Self; 2] = [Self::Pedestrian, Self::Train];

    /// As the knob `trace` has it.
    const fn name(self) -> &'static str {
        match self {
            Self::Pedestrian => "pedestrian",
            Self::Train => "train",
        }
    }

    /// In the folder of recorded traces.
    const fn recorded(self) -> &'static str {
        match self {
            Self::Pedestrian => "dynamic-buffer-packets/packets_pedestrian.txt",
            Self::Train => "dynamic-buffer-packets/packets_train.txt",
        }
    }
}

/// Mean intervals of the game's packets, ms (section 5).
const fn intervals(extent: &Extent) -> &'static [u32] {
    match (extent.world, extent.quick) {
        // real time
        (World::Lab, _) => &[20],
        (World::Sim, true) => ENDS,
        (World::Sim, false) => &[20, 40, 60, 70],
    }
}

/// The shortest and the longest.
const ENDS: &[u32] = &[20, 70];

/// A scenario on a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setup {
    sharing: Sharing,
    drive: Drive,
}

impl Setup {
    const fn new(sharing: Sharing, drive: Drive) -> Self {
        Self { sharing, drive }
    }

    /// All four.
    fn all() -> impl Iterator<Item = Self> {
        let sharings = Sharing::BOTH.into_iter();
        sharings.flat_map(|sharing| Drive::BOTH.map(|drive| Self { sharing, drive }))
    }

    /// A variant with packets of the game at these intervals on average, in ms.
    fn at(self, variant: &Variant, interval: u32) -> Experiment {
        variant
            .of(self.base(interval))
            .set("sample-interval", "1 s")
    }

    /// Without a variant, and with the scenario's own time series.
    fn base(self, interval: u32) -> Experiment {
        Experiment::of(self.sharing.scenario())
            .on(self.drive.recorded())
            .set("trace", self.drive.name())
            .set("interval", format!("{interval} ms"))
    }

    /// Every variant at every interval.
    fn grid(self, intervals: &[u32]) -> Vec<Experiment> {
        let variants = self.sharing.variants().iter();
        variants
            .flat_map(|variant| intervals.iter().map(|ms| self.at(variant, *ms)))
            .collect()
    }

    /// What is measured of a variant at each interval.
    fn each(
        self,
        results: &Results,
        intervals: &[u32],
        variant: &Variant,
        measure: impl Fn(&RunResult) -> Option<f64>,
    ) -> Vec<Estimate> {
        let intervals = intervals.iter();
        intervals
            .map(|ms| results.mean(&self.at(variant, *ms), &measure))
            .collect()
    }

    /// How many times as much is measured of a variant as of another, at each interval.
    fn ratios(
        self,
        results: &Results,
        intervals: &[u32],
        [over, under]: [&Variant; 2],
        measure: impl Fn(&RunResult) -> Option<f64>,
    ) -> Vec<Estimate> {
        let intervals = intervals.iter();
        intervals
            .map(|ms| results.ratio(&self.at(over, *ms), &self.at(under, *ms), &measure))
            .collect()
    }
}

/// The mean of estimates, each of them of as many repeats; the interval is that of independent ones.
fn average(estimates: &[Estimate]) -> Estimate {
    let count = estimates.len() as f64;
    let squares: f64 = estimates.iter().map(|e| e.ci95 * e.ci95).sum();
    Estimate {
        mean: estimates.iter().map(|e| e.mean).sum::<f64>() / count,
        ci95: squares.sqrt() / count,
    }
}

/// A claim about the authors' traces: without them nothing was measured of it.
fn on_recorded(extent: &Extent, claim: Claim) -> Claim {
    match extent.is_recorded {
        true => claim,
        false => claim
            .measured(&[], Verdict::NotMeasured)
            .note("needs the authors' traces (`BRIMFUL_TRACES`); these runs are on look-alikes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_has_a_narrower_interval_than_its_parts() {
        let estimates = [1.0, 3.0].map(|mean| Estimate { mean, ci95: 2.0 });
        let Estimate { mean, ci95 } = average(&estimates);
        assert!((mean - 2.0).abs() < 1e-12 && (ci95 - 2f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn claims_about_the_authors_traces_need_them() {
        let claim = Claim::new("figure 7", "delay", "1").measured(&[], Verdict::Holds);
        let mut extent = Extent {
            quick: true,
            repeats: 1,
            seed: 1,
            world: World::Sim,
            is_recorded: true,
        };
        assert_eq!(on_recorded(&extent, claim.clone()), claim);
        extent.is_recorded = false;
        let verdicts = on_recorded(&extent, claim).verdicts;
        assert_eq!(verdicts.published, Some(Verdict::NotMeasured));
    }
}
