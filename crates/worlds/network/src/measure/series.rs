//! Time series, one point each step.

use scenario::{Metric, Observer, Series};
use std::collections::BTreeMap;
use units::Instant;

/// All series of a run, in the order in which they were first written.
#[derive(Debug, Default)]
pub struct SeriesSet {
    series: Vec<Series>,
    /// By entity: its metrics, and which series each is.
    places: BTreeMap<String, Vec<(Metric, usize)>>,
    /// The series that is expected next: every step writes in the same order.
    cursor: usize,
    observer: Option<Box<dyn Observer>>,
}

impl SeriesSet {
    /// Passes all points to an observer from now on.
    pub fn observe(&mut self, observer: Option<Box<dyn Observer>>) {
        self.observer = observer;
    }

    /// Begins a step.
    pub fn begin_step(&mut self) {
        self.cursor = 0;
    }

    /// Ends a step: all its points are there.
    pub fn end_step(&mut self, now: Instant) {
        if let Some(observer) = &mut self.observer {
            observer.step(now);
        }
    }

    /// A point of `entity`'s `metric`.
    pub fn push(&mut self, entity: &str, metric: Metric, now: Instant, value: f64) {
        self.push_late((entity, metric), now, value, &[]);
    }

    /// A point of `entity`'s `metric`, and what is to be added to the points before it, the last first: it was found
    /// in this step only. An observer, who has seen those points, gets the sum.
    pub fn push_late(
        &mut self,
        (entity, metric): (&str, Metric),
        now: Instant,
        value: f64,
        earlier: &[f64],
    ) {
        let is_it = |s: &Series| s.metric == metric && s.entity == entity;
        let at = match self.series.get(self.cursor) {
            Some(series) if is_it(series) => self.cursor,
            _ => self.find_or_add(entity, metric),
        };
        let points = &mut self.series[at].points;
        for (point, late) in points.iter_mut().rev().zip(earlier) {
            point.1 += late;
        }
        points.push((now, value));
        if let Some(observer) = &mut self.observer {
            let sum = value + earlier.iter().sum::<f64>();
            observer.sample(entity, metric, now, sum);
        }
        self.cursor = at + 1;
    }

    /// A point that is for observers, and is not kept.
    pub fn record(&mut self, entity: &str, metric: Metric, now: Instant, value: f64) {
        if let Some(observer) = &mut self.observer {
            observer.sample(entity, metric, now, value);
        }
    }

    fn find_or_add(&mut self, entity: &str, metric: Metric) -> usize {
        let of_entity = self.places.get(entity).map_or(&[][..], Vec::as_slice);
        if let Some(&(_, at)) = of_entity.iter().find(|(of, _)| *of == metric) {
            return at;
        }
        let at = self.series.len();
        self.series.push(Series {
            entity: entity.to_owned(),
            metric,
            points: Vec::new(),
        });
        let of_entity = self.places.entry(entity.to_owned()).or_default();
        of_entity.push((metric, at));
        at
    }

    /// The series.
    pub fn finish(self) -> Vec<Series> {
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_late_is_added_to_the_points_before() {
        let mut set = SeriesSet::default();
        let of = ("a", Metric::Received);
        for (step, earlier) in [&[][..], &[0.5], &[10.0, 20.0, 99.0]]
            .into_iter()
            .enumerate()
        {
            set.begin_step();
            set.push_late(of, Instant::from_nanos(step as u64), 1.0, earlier);
        }
        let series = set.finish();
        let values: Vec<f64> = series[0].points.iter().map(|point| point.1).collect();
        // there is no third step before the last
        assert_eq!(values, [21.5, 11.0, 1.0]);
    }

    #[test]
    fn a_series_that_starts_late_keeps_the_others_apart() {
        let mut set = SeriesSet::default();
        for step in 0..3u64 {
            set.begin_step();
            let now = Instant::from_nanos(step);
            set.push("a", Metric::Goodput, now, 1.0);
            if step > 0 {
                set.push("a", Metric::Rtt, now, 2.0);
            }
            set.push("b", Metric::Goodput, now, 3.0);
        }
        let series = set.finish();
        let lengths: Vec<_> = series
            .iter()
            .map(|s| (s.entity.as_str(), s.points.len()))
            .collect();
        assert_eq!(lengths, [("a", 3), ("b", 3), ("a", 2)]);
    }
}
