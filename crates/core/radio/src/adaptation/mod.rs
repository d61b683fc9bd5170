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

mod reports;
mod rule;

pub use rule::McsRule;

use crate::bler::{BlerCurves, BlerError, BlerFamily};
use crate::channel::{Channel, ChannelState, Link, SubBands};
use crate::cqi_policy::{CqiPolicyError, CqiToMcs};
use crate::groups::PrbGroups;
use crate::moving::Dbm;
pub(crate) use reports::Reports;
use rnis::McsTable;
use units::{Cqi, Decibel, Duration, Instant};

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

    /// The SINR (linear) of each group of PRBs at a time, as for [`Self::sinr`]; none where the source is not
    /// divided: all PRBs are alike.
    fn groups(&mut self, _: Instant) -> &[f32] {
        &[]
    }

    /// The mean received power at a time, without fading, as for [`Self::sinr`]; none where it is not modelled.
    fn mean_received(&mut self, _: Instant) -> Option<Dbm> {
        None
    }
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

impl LinkAdaptationConfig {
    /// Whether its times and its target can be.
    fn check(&self) -> Result<(), LinkAdaptationError> {
        let (period, delay, target) = (self.cqi_period, self.cqi_delay, self.target_bler);
        if period.is_zero() {
            return Err(LinkAdaptationError::Period);
        }
        if delay / period >= MAX_REPORTS_UNDERWAY {
            return Err(LinkAdaptationError::Delay { delay, period });
        }
        if !(target > 0.0 && target < 1.0) {
            return Err(LinkAdaptationError::Target { target });
        }
        Ok(())
    }
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

/// What a UE reports.
#[derive(Clone, Copy, Debug)]
struct Report {
    cqi: Cqi,
    /// Of each group of PRBs, where the source is divided.
    groups: [Cqi; PrbGroups::MAX],
}

/// A channel whose MCS follows an SINR.
#[derive(Clone, Debug)]
pub struct LinkAdaptation<S> {
    source: S,
    curves: BlerCurves,
    rule: McsRule,
    cqi_delay: Duration,
    reports: Reports<Report>,
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
        config.check()?;
        let curves = BlerCurves::new(config.family, config.table)?;
        Ok(Self {
            source,
            rule: McsRule::new(&config, &curves)?,
            curves,
            cqi_delay: config.cqi_delay,
            reports: Reports::new(config.cqi_period, config.cqi_delay),
        })
    }

    /// Its rule alone.
    pub(crate) fn into_rule(self) -> McsRule {
        self.rule
    }

    /// The CQI that a UE reports at an SINR; 0 where not even CQI 1 meets the target.
    pub fn cqi(&self, sinr: Decibel) -> Cqi {
        self.rule.cqi(sinr)
    }

    /// Makes the measurements that are due and takes in the reports that have arrived.
    fn catch_up(&mut self, now: Instant) {
        let (source, rule) = (&mut self.source, &self.rule);
        self.reports.catch_up(now, |at| {
            let cqi = rule.cqi(source.sinr(at).sinr);
            let mut groups = [Cqi::default(); PrbGroups::MAX];
            for (cqi, sinr) in groups.iter_mut().zip(source.groups(at)) {
                *cqi = rule.cqi(Decibel::from_linear(f64::from(*sinr)));
            }
            Report { cqi, groups }
        });
    }

    /// When the base station's CQI next differs from `in_use`, if the SINR stays as it is: `current`
    /// is what a measurement would give now.
    fn next_change(&self, in_use: Cqi, current: Cqi) -> Instant {
        let mut underway = self.reports.underway();
        match underway.find(|(_, report)| report.cqi != in_use) {
            Some((arrives, _)) => *arrives,
            None if current != in_use => self.reports.next_measurement() + self.cqi_delay,
            None => Instant::MAX,
        }
    }
}

impl<S: SinrSource> Channel for LinkAdaptation<S> {
    fn state(&mut self, slot_start: Instant, _: Duration) -> ChannelState {
        self.catch_up(slot_start);
        let cqi = self.reports.in_use().map_or(Cqi::default(), |it| it.cqi);
        let SinrSample { sinr, holds_until } = self.source.sinr(slot_start);
        let link = match self.rule.mcs(cqi) {
            Some(mcs) => Link::Mcs {
                mcs,
                sinr: Some(sinr),
                bler: self.curves.bler(mcs, sinr),
            },
            None => Link::Outage,
        };
        // nothing changes before a report arrives
        let holds_until = if holds_until <= self.reports.arrival() {
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

    fn sub_bands(&mut self, slot_start: Instant) -> Option<SubBands<'_>> {
        self.catch_up(slot_start);
        let sinr = self.source.groups(slot_start);
        let report = self.reports.in_use()?;
        (!sinr.is_empty()).then(|| SubBands {
            cqi: &report.groups[..sinr.len()],
            sinr,
            rule: &self.rule,
        })
    }
}
