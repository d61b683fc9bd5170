//! Each mechanism across a handover: nothing vanishes, and none takes the handover for something else.

use crate::handover::experiment;
use scenario::{Metric, RunResult};

/// A run that is checked for packets that appear or vanish.
fn conserved(set: &[(&str, &str)]) -> RunResult {
    let mut it = sim::Simulation::new(&experiment(set), 1).expect("can be run");
    it.run();
    let counts = it.packet_counts();
    let accounted = counts.delivered + counts.dropped + counts.in_network;
    assert_eq!(counts.sent, accounted, "{set:?}");
    it.finish()
}

/// Every queue management of the base station hands its queue over.
#[test]
fn queues_of_the_base_station_are_handed_over_without_loss() {
    let rlc = [
        "drop-tail",
        "codel",
        "fq-codel",
        "dualpi2",
        "l4span",
        "dynrlc",
        "drql",
        "5g-bdp",
        "default",
    ];
    let alone = rlc.map(|algorithm| vec![("rlc", algorithm)]);
    // above the RLC packets wait where it holds them back
    let above = [
        vec![("rlc", "dynrlc"), ("sdap", "usp")],
        vec![("rlc", "drql"), ("sdap", "fq-codel")],
        vec![("rlc", "5g-bdp"), ("sdap", "usp"), ("upf", "codel")],
    ];
    for layers in alone.iter().chain(&above) {
        let keys: Vec<(String, &str)> = layers
            .iter()
            .flat_map(|(layer, algorithm)| {
                ["cell.0", "cell.1"]
                    .map(|cell| (format!("{cell}.queues.{layer}.algorithm"), *algorithm))
            })
            .collect();
        let set: Vec<(&str, &str)> = keys.iter().map(|(key, to)| (key.as_str(), *to)).collect();
        let result = conserved(&set);
        let [one] = result.handovers.as_slice() else {
            panic!("{set:?}: one handover: {:?}", result.handovers);
        };
        assert!(one.forwarded > 0, "{set:?}: {one:?}");
        assert_eq!(one.lost, 0, "{set:?}: {one:?}");
        assert!(result.flows[0].goodput.as_bps() > 10_000_000, "{set:?}");
    }
}

/// Without forwarding a handover loses a queue: the next cell's first report counts it, so that it is the radio's.
#[test]
fn meld_does_not_take_the_losses_of_a_handover_for_congestion() {
    let of = |variant| {
        conserved(&[
            ("flow.down.meld", variant),
            ("meld.report-period", "1 ms"),
            ("meld.report-delay", "1 ms"),
            ("handover.forwarding", "false"),
        ])
    };
    let result = of("default");
    let [one] = result.handovers.as_slice() else {
        panic!("one handover: {:?}", result.handovers);
    };
    assert!(one.lost > 0, "{one:?}");
    let decisions = result.flows[0].loss_decisions.iter();
    let after =
        decisions.filter(|(at, _)| (0.0..2.0).contains(&(at.as_secs_f64() - one.at.as_secs_f64())));
    let after: Vec<_> = after.map(|(_, it)| it.reason).collect();
    assert!(!after.is_empty());
    assert!(
        after.iter().all(|reason| !reason.is_congestion()),
        "{after:?}"
    );
}

/// CDBE: the client's reports come from the next cell, and the server goes on.
#[test]
fn cdbe_goes_on_in_the_next_cell() {
    let result = conserved(&[("flow.down.cc", "cdbe")]);
    assert_eq!(result.handovers.len(), 1);
    assert_eq!(result.handovers[0].lost, 0);
    let (before, after) = around(&result, Metric::Received);
    assert!(after > 0.5 * before, "{before} then {after} bit/s");
}

/// Windows neither collapse nor flood, whatever the interruption.
#[test]
fn the_proxy_keeps_its_pace_across_a_handover() {
    for interruption in ["0 s", "50 ms", "90 ms"] {
        let result = conserved(&[
            ("pep.mode", "default"),
            ("handover.interruption", interruption),
        ]);
        let [one] = result.handovers.as_slice() else {
            panic!("one handover: {:?}", result.handovers);
        };
        assert_eq!(one.lost, 0);
        let (before, after) = around(&result, Metric::Received);
        assert!(
            after > 0.7 * before,
            "{interruption}: {before} then {after} bit/s"
        );
        // what had waited for a cell without reception has arrived by then
        let served = one.at.as_secs_f64() + one.interruption.as_secs_f64() + 0.1;
        let slowest = of_second(&result, Metric::Rtt, served)
            .into_iter()
            .fold(0.0, f64::max);
        assert!(slowest < 30.0 + 20.0, "{interruption}: {slowest} ms");
    }
}

/// With the marker and where packets wait at the edge: the call and the download go on.
#[test]
fn what_is_not_split_goes_on_in_the_next_cell() {
    for unsplit in ["mark", "queue"] {
        let set = [
            ("pep.mode", "default"),
            ("pep.unsplit", unsplit),
            ("flow.down.cc", "prague"),
            ("flow.down.ecn", "l4s"),
        ];
        let result = conserved(&set);
        assert_eq!(result.handovers.len(), 1, "{unsplit}");
        assert_eq!(result.handovers[0].lost, 0, "{unsplit}");
        let (before, after) = around(&result, Metric::Received);
        assert!(
            after > 0.2 * before,
            "{unsplit}: {before} then {after} bit/s"
        );
    }
}

/// Values of the download's series in the second from a time on.
fn of_second(result: &RunResult, metric: Metric, from: f64) -> Vec<f64> {
    let mut series = result.series.iter();
    let found = series.find(|it| it.entity == "down" && it.metric == metric);
    let points = found.expect("a series").points.iter();
    let within = points.filter(|(at, _)| (from..from + 1.0).contains(&at.as_secs_f64()));
    within.map(|&(_, value)| value).collect()
}

/// Means of the seconds before and after the handover.
fn around(result: &RunResult, metric: Metric) -> (f64, f64) {
    let at = result.handovers[0].at.as_secs_f64();
    let mean = |from| {
        let values = of_second(result, metric, from);
        values.iter().sum::<f64>() / values.len() as f64
    };
    (mean(at - 1.0), mean(at))
}
