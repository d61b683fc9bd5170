//! What a saturated cell carries, against the transport block sizes worked by hand.

use crate::harness::*;
use ran::{CellConfig, Combining, HarqConfig};
use units::{Duration, Instant, Mcs, Prb};

/// Bytes of transport blocks per second, Mbit/s, and goodput, after 100 ms, over `ms`.
fn saturated(config: CellConfig, link: radio::Link, ms: u64) -> (f64, f64, Bench) {
    let bearer = am(&config);
    let mut bench = Bench::new(config, vec![ue(1, Fixed(link), vec![bearer])], 1);
    let (start, end) = (at_ms(100), at_ms(100 + ms));
    bench.saturate(Instant::ZERO, start, &[0], 300_000, 1480);
    let before = bench.cell.stats().ues[0].downlink.block_bytes;
    bench.saturate(start, end, &[0], 300_000, 1480);
    let blocks = (bench.cell.stats().ues[0].downlink.block_bytes - before).get();
    let mac = blocks as f64 * 8e-6 / (end - start).as_secs_f64();
    let goodput = bench.goodput_mbps(0, start, end);
    bench.cell.check_conservation().unwrap();
    (mac, goodput, bench)
}

#[test]
fn nr_mu3_132_prb_mcs_28_is_852_6_mbps() {
    // TS 38.214 5.1.3.2: N_RE = 144 x 132, N_info = 105583.5, TBS = 106576 bit, 8000 slots/s
    let (mac, goodput, bench) = saturated(CellConfig::nr(3, Prb::new(132)), mcs(28, 0.0), 200);
    assert_near(mac, 852.608, 0.005, "MAC");
    // SDAP 1, PDCP 3, RLC 3, MAC 3 on each packet; one segment of 8 more in each block of 13322 B
    let expected = 852.608 * 1480.0 / (1480.0 + 10.0 + 8.0 * 1490.0 / 13322.0);
    assert_near(goodput, expected, 0.005, "goodput");
    let stats = bench.cell.stats();
    assert!(stats.prbs_used as f64 >= 0.999 * stats.prbs_offered as f64 - 132.0 * 3.0);
    assert!(stats.prbs_used <= stats.prbs_offered);
    assert!(bench.dropped.is_empty());
}

#[test]
fn lte_25_prb_mcs_28_is_18_336_mbps() {
    // TS 36.213: I_TBS 26, 25 PRB: 18336 bit each millisecond
    let (mac, goodput, _) = saturated(CellConfig::lte(Prb::new(25)), mcs(28, 0.0), 1000);
    assert_near(mac, 18.336, 0.005, "MAC");
    // PDCP 2 on each packet; MAC 3 + RLC 2 on each block, 1.5 for each further SDU of it
    let sdus_per_block = 2292.0 / 1484.0 + 1.0;
    let headers = 2.0 + (5.0 + 1.5 * (sdus_per_block - 1.0)) * 1484.0 / 2292.0;
    assert_near(
        goodput,
        18.336 * 1480.0 / (1480.0 + headers),
        0.005,
        "goodput",
    );
}

#[test]
fn tdd_has_the_share_of_its_downlink_symbols() {
    // DDDSU: three whole slots and 10 of 14 symbols of the fourth, of five
    let fdd = saturated(CellConfig::nr(1, Prb::new(51)), mcs(20, 0.0), 500).0;
    let mut config = CellConfig::nr(1, Prb::new(51));
    "DDDSU".clone_into(&mut config.tdd_pattern);
    let tdd = saturated(config, mcs(20, 0.0), 500).0;
    assert_near(tdd / fdd, (3.0 + 10.0 / 14.0) / 5.0, 0.002, "TDD share");
}

#[test]
fn harq_processes_bound_the_blocks_in_flight() {
    // 4 processes over a round trip of 8 slots: every second slot
    let mut config = CellConfig::lte(Prb::new(25));
    config.harq = HarqConfig {
        processes: 4,
        round_trip_slots: 8,
        max_transmissions: 4,
        combining: Combining::None,
    };
    let (mac, ..) = saturated(config, mcs(28, 0.0), 1000);
    assert_near(mac, 18.336 / 2.0, 0.005, "MAC with half of the processes");
}

#[test]
fn background_load_takes_its_prbs() {
    let mut config = CellConfig::lte(Prb::new(50));
    config.uplink.mcs = Mcs::new(10);
    let bearer = am(&config);
    let load = Box::new(radio::ConstantLoad(Prb::new(20)));
    let streams = units::Streams::new(1);
    let ues = vec![ue(1, Fixed(mcs(10, 0.0)), vec![bearer])];
    let cell = ran::Cell::new(config, ues, Some(load), &streams).unwrap();
    let mut bench = Bench::of(cell);
    bench.saturate(Instant::ZERO, at_ms(1000), &[0], 50_000, 1000);
    let stats = bench.cell.stats();
    assert_eq!(stats.prbs_background, stats.downlink_slots * 20);
    assert_eq!(stats.prbs_offered, stats.downlink_slots * 30);
    // TS 36.213: I_TBS 9 (MCS 10), 30 PRB: 4776 bit
    let blocks = stats.ues[0].downlink.block_bytes.get() as f64 / stats.downlink_slots as f64;
    assert_near(blocks, 4776.0 / 8.0, 0.01, "bytes of a slot");
    assert_near(
        stats.capacity.ratio(stats.ues[0].downlink.block_bytes),
        1.0,
        0.01,
        "capacity",
    );
}

#[test]
fn a_slow_n3_interface_is_the_bottleneck() {
    let mut config = CellConfig::nr(1, Prb::new(51));
    config.n3_rate = Some(units::BitRate::from_mbps(5));
    let bearer = am(&config);
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(28, 0.0)), vec![bearer])], 1);
    for _ in 0..1000 {
        bench.down(Instant::ZERO, 0, 0, 1250);
    }
    bench.run(at_ms(10_000));
    // 1250 B take 2 ms each; the last leaves the interface after 2 s
    assert_eq!(bench.arrived.len(), 1000);
    let last = bench.arrived[999].at;
    assert!(last >= at_ms(2000) && last <= at_ms(2003), "{last}");
    let spacing = bench.arrived[500].at - bench.arrived[499].at;
    assert!(spacing <= Duration::from_micros(2500) && spacing >= Duration::from_micros(1500));
}

#[test]
fn what_finds_no_room_before_the_n3_interface_is_dropped_and_counted() {
    let mut config = CellConfig::nr(1, Prb::new(51));
    config.n3_rate = Some(units::BitRate::from_mbps(5));
    config.n3_buffer = queue::Capacity::Bytes(units::Bytes::new(12_500));
    let bearer = am(&config);
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(28, 0.0)), vec![bearer])], 1);
    for _ in 0..1000 {
        bench.down(Instant::ZERO, 0, 0, 1250);
    }
    bench.run(at_ms(1_000));
    assert_eq!(bench.arrived.len(), 10);
    let stats = &bench.cell.stats().ues[0].bearers[0].downlink;
    assert_eq!(stats.dropped.buffer_full.packets.get(), 990);
}
