//! What is read off a run. None where a run does not have it.

use scenario::{Distribution, FlowResult, Metric, QueueResult, RunResult};
use units::{Duration, Instant};

/// A flow by its name.
pub(crate) fn flow<'a>(run: &'a RunResult, name: &str) -> Option<&'a FlowResult> {
    run.flows.iter().find(|flow| flow.name == name)
}

/// A queue by its name.
pub(crate) fn queue<'a>(run: &'a RunResult, name: &str) -> Option<&'a QueueResult> {
    run.queues.iter().find(|queue| queue.name == name)
}

/// Sojourn times in a queue, ms; none if nothing went through it.
pub(crate) fn sojourn<'a>(run: &'a RunResult, name: &str) -> Option<&'a Distribution> {
    let sojourn = &queue(run, name)?.sojourn;
    (sojourn.count > 0).then_some(sojourn)
}

/// Share of a queue's packets that were dropped, %; none if there were none.
pub(crate) fn dropped(run: &RunResult, name: &str) -> Option<f64> {
    let queue = queue(run, name)?;
    let all = queue.sojourn.count + queue.drops;
    (all > 0).then(|| 100.0 * queue.drops as f64 / all as f64)
}

/// Goodput of a flow over its whole life, Mbit/s.
pub(crate) fn goodput(name: &str) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| flow(run, name).map(|f| f.goodput.as_bps() as f64 / 1e6)
}

/// Goodput of all flows together, Mbit/s.
pub(crate) fn total_goodput(run: &RunResult) -> Option<f64> {
    Some(
        run.flows
            .iter()
            .map(|f| f.goodput.as_bps() as f64 / 1e6)
            .sum(),
    )
}

/// From a flow's start to its completion, s.
pub(crate) fn completion(name: &str) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| flow(run, name)?.completion.map(Duration::as_secs_f64)
}

/// Completion of the last flow, s; none unless all complete.
pub(crate) fn last_completion(run: &RunResult) -> Option<f64> {
    let times: Option<Vec<f64>> = run
        .flows
        .iter()
        .map(|f| f.completion.map(Duration::as_secs_f64))
        .collect();
    times?.into_iter().reduce(f64::max)
}

/// Mean round-trip time of a flow, ms.
pub(crate) fn rtt(name: &str) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| {
        let rtt = &flow(run, name)?.rtt;
        (rtt.count > 0).then_some(rtt.mean)
    }
}

/// By how much the mean round-trip time of a flow is above `base`, ms.
pub(crate) fn increase(name: &str, base: f64) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| rtt(name)(run).map(|mean| mean - base)
}

/// Mean one-way delay of a flow, ms.
pub(crate) fn one_way_delay(name: &str) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| {
        let delay = &flow(run, name)?.owd;
        (delay.count > 0).then_some(delay.mean)
    }
}

/// Mean load time of pages, s.
pub(crate) fn load_time(name: &str) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| {
        let time = &flow(run, name)?.load_time;
        (time.count > 0).then_some(time.mean / 1e3)
    }
}

/// Jain's index of the flows' goodputs: 1 if all are equal, 1/n if one has all.
pub(crate) fn jain(run: &RunResult) -> Option<f64> {
    let rates = || run.flows.iter().map(|f| f.goodput.as_bps() as f64);
    let squares: f64 = rates().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| rates().sum::<f64>().powi(2) / (run.flows.len() as f64 * squares))
}

/// The 95th percentile of the round-trip times of the flow where it is greatest, ms.
pub(crate) fn worst_p95(run: &RunResult) -> Option<f64> {
    let measured = run.flows.iter().filter(|f| f.rtt.count > 0);
    measured.map(|f| f.rtt.p95).reduce(f64::max)
}

/// Packets that the base station's queues dropped.
pub(crate) fn rlc_drops(run: &RunResult) -> Option<f64> {
    let queues = run.queues.iter().filter(|q| q.name.starts_with("rlc/"));
    Some(queues.map(|q| q.drops as f64).sum())
}

/// Share of the link that was used, %.
pub(crate) fn utilisation(run: &RunResult) -> Option<f64> {
    Some(100.0 * run.link.utilisation)
}

/// Mean of a series until a time, s.
pub(crate) fn mean_until(run: &RunResult, name: &str, metric: Metric, end: f64) -> Option<f64> {
    let series = run
        .series
        .iter()
        .find(|s| s.entity == name && s.metric == metric)?;
    let values: Vec<f64> = series
        .points
        .iter()
        .filter(|(at, _)| at.since_start().as_secs_f64() <= end)
        .map(|(_, value)| *value)
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A part of a run, by times since its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// From when on, s; what ends at that time does not count.
    pub(crate) from: f64,
    /// Until when, s.
    pub(crate) to: f64,
}

impl Window {
    /// From a time to the run's end.
    pub(crate) const fn from(from: f64) -> Self {
        Self {
            from,
            to: f64::INFINITY,
        }
    }

    /// From one time to another.
    pub(crate) const fn between(from: f64, to: f64) -> Self {
        Self { from, to }
    }

    /// The points of a series in it.
    fn points<'a>(
        self,
        run: &'a RunResult,
        name: &str,
        metric: Metric,
    ) -> impl Iterator<Item = (Instant, f64)> + use<'a> {
        let mut series = run.series.iter();
        let found = series.find(|s| s.entity == name && s.metric == metric);
        let points = found.map_or(&[][..], |s| &s.points).iter().copied();
        points.filter(move |(at, _)| {
            let at = at.since_start().as_secs_f64();
            at > self.from && at <= self.to
        })
    }

    /// Goodput of a flow in it, Mbit/s, by the run's series.
    pub(crate) fn goodput(self, name: &str) -> impl Fn(&RunResult) -> Option<f64> {
        move |run| {
            let (mut sum, mut count) = (0.0, 0.0);
            for (_, bps) in self.points(run, name, Metric::Goodput) {
                sum += bps;
                count += 1.0;
            }
            (count > 0.0).then_some(sum / count / 1e6)
        }
    }

    /// Mean round-trip time of a flow in it, ms: of the steps' means, each weighted by what was delivered in it,
    /// which is nearly how many samples it has.
    pub(crate) fn rtt(self, name: &str) -> impl Fn(&RunResult) -> Option<f64> {
        move |run| {
            let mut delivered = self.points(run, name, Metric::Goodput).peekable();
            let (mut sum, mut weight) = (0.0, 0.0);
            for (at, rtt) in self.points(run, name, Metric::Rtt) {
                // both series are of the same steps; one without a sample has no round-trip time
                while delivered.next_if(|(step, _)| *step < at).is_some() {}
                let of_step = delivered.peek().map_or(0.0, |(_, bps)| *bps);
                sum += of_step * rtt;
                weight += of_step;
            }
            (weight > 0.0).then_some(sum / weight)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Series;
    use units::BitRate;

    fn run(rates: &[u64]) -> RunResult {
        let flows = rates.iter().enumerate().map(|(i, rate)| FlowResult {
            name: format!("f{i}"),
            goodput: BitRate::from_bps(*rate),
            ..FlowResult::default()
        });
        RunResult {
            flows: flows.collect(),
            ..RunResult::default()
        }
    }

    #[test]
    fn jains_index_by_hand() {
        // (1 + 3)^2 / (2 (1 + 9)) = 0.8; all to one of four: 1/4
        assert_eq!(jain(&run(&[1, 3])), Some(0.8));
        assert_eq!(jain(&run(&[5, 0, 0, 0])), Some(0.25));
        assert_eq!(jain(&run(&[0, 0])), None);
    }

    #[test]
    fn what_was_not_measured_is_none() {
        let run = run(&[2_000_000]);
        assert_eq!(goodput("f0")(&run), Some(2.0));
        assert_eq!(goodput("f1")(&run), None);
        assert_eq!(completion("f0")(&run), None);
        assert_eq!(last_completion(&run), None);
        assert_eq!(rtt("f0")(&run), None);
        assert_eq!(load_time("f0")(&run), None);
    }

    #[test]
    fn only_the_base_stations_drops_count() {
        let mut run = run(&[]);
        run.queues = [("rlc/ue1/drb1", 3), ("wan/down", 5), ("rlc/ue2/drb1", 1)]
            .map(|(name, drops)| QueueResult {
                name: name.into(),
                drops,
                ..QueueResult::default()
            })
            .to_vec();
        assert_eq!(rlc_drops(&run), Some(4.0));
    }

    #[test]
    fn drops_are_a_share_of_what_came() {
        let mut run = run(&[]);
        let gaming = QueueResult {
            name: "ran/gaming".into(),
            drops: 1,
            sojourn: Distribution {
                count: 3,
                mean: 5.0,
                ..Distribution::default()
            },
            ..QueueResult::default()
        };
        let idle = QueueResult {
            name: "ran/bulk".into(),
            ..QueueResult::default()
        };
        run.queues = vec![gaming, idle];
        assert_eq!(dropped(&run, "ran/gaming"), Some(25.0));
        assert_eq!(sojourn(&run, "ran/gaming").map(|s| s.mean), Some(5.0));
        assert_eq!(dropped(&run, "ran/bulk"), None);
        assert!(sojourn(&run, "ran/bulk").is_none() && queue(&run, "ran/x").is_none());
    }

    #[test]
    fn a_series_is_averaged_until_its_time() {
        let mut run = run(&[]);
        run.series.push(Series {
            entity: "f0".into(),
            metric: Metric::Goodput,
            points: [(1, 1.0), (2, 3.0), (3, 100.0)]
                .map(|(s, v)| (Instant::from_nanos(s * 1_000_000_000), v))
                .to_vec(),
        });
        assert_eq!(mean_until(&run, "f0", Metric::Goodput, 2.0), Some(2.0));
        assert_eq!(mean_until(&run, "f0", Metric::Goodput, 0.5), None);
        assert_eq!(mean_until(&run, "f0", Metric::Rtt, 2.0), None);
    }

    #[test]
    fn a_window_counts_its_steps_by_what_they_delivered() {
        let mut run = run(&[]);
        let series = |metric, points: &[(u64, f64)]| Series {
            entity: "f0".into(),
            metric,
            points: points
                .iter()
                .map(|(s, v)| (Instant::from_nanos(s * 1_000_000_000), *v))
                .collect(),
        };
        run.series = vec![
            series(
                Metric::Goodput,
                &[(1, 9e6), (2, 1e6), (3, 0.0), (4, 3e6), (5, 7e6)],
            ),
            // nothing was acknowledged in the third step
            series(Metric::Rtt, &[(1, 99.0), (2, 10.0), (4, 30.0), (5, 50.0)]),
        ];
        let window = Window::between(1.0, 4.0);
        let mean = window.goodput("f0")(&run).expect("three steps");
        assert!((mean - 4.0 / 3.0).abs() < 1e-12, "{mean}");
        // (1 x 10 + 3 x 30) / 4
        assert_eq!(window.rtt("f0")(&run), Some(25.0));
        assert_eq!(Window::from(4.0).rtt("f0")(&run), Some(50.0));
        assert_eq!(Window::from(5.0).goodput("f0")(&run), None);
        assert_eq!(window.rtt("f1")(&run), None);
    }
}
