//! Power delay profiles.
//!
//! * EPA, EVA, ETU: TS 36.104 Annex B.2 (Tables B.2-2, -3, -4); excess delays in ns, relative powers
//!   in dB. Every tap is Rayleigh.
//! * The street canyon's: powers that decay exponentially over eight taps, with the median delay
//!   spread of TR 38.901 Table 7.5-6; with line of sight a constant ray at delay 0, stronger than
//!   all others together by the median K factor.
//!
//! Powers are normalised to a sum of 1.

use crate::moving::path_loss::Sight;
use crate::moving::path_loss::umi::{K_FACTOR, delay_spread};
use units::Hertz;

/// (ns, dB).
const EPA: &[(f64, f64)] = &[
    (0.0, 0.0),
    (30.0, -1.0),
    (70.0, -2.0),
    (90.0, -3.0),
    (110.0, -8.0),
    (190.0, -17.2),
    (410.0, -20.8),
];
const EVA: &[(f64, f64)] = &[
    (0.0, 0.0),
    (30.0, -1.5),
    (150.0, -1.4),
    (310.0, -3.6),
    (370.0, -0.6),
    (710.0, -9.1),
    (1090.0, -7.0),
    (1730.0, -12.0),
    (2510.0, -16.9),
];
const ETU: &[(f64, f64)] = &[
    (0.0, -1.0),
    (50.0, -1.0),
    (120.0, -1.0),
    (200.0, 0.0),
    (230.0, 0.0),
    (500.0, 0.0),
    (1600.0, -3.0),
    (2300.0, -5.0),
    (5000.0, -7.0),
];
/// Taps of an exponential profile, and their spacing over its decay time.
const EXPONENTIAL_TAPS: usize = 8;
const EXPONENTIAL_SPACING: f64 = 0.5;

/// What arrives when.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::moving) struct Profile {
    /// Share of the constant ray at delay 0, 0 to 1.
    pub specular: f64,
    /// (delay in s, share of the power) of the fading taps, ordered by delay.
    pub taps: Vec<(f64, f64)>,
}

impl Profile {
    pub fn epa() -> Self {
        Self::rayleigh(EPA)
    }
    pub fn eva() -> Self {
        Self::rayleigh(EVA)
    }
    pub fn etu() -> Self {
        Self::rayleigh(ETU)
    }

    fn rayleigh(table: &[(f64, f64)]) -> Self {
        let power = |db: f64| 10f64.powf(db / 10.0);
        let sum: f64 = table.iter().map(|&(_, db)| power(db)).sum();
        let taps = table
            .iter()
            .map(|&(ns, db)| (ns * 1e-9, power(db) / sum))
            .collect();
        Self {
            specular: 0.0,
            taps,
        }
    }

    /// The street canyon's.
    pub fn street_canyon(carrier: Hertz, sight: Sight) -> Self {
        let specular = match sight {
            Sight::Line => {
                let k = 10f64.powf(K_FACTOR / 10.0);
                k / (1.0 + k)
            }
            Sight::NoLine => 0.0,
        };
        let delays = (0..EXPONENTIAL_TAPS).map(|i| i as f64 * EXPONENTIAL_SPACING);
        let sum: f64 = delays.clone().map(|delay| (-delay).exp()).sum();
        let share = (1.0 - specular) / sum;
        let taps = delays
            .map(|delay| (delay, (-delay).exp() * share))
            .collect();
        let mut this = Self { specular, taps };
        let scale = delay_spread(carrier, sight) / this.delay_spread();
        this.taps.iter_mut().for_each(|(delay, _)| *delay *= scale);
        this
    }

    /// The same with its taps ordered by power.
    pub fn strongest_first(mut self) -> Self {
        self.taps.sort_by(|a, b| b.1.total_cmp(&a.1));
        self
    }

    /// Root mean square delay spread, s.
    pub fn delay_spread(&self) -> f64 {
        let mean: f64 = self.taps.iter().map(|(delay, power)| delay * power).sum();
        let square: f64 = self
            .taps
            .iter()
            .map(|(delay, power)| delay * delay * power)
            .sum();
        (square - mean * mean).max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power(profile: &Profile) -> f64 {
        profile.specular + profile.taps.iter().map(|(_, power)| power).sum::<f64>()
    }

    /// TS 36.104 Tables B.2-2 to B.2-4: number of taps, last delay, and the rms delay spreads of
    /// Table B.2-1 (43, 357, 991 ns).
    #[test]
    fn annex_b_2() {
        for (profile, taps, last, rms) in [
            (Profile::epa(), 7, 410.0, 43.0),
            (Profile::eva(), 9, 2510.0, 357.0),
            (Profile::etu(), 9, 5000.0, 991.0),
        ] {
            assert_eq!(profile.taps.len(), taps);
            assert!((profile.taps[taps - 1].0 * 1e9 - last).abs() < 1e-6);
            assert!((power(&profile) - 1.0).abs() < 1e-12);
            assert!(
                (profile.delay_spread() * 1e9 - rms).abs() < 1.0,
                "{}",
                profile.delay_spread()
            );
            assert!(profile.taps.is_sorted_by(|a, b| a.0 <= b.0));
        }
        // relative powers stay: EPA tap 5 is 8 dB below tap 1, at 110 ns
        let epa = Profile::epa();
        assert!((10.0 * (epa.taps[4].1 / epa.taps[0].1).log10() + 8.0).abs() < 1e-9);
        assert!((epa.taps[4].0 * 1e9 - 110.0).abs() < 1e-9);
    }

    /// TR 38.901 Table 7.5-6 at 28 GHz: 32.3 ns and K = 9 dB with line of sight, else 65.9 ns.
    #[test]
    fn street_canyon() {
        let carrier = Hertz::new(28_000_000_000);
        let line = Profile::street_canyon(carrier, Sight::Line);
        let no_line = Profile::street_canyon(carrier, Sight::NoLine);
        for (profile, ns) in [(&line, 32.3), (&no_line, 65.9)] {
            assert!((power(profile) - 1.0).abs() < 1e-12);
            assert!((profile.delay_spread() * 1e9 - ns).abs() < 0.05);
        }
        let k = line.specular / (1.0 - line.specular);
        assert!((10.0 * k.log10() - 9.0).abs() < 1e-9);
        assert_eq!(no_line.specular, 0.0);
    }
}
