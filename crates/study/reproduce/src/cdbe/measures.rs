//! What is read off runs of five downloads.

use scenario::{Distribution, FlowResult, Metric, RunResult};
use units::Duration;

/// When the downloads begin, s.
const BEGIN: f64 = 3.0;

/// Mean over a run's flows, of those that have it.
fn mean(run: &RunResult, of: impl Fn(&FlowResult) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = run.flows.iter().filter_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Mean of a distribution, ms; none of an empty one.
fn mean_of(distribution: &Distribution) -> Option<f64> {
    (distribution.count > 0).then_some(distribution.mean)
}

/// Goodput of a user, Mbit/s.
pub(super) fn goodput(run: &RunResult) -> Option<f64> {
    mean(run, |flow| Some(flow.goodput.as_bps() as f64 / 1e6))
}

/// Round-trip time, ms.
pub(super) fn rtt(run: &RunResult) -> Option<f64> {
    mean(run, |flow| mean_of(&flow.rtt))
}

/// One-way delay of segments towards the user, ms.
pub(super) fn delay(run: &RunResult) -> Option<f64> {
    mean(run, |flow| mean_of(&flow.segment_delay))
}

/// What the cell delivers while any user downloads, Mbit/s.
pub(super) fn throughput(run: &RunResult) -> Option<f64> {
    let bits: u64 = run.flows.iter().map(|flow| flow.delivered.get() * 8).sum();
    let end = |flow: &FlowResult| match flow.completion {
        Some(time) => time.as_secs_f64(),
        None => run.elapsed.as_secs_f64() - BEGIN,
    };
    let time = run.flows.iter().map(end).reduce(f64::max)?;
    (time > 0.0).then(|| bits as f64 / time / 1e6)
}

/// Completion time of the downloads that complete, s.
pub(super) fn completion(run: &RunResult) -> Option<f64> {
    mean(run, |flow| flow.completion.map(Duration::as_secs_f64))
}

/// Share of downloads that complete before the run ends, %.
pub(super) fn completed(run: &RunResult) -> Option<f64> {
    mean(run, |flow| {
        Some(if flow.completion.is_some() {
            100.0
        } else {
            0.0
        })
    })
}

/// Packets of a user that the network dropped.
pub(super) fn lost(run: &RunResult) -> Option<f64> {
    mean(run, |flow| Some(flow.lost as f64))
}

/// The points of a series: time in s, and value.
pub(super) fn series(run: &RunResult, entity: &str, metric: Metric) -> Vec<(f64, f64)> {
    let mut all = run.series.iter();
    let found = all.find(|s| s.entity == entity && s.metric == metric);
    let points = found.map_or(&[][..], |s| &s.points);
    let seconds = points.iter();
    seconds
        .map(|(at, value)| (at.since_start().as_secs_f64(), *value))
        .collect()
}

/// Samples of a flow after so many seconds.
pub(super) fn after(run: &RunResult, flow: &str, metric: Metric, seconds: u64) -> Vec<f64> {
    let points = series(run, flow, metric);
    let later = points.into_iter().filter(|&(at, _)| at > seconds as f64);
    later.map(|(_, value)| value).collect()
}

/// Jain's index of the rates of all flows after so many seconds.
pub(super) fn jain_after(run: &RunResult, seconds: u64) -> Option<f64> {
    let flows = run.flows.iter();
    let rates: Vec<f64> = flows
        .map(|flow| {
            after(run, &flow.name, Metric::Goodput, seconds)
                .iter()
                .sum()
        })
        .collect();
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), rate| {
        (sum + rate, squares + rate * rate)
    });
    let squares = rates.len() as f64 * squares;
    (squares > 0.0).then(|| sum * sum / squares)
}

/// By how much round trips of all flows are longer than the path after so many seconds, ms.
pub(super) fn increase_after(run: &RunResult, path: u64, seconds: u64) -> Option<f64> {
    let flows = run.flows.iter();
    let all: Vec<f64> = flows
        .flat_map(|flow| after(run, &flow.name, Metric::Rtt, seconds))
        .collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    (!all.is_empty()).then_some(mean - path as f64)
}

/// Values of two series at the same times from `begin` on.
pub(super) fn pairs(a: &[(f64, f64)], b: &[(f64, f64)], begin: f64) -> Vec<(f64, f64)> {
    let mut b = b.iter().peekable();
    let mut pairs = Vec::new();
    for &(at, value) in a.iter().filter(|(at, _)| *at >= begin) {
        while b.next_if(|(other, _)| *other < at - 1e-9).is_some() {}
        if let Some((_, other)) = b.next_if(|(other, _)| (other - at).abs() <= 1e-9) {
            pairs.push((value, *other));
        }
    }
    pairs
}

/// Pearson's correlation; none of a constant.
pub(super) fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let (x, y) = pairs
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.0, y + p.1));
    let (x, y) = (x / n, y / n);
    let sum = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|p| f(p.0 - x, p.1 - y)).sum::<f64>();
    let scale = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    (scale > 0.0).then(|| sum(&|a, b| a * b) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_by_hand() {
        let line = [(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)];
        assert!(correlation(&line).is_some_and(|r| (r - 1.0).abs() < 1e-12));
        // deviations (-1, 0, 1) and (1/3, -2/3, 1/3): no correlation
        let none = [(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)];
        assert!(correlation(&none).is_some_and(|r| r.abs() < 1e-12));
        assert_eq!(correlation(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(correlation(&[]), None);
    }

    #[test]
    fn series_meet_at_equal_times() {
        let a = [(0.1, 1.0), (0.2, 2.0), (0.3, 3.0), (0.5, 5.0)];
        let b = [(0.2, 20.0), (0.4, 40.0), (0.5, 50.0)];
        assert_eq!(pairs(&a, &b, 0.15), [(2.0, 20.0), (5.0, 50.0)]);
        assert_eq!(pairs(&a, &b, 0.3), [(5.0, 50.0)]);
    }

    #[test]
    fn a_cell_delivers_until_its_last_user_is_done() {
        let flow = |bytes, seconds: Option<u64>| FlowResult {
            delivered: units::Bytes::new(bytes),
            completion: seconds.map(Duration::from_secs),
            ..FlowResult::default()
        };
        let mut run = RunResult {
            elapsed: Duration::from_secs(7),
            flows: vec![flow(1_000_000, Some(1)), flow(1_000_000, Some(2))],
            ..RunResult::default()
        };
        assert_eq!(throughput(&run), Some(8.0));
        assert_eq!(
            (completion(&run), completed(&run)),
            (Some(1.5), Some(100.0))
        );
        // not done: until the run ends, 4 s after the beginning
        run.flows.push(flow(2_000_000, None));
        assert_eq!(throughput(&run), Some(8.0));
        assert_eq!(completion(&run), Some(1.5));
        assert_eq!((goodput(&RunResult::default()), rtt(&run)), (None, None));
    }
}
