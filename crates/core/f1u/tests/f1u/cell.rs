//! Estimates against the queue that the cell has.

use crate::common::{World, acknowledged, at_us, cell_config, fading, ue_address};
use f1u::Estimate;
use queue::Capacity;
use ran::{BearerConfig, RlcMode};
use units::{BitRate, Bytes, Duration, Streams};

const SLOT_US: u64 = 500;
/// The rate at which a queue drains is the mean of this time.
const WINDOW_SLOTS: usize = 200;

/// Errors of one UE's estimates.
#[derive(Debug, Default)]
struct Errors {
    /// Of the queue, ms at the rate of late.
    queue: Vec<f64>,
    /// Of the drain time, ms, while something waits: against the time after which all that waited had been served.
    drain: Vec<f64>,
    /// The same of the queue over the rate of late.
    drain_of_late: Vec<f64>,
    /// Mean queue, ms.
    mean: f64,
}

/// What a UE's queue is and what has become of it.
#[derive(Clone, Copy, Debug)]
struct Moment {
    served: u64,
    capacity: u64,
    backlog: u64,
}

impl Moment {
    fn of(world: &World, ue: usize) -> Self {
        let stats = &world.cell.stats().ues[ue];
        Self {
            served: stats.bearers[0].downlink.served.get(),
            capacity: stats.capacity.get(),
            backlog: world.backlog(ue),
        }
    }
}

/// The rate at which a queue drains, bit/s: what was served of late, or where it ran empty meanwhile a UE's part of
/// what the link could carry.
fn rate(history: &[Moment], ues: usize) -> f64 {
    let window = &history[history.len() - 1 - WINDOW_SLOTS..];
    let (first, last) = (window[0], window[WINDOW_SLOTS]);
    let bytes = match window.iter().all(|moment| moment.backlog > 0) {
        true => last.served - first.served,
        false => (last.capacity - first.capacity) / ues as u64,
    };
    let time = Duration::from_micros(WINDOW_SLOTS as u64 * SLOT_US);
    BitRate::from_bytes_per(Bytes::new(bytes), time).as_bps() as f64
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

/// A report each 100 ms.
const REPORT_SLOTS: u64 = 100_000 / SLOT_US;

/// A drain time that was estimated in a slot, and that by the rate of late, ms.
struct Awaited {
    slot: usize,
    estimates: [f64; 2],
}

impl Errors {
    /// Compares drain times with what became of the queue. Those of queues that were not empty at the end are left out.
    fn settle(&mut self, history: &[Moment], awaited: &[Awaited]) {
        for Awaited { slot, estimates } in awaited {
            let then = history[*slot];
            let end = then.served + then.backlog;
            let after = history[*slot..].partition_point(|moment| moment.served < end);
            if slot + after >= history.len() {
                continue;
            }
            let actual = (after as u64 * SLOT_US) as f64 / 1e3;
            self.drain.push((estimates[0] - actual).abs());
            self.drain_of_late.push((estimates[1] - actual).abs());
        }
    }
}

/// Ten seconds of a cell with `ues` UEs whose load rises and falls, so that queues empty and grow to some 100 ms.
fn run(world: &mut World, ues: usize, mean_load: f64) -> Vec<Errors> {
    let mut errors: Vec<Errors> = (0..ues).map(|_| Errors::default()).collect();
    let mut history: Vec<Vec<Moment>> = vec![Vec::new(); ues];
    let mut awaited: Vec<Vec<Awaited>> = (0..ues).map(|_| Vec::new()).collect();
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
        if slot % REPORT_SLOTS == 0 {
            let report = world.monitor.report(now);
            assert!(report.ues.len() <= ues);
        }
        for ue in 0..ues {
            history[ue].push(Moment::of(world, ue));
            // the first second is for the beginning
            if slot < 2_000 || slot % 2 == 1 {
                continue;
            }
            let rate = rate(&history[ue], ues);
            let ms = |bytes: f64| bytes * 8e3 / rate.max(1e5);
            let estimate = estimate(world, now, ue).expect("known after a second");
            let truth = world.backlog(ue) as f64;
            let errors = &mut errors[ue];
            errors.mean += ms(truth) / 9_000.0;
            errors
                .queue
                .push(ms((estimate.queue.get() as f64 - truth).abs()));
            if truth > 0.0
                && let (Some(drain), Some(late)) = (estimate.drain_time(), estimate.rate)
            {
                let of_late = estimate.queue.get() as f64 * 8e3 / late.as_bps() as f64;
                awaited[ue].push(Awaited {
                    slot: slot as usize,
                    estimates: [drain.as_millis_f64(), of_late],
                });
            }
        }
    }
    for ((errors, history), awaited) in errors.iter_mut().zip(&history).zip(&awaited) {
        errors.settle(history, awaited);
    }
    errors
}

/// The 95th percentile of the queue's error is at most so many milliseconds, and the drain time is nearer to what became of the queue than
/// by the rate of late.
fn check(name: &str, mut errors: Errors, limit: f64) {
    let [queue, worst] = [0.95, 1.0].map(|share| percentile(&mut errors.queue, share));
    let of = |errors: &mut Vec<f64>| [0.5, 0.95].map(|share| percentile(errors, share));
    let (drain, late) = (of(&mut errors.drain), of(&mut errors.drain_of_late));
    println!(
        "{name}: mean queue {:.1} ms; error of the queue p95 {queue:.2} ms, largest {worst:.2} ms; of the drain time \
         median {:.1} ms, p95 {:.1} ms, by the rate of late {:.1} and {:.1} ms",
        errors.mean, drain[0], drain[1], late[0], late[1]
    );
    assert!(
        errors.mean > 10.0,
        "a queue of {} ms shows nothing",
        errors.mean
    );
    assert!(
        queue <= limit,
        "{name}: p95 of the queue's error is {queue} ms"
    );
    assert!(
        drain[1] < late[1],
        "{name}: p95 of the drain time's error is {} ms, by the rate of late {} ms",
        drain[1],
        late[1]
    );
}

/// Largest Doppler shift and seed.
const FADING: [(&str, f64, u64); 3] = [
    ("Doppler 5 Hz", 5.0, 1),
    ("Doppler 20 Hz", 20.0, 2),
    ("Doppler 80 Hz", 80.0, 3),
];

#[test]
fn the_queue_of_a_fading_cell_is_known_to_two_milliseconds() {
    let config = cell_config();
    let bearer = acknowledged(&config);
    for (name, doppler, seed) in FADING {
        let mut world = World::new(config.clone(), vec![fading(18.0, doppler, seed)], &bearer);
        world.acknowledges = true;
        let mut errors = run(&mut world, 1, 40.0);
        check(name, errors.remove(0), 2.0);
        let counts = world.monitor.counts();
        assert_eq!((counts.foreign, counts.unreadable), (0, 0));
        assert_eq!((counts.backward, counts.unsent), (0, 0));
    }
}

/// With the timer's statuses alone what is served in 10 ms of fading has to be guessed.
#[test]
fn without_packets_upwards_it_is_known_within_the_units_period() {
    let config = cell_config();
    let bearer = acknowledged(&config);
    for (name, doppler, seed) in FADING {
        let mut world = World::new(config.clone(), vec![fading(18.0, doppler, seed)], &bearer);
        let mut errors = run(&mut world, 1, 40.0);
        check(&format!("{name}, timer alone"), errors.remove(0), 5.5);
    }
}

/// Channels on which no constant of the estimates was chosen.
const OTHERS: [(f64, u64); 8] = [
    (3.0, 101),
    (5.0, 102),
    (8.0, 103),
    (12.0, 104),
    (20.0, 105),
    (40.0, 106),
    (80.0, 107),
    (120.0, 108),
];

#[test]
fn so_it_is_over_other_channels() {
    let config = cell_config();
    let bearer = acknowledged(&config);
    for (doppler, seed) in OTHERS {
        let mut world = World::new(config.clone(), vec![fading(18.0, doppler, seed)], &bearer);
        world.acknowledges = true;
        let mut errors = run(&mut world, 1, 40.0);
        let name = format!("Doppler {doppler} Hz, seed {seed}");
        check(&name, errors.remove(0), 2.0);
    }
}

#[test]
fn so_it_is_there_with_the_timer_alone() {
    let config = cell_config();
    let bearer = acknowledged(&config);
    for (doppler, seed) in OTHERS {
        let mut world = World::new(config.clone(), vec![fading(18.0, doppler, seed)], &bearer);
        let mut errors = run(&mut world, 1, 40.0);
        let name = format!("Doppler {doppler} Hz, seed {seed}, timer alone");
        check(&name, errors.remove(0), 6.0);
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
    world.acknowledges = true;
    let mut errors = run(&mut world, 1, 40.0);
    check("unacknowledged", errors.remove(0), 2.0);
}

/// The queues of four UEs at largest Doppler shifts of so many Hz are estimated to so many milliseconds.
fn four(doppler: f64, seed: u64, limit: f64) {
    let config = cell_config();
    let bearer = acknowledged(&config);
    let channels = (0..4).map(|ue| fading(16.0 + ue as f64, doppler, seed + ue));
    let mut world = World::new(config, channels.collect(), &bearer);
    world.acknowledges = true;
    let errors = run(&mut world, 4, 11.0);
    assert_eq!(
        world.monitor.followed(),
        (4, 4),
        "each tunnel upwards has its bearer"
    );
    for (ue, errors) in errors.into_iter().enumerate() {
        // a UE is served in bursts, of which its statuses come with its packets upwards
        check(
            &format!("UE {ue} of 4, Doppler {doppler} Hz, seed {seed}"),
            errors,
            limit,
        );
    }
}

#[test]
fn every_ue_of_a_cell_gets_its_queue() {
    four(10.0, 10, 4.0);
}

#[test]
fn so_it_does_over_other_channels() {
    for (doppler, seed, limit) in [(5.0, 110, 3.5), (20.0, 120, 4.5), (40.0, 130, 9.5)] {
        four(doppler, seed, limit);
    }
}
