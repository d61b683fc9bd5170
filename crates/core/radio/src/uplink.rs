//! The uplink of one UE, as the base station measures it by sounding.
//!
//! The UE sounds the whole carrier at full power (TS 36.211 5.5.3), so that what is measured is the SINR with the power
//! spread over all PRBs. On fewer PRBs the same power is denser, and the SINR higher by as much. Measurements are made
//! and serve as CQI reports of the downlink do: every period, from the delay on.
//!
//! *Deviations*: sounding is without noise, and takes no symbols.

use crate::adaptation::{
    LinkAdaptation, LinkAdaptationConfig, LinkAdaptationError, McsRule, Reports, SinrSource,
};
use crate::groups::PrbGroups;
use units::{Decibel, Instant, Mcs};

/// The uplink of a UE in one slot, as if its power were spread over the whole carrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkState<'a> {
    /// SINR that the base station has measured over the carrier.
    pub measured: Decibel,
    /// The true SINR now.
    pub sinr: Decibel,
    /// What it has measured of each group of PRBs, linear; none where all PRBs are alike.
    pub measured_groups: &'a [f32],
    /// The same as it is now.
    pub groups: &'a [f32],
}

/// A source of uplink states.
pub trait UplinkChannel: Send {
    /// The state in the slot that begins then. Called with non-decreasing times.
    fn state(&mut self, slot_start: Instant) -> UplinkState<'_>;
    /// The MCS at an SINR; none where none meets the target.
    fn mcs(&self, sinr: Decibel) -> Option<Mcs>;
    /// The MCS that ns-3's schedulers choose at an SINR: [`McsRule::robust_cqi`].
    fn robust_mcs(&self, sinr: Decibel) -> Option<Mcs>;
}

#[derive(Clone, Copy, Debug)]
struct Sounding {
    sinr: Decibel,
    groups: [f32; PrbGroups::MAX],
    count: usize,
}

/// An uplink that is sounded.
#[derive(Clone, Debug)]
pub struct SoundedUplink<S> {
    source: S,
    rule: McsRule,
    reports: Reports<Sounding>,
}

impl<S: SinrSource> SoundedUplink<S> {
    /// The uplink of an SINR source; its MCS are those of the cell's table.
    ///
    /// # Errors
    /// As [`LinkAdaptation::new`].
    pub fn new(source: S, config: LinkAdaptationConfig) -> Result<Self, LinkAdaptationError> {
        Ok(Self {
            source,
            rule: LinkAdaptation::constant(Decibel::new(0.0), config)?.into_rule(),
            reports: Reports::new(config.cqi_period, config.cqi_delay),
        })
    }

    /// CQI 0 is out of range (TS 36.213 Table 7.2.3-1), whatever a policy makes of it.
    fn mcs_of(&self, cqi: units::Cqi) -> Option<Mcs> {
        if cqi.get() == 0 {
            return None;
        }
        self.rule.mcs(cqi)
    }
}

impl<S: SinrSource> UplinkChannel for SoundedUplink<S> {
    fn state(&mut self, slot_start: Instant) -> UplinkState<'_> {
        let source = &mut self.source;
        self.reports.catch_up(slot_start, |at| {
            let sinr = source.sinr(at).sinr;
            let mut groups = [0.0; PrbGroups::MAX];
            let seen = source.groups(at);
            let count = seen.len().min(groups.len());
            groups[..count].copy_from_slice(&seen[..count]);
            Sounding {
                sinr,
                groups,
                count,
            }
        });
        let sinr = source.sinr(slot_start).sinr;
        let in_use = self.reports.in_use();
        UplinkState {
            measured: in_use.map_or(sinr, |it| it.sinr),
            sinr,
            measured_groups: in_use.map_or(&[], |it| &it.groups[..it.count]),
            groups: source.groups(slot_start),
        }
    }
    fn mcs(&self, sinr: Decibel) -> Option<Mcs> {
        self.mcs_of(self.rule.cqi(sinr))
    }
    fn robust_mcs(&self, sinr: Decibel) -> Option<Mcs> {
        self.mcs_of(self.rule.robust_cqi(sinr))
    }
}
