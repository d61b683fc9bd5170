//! Configuration of the allocator.

use rnis::MAX_BEARER;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

/// Which algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The paper's equations, nothing else.
    Paper,
    /// Ours; `docs/algorithms/rapid.md` states what differs and why.
    Default,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Paper, Self::Default];
    /// Their names, in the same order.
    pub const NAMES: &'static [&'static str] = &[Self::ALL[0].name(), Self::ALL[1].name()];

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its name in files and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Default => "default",
        }
    }
}

/// A part of mode `default` that the paper does not have, for experiments that leave one out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The learnt share of IP bytes in transport blocks; without: transport blocks (equation 3).
    Payload,
    /// What slow flows leave is given to the others; without: equal shares.
    Demand,
    /// The turnaround follows the reported queue; without: RTTmin and the needed queue.
    QueueLoop,
    /// The queue loop looks at the low side of the queue; without: at its mean.
    QueueDeviation,
    /// The server's window less what waits in the proxy; without: a fixed window.
    Budget,
    /// A window grows to no more than its server can soon use; without: to its share at once.
    Usable,
    /// The standing store of senders that pause grows; without: it stays at its floor.
    Store,
    /// Unintercepted traffic is left its rate; without: it is not seen.
    Unintercepted,
    /// Of the queue our own part counts, and flows compete with those that leave them no part of the link; without: all of it is
    /// taken for ours.
    OwnQueue,
    /// UEs that send share the unused PRBs; without: each counts on all (equation 2).
    CellSharing,
    /// Old reports are not accepted; without: the last one holds for ever.
    Staleness,
    /// Windows in whole segments whose sum holds, and budgets within what is left of the whole way's; without: each
    /// sender rounds its window down, and no budget is below two segments.
    WholeSegments,
    /// Flows take turns where less than two segments is the part of each; without: none has less than two.
    Turns,
    /// A queue stands that a radio's variation needs for `utilisation-goal`; without: the target queue alone.
    Variation,
    /// Where a link before the radio carries less, the rate is bounded by what is delivered; without: it is the radio's.
    NarrowLink,
}

impl Part {
    /// All, in the order of `docs/algorithms/rapid.md`.
    pub const ALL: [Self; 15] = [
        Self::Payload,
        Self::Demand,
        Self::QueueLoop,
        Self::QueueDeviation,
        Self::Budget,
        Self::Usable,
        Self::Store,
        Self::Unintercepted,
        Self::OwnQueue,
        Self::CellSharing,
        Self::Staleness,
        Self::WholeSegments,
        Self::Turns,
        Self::Variation,
        Self::NarrowLink,
    ];

    /// Its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payload => "payload",
            Self::Demand => "demand",
            Self::QueueLoop => "queue-loop",
            Self::QueueDeviation => "queue-deviation",
            Self::Budget => "budget",
            Self::Usable => "usable",
            Self::Store => "store",
            Self::Unintercepted => "unintercepted",
            Self::OwnQueue => "own-queue",
            Self::CellSharing => "cell-sharing",
            Self::Staleness => "staleness",
            Self::WholeSegments => "whole-segments",
            Self::Turns => "turns",
            Self::Variation => "variation",
            Self::NarrowLink => "narrow-link",
        }
    }

    /// The part of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

/// Another reading of the paper where its text leaves a choice, for experiments with mode `paper`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// A period's RTTmin towards the UE (section 5.3) is the least sample of it; without: its least smoothed RTT. Where
    /// samples are not measured ([`crate::FlowTelemetry::ran_rtt`]) it changes nothing.
    PeriodMinimum,
    /// The average of the arrival rate (eq. 9) goes on from one categorisation period to the next; without: it begins
    /// anew with each.
    AllRates,
    /// A flow that the proxy itself holds back is slow if it arrives below the threshold; without: it is not.
    HeldIsSlow,
}

impl Reading {
    /// All, in the order of `docs/algorithms/rapid.md`.
    pub const ALL: [Self; 3] = [Self::PeriodMinimum, Self::AllRates, Self::HeldIsSlow];

    /// Its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PeriodMinimum => "period-minimum",
            Self::AllRates => "all-rates",
            Self::HeldIsSlow => "held-is-slow",
        }
    }

    /// The reading of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reading| reading.name() == name)
    }
}

/// Configuration of an [`crate::Allocator`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AllocatorConfig {
    /// Which algorithm.
    pub mode: Mode,
    /// A flow is slow if its arrival rate is below this share of the expected one (section 3.4: 0.8).
    pub slow_threshold: f64,
    /// Weight of the old value in the moving average of the arrival rate (eq. 9: 1/8).
    pub arrival_alpha: f64,
    /// Window towards the UE before the first round trip has been measured there (section 5.3).
    pub initial_ran_window: Bytes,
    /// A radio report older than this is not accepted any more.
    pub report_max_age: Duration,
    /// Standing queue that mode `default` aims at in the RLC, as time at the UE's rate.
    pub target_queue: Duration,
    /// Share of what the radio could carry that mode `default` is to use where the radio varies (above 0, below 1): a
    /// queue stands for it.
    pub utilisation_goal: f64,
    /// The most that stands for it, as time at the UE's rate.
    pub delay_goal: Duration,
    /// The data radio bearer that carries the intercepted flows, 1 to 32, whose queue counts in mode `default` where
    /// reports have it; 0: not known, and all of the UE's queue counts.
    #[serde(default)]
    pub bearer: u8,
    /// Parts of mode `default` that are left out (for experiments).
    pub without: Vec<Part>,
    /// Other readings that mode `paper` takes (for experiments).
    #[serde(default)]
    pub readings: Vec<Reading>,
}

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Outside its range.
    #[error("{field} is {value}, expected {expected}")]
    Range {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What was allowed.
        expected: &'static str,
    },
}

impl AllocatorConfig {
    /// The defaults of a mode.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            slow_threshold: 0.8,
            arrival_alpha: 1.0 / 8.0,
            initial_ran_window: Bytes::new(10 * 1448),
            report_max_age: Duration::from_millis(100),
            target_queue: Duration::from_micros(250),
            utilisation_goal: 0.97,
            delay_goal: Duration::from_millis(100),
            bearer: 0,
            without: Vec::new(),
            readings: Vec::new(),
        }
    }

    /// This part of mode `default` is not left out.
    pub(crate) fn has(&self, part: Part) -> bool {
        !self.without.contains(&part)
    }

    /// Mode `paper` takes this reading.
    pub(crate) fn reads(&self, reading: Reading) -> bool {
        self.readings.contains(&reading)
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// Names the first field out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let range = |field, value: f64, ok: bool, expected| {
            if ok {
                Ok(())
            } else {
                Err(ConfigError::Range {
                    field,
                    value,
                    expected,
                })
            }
        };
        let t = self.slow_threshold;
        range(
            "slow-threshold",
            t,
            t > 0.0 && t <= 1.0,
            "above 0, at most 1",
        )?;
        let a = self.arrival_alpha;
        range("arrival-alpha", a, (0.0..1.0).contains(&a), "0 to below 1")?;
        let u = self.utilisation_goal;
        range(
            "utilisation-goal",
            u,
            u > 0.0 && u < 1.0,
            "above 0, below 1",
        )?;
        let w = self.initial_ran_window.get();
        range("initial-ran-window", w as f64, w > 0, "at least 1 B")?;
        let b = self.bearer;
        range("bearer", b.into(), b <= MAX_BEARER, "0 to 32")?;
        let age = self.report_max_age;
        range(
            "report-max-age",
            age.as_secs_f64(),
            !age.is_zero(),
            "more than 0 s",
        )
    }
}
