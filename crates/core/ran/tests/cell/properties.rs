//! What always holds, with queue management above the RLC and without.

use crate::harness::*;
use crate::layers::{marked_overtake, queues};
use proptest::prelude::*;
use queue::Capacity;
use radio::Link;
use ran::{CellConfig, Combining, Direction, QueuesConfig, Rat, SchedulerKind, UeConfig, UeIndex};
use std::collections::BTreeMap;
use units::{BitRate, Bytes, Duration, Instant, Packets, Prb};

#[derive(Clone, Debug)]
struct Scene {
    lte: bool,
    tdd: bool,
    scheduler: usize,
    combining: usize,
    max_transmissions: u8,
    feedback_error: f64,
    load: Option<(u16, f64)>,
    n3: bool,
    ues: Vec<Vec<Link>>,
    um: bool,
    buffer: Capacity,
    sr: bool,
    packets: Vec<(u64, usize, bool, u8, u64)>,
    queues: Option<QueuesConfig>,
    seed: u64,
}

fn link() -> impl Strategy<Value = Link> {
    prop_oneof![
        4 => (0u8..29, 0.0f64..0.5).prop_map(|(m, p)| mcs(m, p)),
        2 => (0u8..28, -5.0f64..25.0).prop_map(|(m, db)| sinr(m, db)),
        1 => Just(Link::Outage),
        1 => (0u64..5000).prop_map(|b| Link::Opportunity {
            bytes: Bytes::new(b),
            mean_rate: BitRate::from_mbps(10),
        }),
    ]
}

fn buffer() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        (100u64..50_000).prop_map(|b| Capacity::Bytes(Bytes::new(b))),
        (1u64..50).prop_map(|n| Capacity::Packets(Packets::new(n))),
        Just(Capacity::Unlimited),
    ]
}

prop_compose! {
    fn scene()(
        (lte, tdd, um, n3, sr) in any::<(bool, bool, bool, bool, bool)>(),
        scheduler in 0usize..3,
        combining in 0usize..3,
        max_transmissions in 1u8..5,
        feedback_error in prop_oneof![Just(0.0), 0.0f64..0.3],
        load in prop::option::of((0u16..120, 0.0f64..1.0)),
        ues in prop::collection::vec(prop::collection::vec(link(), 1..12), 1..5),
        buffer in buffer(),
        packets in prop::collection::vec(
            (0u64..2_000, 0usize..5, any::<bool>(), 0u8..4, 0u64..4000), 1..150),
        queues in prop_oneof![1 => Just(None), 2 => queues().prop_map(Some)],
        seed in any::<u64>(),
    ) -> Scene {
        Scene { lte, tdd, scheduler, combining, max_transmissions, feedback_error, load, n3, ues, um, buffer,
            sr, packets, queues, seed }
    }
}

fn build(scene: &Scene) -> Bench {
    let mut config = if scene.lte {
        CellConfig::lte(Prb::new(25))
    } else {
        CellConfig::nr(1, Prb::new(51))
    };
    if scene.tdd && !scene.lte {
        "DDSUU".clone_into(&mut config.tdd_pattern);
    }
    if !scene.sr {
        config.uplink.sr_period = Duration::ZERO;
    }
    config.bler = if scene.lte {
        radio::BlerFamily::Ns3LteMi
    } else {
        radio::BlerFamily::OaiNr
    };
    config.scheduler = [
        SchedulerKind::RoundRobin,
        SchedulerKind::ProportionalFair {
            time_constant: Duration::from_millis(50),
        },
        SchedulerKind::MaximumRate,
    ][scene.scheduler];
    config.harq.combining = [
        Combining::None,
        Combining::Chase,
        Combining::IncrementalRedundancy,
    ][scene.combining];
    config.harq.max_transmissions = scene.max_transmissions;
    config.harq_feedback_error = scene.feedback_error;
    if scene.n3 {
        config.n3_rate = Some(BitRate::from_mbps(20));
        config.n3_buffer = Capacity::Bytes(Bytes::new(20_000));
    }
    config.queues = scene.queues.clone().map(Box::new);
    let ues = ues_of(scene, config.rat);
    let streams = units::Streams::new(scene.seed);
    let load = scene.load.map(|(prb, share)| {
        let rng = streams.stream("load");
        Box::new(radio::RandomLoad::new(Prb::new(prb), share, rng).unwrap()) as Box<dyn radio::Load>
    });
    Bench::of(ran::Cell::new(config, ues, load, &streams).unwrap())
}

fn ues_of(scene: &Scene, rat: Rat) -> Vec<UeConfig> {
    let bearer = |qfis: &[u8], um: bool| {
        let mut bearer = if um {
            ran::BearerConfig::um(rat, scene.buffer)
        } else {
            ran::BearerConfig::am(rat, scene.buffer)
        };
        bearer.uplink_buffer = scene.buffer;
        bearer.qfis = qfis.to_vec();
        bearer
    };
    let one = |(i, links): (usize, &Vec<Link>)| {
        let bearers = vec![bearer(&[], scene.um), bearer(&[3], !scene.um)];
        ue(i as u16 + 1, EachSlot(links.clone()), bearers)
    };
    scene.ues.iter().enumerate().map(one).collect()
}

/// Sends all packets; checks the cell after each.
fn play(scene: &Scene) -> Bench {
    let mut bench = build(scene);
    let mut now = Instant::ZERO;
    let mut last_deadline = None;
    for &(gap_us, ue, is_down, qfi, bytes) in &scene.packets {
        now += Duration::from_micros(gap_us);
        while let Some(at) = bench.cell.next_deadline()
            && at <= now
        {
            assert!(last_deadline < Some(at), "deadlines go forward");
            last_deadline = Some(at);
            bench.call(at);
        }
        let ue = ue % scene.ues.len();
        if is_down {
            bench.down(now, ue, qfi, bytes)
        } else {
            bench.up(now, ue, qfi, bytes)
        };
        bench.cell.check_conservation().unwrap();
    }
    bench.run(now + Duration::from_secs(3));
    bench.cell.advance(now + Duration::from_secs(3));
    bench
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn every_packet_comes_out_once_in_order_or_is_dropped_or_held(scene in scene()) {
        let mut bench = play(&scene);
        bench.cell.check_conservation().unwrap();
        // each packet at most once
        let ids = bench.arrived.iter().map(|a| a.packet.id);
        let mut ids: Vec<u64> = ids.chain(bench.dropped.iter().map(|d| d.2.id)).collect();
        let out = ids.len();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), out);
        // every drop is reported
        let ues = &bench.cell.stats().ues;
        let bearers = ues.iter().flat_map(|ue| &ue.bearers);
        let counted = |one: &ran::DirectionStats| one.dropped.total().packets.get();
        let counted: u64 = bearers.map(|b| counted(&b.downlink) + counted(&b.uplink)).sum();
        prop_assert_eq!(bench.dropped.len() as u64, counted);
        // in order for each bearer and direction; for each flow where queues distinguish flows
        let mut last: BTreeMap<(UeIndex, Direction, u8), u64> = BTreeMap::new();
        let any_marked = scene.queues.as_ref().is_some_and(marked_overtake);
        for a in bench.arrived.iter().filter(|a| !(any_marked && a.packet.is_marked)) {
            let by_flow = scene.queues.is_some() && a.direction == Direction::Downlink;
            let qfi = a.packet.qfi;
            let key = (a.ue, a.direction, if by_flow { qfi } else { u8::from(qfi == 3) });
            let before = last.insert(key, a.packet.id).unwrap_or(0);
            prop_assert!(before < a.packet.id);
            prop_assert!(a.at >= a.packet.sent_at + a.sojourn);
        }
        // no more PRBs than there are, no more data than there was room for
        let stats = bench.cell.stats();
        prop_assert!(stats.prbs_used <= stats.prbs_offered);
        let used: u64 = stats.ues.iter().map(|ue| ue.downlink.prbs).sum();
        prop_assert_eq!(used, stats.prbs_used);
        let n_prb = bench.cell.config().n_prb.get();
        let all = stats.prbs_offered + stats.prbs_background;
        prop_assert_eq!(all, stats.downlink_slots * u64::from(n_prb));
        // reports can be used
        let end = Instant::ZERO + Duration::from_secs(10);
        bench.cell.report(end).check().unwrap();
    }

    #[test]
    fn the_same_seed_gives_the_same_run(scene in scene()) {
        let log = |bench: &Bench| -> Vec<(u64, Instant)> {
            bench.arrived.iter().map(|a| (a.packet.id, a.at)).collect()
        };
        let (a, b) = (play(&scene), play(&scene));
        prop_assert_eq!(log(&a), log(&b));
        prop_assert_eq!(a.cell.stats(), b.cell.stats());
    }

    #[test]
    fn calling_late_changes_nothing_but_the_time_of_the_call(scene in scene()) {
        // a caller that comes once every 5 ms gets the same packets in the same order
        let punctual = play(&scene);
        let mut late = build(&scene);
        let mut now = Instant::ZERO;
        for &(gap_us, ue, is_down, qfi, bytes) in &scene.packets {
            now += Duration::from_micros(gap_us);
            late.call(now);
            let ue = ue % scene.ues.len();
            if is_down { late.down(now, ue, qfi, bytes) } else { late.up(now, ue, qfi, bytes) };
        }
        for _ in 0..600 {
            now += Duration::from_millis(5);
            late.call(now);
        }
        let ids = |b: &Bench| -> Vec<u64> { b.arrived.iter().map(|a| a.packet.id).collect() };
        prop_assert_eq!(ids(&punctual), ids(&late));
    }
}

#[test]
fn buffers_hold_their_capacity() {
    for buffer in [
        Capacity::Bytes(Bytes::new(10_000)),
        Capacity::Packets(Packets::new(10)),
    ] {
        let config = CellConfig::lte(Prb::new(25));
        let mut bearer = am(&config);
        (bearer.downlink_buffer, bearer.uplink_buffer) = (buffer, buffer);
        let mut bench = Bench::new(config, vec![ue(1, Fixed(Link::Outage), vec![bearer])], 1);
        for _ in 0..25 {
            bench.down(Instant::ZERO, 0, 0, 1000);
            bench.up(Instant::ZERO, 0, 0, 1000);
        }
        bench.run(at_ms(5));
        assert_eq!(bench.dropped.len(), 30);
        let stats = bench.cell.stats().ues[0].bearers[0];
        for one in [stats.downlink, stats.uplink] {
            assert_eq!(one.dropped.buffer_full.packets, Packets::new(15));
            assert_eq!(one.queued.bytes, Bytes::new(10_000));
        }
    }
}

#[test]
fn mean_backlog_is_the_integral_over_time() {
    let config = CellConfig::lte(Prb::new(25));
    let bearer = um(&config, Duration::from_millis(35));
    let opportunity = |bytes| Link::Opportunity {
        bytes: Bytes::new(bytes),
        mean_rate: BitRate::from_mbps(1),
    };
    // one opportunity of 1000 B every 10 ms
    let mut links = vec![opportunity(0); 10];
    links[0] = opportunity(1000);
    let mut bench = Bench::new(config, vec![ue(1, EachSlot(links), vec![bearer])], 1);
    bench.down(at_us(1_500), 0, 0, 1500);
    bench.run(at_ms(100));
    bench.cell.advance(at_ms(100));
    // 1500 B from 2.5 to 10 ms (processing 1 ms), 500 B from 10 to 20 ms
    let stats = bench.cell.stats().ues[0].bearers[0].downlink;
    let expected = (1500.0 * 7.5 + 500.0 * 10.0) / 100.0;
    assert_near(
        stats.mean_backlog(Duration::from_millis(100)),
        expected,
        1e-9,
        "mean backlog",
    );
    assert_eq!(stats.sojourns.max, Duration::from_micros(18_500));
}
