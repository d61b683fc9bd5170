//! Nested congestion control: Pieska et al., "Performance Impact of Nested Congestion Control on
//! Transport-Layer Multipath Tunneling", Future Internet 16(7), 2024.

mod bars;
mod combination;
mod contours;
mod delay;
mod ours;
mod over_time;
mod place;
mod points;
mod proxy;
mod rank;
mod readings;
mod regions;
mod table;
mod testbed;
mod waiting;

use crate::experiment::Experiment;
use crate::measure::completion;
use crate::ran::Results;
use crate::section::{Extent, Repeats, System};
use crate::shipped;
use combination::Combination;
use place::{FLOW, Place};
use scenario::{Estimate, RunResult};

/// The system.
pub(crate) static SYSTEM: System = System {
    name: "nested-cc",
    title: "Nested congestion control: ours beside the paper",
    columns: &["CPF", "SRTT", "ours"],
    files: shipped::NESTED_CC,
    repeats: Repeats {
        full: 3,
        quick: 1,
        lab: 3,
    },
    lab: &["fig9b"],
    apart: &[],
    worlds: "",
    preface: "A download passes a tunnel of two paths of 50 Mbit/s; its time is given in per cent of that over the \
        first path alone, without a tunnel (DLCT; 50 is the optimum). \"A over B\" is controller A at the server \
        over B on the tunnel's paths; CCID2 and CCID5 are NewReno and BBR over DCCP, all others ride on TCP. CPF and \
        SRTT are the paper's schedulers; `aware` is ours, which the third column has \
        ([what differs](../algorithms/nested-cc.md)). The fifteen scenarios of figure 10 are reconstructed: \
        table 2 has the names, the figure's bars are an image; both RTTs alone, NEAR, DIST, with buffers of 250 and \
        1000 packets and with CoDel, and the three asymmetries. The paper repeats each ten times over real sockets; here \
        each packet of a repeat takes up to 200 us longer on a path, as the seed draws it. Contours, the paths over time \
        and numbers without an interval are of one run.",
    quick: "6 of 15 scenarios with a third of the file, 16 of 400 points of four contours",
    sections: &[
        proxy::SECTION,
        table::SECTION,
        readings::SECTION,
        bars::SECTION,
        waiting::SECTION,
        over_time::SECTION,
        testbed::SECTION,
        contours::BBR,
        contours::CUBIC,
        contours::NEWRENO,
        ours::TABLE,
        ours::CONTOURS,
        delay::SECTION,
    ],
    discussion: include_str!("discussion.md"),
};

/// The paper's schedulers.
const SCHEDULERS: [&str; 2] = ["cpf", "srtt"];
/// Ours.
const AWARE: &str = "aware";

/// The scenarios of figure 10; a few of them, with shorter downloads, in a quick reproduction.
fn places(extent: &Extent) -> Vec<Place> {
    let all = place::all();
    match extent.quick {
        false => all,
        true => {
            let few = [
                "SHORT",
                "LONG",
                "SHORT NEAR",
                "LONG DIST",
                "SHORT BUF250",
                "LONG CDL1",
            ];
            let few = all.into_iter().filter(|p| few.contains(&p.name.as_str()));
            few.map(|place| Place {
                file: "100 MB",
                ..place
            })
            .collect()
        }
    }
}

/// A combination in a scenario.
fn nested(combination: Combination, scheduler: &str, place: &Place) -> Experiment {
    combination
        .apply(place.tunnel())
        .set("scheduler", scheduler)
}

/// Download time of an experiment in per cent of that over the first path alone, seed by seed.
fn relative(
    results: &Results,
    experiment: &Experiment,
    server: &'static str,
    place: &Place,
) -> Estimate {
    percent(results.ratio(experiment, &place.alone(server), completion(FLOW)))
}

fn percent(estimate: Estimate) -> Estimate {
    Estimate {
        mean: 100.0 * estimate.mean,
        ci95: 100.0 * estimate.ci95,
    }
}

/// The mean of several independent means; not a number unless all are.
fn mean(estimates: impl IntoIterator<Item = Estimate>) -> Estimate {
    let all: Vec<Estimate> = estimates.into_iter().collect();
    let count = all.len() as f64;
    let squares: f64 = all.iter().map(|e| e.ci95 * e.ci95).sum();
    Estimate {
        mean: all.iter().map(|e| e.mean).sum::<f64>() / count,
        ci95: squares.sqrt() / count,
    }
}

/// Table 3's number: the mean over the scenarios.
fn average(
    results: &Results,
    combination: Combination,
    scheduler: &str,
    places: &[Place],
) -> Estimate {
    mean(places.iter().map(|place| {
        let experiment = nested(combination, scheduler, place);
        relative(results, &experiment, combination.server, place)
    }))
}

/// Share of what the tunnel delivered that took a path, %, by its place in the file.
fn carried(path: usize) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| {
        let paths = &run.tunnel.as_ref()?.paths;
        let all: u64 = paths.iter().map(|p| p.carried.get()).sum();
        let this = paths.get(path)?.carried.get();
        (all > 0).then(|| 100.0 * this as f64 / all as f64)
    }
}

/// Rate of each path, bit/s (table 1).
const PATH_RATE: f64 = 50e6;

/// What the cheap path carried of what it could while the download lasted, %; what the tunnel's own
/// headers take is missing in it.
fn cheap_used(run: &RunResult) -> Option<f64> {
    let lasted = completion(FLOW)(run)?;
    let carried = run.tunnel.as_ref()?.paths.first()?.carried;
    Some(100.0 * carried.bits().get() as f64 / (PATH_RATE * lasted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{FlowResult, TunnelPathResult, TunnelResult};
    use units::{Bytes, Duration};

    #[test]
    fn shares_of_paths_by_hand() {
        let path = |megabytes: u64| TunnelPathResult {
            carried: Bytes::new(megabytes * 1_000_000),
            ..TunnelPathResult::default()
        };
        let run = RunResult {
            flows: vec![FlowResult {
                name: FLOW.to_owned(),
                completion: Some(Duration::from_secs(40)),
                ..FlowResult::default()
            }],
            tunnel: Some(TunnelResult {
                paths: vec![path(225), path(75)],
                ..TunnelResult::default()
            }),
            ..RunResult::default()
        };
        assert_eq!(
            (carried(0)(&run), carried(1)(&run)),
            (Some(75.0), Some(25.0))
        );
        assert_eq!(carried(2)(&run), None);
        // 225 MB of 250 MB
        assert_eq!(cheap_used(&run), Some(90.0));
        assert_eq!(cheap_used(&RunResult::default()), None);
    }

    #[test]
    fn the_mean_of_means_has_a_smaller_interval() {
        let one = Estimate {
            mean: 50.0,
            ci95: 4.0,
        };
        let other = Estimate {
            mean: 60.0,
            ci95: 3.0,
        };
        let both = mean([one, other]);
        assert_eq!((both.mean, both.ci95), (55.0, 2.5));
    }
}
