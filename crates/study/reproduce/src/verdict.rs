//! What becomes of a claim, and the rules by which numbers are judged.
//!
//! A claim asks up to two questions: whether what was published reproduces, and what ours achieves. Each has a verdict of its own.
//!
//! A number is judged with its 95 % confidence interval: it meets a bound if all of the interval does, it does not if none of it
//! does, and is undecided otherwise. Of one repeat there is no interval: nothing is undecided then. An interval of several numbers
//! (a [`Cell::Span`]) is judged by its two ends.

use crate::claim::Cell;
use core::ops::RangeInclusive;
use scenario::Estimate;
use serde::Serialize;

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The number bears it out.
    Holds,
    /// The number is beyond what the paper claims, and the mechanism is the cause.
    Better,
    /// The number is not what the paper claims.
    DoesNotHold,
    /// The confidence interval spans the bound.
    Undecided,
    /// There is no number.
    NotMeasured,
}

impl Verdict {
    /// All, in the order in which they are counted.
    pub const ALL: [Self; 5] = [
        Self::Holds,
        Self::Better,
        Self::DoesNotHold,
        Self::Undecided,
        Self::NotMeasured,
    ];

    /// Its name in pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Better => "better",
            Self::DoesNotHold => "does not hold",
            Self::Undecided => "undecided",
            Self::NotMeasured => "not measured",
        }
    }

    /// Of what has no interval: a count, an order.
    pub const fn of(holds: bool) -> Self {
        match holds {
            true => Self::Holds,
            false => Self::DoesNotHold,
        }
    }

    /// True if the claim is not borne out: by its number, or because of its interval.
    pub const fn is_missed(self) -> bool {
        matches!(self, Self::DoesNotHold | Self::Undecided)
    }

    /// Of two conditions that a claim has both: what fails is decided, whatever the other is.
    #[must_use]
    pub fn and(self, other: impl Into<Self>) -> Self {
        let both = [self, other.into()];
        let worst = [Self::DoesNotHold, Self::NotMeasured, Self::Undecided];
        let found = worst.into_iter().find(|verdict| both.contains(verdict));
        found.unwrap_or(Self::Holds)
    }

    /// Of a claim that holds, where `more` states that the number goes beyond what the paper has.
    #[must_use]
    pub fn beyond(self, more: impl Into<Self>, cause: Cause) -> Self {
        match (self, more.into(), cause) {
            (Self::Holds, Self::Holds, Cause::Mechanism) => Self::Better,
            (Self::Holds, Self::Holds, Cause::Baseline(baseline)) => match baseline {
                Self::Holds | Self::Better => Self::Better,
                Self::Undecided => Self::Undecided,
                Self::DoesNotHold | Self::NotMeasured => Self::DoesNotHold,
            },
            _ => self,
        }
    }
}

impl From<bool> for Verdict {
    fn from(holds: bool) -> Self {
        Self::of(holds)
    }
}

/// What moves a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The mechanism alone: a delay, a loss, a size.
    Mechanism,
    /// A baseline of ours has a part in it: it is a quotient, which grows with a weaker baseline as it does with a better mechanism.
    /// So has a setting of ours that is easier than the paper's. The verdict states whether that part is what the paper has: only then
    /// is the mechanism the cause. Otherwise the number differs from the paper's, which does not hold.
    Baseline(Verdict),
}

/// What becomes of a claim's two questions; none where one is not asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// Does what was published reproduce? Of the published mechanism; of a claim on how it is without, that.
    #[serde(rename = "verdict_published")]
    pub published: Option<Verdict>,
    /// What does ours achieve, by the same bound?
    #[serde(rename = "verdict_ours")]
    pub ours: Option<Verdict>,
}

impl Verdicts {
    /// Of a claim that ours has no part in.
    pub const fn published(verdict: Verdict) -> Self {
        Self {
            published: Some(verdict),
            ours: None,
        }
    }

    /// Of what we ask of ourselves.
    pub const fn ours(verdict: Verdict) -> Self {
        Self {
            published: None,
            ours: Some(verdict),
        }
    }

    /// Of a claim on the published mechanism, by which ours is judged as well.
    pub const fn both(published: Verdict, ours: Verdict) -> Self {
        Self {
            published: Some(published),
            ours: Some(ours),
        }
    }

    /// True if one of them is this.
    pub fn any(self, verdict: Verdict) -> bool {
        [self.published, self.ours].contains(&Some(verdict))
    }
}

/// Of one number: a condition that changes once along the axis.
fn judge(Estimate { mean, ci95 }: Estimate, is_met: impl Fn(f64) -> bool) -> Verdict {
    if mean.is_nan() {
        return Verdict::NotMeasured;
    }
    // what is infinite has no interval
    let half = if ci95.is_finite() { ci95 } else { 0.0 };
    match (is_met(mean - half), is_met(mean + half)) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::DoesNotHold,
        _ => Verdict::Undecided,
    }
}

/// Rules. Each is about all numbers of the cell; without any, nothing was measured.
impl Cell {
    fn each(&self, is_met: impl Fn(f64) -> bool) -> Verdict {
        let verdicts = self.estimates().into_iter().map(|e| judge(e, &is_met));
        verdicts
            .reduce(Verdict::and)
            .unwrap_or(Verdict::NotMeasured)
    }

    /// None is below the bound.
    pub fn at_least(&self, bound: f64) -> Verdict {
        self.each(|value| value >= bound)
    }

    /// None is above the bound.
    pub fn at_most(&self, bound: f64) -> Verdict {
        self.each(|value| value <= bound)
    }

    /// All are above the bound.
    pub fn above(&self, bound: f64) -> Verdict {
        self.each(|value| value > bound)
    }

    /// All are below the bound.
    pub fn below(&self, bound: f64) -> Verdict {
        self.each(|value| value < bound)
    }

    /// All are in the range.
    pub fn within(&self, range: RangeInclusive<f64>) -> Verdict {
        self.at_least(*range.start())
            .and(self.at_most(*range.end()))
    }

    /// The number at a place; empty if there is none.
    #[must_use]
    pub fn at(&self, place: usize) -> Self {
        let one = self.estimates().into_iter().nth(place);
        one.map_or(Self::Empty, Self::One)
    }

    /// The one number of the greatest mean; what is no number if there is such.
    #[must_use]
    pub fn highest(&self) -> Self {
        self.one(|a, b| b > a)
    }

    /// The one of the least mean.
    #[must_use]
    pub fn lowest(&self) -> Self {
        self.one(|a, b| b < a)
    }

    fn one(&self, is_taken: fn(f64, f64) -> bool) -> Self {
        let all = self.estimates().into_iter();
        let one = all.reduce(|a, b| {
            match a.mean.is_nan() || (!is_taken(a.mean, b.mean) && !b.mean.is_nan()) {
                true => a,
                false => b,
            }
        });
        one.map_or(Self::Empty, Self::One)
    }

    /// Each number less the other cell's at its place; the intervals are those of independent numbers.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let pairs = self.estimates().into_iter().zip(other.estimates());
        let difference = pairs.map(|(a, b)| Estimate {
            mean: a.mean - b.mean,
            ci95: a.ci95.hypot(b.ci95),
        });
        Self::Each(difference.collect())
    }

    /// That each number is below the one before it.
    pub fn falls(&self) -> Verdict {
        let all = self.estimates();
        let (first, rest) = (Self::Each(all.clone()), all.into_iter().skip(1).collect());
        Self::Each(rest).minus(&first).below(0.0)
    }
}

impl From<Estimate> for Cell {
    fn from(estimate: Estimate) -> Self {
        Self::One(estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell(mean: f64, ci95: f64) -> Cell {
        Cell::One(Estimate { mean, ci95 })
    }

    #[test]
    fn an_interval_that_spans_the_bound_is_undecided() {
        use Verdict::{DoesNotHold, Holds, NotMeasured, Undecided};
        let bound = 10.0;
        for (mean, ci95, least, most) in [
            (12.0, 1.0, Holds, DoesNotHold),
            (8.0, 1.0, DoesNotHold, Holds),
            (10.5, 1.0, Undecided, Undecided),
            (9.5, 1.0, Undecided, Undecided),
            // the interval's end is the bound
            (11.0, 1.0, Holds, Undecided),
            (9.0, 1.0, Undecided, Holds),
            // one repeat
            (10.0, 0.0, Holds, Holds),
            (9.9, 0.0, DoesNotHold, Holds),
            (f64::INFINITY, f64::NAN, Holds, DoesNotHold),
            (f64::NAN, f64::NAN, NotMeasured, NotMeasured),
        ] {
            let cell = cell(mean, ci95);
            assert_eq!(cell.at_least(bound), least, "{cell:?}");
            assert_eq!(cell.at_most(bound), most, "{cell:?}");
        }
        assert_eq!(cell(10.0, 0.0).above(bound), DoesNotHold);
        assert_eq!(cell(10.0, 0.0).below(bound), DoesNotHold);
        assert_eq!(cell(10.0, 9.0).within(9.0..=11.0), Undecided);
        assert_eq!(cell(10.0, 1.0).within(9.0..=11.0), Holds);
        assert_eq!(cell(20.0, 1.0).within(9.0..=11.0), DoesNotHold);
        assert_eq!(Cell::Empty.at_least(bound), NotMeasured);
        assert_eq!(Cell::Stated("10").at_least(bound), NotMeasured);
    }

    #[test]
    fn one_number_that_fails_decides_for_all() {
        let of = |means: &[f64]| {
            let all = means.iter().map(|mean| Estimate {
                mean: *mean,
                ci95: 1.0,
            });
            Cell::Each(all.collect())
        };
        assert_eq!(of(&[20.0, 10.5]).at_least(10.0), Verdict::Undecided);
        assert_eq!(of(&[20.0, 10.5, 2.0]).at_least(10.0), Verdict::DoesNotHold);
        assert_eq!(of(&[20.0, f64::NAN]).at_least(10.0), Verdict::NotMeasured);
        assert_eq!(of(&[2.0, f64::NAN]).at_least(10.0), Verdict::DoesNotHold);
        assert_eq!(of(&[20.0, 2.0]).highest().at_least(10.0), Verdict::Holds);
        assert_eq!(of(&[20.0, 2.0]).lowest().at_most(10.0), Verdict::Holds);
        assert!(of(&[20.0, f64::NAN, 2.0]).highest().first().is_nan());
        assert!(of(&[20.0, f64::NAN, 2.0]).lowest().first().is_nan());
    }

    #[test]
    fn an_order_is_judged_by_differences() {
        let of =
            |means: [f64; 3]| Cell::Each(means.map(|mean| Estimate { mean, ci95: 3.0 }).to_vec());
        assert_eq!(of([30.0, 20.0, 10.0]).falls(), Verdict::Holds);
        assert_eq!(of([10.0, 20.0, 10.0]).falls(), Verdict::DoesNotHold);
        // 4.2 is half the width of the difference's interval
        assert_eq!(of([30.0, 20.0, 16.0]).falls(), Verdict::Undecided);
        assert_eq!(of([30.0, 20.0, 15.7]).falls(), Verdict::Holds);
    }

    #[test]
    fn better_needs_the_claim_to_hold_and_the_mechanism_as_its_cause() {
        use Verdict::{Better, DoesNotHold, Holds, NotMeasured, Undecided};
        assert_eq!(Holds.beyond(true, Cause::Mechanism), Better);
        assert_eq!(Holds.beyond(false, Cause::Mechanism), Holds);
        assert_eq!(Holds.beyond(Undecided, Cause::Mechanism), Holds);
        for verdict in [DoesNotHold, Undecided, NotMeasured] {
            assert_eq!(verdict.beyond(true, Cause::Mechanism), verdict);
            assert_eq!(verdict.beyond(true, Cause::Baseline(Holds)), verdict);
        }
        // +111 % for the paper's +9, of a plain controller that is weaker than theirs
        assert_eq!(
            Holds.beyond(true, Cause::Baseline(DoesNotHold)),
            DoesNotHold
        );
        assert_eq!(
            Holds.beyond(true, Cause::Baseline(NotMeasured)),
            DoesNotHold
        );
        assert_eq!(Holds.beyond(true, Cause::Baseline(Undecided)), Undecided);
        assert_eq!(Holds.beyond(true, Cause::Baseline(Holds)), Better);
        assert_eq!(Holds.beyond(false, Cause::Baseline(DoesNotHold)), Holds);
    }

    proptest! {
        #[test]
        fn a_bound_is_met_missed_or_spanned(mean in -1e3..1e3, ci95 in 0.0..1e2, bound in -1e3..1e3) {
            let cell = cell(mean, ci95);
            let spans = (mean - ci95..mean + ci95).contains(&bound) && mean - ci95 != bound;
            prop_assert_eq!(cell.at_least(bound) == Verdict::Undecided, spans);
            prop_assert_eq!(cell.below(bound) == Verdict::Undecided, cell.at_least(bound) == Verdict::Undecided);
            match cell.at_least(bound) {
                Verdict::Holds => prop_assert_eq!(cell.below(bound), Verdict::DoesNotHold),
                Verdict::DoesNotHold => prop_assert_eq!(cell.below(bound), Verdict::Holds),
                other => prop_assert_eq!(cell.below(bound), other),
            }
        }

        #[test]
        fn without_an_interval_nothing_is_undecided(mean in -1e3..1e3, low in -1e3..0.0, high in 0.0..1e3) {
            let cell = cell(mean, 0.0);
            let inside = (low..=high).contains(&mean);
            prop_assert_eq!(cell.within(low..=high), Verdict::of(inside));
        }

        #[test]
        fn a_narrower_interval_never_turns_a_verdict(
            mean in -1e3..1e3, ci95 in 0.0..1e2, part in 0.0..1.0, bound in -1e3..1e3,
        ) {
            let (wide, narrow) = (cell(mean, ci95).at_least(bound), cell(mean, part * ci95).at_least(bound));
            prop_assert!(wide == narrow || wide == Verdict::Undecided);
        }

        #[test]
        fn and_does_not_depend_on_the_order(a in 0_usize..5, b in 0_usize..5) {
            let [a, b] = [a, b].map(|i| Verdict::ALL[i]);
            prop_assert_eq!(a.and(b), b.and(a));
        }
    }
}
