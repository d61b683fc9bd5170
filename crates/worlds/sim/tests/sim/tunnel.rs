//! Multipath tunnels against their analysis.

use scenario::{Experiment, Overrides, RunResult, TunnelResult};
use sim::Simulation;
use std::path::Path;

/// Payload of a packet of `udp.toml`, and with its headers.
const PAYLOAD: f64 = 1_372.0;
const INSIDE: f64 = PAYLOAD + 28.0;

/// A shipped scenario with some of its knobs turned.
fn shipped(name: &str, set: &[(&str, &str)]) -> Experiment {
    let file = format!(
        "{}/../../../scenarios/nested-cc/{name}.toml",
        env!("CARGO_MANIFEST_DIR")
    );
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let overrides = Overrides {
        set: set.iter().map(owned).collect(),
        ..Overrides::default()
    };
    match scenario::load(Path::new(&file), &overrides) {
        Ok(mut points) => points.remove(0).experiment,
        Err(error) => panic!("{error}"),
    }
}

fn run(name: &str, set: &[(&str, &str)]) -> RunResult {
    let experiment = shipped(name, set);
    sim::run(&experiment, experiment.seed).unwrap()
}

fn tunnel(run: &RunResult) -> &TunnelResult {
    run.tunnel.as_ref().expect("a tunnel")
}

fn megabits(run: &RunResult) -> f64 {
    run.flows[0].goodput.as_bps() as f64 / 1e6
}

/// Every packet is delivered, dropped, in the network or in a tunnel, whatever carries it, loses it or
/// doubles it.
#[test]
fn no_packet_appears_or_vanishes() {
    let cases: [&[(&str, &str)]; 6] = [
        &[("tunnel-cc", "ccid2")],
        &[("tunnel-cc", "newreno"), ("tunnel.path.path1.loss", "0.01")],
        &[("tunnel-cc", "ccid5"), ("reliability", "100 ms")],
        &[("tunnel-cc", "ccid5"), ("scheduler", "redundant")],
        &[("tunnel-cc", "bbrv2"), ("tunnel.late", "drop")],
        &[("tunnel-cc", "ccid2"), ("buffer", "20 packets")],
    ];
    for set in cases {
        let mut with = vec![("file", "5 MB"), ("tunnel.path.path2.loss", "0.01")];
        with.extend_from_slice(set);
        let experiment = shipped("default", &with);
        let mut simulation = Simulation::new(&experiment, 3).unwrap();
        simulation.run();
        let counts = simulation.packet_counts();
        let accounted = counts.delivered + counts.dropped + counts.in_network;
        assert_eq!(counts.sent, accounted, "{set:?}: {counts:?}");
        let run = simulation.finish();
        assert!(run.flows[0].completion.is_some(), "{set:?}");
    }
}

#[test]
fn a_run_is_the_same_bit_for_bit() {
    for set in [
        [("tunnel-cc", "ccid5"), ("scheduler", "aware")],
        [("tunnel-cc", "bbrv2"), ("scheduler", "srtt")],
    ] {
        let mut with = vec![("file", "10 MB"), ("tunnel.path.path2.loss", "0.005")];
        with.extend(set);
        let text = || format!("{:?}", run("default", &with));
        assert!(text() == text(), "{set:?}");
    }
}

/// 20 of 50 Mbit/s fit into the first path's window, once that has grown: nothing more goes on the
/// second.
#[test]
fn the_dear_path_is_used_only_when_the_cheap_one_is_full() {
    for cc in ["ccid2", "bbr"] {
        let set = [
            ("tunnel-cc", cc),
            ("rate", "20 Mbit/s"),
            ("duration", "8 s"),
        ];
        let run = run("udp", &set);
        let paths = &tunnel(&run).paths;
        assert!(paths[0].packets > 10_000, "{cc}: {paths:?}");
        assert!(paths[1].packets < 50, "{cc}: {paths:?}");
    }
}

/// Two paths of 50 Mbit/s carry what one could not, nearly all that headers leave of them.
#[test]
fn end_to_end_udp_aggregates() {
    // each packet inside has the headers of DCCP, UDP and IP, or of TCP and IP, about 60 B more
    let max = 100.0 * PAYLOAD / (INSIDE + 56.0);
    for cc in ["ccid2", "ccid5", "bbrv2"] {
        let set = [
            ("tunnel-cc", cc),
            ("rate", "90 Mbit/s"),
            ("duration", "12 s"),
        ];
        let run = run("udp", &set);
        let goodput = megabits(&run);
        assert!((82.0..=max).contains(&goodput), "{cc}: {goodput}");
    }
}

/// Every packet goes on both paths, and comes out once.
#[test]
fn redundant_packets_come_twice_and_are_given_out_once() {
    let set = [
        ("scheduler", "redundant"),
        ("tunnel-cc", "ccid5"),
        ("rate", "20 Mbit/s"),
        ("tunnel.path.path1.loss", "0.02"),
        ("duration", "8 s"),
    ];
    let run = run("udp", &set);
    let sent = 6.0 * 20e6 / 8.0 / PAYLOAD;
    let (tunnel, paths) = (tunnel(&run), &tunnel(&run).paths);
    let share = |packets: u64| packets as f64 / sent;
    // one has lost 2 %, both together next to nothing
    assert!((0.96..0.99).contains(&share(paths[0].packets)), "{paths:?}");
    assert!(share(paths[1].packets) > 0.985, "{paths:?}");
    assert!(share(tunnel.duplicates) > 0.95, "{tunnel:?}");
    assert!(
        (19.7..=20.01).contains(&megabits(&run)),
        "{}",
        megabits(&run)
    );
    assert_eq!(run.flows[0].lost, 0);
}

/// A lossy path: DCCP loses what its wire loses; with a TCP carrier all comes, later; partial
/// reliability sends most of it again.
#[test]
fn carriers_and_reliability_repair_what_a_wire_loses() {
    let lossy = |more: &[(&str, &str)]| {
        let mut set = vec![
            ("rate", "10 Mbit/s"),
            ("tunnel.path.path1.loss", "0.01"),
            ("duration", "12 s"),
        ];
        set.extend_from_slice(more);
        let run = run("udp", &set);
        let path = tunnel(&run).paths[0].clone();
        (run.flows[0].lost as f64, path)
    };
    // 10 s of 911 packets a second; binomial, 3 standard deviations
    let expected = 9_111.0 * 0.01;
    let deviation = 3.0 * (expected * 0.99_f64).sqrt();
    let (lost, path) = lossy(&[("tunnel-cc", "ccid5")]);
    assert!((lost - expected).abs() < deviation, "{lost}");
    assert_eq!(path.retransmits, 0);
    let (lost, path) = lossy(&[("tunnel-cc", "bbr")]);
    assert!(lost < 1.0, "{lost}");
    assert!(path.retransmits as f64 > expected - deviation, "{path:?}");
    let (lost, path) = lossy(&[("tunnel-cc", "ccid5"), ("reliability", "200 ms")]);
    assert!(lost < expected * 0.2, "{lost}");
    assert!(path.retransmits as f64 > expected - deviation, "{path:?}");
}

/// Wi-Fi disappears under a download: it goes on, and Wi-Fi is used again when it is back.
#[test]
fn a_path_that_disappears_costs_less_than_a_second() {
    for cc in ["ccid2", "ccid5"] {
        let run = run("walkaway", &[("tunnel-cc", cc)]);
        let goodput = run.series.iter().find(|series| {
            series.entity == "download" && series.metric == scenario::Metric::Goodput
        });
        let points = &goodput.expect("measured").points;
        let mean = |from: f64, to: f64| {
            let within = |at: &f64| (from..to).contains(at);
            let values = points.iter().filter(|(at, _)| within(&at.as_secs_f64()));
            let values: Vec<f64> = values.map(|(_, value)| value / 1e6).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let (before, during, after) = (mean(10.0, 15.0), mean(16.0, 25.0), mean(28.0, 38.0));
        assert!(before > 40.0, "{cc}: {before}");
        // the cellular path has 30 Mbit/s
        assert!(during > 20.0, "{cc}: {during}");
        assert!(after > 40.0, "{cc}: {after}");
    }
}

/// The download of `roaming.toml` completes whatever carries the paths, and no packet is lost track of.
#[test]
fn a_roaming_phone_completes_its_download() {
    for cc in ["ccid2", "ccid5", "bbrv2"] {
        let experiment = shipped("roaming", &[("tunnel-cc", cc), ("file", "60 MB")]);
        let mut simulation = Simulation::new(&experiment, 1).unwrap();
        simulation.run();
        let counts = simulation.packet_counts();
        let accounted = counts.delivered + counts.dropped + counts.in_network;
        assert_eq!(counts.sent, accounted, "{cc}: {counts:?}");
        let run = simulation.finish();
        let took = run.flows[0].completion.expect("complete").as_secs_f64();
        // 30 and 20 Mbit/s, without the 3 s of Wi-Fi: at least 11.4 s; the cellular path alone would take 24 s
        assert!((11.4..24.0).contains(&took), "{cc}: {took}");
        let carried = tunnel(&run).paths.iter().map(|path| path.carried.get());
        assert!(carried.min() > Some(10_000_000), "{cc}: {:?}", tunnel(&run));
    }
}

/// How long nothing arrives on the only path that is used after an event at 6 s.
fn interruption(cc: &str, event: &str) -> f64 {
    let events = format!("[[\"6 s\", \"{event}\"]]");
    let run = run(
        "roaming",
        &[
            ("tunnel-cc", cc),
            // never used
            ("tunnel.path.wifi.priority", "0"),
            ("tunnel.path.wifi.events", "[]"),
            ("tunnel.path.cellular.events", &events),
            ("duration", "20 s"),
        ],
    );
    let rate = run.series.iter().find(|series| {
        series.entity == "path/cellular" && series.metric == scenario::Metric::PathRate
    });
    let points = &rate.expect("measured").points;
    let busy = points
        .iter()
        .filter(|(at, rate)| *rate > 0.0 && at.as_secs_f64() > 5.9);
    let busy: Vec<f64> = busy.map(|(at, _)| at.as_secs_f64()).collect();
    let gaps = busy.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.fold(0.0, f64::max)
}

/// The tunnel's round-trip time on that path is 40 ms, and its queue takes 150 ms more. A socket that is gone is
/// found by the next packet, and the new one is followed to within two round trips. Of a NAT's new mapping the
/// server learns by the next packet from the UE: two round trips of Sync and SyncAck, after at most the 500 ms
/// after which a client that receives nothing any more sends one. The connections inside may have to time out
/// then, which takes them a second at most.
#[test]
fn an_interruption_of_the_only_path_is_short() {
    // two round trips behind a full queue, s
    const FOLLOWED: f64 = 2.0 * (0.04 + 0.15);
    for cc in ["ccid2", "ccid5"] {
        let gone = interruption(cc, "socket-gone");
        assert!(
            (0.04..1.0 + FOLLOWED).contains(&gone),
            "{cc}, socket gone: {gone}"
        );
        let rebound = interruption(cc, "rebind");
        let max = 0.5 + FOLLOWED + 1.0;
        assert!((0.04..max).contains(&rebound), "{cc}, rebind: {rebound}");
    }
    // found by the keep-alive of 5 s, its answer's time of 500 ms and the renewal after 3 s
    let rebound = interruption("bbrv2", "rebind");
    let max = 5.0 + 0.5 + 3.0 + FOLLOWED + 1.0;
    assert!((5.0..max).contains(&rebound), "TCP, rebind: {rebound}");
}

/// A link that comes back is used again at once, as the client is notified of it.
#[test]
fn a_link_is_used_again_when_it_is_back() {
    let set = [("tunnel-cc", "ccid5"), ("file", "90 MB")];
    let run = run("roaming", &set);
    let rate = run
        .series
        .iter()
        .find(|series| series.entity == "path/wifi" && series.metric == scenario::Metric::PathRate);
    let points = &rate.expect("measured").points;
    let busy = points.iter().filter(|(_, rate)| *rate > 0.0);
    let busy: Vec<f64> = busy.map(|(at, _)| at.as_secs_f64()).collect();
    let last = busy.iter().copied().rfind(|at| *at < 8.0).expect("before");
    let first = busy.iter().copied().find(|at| *at > 8.0).expect("after");
    // what was on its way when the link went is lost: it ends at once
    assert!((5.9..6.1).contains(&last), "{last}");
    assert!((9.0..9.5).contains(&first), "{first}");
}

/// Without the tunnel the first path is an ordinary access.
#[test]
fn without_the_tunnel_one_path_is_all_there_is() {
    let run = run("default", &[("tunnel", "off"), ("file", "20 MB")]);
    assert!(run.tunnel.is_none());
    let max = 50.0 * 1_448.0 / 1_500.0;
    assert!((42.0..=max).contains(&megabits(&run)), "{}", megabits(&run));
}

/// A download and a call over two cells that keep their rates.
fn steady(more: &[(&str, &str)]) -> RunResult {
    let keep = [("duration", "20 s"), ("tunnel.path.cell1.rate-steps", "[]")];
    run("call", &[&keep, more].concat())
}

/// 95th percentile of what packets waited for a path, ms.
fn waited(run: &RunResult) -> f64 {
    let mut queues = run.queues.iter();
    let buffer = queues.find(|queue| queue.name == "tunnel/scheduler/down");
    buffer.expect("the buffer").sojourn.p95
}

fn flow<'a>(run: &'a RunResult, name: &str) -> &'a scenario::FlowResult {
    let mut flows = run.flows.iter();
    flows.find(|flow| flow.name == name).expect("the flow")
}

/// With CoDel before the cells what waits there for long waits no longer than 20 ms, and both cells are used.
#[test]
fn what_waits_for_a_path_stands_for_20_ms_at_most() {
    for cc in ["ccid2", "bbr2"] {
        let managed = steady(&[("tunnel.cc", cc)]);
        let plain = steady(&[("tunnel.cc", cc), ("tunnel.scheduler-queue", "drop-tail")]);
        assert!(waited(&managed) <= 20.0, "{cc}: {}", waited(&managed));
        assert!(waited(&plain) > 60.0, "{cc}: {}", waited(&plain));
        // a sender that answers has CoDel alone
        let bounded = [
            ("tunnel.cc", cc),
            ("tunnel.scheduler-queue", "bounded-codel"),
        ];
        let bounded = steady(&bounded);
        let text = |run: &RunResult| format!("{:?} {:?}", run.queues, run.flows);
        assert!(text(&bounded) == text(&managed), "{cc}");
    }
}

/// A sender that takes no drop for congestion: CoDel alone leaves its queue standing, the bound does not, and the cells carry
/// as much.
#[test]
fn what_is_not_answered_waits_no_longer_either() {
    for cc in ["ccid5", "bbr2"] {
        let of = |queue| {
            steady(&[
                ("tunnel.cc", cc),
                ("server-cc", "bbr"),
                ("tunnel.scheduler-queue", queue),
            ])
        };
        let (codel, bounded) = (of("codel"), of("bounded-codel"));
        assert!(waited(&codel) > 40.0, "{cc}: {}", waited(&codel));
        assert!(waited(&bounded) <= 20.0, "{cc}: {}", waited(&bounded));
        let rate = |run| flow(run, "download").goodput.as_bps() as f64;
        let ratio = rate(&bounded) / rate(&codel);
        assert!((0.95..1.05).contains(&ratio), "{cc}: {ratio}");
    }
}

/// Cells that lose packets which cannot be sent again in time: parities repair what copies within their budget do not, and no
/// packet appears or vanishes for it.
#[test]
fn parities_repair_what_a_call_loses() {
    let with = |fec: &'static str| {
        shipped(
            "call",
            &[
                ("duration", "20 s"),
                ("tunnel.cc", "bbr2"),
                ("tunnel.path.cell1.rate-steps", "[]"),
                ("tunnel.path.cell1.rate", "4 Mbit/s"),
                ("tunnel.path.cell2.rate", "4 Mbit/s"),
                ("tunnel.path.cell1.loss", "0.02"),
                ("tunnel.path.cell2.loss", "0.02"),
                ("tunnel.latency-deadline", "60 ms"),
                ("tunnel.fec", fec),
            ],
        )
    };
    let lost = |fec| {
        let run = sim::run(&with(fec), 1).unwrap();
        flow(&run, "call").lost as f64
    };
    let (off, auto) = (lost("off"), lost("auto"));
    assert!(off > 15.0 && auto * 2.0 < off, "{off}, {auto}");
    let mut simulation = Simulation::new(&with("auto"), 1).unwrap();
    simulation.run();
    let counts = simulation.packet_counts();
    let accounted = counts.delivered + counts.dropped + counts.in_network;
    assert_eq!(counts.sent, accounted, "{counts:?}");
}
