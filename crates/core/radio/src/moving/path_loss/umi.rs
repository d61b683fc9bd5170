//! UMi-Street Canyon, TR 38.901 (v16.1.0) Table 7.4.1-1 (path loss, shadowing), Table 7.4.2-1
//! (probability of line of sight), Table 7.5-6 (correlation distance, delay spread, K factor).
//!
//! * d'_BP = 4 (h_BS - h_E)(h_UT - h_E) f / c with h_E = 1 m (note 1).
//! * LOS: 32.4 + 21 `log10(d_3D)` + 20 `log10(f_c)` up to d'_BP on the ground, then
//!   32.4 + 40 `log10(d_3D)` + 20 `log10(f_c)` - 9.5 `log10(d'_BP^2 + (h_BS - h_UT)^2)`.
//! * NLOS: the greater of LOS and 22.4 + 35.3 `log10(d_3D)` + 21.3 `log10(f_c)` - 0.3 (h_UT - 1.5);
//!   optional: 32.4 + 20 `log10(f_c)` + 31.9 `log10(d_3D)`.
//!
//! Distances in m, `f_c` in GHz.

use super::{Range, Sight};
use crate::moving::geometry::LIGHT;
use units::Hertz;

pub(super) const RANGE: Range = Range {
    carrier: (500_000_000, 100_000_000_000),
    carrier_proper: (500_000_000, 100_000_000_000),
    distance: (10.0, 5_000.0),
    base_height: (10.0, 10.0),
    ue_height: (1.5, 22.5),
    ue_above: ENVIRONMENT_HEIGHT,
    base_above: ENVIRONMENT_HEIGHT,
};
/// Effective environment height h_E, m (Table 7.4.1-1 note 1).
const ENVIRONMENT_HEIGHT: f64 = 1.0;

/// The formula for one carrier and pair of heights.
#[derive(Clone, Debug)]
pub(super) struct Umi {
    /// log10(f_c / GHz).
    log_carrier: f64,
    /// d'_BP, m.
    breakpoint: f64,
    /// 9.5 log10(d'_BP^2 + (h_BS - h_UT)^2), dB.
    beyond: f64,
    /// Height of the UE, m.
    ue_height: f64,
    optional: bool,
}

impl Umi {
    pub(super) fn new(carrier: Hertz, base_height: f64, ue_height: f64, optional: bool) -> Self {
        let breakpoint = breakpoint(carrier, base_height, ue_height);
        let beyond = 9.5 * (breakpoint.powi(2) + (base_height - ue_height).powi(2)).log10();
        Self {
            log_carrier: carrier.as_ghz_f64().log10(),
            breakpoint,
            beyond,
            ue_height,
            optional,
        }
    }

    /// Loss with and without line of sight at a distance on the ground and the slant distance that
    /// goes with it, dB.
    pub(super) fn losses(&self, ground: f64, slant: f64) -> [f64; 2] {
        let log_slant = slant.log10();
        let line = self.line(ground, log_slant);
        let no_line = if self.optional {
            32.4 + 20.0 * self.log_carrier + 31.9 * log_slant
        } else {
            line.max(self.no_line(log_slant))
        };
        [line, no_line]
    }

    fn line(&self, ground: f64, log_slant: f64) -> f64 {
        let carrier = 32.4 + 20.0 * self.log_carrier;
        if ground <= self.breakpoint {
            carrier + 21.0 * log_slant
        } else {
            carrier + 40.0 * log_slant - self.beyond
        }
    }

    /// PL' of NLOS.
    fn no_line(&self, log_slant: f64) -> f64 {
        22.4 + 35.3 * log_slant + 21.3 * self.log_carrier - 0.3 * (self.ue_height - 1.5)
    }

    /// Standard deviation in dB (Table 7.4.1-1), correlation distance in m (Table 7.5-6).
    pub(super) fn shadowing(&self, sight: Sight) -> (f64, f64) {
        match sight {
            Sight::Line => (4.0, 10.0),
            Sight::NoLine if self.optional => (8.2, 13.0),
            Sight::NoLine => (7.82, 13.0),
        }
    }
}

/// d'_BP, m.
fn breakpoint(carrier: Hertz, base_height: f64, ue_height: f64) -> f64 {
    let base = base_height - ENVIRONMENT_HEIGHT;
    let ue = ue_height - ENVIRONMENT_HEIGHT;
    4.0 * base * ue * carrier.get() as f64 / LIGHT
}

/// Table 7.4.2-1.
pub(super) fn line_of_sight_probability(ground: f64) -> f64 {
    if ground <= 18.0 {
        1.0
    } else {
        18.0 / ground + (-ground / 36.0).exp() * (1.0 - 18.0 / ground)
    }
}

/// Median rms delay spread, s (Table 7.5-6: mean of `lg DS`; frequencies below 2 GHz count as 2).
pub(in crate::moving) fn delay_spread(carrier: Hertz, sight: Sight) -> f64 {
    let slope = -0.24 * (1.0 + carrier.as_ghz_f64().max(2.0)).log10();
    10f64.powf(match sight {
        Sight::Line => slope - 7.14,
        Sight::NoLine => slope - 6.83,
    })
}

/// Median Ricean K factor with line of sight, dB (Table 7.5-6).
pub(in crate::moving) const K_FACTOR: f64 = 9.0;

#[cfg(test)]
mod tests {
    use super::*;

    const CARRIER: Hertz = Hertz::new(28_000_000_000);

    fn losses(ground: f64) -> (f64, f64) {
        let umi = Umi::new(CARRIER, 10.0, 1.5, false);
        let slant = f64::hypot(ground, 8.5);
        let [line, no_line] = umi.losses(ground, slant);
        (line, no_line)
    }

    /// The sheet's table at 28 GHz, 10 m, 1.5 m.
    #[test]
    fn table_7_4_1_1_at_28_ghz() {
        for (ground, slant, line, no_line, probability) in [
            (10.0, 13.12, 84.82, 92.69, 1.0),
            (18.0, 19.91, 88.62, 99.08, 1.0),
            (50.0, 50.72, 97.15, 113.42, 0.5196),
            (100.0, 100.36, 103.38, 123.88, 0.2310),
            (200.0, 200.18, 109.67, 134.46, 0.0935),
        ] {
            assert!((f64::hypot(ground, 8.5) - slant).abs() < 0.006);
            let (los, nlos) = losses(ground);
            assert!((los - line).abs() < 0.006, "LOS at {ground}: {los}");
            assert!((nlos - no_line).abs() < 0.006, "NLOS at {ground}: {nlos}");
            let p = line_of_sight_probability(ground);
            assert!((p - probability).abs() < 6e-5, "P at {ground}: {p}");
        }
    }

    #[test]
    fn breakpoint_at_28_ghz() {
        assert!((breakpoint(CARRIER, 10.0, 1.5) - 1681.0).abs() < 0.5);
    }

    /// Table 7.4.1-1: PL2 - PL1 at the breakpoint is 19 log10(d_3D) - 9.5 log10(d_3D^2) = 0, and
    /// beyond it ten times the distance costs 40 dB.
    #[test]
    fn breakpoint_is_continuous() {
        let at = breakpoint(CARRIER, 10.0, 1.5);
        assert!((losses(at + 1e-6).0 - losses(at - 1e-6).0).abs() < 1e-6);
        assert!((losses(40_000.0).0 - losses(4_000.0).0 - 40.0).abs() < 1e-3);
    }

    /// 32.4 + 20 log10(28) + 31.9 log10(100.36) = 32.4 + 28.943 + 63.850 = 125.19.
    #[test]
    fn optional_nlos() {
        let umi = Umi::new(CARRIER, 10.0, 1.5, true);
        let [_, loss] = umi.losses(100.0, f64::hypot(100.0, 8.5));
        assert!((loss - 125.19).abs() < 0.01, "{loss}");
        assert_eq!(umi.shadowing(Sight::NoLine), (8.2, 13.0));
    }

    /// Table 7.5-6 at 28 GHz: lg DS = -0.24 x 1.4624 - 7.14 = -7.491, 32.3 ns; NLOS 65.9 ns.
    #[test]
    fn table_7_5_6_delay_spread() {
        assert!((delay_spread(CARRIER, Sight::Line) * 1e9 - 32.3).abs() < 0.05);
        assert!((delay_spread(CARRIER, Sight::NoLine) * 1e9 - 65.9).abs() < 0.05);
    }
}
