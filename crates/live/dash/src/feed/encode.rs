//! Messages as JSON text.

use std::fmt::Write as _;

/// A number by six significant digits; whole numbers as they are; what is no number as null.
pub(super) fn number(text: &mut String, value: f64) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    // writing to a text cannot fail
    let _ = if !value.is_finite() {
        write!(text, "null")
    } else if value.fract() == 0.0 && value.abs() < EXACT {
        write!(text, "{}", value as i64)
    } else {
        write!(text, "{}", significant(value))
    };
}

/// The value by six significant digits.
pub(super) fn significant(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 5 - value.abs().log10().floor() as i32;
    if (-15..=15).contains(&digits) {
        let scale = 10_f64.powi(digits.abs());
        match digits >= 0 {
            true => (value * scale).round() / scale,
            false => (value / scale).round() * scale,
        }
    } else {
        value
    }
}

/// A text in quotation marks.
pub(super) fn string(text: &mut String, value: &str) {
    text.push_str(&serde_json::Value::from(value).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(value: f64) -> String {
        let mut text = String::new();
        number(&mut text, value);
        text
    }

    #[test]
    fn numbers_are_short_and_never_invalid() {
        assert_eq!(shown(23.123_456_789), "23.1235");
        assert_eq!(shown(0.000_123_456_7), "0.000123457");
        assert_eq!(shown(1_234_567_890.0), "1234567890");
        assert_eq!(shown(-0.0), "0");
        assert_eq!(shown(f64::NAN), "null");
        assert_eq!(shown(f64::INFINITY), "null");
    }

    proptest! {
        #[test]
        fn a_number_is_read_as_about_the_same(value in any::<f64>()) {
            let read: serde_json::Value = serde_json::from_str(&shown(value)).expect("JSON");
            match read.as_f64() {
                Some(read) => prop_assert!((read - value).abs() <= value.abs() * 1e-5),
                None => prop_assert!(!value.is_finite()),
            }
        }
    }
}
