//! Axes: their ranges, and from a value to a place. Ticks are chosen where they are drawn.

/// What an axis counts; decides how its numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// bit/s, with a decimal prefix.
    BitRate,
    /// Bytes, with a decimal prefix.
    Bytes,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// A plain number, with the word for what it counts.
    Count(&'static str),
    /// A share, 0 to 1, shown in percent.
    Share,
}

impl Unit {
    /// The divisor and the unit's name that suit values up to `max`.
    pub(crate) fn at(self, max: f64) -> (f64, &'static str) {
        const RATES: [(f64, &str); 4] = [
            (1e9, "Gbit/s"),
            (1e6, "Mbit/s"),
            (1e3, "kbit/s"),
            (1.0, "bit/s"),
        ];
        const BYTES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
        let of = |steps: [(f64, &'static str); 4]| {
            steps
                .into_iter()
                .find(|(factor, _)| max >= *factor)
                .unwrap_or(steps[3])
        };
        match self {
            Self::BitRate => of(RATES),
            Self::Bytes => of(BYTES),
            Self::Milliseconds => (1.0, "ms"),
            Self::Seconds => (1.0, "s"),
            Self::Count(name) => (1.0, name),
            Self::Share => (0.01, "%"),
        }
    }

    /// A value with its unit, e.g. `12.5 Mbit/s`.
    pub(crate) fn show(self, value: f64) -> String {
        let (factor, name) = self.at(value.abs());
        let text = crate::text::number(value / factor);
        if name.is_empty() {
            text
        } else {
            format!("{text} {name}")
        }
    }
}

/// An axis' range and how values are spread over it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Evenly, from the first to the second.
    Linear(f64, f64),
    /// By the logarithm; both ends above zero.
    Log(f64, f64),
}

/// The step of 1, 2 or 5 times a power of ten that cuts `range` into at most `most` parts.
fn nice_step(range: f64, most: f64) -> f64 {
    let raw = range / most;
    let decade = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|f| f * decade >= raw * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * decade
}

impl Scale {
    /// From zero to a round number not below `max`.
    pub(crate) fn from_zero(max: f64) -> Self {
        let max = if max.is_finite() && max > 0.0 {
            max
        } else {
            1.0
        };
        let step = nice_step(max, 5.0);
        Self::Linear(0.0, (max / step - 1e-9).ceil() * step)
    }

    /// Logarithmic over `[min, max]`, rounded outwards to 1, 2 or 5 times a power of ten; never more
    /// than seven decades, the topmost.
    pub(crate) fn logarithmic(min: f64, max: f64) -> Self {
        let max = if max.is_finite() && max > 0.0 {
            max
        } else {
            1.0
        };
        let min = if min.is_finite() && min > 0.0 {
            min.min(max)
        } else {
            max / 10.0
        };
        let low = round_125(min.max(max / 1e7), false);
        let high = round_125(max, true);
        if high > low * 1.5 {
            Self::Log(low, high)
        } else {
            Self::Log(low, low * 10.0)
        }
    }

    /// Both ends.
    pub(crate) fn range(self) -> (f64, f64) {
        match self {
            Self::Linear(a, b) | Self::Log(a, b) => (a, b),
        }
    }

    /// Where a value lies, 0 to 1; outside values are put at the ends.
    pub(crate) fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear(a, b) => (value - a) / (b - a),
            Self::Log(a, b) => (value.max(a) / a).ln() / (b / a).ln(),
        };
        if place.is_nan() {
            0.0
        } else {
            place.clamp(0.0, 1.0)
        }
    }
}

fn round_125(value: f64, up: bool) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|f| f * decade);
    let near = |step: &f64| (step / value - 1.0).abs() < 1e-9;
    if let Some(step) = steps.iter().find(|s| near(s)) {
        return *step;
    }
    if up {
        steps.into_iter().find(|s| *s >= value).unwrap_or(value)
    } else {
        steps
            .into_iter()
            .rev()
            .find(|s| *s <= value)
            .unwrap_or(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_end_at_round_numbers() {
        let scale = Scale::from_zero(847.0);
        assert_eq!(scale, Scale::Linear(0.0, 1000.0));
        assert_eq!(scale.place(500.0), 0.5);
        assert_eq!(Scale::from_zero(0.0), Scale::Linear(0.0, 1.0));
        assert_eq!(Scale::logarithmic(1.7, 42.0), Scale::Log(1.0, 50.0));
        let wide = Scale::logarithmic(1e3, 1e7);
        assert!((wide.place(1e5) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn units_take_the_prefix_that_suits() {
        assert_eq!(Unit::BitRate.show(12_345_678.0), "12.35 Mbit/s");
        assert_eq!(Unit::Bytes.show(999.0), "999.0 B");
        assert_eq!(Unit::Share.show(0.5), "50.00 %");
    }

    proptest! {
        #[test]
        fn every_axis_holds_its_values(
            min in 1e-9f64..1e12, factor in 1.0f64..1e9, log: bool
        ) {
            let max = min * factor;
            let scale = if log { Scale::logarithmic(min, max) } else { Scale::from_zero(max) };
            let (low, high) = scale.range();
            prop_assert!(high >= max * (1.0 - 1e-6) && low < high);
        }

        #[test]
        fn places_rise_with_values(a in -1e12f64..1e12, b in -1e12f64..1e12, max in 1e-6f64..1e12) {
            let (low, high) = (a.min(b), a.max(b));
            for scale in [Scale::from_zero(max), Scale::logarithmic(max / 100.0, max)] {
                prop_assert!(scale.place(low) <= scale.place(high));
                prop_assert!((0.0..=1.0).contains(&scale.place(a)));
            }
        }
    }
}
