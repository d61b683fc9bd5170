//! Each rule by numbers.

use super::*;
use crate::marks::tests::Bench;
use crate::rtt_round::tests::{ack, ms};

const MSS: Bytes = Bytes::new(1_000);

/// A connection with a window of 100 segments, outside slow start for long, with this alpha.
fn connection(alpha: f64) -> Bench<Prague> {
    let mut bench = begun();
    bench.cc.alpha = Some(alpha);
    bench.cc.round_trips = 100;
    bench.cc.reno.window.leave_slow_start();
    bench
}

/// One that has just begun.
fn begun() -> Bench<Prague> {
    Bench::new(Prague::new(BuildConfig {
        mss: MSS,
        initial_window: MSS * 100,
    }))
}

#[test]
fn alpha_closes_in_on_the_share_by_a_sixteenth_each_round_trip() {
    let mut bench = connection(1.0);
    for k in 1..=40 {
        bench.round(ms(30), 20, 0);
        let expected = (15.0_f64 / 16.0).powi(k);
        assert!((bench.cc.alpha() - expected).abs() < 1e-12, "round {k}");
    }
    let mut bench = connection(0.0);
    bench.round(ms(30), 20, 10);
    assert_eq!(bench.cc.alpha(), 0.5 / 16.0);
    for _ in 0..500 {
        bench.round(ms(30), 20, 10);
    }
    assert!((bench.cc.alpha() - 0.5).abs() < 1e-9);
}

#[test]
fn short_round_trips_update_alpha_each_25_ms() {
    let mut bench = connection(1.0);
    // 10 ms each: at 30 ms, 60 ms, 90 ms
    for _ in 0..9 {
        bench.round(ms(10), 20, 0);
    }
    // the first is due at once, long after the connection's beginning
    let updates = (bench.cc.alpha().ln() / (15.0_f64 / 16.0).ln()).round();
    assert_eq!(updates, 3.0);
}

#[test]
fn a_mark_reduces_by_half_of_alpha_once_in_25_ms() {
    for (alpha, left) in [
        (1.0, 50_000),
        (0.5, 75_000),
        (0.125, 93_750),
        (0.0, 100_000),
    ] {
        let mut bench = connection(alpha);
        bench.react(LossKind::Ecn);
        assert_eq!(bench.cwnd(), left, "alpha {alpha}");
    }
    let mut bench = connection(0.5);
    bench.react(LossKind::Ecn);
    bench.now += ms(24);
    bench.react(LossKind::Ecn);
    assert_eq!(bench.cwnd(), 75_000);
    bench.now += ms(1);
    bench.react(LossKind::Ecn);
    assert_eq!(bench.cwnd(), 56_250);
}

#[test]
fn the_first_mark_halves_and_ends_slow_start() {
    let mut bench = begun();
    assert!(bench.cc.reno.window.in_slow_start());
    bench.react(LossKind::Ecn);
    assert_eq!((bench.cwnd(), bench.cc.alpha()), (50_000, 0.0));
    assert!(!bench.cc.reno.window.in_slow_start());
}

#[test]
fn a_window_grows_by_a_segment_in_25_ms_whatever_the_round_trip() {
    // segments in a round trip of a window: a x 1, and W grows meanwhile
    for (rtt, rounds, expected) in [(25, 8, 8.0), (50, 8, 8.0), (5, 40, 40.0 / 25.0)] {
        let mut bench = connection(0.0);
        for _ in 0..rounds {
            bench.round(ms(rtt), (bench.cwnd() / 1_000) as u32, 0);
        }
        let grown = (bench.cwnd() - 100_000) as f64 / 1_000.0;
        assert!((grown / expected - 1.0).abs() < 0.05, "{rtt} ms: {grown}");
    }
    // until four round trips after slow start a is 1
    let mut bench = connection(0.0);
    bench.cc.round_trips = 0;
    bench.round(ms(5), 100, 0);
    assert!(bench.cwnd() > 100_900);
}

#[test]
fn what_was_marked_does_not_let_it_grow() {
    let mut bench = connection(0.0);
    bench.round(ms(25), 100, 100);
    assert_eq!(bench.cwnd(), 100_000);
    bench.round(ms(25), 100, 50);
    assert!((100_490..=100_500).contains(&bench.cwnd()));
}

#[test]
fn a_loss_halves_whatever_alpha_is() {
    let mut bench = connection(0.01);
    bench.react(LossKind::Fast);
    assert_eq!(bench.cwnd(), 50_000);
    let mut held = ack(ms(25), false);
    held.is_recovering = true;
    bench.with(|prague, cx| prague.on_ack(cx, &held));
    assert_eq!(bench.cwnd(), 50_000, "no growth while it is recovered from");
    bench.with(|prague, cx| prague.on_recovery_end(cx, RecoveryEnd { is_spurious: true }));
    assert_eq!(bench.cwnd(), 100_000, "it was none");
}

#[test]
fn packets_leave_at_the_window_in_a_round_trip() {
    let mut bench = connection(0.0);
    bench.round(ms(100), 1, 0);
    // 100 kB in 100 ms
    let rate = bench.cc.pacing_rate().expect("measured").as_bps();
    assert!((8_000_000..8_010_000).contains(&rate), "{rate}");
}
