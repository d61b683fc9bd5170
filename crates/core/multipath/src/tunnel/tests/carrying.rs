//! What is carried: by which paths, in which order, with which marks.

use super::*;

/// 1,400 of 1,500 bytes of two wires of 50 Mbit/s (each packet counted as 1,500 bytes) come to
/// 93 Mbit/s. Whatever the scheduler and the controller, a greedy source fills both.
#[test]
fn a_greedy_source_fills_both_paths_in_order() {
    for scheduler in [
        "cpf",
        "srtt",
        "rr",
        "otias",
        "aware",
        "aware-jitter",
        "deadline",
    ] {
        for cc in ["newreno", "cubic", "bbr"] {
            let mut pair = Pair::opened(scheduler, TunnelConfig::default(), controller(cc));
            pair.run(Duration::from_secs(3), 200);
            let since = pair.delivered.len();
            pair.run(Duration::from_secs(2), 200);
            let mbps = pair.delivered_mbps(since, Duration::from_secs(2));
            assert!(
                (80.0..=94.0).contains(&mbps),
                "{scheduler} over {cc}: {mbps:.1}"
            );
            let stats = pair.client.stats();
            let late = stats
                .reorder
                .late
                .ratio(Packets::new(pair.delivered.len() as u64));
            // what paces waits on its path, with its number; full buffers differ by more than half of
            // what their round trips do
            let max = if scheduler == "aware" { 0.05 } else { 0.6 };
            assert!(late < max, "{scheduler} over {cc}: {stats:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let run = || {
        let mut pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
        pair.down[1].loses = 100;
        pair.run(Duration::from_secs(1), 100);
        (
            pair.delivered.len(),
            pair.server.expect("accepted").stats(),
            pair.client.stats(),
        )
    };
    assert_eq!(run(), run());
}

#[test]
fn every_copy_but_the_first_is_dropped() {
    let mut pair = Pair::opened("redundant", TunnelConfig::default(), controller("bbr"));
    pair.run(Duration::from_secs(1), 50);
    let stats = pair.client.stats();
    assert!(stats.reorder.duplicates > Packets::new(1_000), "{stats:?}");
    let mut numbers: Vec<_> = pair.delivered.iter().map(|data| data.number).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert!(count > 3_000 && numbers.len() == count, "{count}");
}

/// RFC 6040 4.2.
#[test]
fn marks_on_the_way_go_on_in_the_packet_inside() {
    let mut pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
    for (number, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce].into_iter().enumerate() {
        let data = Data {
            number: number as u64,
            bytes: 100,
            ecn,
        };
        let now = pair.now;
        let server = pair.server.as_mut().expect("accepted");
        server.send(now, data).expect("there is room");
        let mut transmit = server.poll_transmit(now).expect("leaves");
        assert_eq!(
            transmit.ecn, ecn,
            "the outer header begins as the inner one is"
        );
        transmit.ecn = Ecn::Ce;
        pair.down[0].offer(now, transmit);
    }
    pair.run(Duration::from_millis(100), 0);
    let out: Vec<_> = pair
        .delivered
        .iter()
        .map(|data| (data.number, data.ecn))
        .collect();
    assert_eq!(out, [(1, Ecn::Ce), (2, Ecn::Ce)]);
    assert_eq!(pair.client.stats().marked_without_ecn, Packets::new(1));
}

#[test]
fn a_full_scheduler_buffer_refuses() {
    let config = TunnelConfig {
        scheduler_buffer: Packets::new(5),
        ..TunnelConfig::default()
    };
    let mut pair = Pair::opened("cpf", config, controller("bbr"));
    let now = pair.now;
    let server = pair.server.as_mut().expect("accepted");
    let data = Data {
        number: 0,
        bytes: 1_400,
        ecn: Ecn::NotEct,
    };
    let taken = (0..8).filter(|_| server.send(now, data.clone()).is_ok());
    assert_eq!(taken.count(), 5);
    assert_eq!(server.stats().refused, Packets::new(3));
}

/// A report counts until it is `report_max_age` old, whatever that is set to.
#[test]
fn a_radio_report_counts_until_its_limit_of_age() {
    for max_age in [100, 250].map(Duration::from_millis) {
        let config = TunnelConfig {
            report_max_age: max_age,
            ..TunnelConfig::default()
        };
        let mut pair = Pair::opened("aware", config, controller("bbr"));
        let (made_at, path) = (pair.now, pair.client.paths[0].id);
        let state = RadioState {
            tbs: Bytes::new(1_000),
            best_tbs: Bytes::new(1_000),
            harq_processes: 16,
            queue: Bytes::ZERO,
            served: Bytes::ZERO,
            harq_retx: 0,
            lost_packets: None,
            period: Duration::from_millis(1),
            slots: 1,
            seq: 1,
            made_at,
        };
        let slot = Duration::from_millis(1);
        pair.client.on_radio(made_at, path, &state, slot);
        let rate = |age: Duration| {
            let stats = pair.client.path_stats(made_at + age, path);
            stats
                .expect("the path")
                .radio_rate
                .map(|rate| rate.as_bps())
        };
        assert_eq!(rate(max_age), Some(8_000_000));
        assert_eq!(rate(max_age + Duration::from_nanos(1)), None);
    }
}
