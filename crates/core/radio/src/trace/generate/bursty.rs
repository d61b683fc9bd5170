//! Delivery opportunities of a busy cell, like those that Saturator recorded on LTE (Winstein et al., NSDI
//! 2013): in bursts, at a rate that changes within a second as within a minute, and now and then none at all.
//!
//! In steps of 1 ms:
//!
//! * intensity 400/s x exp(X + Y - (0.7^2 + 0.6^2) / 2), at most 2000/s, of two Gauss-Markov processes: X
//!   of 0.7 and 3 s (the place and the other users), Y of 0.6 and 30 ms (the scheduler);
//! * opportunities come in groups, which are a Poisson process; a group has a geometric number of them, mean
//!   1.4; so there are as many a second as the intensity states;
//! * outages come as a Poisson process, one in 30 s on average, and last an exponential time of mean 0.4 s.
//!
//! Statistics that these parameters were chosen for are those of two recordings (Verizon, 140 s, and AT&T in a
//! car, 120 s), 1500 B each: 419 and 380 opportunities a second; the variance of their number in bins of 1,
//! 20, 100, 500 ms over the mean 1.9 and 2.4, 6.1 and 10.3, 21 and 41, 92 and 148; 7 and 17 % of bins of 20 ms
//! without one; the longest gap 1.4 and 1.1 s.

use super::{GaussMarkov, steps};
use crate::trace::{Content, Opportunities, Opportunity};
use units::{Duration, Packets, Rng, Streams};

const STEP: Duration = Duration::from_millis(1);
/// Opportunities a second: mean and most.
const MEAN: f64 = 400.0;
const MAX: f64 = 2000.0;
/// Deviation of the intensity's logarithm, and its correlation time, s: slow and fast.
const SLOW: (f64, f64) = (0.7, 3.0);
const FAST: (f64, f64) = (0.6, 0.03);
/// Opportunities in a group.
const GROUP: f64 = 1.4;
/// Outages: mean interval and mean length, s.
const INTERVAL: f64 = 30.0;
const OUTAGE: f64 = 0.4;

/// When there is no opportunity.
struct Outages {
    rng: Rng,
    begin: f64,
    end: f64,
}

impl Outages {
    fn new(mut rng: Rng) -> Self {
        let begin = INTERVAL * rng.exponential();
        let end = begin + OUTAGE * rng.exponential();
        Self { rng, begin, end }
    }

    /// At a time that never decreases, s.
    fn is_out(&mut self, time: f64) -> bool {
        while self.end <= time {
            self.begin = self.end + INTERVAL * self.rng.exponential();
            self.end = self.begin + OUTAGE * self.rng.exponential();
        }
        self.begin <= time
    }
}

/// A process of groups whose intensity changes: the time of a process of one group a second on average, run
/// at the intensity.
struct Groups {
    rng: Rng,
    passed: f64,
    next: f64,
}

impl Groups {
    fn new(mut rng: Rng) -> Self {
        let next = rng.exponential();
        Self {
            rng,
            passed: 0.0,
            next,
        }
    }

    /// How many opportunities come while `expected` groups are expected.
    fn pass(&mut self, expected: f64) -> u64 {
        self.passed += expected;
        let mut count = 0;
        while self.next <= self.passed {
            self.next += self.rng.exponential();
            count += 1;
            while self.rng.chance(1.0 - 1.0 / GROUP) {
                count += 1;
            }
        }
        count
    }
}

pub(super) fn generate(duration: Duration, streams: &Streams) -> Content {
    let mut slow = GaussMarkov::new(streams.stream("slow"), SLOW.0);
    let mut fast = GaussMarkov::new(streams.stream("fast"), FAST.0);
    let mut outages = Outages::new(streams.stream("outages"));
    let mut groups = Groups::new(streams.stream("groups"));
    let step = STEP.as_secs_f64();
    let correction = f64::midpoint(SLOW.0 * SLOW.0, FAST.0 * FAST.0);
    let mut track: Vec<Opportunity> = Vec::new();
    for at in steps(duration, STEP) {
        let level = slow.next(step / SLOW.1) + fast.next(step / FAST.1) - correction;
        if outages.is_out(at.as_secs_f64()) {
            continue;
        }
        let intensity = (MEAN * level.exp()).min(MAX);
        let count = groups.pass(intensity / GROUP * step);
        if count > 0 {
            let packets = Packets::new(count);
            track.push(Opportunity { at, packets });
        }
    }
    if track.is_empty() {
        let (at, packets) = (Duration::ZERO, Packets::new(1));
        track.push(Opportunity { at, packets });
    }
    Content::Opportunities(Opportunities {
        steps: track.into(),
        duration,
    })
}
