//! Our controllers in real QUIC endpoints, on a simulated link under simulated time.
#![allow(missing_docs, reason = "a test")]
#![expect(
    clippy::disallowed_methods,
    reason = "quinn's instants have no other origin than the present"
)]

mod meld;
mod pair;
mod radio_state;

use pair::{CLEAN, Link, Pair, named};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// Goodput in Mbit/s.
fn goodput(outcome: &pair::Outcome) -> f64 {
    outcome.received as f64 * 8.0 / outcome.took.as_secs_f64() / 1e6
}

#[test]
fn every_controller_fills_a_clean_link() {
    for &name in cc::names() {
        let zero = Instant::now();
        let (factory, monitor) = named(zero, name);
        let outcome = Pair::new(zero, CLEAN, 5_000_000, 1, factory).run(MINUTE);
        println!(
            "{name}: {:.2} Mbit/s, {} lost, queue {}, {:?}",
            goodput(&outcome),
            outcome.lost_datagrams,
            outcome.max_queued,
            monitor.path(),
        );
        assert_eq!(outcome.received, 5_000_000, "{name}");
        assert!(goodput(&outcome) < 15.0, "{name}");
        assert!(goodput(&outcome) > 9.0, "{name}: {}", goodput(&outcome));
        let path = monitor.path();
        assert!(path.min_rtt >= units::Duration::from_millis(55), "{name}");
        assert!(path.min_rtt < units::Duration::from_millis(60), "{name}");
    }
}

#[test]
fn every_controller_completes_over_a_lossy_link_and_obeys_losses() {
    let link = Link {
        loss: 0.01,
        ..CLEAN
    };
    for &name in cc::names() {
        let zero = Instant::now();
        let (factory, monitor) = named(zero, name);
        let outcome = Pair::new(zero, link, 3_000_000, 2, factory).run(MINUTE);
        println!("{name}: {:.2} Mbit/s", goodput(&outcome));
        assert_eq!(outcome.received, 3_000_000, "{name}");
        let totals = monitor.totals();
        assert!(totals.congestion_events > 0, "{name}");
        assert_eq!((totals.silent_losses, totals.paths), (0, 1), "{name}");
        assert!(totals.lost_bytes.get() > 0);
    }
}

#[test]
fn a_seed_repeats_a_run_to_the_datagram() {
    let link = Link {
        loss: 0.01,
        ..CLEAN
    };
    for name in ["cubic", "bbr"] {
        let run = |seed| {
            let zero = Instant::now();
            Pair::new(zero, link, 2_000_000, seed, named(zero, name).0).run(MINUTE)
        };
        let first = run(7);
        assert_eq!(first, run(7), "{name}");
        assert_ne!(first.departures, run(8).departures, "{name}");
    }
}

#[test]
fn marks_reduce_the_window_once_a_round_trip_and_lose_nothing() {
    for name in ["newreno", "dctcp"] {
        let zero = Instant::now();
        let (factory, monitor) = named(zero, name);
        let link = Link {
            mark_above: Some(30_000),
            ..CLEAN
        };
        let outcome = Pair::new(zero, link, 5_000_000, 3, factory).run(MINUTE);
        let totals = monitor.totals();
        println!("{name}: {:.2} Mbit/s, {totals:?}", goodput(&outcome));
        assert_eq!(outcome.received, 5_000_000, "{name}");
        assert!(outcome.marked > 0 && totals.ecn_events > 0, "{name}");
        assert_eq!(totals.ecn_events, totals.congestion_events, "{name}");
        assert!(totals.ecn_events <= outcome.marked, "{name}");
        assert_eq!(outcome.lost_datagrams, 0, "{name}");
    }
}

#[test]
fn a_link_that_dies_for_two_seconds_is_persistent_congestion() {
    let zero = Instant::now();
    let (factory, monitor) = named(zero, "newreno");
    let mut pair = Pair::new(zero, CLEAN, 5_000_000, 4, factory);
    pair.outage = Some((Duration::from_millis(500), Duration::from_millis(2_500)));
    let outcome = pair.run(MINUTE);
    assert_eq!(outcome.received, 5_000_000);
    let totals = monitor.totals();
    assert!(totals.persistent_congestion >= 1, "{totals:?}");
}
