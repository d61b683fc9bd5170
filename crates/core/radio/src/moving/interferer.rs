//! A fixed interferer that comes and goes: bursts of low SINR, and so of loss.
//!
//! It is on and off in turn, each time for an exponential time (a two-state Markov process, as
//! Gilbert's loss model in continuous time); at the beginning it is on with the stationary
//! probability `mean_on` / (`mean_on` + `mean_off`). While it is on, its power adds to the noise of
//! the whole carrier: SINR = S / (N + I).

use super::geometry::{Metres, Position};
use super::link_budget::{Dbm, LinkBudgetError, checked_power};
use units::{Duration, Instant, Rng};

/// How strong it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InterfererPower {
    /// So much in the UE's bandwidth, wherever the UE is.
    Received(Dbm),
    /// A transmitter at a place, in_range over the UE's path loss model with line of sight.
    Transmitted {
        /// Its place.
        place: Position,
        /// Height of its antenna.
        height: Metres,
        /// Power and antenna gain, in the UE's bandwidth.
        power: Dbm,
    },
}

/// An interferer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterfererConfig {
    /// How strong it is.
    pub power: InterfererPower,
    /// Mean time that it is on, above zero.
    pub mean_on: Duration,
    /// Mean time that it is off; zero: it is always on.
    pub mean_off: Duration,
}

/// Why an interferer cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InterfererError {
    /// It is never on.
    #[error("the interferer is on for {mean_on} on average; choose at least 1 us")]
    NeverOn {
        /// What was given.
        mean_on: Duration,
    },
    /// It is off for a time too short to follow.
    #[error(
        "the interferer is off for {mean_off} on average; choose at least 1 us, or zero for one that is always on"
    )]
    Off {
        /// What was given.
        mean_off: Duration,
    },
    /// Its power is none.
    #[error(transparent)]
    Power(#[from] LinkBudgetError),
}

/// Shorter mean times are refused: their changes could not be followed.
const MIN_MEAN_TIME: Duration = Duration::from_micros(1);

/// When an interferer is on.
#[derive(Clone, Debug)]
pub struct Interferer {
    mean_on: Duration,
    mean_off: Duration,
    rng: Rng,
    on: bool,
    /// When it changes next.
    change: Instant,
}

impl Interferer {
    /// An interferer in its stationary distribution.
    ///
    /// # Errors
    /// Mean times of less than 1 us, a power that is none.
    pub fn new(config: InterfererConfig, rng: Rng) -> Result<Self, InterfererError> {
        config.check()?;
        Self::timed(config.mean_on, config.mean_off, rng)
    }

    /// One in its stationary distribution of which only the times count: how long it is on and off
    /// on average (zero: never off).
    ///
    /// # Errors
    /// Mean times of less than 1 us.
    pub fn timed(
        mean_on: Duration,
        mean_off: Duration,
        mut rng: Rng,
    ) -> Result<Self, InterfererError> {
        Self::check_times(mean_on, mean_off)?;
        let on = rng.chance(mean_on.ratio(mean_on + mean_off));
        let mut this = Self {
            mean_on,
            mean_off,
            rng,
            on,
            change: Instant::ZERO,
        };
        this.change = this.after(Instant::ZERO);
        Ok(this)
    }

    /// Whether [`Self::timed`] takes these times.
    ///
    /// # Errors
    /// Mean times of less than 1 us.
    pub fn check_times(mean_on: Duration, mean_off: Duration) -> Result<(), InterfererError> {
        if mean_on < MIN_MEAN_TIME {
            return Err(InterfererError::NeverOn { mean_on });
        }
        if !mean_off.is_zero() && mean_off < MIN_MEAN_TIME {
            return Err(InterfererError::Off { mean_off });
        }
        Ok(())
    }

    /// The end of the state that begins at a time.
    fn after(&mut self, begin: Instant) -> Instant {
        let mean = match (self.on, self.mean_off) {
            (true, Duration::ZERO) => return Instant::MAX,
            (true, _) => self.mean_on,
            (false, mean_off) => mean_off,
        };
        let lasts = mean.mul_f64(self.rng.exponential());
        begin + lasts + Duration::from_nanos(1)
    }

    /// Whether it is on at a time, and until when that holds. Called with non-decreasing times.
    pub fn on(&mut self, at: Instant) -> (bool, Instant) {
        while self.change <= at {
            self.on = !self.on;
            self.change = self.after(self.change);
        }
        (self.on, self.change)
    }
}

impl InterfererConfig {
    pub(super) fn check(&self) -> Result<(), InterfererError> {
        Interferer::check_times(self.mean_on, self.mean_off)?;
        let (InterfererPower::Received(power) | InterfererPower::Transmitted { power, .. }) =
            self.power;
        Ok(checked_power("power of the interferer", power)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    fn interferer(on_us: u64, off_us: u64) -> Result<Interferer, InterfererError> {
        let config = InterfererConfig {
            power: InterfererPower::Received(Dbm::new(-80.0)),
            mean_on: Duration::from_micros(on_us),
            mean_off: Duration::from_micros(off_us),
        };
        Interferer::new(config, Streams::new(2).stream("interferer"))
    }

    /// Bursts of 4 ms on average, on for 4 / 500 = 0.8 % of the time. With n bursts the standard
    /// error of both is a share 1 / sqrt(n) and sqrt(2 / n).
    #[test]
    fn share_and_length_of_bursts() {
        let mut interferer = interferer(4_000, 496_000).unwrap();
        let (mut at, mut total_on, mut bursts) = (Instant::ZERO, 0.0, 0u32);
        while bursts < 5_000 {
            let (on, until) = interferer.on(at);
            assert!(until > at);
            if on {
                total_on += (until - at).as_secs_f64();
                bursts += 1;
            }
            at = until;
        }
        let length = total_on / f64::from(bursts);
        assert!(
            (length / 4e-3 - 1.0).abs() < 4.0 / 5_000f64.sqrt(),
            "{length}"
        );
        let share = total_on / at.as_secs_f64();
        assert!(
            (share / 0.008 - 1.0).abs() < 4.0 * (2.0 / 5_000f64).sqrt(),
            "{share}"
        );
    }

    #[test]
    fn the_answer_follows_from_the_time_alone() {
        let (mut often, mut seldom) =
            (interferer(500, 700).unwrap(), interferer(500, 700).unwrap());
        for ms in 0..2_000u64 {
            let at = Instant::from_nanos(ms * 100_000);
            let seen = often.on(at);
            if ms % 17 == 0 {
                assert_eq!(seldom.on(at), seen);
            }
        }
    }

    #[test]
    fn always_on() {
        let mut interferer = interferer(1_000, 0).unwrap();
        assert_eq!(interferer.on(Instant::from_nanos(5)), (true, Instant::MAX));
    }

    #[test]
    fn impossible_values_are_refused() {
        assert!(matches!(
            interferer(0, 10),
            Err(InterfererError::NeverOn { .. })
        ));
        let config = InterfererConfig {
            power: InterfererPower::Received(Dbm::new(f64::NAN)),
            mean_on: Duration::from_millis(1),
            mean_off: Duration::from_millis(1),
        };
        assert!(matches!(config.check(), Err(InterfererError::Power(_))));
        let config = InterfererConfig {
            power: InterfererPower::Received(Dbm::new(-80.0)),
            mean_off: Duration::from_nanos(10),
            ..config
        };
        assert!(matches!(config.check(), Err(InterfererError::Off { .. })));
    }
}
