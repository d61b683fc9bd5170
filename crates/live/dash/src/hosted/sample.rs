//! The values of a moment, gathered without delaying viewers, and the rates of counters.

use crate::feed::Feed;
use metric::{Kind, Metric};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Maximum number of flows of a daemon that are shown.
const MAX_BUSY: usize = 200;
/// In so long, the weight of what a flow has carried halves.
const HALF_LIFE: Duration = Duration::from_secs(5);

/// A value.
#[derive(Debug)]
struct Value {
    kind: Kind,
    entity: String,
    parent: Option<String>,
    metric: Metric,
    value: f64,
}

/// A number that only grows, as it was last.
#[derive(Clone, Copy, Debug)]
struct Counter {
    total: u64,
    at: Instant,
}

/// What a flow has carried.
#[derive(Clone, Copy, Debug)]
struct Carried {
    /// In all, bytes.
    total: u64,
    /// Of late, bytes.
    lately: f64,
    seen_at: Instant,
}

/// The values of a moment.
#[derive(Debug, Default)]
pub struct Sample {
    now: Option<Instant>,
    values: Vec<Value>,
    controls: Vec<(String, String)>,
    counters: BTreeMap<Metric, BTreeMap<String, Counter>>,
    carried: BTreeMap<u64, Carried>,
    looked_at: Option<Instant>,
}

impl Sample {
    /// A value; `parent` is the UE of a flow, the cell of a UE.
    pub fn put(
        &mut self,
        kind: Kind,
        entity: &str,
        parent: Option<&str>,
        metric: Metric,
        value: f64,
    ) {
        self.values.push(Value {
            kind,
            entity: entity.to_owned(),
            parent: parent.map(str::to_owned),
            metric,
            value,
        });
    }

    /// A rate in bit/s: of `total`, bytes so far, since the last sample. Gives it; the first time
    /// there is none.
    pub fn put_rate(
        &mut self,
        kind: Kind,
        entity: &str,
        parent: Option<&str>,
        metric: Metric,
        total: u64,
    ) -> Option<f64> {
        let (bytes, time) = self.grown(entity, metric, total)?;
        let rate = 8.0 * bytes as f64 / time.as_secs_f64();
        self.put(kind, entity, parent, metric, rate);
        Some(rate)
    }

    /// Of these, each with its number and what it has carried so far, the `MAX_BUSY` that have
    /// carried most of late, by their numbers. To be called once a sample.
    pub fn busiest<T>(&mut self, mut all: Vec<(u64, u64, T)>) -> Vec<T> {
        let now = self.now.unwrap_or_else(Instant::now);
        let before = self.looked_at.replace(now).unwrap_or(now);
        let passed = now.duration_since(before).as_secs_f64();
        let kept = 0.5_f64.powf(passed / HALF_LIFE.as_secs_f64());
        for (number, total, _) in &all {
            let carried = self.carried.entry(*number).or_insert(Carried {
                total: 0,
                lately: 0.0,
                seen_at: now,
            });
            let news = total.saturating_sub(carried.total) as f64;
            carried.lately = carried.lately * kept + news;
            (carried.total, carried.seen_at) = (*total, now);
        }
        self.carried.retain(|_, carried| carried.seen_at == now);
        if all.len() > MAX_BUSY {
            let of = |number: &u64| self.carried.get(number).map_or(0.0, |c| c.lately);
            all.sort_by(|(a, ..), (b, ..)| of(b).total_cmp(&of(a)).then(a.cmp(b)));
            all.truncate(MAX_BUSY);
        }
        all.sort_by_key(|(number, ..)| *number);
        all.into_iter().map(|(.., one)| one).collect()
    }

    /// By how much a counter has grown since the last sample, and in which time; none if it was not
    /// put then, or has begun anew.
    pub fn grown(&mut self, entity: &str, metric: Metric, total: u64) -> Option<(u64, Duration)> {
        let at = self.now?;
        let counters = self.counters.entry(metric).or_default();
        let news = Counter { total, at };
        let Some(counter) = counters.get_mut(entity) else {
            counters.insert(entity.to_owned(), news);
            return None;
        };
        let before = std::mem::replace(counter, news);
        let time = at.duration_since(before.at);
        let bytes = total.checked_sub(before.total)?;
        (!time.is_zero()).then_some((bytes, time))
    }

    /// The congestion control of a flow.
    pub fn describe(&mut self, flow: &str, cc: &str) {
        self.controls.push((flow.to_owned(), cc.to_owned()));
    }

    /// The values of another moment begin.
    pub(super) fn begin(&mut self, now: Instant) {
        self.now = Some(now);
        self.values.clear();
        self.controls.clear();
    }

    /// There was no viewer for a while: rates begin anew.
    pub(super) fn clear(&mut self) {
        self.counters.clear();
        self.carried.clear();
        self.looked_at = None;
    }

    /// Entity, metric and value of all that was put.
    #[cfg(test)]
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, &'static str, f64)> {
        let values = self.values.iter();
        values.map(|value| (value.entity.as_str(), value.metric.name(), value.value))
    }

    /// Hands them over as all there is.
    pub(super) fn send(&mut self, feed: &Feed, t: f64) {
        let now = self.now;
        for counters in self.counters.values_mut() {
            counters.retain(|_, counter| Some(counter.at) == now);
        }
        let mut round = feed.round(t);
        for value in &self.values {
            let parent = value.parent.as_deref();
            let metric = value.metric.name();
            round.put(value.kind, &value.entity, parent, metric, value.value);
        }
        for (flow, cc) in &self.controls {
            round.describe(flow, cc);
        }
        round.finish_complete();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{About, Source, World};

    #[test]
    fn a_rate_is_of_the_time_between_samples_and_begins_anew_with_its_counter() {
        let feed = Feed::new(About {
            title: String::new(),
            world: World::Live,
            source: Source::Pep,
        });
        let mut sample = Sample::default();
        let start = Instant::now();
        let mut rates = Vec::new();
        // the fourth is a counter that begins anew; then it is missing once
        for (tenths, total) in [
            (0, 1_000),
            (1, 3_500),
            (3, 3_500),
            (4, 10),
            (5, 20),
            (7, 40),
        ] {
            sample.begin(start + Duration::from_millis(100 * tenths));
            if tenths == 7 {
                sample.send(&feed, 0.6);
                sample.begin(start + Duration::from_millis(700));
            }
            sample.put_rate(Kind::Flow, "a", None, Metric::Goodput, total);
            rates.push(sample.values.first().map(|value| value.value));
            sample.send(&feed, 0.1 * tenths as f64);
        }
        let near = |k: usize, bps: f64| {
            let rate: f64 = rates[k].expect("a rate");
            assert!((rate - bps).abs() < 1e-3, "{rate} {bps}");
        };
        assert_eq!((rates[0], rates[3], rates[5]), (None, None, None));
        near(1, 200_000.0);
        near(2, 0.0);
        near(4, 800.0);
    }

    #[test]
    fn the_busiest_of_late_are_shown_in_order() {
        let mut sample = Sample::default();
        let start = Instant::now();
        let all = |busy: u64, bytes: u64| -> Vec<(u64, u64, u64)> {
            let of = |number| {
                if number == busy {
                    bytes
                } else {
                    1_000 - number
                }
            };
            (0..=MAX_BUSY as u64).map(|n| (n, of(n), n)).collect()
        };
        sample.begin(start);
        let first = sample.busiest(all(0, 0));
        assert_eq!(first, (1..=MAX_BUSY as u64).collect::<Vec<_>>());
        sample.begin(start + Duration::from_secs(1));
        let second = sample.busiest(all(0, 10_000));
        assert_eq!(second, (0..MAX_BUSY as u64).collect::<Vec<_>>());
        // what it carried expires in the end
        sample.begin(start + Duration::from_secs(300));
        let mut later = all(0, 10_000);
        later
            .iter_mut()
            .skip(1)
            .for_each(|(_, total, _)| *total += 5);
        assert_eq!(
            sample.busiest(later),
            (1..=MAX_BUSY as u64).collect::<Vec<_>>()
        );
    }
}
