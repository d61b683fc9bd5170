//! The radio cell as the access, without a proxy and behind one.

use crate::*;
use edge::EdgeConfig;
use rapid::Mode;
use scenario::{AccessSpec, AppSpec, Metric, PepMode};
use sim::Simulation;
use units::{Bytes, Duration};

#[test]
fn a_cubic_flow_fills_the_cell_and_its_buffer() {
    let mut experiment = fast_cell(ms(10), Duration::from_secs(20));
    experiment
        .flows
        .push(flow("cubic", "cubic", bulk(400_000_000)));
    let result = run(&experiment);
    // 106576 bit x 8000 slots/s
    let capacity = result.link.capacity.as_mbps_f64();
    assert!((capacity - 852.608).abs() < 0.001, "{capacity} Mbit/s");
    assert!(result.link.utilisation > 0.93 && result.link.utilisation <= 1.0);
    let queue = queue(&result, "rlc/ue1/drb1");
    // full, to what another packet does not fit into
    let free = 10e6 - queue.max_bytes;
    assert!((0.0..0.01 * 10e6).contains(&free), "{free}");
    let delay = queue.sojourn.mean / 1e3 * result.link.capacity.as_bps() as f64 / 8.0;
    assert!(
        (queue.mean_bytes / delay - 1.0).abs() < 0.15,
        "{} {delay}",
        queue.mean_bytes
    );
}

#[test]
fn the_base_rtt_is_end_to_end() {
    for rtt in [ms(2), ms(10), ms(50)] {
        let mut experiment = fast_cell(rtt, Duration::from_secs(3));
        let mut lone = flow("cubic", "cubic", AppSpec::Continuous);
        lone.tcp.receive_buffer = Bytes::new(MSS);
        lone.tcp.delayed_ack = false;
        experiment.flows.push(lone);
        let seen = run(&experiment).flows[0].rtt.clone();
        // slots quantise both ways: up to two of 125 us
        assert!(
            (seen.mean - rtt.as_millis_f64()).abs() < 0.25 + 0.02 * seen.mean,
            "{rtt} {seen:?}"
        );
    }
}

#[test]
fn an_rtt_below_the_cells_own_is_refused() {
    let mut experiment = fast_cell(Duration::from_micros(50), Duration::from_secs(1));
    experiment
        .flows
        .push(flow("cubic", "cubic", AppSpec::Continuous));
    assert!(matches!(
        sim::run(&experiment, 1),
        Err(sim::Error::Experiment(network::Error::PathTooShort { .. }))
    ));
}

#[test]
fn a_split_proxy_carries_every_byte_and_bounds_its_buffer() {
    let mut experiment = fast_cell(ms(10), Duration::from_secs(20));
    experiment.pep.mode = PepMode::Split;
    experiment.pep.buffer = Bytes::new(2_000_000);
    experiment.flows.push(flow("bbr", "bbr", bulk(50_000_000)));
    experiment
        .flows
        .push(flow("cubic", "cubic", bulk(50_000_000)));
    let mut up = flow("up", "cubic", bulk(500_000));
    up.direction = scenario::Direction::Up;
    experiment.flows.push(up);
    let mut simulation = Simulation::new(&experiment, 1).unwrap();
    simulation.run();
    let counts = simulation.packet_counts();
    assert_eq!(
        counts.sent,
        counts.delivered + counts.dropped + counts.in_network
    );
    let result = simulation.finish();
    assert_eq!(result.flows[0].delivered, Bytes::new(50_000_000));
    assert_eq!(result.flows[1].delivered, Bytes::new(50_000_000));
    assert_eq!(result.flows[2].delivered, Bytes::new(500_000));
    for flow in &result.flows {
        assert!(flow.completion.is_some(), "{}", flow.name);
        assert!(flow.rtt.min >= 9.5, "{} {:?}", flow.name, flow.rtt);
    }
    for name in ["pep/bbr", "pep/cubic"] {
        let queue = queue(&result, name);
        // at most what the proxy may hold of a flow
        assert!(
            queue.max_bytes > 0.0 && queue.max_bytes <= 2e6,
            "{name} {}",
            queue.max_bytes
        );
    }
}

/// A server far faster than the radio: only flow control keeps it from filling the proxy.
#[test]
fn the_proxy_closes_the_servers_window() {
    let mut experiment = fast_cell(ms(4), Duration::from_secs(2));
    if let AccessSpec::Cell(cell) = &mut experiment.access {
        cell.config.n_prb = units::Prb::new(24);
    }
    experiment.pep.mode = PepMode::Split;
    experiment.pep.buffer = Bytes::new(600_000);
    experiment
        .flows
        .push(flow("cubic", "cubic", AppSpec::Continuous));
    let result = run(&experiment);
    let queue = queue(&result, "pep/cubic");
    assert!(queue.max_bytes <= 600e3, "{}", queue.max_bytes);
    assert!(queue.mean_bytes > 200e3, "{}", queue.mean_bytes);
    let window = result
        .series
        .iter()
        .find(|s| s.metric == Metric::ReceiveWindow)
        .unwrap();
    let late: Vec<f64> = window
        .points
        .iter()
        .skip(5)
        .map(|&(_, bytes)| bytes)
        .collect();
    assert!(late.iter().all(|&bytes| bytes <= 300e3), "{late:?}");
    assert!(
        result.link.utilisation > 0.95,
        "{}",
        result.link.utilisation
    );
}

#[test]
fn udp_and_unintercepted_tcp_pass_the_proxy_by() {
    let mut experiment = fast_cell(ms(10), Duration::from_secs(3));
    experiment.pep.mode = PepMode::Split;
    let mut quic = flow("past", "cubic", bulk(1_000_000));
    quic.intercepted = false;
    experiment.flows.push(quic);
    let cbr = AppSpec::Cbr {
        rate: mbps(8),
        packet: Bytes::new(1000),
        stop: Some(Duration::from_secs(1)),
    };
    experiment.flows.push(udp("udp", cbr));
    let result = run(&experiment);
    assert!(result.flows.iter().all(|flow| flow.completion.is_some()));
    assert!(
        !result
            .queues
            .iter()
            .any(|queue| queue.name.starts_with("pep/"))
    );
}

#[test]
fn rapid_keeps_the_radio_queue_short() {
    let without = {
        let mut experiment = fast_cell(ms(4), Duration::from_secs(20));
        experiment
            .flows
            .push(flow("cubic", "cubic", bulk(100_000_000)));
        experiment.flows.push(flow("bbr", "bbr", bulk(100_000_000)));
        experiment
    };
    let mut with = without.clone();
    with.pep.mode = PepMode::Rapid(Box::new(EdgeConfig::new(Mode::Default)));
    let (without, with) = (run(&without), run(&with));
    let waiting = |result| queue(result, "rlc/ue1/drb1").mean_bytes;
    let (long, short) = (waiting(&without), waiting(&with));
    assert!(short * 5.0 < long, "{short} B, {long} B");
    let decided = |metric| {
        with.series
            .iter()
            .any(|series| series.entity == "bbr" && series.metric == metric)
    };
    assert!(decided(Metric::RanWindow) && decided(Metric::IsSlow));
    assert!(with.flows.iter().all(|flow| flow.completion.is_some()));
}

#[test]
fn rapid_runs_repeat_bit_for_bit_with_lost_reports() {
    let mut experiment = fast_cell(ms(4), Duration::from_secs(2));
    experiment.pep.mode = PepMode::Rapid(Box::new(EdgeConfig::new(Mode::Paper)));
    experiment.pep.reports.loss = 0.2;
    experiment
        .flows
        .push(flow("cubic", "cubic", bulk(20_000_000)));
    experiment.flows.push(flow("bbr", "bbr", bulk(20_000_000)));
    let (a, b) = (run(&experiment), run(&experiment));
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
}

#[test]
fn rapid_needs_a_cell() {
    let mut experiment = dumbbell(mbps(10), ms(10), Bytes::new(100_000), ms(1000));
    experiment
        .flows
        .push(flow("cubic", "cubic", AppSpec::Continuous));
    experiment.pep.mode = PepMode::Rapid(Box::new(EdgeConfig::new(Mode::Default)));
    assert!(matches!(
        sim::run(&experiment, 1),
        Err(sim::Error::Experiment(network::Error::NoReports))
    ));
}
