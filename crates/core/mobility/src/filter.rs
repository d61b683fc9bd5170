//! The layer 3 filter of measurements (TS 36.331 5.5.3.2, TS 38.331 5.5.3.2).
//!
//! F_n = (1 - a) F_(n-1) + a M_n with a = 1/2^(k/4), k the filterCoefficient, in the logarithmic domain; F_0 is the first
//! measurement. k is for a sample each 200 ms; where samples come at another period, a is changed so that the filter's
//! characteristics in time stay: 1 - a becomes (1 - a)^(period / 200 ms).

use units::Duration;

/// The period that filterCoefficient is for.
const FILTER_PERIOD: Duration = Duration::from_millis(200);

/// Reference signal received power, dBm; where users are compared by another trigger quantity (TS 38.331 5.5.4: SINR), that, dB.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rsrp(f64);

impl Rsrp {
    /// So many decibel over 1 mW.
    pub const fn from_dbm(dbm: f64) -> Self {
        Self(dbm)
    }

    /// In decibel over 1 mW.
    pub const fn as_dbm(self) -> f64 {
        self.0
    }
}

/// filterCoefficient: how strong the filter is (TS 36.331 6.3.5, TS 38.331 6.3.2: fc0 to fc19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterCoefficient(u8);

/// A filterCoefficient that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the filter coefficient is {given}; the standard has 0 to 9, 11, 13, 15, 17 and 19")]
pub struct FilterError {
    /// What was given.
    pub given: u8,
}

impl FilterCoefficient {
    /// The values that the standard has.
    pub const VALUES: [u8; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17, 19];

    /// The coefficient k.
    ///
    /// # Errors
    /// A value that the standard does not have.
    pub fn new(k: u8) -> Result<Self, FilterError> {
        match Self::VALUES.contains(&k) {
            true => Ok(Self(k)),
            false => Err(FilterError { given: k }),
        }
    }

    /// The weight a of a measurement, where they come at this period.
    fn weight(self, period: Duration) -> f64 {
        let a = 0.5f64.powf(f64::from(self.0) / 4.0);
        1.0 - (1.0 - a).powf(period.ratio(FILTER_PERIOD))
    }
}

/// The filter of one cell's measurements.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    weight: f64,
    filtered: Option<f64>,
}

impl Filter {
    /// Without a measurement, of which one comes each period.
    pub fn new(coefficient: FilterCoefficient, period: Duration) -> Self {
        Self {
            weight: coefficient.weight(period),
            filtered: None,
        }
    }

    /// Takes a measurement; gives what is filtered.
    pub fn update(&mut self, measured: Rsrp) -> Rsrp {
        let filtered = match self.filtered {
            None => measured.0,
            Some(before) => (1.0 - self.weight) * before + self.weight * measured.0,
        };
        self.filtered = Some(filtered);
        Rsrp(filtered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(k: u8, period_ms: u64) -> Filter {
        let coefficient = FilterCoefficient::new(k).unwrap();
        Filter::new(coefficient, Duration::from_millis(period_ms))
    }

    #[test]
    fn layer_3_filter_of_ts_36_331_section_5_5_3_2() {
        // k = 4: a = 1/2
        let mut fc4 = filter(4, 200);
        assert_eq!(fc4.update(Rsrp(-80.0)), Rsrp(-80.0));
        assert_eq!(fc4.update(Rsrp(-100.0)), Rsrp(-90.0));
        assert_eq!(fc4.update(Rsrp(-100.0)), Rsrp(-95.0));
        // k = 8: a = 1/4
        let mut fc8 = filter(8, 200);
        fc8.update(Rsrp(-80.0));
        assert_eq!(fc8.update(Rsrp(-100.0)), Rsrp(-85.0));
        // k = 0: no filtering
        let mut fc0 = filter(0, 40);
        fc0.update(Rsrp(-80.0));
        assert_eq!(fc0.update(Rsrp(-100.0)), Rsrp(-100.0));
    }

    #[test]
    fn a_shorter_period_keeps_the_characteristics_in_time() {
        let (mut slow, mut fast) = (filter(4, 200), filter(4, 40));
        slow.update(Rsrp(0.0));
        fast.update(Rsrp(0.0));
        let after = |filter: &mut Filter, samples: u32| {
            (0..samples).map(|_| filter.update(Rsrp(-10.0)).0).last()
        };
        let (slow, fast) = (after(&mut slow, 2).unwrap(), after(&mut fast, 10).unwrap());
        assert!((slow - fast).abs() < 1e-9, "{slow} and {fast}");
    }

    #[test]
    fn coefficients_are_those_of_the_standard() {
        assert_eq!(FilterCoefficient::new(10), Err(FilterError { given: 10 }));
        assert!(
            FilterCoefficient::VALUES
                .iter()
                .all(|&k| FilterCoefficient::new(k).is_ok())
        );
    }
}
