//! A paper's claim beside what we measured.

use core::fmt::Write;
use scenario::Estimate;
use serde::{Serialize, Serializer};

/// A claim, and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Where the paper makes it, e.g. `figure 4e`.
    pub place: &'static str,
    /// What is measured, under which condition and in which unit.
    pub what: String,
    /// The paper's number.
    pub paper: &'static str,
    /// Ours, one for each of the system's columns.
    pub ours: Vec<Cell>,
    /// What becomes of the claim.
    pub verdict: Verdict,
    /// Why, or what is to be known beside it; may be empty.
    pub reason: String,
}

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Our number bears it out.
    Holds,
    /// Ours is beyond what the paper claims.
    Better,
    /// Ours is not what the paper claims.
    DoesNotHold,
    /// There is nothing yet to measure it with.
    NotMeasured,
}

impl Verdict {
    /// As is said of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Better => "better",
            Self::DoesNotHold => "does not hold",
            Self::NotMeasured => "not measured",
        }
    }

    /// By whether the claim is borne out.
    pub const fn of(holds: bool) -> Self {
        match holds {
            true => Self::Holds,
            false => Self::DoesNotHold,
        }
    }

    /// [`Self::Better`] if it holds and `more` does so as well.
    #[must_use]
    pub const fn or_better(self, more: bool) -> Self {
        match (self, more) {
            (Self::Holds, true) => Self::Better,
            _ => self,
        }
    }
}

/// One number, or several, of one column.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cell {
    /// The claim says nothing of this column.
    #[default]
    Empty,
    /// One.
    One(Estimate),
    /// The least and the greatest of several.
    Span(Estimate, Estimate),
    /// Several, in the order in which the claim names them.
    Each(Vec<Estimate>),
}

impl Cell {
    /// The range that these take. What is no number is the range then.
    pub fn span(estimates: impl IntoIterator<Item = Estimate>) -> Self {
        let mut range: Option<(Estimate, Estimate)> = None;
        for e in estimates {
            if e.mean.is_nan() {
                return Self::One(e);
            }
            let (least, most) = range.get_or_insert((e, e));
            if e.mean < least.mean {
                *least = e;
            }
            if e.mean > most.mean {
                *most = e;
            }
        }
        match range {
            None => Self::Empty,
            Some((least, most)) if least == most => Self::One(least),
            Some((least, most)) => Self::Span(least, most),
        }
    }

    fn estimates(&self) -> Vec<Estimate> {
        match self {
            Self::Empty => Vec::new(),
            Self::One(one) => vec![*one],
            Self::Span(least, most) => vec![*least, *most],
            Self::Each(all) => all.clone(),
        }
    }

    /// For a table.
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.estimates().into_iter().map(with_interval).collect();
        match self {
            Self::Span(..) => texts.join(" to "),
            _ => texts.join(", "),
        }
    }

    /// The least number; not a number if there is none.
    pub fn least(&self) -> f64 {
        self.fold(f64::min)
    }

    /// The greatest number; not a number if there is none.
    pub fn most(&self) -> f64 {
        self.fold(f64::max)
    }

    /// Of means of which all are numbers.
    fn fold(&self, pick: fn(f64, f64) -> f64) -> f64 {
        let means = self.estimates().into_iter().map(|e| e.mean);
        let picked = means.reduce(|a, b| {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else {
                pick(a, b)
            }
        });
        picked.unwrap_or(f64::NAN)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.estimates())
    }
}

/// A number with as many decimals as its size is worth; a dash if it is none.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    format!("{value:.*}", decimals(value))
}

/// A mean with half the width of its confidence interval, in the mean's precision.
pub(crate) fn with_interval(estimate: Estimate) -> String {
    let mut text = number(estimate.mean);
    if estimate.mean.is_finite() {
        let _ = write!(text, " ± {:.*}", decimals(estimate.mean), estimate.ci95);
    }
    text
}

/// Three significant digits, all digits before the point, and at most two after it.
fn decimals(value: f64) -> usize {
    match value.abs() {
        big if big >= 99.95 => 0,
        middle if middle >= 9.995 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64) -> Estimate {
        Estimate { mean, ci95: 0.25 }
    }

    #[test]
    fn cells_are_written_with_their_intervals() {
        assert_eq!(Cell::Empty.text(), "");
        assert_eq!(Cell::One(estimate(0.123)).text(), "0.12 ± 0.25");
        let all = [3.0, 12.34, 1.0, 250.0].map(estimate);
        assert_eq!(Cell::span(all).text(), "1.00 ± 0.25 to 250 ± 0");
        assert_eq!(Cell::span([estimate(2.0); 3]), Cell::One(estimate(2.0)));
        let each = Cell::Each(vec![estimate(12.34), estimate(f64::NAN)]);
        assert_eq!(each.text(), "12.3 ± 0.2, -");
    }

    #[test]
    fn what_is_no_number_is_not_passed_over() {
        let cell = Cell::span([estimate(1.0), estimate(f64::NAN), estimate(2.0)]);
        assert_eq!(cell.text(), "-");
        assert!(cell.least().is_nan() && cell.most().is_nan());
        let each = Cell::Each(vec![estimate(1.0), estimate(f64::NAN), estimate(2.0)]);
        assert!(each.least().is_nan() && each.most().is_nan());
        assert!(Cell::Empty.least().is_nan());
        let span = Cell::span([estimate(3.0), estimate(1.0)]);
        assert_eq!((span.least(), span.most()), (1.0, 3.0));
    }

    #[test]
    fn better_needs_the_claim_to_hold() {
        assert_eq!(Verdict::of(true).or_better(true), Verdict::Better);
        assert_eq!(Verdict::of(true).or_better(false), Verdict::Holds);
        assert_eq!(Verdict::of(false).or_better(true), Verdict::DoesNotHold);
    }
}
