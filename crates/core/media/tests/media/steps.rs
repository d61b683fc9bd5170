//! What the controllers do when a link's rate changes.

use crate::link::{Kind, Second, run};
use units::BitRate;

const KINDS: [Kind; 3] = [Kind::Gcc, Kind::Scream, Kind::ScreamL4s];

fn mbps(rate: f64) -> BitRate {
    BitRate::from_bps((rate * 1e6) as u64)
}

fn mean(seconds: &[Second]) -> f64 {
    seconds.iter().map(|of| of.rate).sum::<f64>() / seconds.len() as f64
}

#[test]
fn an_idle_link_is_filled_to_the_limit_and_no_further() {
    for kind in KINDS {
        let seconds = run(kind, 1, &[mbps(20.0); 50]);
        let last = mean(&seconds[45..]);
        assert!((6.4e6..8.8e6).contains(&last), "{kind:?}: {last}");
        let queue = seconds.iter().map(|of| of.queue_max).fold(0.0, f64::max);
        assert!(queue < 30.0, "{kind:?}: {queue} ms at 20 Mbit/s");
        let frames: u64 = seconds.iter().map(|of| of.frames).sum();
        assert!(frames > 1490, "{kind:?}: {frames}");
    }
}

/// Half of the rate is gone: within five seconds no queue stands any more, and most of the rest is used.
#[test]
fn a_rate_that_halves_leaves_no_standing_queue() {
    for kind in KINDS {
        let mut rates = vec![mbps(3.0); 40];
        rates.extend([mbps(1.5); 40]);
        let seconds = run(kind, 2, &rates);
        let before = mean(&seconds[30..40]);
        assert!((1.5e6..3.0e6).contains(&before), "{kind:?}: {before}");
        let after = mean(&seconds[50..]);
        assert!((0.8e6..1.5e6).contains(&after), "{kind:?}: {after}");
        for (i, second) in seconds.iter().enumerate().skip(46) {
            let queue = second.queue_min;
            assert!(
                queue < 40.0,
                "{kind:?}: {queue} ms at all times of second {i}"
            );
        }
    }
}

/// The rate doubles: what is sent follows by more than half of the difference.
#[test]
fn a_rate_that_doubles_is_used() {
    for kind in KINDS {
        let mut rates = vec![mbps(1.5); 30];
        rates.extend([mbps(3.0); 60]);
        let seconds = run(kind, 3, &rates);
        let after = mean(&seconds[80..]);
        assert!(after > 2.25e6 && after < 3.0e6, "{kind:?}: {after}");
    }
}

/// Marks from 5 ms on: the queue is about as long as that, far below what delay alone leads to.
#[test]
fn marks_keep_the_queue_short() {
    let of = |kind| {
        let seconds = run(kind, 4, &[mbps(3.0); 60]);
        let queue = seconds[20..].iter().map(|of| of.queue_max);
        (queue.fold(0.0, f64::max), mean(&seconds[20..]))
    };
    let (marked, rate) = of(Kind::ScreamL4s);
    let (unmarked, _) = of(Kind::Scream);
    assert!(marked < 30.0 && marked < unmarked, "{marked} {unmarked} ms");
    assert!(rate > 1.8e6, "{rate}");
}

#[test]
fn the_same_seed_gives_the_same_call() {
    for kind in KINDS {
        let mut rates = vec![mbps(2.0); 10];
        rates.extend([mbps(0.7); 10]);
        assert_eq!(run(kind, 5, &rates), run(kind, 5, &rates));
        assert_ne!(run(kind, 5, &rates), run(kind, 6, &rates));
    }
}
