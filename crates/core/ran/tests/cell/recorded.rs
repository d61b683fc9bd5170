//! Recorded capacities: exactly the bytes of each slot.

use crate::harness::*;
use proptest::prelude::*;
use radio::Link;
use ran::{CellConfig, Direction};
use units::{BitRate, Bytes, Duration, Instant, Prb};

fn opportunity(bytes: u64) -> Link {
    Link::Opportunity {
        bytes: Bytes::new(bytes),
        mean_rate: BitRate::from_mbps(12),
    }
}

#[test]
fn one_packet_for_each_opportunity_of_its_size() {
    // an opportunity of 1500 B in every third millisecond carries a packet of 1500 B each time
    let config = CellConfig::lte(Prb::new(50));
    let links = vec![opportunity(1500), opportunity(0), opportunity(0)];
    let bearer = am(&config);
    let mut bench = Bench::new(config, vec![ue(1, EachSlot(links), vec![bearer])], 1);
    for _ in 0..100 {
        bench.down(Instant::ZERO, 0, 0, 1500);
    }
    bench.run(at_ms(1000));
    assert_eq!(bench.arrived.len(), 100);
    // ready at 1 ms; opportunities at 3, 6, 9 ...; delivered 1 + 3 ms later
    for (i, arrived) in bench.arrived.iter().enumerate() {
        assert_eq!(arrived.at, at_ms(3 * (i as u64 + 1) + 4));
    }
}

#[test]
fn a_packet_larger_than_the_opportunity_goes_in_parts() {
    let config = CellConfig::lte(Prb::new(50));
    let bearer = am(&config);
    let links = vec![opportunity(500)];
    let mut bench = Bench::new(config, vec![ue(1, EachSlot(links), vec![bearer])], 1);
    bench.down(Instant::ZERO, 0, 0, 1600);
    bench.run(at_ms(1000));
    // slots 1, 2, 3 carry 500 each, slot 4 the last 100
    assert_eq!(bench.arrived[0].at, at_ms(4 + 4));
    assert_eq!(bench.arrived[0].sojourn, Duration::from_millis(4));
}

#[test]
fn utilisation_is_exact() {
    let config = CellConfig::lte(Prb::new(50));
    let bearer = um(&config, Duration::from_millis(35));
    let sizes = [700u64, 0, 1501, 33, 9000, 2, 1500, 1499, 0, 0, 777];
    let links = sizes.iter().map(|&bytes| opportunity(bytes)).collect();
    let mut bench = Bench::new(config, vec![ue(1, EachSlot(links), vec![bearer])], 1);
    // a second of saturation, then two idle seconds
    bench.saturate(Instant::ZERO, at_ms(999), &[0], 50_000, 1480);
    let served = bench.cell.stats().ues[0].bearers[0].downlink.served.get();
    let offered = |slots: u64| (0..slots).map(|i| sizes[(i % 11) as usize]).sum::<u64>();
    // nothing is ready before slot 1
    assert_eq!(served, offered(1000) - sizes[0]);
    bench.run(at_ms(2_000));
    bench.cell.advance(at_ms(3_000));
    let stats = bench.cell.stats();
    assert_eq!(stats.capacity.get(), offered(3000));
    assert_eq!(stats.ues[0].capacity.get(), offered(3000));
    assert_eq!(stats.downlink_slots, 3000);
}

#[test]
fn tiny_opportunities_go_to_bearers_in_turn() {
    let config = CellConfig::lte(Prb::new(50));
    let mut second = um(&config, Duration::from_millis(35));
    second.qfis = vec![5];
    let bearers = vec![um(&config, Duration::from_millis(35)), second];
    let links = vec![opportunity(1)];
    let mut bench = Bench::new(config, vec![ue(1, EachSlot(links), bearers)], 1);
    bench.down(Instant::ZERO, 0, 0, 200);
    bench.down(Instant::ZERO, 0, 5, 200);
    bench.run(at_ms(100));
    let served = [0, 1].map(|i: usize| bench.cell.stats().ues[0].bearers[i].downlink.served.get());
    assert_eq!(served, [50, 50]);
}

#[test]
fn load_takes_its_part_of_idle_capacity() {
    let config = CellConfig::lte(Prb::new(50));
    let bearer = am(&config);
    let load = Box::new(radio::ConstantLoad(Prb::new(20)));
    let ues = vec![ue(1, EachSlot(vec![opportunity(1000)]), vec![bearer])];
    let streams = units::Streams::new(1);
    let mut cell = ran::Cell::<Pkt>::new(config, ues, Some(load), &streams).unwrap();
    cell.advance(at_ms(1000));
    let stats = cell.stats();
    assert_eq!(
        (stats.prbs_offered, stats.prbs_background),
        (30_000, 20_000)
    );
    assert_eq!(stats.capacity.get(), 600_000);
    assert_eq!(stats.ues[0].capacity.get(), 1_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn bytes_served_never_exceed_the_opportunities_and_none_is_left_unused(
        sizes in prop::collection::vec(0u64..20_000, 1..20),
        packets in prop::collection::vec(1u64..5000, 1..100),
    ) {
        let config = CellConfig::lte(Prb::new(50));
        let bearer = um(&config, Duration::from_millis(35));
        let links = sizes.iter().map(|&bytes| opportunity(bytes)).collect();
        let mut bench = Bench::new(config, vec![ue(1, EachSlot(links), vec![bearer])], 1);
        for &bytes in &packets {
            bench.down(Instant::ZERO, 0, 0, bytes);
        }
        let total: u64 = packets.iter().sum();
        let mut offered = 0;
        for slot in 1..200u64 {
            bench.run(at_ms(slot));
            offered += sizes[slot as usize % sizes.len()];
            let stats = bench.cell.stats().ues[0].bearers[0].downlink;
            prop_assert_eq!(stats.served.get(), offered.min(total));
        }
        let all_down = bench.arrived.iter().all(|a| a.direction == Direction::Downlink);
        prop_assert!(all_down);
        bench.cell.check_conservation().unwrap();
    }
}
