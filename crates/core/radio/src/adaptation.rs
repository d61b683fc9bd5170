//! Link adaptation: SINR -> CQI report -> MCS.
//!
//! ```text
//!   SINR   ~~~~~~~~|~~~~~~~~|~~~~~~~~|~~~~      true, decides the BLER
//!          measure 0    period    2 period
//!                  \__delay__\                 report travels and is processed
//!   MCS    [ report 0      ][ report 0 ][ report 1 ...
//! ```
//!
//! The UE measures at multiples of the CQI period and reports the highest CQI at which a transport
//! block fails with at most the target probability (TS 36.213 7.2.3, TS 38.214 5.2.2.1: 0.1; at CQI
//! i, the block is taken to be of the MCS to which the policy maps i). The base station uses a
//! report from `cqi_delay` after its measurement on. Before the first report has arrived it uses the
//! one measured at the beginning: the UE was connected before the run began.
//!
//! With the error-free family there is no BLER to compare. There the CQI is the highest whose
//! efficiency is at most log2(1 + SINR / Gamma), Gamma = -ln(5 BER) / 1.5 with BER 5e-5 (Piro, Baldo,
//! Miozzo: An LTE module for the ns-3 network simulator, 2011; as ns-3's LteAmc).

use crate::bler::{BlerCurves, BlerError, BlerFamily};
use crate::channel::{Channel, ChannelState, Link};
use crate::cqi_policy::{CqiPolicyError, CqiToMcs};
use crate::tables::{CqiTable, cqi_entry};
use rnis::McsTable;
use std::collections::VecDeque;
use units::{Cqi, Decibel, Duration, Instant, Mcs};

/// Bit error rate behind the efficiency thresholds of the error-free family.
const EFFICIENCY_BER: f64 = 5e-5;
/// More reports on the way than these are refused at construction.
const MAX_REPORTS_UNDERWAY: u64 = 10_000;

/// An SINR and how long it lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SinrSample {
    /// SINR per resource element, averaged over the carrier.
    pub sinr: Decibel,
    /// It is the same at every time before this one; later than the time requested.
    pub holds_until: Instant,
}

/// Where SINR comes from.
pub trait SinrSource: Send {
    /// The SINR at a time. Called with non-decreasing times. The answer must follow from the time
    /// alone, not from how often it was requested.
    fn sinr(&mut self, at: Instant) -> SinrSample;
}

/// An SINR that never changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantSinr(pub Decibel);

impl SinrSource for ConstantSinr {
    fn sinr(&mut self, _: Instant) -> SinrSample {
        SinrSample {
            sinr: self.0,
            holds_until: Instant::MAX,
        }
    }
}

/// How MCS follow from SINR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkAdaptationConfig {
    /// CQI to MCS.
    pub policy: CqiToMcs,
    /// MCS table of the cell; CQI are of the matching table.
    pub table: McsTable,
    /// BLER curves.
    pub family: BlerFamily,
    /// From one CQI measurement to the next, above zero.
    pub cqi_period: Duration,
    /// From a measurement to the first slot that uses it.
    pub cqi_delay: Duration,
    /// Largest block error rate at which a CQI is reported, above 0 and below 1 (3GPP: 0.1).
    pub target_bler: f64,
}

/// Why link adaptation cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkAdaptationError {
    /// Reports without a period.
    #[error("the CQI period is zero; choose for example 5 ms")]
    Period,
    /// So many reports would be on the way.
    #[error(
        "a CQI delay of {delay} with a period of {period}: {MAX_REPORTS_UNDERWAY} or more reports would be on the way; choose a longer period"
    )]
    Delay {
        /// The delay.
        delay: Duration,
        /// The period.
        period: Duration,
    },
    /// A target that is none.
    #[error(
        "the target block error rate is {target}; choose a number above 0 and below 1, 3GPP has 0.1"
    )]
    Target {
        /// What was given.
        target: f64,
    },
    /// An SINR that is no number.
    #[error("the SINR is {sinr}; choose a finite number of dB")]
    Sinr {
        /// What was given.
        sinr: Decibel,
    },
    /// The policy does not cover the table.
    #[error(transparent)]
    Policy(#[from] CqiPolicyError),
    /// The family has no curves for the table.
    #[error(transparent)]
    Bler(#[from] BlerError),
}

/// A report on its way to the base station.
#[derive(Clone, Copy, Debug)]
struct Report {
    arrives: Instant,
    cqi: Cqi,
}

/// A channel whose MCS follows an SINR.
#[derive(Clone, Debug)]
pub struct LinkAdaptation<S> {
    source: S,
    curves: BlerCurves,
    /// MCS by CQI.
    mcs: [Option<Mcs>; 16],
    thresholds: CqiThresholds,
    config: LinkAdaptationConfig,
    /// Next measurement that has not been made.
    next_measurement: Instant,
    /// CQI that the base station uses; none before the first call.
    in_use: Option<Cqi>,
    /// Reports that have not arrived, in order.
    underway: VecDeque<Report>,
    /// When the next measurement or arrival is due.
    due: Instant,
    /// The first arrival that may change the CQI in use, measured or not.
    arrival: Instant,
}

/// The SINR from which each CQI is reported.
///
/// The block error rate of a CQI's MCS falls with the SINR, so that it meets the target from one SINR
/// on: the least number that does, found by bisection down to the last bit. The highest CQI that
/// meets the target is then the number of CQIs that this or a higher one meets, no search over curves.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CqiThresholds {
    /// By CQI - 1, dB: the least at which it or a higher one meets the target, in ascending order;
    /// not a number where none ever does.
    least: [f64; 15],
}

impl CqiThresholds {
    /// `meets` states whether a CQI (1 to 15) meets the target at an SINR in dB, and once it does, does so at any
    /// higher.
    fn new(meets: impl Fn(u8, f64) -> bool) -> Self {
        let mut least = [f64::NAN; 15];
        let mut above = f64::NAN;
        for (cqi, least) in (1u8..=15).zip(&mut least).rev() {
            // of two numbers, min leaves out the one that is none
            above = lowest(|sinr| meets(cqi, sinr)).min(above);
            *least = above;
        }
        Self { least }
    }

    /// The highest CQI that meets the target; 0 if none does.
    fn cqi(&self, sinr: Decibel) -> Cqi {
        let met = self.least.map(|least| u8::from(sinr.get() >= least));
        Cqi::new(met.iter().sum())
    }
}

/// The lowest number from which on something is true, not a number if it never is.
fn lowest(is_true: impl Fn(f64) -> bool) -> f64 {
    // numbers in the order of their size, negative ones first
    let number = |order: u64| {
        let sign = 1 << 63;
        f64::from_bits(if order & sign == 0 {
            !order
        } else {
            order ^ sign
        })
    };
    let order = |number: f64| {
        let (bits, sign) = (number.to_bits(), 1 << 63);
        if bits & sign == 0 { bits | sign } else { !bits }
    };
    let (mut low, mut high) = (order(f64::NEG_INFINITY), order(f64::INFINITY));
    if !is_true(f64::INFINITY) {
        return f64::NAN;
    }
    if is_true(f64::NEG_INFINITY) {
        return f64::NEG_INFINITY;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_true(number(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    number(high)
}

impl LinkAdaptation<ConstantSinr> {
    /// The channel of a constant SINR.
    ///
    /// # Errors
    /// As [`Self::new`], and an SINR that is not finite.
    pub fn constant(
        sinr: Decibel,
        config: LinkAdaptationConfig,
    ) -> Result<Self, LinkAdaptationError> {
        if !sinr.get().is_finite() {
            return Err(LinkAdaptationError::Sinr { sinr });
        }
        Self::new(ConstantSinr(sinr), config)
    }
}

impl<S: SinrSource> LinkAdaptation<S> {
    /// The channel of an SINR source.
    ///
    /// # Errors
    /// A period of zero, a target outside 0 to 1, a policy or family that does not cover the table.
    pub fn new(source: S, config: LinkAdaptationConfig) -> Result<Self, LinkAdaptationError> {
        let LinkAdaptationConfig {
            policy,
            table,
            family,
            cqi_period,
            cqi_delay,
            target_bler,
        } = config;
        if cqi_period.is_zero() {
            return Err(LinkAdaptationError::Period);
        }
        if cqi_delay / cqi_period >= MAX_REPORTS_UNDERWAY {
            return Err(LinkAdaptationError::Delay {
                delay: cqi_delay,
                period: cqi_period,
            });
        }
        if !(target_bler > 0.0 && target_bler < 1.0) {
            return Err(LinkAdaptationError::Target {
                target: target_bler,
            });
        }
        let curves = BlerCurves::new(family, table)?;
        let mut mcs = [None; 16];
        for (cqi, mcs) in (0u8..).zip(&mut mcs) {
            *mcs = policy.mcs(table, Cqi::new(cqi))?;
        }
        let thresholds = CqiThresholds::new(|cqi, sinr| meets(&curves, &mcs, &config, cqi, sinr));
        Ok(Self {
            source,
            curves,
            mcs,
            thresholds,
            config,
            next_measurement: Instant::ZERO,
            in_use: None,
            underway: VecDeque::new(),
            due: Instant::ZERO,
            arrival: Instant::ZERO,
        })
    }

    /// The CQI that a UE reports at an SINR; 0 where not even CQI 1 meets the target.
    pub fn cqi(&self, sinr: Decibel) -> Cqi {
        self.thresholds.cqi(sinr)
    }

    /// Makes the measurements that are due and takes in the reports that have arrived.
    fn catch_up(&mut self, now: Instant) {
        let LinkAdaptationConfig {
            cqi_period,
            cqi_delay,
            ..
        } = self.config;
        // Of the measurements whose reports have arrived only the latest counts.
        if self.next_measurement + cqi_period + cqi_delay <= now {
            let latest = (now - cqi_delay).since_start() / cqi_period;
            self.next_measurement = Instant::ZERO + cqi_period * latest;
        }
        while self.next_measurement <= now {
            let at = self.next_measurement;
            let measured = self.source.sinr(at).sinr;
            let cqi = self.cqi(measured);
            self.underway.push_back(Report {
                arrives: at + cqi_delay,
                cqi,
            });
            self.next_measurement = at + cqi_period;
        }
        while let Some(report) = self.underway.front().copied() {
            if report.arrives > now && self.in_use.is_some() {
                break;
            }
            self.in_use = Some(report.cqi);
            // before it has arrived the first report serves, but it is still on its way
            if report.arrives > now {
                break;
            }
            self.underway.pop_front();
        }
        let next_report = self.next_measurement + cqi_delay;
        self.arrival = self.underway.front().map_or(next_report, |it| it.arrives);
        self.due = self.next_measurement.min(self.arrival);
    }

    /// When the base station's CQI next differs from `in_use`, if the SINR stays as it is: `current`
    /// is what a measurement would give now.
    fn next_change(&self, in_use: Cqi, current: Cqi) -> Instant {
        let underway = self.underway.iter().find(|report| report.cqi != in_use);
        match underway {
            Some(report) => report.arrives,
            None if current != in_use => self.next_measurement + self.config.cqi_delay,
            None => Instant::MAX,
        }
    }
}

impl<S: SinrSource> Channel for LinkAdaptation<S> {
    fn state(&mut self, slot_start: Instant, _: Duration) -> ChannelState {
        if slot_start >= self.due {
            self.catch_up(slot_start);
        }
        let cqi = self.in_use.unwrap_or_default();
        let SinrSample { sinr, holds_until } = self.source.sinr(slot_start);
        let link = match self.mcs[usize::from(cqi.get())] {
            Some(mcs) => Link::Mcs {
                mcs,
                sinr: Some(sinr),
                bler: self.curves.bler(mcs, sinr),
            },
            None => Link::Outage,
        };
        // nothing changes before a report arrives
        let holds_until = if holds_until <= self.arrival {
            holds_until
        } else {
            holds_until.min(self.next_change(cqi, self.cqi(sinr)))
        };
        ChannelState {
            cqi,
            link,
            holds_until,
        }
    }
}

/// Whether a CQI meets the target at an SINR in dB.
fn meets(
    curves: &BlerCurves,
    mcs: &[Option<Mcs>; 16],
    config: &LinkAdaptationConfig,
    cqi: u8,
    sinr: f64,
) -> bool {
    let sinr = Decibel::new(sinr);
    match mcs[usize::from(cqi)] {
        None => false,
        Some(_) if config.family == BlerFamily::None => {
            let entry = cqi_entry(CqiTable::matching(config.table), Cqi::new(cqi));
            entry.is_some_and(|entry| entry.efficiency() <= efficiency(sinr))
        }
        Some(mcs) => curves.bler(mcs, sinr) <= config.target_bler,
    }
}

/// Bits per resource element at an SINR, by the rule of the error-free family.
fn efficiency(sinr: Decibel) -> f64 {
    let gamma = -(5.0 * EFFICIENCY_BER).ln() / 1.5;
    (1.0 + sinr.to_linear() / gamma).log2()
}
