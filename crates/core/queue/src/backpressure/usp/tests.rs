//! Algorithm 3, and what the authors' code makes of it.

use super::*;
use proptest::prelude::*;

const NOTHING: Occupancy = Occupancy {
    packets: 0,
    bytes: Bytes::ZERO,
};
const TTI: Duration = Duration::from_millis(10);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}
fn usp() -> Usp {
    let mut usp = Usp::new(UspConfig::default()).unwrap();
    let slot = Slot {
        remaining: NOTHING,
        capacity: Bytes::ZERO,
        tti: TTI,
    };
    usp.on_slot(at(0), slot);
    usp
}
/// As the authors wrote it.
fn emulator() -> Usp {
    let config = UspConfig {
        amount: UspAmount::Emulator,
        period: UspPeriod::Emulator,
        ..UspConfig::default()
    };
    Usp::new(config).unwrap()
}
fn enter(usp: &mut Usp, now: Instant, packets: u64) {
    (0..packets).for_each(|_| usp.on_enqueue(now, MTU, NOTHING));
}
fn leave(usp: &mut Usp, now: Instant) {
    usp.on_dequeue(now, MTU, Duration::ZERO, NOTHING);
}

#[test]
fn line_8_what_was_accepted_between_two_queries() {
    let mut usp = usp();
    assert_eq!(usp.optimal_occupancy(), MAX_PACKETS);
    for ms in 1..5 {
        usp.room(at(ms), NOTHING);
        (0..6).for_each(|_| leave(&mut usp, at(ms)));
    }
    usp.on_blocked(at(5));
    leave(&mut usp, at(5));
    assert_eq!(usp.optimal_occupancy(), 24 / 4);
    // line 16: that packet belongs to the new interval
    usp.room(at(6), NOTHING);
    usp.on_blocked(at(6));
    leave(&mut usp, at(7));
    assert_eq!(usp.optimal_occupancy(), 1);
}

#[test]
fn line_21_doubled_once_after_half_a_tti() {
    let mut usp = usp();
    usp.room(at(0), NOTHING);
    (0..4).for_each(|_| leave(&mut usp, at(1)));
    usp.on_blocked(at(1));
    leave(&mut usp, at(2));
    assert_eq!(usp.room(at(7), NOTHING), Room::Packets(4));
    assert_eq!(usp.room(at(8), NOTHING), Room::Packets(8));
    assert_eq!(usp.room(at(11), NOTHING), Room::Packets(8));
    // line 12: the interval ends, without saturation the occupancy stays, and doubles again
    leave(&mut usp, at(13));
    assert_eq!(usp.room(at(14), NOTHING), Room::Packets(8));
    assert_eq!(usp.room(at(19), NOTHING), Room::Packets(16));
}

#[test]
fn room_is_what_is_missing() {
    let held = Occupancy {
        packets: 1000,
        bytes: MTU * 1000,
    };
    assert_eq!(usp().room(at(1), held), Room::Packets(24));
}

#[test]
fn emulator_line_8_a_tenth_of_what_entered_rounded_up_whatever_the_queries() {
    let mut usp = emulator();
    assert_eq!(usp.optimal_occupancy(), MAX_PACKETS);
    // 21 enter, 4 leave, 3 queries: algorithm 3 would take 4 / 3 = 1
    for ms in 1..4 {
        usp.room(at(ms), NOTHING);
    }
    enter(&mut usp, at(1), 21);
    (0..4).for_each(|_| leave(&mut usp, at(3)));
    usp.on_blocked(at(4));
    leave(&mut usp, at(5));
    assert_eq!(usp.optimal_occupancy(), 3);
    // what has entered counts until the next calculation, over as many intervals as that takes
    enter(&mut usp, at(6), 5);
    (6..30).for_each(|ms| leave(&mut usp, at(ms)));
    enter(&mut usp, at(30), 6);
    usp.on_blocked(at(30));
    leave(&mut usp, at(31));
    assert_eq!(usp.optimal_occupancy(), 2);
}

#[test]
fn emulator_the_occupancy_is_doubled_at_the_fifth_opportunity_that_gives_something() {
    let mut usp = emulator();
    enter(&mut usp, at(0), 40);
    usp.on_blocked(at(1));
    leave(&mut usp, at(2));
    assert_eq!(usp.optimal_occupancy(), 4);
    // three packets at one opportunity are one; time alone doubles nothing
    for opportunity in 1..5 {
        (0..3).for_each(|_| leave(&mut usp, at(2 + 100 * opportunity)));
        usp.room(at(99 + 100 * opportunity), NOTHING);
    }
    assert_eq!(usp.optimal_occupancy(), 4);
    leave(&mut usp, at(600));
    assert_eq!(usp.optimal_occupancy(), 8);
    // the eleventh begins anew, the fifth after it doubles again
    (601..611).for_each(|ms| leave(&mut usp, at(ms)));
    assert_eq!(usp.optimal_occupancy(), 8);
    leave(&mut usp, at(611));
    assert_eq!(usp.optimal_occupancy(), 16);
}

#[test]
fn emulator_a_room_that_is_used_up_is_no_saturation() {
    let mut usp = emulator();
    enter(&mut usp, at(0), 10);
    leave(&mut usp, at(1));
    usp.on_blocked(at(1));
    leave(&mut usp, at(2));
    assert_eq!(usp.optimal_occupancy(), MAX_PACKETS);
    usp.on_blocked(at(3));
    leave(&mut usp, at(4));
    assert_eq!(usp.optimal_occupancy(), 1);
    // algorithm 3 takes either
    let mut usp = self::usp();
    leave(&mut usp, at(1));
    usp.on_blocked(at(1));
    leave(&mut usp, at(2));
    assert_eq!(usp.optimal_occupancy(), 1);
}

proptest! {
    #[test]
    fn the_occupancy_keeps_within_its_bounds(events in prop::collection::vec(0u8..4, 1..500)) {
        for mut usp in [usp(), emulator()] {
            for (ms, event) in events.iter().enumerate() {
                let now = at(ms as u64);
                match event {
                    0 => { usp.room(now, NOTHING); }
                    1 => leave(&mut usp, now),
                    2 => enter(&mut usp, now, 7),
                    _ => usp.on_blocked(now),
                }
                prop_assert!((1..=MAX_PACKETS).contains(&usp.optimal_occupancy()));
            }
        }
    }
}
