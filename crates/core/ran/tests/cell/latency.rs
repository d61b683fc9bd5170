//! Delays of lone packets.

use crate::harness::*;
use queue::{Capacity, QueueConfig};
use radio::Link;
use ran::{CellConfig, Direction, QueuesConfig};
use units::{Duration, Instant, Prb};

/// Mean and extreme round trips of packets that a UE answers at once, sent at all phases of the
/// slots and far enough apart that grants lapse.
fn round_trips(config: CellConfig) -> Vec<Duration> {
    let bearer = um(&config, Duration::from_millis(35));
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.0)), vec![bearer])], 1);
    let mut trips = Vec::new();
    let n = 2000u64;
    for i in 0..n {
        // an interval that is no multiple of any slot or period: phases fill the circle evenly
        let sent_at = Instant::from_nanos(i * 103_217_341);
        bench.down(sent_at, 0, 0, 60);
        bench.arrived.clear();
        while bench.arrived.is_empty() {
            let at = bench.cell.next_deadline().unwrap();
            bench.call(at);
        }
        let answered_at = bench.arrived[0].at;
        bench.up(answered_at, 0, 0, 60);
        bench.arrived.clear();
        while bench.arrived.is_empty() {
            let at = bench.cell.next_deadline().unwrap();
            bench.call(at);
        }
        assert_eq!(bench.arrived[0].direction, Direction::Uplink);
        trips.push(bench.arrived[0].at - sent_at);
    }
    trips
}

fn check_base_rtt(config: CellConfig) {
    let expected = config.base_rtt();
    let trips = round_trips(config);
    let mean = trips.iter().copied().sum::<Duration>() / trips.len() as u64;
    assert_near(
        mean.as_secs_f64(),
        expected.as_secs_f64(),
        0.02,
        "mean round trip",
    );
}

#[test]
fn base_rtt_of_lte() {
    // 1 + 0.5 + 1 + 3 down; (9 / 2) + 8 + 1 + 3 up
    let config = CellConfig::lte(Prb::new(25));
    assert_eq!(config.base_rtt(), Duration::from_millis(22));
    check_base_rtt(config);
}

#[test]
fn base_rtt_of_nr_with_configured_grants() {
    // one slot of 125 us each: processing, 1/2 alignment, slot, processing; wait, slot, processing
    let config = CellConfig::nr(3, Prb::new(132));
    assert_eq!(config.base_rtt(), Duration::from_nanos(812_500));
    check_base_rtt(config);
}

#[test]
fn base_rtt_of_nr_tdd_with_requests() {
    let mut config = CellConfig::nr(1, Prb::new(51));
    "DDDSU".clone_into(&mut config.tdd_pattern);
    config.receive_processing = Duration::from_micros(357);
    check_base_rtt(config);
}

#[test]
fn a_lone_packet_takes_processing_alignment_slot_and_decoding() {
    let config = CellConfig::nr(1, Prb::new(51));
    let bearer = am(&config);
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.0)), vec![bearer])], 1);
    // at 10.2 ms + 0.5 processing: slot of 11 ms, ends 11.5, decoded 12.0
    bench.down(at_us(10_200), 0, 0, 1000);
    assert_eq!(bench.cell.next_deadline(), Some(at_us(11_000)));
    bench.run(at_ms(100));
    let arrived = bench.arrived[0];
    assert_eq!(arrived.at, at_us(12_000));
    assert_eq!(arrived.sojourn, Duration::from_micros(800));
}

#[test]
fn a_lone_packet_waits_for_each_layer_to_look() {
    let mut config = CellConfig::nr(1, Prb::new(51));
    let queue = QueueConfig::drop_tail(Capacity::Unlimited);
    config.queues = Some(Box::new(QueuesConfig {
        upf: queue.clone(),
        sdap: Some(queue.clone()),
        rlc: queue,
        forward_period: Duration::from_millis(1),
        forward_packets: 10,
        tti: Duration::from_micros(500),
    }));
    let bearer = am(&config);
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.0)), vec![bearer])], 1);
    // the second comes after long idleness; both are ready at 1.3 ms, before a slot that is not
    // theirs: the UPF looks at 2.25, SDAP at 2.75, the slot of 3.0 is decoded at 4.0
    for begin in [10, 5010] {
        let at = |us: u64| at_us(begin * 1000 + us);
        bench.arrived.clear();
        bench.down(at(800), 0, 0, 1000);
        bench.run(at_ms(begin + 100));
        let arrived = bench.arrived[0];
        assert_eq!(arrived.at, at(4000));
        assert_eq!(arrived.sojourn, Duration::from_micros(2200));
    }
}

#[test]
fn a_ue_in_outage_does_not_delay_a_packet_that_arrives_in_an_uplink_slot() {
    let mut config = CellConfig::nr(1, Prb::new(51));
    "DU".clone_into(&mut config.tdd_pattern);
    let bearer = am(&config);
    let ues = vec![
        ue(1, Fixed(Link::Outage), vec![bearer.clone()]),
        ue(2, Fixed(mcs(20, 0.0)), vec![bearer]),
    ];
    let mut bench = Bench::new(config, ues, 1);
    bench.down(at_ms(0), 0, 0, 1000);
    bench.run(at_ms(10));
    // ready at 11.1 ms, in time for the uplink slot of 11.5; sent in that of 12.0, decoded at 13.0
    bench.down(at_us(10_600), 1, 0, 1000);
    bench.run(at_ms(100));
    assert_eq!(bench.arrived.len(), 1);
    assert_eq!(bench.arrived[0].at, at_us(13_000));
}

#[test]
fn uplink_waits_for_a_request_once_and_then_keeps_its_grant() {
    let config = CellConfig::lte(Prb::new(25));
    let bearer = um(&config, Duration::from_millis(35));
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.0)), vec![bearer])], 1);
    // requests at 0, 10, 20 ...: at 10, granted at 18, received 1 + 3 later
    bench.up(at_us(3_500), 0, 0, 100);
    bench.run(at_ms(30));
    assert_eq!(bench.arrived[0].at, at_ms(22));
    // within 20 ms of the last data (18 ms) no request is needed
    bench.up(at_us(35_500), 0, 0, 100);
    bench.run(at_ms(50));
    assert_eq!(bench.arrived[1].at, at_ms(40));
    // afterwards it is (last data at 36): request at 70, data at 78
    bench.up(at_us(60_500), 0, 0, 100);
    bench.run(at_ms(100));
    assert_eq!(bench.arrived[2].at, at_ms(82));
}

#[test]
fn an_idle_cell_has_no_deadlines() {
    let config = CellConfig::nr(3, Prb::new(132));
    let bearer = am(&config);
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.0)), vec![bearer])], 1);
    assert_eq!(bench.cell.next_deadline(), None);
    bench.down(at_ms(1), 0, 0, 1000);
    bench.run(at_ms(10_000));
    assert_eq!(bench.arrived.len(), 1);
    assert_eq!(bench.cell.next_deadline(), None);
    // one packet, its status report, and timers that had been set: not 80 000 slots
    assert!(bench.calls < 20, "{} calls", bench.calls);
    bench.cell.advance(at_ms(10_000));
    let stats = bench.cell.stats();
    assert_eq!(stats.downlink_slots, 80_000);
    assert_eq!(stats.prbs_offered, 80_000 * 132);
}
