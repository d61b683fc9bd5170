//! Estimates against the queue that the cell has.

use crate::common::{World, acknowledged, at_us, cell_config, fading, ue_address};
use f1u::Estimate;
use queue::Capacity;
use ran::{BearerConfig, RlcMode};
use units::{BitRate, Bytes, Duration, Streams};

const SLOT_US: u64 = 500;
/// The capacity of the link is the mean of this time.
const WINDOW_SLOTS: u64 = 100;

/// Errors of one UE's estimates.
#[derive(Debug, Default)]
struct Errors {
    /// Of the queue, ms at the capacity of late.
    queue: Vec<f64>,
    /// Of the drain time, ms, while something waits.
    drain: Vec<f64>,
    /// Mean queue, ms.
    mean: f64,
}

fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share) as usize;
    values[at.min(values.len() - 1)]
}

fn estimate(world: &World, now: units::Instant, ue: usize) -> Option<Estimate> {
    let mut all = world.monitor.estimates(now);
    let (_, _, estimate) = all.find(|(_, ip, _)| *ip == Some(ue_address(ue)))?;
    estimate
}

/// Ten seconds of a cell with `ues` UEs whose load rises and falls, so that queues empty and grow to some 100 ms.
fn run(world: &mut World, ues: usize, mean_load: f64) -> Vec<Errors> {
    let mut errors: Vec<Errors> = (0..ues).map(|_| Errors::default()).collect();
    let mut history: Vec<Vec<u64>> = vec![Vec::new(); ues];
    let mut rng = Streams::new(5).stream("load");
    let mut load = vec![1.0; ues];
    let mut credit = vec![0.0; ues];
    for slot in 0..20_000 {
        let now = at_us(slot * SLOT_US);
        for ue in 0..ues {
            // another load about every 100 ms: from nothing to twice the mean
            if rng.chance(0.005) {
                load[ue] = 2.0 * rng.uniform();
            }
            credit[ue] += load[ue] * mean_load / 8.0 * SLOT_US as f64;
            while credit[ue] >= 1_400.0 {
                world.send(now, ue, 1_400);
                credit[ue] -= 1_400.0;
            }
        }
        world.run(now);
        world.cell.advance(now);
        for ue in 0..ues {
            history[ue].push(world.cell.stats().ues[ue].capacity.get());
            // the first second is for the beginning
            if slot < 2_000 || slot % 2 == 1 {
                continue;
            }
            let since = history[ue][slot as usize - WINDOW_SLOTS as usize];
            let bytes = history[ue][slot as usize] - since;
            let window = Duration::from_micros(WINDOW_SLOTS * SLOT_US);
            let rate = BitRate::from_bytes_per(Bytes::new(bytes), window).as_bps() as f64;
            // UEs that share a cell get a part each
            let rate = rate / ues as f64;
            let ms = |bytes: f64| bytes * 8e3 / rate.max(1e5);
            let estimate = estimate(world, now, ue).expect("known after a second");
            let truth = world.backlog(ue) as f64;
            let errors = &mut errors[ue];
            errors.mean += ms(truth) / 9_000.0;
            errors
                .queue
                .push(ms((estimate.queue.get() as f64 - truth).abs()));
            if truth > 0.0
                && let Some(drain) = estimate.drain_time()
            {
                errors.drain.push((drain.as_millis_f64() - ms(truth)).abs());
            }
        }
    }
    errors
}

fn check(name: &str, mut errors: Errors) {
    let [queue, worst] = [0.95, 1.0].map(|share| percentile(&mut errors.queue, share));
    let drain = [0.5, 0.95].map(|share| percentile(&mut errors.drain, share));
    println!(
        "{name}: mean queue {:.1} ms; error of the queue p95 {queue:.2} ms, largest {worst:.2} ms; of the drain time median {:.2} ms, p95 {:.2} ms",
        errors.mean, drain[0], drain[1]
    );
    assert!(
        errors.mean > 10.0,
        "a queue of {} ms shows nothing",
        errors.mean
    );
    assert!(
        queue <= 2.0,
        "{name}: p95 of the queue's error is {queue} ms"
    );
}

#[test]
fn the_queue_of_a_fading_cell_is_known_to_two_milliseconds() {
    let config = cell_config();
    let bearer = acknowledged(&config);
    for (name, doppler, seed) in [
        ("walking", 5.0, 1),
        ("cycling", 20.0, 2),
        ("driving", 80.0, 3),
    ] {
        let mut world = World::new(config.clone(), vec![fading(18.0, doppler, seed)], &bearer);
        let mut errors = run(&mut world, 1, 40.0);
        check(name, errors.remove(0));
        let counts = world.monitor.counts();
        assert_eq!(
            (
                counts.foreign,
                counts.unreadable,
                counts.backward,
                counts.unsent
            ),
            (0, 0, 0, 0)
        );
    }
}

#[test]
fn so_is_that_of_unacknowledged_mode() {
    let config = cell_config();
    let um = BearerConfig {
        rlc: RlcMode::Um {
            t_reassembly: Duration::from_millis(20),
        },
        ..BearerConfig::um(config.rat, Capacity::Unlimited)
    };
    let mut world = World::new(config, vec![fading(18.0, 10.0, 4)], &um);
    let mut errors = run(&mut world, 1, 40.0);
    check("unacknowledged", errors.remove(0));
}

#[test]
fn every_ue_of_a_cell_gets_its_queue() {
    let config = cell_config();
    let bearer = acknowledged(&config);
    let channels = (0..4).map(|ue| fading(16.0 + ue as f64, 10.0, 10 + ue));
    let mut world = World::new(config, channels.collect(), &bearer);
    let errors = run(&mut world, 4, 11.0);
    assert_eq!(
        world.monitor.followed(),
        (4, 4),
        "each tunnel upwards has its bearer"
    );
    for (ue, errors) in errors.into_iter().enumerate() {
        check(&format!("UE {ue} of 4"), errors);
    }
}
