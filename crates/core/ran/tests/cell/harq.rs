//! Losses on the radio, and what HARQ and RLC make of them.

use crate::harness::*;
use proptest::prelude::*;
use radio::BlerFamily;
use ran::{CellConfig, Combining, DropReason, RlcMode, UeIndex};
use units::{Duration, Instant, Prb};

fn config(combining: Combining, max_transmissions: u8) -> CellConfig {
    let mut config = CellConfig::nr(1, Prb::new(51));
    config.harq.combining = combining;
    config.harq.max_transmissions = max_transmissions;
    config
}

/// Goodput with a first-transmission error rate over that without.
fn factor(config: &CellConfig, bler: f64) -> (f64, Bench) {
    let run = |bler| {
        let bearer = am(config);
        let channel = Fixed(mcs(20, bler));
        let mut bench = Bench::new(config.clone(), vec![ue(1, channel, vec![bearer])], 3);
        bench.saturate(Instant::ZERO, at_ms(10_000), &[0], 300_000, 1480);
        bench.cell.check_conservation().unwrap();
        (bench.goodput_mbps(0, at_ms(500), at_ms(10_000)), bench)
    };
    let (with, bench) = run(bler);
    (with / run(0.0).0, bench)
}

#[test]
fn independent_attempts_cost_one_over_the_mean_number_of_transmissions() {
    // 1 + p + p^2 + ... transmissions of a block
    let (factor, bench) = factor(&config(Combining::None, 10), 0.1);
    assert_near(factor, 0.9, 0.01, "goodput at 10 % without combining");
    assert!(bench.dropped.is_empty());
    let mac = bench.cell.stats().ues[0].downlink;
    assert_near(
        mac.errors as f64 / (mac.blocks + mac.retransmissions) as f64,
        0.1,
        0.05,
        "BLER",
    );
}

#[test]
fn chase_combining_needs_one_retransmission() {
    // 3 dB more: the second transmission is decoded
    let (factor, bench) = factor(&config(Combining::Chase, 4), 0.1);
    assert_near(
        factor,
        1.0 / 1.1,
        0.01,
        "goodput at 10 % with chase combining",
    );
    assert_eq!(bench.cell.stats().ues[0].downlink.failures, 0);
}

#[test]
fn rlc_am_repairs_what_harq_leaves() {
    // one transmission only: every tenth block is left to RLC
    let mut config = config(Combining::None, 1);
    config.uplink.sr_period = Duration::ZERO;
    let (factor, bench) = factor(&config, 0.1);
    let stats = bench.cell.stats().ues[0].bearers[0].downlink;
    assert!(bench.cell.stats().ues[0].downlink.failures > 500);
    assert!(bench.dropped.is_empty());
    assert_near(factor, 0.9, 0.02, "goodput at 10 % with RLC only");
    // a lost block is sent again once, a tenth of those twice ...; little else is
    let sent = stats.served.get() as f64;
    assert_near(
        stats.rlc_retransmitted.get() as f64,
        sent * 0.1 / 0.9,
        0.1,
        "RLC retransmissions",
    );
    assert!(stats.rlc_duplicates.get() < stats.rlc_retransmitted.get() / 20);
}

#[test]
fn feedback_errors_are_left_to_rlc() {
    let mut config = config(Combining::Chase, 4);
    config.harq_feedback_error = 0.5;
    let (_, bench) = factor(&config, 0.1);
    let mac = bench.cell.stats().ues[0].downlink;
    // of the failed blocks, one in two is taken for decoded
    assert_near(
        mac.failures as f64 / mac.errors as f64,
        0.5,
        0.1,
        "NACK read as ACK",
    );
    assert!(bench.dropped.is_empty());
}

#[test]
fn a_link_that_is_down_makes_rlc_give_up_in_the_end() {
    let config = config(Combining::None, 2);
    let bearer = am(&config);
    let RlcMode::Am(rlc) = bearer.rlc else {
        unreachable!()
    };
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 1.0)), vec![bearer])], 1);
    let id = bench.down(at_ms(1), 0, 0, 1000);
    bench.run(at_ms(60_000));
    assert!(bench.arrived.is_empty());
    let (ue, _, packet, reason) = bench.dropped[0];
    assert_eq!(
        (ue, packet.id, reason),
        (UeIndex(0), id, DropReason::RlcRetransmissions)
    );
    // first transmission and max_retx more, each twice by HARQ
    let mac = bench.cell.stats().ues[0].downlink;
    assert_eq!(mac.blocks, 1 + u64::from(rlc.max_retx));
    assert_eq!(mac.failures, mac.blocks);
    assert_eq!(mac.errors, 2 * mac.blocks);
    assert_eq!(bench.cell.next_deadline(), None);
    bench.cell.check_conservation().unwrap();
}

#[test]
fn um_drops_what_harq_leaves_and_goes_on() {
    let config = config(Combining::None, 1);
    let bearer = um(&config, Duration::from_millis(20));
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.1)), vec![bearer])], 1);
    bench.saturate(Instant::ZERO, at_ms(5_000), &[0], 100_000, 1480);
    bench.run(at_ms(10_000));
    bench.cell.check_conservation().unwrap();
    let stats = bench.cell.stats().ues[0].bearers[0].downlink;
    assert!(stats.dropped.harq_failure.packets.get() > 100);
    assert_eq!(stats.rlc_retransmitted.get(), 0);
    assert!(stats.rlc_gaps_skipped > 0);
    let total = (bench.arrived.len() + bench.dropped.len()) as u64;
    assert_eq!(total, bench.next_id);
    let ids: Vec<u64> = bench.arrived.iter().map(|a| a.packet.id).collect();
    assert!(ids.is_sorted());
}

#[test]
fn um_does_not_lock_up_after_an_outage() {
    // everything fails for a long time: more packets than there are sequence numbers
    struct Until(Instant);
    impl radio::Channel for Until {
        fn state(&mut self, start: Instant, _: Duration) -> radio::ChannelState {
            let is_down = start < self.0;
            let link = mcs(20, if is_down { 1.0 } else { 0.0 });
            let holds_until = if is_down { self.0 } else { Instant::MAX };
            radio::ChannelState {
                cqi: units::Cqi::new(9),
                link,
                holds_until,
            }
        }
    }
    let mut config = CellConfig::lte(Prb::new(100));
    config.harq.max_transmissions = 1;
    let bearer = um(&config, Duration::from_millis(20));
    let mut bench = Bench::new(config, vec![ue(1, Until(at_ms(1000)), vec![bearer])], 1);
    bench.saturate(Instant::ZERO, at_ms(2_000), &[0], 100_000, 1480);
    assert!(bench.dropped.len() > 2048);
    assert!(bench.goodput_mbps(0, at_ms(1100), at_ms(2000)) > 20.0);
}

#[test]
fn block_errors_follow_the_curve_at_the_sinr() {
    for (family, combining) in [
        (BlerFamily::Ns3LteMi, Combining::Chase),
        (BlerFamily::Ns3LteMi, Combining::IncrementalRedundancy),
    ] {
        let mut config = CellConfig::lte(Prb::new(25));
        config.bler = family;
        config.harq.combining = combining;
        let table = config.mcs_table;
        let curves = radio::BlerCurves::new(family, table).unwrap();
        let mcs = units::Mcs::new(10);
        // the SINR at which one block in five is lost
        let db = (0..4000).map(|i| f64::from(i) * 0.01 - 10.0);
        let db = db
            .into_iter()
            .find(|&db| curves.bler(mcs, units::Decibel::new(db)) < 0.2)
            .unwrap();
        let p = curves.bler(mcs, units::Decibel::new(db));
        assert!(p > 0.05);
        let bearer = am(&config);
        let mut bench = Bench::new(config, vec![ue(1, Fixed(sinr(10, db)), vec![bearer])], 5);
        bench.saturate(Instant::ZERO, at_ms(20_000), &[0], 100_000, 1480);
        let mac = bench.cell.stats().ues[0].downlink;
        // combined with the first, a second transmission is always decoded here
        assert_eq!(mac.failures, 0);
        assert_near(
            mac.errors as f64 / mac.blocks as f64,
            p,
            0.06,
            "first-transmission BLER",
        );
        assert!(mac.errors - mac.retransmissions <= 8, "pending ones only");
    }
}

#[test]
fn a_retransmission_squeezed_by_load_is_weaker() {
    // load takes 40 of 50 PRBs in slots 8 to 15 of every 16: retransmissions of full blocks from the
    // slots before have a fifth of the energy, those of small blocks come in free slots
    struct Tides;
    impl radio::Load for Tides {
        fn prb(&mut self, start: Instant, slot: Duration) -> Prb {
            let n = start.since_start() / slot;
            Prb::new(if (n / 8) % 2 == 1 { 40 } else { 0 })
        }
    }
    let mut config = CellConfig::lte(Prb::new(50));
    config.bler = BlerFamily::Ns3LteMi;
    config.harq.combining = Combining::None;
    config.harq.max_transmissions = 2;
    let curves = radio::BlerCurves::new(config.bler, config.mcs_table).unwrap();
    let at = |db: f64| curves.bler(units::Mcs::new(10), units::Decibel::new(db));
    let db = (0..4000)
        .map(|i| f64::from(i) * 0.01 - 10.0)
        .find(|&db| at(db) < 0.5)
        .unwrap();
    let p = at(db);
    assert!(p > 0.4 && at(db - 6.9) > 0.999);
    let bearer = um(&config, Duration::from_millis(35));
    let ues = vec![ue(1, Fixed(sinr(10, db)), vec![bearer])];
    let streams = units::Streams::new(2);
    let cell = ran::Cell::new(config, ues, Some(Box::new(Tides)), &streams).unwrap();
    let mut bench = Bench::of(cell);
    bench.saturate(Instant::ZERO, at_ms(40_000), &[0], 100_000, 1480);
    // as many retransmissions in loaded slots (all in vain) as in free ones (p in vain)
    let mac = bench.cell.stats().ues[0].downlink;
    let in_vain = mac.failures as f64 / mac.retransmissions as f64;
    assert_near(in_vain, (1.0 + p) / 2.0, 0.03, "retransmissions in vain");
    bench.cell.check_conservation().unwrap();
}

#[test]
fn um_drops_what_comes_after_the_reassembly_timer() {
    // feedback takes 4 ms, the receiver waits 2 ms only
    let config = config(Combining::Chase, 4);
    let bearer = um(&config, Duration::from_millis(2));
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.1)), vec![bearer])], 1);
    bench.saturate(Instant::ZERO, at_ms(2_000), &[0], 100_000, 1480);
    bench.run(at_ms(5_000));
    let stats = bench.cell.stats();
    let dropped = stats.ues[0].bearers[0].downlink.dropped;
    assert_eq!(dropped.harq_failure.packets.get(), 0);
    // each block that needs a second transmission holds a part of at least one packet
    assert!(dropped.reassembly_timeout.packets.get() >= stats.ues[0].downlink.errors * 9 / 10);
    assert_eq!(
        (bench.arrived.len() + bench.dropped.len()) as u64,
        bench.next_id
    );
    bench.cell.check_conservation().unwrap();
}

#[test]
fn uplink_data_whose_reports_are_lost_is_sent_again_a_limited_number_of_times() {
    let config = config(Combining::None, 1);
    let bearer = am(&config);
    let RlcMode::Am(rlc) = bearer.rlc else {
        unreachable!()
    };
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 1.0)), vec![bearer])], 1);
    bench.up(at_ms(1), 0, 0, 1000);
    bench.run(at_ms(60_000));
    assert_eq!(bench.arrived.len(), 1);
    // 1000 B, SDAP 1 and PDCP 3
    let uplink = bench.cell.stats().ues[0].bearers[0].uplink;
    assert_eq!(uplink.rlc_duplicates.get(), u64::from(rlc.max_retx) * 1004);
    assert_eq!(bench.cell.next_deadline(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn am_delivers_everything_in_order_whatever_is_lost(
        bler in 0.0f64..0.6,
        max_transmissions in 1u8..4,
        feedback_error in 0.0f64..0.3,
        seed in 0u64..1000,
        sizes in prop::collection::vec(1u64..3000, 50..200),
    ) {
        let mut config = config(Combining::None, max_transmissions);
        config.harq_feedback_error = feedback_error;
        let bearer = am(&config);
        let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(8, bler)), vec![bearer])], seed);
        for (i, &size) in sizes.iter().enumerate() {
            bench.run(at_us(300 * i as u64));
            bench.down(at_us(300 * i as u64), 0, 0, size);
            bench.up(at_us(300 * i as u64), 0, 0, size);
        }
        bench.run(at_ms(100_000));
        prop_assert!(bench.dropped.is_empty());
        prop_assert_eq!(bench.cell.next_deadline(), None);
        for direction in [ran::Direction::Downlink, ran::Direction::Uplink] {
            let out: Vec<_> = bench.arrived.iter().filter(|a| a.direction == direction).collect();
            prop_assert_eq!(out.len(), sizes.len());
            prop_assert!(out.is_sorted_by_key(|a| a.packet.id));
            prop_assert!(out.is_sorted_by_key(|a| a.at));
        }
        bench.cell.check_conservation().unwrap();
    }
}

#[test]
fn random_loss_has_the_configured_rate_and_is_downlink_only() {
    let config = config(Combining::None, 4);
    let bearer = ran::BearerConfig {
        loss: 0.01,
        ..am(&config)
    };
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.0)), vec![bearer])], 3);
    bench.saturate(Instant::ZERO, at_ms(4_000), &[0], 300_000, 1480);
    bench.cell.check_conservation().unwrap();
    let stats = &bench.cell.stats().ues[0].bearers[0].downlink;
    let (lost, arrived) = (stats.dropped.random.packets, stats.delivered.packets);
    let share = lost.get() as f64 / (lost.get() + arrived.get()) as f64;
    // three standard deviations of 16 000 packets are 0.0024
    assert!(arrived.get() > 10_000, "{arrived:?}");
    assert!((share - 0.01).abs() < 0.0024, "{share}");
    assert_eq!(bench.dropped.len() as u64, lost.get());
    assert!(
        bench
            .dropped
            .iter()
            .all(|(_, _, _, reason)| *reason == DropReason::Random)
    );
}

/// Packets larger than blocks, of which HARQ gives up some: each lost packet is reported once, however
/// many of its segments were lost, by the time that it is given up.
#[test]
fn a_report_counts_each_packet_that_the_radio_lost_once() {
    let config = config(Combining::None, 1);
    let bearer = um(&config, Duration::from_millis(20));
    let channel = Fixed(mcs(4, 0.3));
    let mut bench = Bench::new(config, vec![ue(1, channel, vec![bearer])], 3);
    bench.saturate(Instant::ZERO, at_ms(1_000), &[0], 30_000, 9_000);
    let stats = bench.cell.stats().ues[0].downlink;
    let dropped = bench.dropped.len();
    assert!(dropped > 100, "{dropped}");
    // several segments of one packet are lost
    assert!(stats.failures as usize > dropped, "{stats:?}");
    let report = bench.cell.report(at_ms(1_000));
    assert_eq!(report.ues[0].lost_packets, Some(dropped as u32));
    let next = bench.cell.report(at_ms(1_001));
    assert_eq!(next.ues[0].lost_packets, Some(0));
}
