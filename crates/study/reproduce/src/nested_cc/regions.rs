//! What a contour reports of a part of the plane.

use super::points::Point;
use crate::claim::{Cell, Claim, Verdict};
use scenario::{Estimate, estimate};

/// What was measured at each point of a contour.
pub(super) type Values = Vec<(Point, f64)>;

/// The mean over a region, with the interval of its points; none if there is no point in it.
pub(super) fn within(values: &Values, is_inside: impl Fn(&Point) -> bool) -> Option<Estimate> {
    let inside = values.iter().filter(|(point, _)| is_inside(point));
    let inside: Vec<f64> = inside.map(|(_, value)| *value).collect();
    (!inside.is_empty()).then(|| estimate(&inside))
}

/// The mean over all of it.
pub(super) fn whole(values: &Values) -> Option<Estimate> {
    within(values, |_| true)
}

/// One contour over another, point by point.
pub(super) fn over(values: &Values, base: &Values) -> Values {
    let pairs = values.iter().zip(base);
    pairs
        .map(|((point, value), (_, base))| (*point, value / base))
        .collect()
}

/// That values rise from each to the next; none unless there are all.
pub(super) fn rising(
    place: &'static str,
    what: impl Into<String>,
    paper: &'static str,
    values: impl IntoIterator<Item = Option<Estimate>>,
) -> Option<Claim> {
    let values: Option<Vec<Estimate>> = values.into_iter().collect();
    let values = values?;
    // the interval of a region is that of its points, not of repeats: means are compared
    let rises = match values.iter().any(|value| value.mean.is_nan()) {
        true => Verdict::NotMeasured,
        false => Verdict::of(values.windows(2).all(|pair| pair[0].mean < pair[1].mean)),
    };
    Some(
        Claim::new(place, what, paper)
            .measured(&[Cell::Each(values)], rises)
            .if_not("see below"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(f64, f64, f64)]) -> Values {
        let value = |&(rtt, share, value): &(f64, f64, f64)| (Point { rtt, share }, value);
        of.iter().map(value).collect()
    }

    #[test]
    fn regions_have_means_of_their_own() {
        let all = values(&[(10.0, 50.0, 40.0), (15.0, 90.0, 50.0), (80.0, 50.0, 90.0)]);
        let of = |e: Option<Estimate>| e.map(|e| e.mean);
        assert_eq!(of(within(&all, |p| p.rtt < 20.0)), Some(45.0));
        assert_eq!(of(whole(&all)), Some(60.0));
        assert_eq!(within(&all, |p| p.rtt > 90.0), None);
        assert_eq!(over(&all, &all)[2].1, 1.0);
    }

    #[test]
    fn a_claim_needs_all_its_values_and_their_order() {
        let estimate = |mean| Some(Estimate { mean, ci95: 0.0 });
        let claim = |values: [Option<Estimate>; 3]| rising("figure 8", "x", "rises", values);
        let verdict = |values| claim(values).and_then(|c| c.verdicts.published);
        let [a, b, c] = [1.0, 2.0, 3.0].map(estimate);
        assert_eq!(verdict([a, b, c]), Some(Verdict::Holds));
        assert_eq!(verdict([a, c, b]), Some(Verdict::DoesNotHold));
        assert_eq!(
            verdict([a, estimate(f64::NAN), c]),
            Some(Verdict::NotMeasured)
        );
        assert!(claim([a, None, c]).is_none());
    }
}
