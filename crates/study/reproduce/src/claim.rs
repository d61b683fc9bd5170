//! A paper's claim beside what we measured.

pub use crate::verdict::{Cause, Verdict, Verdicts};
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
    /// What becomes of it.
    #[serde(flatten)]
    pub verdicts: Verdicts,
    /// Why, or what is to be known beside it; may be empty.
    pub reason: String,
    /// Decimals of our numbers in tables; by their size if none.
    #[serde(skip)]
    pub decimals: Option<usize>,
}

impl Claim {
    /// A claim at a place of the paper, on which nothing is decided yet.
    pub fn new(place: &'static str, what: impl Into<String>, paper: &'static str) -> Self {
        Self {
            place,
            what: what.into(),
            paper,
            ours: Vec::new(),
            verdicts: Verdicts::default(),
            reason: String::new(),
            decimals: None,
        }
        .measured(&[], Verdict::NotMeasured)
    }

    /// True of what we ask of ourselves, which no paper states.
    pub fn is_ours(&self) -> bool {
        self.place.starts_with("our ")
    }

    /// With our numbers, and what follows from them for the one question that the claim asks: of a place in a paper whether what was
    /// published reproduces, else what ours achieves.
    #[must_use]
    pub fn measured(self, ours: &[Cell], verdict: Verdict) -> Self {
        let verdicts = match self.is_ours() {
            true => Verdicts::ours(verdict),
            false => Verdicts::published(verdict),
        };
        self.judged(ours, verdicts)
    }

    /// With our numbers, and what follows from them for both questions.
    #[must_use]
    pub fn judged(self, ours: &[Cell], verdicts: Verdicts) -> Self {
        Self {
            ours: ours.to_vec(),
            verdicts,
            ..self
        }
    }

    /// With what is to be known beside the verdict, whatever it is.
    #[must_use]
    pub fn note(self, reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            ..self
        }
    }

    /// With the reason why it is not borne out, if one of its verdicts is so.
    #[must_use]
    pub fn if_not(self, reason: &str) -> Self {
        let is_missed = |verdict: Option<Verdict>| verdict.is_some_and(Verdict::is_missed);
        match is_missed(self.verdicts.published) || is_missed(self.verdicts.ours) {
            true => self.note(reason),
            false => self,
        }
    }

    /// With the reason why ours does not reach it, if it does not, after what is noted already.
    #[must_use]
    pub fn if_ours_not(self, reason: &str) -> Self {
        match self.verdicts.ours.is_some_and(Verdict::is_missed) {
            true => self.also(reason),
            false => self,
        }
    }

    /// With the reason why what was published does not reproduce, if it does not, after what is noted already.
    #[must_use]
    pub fn if_published_not(self, reason: &str) -> Self {
        match self.verdicts.published.is_some_and(Verdict::is_missed) {
            true => self.also(reason),
            false => self,
        }
    }

    fn also(self, reason: &str) -> Self {
        let joined = match self.reason.as_str() {
            "" => reason.to_owned(),
            noted => format!("{noted}; {reason}"),
        };
        self.note(joined)
    }

    /// With so many decimals in tables.
    #[must_use]
    pub fn decimals(self, decimals: usize) -> Self {
        Self {
            decimals: Some(decimals),
            ..self
        }
    }
}

/// One number, or several, of one column.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cell {
    /// The claim states nothing of this column.
    #[default]
    Empty,
    /// One.
    One(Estimate),
    /// One that has no interval: a count, or the extreme of several.
    Exact(f64),
    /// The least and the greatest of several.
    Span(Estimate, Estimate),
    /// Several, in the order in which the claim names them.
    Each(Vec<Estimate>),
    /// What others measured, in their words.
    Stated(&'static str),
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

    /// In another unit.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        let scaled = |e: &Estimate| Estimate {
            mean: by * e.mean,
            ci95: by * e.ci95,
        };
        match self {
            Self::Empty => Self::Empty,
            Self::One(one) => Self::One(scaled(one)),
            Self::Exact(value) => Self::Exact(by * value),
            Self::Span(least, most) => Self::Span(scaled(least), scaled(most)),
            Self::Each(all) => Self::Each(all.iter().map(scaled).collect()),
            Self::Stated(text) => Self::Stated(text),
        }
    }

    pub(crate) fn estimates(&self) -> Vec<Estimate> {
        match self {
            Self::Empty | Self::Stated(_) => Vec::new(),
            Self::One(one) => vec![*one],
            Self::Exact(mean) => vec![Estimate {
                mean: *mean,
                ci95: 0.0,
            }],
            Self::Span(least, most) => vec![*least, *most],
            Self::Each(all) => all.clone(),
        }
    }

    /// For a table: with so many decimals, or as many as each number is worth.
    pub fn text(&self, decimals: Option<usize>) -> String {
        let shown = |estimate| interval(estimate, decimals);
        let texts: Vec<String> = self.estimates().into_iter().map(shown).collect();
        match (self, texts.as_slice()) {
            (Self::Stated(text), _) => (*text).to_owned(),
            (Self::Exact(value), _) => {
                fixed(*value, decimals.unwrap_or_else(|| exact_decimals(*value)))
            }
            (Self::Span(..), [least, most]) if least == most => least.clone(),
            (Self::Span(..), _) => texts.join(" to "),
            _ => texts.join(", "),
        }
    }

    /// The first number; not a number if there is none.
    pub fn first(&self) -> f64 {
        self.estimates().first().map_or(f64::NAN, |e| e.mean)
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
        match self {
            Self::Stated(text) => serializer.serialize_str(text),
            _ => serializer.collect_seq(self.estimates()),
        }
    }
}

/// A number with as many decimals as its size is worth; a dash if it is none.
pub(crate) fn number(value: f64) -> String {
    fixed(value, decimals(value))
}

/// A mean with half the width of its confidence interval, in the mean's precision.
pub(crate) fn with_interval(estimate: Estimate) -> String {
    interval(estimate, None)
}

fn interval(Estimate { mean, ci95 }: Estimate, decimals_given: Option<usize>) -> String {
    let decimals = decimals_given.unwrap_or_else(|| decimals(mean));
    match mean.is_finite() {
        true => format!("{} ± {}", fixed(mean, decimals), fixed(ci95, decimals)),
        false => fixed(mean, decimals),
    }
}

fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let text = format!("{value:.decimals$}");
    // "-0.00" is a zero
    match text.strip_prefix('-') {
        Some(rest) if rest.trim_matches(['0', '.']).is_empty() => rest.to_owned(),
        _ => text,
    }
}

/// None of what is whole.
fn exact_decimals(value: f64) -> usize {
    if value.fract() == 0.0 {
        0
    } else {
        decimals(value)
    }
}

/// All digits before the point; after it none, one or two, the fewer the greater the number.
fn decimals(value: f64) -> usize {
    match value.abs() {
        big if big >= 999.5 => 0,
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
        assert_eq!(Cell::Empty.text(None), "");
        assert_eq!(Cell::One(estimate(0.123)).text(None), "0.12 ± 0.25");
        let all = [3.0, 12.34, 1.0, 250.0].map(estimate);
        assert_eq!(Cell::span(all).text(None), "1.00 ± 0.25 to 250.0 ± 0.2");
        assert_eq!(Cell::span([estimate(2.0); 3]), Cell::One(estimate(2.0)));
        let close = [1.0001, 1.0002].map(estimate);
        assert_eq!(Cell::span(close).text(None), "1.00 ± 0.25");
        let each = Cell::Each(vec![estimate(12.34), estimate(f64::NAN)]);
        assert_eq!(each.text(None), "12.3 ± 0.2, -");
        assert_eq!(each.text(Some(3)), "12.340 ± 0.250, -");
        let exact = [30.0, 0.5, 59.66].map(|value| Cell::Exact(value).text(None));
        assert_eq!(exact, ["30", "0.50", "59.7"]);
        assert_eq!(Cell::Exact(3.0).scaled(2.0), Cell::Exact(6.0));
        assert_eq!(number(-0.001), "0.00");
        assert_eq!(number(-1.5), "-1.50");
    }

    #[test]
    fn what_is_no_number_is_not_passed_over() {
        let cell = Cell::span([estimate(1.0), estimate(f64::NAN), estimate(2.0)]);
        assert_eq!(cell.text(None), "-");
        assert!(cell.least().is_nan() && cell.most().is_nan());
        let each = Cell::Each(vec![estimate(1.0), estimate(f64::NAN), estimate(2.0)]);
        assert!(each.least().is_nan() && each.most().is_nan());
        assert!(Cell::Empty.least().is_nan());
        let span = Cell::span([estimate(3.0), estimate(1.0)]);
        assert_eq!((span.least(), span.most()), (1.0, 3.0));
    }

    #[test]
    fn a_claim_asks_what_its_place_says() {
        let of = |place| {
            Claim::new(place, "x", "1")
                .measured(&[], Verdict::Holds)
                .verdicts
        };
        assert_eq!(of("figure 1"), Verdicts::published(Verdict::Holds));
        assert_eq!(of("our goal"), Verdicts::ours(Verdict::Holds));
        let unmeasured = Claim::new("our bound", "x", "1").verdicts;
        assert_eq!(unmeasured, Verdicts::ours(Verdict::NotMeasured));
    }

    #[test]
    fn each_question_has_its_reason() {
        let of = |published, ours| {
            let claim =
                Claim::new("figure 1", "x", "1").judged(&[], Verdicts::both(published, ours));
            claim
                .note("noted")
                .if_published_not("theirs")
                .if_ours_not("not ours")
                .reason
        };
        let (yes, no) = (Verdict::Holds, Verdict::DoesNotHold);
        assert_eq!(of(yes, yes), "noted");
        assert_eq!(of(no, yes), "noted; theirs");
        assert_eq!(of(no, no), "noted; theirs; not ours");
        assert_eq!(
            of(Verdict::Undecided, Verdict::NotMeasured),
            "noted; theirs"
        );
    }
}
