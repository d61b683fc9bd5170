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
//! profile is needed with its usual Doppler (EPA 5 Hz, EVA 5 or 70 Hz, ETU 70 or 300 Hz) whatever
//! the movement is, the field is crossed at that Doppler's speed.
//!
//! The taps give the powers of 8 or 16 frequencies (see `response`), and these one effective SINR (see
//! `effective`).
//!
//! A value holds for a while and is that of the middle of this while. The while is 1/40 of a
//! wavelength (or Doppler period) where that takes 2 ms or more; faster movement has 2 ms, but at
//! most a sixth of a wavelength, 0.4 of the usual coherence time 0.423 / f_D. It is 62.5 us times a
//! power of two, so that slots begin where values do: where a slot lasts as long as a value, each
//! slot has the value of its middle. So a value is at most 1/12 wavelength off, correlation
//! J0(2 pi / 12) = 0.933. No value holds shorter than 62.5 us, half of the shortest slot in use.
//!
//! *Deviations.* One antenna at each end. The constant ray of `street-canyon` has the median K, not
//! one drawn for each link; cluster angles and delays do not drift with movement. With a fixed
//! Doppler the constant ray is at 0.7 of it (as in TR 38.901 7.7.2, TDL-D and -E).

mod effective;
mod groups;
mod profile;
mod response;
mod turns;
mod waves;

use super::geometry::Position;
use super::path_loss::Sight;
use crate::name::UnknownName;
use core::fmt;
use core::str::FromStr;
use effective::Mean;
use groups::GroupResponse;
use profile::Profile;
use response::{Powers, Response};
use turns::turned_one;
use units::{Duration, Hertz, Instant, Rng};
use waves::{Course, Waves};

/// Wavelengths that a value holds for: in slow movement, and at most.
const FINE_HOLD: f64 = 0.025;
const COARSE_HOLD: f64 = 1.0 / 6.0;
/// Movement is slow where a fine hold takes so long.
const SLOW: Duration = Duration::from_millis(2);
/// Values hold at least this long, or twice, four times ... as long.
const MIN_HOLD: Duration = Duration::from_nanos(62_500);
/// Doppler of the constant ray over the greatest, if Doppler is fixed.
const SPECULAR_DOPPLER: f64 = 0.7;

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

/// The fading of one link.
#[derive(Clone, Debug)]
pub(super) struct FadingProcess {
    doppler: Doppler,
    /// m.
    wavelength: f64,
    /// With and without line of sight.
    responses: [Response; 2],
    /// The same of groups of PRBs, where the carrier is divided.
    groups: Option<[GroupResponse; 2]>,
    profiles: [Profile; 2],
    waves: Waves,
    /// Turns of the constant ray.
    specular_phase: f64,
    movement: Movement,
    /// Time from one value to the next on this movement: so many doublings of the shortest; none at
    /// rest.
    doublings: Option<u32>,
    /// The last value, and the one that is expected next.
    values: [Value; 2],
    /// Which of them is the last.
    last: usize,
    mean: Mean,
}

/// Powers |H|^2 of the frequencies.
#[derive(Clone, Debug)]
struct Value {
    powers: Powers,
    /// Of groups of PRBs, where the carrier is divided.
    groups: Vec<f32>,
    /// What they are for: the number of the value, with or without line of sight. None: for nothing.
    of: Option<(u64, Sight)>,
}

impl Value {
    const NONE: Self = Self {
        powers: Powers::ZERO,
        groups: Vec::new(),
        of: None,
    };
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
        let [line, no_line] = profiles.map(Profile::strongest_first);
        let waves = Waves::new(line.taps.len(), &mut rng);
        let of_line = Response::new(&line, bandwidth);
        let of_no_line = if line == no_line {
            of_line.clone()
        } else {
            Response::new(&no_line, bandwidth)
        };
        let wavelength = super::geometry::LIGHT / carrier.get() as f64;
        let origin = Position::at(0.0, 0.0);
        let mut this = Self {
            doppler,
            wavelength,
            responses: [of_line, of_no_line],
            groups: None,
            profiles: [line, no_line],
            waves,
            specular_phase: rng.uniform(),
            movement: Movement {
                start: Instant::ZERO,
                from: origin,
                velocity: (0.0, 0.0),
                base: origin,
                height: 0.0,
            },
            doublings: None,
            values: [Value::NONE; 2],
            last: 0,
            mean: Mean::new(0.0),
        };
        if let Doppler::Fixed(doppler) = doppler {
            this.follow(Movement {
                velocity: (doppler.get() as f64 * wavelength, 0.0),
                ..this.movement
            });
        }
        Ok(Some(this))
    }

    /// Divides the carrier into groups whose middles are so far from its own, Hz.
    pub fn divide(&mut self, offsets: &[f64]) {
        let of = |profile| GroupResponse::new(profile, offsets);
        self.groups = Some(self.profiles.each_ref().map(of));
        self.values = [Value::NONE; 2];
    }

    /// Powers of the groups at the time last requested; none where the carrier is not divided.
    pub fn group_powers(&self) -> &[f32] {
        &self.values[self.last].groups
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
        self.doublings = (speed > 0.0).then(|| doublings(self.wavelength / speed));
        let seconds = self.seconds();
        // values are numbered from time zero on, as if the UE had always moved like this
        let before = movement.start.as_secs_f64();
        let from = Position::at(movement.from.x - vx * before, movement.from.y - vy * before);
        let in_wavelengths = |metres: f64| metres / self.wavelength;
        let step = (in_wavelengths(vx * seconds), in_wavelengths(vy * seconds));
        // values are those of the middle of their step
        let first = (
            in_wavelengths(from.x) + step.0 / 2.0,
            in_wavelengths(from.y) + step.1 / 2.0,
        );
        self.movement = Movement { from, ..movement };
        self.waves.set_course(Course { from: first, step });
        self.values = [Value::NONE; 2];
    }

    /// Seconds from one value to the next; zero at rest.
    fn seconds(&self) -> f64 {
        let step = self.doublings.map(|doublings| MIN_HOLD * (1 << doublings));
        step.map_or(0.0, Duration::as_secs_f64)
    }

    /// The number of the value that holds at a time, and until when it does.
    fn number(&self, at: Instant) -> (u64, Instant) {
        match self.doublings {
            None => (0, Instant::MAX),
            Some(doublings) => {
                let number = (at.since_start() / MIN_HOLD) >> doublings;
                let next = MIN_HOLD * ((number + 1) << doublings);
                (number, Instant::ZERO + next)
            }
        }
    }

    /// Effective SINR in dB at a time for a mean SINR (linear, >= 0), and until when fading stays.
    /// Times do not decrease, and are not before the movement.
    ///
    /// The value after the next such interval is worked out ahead: each value is a long chain of
    /// operations, and a processor works on two of them in little more than the time of one. That
    /// another one is requested costs time, and changes nothing.
    pub fn effective_sinr(&mut self, at: Instant, sight: Sight, mean: f64) -> (f64, Instant) {
        let (number, until) = self.number(at);
        if self.mean.sinr() != mean {
            self.mean = Mean::new(mean);
        }
        let before = self.values[self.last].of;
        if before == Some((number, sight)) {
            return (self.mean.effective(&self.values[self.last].powers), until);
        }
        let other = 1 - self.last;
        if self.values[other].of != Some((number, sight)) {
            self.compute(other, number, sight);
        }
        self.last = other;
        let effective = self.mean.effective(&self.values[other].powers);
        if self.doublings.is_some() {
            let interval = before.map_or(0, |(before, _)| number.saturating_sub(before));
            self.compute(1 - other, number + interval.max(1), sight);
        }
        (effective, until)
    }

    fn compute(&mut self, value: usize, number: u64, sight: Sight) {
        let gains = self.waves.gains(number);
        let response = &self.responses[usize::from(sight == Sight::NoLine)];
        let ray = if response.is_specular() {
            turned_one(self.specular_turns(number))
        } else {
            (0.0, 0.0)
        };
        let value = &mut self.values[value];
        response.powers(&gains, ray, &mut value.powers);
        if let Some(groups) = &self.groups {
            groups[usize::from(sight == Sight::NoLine)].powers(&gains, ray, &mut value.groups);
        }
        value.of = Some((number, sight));
    }

    /// Phase of the constant ray at a value: the length of the direct path.
    fn specular_turns(&self, number: u64) -> f64 {
        let seconds = self.seconds();
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

/// How many times the shortest hold is doubled where a wavelength takes so many seconds.
fn doublings(wavelength: f64) -> u32 {
    let fine = Duration::from_secs_f64(FINE_HOLD * wavelength);
    let coarse = Duration::from_secs_f64(COARSE_HOLD * wavelength);
    let max = fine.max(SLOW.min(coarse));
    (max / MIN_HOLD).checked_ilog2().unwrap_or(0)
}

#[cfg(test)]
mod tests;
