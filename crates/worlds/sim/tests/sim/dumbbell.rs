//! The dumbbell against its analysis: two-sided analytic bounds.

use crate::*;
use scenario::{AccessSpec, AppSpec, Metric};
use units::{BitRate, Bytes, Duration, Instant};

#[test]
fn one_cubic_flow_fills_the_link_if_the_buffer_is_one_bdp() {
    for (rate, rtt) in [(mbps(20), ms(20)), (mbps(100), ms(40)), (mbps(300), ms(10))] {
        let buffer = bdp(rate, rtt);
        let mut experiment = dumbbell(rate, rtt, buffer, Duration::from_secs(60));
        experiment
            .flows
            .push(flow("cubic", "cubic", AppSpec::Continuous));
        let result = run(&experiment);
        let share = payload_share(&result.flows[0], rate);
        assert!((0.97..=1.0).contains(&share), "{rate} {rtt}: {share}");
        assert!(
            (0.97..=1.0).contains(&result.link.utilisation),
            "{}",
            result.link.utilisation
        );
        assert_eq!(result.link.capacity, rate);
    }
}

#[test]
fn the_rtt_is_base_plus_queue_over_rate() {
    // a window of `window` bytes, larger than the BDP, keeps window - BDP in the queue
    for (rate, rtt, window) in [
        (mbps(50), ms(20), 300_000),
        (mbps(50), ms(1), 100_000),
        (mbps(1000), ms(10), 2_000_000),
        (mbps(16), ms(50), 400_000),
    ] {
        let mut experiment = dumbbell(rate, rtt, Bytes::new(100_000_000), Duration::from_secs(10));
        let mut bulk = flow("cubic", "cubic", AppSpec::Continuous);
        bulk.tcp.receive_buffer = Bytes::new(window);
        experiment.flows.push(bulk);
        let result = run(&experiment);
        let queue = queue(&result, "link/down");
        // what is being transmitted is on its way, but no longer in the queue
        let waiting = queue.mean_bytes + PACKET as f64;
        let expected = rtt.as_millis_f64() + waiting * 8e3 / rate.as_bps() as f64;
        let seen = result.flows[0].rtt.mean;
        assert!(
            (seen / expected - 1.0).abs() < 0.02,
            "{rate} {rtt}: {seen} ms, {expected} ms"
        );
    }
}

#[test]
fn an_empty_path_has_its_base_rtt() {
    for rtt in [ms(1), ms(10), ms(100)] {
        let mut experiment = dumbbell(mbps(1000), rtt, Bytes::new(1_000_000), ms(2000));
        // one segment at a time: no queue
        let mut short = flow("cubic", "cubic", AppSpec::Continuous);
        short.tcp.receive_buffer = Bytes::new(MSS);
        short.tcp.delayed_ack = false;
        experiment.flows.push(short);
        let seen = run(&experiment).flows[0].rtt.clone();
        assert!(
            (seen.p50 / rtt.as_millis_f64() - 1.0).abs() < 0.02,
            "{rtt}: {seen:?}"
        );
        assert!(seen.min >= rtt.as_millis_f64());
    }
}

#[test]
fn bbr_alone_keeps_its_queue_short_and_its_throughput_high() {
    let (rate, rtt) = (mbps(100), ms(40));
    let bdp = bdp(rate, rtt);
    let mut experiment = dumbbell(rate, rtt, bdp * 20, Duration::from_secs(60));
    experiment
        .flows
        .push(flow("bbr", "bbr", AppSpec::Continuous));
    let result = run(&experiment);
    let queue = queue(&result, "link/down");
    assert!(
        queue.mean_bytes < 0.5 * bdp.get() as f64,
        "{} of {bdp}",
        queue.mean_bytes
    );
    assert!(
        queue.p99_bytes < 1.5 * bdp.get() as f64,
        "{} of {bdp}",
        queue.p99_bytes
    );
    let share = payload_share(&result.flows[0], rate);
    assert!((0.93..=1.0).contains(&share), "{share}");
}

#[test]
fn newreno_under_random_loss_follows_mathis() {
    // Mathis et al. 1997: rate = MSS / RTT * C / sqrt(p); C = sqrt(3/2) with an acknowledgement for
    // every packet
    let (rate, rtt) = (mbps(1000), ms(40));
    for p in [1e-4, 1e-3, 1e-2] {
        let seconds = if p < 5e-4 { 600 } else { 200 };
        let mut experiment = dumbbell(
            rate,
            rtt,
            Bytes::new(50_000_000),
            Duration::from_secs(seconds),
        );
        if let AccessSpec::Link(link) = &mut experiment.access {
            link.loss = p;
        }
        let mut newreno = flow("newreno", "newreno", AppSpec::Continuous);
        newreno.tcp.delayed_ack = false;
        experiment.flows.push(newreno);
        let result = run(&experiment);
        let mathis = MSS as f64 * 8.0 / rtt.as_secs_f64() * (1.5 / p).sqrt();
        let ratio = result.flows[0].goodput.as_bps() as f64 / mathis;
        assert!((0.75..=1.25).contains(&ratio), "p = {p}: {ratio} of Mathis");
    }
}

#[test]
fn two_equal_cubic_flows_share_fairly() {
    let (rate, rtt) = (mbps(100), ms(20));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt), Duration::from_secs(120));
    experiment
        .flows
        .push(flow("a", "cubic", AppSpec::Continuous));
    experiment
        .flows
        .push(flow("b", "cubic", AppSpec::Continuous));
    let result = run(&experiment);
    let rates: Vec<f64> = result
        .flows
        .iter()
        .map(|f| f.goodput.as_bps() as f64)
        .collect();
    assert!(jain(&rates) >= 0.95, "{rates:?}");
    assert!(result.link.utilisation > 0.97);
}

#[test]
fn cubic_starves_bbr_in_a_deep_buffer_and_fills_it() {
    let (rate, rtt) = (mbps(850), ms(1));
    let mut experiment = dumbbell(rate, rtt, Bytes::new(10_000_000), Duration::from_secs(60));
    experiment
        .flows
        .push(flow("cubic", "cubic", bulk(200_000_000)));
    experiment.flows.push(flow("bbr", "bbr", bulk(200_000_000)));
    let result = run(&experiment);
    let completion = |i: usize| result.flows[i].completion.unwrap().as_secs_f64();
    let (cubic, bbr) = (completion(0), completion(1));
    assert!(cubic < 0.8 * bbr, "cubic {cubic} s, bbr {bbr} s");
    let growth = result.flows[0].rtt.p50 / rtt.as_millis_f64();
    assert!(growth > 20.0, "RTT grows by {growth}");
    // all 400 MB cannot pass faster than the link
    let min = 400e6 * 8.0 / rate.as_bps() as f64;
    assert!(bbr >= min && bbr < 1.3 * min, "{bbr} of {min}");
}

#[test]
fn a_full_buffer_drops_and_the_flow_counts_it() {
    let (rate, rtt) = (mbps(10), ms(20));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt), Duration::from_secs(30));
    experiment
        .flows
        .push(flow("cubic", "cubic", AppSpec::Continuous));
    let result = run(&experiment);
    let queue = queue(&result, "link/down");
    assert!(queue.drops > 0);
    assert_eq!(queue.drops, result.flows[0].lost);
    assert!(result.flows[0].retransmits >= result.flows[0].lost);
    assert!(queue.max_bytes <= bdp(rate, rtt).get() as f64);
}

#[test]
fn a_short_path_is_refused_with_its_numbers() {
    let mut experiment = dumbbell(mbps(10), ms(10), Bytes::new(100_000), ms(1000));
    experiment
        .flows
        .push(flow("cubic", "cubic", AppSpec::Continuous));
    experiment.path.rtt = ms(1);
    let error = sim::run(&experiment, 1).unwrap_err();
    assert!(matches!(
        error,
        sim::Error::Experiment(network::Error::PathTooShort { .. })
    ));
    assert!(error.to_string().contains("path.rtt is 1 ms"), "{error}");
    experiment.path.rtt = ms(10);
    experiment.path.rate = BitRate::ZERO;
    assert!(matches!(
        sim::run(&experiment, 1),
        Err(sim::Error::Experiment(network::Error::OutOfRange { .. }))
    ));
}

/// A wire whose rate changes: what arrives follows it, and so do capacity and utilisation.
#[test]
fn a_wire_changes_its_rate() {
    let seconds = Duration::from_secs;
    let mut experiment = dumbbell(mbps(5), ms(20), Bytes::new(30_000), seconds(30));
    if let AccessSpec::Link(link) = &mut experiment.access {
        link.rate_steps = vec![(seconds(10), mbps(20)), (seconds(20), mbps(2))];
    }
    let cbr = AppSpec::Cbr {
        rate: mbps(30),
        packet: Bytes::new(1222),
        stop: None,
    };
    experiment.flows.push(udp("udp", cbr));
    let result = run(&experiment);
    let series = |metric| {
        let found = result.series.iter().find(|series| series.metric == metric);
        found.map(|series| series.points.clone()).expect("measured")
    };
    // of one second in the middle of each step, headers of 28 B taken off
    let share = 1222.0 / 1250.0;
    for (from, rate) in [(5, 5e6), (15, 20e6), (25, 2e6)] {
        let mean = |metric| {
            let points = series(metric);
            let of = |at: &Instant| {
                (from..from + 1).contains(&at.since_start().as_nanos().div_euclid(1_000_000_000))
            };
            let values: Vec<f64> = points
                .iter()
                .filter(|(at, _)| of(at))
                .map(|p| p.1)
                .collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        assert_eq!(mean(Metric::Capacity), rate);
        let arrived = mean(Metric::Goodput) / share;
        assert!((arrived / rate - 1.0).abs() < 0.01, "{arrived} of {rate}");
    }
    assert_eq!(result.link.capacity.as_bps(), 9_000_000);
    assert!((0.99..=1.0).contains(&result.link.utilisation));
}
