//! The range of an axis, and where its values stand on it.

use super::Scale;
use core::ops::Range;

/// A range on an axis: of values, or of their decimal logarithms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    scale: Scale,
    range: Range<f64>,
}

/// What is farther from zero is no measurement.
const FARTHEST: f64 = 1e18;

/// The range that holds these values: from zero, or whole powers of ten. What cannot stand on the
/// axis is left out.
pub(super) fn span(scale: Scale, values: impl Iterator<Item = f64>) -> Span {
    let shown = |v: &f64| v.abs() < FARTHEST && (scale != Scale::Logarithmic || *v > 0.0);
    let values: Vec<f64> = values.filter(shown).collect();
    let most = values.iter().copied().reduce(f64::max);
    let range = match (scale, most) {
        (Scale::Share, _) | (_, None) => 0.0..1.0,
        (Scale::Linear, Some(most)) => {
            let least = values.iter().copied().fold(0.0, f64::min);
            // a little room above the highest
            let room = 0.05 * (most - least);
            match most > least {
                true => least..most + room,
                false => least..least + (least.abs() * 0.05).max(1.0),
            }
        }
        (Scale::Close, Some(most)) => {
            let least = values.iter().copied().fold(most, f64::min);
            let room = 0.05 * (most - least);
            // all values are one, or so near that no number lies between them
            match most + room > least - room {
                true => least - room..most + room,
                false => {
                    least - (least.abs() * 0.05).max(1.0)..least + (least.abs() * 0.05).max(1.0)
                }
            }
        }
        (Scale::Logarithmic, Some(most)) => {
            let least = values.iter().copied().fold(most, f64::min);
            let (low, high) = (least.log10().floor(), most.log10().ceil());
            low..high.max(low + 1.0)
        }
    };
    Span { scale, range }
}

impl Span {
    /// True if bars stand on it: it is even and holds zero.
    pub(super) fn has_floor(&self) -> bool {
        self.scale == Scale::Linear
    }

    /// Room for so many conditions beside one another.
    pub(super) fn conditions(count: usize) -> Self {
        Self {
            scale: Scale::Linear,
            range: -0.5..count as f64 - 0.5,
        }
    }

    pub(super) fn range(&self) -> Range<f64> {
        self.range.clone()
    }

    /// Where a value stands; none if it cannot.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let at = match self.scale {
            Scale::Linear | Scale::Close | Scale::Share => value,
            Scale::Logarithmic => value.log10(),
        };
        at.is_finite()
            .then(|| at.clamp(self.range.start, self.range.end))
    }

    /// How many marks are needed.
    pub(super) fn marks(&self) -> usize {
        match self.scale {
            Scale::Linear | Scale::Close | Scale::Share => 6,
            Scale::Logarithmic => (self.range.end - self.range.start) as usize + 1,
        }
    }

    /// What is written at a place.
    pub(super) fn label(&self, at: f64) -> String {
        match self.scale {
            Scale::Linear | Scale::Close | Scale::Share => plain(at),
            Scale::Logarithmic if (at - at.round()).abs() < 1e-6 => plain(10f64.powf(at.round())),
            Scale::Logarithmic => String::new(),
        }
    }
}

/// A number without zeros at its end.
fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn linear_axes_begin_at_zero_and_have_room_above() {
        let s = span(Scale::Linear, [3.0, 100.0, f64::NAN].into_iter());
        assert_eq!(s.range(), 0.0..105.0);
        assert_eq!(s.place(50.0), Some(50.0));
        assert_eq!(span(Scale::Linear, [0.0].into_iter()).range(), 0.0..1.0);
        assert_eq!(
            span(Scale::Linear, [-5.0, 15.0].into_iter()).range().start,
            -5.0
        );
    }

    #[test]
    fn logarithmic_axes_have_whole_decades() {
        let s = span(Scale::Logarithmic, [0.0, 12.0, 4801.0].into_iter());
        assert_eq!(s.range(), 1.0..4.0);
        assert_eq!(
            (s.marks(), s.label(2.0), s.label(2.5)),
            (4, "100".to_owned(), String::new())
        );
        assert_eq!(s.place(100.0), Some(2.0));
        assert_eq!(s.place(0.0), None);
        assert_eq!(
            span(Scale::Logarithmic, [10.0].into_iter()).range(),
            1.0..2.0
        );
    }

    #[test]
    fn shares_stand_between_none_and_all() {
        let s = span(Scale::Share, [0.2, 0.7].into_iter());
        assert_eq!((s.range(), s.place(0.5)), (0.0..1.0, Some(0.5)));
    }

    #[test]
    fn close_axes_begin_at_the_least_value() {
        let s = span(Scale::Close, [0.98, 1.0].into_iter()).range();
        assert!(
            (s.start - 0.979).abs() < 1e-9 && (s.end - 1.001).abs() < 1e-9,
            "{s:?}"
        );
        assert_eq!(span(Scale::Close, [40.0].into_iter()).range(), 38.0..42.0);
    }

    #[test]
    fn conditions_stand_at_whole_numbers_with_room_around_them() {
        assert_eq!(Span::conditions(5).range(), -0.5..4.5);
    }

    proptest! {
        #[test]
        fn any_values_have_a_range(values in prop::collection::vec(any::<f64>(), 0..5), kind in 0..4) {
            let scale = [Scale::Logarithmic, Scale::Linear, Scale::Close, Scale::Share][kind as usize];
            let range = span(scale, values.into_iter()).range();
            prop_assert!(range.end > range.start && range.end.is_finite(), "{range:?}");
        }
    }
}
