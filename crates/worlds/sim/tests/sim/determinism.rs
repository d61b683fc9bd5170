//! Bit-identical results, independent draws, conserved packets.

use crate::*;
use core::num::NonZeroUsize;
use scenario::{AccessSpec, AppSpec, Experiment, RunResult};
use sim::Simulation;
use units::{Bytes, Duration};

/// Everything of a result, exactly: two results are the same if this is.
fn fingerprint(result: &RunResult) -> String {
    format!("{result:?}")
}

/// Randomness everywhere: jitter, loss on both links, gaming.
fn noisy() -> Experiment {
    let mut experiment = dumbbell(
        mbps(50),
        ms(30),
        Bytes::new(200_000),
        Duration::from_secs(5),
    );
    experiment.path.loss = 1e-3;
    experiment.path.jitter = ms(2);
    if let AccessSpec::Link(link) = &mut experiment.access {
        link.loss = 1e-3;
    }
    experiment
        .flows
        .push(flow("cubic", "cubic", AppSpec::Continuous));
    experiment.flows.push(flow("bbr", "bbr", bulk(5_000_000)));
    experiment.flows.push(udp("gaming", gaming()));
    let page = AppSpec::Web {
        size: Bytes::new(300_000),
        interval: ms(700),
        rate: Some(mbps(20)),
    };
    experiment.flows.push(flow("web", "cubic", page));
    let short = AppSpec::Short {
        size: Bytes::new(20_000),
        interval: ms(90),
        count: 20,
    };
    experiment.flows.push(flow("short", "newreno", short));
    experiment
}

fn gaming() -> AppSpec {
    AppSpec::Gaming {
        packet: Bytes::new(120),
        interval: ms(16),
        deviation: ms(4),
    }
}

#[test]
fn a_seed_gives_one_result_whatever_the_number_of_threads() {
    let experiment = Experiment {
        repeats: 4,
        ..noisy()
    };
    let results = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let results = sim::run_repeats_on(threads, &experiment, &|_| {}).unwrap();
        results.iter().map(fingerprint).collect::<Vec<_>>()
    };
    let one = results(1);
    assert_eq!(one, results(2));
    assert_eq!(one, results(3));
    assert_eq!(
        one[2],
        fingerprint(&sim::run(&experiment, experiment.seed + 2).unwrap())
    );
    assert_ne!(one[0].replace("seed: 1", ""), one[1].replace("seed: 2", ""));
}

#[test]
fn another_flow_changes_no_others_draws() {
    // UDP flows on an idle link: what each does depends on its own draws only
    let alone = {
        let mut experiment = dumbbell(
            mbps(100),
            ms(20),
            Bytes::new(1_000_000),
            Duration::from_secs(20),
        );
        experiment.flows.push(udp("gaming", gaming()));
        experiment.flows.push(udp("other", gaming()));
        experiment
    };
    let mut more = alone.clone();
    more.flows.push(udp("third", gaming()));
    let voice = AppSpec::Voip {
        packet: Bytes::new(160),
        interval: ms(20),
    };
    more.flows.push(udp("voice", voice));
    let (alone, more) = (run(&alone), run(&more));
    for (a, b) in alone.flows.iter().zip(&more.flows) {
        assert_eq!(
            (a.delivered, a.goodput),
            (b.delivered, b.goodput),
            "{}",
            a.name
        );
    }
    let delivered = |result: &RunResult, i: usize| result.flows[i].delivered;
    assert_ne!(
        delivered(&more, 0),
        delivered(&more, 1),
        "streams differ by name"
    );
}

#[test]
fn packets_are_conserved() {
    let mut simulation = Simulation::new(&noisy(), 7).unwrap();
    simulation.run();
    let counts = simulation.packet_counts();
    assert_eq!(
        counts.sent,
        counts.delivered + counts.dropped + counts.in_network
    );
    let result = simulation.finish();
    assert_eq!(
        result.flows.iter().map(|flow| flow.lost).sum::<u64>(),
        counts.dropped
    );
    assert!(counts.dropped > 10 && counts.sent > 10_000, "{counts:?}");
}

#[test]
fn starts_are_drawn_by_each_seed_and_change_nothing_else() {
    let mut experiment = dumbbell(
        mbps(50),
        ms(30),
        Bytes::new(200_000),
        Duration::from_secs(2),
    );
    for name in ["a", "b"] {
        experiment
            .flows
            .push(flow(name, "cubic", AppSpec::Continuous));
    }
    let alike = |x: u64, y: u64, experiment: &Experiment| {
        let [x, y] = [x, y].map(|seed| {
            let result = sim::run(experiment, seed).unwrap();
            fingerprint(&RunResult { seed: 0, ..result })
        });
        x == y
    };
    assert!(alike(1, 2, &experiment), "nothing is drawn");
    for flow in &mut experiment.flows {
        flow.start_jitter = ms(10);
    }
    assert!(alike(1, 1, &experiment));
    assert!(!alike(1, 2, &experiment));
    let drawn = experiment.drawn(7);
    for (flow, spec) in drawn.flows.iter().zip(&experiment.flows) {
        assert!(flow.start >= spec.start && flow.start < spec.start + ms(10));
    }
    assert_ne!(drawn.flows[0].start, drawn.flows[1].start);
}

#[test]
fn repeats_differ_by_the_jitter_of_the_access() {
    let of = |jitter: Duration, seed: u64| {
        let mut experiment = dumbbell(mbps(20), ms(20), Bytes::new(50_000), Duration::from_secs(1));
        if let AccessSpec::Link(link) = &mut experiment.access {
            link.jitter = jitter;
        }
        experiment
            .flows
            .push(flow("bulk", "cubic", AppSpec::Continuous));
        let result = sim::run(&experiment, seed).unwrap();
        fingerprint(&RunResult { seed: 0, ..result })
    };
    assert_eq!(of(Duration::ZERO, 1), of(Duration::ZERO, 2));
    assert_ne!(of(ms(1), 1), of(ms(1), 2));
    assert_eq!(of(ms(1), 1), of(ms(1), 1));
    assert_ne!(of(ms(1), 1), of(Duration::ZERO, 1));
}
