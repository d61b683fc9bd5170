use super::*;

/// Seconds of a report.
const PERIOD: f64 = 0.001;
/// Byte/s, of which our flow's part beside one other is a half.
const CAPACITY: f64 = 2e6;
const PART: f64 = 1e6;
const MIN_RTT: f64 = 0.02;
const TARGET: f64 = 0.001;

fn radio() -> Radio {
    Radio {
        capacity: CAPACITY,
        rate: PART,
        part: PART,
        delivered: PART,
        queue: 0.0,
        in_flight: 0.0,
        min_rtt: MIN_RTT,
        target: TARGET,
        delay: 0.0,
        is_own_queue: false,
        is_saturated: true,
        is_fresh: true,
    }
}

/// A link where our flow waits so long, seconds, in a queue of so many bytes, and is delivered at a rate.
fn waits(waiting: f64, queue: f64, delivered: f64) -> Radio {
    Radio {
        delivered,
        queue,
        in_flight: delivered * (MIN_RTT + waiting),
        ..radio()
    }
}

/// Reports of so long, seconds, with others that have the rest of what our flow is delivered; the last own queue.
fn feed(beside: &mut Beside, seconds: f64, radio: impl Fn(&Beside) -> Radio) -> Option<f64> {
    let mut own = None;
    for _ in 0..(seconds / PERIOD) as u32 {
        let radio = radio(beside);
        beside.learn_rate(CAPACITY, radio.delivered, PERIOD);
        own = beside.own_queue(PERIOD, MIN_RTT + TARGET, &radio);
    }
    own
}

/// Alone on the link with a queue of 10 ms.
fn alone(beside: &mut Beside) {
    let busy = waits(0.01, 0.01 * CAPACITY, CAPACITY);
    let radio = Radio {
        rate: CAPACITY,
        ..busy
    };
    feed(beside, 3.0, |_| radio);
}

#[test]
fn all_of_the_queue_is_ours_while_nothing_passes_by() {
    let mut beside = Beside::default();
    alone(&mut beside);
    assert_eq!(beside.phase, Phase::Alone);
    assert!((beside.base - MIN_RTT).abs() < 1e-4, "{} s", beside.base);
}

#[test]
fn a_queue_that_others_have_apart_is_not_ours() {
    let mut beside = Beside::default();
    alone(&mut beside);
    // ours waits 3 ms, and half a second's worth of theirs stands
    let own = feed(&mut beside, 5.0, |_| waits(0.003, 0.5 * CAPACITY, PART));
    let own = own.expect("others are there");
    assert!((own - 0.003).abs() < 1e-4, "{own} s");
    assert_eq!(beside.phase, Phase::Yielding(0.0), "it has its part");
    assert_eq!(beside.turnaround(MIN_RTT, MIN_RTT + TARGET), None);
}

#[test]
fn others_from_the_start_are_looked_past_by_a_moment_at_rttmin() {
    let mut beside = Beside::default();
    let with = |beside: &Beside| {
        let least = beside.turnaround(MIN_RTT, MIN_RTT + TARGET).is_some();
        // a way without a queue takes 5 ms more than the least
        let waiting = if least { 0.005 } else { 0.015 };
        waits(waiting, 0.5 * CAPACITY, PART)
    };
    feed(&mut beside, 0.5, with);
    assert_eq!(beside.turnaround(MIN_RTT, MIN_RTT + TARGET), Some(MIN_RTT));
    let own = feed(&mut beside, 5.0, with).expect("others are there");
    assert!((own - 0.01).abs() < 1e-3, "{own} s");
}

/// A FIFO with half a second's worth of others': our flow has what its part of what is in flight is.
fn fifo(beside: &Beside) -> Radio {
    let competes = beside.turnaround(MIN_RTT, 0.0);
    let delivered = if competes.is_some() {
        PART
    } else {
        0.05 * PART
    };
    waits(0.5, 0.5 * CAPACITY, delivered)
}

#[test]
fn a_flow_that_is_left_little_of_a_fifo_competes() {
    let mut beside = Beside::default();
    alone(&mut beside);
    feed(&mut beside, 6.0, fifo);
    assert!(matches!(beside.phase, Phase::Competing(_)));
    let turnaround = beside.turnaround(MIN_RTT, 0.0).expect("not the loop's");
    assert!((turnaround - 0.52).abs() < 0.01, "{turnaround} s");
    assert_eq!(beside.left(PART, CAPACITY), PART, "not what they have");
    // 20 s later it is tried again, and then after twice as long
    let is_competing = |beside: &Beside| matches!(beside.phase, Phase::Competing(_));
    let mut held = [0.0_f64, 0.0];
    for held in &mut held {
        while is_competing(&beside) {
            feed(&mut beside, 0.1, fifo);
            *held += 0.1;
        }
        while !is_competing(&beside) {
            feed(&mut beside, 0.1, fifo);
        }
    }
    assert!(held[0] < 20.2 && (held[1] - 40.0).abs() < 0.5, "{held:?} s");
}

#[test]
fn a_trial_that_brings_no_more_ends_and_what_cannot_be_had_is_left() {
    let mut beside = Beside::default();
    alone(&mut beside);
    // a queue for each of four: a quarter is all that there is for ours
    let quarter = |_: &Beside| waits(0.002, 0.5 * CAPACITY, 0.25 * CAPACITY);
    // not before it sends all that it may, and the averages are of this
    let idle = |beside: &Beside| Radio {
        is_saturated: false,
        ..quarter(beside)
    };
    feed(&mut beside, 3.0, idle);
    assert!(matches!(beside.phase, Phase::Yielding(_)));
    feed(&mut beside, 7.0, quarter);
    assert!(
        matches!(beside.phase, Phase::Apart(_)),
        "{:?}",
        beside.phase
    );
    assert_eq!(beside.turnaround(MIN_RTT, 0.0), None);
    let left = beside.left(PART, CAPACITY);
    let expected = (1.0 - 0.25 * HEADROOM) * CAPACITY;
    assert!((left / expected - 1.0).abs() < 0.01, "{left} byte/s");
}

#[test]
fn a_radio_that_carries_nothing_for_a_moment_is_survived() {
    for queue in [0.0, 1_000.0] {
        let mut beside = Beside::default();
        alone(&mut beside);
        let dead = Radio {
            capacity: 0.0,
            ..waits(0.01, queue, PART)
        };
        assert_eq!(feed(&mut beside, 0.1, |_| dead), None);
        feed(&mut beside, 6.0, fifo);
        assert!(matches!(beside.phase, Phase::Competing(_)), "{queue}");
    }
}

#[test]
fn what_was_measured_goes_with_the_last_flow() {
    let mut beside = Beside::default();
    alone(&mut beside);
    feed(&mut beside, 6.0, fifo);
    beside.reset();
    assert_eq!(beside.phase, Phase::Alone);
    // T0 is measured anew beside those who are there
    feed(&mut beside, 0.5, |_| waits(0.5, 0.5 * CAPACITY, PART));
    assert!(matches!(beside.phase, Phase::Finding(_)));
    assert_eq!(beside.found, Some((false, 0)), "one queue");
    feed(&mut beside, 8.0, fifo);
    assert!(matches!(beside.phase, Phase::Competing(_)));
}

#[test]
fn competing_ends_with_the_queue_and_with_the_others() {
    let mut beside = Beside::default();
    alone(&mut beside);
    feed(&mut beside, 6.0, fifo);
    feed(&mut beside, 1.0, |_| waits(0.001, 0.001 * CAPACITY, PART));
    assert!(matches!(beside.phase, Phase::Yielding(_)));
    feed(&mut beside, 6.0, fifo);
    assert!(matches!(beside.phase, Phase::Competing(_)));
    feed(&mut beside, 1.0, |_| waits(0.5, 0.5 * CAPACITY, CAPACITY));
    assert!(matches!(beside.phase, Phase::Competing(_)), "a pause");
    feed(&mut beside, 1.0, |_| waits(0.5, 0.5 * CAPACITY, CAPACITY));
    assert_eq!(beside.phase, Phase::Alone);
}

#[test]
fn a_queue_that_is_reported_by_itself_is_ours() {
    let mut beside = Beside::default();
    alone(&mut beside);
    let reported = |_: &Beside| Radio {
        is_own_queue: true,
        // what is in flight would make it all of the queue
        ..waits(0.1, 0.02 * CAPACITY, PART)
    };
    let own = feed(&mut beside, 5.0, reported).expect("others are there");
    assert!((own - 0.04).abs() < 1e-9, "{own} s");
    assert_eq!(beside.turnaround(MIN_RTT, 0.0), None, "no trial");
    let left = beside.left(PART, CAPACITY);
    assert!((left / PART - 1.0).abs() < 1e-3, "{left} byte/s");
    // several flows of ours could have more than a base station gives their bearer
    let left = beside.left(0.2 * CAPACITY, CAPACITY);
    let expected = CAPACITY - HEADROOM * PART;
    assert!((left / expected - 1.0).abs() < 0.01, "{left} byte/s");
    // in a fade of a few seconds it is the same share
    let fade = |of: &Beside| Radio {
        capacity: 0.1 * CAPACITY,
        delivered: 0.1 * PART,
        rate: 0.1 * PART,
        part: 0.1 * PART,
        ..reported(of)
    };
    feed(&mut beside, 5.0, fade);
    let left = beside.left(0.2 * CAPACITY, CAPACITY);
    assert!((left / expected - 1.0).abs() < 0.01, "{left} byte/s");
    // a report without it is of all
    feed(&mut beside, 0.1, fifo);
    assert!(matches!(beside.phase, Phase::Yielding(_)));
    feed(&mut beside, 0.1, reported);
    assert_eq!(beside.phase, Phase::Reported);
    // the others have gone
    let alone = |_: &Beside| Radio {
        delivered: CAPACITY,
        is_own_queue: true,
        ..radio()
    };
    feed(&mut beside, 2.0, alone);
    assert_eq!(beside.phase, Phase::Alone);
}
