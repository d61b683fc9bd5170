//! COST231-Hata (COST 231 final report, Digital mobile radio towards future generation systems,
//! eq. 4.4.3).
//!
//! L = 46.3 + 33.9 log10(f) - 13.82 log10(h_b) - a(h_m) + (44.9 - 6.55 log10(h_b)) log10(d) + C,
//! f in MHz (1500 to 2000), h_b 30 to 200 m, h_m 1 to 10 m, d 1 to 20 km, C = 3 dB in metropolitan
//! centres, else 0.
//!
//! a(h_m) = (1.1 log10(f) - 0.7) h_m - (1.56 log10(f) - 0.8) in a medium city; in a large city above
//! 400 MHz 3.2 (log10(11.75 h_m))^2 - 4.97.
//!
//! *Deviations.* Up to 2.69 GHz (LTE band 7) the formula is extrapolated with a warning; other
//! carriers are refused. ns-3 has 1.11 in place of 1.1, and leaves out -4.97 above 1.5 GHz; here
//! are the report's values.

use super::Range;
use units::Hertz;

pub(super) const RANGE: Range = Range {
    carrier: (1_500_000_000, 2_690_000_000),
    carrier_proper: (1_500_000_000, 2_000_000_000),
    distance: (1_000.0, 20_000.0),
    base_height: (30.0, 200.0),
    ue_height: (1.0, 10.0),
    ue_above: 0.0,
    base_above: 0.0,
};
/// C of metropolitan centres, dB.
const METROPOLITAN: f64 = 3.0;

/// The formula for one carrier and pair of heights.
#[derive(Clone, Debug)]
pub(super) struct Cost231Hata {
    /// Loss at 1 km, dB.
    at_kilometre: f64,
    /// dB per decade of distance.
    slope: f64,
}

impl Cost231Hata {
    pub(super) fn new(
        carrier: Hertz,
        base_height: f64,
        ue_height: f64,
        large_city: bool,
        metropolitan: bool,
    ) -> Self {
        let log_mhz = (carrier.get() as f64 / 1e6).log10();
        let log_base = base_height.log10();
        let correction = if large_city {
            large(ue_height)
        } else {
            medium(log_mhz, ue_height)
        };
        let centre = if metropolitan { METROPOLITAN } else { 0.0 };
        Self {
            at_kilometre: 46.3 + 33.9 * log_mhz - 13.82 * log_base - correction + centre,
            slope: 44.9 - 6.55 * log_base,
        }
    }

    /// Loss at a distance in m, dB.
    pub(super) fn loss(&self, distance: f64) -> f64 {
        self.at_kilometre + self.slope * (distance / 1_000.0).log10()
    }
}

/// a(h_m) of a medium city, dB.
fn medium(log_mhz: f64, ue_height: f64) -> f64 {
    (1.1 * log_mhz - 0.7) * ue_height - (1.56 * log_mhz - 0.8)
}

/// a(h_m) of a large city, dB.
fn large(ue_height: f64) -> f64 {
    3.2 * (11.75 * ue_height).log10().powi(2) - 4.97
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARRIER: Hertz = Hertz::new(2_000_000_000);

    /// The sheet's check: 2000 MHz, 30 m, 1.5 m, C = 0.
    #[test]
    fn equation_4_4_3() {
        let hata = Cost231Hata::new(CARRIER, 30.0, 1.5, false, false);
        for (distance, loss) in [(1_000.0, 137.74), (2_000.0, 148.35), (5_000.0, 162.37)] {
            assert!((hata.loss(distance) - loss).abs() < 0.006, "{distance} m");
        }
        let centre = Cost231Hata::new(CARRIER, 30.0, 1.5, false, true);
        assert!((centre.loss(1_000.0) - 140.74).abs() < 0.006);
    }

    /// 2000 MHz, 1.5 m. Medium: (1.1 x 3.30103 - 0.7) x 1.5 - (1.56 x 3.30103 - 0.8) = 0.0471.
    /// Large: 3.2 x log10(17.625)^2 - 4.97 = 3.2 x 1.55278 - 4.97 = -0.0011.
    #[test]
    fn corrections_for_the_height_of_the_ue() {
        let medium = medium(2000f64.log10(), 1.5);
        assert!((medium - 0.0471).abs() < 1e-4, "{medium}");
        assert!((large(1.5) + 0.0011).abs() < 2e-4, "{}", large(1.5));
        let city = Cost231Hata::new(CARRIER, 30.0, 1.5, true, false);
        assert!((city.loss(1_000.0) - (137.74 + 0.0471 + 0.0011)).abs() < 0.006);
    }
}
