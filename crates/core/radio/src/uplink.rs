//! The uplink of one UE, as the base station measures it by sounding.
//!
//! With power control, what a UE sends data with follows from the path loss ([`PowerControl`]).
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
use crate::moving::Dbm;
use units::{Decibel, Instant, Mcs, Prb};

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
    /// By how much the power of data on a PRB may be above that of the carrier at full power; below zero if it has to be
    /// less. None: as far as the UE's power allows on the PRBs that it is granted.
    pub density_limit: Option<Decibel>,
}

/// Open-loop fractional power control of data (TS 38.213 7.1.1, TS 36.213 5.1.1.1):
///
/// ```text
///   P = min(Pmax, P0 + 10 log10(2^mu M) + alpha PL)      dBm, on M PRBs
/// ```
///
/// The path loss is that to the base station's receiver, antennas included, without fading, as its downlink shows it to the UE.
///
/// *Deviations*: no transmit power control commands (f = 0), no offset by the MCS (delta TF = 0), and the path loss is not
/// filtered over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerControl {
    /// P0: what would be received of a PRB of 180 kHz if alpha were 1.
    pub p0: Dbm,
    /// alpha: the part of the path loss that is made up for, 0 to 1.
    pub alpha: f64,
    /// Pmax: the UE's power.
    pub max: Dbm,
    /// PRBs of the carrier.
    pub n_prb: Prb,
    /// 15 kHz x 2^mu.
    pub numerology: u8,
}

impl PowerControl {
    /// # Errors
    /// An alpha outside 0 to 1, powers beyond any radio, no PRB.
    pub fn check(&self) -> Result<(), PowerControlError> {
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(PowerControlError::Alpha(self.alpha));
        }
        let is_power = |power: Dbm| (-202.0..=100.0).contains(&power.get());
        if let Some(power) = [self.p0, self.max].into_iter().find(|it| !is_power(*it)) {
            return Err(PowerControlError::Power(power));
        }
        match self.n_prb.get() {
            0 => Err(PowerControlError::Prbs),
            _ => Ok(()),
        }
    }

    /// P on so many PRBs, above zero.
    pub fn power(&self, prb: Prb, path_loss: Decibel) -> Dbm {
        let wanted = self.of_one(path_loss) + 10.0 * f64::from(prb.get()).log10();
        Dbm::new(wanted.min(self.max.get()))
    }

    /// Power headroom, dB: Pmax less what would be sent on so many PRBs without that limit (TS 38.213 7.7.1, type 1).
    pub fn headroom(&self, prb: Prb, path_loss: Decibel) -> Decibel {
        let wanted = self.of_one(path_loss) + 10.0 * f64::from(prb.get()).log10();
        Decibel::new(self.max.get() - wanted)
    }

    /// What is wanted on one PRB, dBm.
    fn of_one(&self, path_loss: Decibel) -> f64 {
        let spacing = 10.0 * f64::from(1_u32 << self.numerology.min(4)).log10();
        self.p0.get() + spacing + self.alpha * path_loss.get()
    }

    /// [`UplinkState::density_limit`].
    fn density_limit(&self, path_loss: Decibel) -> Decibel {
        let over_carrier = self.max.get() - 10.0 * f64::from(self.n_prb.get()).log10();
        Decibel::new(self.of_one(path_loss) - over_carrier)
    }
}

/// Why there is no such power control.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PowerControlError {
    /// An alpha outside its range.
    #[error("alpha of power control is {0}; choose 0 to 1")]
    Alpha(f64),
    /// A power beyond any radio.
    #[error("a power of power control is {0}; choose -202 dBm to 100 dBm")]
    Power(Dbm),
    /// A carrier without PRBs.
    #[error("the carrier of power control has no PRB; choose 1 or more")]
    Prbs,
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
    power: Option<PowerControl>,
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
            power: None,
        })
    }

    /// The same with power control of data.
    ///
    /// # Errors
    /// As [`PowerControl::check`].
    pub fn with_power_control(self, power: PowerControl) -> Result<Self, PowerControlError> {
        power.check()?;
        Ok(Self {
            power: Some(power),
            ..self
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
        let received = self.power.and_then(|_| source.mean_received(slot_start));
        let density_limit = self.power.zip(received).map(|(power, received)| {
            let path_loss = Decibel::new(power.max.get() - received.get());
            power.density_limit(path_loss)
        });
        UplinkState {
            measured: in_use.map_or(sinr, |it| it.sinr),
            sinr,
            measured_groups: in_use.map_or(&[], |it| &it.groups[..it.count]),
            groups: source.groups(slot_start),
            density_limit,
        }
    }
    fn mcs(&self, sinr: Decibel) -> Option<Mcs> {
        self.mcs_of(self.rule.cqi(sinr))
    }
    fn robust_mcs(&self, sinr: Decibel) -> Option<Mcs> {
        self.mcs_of(self.rule.robust_cqi(sinr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 23 dBm, 50 PRBs at 15 kHz.
    fn control(p0: f64, alpha: f64) -> PowerControl {
        PowerControl {
            p0: Dbm::new(p0),
            alpha,
            max: Dbm::new(23.0),
            n_prb: Prb::new(50),
            numerology: 0,
        }
    }

    fn db(value: f64) -> Decibel {
        Decibel::new(value)
    }

    /// TS 36.213 5.1.1.1 by hand: -80 + 0.8 x 100 = 0 dBm on a PRB, 10 dBm on ten, 13 dBm of headroom there.
    #[test]
    fn power_follows_path_loss_and_prbs() {
        let control = control(-80.0, 0.8);
        for (prb, power, headroom) in [(1, 0.0, 23.0), (10, 10.0, 13.0), (50, 16.99, 6.01)] {
            let (prb, loss) = (Prb::new(prb), db(100.0));
            assert!((control.power(prb, loss).get() - power).abs() < 0.01);
            assert!((control.headroom(prb, loss).get() - headroom).abs() < 0.01);
        }
        // 130 dB: 24 dBm are wanted on one PRB
        assert!((control.power(Prb::new(1), db(130.0)).get() - 23.0).abs() < 1e-9);
        assert!((control.headroom(Prb::new(1), db(130.0)).get() + 1.0).abs() < 1e-9);
    }

    /// At 30 kHz a PRB is twice as wide: 3 dB more (TS 38.213 7.1.1: 2^mu M).
    #[test]
    fn wider_prbs_have_more_power() {
        let wide = PowerControl {
            numerology: 1,
            ..control(-80.0, 0.8)
        };
        assert!((wide.power(Prb::new(1), db(100.0)).get() - 3.0103).abs() < 1e-3);
    }

    #[test]
    fn without_a_range_there_is_none() {
        assert_eq!(
            control(-80.0, 1.1).check(),
            Err(PowerControlError::Alpha(1.1))
        );
        assert!(control(f64::NAN, 0.8).check().is_err());
        assert!(control(-80.0, 0.8).check().is_ok());
    }

    proptest! {
        /// Never above Pmax; more PRBs and more path loss never need less power; and what the limit of density means is P.
        #[test]
        fn power_is_never_above_its_limit(
            p0 in -126.0_f64..24.0, alpha in 0.0_f64..1.0, loss in 20.0_f64..180.0, prb in 1_u16..50,
        ) {
            let control = control(p0, alpha);
            let (prb, loss) = (Prb::new(prb), db(loss));
            let power = control.power(prb, loss).get();
            prop_assert!(power <= 23.0);
            prop_assert!(power <= control.power(Prb::new(prb.get() + 1), loss).get());
            prop_assert!(power <= control.power(prb, loss + db(1.0)).get());
            let full = 10.0 * (50.0 / f64::from(prb.get())).log10();
            let density = full.min(control.density_limit(loss).get());
            let sent = 23.0 - full + density;
            prop_assert!((sent - power).abs() < 1e-6, "{sent}, {power}");
        }
    }
}
