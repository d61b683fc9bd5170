//! Fast fading: what the sum of many paths does to each frequency.
//!
//! | name | taps | |
//! | --- | --- | --- |
//! | `none` | | no fading |
//! | `epa`, `eva`, `etu` | 7, 9, 9 | TS 36.104 Annex B.2, Rayleigh taps with Jakes' spectrum |
//! | `street-canyon` | 8 and a constant ray | delay spread and K factor of TR 38.901 Table 7.5-6, for mmWave; LOS and NLOS differ |
//!
//! Each tap is a field of plane waves over the ground (see `waves`), so that fading is consistent
//! in space: it follows from the place alone, and Doppler from movement and carrier. Where a
//! profile is wanted with its usual Doppler (EPA 5 Hz, EVA 5 or 70 Hz, ETU 70 or 300 Hz) whatever
//! the movement is, the field is crossed at that Doppler's speed.
//!
//! The taps h with their delays give the frequency response H(f) = sum h exp(-j 2 pi f delay) at
//! frequencies spread evenly over the carrier: six for each inverse of the rms delay spread (neighbours
//! correlate by about a half), 4 to 32 of them. One effective SINR stands for all: that whose capacity is the mean capacity,
//! SINR = 2^(mean of log2(1 + `SINR_f`)) - 1, the rule of mean mutual information with Shannon's
//! capacity as the information measure.
//!
//! A value holds for a while and is that of the middle of this while. The while is 1/20 of a
//! wavelength (or Doppler period) where that takes 2 ms or more; faster movement has 2 ms, but at
//! most a sixth of a wavelength, 0.4 of the usual coherence time 0.423 / f_D: so a value is at most
//! 1/12 wavelength off, correlation J0(2 pi / 12) = 0.933. No value holds shorter than 50 us, less
//! than any slot.
//!
//! *Deviations.* One antenna at each end. The constant ray of `street-canyon` has the median K, not
//! one drawn for each link; cluster angles and delays do not drift with movement. With a fixed
//! Doppler the constant ray is at 0.7 of it (as in TR 38.901 7.7.2, TDL-D and -E).

mod profile;
mod waves;

use super::geometry::Position;
use super::path_loss::Sight;
use crate::name::UnknownName;
use core::fmt;
use core::str::FromStr;
use profile::Profile;
use units::{Duration, Hertz, Instant, Rng};
use waves::{Complex, Course, WAVES, Waves};

/// Wavelengths that a value holds for: in slow movement, and at most.
const FINE_HOLD: f64 = 0.05;
const COARSE_HOLD: f64 = 1.0 / 6.0;
/// Movement is slow where a fine hold takes so long.
const SLOW: Duration = Duration::from_millis(2);
/// Values hold at least this long.
const SHORTEST_HOLD: Duration = Duration::from_micros(50);
/// Frequencies for each inverse of the delay spread, and the fewest and most.
const FREQUENCIES_PER_INVERSE_SPREAD: f64 = 6.0;
const FEWEST_FREQUENCIES: usize = 4;
const MOST_FREQUENCIES: usize = 32;
/// Doppler of the constant ray over the greatest, if Doppler is fixed.
const SPECULAR_DOPPLER: f64 = 0.7;
/// Most taps of a profile.
const MOST_TAPS: usize = 9;
/// Frequencies that are computed side by side.
const LANES: usize = 4;
/// A greater SINR counts as this one: products of 16 stay finite.
const GREATEST_SINR: f64 = 1e17;
/// Below this SNR capacity is linear in it to 4 digits.
const LINEAR_BELOW: f64 = 1e-4;

/// A fading model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fading {
    /// None.
    None,
    /// Extended Pedestrian A.
    Epa,
    /// Extended Vehicular A.
    Eva,
    /// Extended Typical Urban.
    Etu,
    /// The street canyon of TR 38.901, for mmWave.
    StreetCanyon,
}

impl Fading {
    /// All models.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Epa,
        Self::Eva,
        Self::Etu,
        Self::StreetCanyon,
    ];
    /// Their names.
    pub const NAMES: &'static [&'static str] = &["none", "epa", "eva", "etu", "street-canyon"];

    /// Profiles with and without line of sight.
    fn profiles(self, carrier: Hertz) -> Option<[Profile; 2]> {
        let both = |profile: Profile| Some([profile.clone(), profile]);
        match self {
            Self::None => None,
            Self::Epa => both(Profile::epa()),
            Self::Eva => both(Profile::eva()),
            Self::Etu => both(Profile::etu()),
            Self::StreetCanyon => {
                Some([Sight::Line, Sight::NoLine].map(|s| Profile::street_canyon(carrier, s)))
            }
        }
    }
}

impl fmt::Display for Fading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMES[*self as usize])
    }
}

impl FromStr for Fading {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::NAMES.iter().position(|name| *name == text);
        found
            .map(|i| Self::ALL[i])
            .ok_or_else(|| UnknownName::new("fading profile", text, Self::NAMES))
    }
}

/// Where Doppler comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doppler {
    /// From the movement of the UE.
    Movement,
    /// So much, whatever the movement; above zero.
    Fixed(Hertz),
}

/// Why fading cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FadingError {
    /// A Doppler that is none, or too high.
    #[error("the Doppler frequency is {} Hz; choose 1 Hz to {MAX_DOPPLER} Hz, or the movement's", .doppler.get())]
    Doppler {
        /// What was given.
        doppler: Hertz,
    },
}

/// Greatest Doppler, Hz: 500 m/s at 100 GHz.
const MAX_DOPPLER: u64 = 166_783;

impl Doppler {
    pub(super) fn check(self) -> Result<(), FadingError> {
        match self {
            Self::Fixed(doppler) if !(1..=MAX_DOPPLER).contains(&doppler.get()) => {
                Err(FadingError::Doppler { doppler })
            }
            _ => Ok(()),
        }
    }
}

/// A straight movement that fading follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Movement {
    pub start: Instant,
    pub from: Position,
    /// m/s.
    pub velocity: (f64, f64),
    /// Where the base station is.
    pub base: Position,
    /// Difference of the heights of both ends, m.
    pub height: f64,
}

/// Complex numbers side by side.
#[derive(Clone, Copy, Debug)]
struct Lanes {
    re: [f32; LANES],
    im: [f32; LANES],
}

/// How a profile's taps add up at each frequency.
#[derive(Clone, Debug)]
struct Response {
    /// Amplitude of the constant ray.
    specular: f32,
    /// Factors of the taps: for each group of frequencies, tap by tap.
    factors: Vec<Lanes>,
    taps: usize,
}

impl Response {
    fn new(profile: &Profile, bandwidth: Hertz, frequencies: usize) -> Self {
        let bandwidth = bandwidth.get() as f64;
        let offset = |k: usize| ((k as f64 + 0.5) / frequencies as f64 - 0.5) * bandwidth;
        let mut factors = Vec::new();
        for group in (0..frequencies).step_by(LANES) {
            for &(delay, power) in &profile.taps {
                let amplitude = (power / WAVES as f64).sqrt() as f32;
                let factor: [Complex; LANES] =
                    core::array::from_fn(|lane| Complex::turned(-offset(group + lane) * delay));
                factors.push(Lanes {
                    re: factor.map(|f| amplitude * f.re),
                    im: factor.map(|f| amplitude * f.im),
                });
            }
        }
        Self {
            specular: profile.specular.sqrt() as f32,
            factors,
            taps: profile.taps.len(),
        }
    }

    /// Powers |H|^2 of all frequencies, for sums of the taps' waves and a phase of the constant ray.
    fn powers(&self, taps: &[Complex], ray: Complex, powers: &mut [f32]) {
        let groups = self.factors.chunks_exact(self.taps);
        for (factors, powers) in groups.zip(powers.chunks_exact_mut(LANES)) {
            let mut sum = Lanes {
                re: [ray.re * self.specular; LANES],
                im: [ray.im * self.specular; LANES],
            };
            for (factor, tap) in factors.iter().zip(taps) {
                for lane in 0..LANES {
                    sum.re[lane] += tap.re * factor.re[lane] - tap.im * factor.im[lane];
                    sum.im[lane] += tap.re * factor.im[lane] + tap.im * factor.re[lane];
                }
            }
            for (lane, power) in powers.iter_mut().enumerate() {
                *power = sum.re[lane] * sum.re[lane] + sum.im[lane] * sum.im[lane];
            }
        }
    }
}

/// The fading of one link.
#[derive(Clone, Debug)]
pub(super) struct FadingProcess {
    doppler: Doppler,
    /// m.
    wavelength: f64,
    frequencies: usize,
    /// With and without line of sight.
    responses: [Response; 2],
    waves: Waves,
    /// Turns of the constant ray.
    specular_phase: f64,
    movement: Movement,
    /// Time from one value to the next on this movement; none at rest.
    step: Option<Duration>,
    /// Powers |H|^2 of the frequencies at the last value.
    powers: [f32; MOST_FREQUENCIES],
    /// What they are for.
    current: Option<(u64, Sight)>,
}

impl FadingProcess {
    /// None without fading.
    pub fn new(
        fading: Fading,
        doppler: Doppler,
        carrier: Hertz,
        bandwidth: Hertz,
        mut rng: Rng,
    ) -> Result<Option<Self>, FadingError> {
        doppler.check()?;
        let Some(profiles) = fading.profiles(carrier) else {
            return Ok(None);
        };
        let spread = profiles
            .iter()
            .map(Profile::delay_spread)
            .fold(0.0, f64::max);
        let wanted = FREQUENCIES_PER_INVERSE_SPREAD * spread * bandwidth.get() as f64;
        let frequencies = (wanted.ceil() as usize).clamp(FEWEST_FREQUENCIES, MOST_FREQUENCIES);
        let frequencies = frequencies.next_multiple_of(LANES);
        let responses = profiles
            .each_ref()
            .map(|p| Response::new(p, bandwidth, frequencies));
        let waves = Waves::new(profiles[0].taps.len(), &mut rng);
        let wavelength = super::geometry::LIGHT / carrier.get() as f64;
        let origin = Position::at(0.0, 0.0);
        let mut this = Self {
            doppler,
            wavelength,
            frequencies,
            responses,
            waves,
            specular_phase: rng.uniform(),
            movement: Movement {
                start: Instant::ZERO,
                from: origin,
                velocity: (0.0, 0.0),
                base: origin,
                height: 0.0,
            },
            step: None,
            powers: [0.0; MOST_FREQUENCIES],
            current: None,
        };
        if let Doppler::Fixed(doppler) = doppler {
            this.follow(Movement {
                velocity: (doppler.get() as f64 * wavelength, 0.0),
                ..this.movement
            });
        }
        Ok(Some(this))
    }

    /// Sets out on a movement of the UE. Without effect if Doppler is fixed.
    pub fn move_with(&mut self, movement: Movement) {
        if self.doppler == Doppler::Movement {
            self.follow(movement);
        }
    }

    fn follow(&mut self, movement: Movement) {
        let (vx, vy) = movement.velocity;
        let speed = vx.hypot(vy);
        self.step = (speed > 0.0).then(|| hold(self.wavelength / speed));
        let seconds = self.step.map_or(0.0, Duration::as_secs_f64);
        let in_wavelengths = |metres: f64| metres / self.wavelength;
        let step = (in_wavelengths(vx * seconds), in_wavelengths(vy * seconds));
        let from = (
            in_wavelengths(movement.from.x),
            in_wavelengths(movement.from.y),
        );
        // values are those of the middle of their step
        let from = (from.0 + step.0 / 2.0, from.1 + step.1 / 2.0);
        self.movement = movement;
        self.waves.set_course(Course { from, step });
        self.current = None;
    }

    /// The number of the value that holds at a time, and until when it does.
    fn number(&self, at: Instant) -> (u64, Instant) {
        match self.step {
            None => (0, Instant::MAX),
            Some(step) => {
                let number = at.saturating_since(self.movement.start) / step;
                (number, self.movement.start + step * (number + 1))
            }
        }
    }

    /// Effective SINR (linear) at a time for a mean SINR (linear, >= 0), and until when fading
    /// stays. Times do not decrease, and are not before the movement.
    pub fn effective_sinr(&mut self, at: Instant, sight: Sight, mean: f64) -> (f64, Instant) {
        let (number, until) = self.number(at);
        if self.current != Some((number, sight)) {
            self.compute(number, sight);
            self.current = Some((number, sight));
        }
        (
            effective_sinr(mean, &self.powers[..self.frequencies]),
            until,
        )
    }

    fn compute(&mut self, number: u64, sight: Sight) {
        self.waves.advance_to(number);
        let response = &self.responses[usize::from(sight == Sight::NoLine)];
        let ray = if response.specular > 0.0 {
            Complex::turned(self.specular_turns(number))
        } else {
            Complex::default()
        };
        let mut taps = [Complex::default(); MOST_TAPS];
        for (sum, tap) in taps.iter_mut().zip(self.waves.taps()) {
            *sum = tap;
        }
        response.powers(&taps, ray, &mut self.powers[..self.frequencies]);
    }

    /// Phase of the constant ray at a value: the length of the direct path.
    fn specular_turns(&self, number: u64) -> f64 {
        let seconds = self.step.map_or(0.0, Duration::as_secs_f64);
        let t = (number as f64 + 0.5) * seconds;
        let Movement {
            from,
            velocity: (vx, vy),
            base,
            height,
            ..
        } = self.movement;
        if self.doppler != Doppler::Movement {
            return self.specular_phase - SPECULAR_DOPPLER * vx * t / self.wavelength;
        }
        let (x, y) = (from.x + vx * t - base.x, from.y + vy * t - base.y);
        let length = (x * x + y * y + height * height).sqrt();
        self.specular_phase - length / self.wavelength
    }
}

/// How long a value holds where a wavelength takes so many seconds.
fn hold(wavelength: f64) -> Duration {
    let fine = Duration::from_secs_f64(FINE_HOLD * wavelength);
    let coarse = Duration::from_secs_f64(COARSE_HOLD * wavelength);
    fine.max(SLOW.min(coarse)).max(SHORTEST_HOLD)
}

/// The SINR whose capacity is the mean capacity of frequencies with these powers, a multiple of
/// [`LANES`].
fn effective_sinr(mean: f64, powers: &[f32]) -> f64 {
    let n = powers.len() as f64;
    if mean < LINEAR_BELOW {
        return mean * powers.iter().map(|&power| f64::from(power)).sum::<f64>() / n;
    }
    // products, of up to 16 frequencies, to take few logarithms
    let mean = mean.min(GREATEST_SINR);
    let mut products = [1f64; LANES];
    for group in powers.chunks_exact(LANES) {
        for (product, &power) in products.iter_mut().zip(group) {
            *product *= 1.0 + mean * f64::from(power);
        }
    }
    let [a, b, c, d] = products;
    (((a * b).ln() + (c * d).ln()) / n).exp_m1()
}

#[cfg(test)]
mod tests;
