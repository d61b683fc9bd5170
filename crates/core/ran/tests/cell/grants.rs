//! Grants that follow buffer status reports (TS 38.321 5.4.5).

use crate::harness::*;
use proptest::prelude::*;
use queue::{Capacity, CoDelConfig, DisciplineConfig};
use ran::{CellConfig, Direction, DropReason, Grants};
use units::{Bytes, Duration, Mcs, Prb};

fn lte(grants: Grants) -> CellConfig {
    let mut config = CellConfig::lte(Prb::new(50));
    config.uplink.grants = grants;
    config
}

/// UEs with bearers that hold any amount.
fn bench(config: &CellConfig, ues: u16) -> Bench {
    let mut bearer = am(config);
    bearer.uplink_buffer = Capacity::Unlimited;
    let ue = |number| ue(number, Fixed(mcs(20, 0.0)), vec![bearer.clone()]);
    Bench::new(config.clone(), (1..=ues).map(ue).collect(), 3)
}

/// When the packets of a UE came, ms.
fn came(bench: &Bench, ue: usize) -> Vec<f64> {
    let up = bench
        .arrived
        .iter()
        .filter(|a| a.direction == Direction::Uplink && a.ue.0 == ue);
    up.map(|a| a.at.since_start().as_secs_f64() * 1e3).collect()
}

/// The request at 0, its grant 8 ms later; 1 + 3 ms of the slot and decoding. A packet that the first grant of 512 bytes
/// holds is there at 12 ms; of one that it does not hold the rest is reported in it and granted 8 ms later, and so on.
#[test]
fn the_first_grant_is_small_and_the_rest_follows_its_report() {
    for (bytes, demand, by_reports) in [(300, 12.0, 12.0), (1_400, 12.0, 20.0)] {
        for (grants, expected) in [(Grants::Demand, demand), (Grants::BufferStatus, by_reports)] {
            let mut bench = bench(&lte(grants), 1);
            bench.up(at_ms(0), 0, 0, bytes);
            bench.run(at_ms(500));
            assert_eq!(came(&bench, 0), [expected], "{bytes} bytes, {grants:?}");
        }
    }
}

/// In NR the report of a slot counts four slots later: 2 ms at 30 kHz.
#[test]
fn reports_of_nr_count_after_its_grant_delay() {
    let mut config = CellConfig::nr(1, Prb::new(51));
    config.uplink.grants = Grants::BufferStatus;
    let mut bench = bench(&config, 1);
    bench.up(at_ms(0), 0, 0, 1_400);
    bench.run(at_ms(500));
    // the request at 0, its grant at 2 ms, the rest at 4 ms; a slot and decoding
    assert_eq!(came(&bench, 0), [5.0]);
}

/// A UE that always has enough to send fills the carrier: no less than 96 % of what it can carry in a second from the first
/// grant on, and no more than all of it. MCS 16 on 50 PRBs: I_TBS 15, 15,264 bits (TS 36.213 Table 7.1.7.2.1-1).
#[test]
fn a_greedy_ue_has_the_whole_carrier() {
    let mut bench = bench(&lte(Grants::BufferStatus), 1);
    for _ in 0..3_000 {
        bench.up(at_ms(0), 0, 0, 1_400);
    }
    bench.run(at_ms(1_000));
    bench.cell.check_conservation().unwrap();
    let mac = bench.cell.stats().ues[0].uplink;
    let most = 15_264 / 8 * 993;
    let carried = came(&bench, 0).len() as u64 * 1_400;
    assert!(
        carried <= most && carried * 100 >= most * 96,
        "{carried} of {most}"
    );
    // blocks of the whole carrier, but for the first
    assert!(mac.prbs <= 50 * mac.blocks && mac.blocks <= 993, "{mac:?}");
}

/// What is held below is granted once in a grant delay: with 4,000 bytes always waiting, a level of 4,677, no more than that
/// is under way in 8 ms, and no less than 95 % of what was there.
#[test]
fn a_short_buffer_limits_the_rate() {
    let mut bench = bench(&lte(Grants::BufferStatus), 1);
    let mut sent = 0;
    for ms in 0..4_000 {
        bench.run(at_ms(ms));
        let uplink = bench.cell.stats().ues[0].bearers[0].uplink;
        let mut waits = uplink.backlog.get();
        while waits < 4_000 {
            bench.up(at_ms(ms), 0, 0, 1_000);
            waits += 1_000;
            sent += 1_000;
        }
    }
    let carried = came(&bench, 0).len() as u64 * 1_000;
    // all that waits, up to 4,999 bytes and their headers, at the level above it; 500 periods of 8 ms
    assert!(carried <= sent && carried <= 500 * 5_476, "{carried}");
    assert!(carried >= 490 * 3_800, "{carried}");
}

/// Of what CoDel drops in the modem nothing comes out, and all is accounted for.
#[test]
fn the_modems_buffer_has_a_discipline() {
    let config = lte(Grants::BufferStatus);
    let mut bearer = am(&config);
    bearer.uplink_buffer = Capacity::Unlimited;
    bearer.uplink_discipline = DisciplineConfig::CoDel(CoDelConfig::default());
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.0)), vec![bearer])], 3);
    for ms in 0..2_000 {
        bench.run(at_ms(ms));
        // 24 Mbit/s into 15
        (0..3).for_each(|_| _ = bench.up(at_ms(ms), 0, 0, 1_000));
    }
    bench.run(at_ms(4_000));
    bench.cell.check_conservation().unwrap();
    let dropped = bench.dropped.iter();
    assert!(
        dropped
            .clone()
            .all(|it| it.3 == DropReason::QueueManagement)
    );
    assert!((1..4_000).contains(&dropped.count()));
    assert_eq!(came(&bench, 0).len() + bench.dropped.len(), 6_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever UEs send when: all of it arrives, once; no slot has more PRBs than the carrier; blocks carry all that came.
    #[test]
    fn grants_carry_all_and_no_more_than_the_carrier(
        sends in prop::collection::vec((0_u64..300, 0_usize..3, 1_u64..1_500), 1..120),
        is_lte: bool, mcs in 0_u8..20, sr_ms in 0_u64..20, tdd: bool,
    ) {
        let mut config = if is_lte { CellConfig::lte(Prb::new(25)) } else { CellConfig::nr(1, Prb::new(24)) };
        config.uplink.grants = Grants::BufferStatus;
        config.uplink.mcs = Mcs::new(mcs);
        config.uplink.sr_period = Duration::from_millis(sr_ms);
        if tdd && !is_lte {
            "DDDSU".clone_into(&mut config.tdd_pattern);
        }
        let (n_prb, slot) = (u64::from(config.uplink.n_prb.get()), config.rat.slot_duration());
        let mut bench = bench(&config, 3);
        let mut sends = sends;
        sends.sort_unstable();
        for &(ms, ue, bytes) in &sends {
            bench.run(at_ms(ms));
            bench.up(at_ms(ms), ue, 0, bytes);
        }
        bench.run(at_ms(300));
        let prbs = |bench: &Bench| -> u64 {
            let ues = &bench.cell.stats().ues;
            ues.iter().map(|ue| ue.uplink.prbs).sum()
        };
        let (mut now, mut before) = (at_ms(300), prbs(&bench));
        while let Some(at) = bench.cell.next_deadline() {
            if at > at_ms(20_000) {
                break;
            }
            bench.call(at);
            let sum = prbs(&bench);
            let slots = (at.saturating_since(now) / slot).max(1);
            prop_assert!(sum - before <= n_prb * (slots + 1), "{} PRBs in {slots} slots", sum - before);
            (now, before) = (at, sum);
        }
        bench.cell.check_conservation().unwrap();
        let mut came: Vec<u64> = bench.arrived.iter().map(|a| a.packet.id).collect();
        came.sort_unstable();
        prop_assert_eq!(came, (1..=sends.len() as u64).collect::<Vec<_>>());
        let stats = bench.cell.stats();
        let carried: u64 = stats.ues.iter().map(|ue| ue.uplink.block_bytes.get()).sum();
        let sent: u64 = sends.iter().map(|it| it.2).sum();
        prop_assert!(carried >= sent);
        prop_assert!(stats.ues.iter().all(|ue| ue.bearers[0].uplink.backlog == Bytes::ZERO));
    }
}
