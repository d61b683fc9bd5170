//! Event A3: a neighbour becomes better than the serving cell by an offset (TS 36.331 5.5.4.4, TS 38.331 5.5.4.4).
//!
//! Entering condition A3-1: Mn + Ofn + Ocn - Hys > Mp + Ofp + Ocp + Off. Leaving condition A3-2: Mn + Ofn + Ocn + Hys < Mp +
//! Ofp + Ocp + Off. The entering condition must hold for all filtered measurements during timeToTrigger (5.5.4.1).
//!
//! *Deviations*: the offsets of frequencies and cells (Ofn, Ocn, Ofp, Ocp) are zero.

use crate::filter::Rsrp;
use units::{Decibel, Duration, Instant};

/// What event A3 is configured with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct A3Config {
    offset: Decibel,
    hysteresis: Decibel,
    time_to_trigger: Duration,
}

/// An A3 that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum A3Error {
    /// A hysteresis below zero, or none.
    #[error("the hysteresis is {given}; choose 0 dB or more")]
    Hysteresis {
        /// What was given.
        given: Decibel,
    },
    /// An offset that is no number.
    #[error("the offset is {given}; choose a finite number of dB")]
    Offset {
        /// What was given.
        given: Decibel,
    },
}

impl A3Config {
    /// a3-Offset, hysteresis and timeToTrigger. The standard has the last two in steps: any that are not negative are accepted.
    ///
    /// # Errors
    /// A hysteresis below zero; numbers that are not finite.
    pub fn new(
        offset: Decibel,
        hysteresis: Decibel,
        time_to_trigger: Duration,
    ) -> Result<Self, A3Error> {
        if !offset.get().is_finite() {
            return Err(A3Error::Offset { given: offset });
        }
        if !hysteresis.get().is_finite() || hysteresis.get() < 0.0 {
            return Err(A3Error::Hysteresis { given: hysteresis });
        }
        Ok(Self {
            offset,
            hysteresis,
            time_to_trigger,
        })
    }

    /// A3-1.
    fn is_entering(&self, serving: Rsrp, neighbour: Rsrp) -> bool {
        neighbour.as_dbm() - self.hysteresis.get() > serving.as_dbm() + self.offset.get()
    }

    /// A3-2.
    fn is_leaving(&self, serving: Rsrp, neighbour: Rsrp) -> bool {
        neighbour.as_dbm() + self.hysteresis.get() < serving.as_dbm() + self.offset.get()
    }
}

/// The event of one neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct A3 {
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The neighbour is not better.
    #[default]
    Out,
    /// The entering condition has held since the measurements before; the event triggers then.
    Entering(Instant),
    /// The event has triggered, and the leaving condition has not held since.
    In,
}

impl A3 {
    /// Filtered measurements have come.
    pub fn on_measurement(
        &mut self,
        config: &A3Config,
        now: Instant,
        serving: Rsrp,
        neighbour: Rsrp,
    ) {
        self.state = match self.state {
            State::Out if config.is_entering(serving, neighbour) => {
                State::Entering(now + config.time_to_trigger)
            }
            State::Entering(_) if !config.is_entering(serving, neighbour) => State::Out,
            State::In if config.is_leaving(serving, neighbour) => State::Out,
            unchanged => unchanged,
        };
    }

    /// When it triggers if no measurement comes before.
    pub fn triggers_at(&self) -> Option<Instant> {
        match self.state {
            State::Entering(at) => Some(at),
            State::Out | State::In => None,
        }
    }

    /// True once, as its time to trigger has passed.
    pub fn triggers(&mut self, now: Instant) -> bool {
        let is_due = self.triggers_at().is_some_and(|at| at <= now);
        if is_due {
            self.state = State::In;
        }
        is_due
    }

    /// Whether it has triggered and still holds.
    pub fn holds(&self) -> bool {
        self.state == State::In
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }
    fn config(offset: f64, hysteresis: f64, ttt_ms: u64) -> A3Config {
        let ttt = Duration::from_millis(ttt_ms);
        A3Config::new(Decibel::new(offset), Decibel::new(hysteresis), ttt).unwrap()
    }
    const SERVING: Rsrp = Rsrp::from_dbm(-90.0);

    #[test]
    fn entering_condition_a3_1() {
        let config = config(3.0, 1.0, 0);
        assert!(
            !config.is_entering(SERVING, Rsrp::from_dbm(-86.0)),
            "strictly more"
        );
        assert!(config.is_entering(SERVING, Rsrp::from_dbm(-85.9)));
    }

    #[test]
    fn leaving_condition_a3_2() {
        let config = config(3.0, 1.0, 0);
        assert!(
            !config.is_leaving(SERVING, Rsrp::from_dbm(-88.0)),
            "strictly less"
        );
        assert!(config.is_leaving(SERVING, Rsrp::from_dbm(-88.1)));
    }

    #[test]
    fn it_triggers_once_as_the_condition_has_held_for_its_time() {
        let config = config(3.0, 1.0, 160);
        let mut a3 = A3::default();
        a3.on_measurement(&config, ms(0), SERVING, Rsrp::from_dbm(-80.0));
        assert!(!a3.triggers(ms(159)));
        // a single measurement that is not better begins anew
        a3.on_measurement(&config, ms(159), SERVING, Rsrp::from_dbm(-86.0));
        assert_eq!(a3.triggers_at(), None);
        a3.on_measurement(&config, ms(200), SERVING, Rsrp::from_dbm(-80.0));
        assert_eq!(a3.triggers_at(), Some(ms(360)));
        assert!(a3.triggers(ms(360)));
        assert!(!a3.triggers(ms(400)));
        // between the two conditions it stays
        a3.on_measurement(&config, ms(400), SERVING, Rsrp::from_dbm(-87.0));
        assert!(a3.holds());
        a3.on_measurement(&config, ms(600), SERVING, Rsrp::from_dbm(-89.0));
        assert!(!a3.holds());
    }

    #[test]
    fn a_hysteresis_below_zero_is_refused() {
        let given = Decibel::new(-1.0);
        let refused = A3Config::new(Decibel::new(3.0), given, Duration::ZERO);
        assert_eq!(refused, Err(A3Error::Hysteresis { given }));
    }
}
