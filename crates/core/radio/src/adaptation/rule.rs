//! From SINR to CQI, and from CQI to MCS.

use super::LinkAdaptationConfig;
use crate::bler::{BlerCurves, BlerFamily};
use crate::cqi_policy::CqiPolicyError;
use crate::tables::{CqiTable, cqi_entry};
use units::{Cqi, Decibel, Mcs};

/// Bit error rate behind the efficiency thresholds of the error-free family.
const EFFICIENCY_BER: f64 = 5e-5;

/// Which CQI an SINR has, and which MCS a CQI.
#[derive(Clone, Debug)]
pub struct McsRule {
    /// MCS by CQI.
    mcs: [Option<Mcs>; 16],
    /// Bits per resource element by CQI.
    efficiency: [f64; 16],
    thresholds: CqiThresholds,
}

impl McsRule {
    /// The rule of a configuration.
    pub(crate) fn new(
        config: &LinkAdaptationConfig,
        curves: &BlerCurves,
    ) -> Result<Self, CqiPolicyError> {
        let (mut mcs, mut efficiency) = ([None; 16], [0.0; 16]);
        for (cqi, (mcs, efficiency)) in (0u8..).zip(mcs.iter_mut().zip(&mut efficiency)) {
            let cqi = Cqi::new(cqi);
            *mcs = config.policy.mcs(config.table, cqi)?;
            let entry = cqi_entry(CqiTable::matching(config.table), cqi);
            *efficiency = entry.map_or(0.0, |entry| entry.efficiency());
        }
        let thresholds = CqiThresholds::new(|cqi, sinr| meets(curves, &mcs, config, cqi, sinr));
        Ok(Self {
            mcs,
            efficiency,
            thresholds,
        })
    }

    /// The CQI of an SINR; 0 where not even CQI 1 meets the target.
    pub fn cqi(&self, sinr: Decibel) -> Cqi {
        self.thresholds.cqi(sinr)
    }

    /// The highest CQI whose efficiency is at most log2(1 + SINR / Gamma), the rule of the error-free family (see
    /// [`LinkAdaptation`](crate::LinkAdaptation)); 0 where none is. ns-3's schedulers have it for the uplink, whatever
    /// the error model is: it asks for 3 to 5 dB more than blocks need.
    pub fn robust_cqi(&self, sinr: Decibel) -> Cqi {
        let reached = efficiency(sinr);
        let met = self.efficiency[1..].iter().filter(|it| **it <= reached);
        Cqi::new(met.count() as u8)
    }

    /// The MCS of a CQI; none where nothing is sent.
    pub fn mcs(&self, cqi: Cqi) -> Option<Mcs> {
        self.mcs.get(usize::from(cqi.get())).copied().flatten()
    }

    /// The highest CQI whose efficiency is no more than the mean of these.
    pub fn mean(&self, cqis: impl Iterator<Item = Cqi>) -> Cqi {
        let of = |cqi: Cqi| self.efficiency[usize::from(cqi.get()) % 16];
        let (sum, count) = cqis.fold((0.0, 0u32), |(sum, count), cqi| (sum + of(cqi), count + 1));
        // a hair more, so that the mean of equal numbers is that number
        let mean = sum / f64::from(count.max(1)) * (1.0 + 1e-9);
        let below = self.efficiency.iter().rposition(|it| *it <= mean);
        Cqi::new(below.unwrap_or(0) as u8)
    }
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
