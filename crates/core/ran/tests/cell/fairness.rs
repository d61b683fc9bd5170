//! The shares of resources and rates.

use crate::harness::*;
use radio::Link;
use ran::{CellConfig, Direction, SchedulerKind, UeIndex};
use units::{Duration, Instant, Prb};

const PF: SchedulerKind = SchedulerKind::ProportionalFair {
    time_constant: Duration::from_millis(100),
};

/// Goodputs of saturated UEs, Mbit/s, over 5 s.
fn goodputs(scheduler: SchedulerKind, n_prb: u16, links: Vec<Vec<Link>>) -> (Vec<f64>, Bench) {
    let mut config = CellConfig::lte(Prb::new(n_prb));
    config.scheduler = scheduler;
    let all: Vec<usize> = (0..links.len()).collect();
    let ues = links
        .into_iter()
        .enumerate()
        .map(|(i, link)| ue(i as u16 + 1, EachSlot(link), vec![am(&config)]))
        .collect();
    let mut bench = Bench::new(config, ues, 1);
    bench.saturate(Instant::ZERO, at_ms(6_000), &all, 60_000, 1480);
    bench.cell.check_conservation().unwrap();
    let of = |&ue: &usize| bench.goodput_mbps(ue, at_ms(1_000), at_ms(6_000));
    (all.iter().map(of).collect(), bench)
}

fn jain(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().sum();
    sum * sum / (x.len() as f64 * x.iter().map(|x| x * x).sum::<f64>())
}

#[test]
fn equal_channels_share_equally_under_every_scheduler() {
    for scheduler in [SchedulerKind::RoundRobin, PF, SchedulerKind::MaximumRate] {
        for (n, n_prb) in [(2, 25), (3, 50), (7, 25), (40, 25)] {
            let (rates, _) = goodputs(scheduler, n_prb, vec![vec![mcs(15, 0.0)]; n]);
            assert!(jain(&rates) > 0.999, "{scheduler:?}, {n} UEs: {rates:?}");
        }
    }
}

#[test]
fn round_robin_and_proportional_fair_give_equal_resources() {
    // constant channels: PF gives equal time too (Jalali et al. 2000), so rates are as the channels
    for scheduler in [SchedulerKind::RoundRobin, PF] {
        let links = vec![vec![mcs(28, 0.0)], vec![mcs(9, 0.0)]];
        let (_, bench) = goodputs(scheduler, 50, links);
        let prbs = bench
            .cell
            .stats()
            .ues
            .iter()
            .map(|ue| ue.downlink.prbs as f64);
        let prbs: Vec<f64> = prbs.collect();
        assert_near(
            prbs[0] / prbs[1],
            1.0,
            0.02,
            &format!("PRBs under {scheduler:?}"),
        );
    }
}

#[test]
fn proportional_fair_rides_the_peaks() {
    // two UEs whose channels are good in turn: each is served when it is good
    let (good, bad) = (mcs(28, 0.0), mcs(5, 0.0));
    let phase = |n: usize| {
        (0..40)
            .map(|i| if (i / 20) % 2 == n { good } else { bad })
            .collect()
    };
    let links: Vec<Vec<Link>> = vec![phase(0), phase(1)];
    let (fair, _) = goodputs(PF, 50, links.clone());
    let (equal, _) = goodputs(SchedulerKind::RoundRobin, 50, links);
    assert!(jain(&fair) > 0.999);
    assert!(
        fair.iter().sum::<f64>() > 1.3 * equal.iter().sum::<f64>(),
        "{fair:?} {equal:?}"
    );
}

#[test]
fn maximum_rate_serves_the_best_alone() {
    let links = vec![vec![mcs(9, 0.0)], vec![mcs(28, 0.0)]];
    let (rates, _) = goodputs(SchedulerKind::MaximumRate, 50, links);
    assert!(rates[1] > 35.0 && rates[0] < 0.01, "{rates:?}");
}

#[test]
fn a_light_user_is_not_held_back_by_heavy_ones() {
    for scheduler in [SchedulerKind::RoundRobin, PF] {
        let mut config = CellConfig::lte(Prb::new(50));
        config.scheduler = scheduler;
        let ues = (1..=3)
            .map(|i| ue(i, Fixed(mcs(20, 0.0)), vec![am(&config)]))
            .collect();
        let mut bench = Bench::new(config, ues, 1);
        let mut sent = 0;
        while sent < 500 {
            let now = at_ms(sent * 2);
            bench.down(now, 2, 0, 200);
            bench.saturate(now, at_ms(sent * 2 + 2), &[0, 1], 60_000, 1480);
            sent += 1;
        }
        let light: Vec<_> = bench
            .arrived
            .iter()
            .filter(|a| a.ue == UeIndex(2))
            .collect();
        assert!(light.len() >= 498);
        let worst = light.iter().map(|a| a.sojourn).max().unwrap();
        assert!(worst <= Duration::from_millis(10), "{scheduler:?}: {worst}");
    }
}

#[test]
fn uplink_is_shared_equally() {
    let config = CellConfig::lte(Prb::new(25));
    let n = 5;
    let ues = (1..=n)
        .map(|i| ue(i, Fixed(mcs(20, 0.0)), vec![am(&config)]))
        .collect();
    let mut bench = Bench::new(config, ues, 1);
    for ms in 0..2000 {
        for ue in 0..usize::from(n) {
            while bench.cell.stats().ues[ue].bearers[0]
                .uplink
                .queued
                .bytes
                .get()
                < 20_000
            {
                bench.up(at_ms(ms), ue, 0, 1000);
            }
        }
        bench.run(at_ms(ms));
    }
    let mut delivered = vec![0.0; n.into()];
    for a in bench
        .arrived
        .iter()
        .filter(|a| a.direction == Direction::Uplink)
    {
        delivered[a.ue.0] += a.packet.bytes as f64;
    }
    assert!(jain(&delivered) > 0.999, "{delivered:?}");
    // TS 36.213: MCS 16 is I_TBS 15; 25 PRB: 7736 bit each millisecond
    let total: f64 = delivered.iter().sum::<f64>() * 8e-6 / 2.0;
    assert!(total < 7.736 && total > 7.736 * 0.93, "{total}");
}

#[test]
fn bearers_of_a_ue_share_equally() {
    let config = CellConfig::lte(Prb::new(25));
    let mut second = am(&config);
    second.qfis = vec![5];
    let bearers = vec![am(&config), second];
    let mut bench = Bench::new(config, vec![ue(1, Fixed(mcs(20, 0.0)), bearers)], 1);
    for ms in 0..2000 {
        for (number, qfi) in [(0, 9), (1, 5)] {
            while bench.cell.stats().ues[0].bearers[number]
                .downlink
                .received
                .bytes
                .get()
                - bench.cell.stats().ues[0].bearers[number]
                    .downlink
                    .delivered
                    .bytes
                    .get()
                < 60_000
            {
                bench.down(at_ms(ms), 0, qfi, 1000);
            }
        }
        bench.run(at_ms(ms));
    }
    let stats = &bench.cell.stats().ues[0].bearers;
    let [a, b] = [0, 1].map(|i: usize| stats[i].downlink.delivered.bytes.get() as f64);
    assert_near(a / b, 1.0, 0.01, "bytes of two bearers");
    bench.cell.check_conservation().unwrap();
}

#[test]
fn a_ue_at_the_end_changes_no_draws_of_the_others() {
    let run = |n: u16| {
        let config = CellConfig::nr(1, Prb::new(51));
        let ues = (1..=n)
            .map(|i| ue(i, Fixed(mcs(15, 0.1)), vec![am(&config)]))
            .collect();
        let mut bench = Bench::new(config, ues, 7);
        for ms in 0..200 {
            bench.run(at_ms(ms));
            bench.down(at_ms(ms), 0, 0, 1480);
            bench.down(at_ms(ms), 1, 0, 1480);
        }
        bench.run(at_ms(2000));
        let log: Vec<_> = bench
            .arrived
            .iter()
            .map(|a| (a.ue, a.packet.id, a.at))
            .collect();
        log
    };
    assert_eq!(run(2), run(3));
}

#[test]
fn capacity_of_a_shared_cell_is_the_mean_over_those_sent_to() {
    // TS 36.213, 50 PRB: MCS 28 is I_TBS 26, 36696 bit; MCS 9 is I_TBS 9, 7992 bit
    let links = vec![vec![mcs(28, 0.0)], vec![mcs(9, 0.0)]];
    let (_, bench) = goodputs(SchedulerKind::RoundRobin, 50, links);
    let mut cell = bench.cell;
    let stats = cell.stats().clone();
    let slots = stats.downlink_slots as f64;
    let expected = (36_696.0 + 7_992.0) / 2.0 / 8.0;
    assert_near(
        stats.capacity.get() as f64 / slots,
        expected,
        0.005,
        "capacity of a slot",
    );
    let carried: u64 = stats
        .ues
        .iter()
        .map(|ue| ue.downlink.block_bytes.get())
        .sum();
    assert_near(
        carried as f64 / stats.capacity.get() as f64,
        1.0,
        0.01,
        "used",
    );
    // each UE's own is that of the whole carrier
    for (ue, bits) in stats.ues.iter().zip([36_696.0, 7_992.0]) {
        assert_near(
            ue.capacity.get() as f64 * 8.0 / slots,
            bits,
            0.001,
            "capacity of a UE",
        );
    }
    // idle slots count for one of the two, as long as nothing is sent
    let n = at_ms(60_000);
    let mut out = Vec::new();
    while let Some(at) = cell.next_deadline() {
        cell.on_deadline(at, &mut out);
    }
    cell.advance(at_ms(30_000));
    let before = cell.stats().clone();
    cell.advance(n);
    let after = cell.stats();
    let bytes = (after.capacity - before.capacity).get() as f64 / 30_000.0;
    assert!(
        [36_696.0, 7_992.0]
            .iter()
            .any(|bits: &f64| (bytes * 8.0 - bits).abs() < 1e-6)
    );
    assert_eq!(after.downlink_slots, 60_000);
}
