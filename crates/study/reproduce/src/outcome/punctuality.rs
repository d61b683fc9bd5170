//! How late the slots of the radio were in the lab.

use crate::ran::Results;
use scenario::RealTime;

/// Over all runs with a radio: what a slot was late by on average, and the worst of the runs' 99th percentiles; empty
/// without such a run in real time.
pub(super) fn sentence(results: &Results) -> String {
    let runs = results.ran.iter().flat_map(|ran| &ran.runs);
    of(runs.filter_map(|run| run.real_time.as_ref()))
}

fn of<'a>(times: impl Iterator<Item = &'a RealTime>) -> String {
    let (mut runs, mut sum, mut worst, mut refused) = (0_u32, 0.0, 0.0_f64, 0);
    for time in times.filter(|time| time.lateness.count > 0) {
        runs += 1;
        sum += time.lateness.mean;
        worst = worst.max(time.lateness.p99);
        refused += time.refused;
    }
    match runs {
        0 => String::new(),
        _ => format!(
            "A slot of the radio was {:.3} ms late on average over {runs} runs, the 99th percentile of the worst of \
             them is {worst:.3} ms; hosts' kernels refused {refused} packets.",
            sum / f64::from(runs),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Distribution;

    #[test]
    fn the_mean_of_all_runs_and_the_worst_of_them() {
        let late = |count, mean, p99, refused| RealTime {
            lateness: Distribution {
                count,
                mean,
                p99,
                ..Distribution::default()
            },
            scale: 1.0,
            refused,
            notes: Vec::new(),
        };
        let runs = [
            late(1, 0.02, 0.3, 0),
            late(0, 0.0, 0.0, 0),
            late(1, 0.04, 0.1, 2),
        ];
        let text = of(runs.iter());
        assert_eq!(
            text,
            "A slot of the radio was 0.030 ms late on average over 2 runs, the 99th percentile of the worst of them is \
             0.300 ms; hosts' kernels refused 2 packets."
        );
        let wired = [late(0, 0.0, 0.0, 0)];
        assert_eq!([of(wired.iter()), of([].iter())], ["", ""]);
    }
}
