//! Queue management at UPF, SDAP and RLC: random combinations for the properties, and what each kind of
//! it promises.

use crate::harness::*;
use proptest::prelude::*;
use queue::{
    BackpressureConfig, Capacity, ClassConfig, ClassScheduler, ClassesConfig, CoDelConfig,
    DisciplineConfig, DrqlConfig, DualPi2Config, DynRlcConfig, FiveGBdpConfig, FqCoDelConfig,
    L4SpanConfig, LateBindingConfig, PacedConfig, QueueConfig, RedConfig, SfqConfig, Unit,
    UspConfig,
};
use radio::Link;
use ran::{CellConfig, QueuesConfig, SchedulerKind, UeConfig};
use units::{BitRate, Bytes, Duration, Instant, Packets, Prb};

/// Bytes of a full packet.
const FULL: u64 = 1500;
const TICK: Duration = Duration::from_millis(10);

fn plain(discipline: DisciplineConfig) -> QueueConfig {
    QueueConfig {
        discipline,
        ..QueueConfig::drop_tail(Capacity::Unlimited)
    }
}

fn limited(backpressure: BackpressureConfig) -> QueueConfig {
    QueueConfig {
        backpressure,
        ..QueueConfig::drop_tail(Capacity::Unlimited)
    }
}

/// QFI 1 before (or beside) all others.
fn classes(scheduler: ClassScheduler, each: &DisciplineConfig) -> DisciplineConfig {
    let class = |qfis: &[u8]| ClassConfig {
        qfis: qfis.to_vec(),
        weight: 1,
        discipline: Box::new(each.clone()),
        capacity: Capacity::Unlimited,
    };
    DisciplineConfig::Classes(ClassesConfig {
        scheduler,
        classes: vec![class(&[1]), class(&[])],
    })
}

/// CoDel that has something to do within tens of milliseconds.
fn hasty_codel() -> CoDelConfig {
    CoDelConfig {
        target: Duration::from_millis(1),
        interval: Duration::from_millis(4),
        ..CoDelConfig::default()
    }
}

fn one_discipline() -> impl Strategy<Value = DisciplineConfig> {
    prop_oneof![
        Just(DisciplineConfig::DropTail),
        Just(DisciplineConfig::CoDel(hasty_codel())),
        Just(DisciplineConfig::FqCoDel(FqCoDelConfig {
            codel: hasty_codel(),
            ..FqCoDelConfig::default()
        })),
        Just(DisciplineConfig::Sfq(SfqConfig::default())),
        Just(DisciplineConfig::Red(RedConfig::default())),
        Just(DisciplineConfig::DualPi2(DualPi2Config::default())),
        Just(DisciplineConfig::L4Span(L4SpanConfig::default())),
    ]
}

fn discipline() -> impl Strategy<Value = DisciplineConfig> {
    prop_oneof![
        2 => one_discipline(),
        1 => (any::<bool>(), one_discipline()).prop_map(|(is_weighted, each)| {
            let scheduler = if is_weighted {
                ClassScheduler::Weighted
            } else {
                ClassScheduler::StrictPriority
            };
            classes(scheduler, &each)
        }),
    ]
}

fn unit() -> impl Strategy<Value = Unit> {
    let mtu = Bytes::new(FULL);
    prop_oneof![Just(Unit::Bytes), Just(Unit::Packets { mtu })]
}

fn backpressure() -> impl Strategy<Value = BackpressureConfig> {
    let limits = || {
        (
            unit(),
            (1u64..30).prop_map(|packets| Bytes::new(packets * FULL)),
        )
    };
    prop_oneof![
        Just(BackpressureConfig::None),
        limits().prop_map(|(unit, max)| BackpressureConfig::Drql(drql(unit, max))),
        limits().prop_map(|(unit, max)| BackpressureConfig::DynRlc(dynrlc(unit, max))),
        unit().prop_map(|unit| BackpressureConfig::FiveGBdp(FiveGBdpConfig {
            unit,
            ..FiveGBdpConfig::default()
        })),
        limits().prop_map(|(unit, max)| BackpressureConfig::Usp(usp(unit, max))),
    ]
}

fn drql(unit: Unit, max: Bytes) -> DrqlConfig {
    DrqlConfig {
        unit,
        max,
        initial: max,
        ..DrqlConfig::default()
    }
}

fn dynrlc(unit: Unit, max: Bytes) -> DynRlcConfig {
    DynRlcConfig {
        unit,
        min: Bytes::new(FULL),
        max,
        initial: max,
        ..DynRlcConfig::default()
    }
}

fn usp(unit: Unit, max: Bytes) -> UspConfig {
    UspConfig {
        unit,
        max,
        ..UspConfig::default()
    }
}

fn capacity() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        2 => Just(Capacity::Unlimited),
        1 => (1u64..40).prop_map(|n| Capacity::Packets(Packets::new(n))),
        1 => (500u64..60_000).prop_map(|n| Capacity::Bytes(Bytes::new(n))),
    ]
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let parts = (discipline(), capacity(), backpressure());
    parts.prop_map(|(discipline, capacity, backpressure)| QueueConfig {
        discipline,
        capacity,
        backpressure,
    })
}

/// Late binding, with what goes above it.
fn late(preparation: Duration, named: &[u8]) -> QueuesConfig {
    let classes: Vec<Vec<u8>> = named.iter().map(|&qfi| vec![qfi]).collect();
    QueuesConfig {
        upf: plain(DisciplineConfig::Paced(PacedConfig {
            classes: classes.clone(),
            ..PacedConfig::default()
        })),
        sdap: None,
        rlc: plain(DisciplineConfig::LateBinding(LateBindingConfig {
            preparation,
            classes,
            ..LateBindingConfig::default()
        })),
        forward_period: Duration::ZERO,
        forward_packets: u32::MAX,
        tti: TICK,
    }
}

/// Any queues at the three layers.
pub fn queues() -> impl Strategy<Value = QueuesConfig> {
    let rounds = (
        prop_oneof![
            Just(Duration::ZERO),
            (10u64..3_000).prop_map(Duration::from_micros)
        ],
        1u32..20,
    );
    let layers = (queue(), queue(), queue());
    let layered =
        (layers, rounds).prop_map(|((upf, sdap, rlc), (forward_period, forward_packets))| {
            QueuesConfig {
                upf,
                sdap: Some(sdap),
                rlc,
                forward_period,
                forward_packets,
                tti: TICK,
            }
        });
    let late = (0u64..3_000, any::<bool>()).prop_map(|(us, is_named)| {
        let named: &[u8] = if is_named { &[1] } else { &[] };
        late(Duration::from_micros(us), named)
    });
    prop_oneof![3 => layered, 1 => late]
}

/// Whether marked packets may overtake others of their flow: DualPI2 takes every packet with CE for
/// one of a scalable transport (RFC 9332 section 2.3), and a layer above may have marked it.
pub fn marked_overtake(queues: &QueuesConfig) -> bool {
    fn has_dualpi2(discipline: &DisciplineConfig) -> bool {
        match discipline {
            DisciplineConfig::DualPi2(_) => true,
            DisciplineConfig::Classes(classes) => classes
                .classes
                .iter()
                .any(|class| has_dualpi2(&class.discipline)),
            _ => false,
        }
    }
    let below = queues.sdap.iter().chain([&queues.rlc]);
    below
        .into_iter()
        .any(|queue| has_dualpi2(&queue.discipline))
}

/// A UE that is offered `bytes` every tick, and nothing in between, in slots of 0.5 ms.
fn ticking(rnti: u16, config: &CellConfig, bytes: u64) -> UeConfig {
    let opportunity = |bytes| Link::Opportunity {
        bytes: Bytes::new(bytes),
        mean_rate: BitRate::from_mbps(10),
    };
    let mut links = vec![opportunity(0); 20];
    links[0] = opportunity(bytes);
    let reassembly = Duration::from_millis(50);
    let mut second = um(config, reassembly);
    second.qfis = vec![3];
    ue(rnti, EachSlot(links), vec![um(config, reassembly), second])
}

/// One such UE under these queues; packets enter and are pulled without delay.
fn ticking_cell(queues: QueuesConfig, bytes: u64) -> Bench {
    let mut config = CellConfig::nr(1, Prb::new(51));
    config.downlink_processing = Duration::ZERO;
    config.receive_processing = Duration::ZERO;
    config.queues = Some(Box::new(queues));
    let ues = vec![ticking(1, &config, bytes)];
    Bench::new(config, ues, 1)
}

/// A flow has `depth` bytes waiting in the cell, at least.
fn top_up(bench: &mut Bench, now: Instant, bearer: usize, qfi: u8, depth: u64) {
    let stats = &bench.cell.stats().ues[0].bearers[bearer].downlink;
    let mut waiting = (stats.core.bytes + stats.queued.bytes).get();
    while waiting < depth {
        bench.down(now, 0, qfi, FULL);
        waiting += FULL;
    }
}

/// Runs to `end`, calling `each` after every call of the cell.
fn run_with(bench: &mut Bench, end: Instant, mut each: impl FnMut(&mut Bench, Instant)) {
    while let Some(at) = bench.cell.next_deadline()
        && at <= end
    {
        bench.call(at);
        each(bench, at);
    }
}

/// The first tick at or after `at`.
fn tick_from(at: Instant) -> Instant {
    Instant::ZERO + TICK * at.as_nanos().div_ceil(TICK.as_nanos())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn late_binding_takes_what_comes_in_time_into_the_next_slot(
        preparation_us in 0u64..8_000,
        offsets in prop::collection::vec(0u64..10_000, 20..40),
        is_named: bool,
        packets_per_slot in 2u64..8,
    ) {
        let preparation = Duration::from_micros(preparation_us);
        let named: &[u8] = if is_named { &[1] } else { &[] };
        let capacity = packets_per_slot * FULL;
        let mut bench = ticking_cell(late(preparation, named), capacity);
        top_up(&mut bench, Instant::ZERO, 0, 9, capacity * 4);
        let mut expected = Vec::new();
        for (tick, &offset) in (5u64..).zip(&offsets) {
            // every second tick: the flow stays sparse whenever its packets come
            let at = Instant::ZERO + TICK * (2 * tick) + Duration::from_micros(offset);
            run_with(&mut bench, at, |bench, now| top_up(bench, now, 0, 9, capacity * 4));
            bench.down(at, 0, 1, 1000);
            expected.push(tick_from(at + preparation) - at);
        }
        bench.run(Instant::ZERO + Duration::from_secs(2));
        let sparse = bench.arrived.iter().filter(|a| a.packet.qfi == 1);
        let measured: Vec<Duration> = sparse.map(|a| a.sojourn).collect();
        prop_assert_eq!(measured, expected);
        bench.cell.check_conservation().unwrap();
    }

    #[test]
    fn a_limited_rlc_never_holds_more(
        limit in 1u64..25,
        forward_packets in 1u32..12,
        is_dynamic: bool,
        is_bytes: bool,
        capacity in 1u64..10,
    ) {
        let max = Bytes::new(limit * FULL);
        let unit = if is_bytes { Unit::Bytes } else { Unit::Packets { mtu: Bytes::new(FULL) } };
        let rlc = limited(if is_dynamic {
            BackpressureConfig::DynRlc(dynrlc(unit, max))
        } else {
            BackpressureConfig::Drql(drql(unit, max))
        });
        let queues = QueuesConfig {
            upf: plain(DisciplineConfig::Sfq(SfqConfig::default())),
            sdap: Some(plain(classes(ClassScheduler::StrictPriority, &DisciplineConfig::DropTail))),
            rlc,
            forward_period: Duration::from_millis(1),
            forward_packets,
            tti: TICK,
        };
        let mut bench = ticking_cell(queues, capacity * FULL);
        for _ in 0..500 {
            bench.down(Instant::ZERO, 0, 9, FULL);
        }
        let mut greatest = 0;
        run_with(&mut bench, at_ms(300), |bench, _| {
            let held = bench.cell.stats().ues[0].bearers[0].downlink.queued;
            greatest = greatest.max(held.packets.get());
        });
        prop_assert!(greatest >= 1 && greatest <= limit, "{} of {}", greatest, limit);
        prop_assert!(bench.dropped.is_empty());
        bench.cell.check_conservation().unwrap();
    }

    #[test]
    fn five_g_bdp_leaves_the_rlc_a_slot_and_its_offset(
        capacity in 2u64..20,
        is_bytes: bool,
    ) {
        let unit = if is_bytes { Unit::Bytes } else { Unit::Packets { mtu: Bytes::new(FULL) } };
        let queues = QueuesConfig {
            upf: plain(DisciplineConfig::DropTail),
            sdap: Some(plain(DisciplineConfig::DropTail)),
            rlc: limited(BackpressureConfig::FiveGBdp(FiveGBdpConfig {
                unit,
                ..FiveGBdpConfig::default()
            })),
            forward_period: Duration::from_millis(1),
            forward_packets: 10,
            tti: TICK,
        };
        let mut bench = ticking_cell(queues, capacity * FULL);
        for _ in 0..1000 {
            bench.down(Instant::ZERO, 0, 9, FULL);
        }
        let mut greatest = 0;
        run_with(&mut bench, at_ms(300), |bench, _| {
            let held = bench.cell.stats().ues[0].bearers[0].downlink.queued;
            greatest = greatest.max(held.bytes.get());
        });
        // one packet begun, with what the offset lets come before the slot has been
        let max = capacity * FULL * 133 / 100 + FULL;
        prop_assert!(greatest <= max, "{} B of {}", greatest, max);
        // and the slots are full, once the first has shown how large they are
        let slots = 30;
        let carried = bench.delivered(0, Instant::ZERO, at_ms(300));
        prop_assert!(carried >= (slots - 2) * capacity * FULL, "{} B", carried);
    }

    #[test]
    fn a_congested_bearer_holds_up_no_other(
        rlc in prop_oneof![
            Just(limited(BackpressureConfig::Drql(DrqlConfig::default()))),
            Just(limited(BackpressureConfig::DynRlc(DynRlcConfig::default()))),
            Just(limited(BackpressureConfig::FiveGBdp(FiveGBdpConfig::default()))),
        ],
        offsets in prop::collection::vec(0u64..10_000, 10..30),
    ) {
        let queues = QueuesConfig {
            upf: plain(DisciplineConfig::DropTail),
            sdap: Some(limited(BackpressureConfig::Usp(UspConfig::default()))),
            rlc,
            forward_period: Duration::from_millis(1),
            forward_packets: 10,
            tti: TICK,
        };
        let mut bench = ticking_cell(queues, 6 * FULL);
        for _ in 0..3000 {
            bench.down(Instant::ZERO, 0, 9, FULL);
        }
        for (tick, &offset) in (5u64..).zip(&offsets) {
            let at = Instant::ZERO + TICK * tick + Duration::from_micros(offset);
            bench.run(at);
            bench.down(at, 0, 3, 1000);
        }
        bench.run(Instant::ZERO + Duration::from_secs(2));
        let others: Vec<_> = bench.arrived.iter().filter(|a| a.packet.qfi == 3).collect();
        prop_assert_eq!(others.len(), offsets.len());
        // a round of each layer, the next pull, and one more for what 5G-BDP lets come late
        let max = Duration::from_millis(2) + TICK * 2;
        let longest = others.iter().map(|a| a.sojourn).max().unwrap_or_default();
        prop_assert!(longest <= max, "{}", longest);
        bench.cell.check_conservation().unwrap();
    }
}

/// `ues` with fading and errors that HARQ and RLC repair, in a TDD cell, each with a bulk flow that
/// never ends and a packet of another flow every 20 ms; acknowledged mode.
fn crowded(queues: QueuesConfig, ues: u16) -> Bench {
    let mut config = CellConfig::nr(1, Prb::new(273));
    "DDDSU".clone_into(&mut config.tdd_pattern);
    config.scheduler = SchedulerKind::RoundRobin;
    config.queues = Some(Box::new(queues));
    let one = |n: u16| {
        let links = (0..7)
            .map(|k| mcs(10 + ((n + k) % 12) as u8, 0.1))
            .collect();
        ue(n, EachSlot(links), vec![am(&config)])
    };
    let ues: Vec<UeConfig> = (1..=ues).map(one).collect();
    Bench::new(config, ues, 7)
}

#[test]
fn many_ues_in_tdd_with_harq_errors() {
    const UES: usize = 30;
    const PERIOD_MS: u64 = 20;
    let layered = QueuesConfig {
        upf: plain(DisciplineConfig::Sfq(SfqConfig::default())),
        sdap: Some(plain(classes(
            ClassScheduler::StrictPriority,
            &DisciplineConfig::DropTail,
        ))),
        rlc: limited(BackpressureConfig::Drql(DrqlConfig::default())),
        forward_period: Duration::from_micros(100),
        forward_packets: 10,
        tti: Duration::from_micros(500),
    };
    let late = QueuesConfig {
        tti: Duration::from_micros(500),
        ..late(Duration::from_micros(250), &[])
    };
    for (name, queues) in [("layered", layered), ("late", late)] {
        let mut bench = crowded(queues, UES as u16);
        let mut sent = 0;
        for round in 1..=25u64 {
            let now = at_ms(round * PERIOD_MS);
            for ue in 0..UES {
                let stats = &bench.cell.stats().ues[ue].bearers[0].downlink;
                let mut waiting = (stats.core.bytes + stats.queued.bytes).get();
                while waiting < 300_000 {
                    bench.down(now, ue, 2, FULL);
                    waiting += FULL;
                }
                bench.down(now, ue, 1, 200);
                sent += 1;
            }
            bench.run(now + Duration::from_millis(PERIOD_MS - 1));
            bench.cell.check_conservation().unwrap();
        }
        let stats = bench.cell.stats();
        assert!(
            stats.prbs_used as f64 > 0.9 * stats.prbs_offered as f64,
            "{name}"
        );
        let prbs: Vec<f64> = stats.ues.iter().map(|ue| ue.downlink.prbs as f64).collect();
        let mean = prbs.iter().sum::<f64>() / UES as f64;
        for prbs in prbs {
            assert_near(prbs, mean, 0.1, name);
        }
        bench.run(at_ms(2_000));
        let sparse = bench.arrived.iter().filter(|a| a.packet.qfi == 1);
        let sojourns: Vec<f64> = sparse.map(|a| a.sojourn.as_secs_f64() * 1e3).collect();
        assert_eq!(sojourns.len(), sent, "{name}: none is lost");
        let mean = sojourns.iter().sum::<f64>() / sent as f64;
        // late binding has no RLC queue to stand in, although 30 users share each slot; DRQL's limit is
        // still on its way down from 1024 packets
        assert!(name == "layered" || mean < 6.0, "{name}: {mean} ms");
    }
}
