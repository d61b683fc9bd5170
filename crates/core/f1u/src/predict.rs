//! What a bearer is served until its next status, as learnt from the statuses before.
//!
//! ```text
//!   statuses:  |  b1  |  b2  |  b3  |  b4  |?        rates of four windows and their mean -> the rate to come (least squares)
//!              '--------'--------'---------'--> age   what long intervals brought, by their age -> how much of it
//! ```
//!
//! Two things are learnt from intervals in which something waited all the time, with weights that fade over [`MEMORY`]:
//!
//! 1. **The rate to come**, a weighted sum of the rates over the last one, one, two and four periods of the distributed unit, and of the mean
//!    rate: the weights have the least sum of squared errors so far. A channel that fades slowly goes on as it was or as it changed, one
//!    that fades fast returns to its mean; which of the two it is shows in the weights.
//! 2. **What an interval brings, by its age**: of intervals that were longer than an age, how much of that rate they brought. A UE that has packets
//!    of its own to send while it is served has a status with each; where none comes for some time, others are served, or the channel is out.
//!
//! Units: bytes, seconds.

use std::collections::VecDeque;
use units::{Duration, Instant};

/// Time over which what was learnt fades.
const MEMORY: Duration = Duration::from_secs(4);
/// Time constant of the mean rate.
const MEAN_TIME: Duration = Duration::from_millis(500);
/// Time constant of the rate of late, which is taken while nothing has been learnt.
const RECENT_TIME: Duration = Duration::from_millis(10);
/// The windows of past rates, one before the other, in periods of the distributed unit.
const WINDOWS: [f64; 4] = [1.0, 1.0, 2.0, 4.0];
/// Rates of which the rate to come is the weighted sum: the windows' and the mean.
const TERMS: usize = WINDOWS.len() + 1;
/// How far the weights are held to those of "as in the last period": the part of the learnt squares that this weighs.
const RIDGE: f64 = 0.03;
/// A rate to come is no more than so much of the largest of its terms.
const MAX_RISE: f64 = 1.5;
/// Weights are learnt anew after so much of a period.
const LEARNING_STEP: f64 = 0.9;
/// Points of what was served are kept this far apart at least, in periods.
const POINT_STEP: f64 = 0.02;
/// Ages, in periods: what is learnt of an interval's age is learnt between these.
const AGES: [f64; 10] = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.25];
/// What has been learnt of an age weighs against its bringing all of the rate for so long, in periods.
const PRIOR: f64 = 2.0;
/// Statuses are seldom if the mean interval, weighted by its length, is longer than this, in periods.
const SELDOM: f64 = 0.5;

/// Past rates and what followed.
#[derive(Clone, Copy, Debug)]
struct Example {
    at: Instant,
    served: f64,
    terms: [f64; TERMS],
}

/// What is served until the next status.
#[derive(Clone, Debug)]
pub(crate) struct Predictor {
    /// The distributed unit's, seconds.
    period: f64,
    /// When how many bytes had been served, while something waited: in ascending order, eight periods back.
    points: VecDeque<(Instant, f64)>,
    served: f64,
    /// Bytes a second.
    recent: f64,
    mean: Option<f64>,
    to_come: f64,
    /// Sums of products of terms, and of terms with what followed.
    products: [[f64; TERMS]; TERMS],
    followed: [f64; TERMS],
    squares: f64,
    weights: [f64; TERMS],
    example: Option<Example>,
    /// By age: what longer intervals brought, and what the rate would have.
    brought: [(f64, f64); AGES.len()],
    /// Sums of the intervals' squares and of intervals.
    intervals: (f64, f64),
}

impl Predictor {
    /// Of a bearer of which nothing was served, at a distributed unit that reports changes within a period.
    pub(crate) fn new(period: Duration) -> Self {
        let mut weights = [0.0; TERMS];
        weights[0] = 1.0;
        Self {
            period: period.as_secs_f64().max(1e-6),
            points: VecDeque::new(),
            served: 0.0,
            recent: 0.0,
            mean: None,
            to_come: 0.0,
            products: [[0.0; TERMS]; TERMS],
            followed: [0.0; TERMS],
            squares: 0.0,
            weights,
            example: None,
            brought: [(0.0, 0.0); AGES.len()],
            intervals: (0.0, 0.0),
        }
    }

    /// The mean rate while something waited, bytes a second; none before anything was served.
    pub(crate) fn mean(&self) -> Option<f64> {
        self.mean
    }

    /// Bytes were served in an interval that ends now, longer than none. `is_busy`: something waited all the time.
    pub(crate) fn on_served(
        &mut self,
        now: Instant,
        bytes: f64,
        interval: Duration,
        is_busy: bool,
    ) {
        let length = interval.as_secs_f64();
        let measured = bytes / length;
        let (recent, mean) = (share(interval, RECENT_TIME), share(interval, MEAN_TIME));
        match self.mean {
            None if measured > 0.0 => {
                self.recent = measured;
                self.mean = Some(measured);
            }
            Some(before) if is_busy => self.mean = Some(before + mean * (measured - before)),
            _ => {}
        }
        // of an empty queue it is a bound from below
        if is_busy || measured > self.recent {
            self.recent += recent * (measured - self.recent);
        }
        self.served += bytes;
        if is_busy && !self.points.is_empty() {
            self.learn_age(bytes, length);
            self.learn_weights(now);
        } else {
            self.points.clear();
            self.example = None;
        }
        self.add_point(now);
        let terms = self.terms(now);
        self.to_come = self.weighted(&terms);
        if self.example.is_none() {
            self.example = Some(Example {
                at: now,
                served: self.served,
                terms,
            });
        }
    }

    /// Bytes that are served within this time after the last status, if none comes.
    pub(crate) fn drained(&self, age: Duration) -> f64 {
        let age = age.as_secs_f64();
        let is_seldom = self.intervals.0 > SELDOM * self.period * self.intervals.1;
        if is_seldom {
            // the whole interval brings what intervals of this length at least brought
            let of = AGES.partition_point(|limit| limit * self.period < age);
            return self.to_come * self.part(of) * age;
        }
        let (mut drained, mut from) = (0.0, 0.0);
        for (of, limit) in AGES.iter().enumerate() {
            let is_last = of + 1 == AGES.len();
            let to = if is_last {
                age
            } else {
                age.min(limit * self.period)
            };
            if to <= from {
                break;
            }
            drained += self.to_come * self.part(of) * (to - from);
            from = to;
        }
        drained
    }

    /// How much of the rate an interval brings that is longer than an age.
    fn part(&self, of: usize) -> f64 {
        let (brought, expected) = self.brought[of.min(AGES.len() - 1)];
        let prior = PRIOR * self.period * self.to_come;
        match expected + prior {
            all if all > 0.0 => ((brought + prior) / all).min(MAX_RISE),
            _ => 1.0,
        }
    }

    fn learn_age(&mut self, bytes: f64, length: f64) {
        let kept = (-length / MEMORY.as_secs_f64()).exp();
        let expected = self.to_come * length;
        self.intervals.0 = self.intervals.0 * kept + length * length;
        self.intervals.1 = self.intervals.1 * kept + length;
        let mut from = 0.0;
        for (limit, sums) in AGES.iter().zip(&mut self.brought) {
            if length <= from {
                break;
            }
            *sums = (sums.0 * kept + bytes, sums.1 * kept + expected);
            from = limit * self.period;
        }
    }

    /// Takes what followed an example into the weights, a period after it.
    fn learn_weights(&mut self, now: Instant) {
        let Some(example) = self.example else { return };
        let length = now.saturating_since(example.at).as_secs_f64();
        if length < LEARNING_STEP * self.period {
            return;
        }
        self.example = None;
        let followed = (self.served - example.served) / length;
        let kept = (-length / MEMORY.as_secs_f64()).exp();
        let terms = &example.terms;
        let squares: f64 = terms.iter().map(|term| term * term).sum();
        self.squares = self.squares * kept + length * squares / TERMS as f64;
        for (i, term) in terms.iter().enumerate() {
            self.followed[i] = self.followed[i] * kept + length * term * followed;
            for (j, other) in terms.iter().enumerate() {
                self.products[i][j] = self.products[i][j] * kept + length * term * other;
            }
        }
        let ridge = RIDGE * self.squares;
        let (mut products, mut sums) = (self.products, self.followed);
        for (i, row) in products.iter_mut().enumerate() {
            row[i] += ridge;
        }
        sums[0] += ridge;
        if let Some(weights) = solve(products, sums) {
            self.weights = weights;
        }
    }

    fn add_point(&mut self, now: Instant) {
        let step = Duration::from_secs_f64(POINT_STEP * self.period);
        let count = self.points.len();
        if count > 1 && now.saturating_since(self.points[count - 2].0) < step {
            self.points.pop_back();
        }
        self.points.push_back((now, self.served));
        let reach = Duration::from_secs_f64(WINDOWS.iter().sum::<f64>() * self.period);
        while self
            .points
            .get(1)
            .is_some_and(|(at, _)| now.saturating_since(*at) >= reach)
        {
            self.points.pop_front();
        }
    }

    /// The rates of the windows before now, and the mean. A window before the first point has the rate of the one after it.
    fn terms(&self, now: Instant) -> [f64; TERMS] {
        let mut terms = [self.recent; TERMS];
        terms[TERMS - 1] = self.mean.unwrap_or(self.recent);
        let Some((first, _)) = self.points.front() else {
            return terms;
        };
        let all = now.saturating_since(*first).as_secs_f64();
        let (mut to, mut known) = (0.0, self.recent);
        for (term, window) in terms.iter_mut().zip(WINDOWS) {
            let from = (to + window * self.period).min(all);
            if from - to >= 0.5 * self.period {
                known = (self.served_until(now, to) - self.served_until(now, from)) / (from - to);
            }
            (*term, to) = (known, from);
        }
        terms
    }

    /// Bytes that had been served so many seconds before now, evenly between points.
    fn served_until(&self, now: Instant, before: f64) -> f64 {
        let at = now - Duration::from_secs_f64(before);
        let next = self.points.partition_point(|(point, _)| *point <= at);
        let (Some(next_point), Some(previous)) = (
            self.points.get(next),
            next.checked_sub(1).and_then(|at| self.points.get(at)),
        ) else {
            let end = if next == 0 {
                self.points.front()
            } else {
                self.points.back()
            };
            return end.map_or(self.served, |(_, served)| *served);
        };
        let span = next_point.0.saturating_since(previous.0).as_secs_f64();
        let part = at.saturating_since(previous.0).as_secs_f64() / span;
        previous.1 + (next_point.1 - previous.1) * part
    }

    fn weighted(&self, terms: &[f64; TERMS]) -> f64 {
        if self.points.len() < 2 {
            return self.recent;
        }
        let sum: f64 = terms
            .iter()
            .zip(&self.weights)
            .map(|(term, weight)| term * weight)
            .sum();
        let largest = terms.iter().copied().fold(0.0, f64::max);
        sum.clamp(0.0, MAX_RISE * largest)
    }
}

/// What an interval weighs in a mean over a time.
fn share(interval: Duration, time: Duration) -> f64 {
    1.0 - (-interval.ratio(time)).exp()
}

/// Solves a set of linear equations; none if they have no one solution.
fn solve(mut rows: [[f64; TERMS]; TERMS], mut sums: [f64; TERMS]) -> Option<[f64; TERMS]> {
    for i in 0..TERMS {
        let pivot = (i..TERMS).max_by(|&a, &b| rows[a][i].abs().total_cmp(&rows[b][i].abs()))?;
        rows.swap(i, pivot);
        sums.swap(i, pivot);
        let (row, sum) = (rows[i], sums[i]);
        if !row[i].is_normal() {
            return None;
        }
        for k in (0..TERMS).filter(|&k| k != i) {
            let factor = rows[k][i] / row[i];
            for (value, other) in rows[k].iter_mut().zip(row) {
                *value -= factor * other;
            }
            sums[k] -= factor * sum;
        }
    }
    let mut solution = [0.0; TERMS];
    for (i, value) in solution.iter_mut().enumerate() {
        *value = sums[i] / rows[i][i];
    }
    solution
        .iter()
        .all(|value| value.is_finite())
        .then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const PERIOD: Duration = Duration::from_millis(10);

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// A predictor after these intervals, in microseconds, with what each brought.
    fn after(intervals: impl IntoIterator<Item = (u64, f64)>) -> Predictor {
        let (mut predictor, mut now) = (Predictor::new(PERIOD), 0);
        for (us, bytes) in intervals {
            now += us;
            predictor.on_served(at_us(now), bytes, Duration::from_micros(us), true);
        }
        predictor
    }

    #[test]
    fn an_even_rate_goes_on() {
        let predictor = after((0..300).map(|_| (10_000, 20_000.0)));
        assert!((predictor.mean().expect("known") - 2e6).abs() < 1.0);
        for ms in [1, 4, 10] {
            let drained = predictor.drained(Duration::from_millis(ms));
            assert!((drained - 2_000.0 * ms as f64).abs() < 1.0, "{drained}");
        }
        assert!(predictor.drained(Duration::ZERO).abs() < 1e-9);
    }

    #[test]
    fn a_rate_that_goes_up_and_down_is_learnt() {
        let bytes = |period: u64| {
            if period.is_multiple_of(2) {
                30_000.0
            } else {
                10_000.0
            }
        };
        for count in [300, 301] {
            let predictor = after((0..count).map(|period| (10_000, bytes(period))));
            let drained = predictor.drained(PERIOD);
            let next = bytes(count);
            assert!((drained - next).abs() < 2_500.0, "{drained} of {next}");
        }
    }

    #[test]
    fn what_is_served_in_bursts_is_not_served_while_no_status_comes() {
        // intervals of a millisecond, and at times that nothing announces one of 12 ms in which others were served
        let burst = |n: u64| match (n * 2_654_435_761 % (1 << 32)) >> 28 {
            0 => (12_000, 500.0),
            _ => (1_000, 3_000.0),
        };
        let predictor = after((0..1_100).map(burst));
        let soon = predictor.drained(Duration::from_micros(500));
        assert!(soon > 300.0, "{soon}");
        let late = predictor.drained(Duration::from_millis(8));
        assert!(late < 4_000.0, "{late}");
    }

    #[test]
    fn equations_are_solved_and_those_without_a_solution_are_not() {
        let mut rows = [[0.0; TERMS]; TERMS];
        for (i, row) in rows.iter_mut().enumerate() {
            row[i] = 2.0;
            row[(i + 1) % TERMS] += 1.0;
        }
        let solution = solve(rows, [3.0; TERMS]).expect("one");
        assert!(
            solution.iter().all(|value| (value - 1.0).abs() < 1e-12),
            "{solution:?}"
        );
        rows[0] = rows[1];
        assert_eq!(solve(rows, [3.0; TERMS]), None);
        assert_eq!(solve([[f64::NAN; TERMS]; TERMS], [3.0; TERMS]), None);
    }

    proptest! {
        #[test]
        fn whatever_was_served_what_drains_is_finite_and_grows(
            intervals in vec((1_u64..600_000, 0_u32..2_000_000, any::<bool>()), 1..200),
        ) {
            let (mut predictor, mut now) = (Predictor::new(PERIOD), 0);
            for (us, bytes, is_busy) in intervals {
                now += us;
                predictor.on_served(at_us(now), bytes.into(), Duration::from_micros(us), is_busy);
                for us in [0, 200, 3_000, 20_000] {
                    let drained = predictor.drained(Duration::from_micros(us));
                    prop_assert!(drained.is_finite() && drained >= 0.0, "{drained}");
                }
                prop_assert!(predictor.points.len() < 1_000);
            }
        }
    }
}
