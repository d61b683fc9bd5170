//! A link before the radio that carries less than the radio could (point 11): a backhaul, or what else no report covers.
//!
//! It is looked for in all of a cell's UEs together, which share it. Where there is one, the radio's queues stay short and what is
//! served stays below the capacity, although our flows send all that they are let; and more of them is in flight than T accounts
//! for (Little's law):
//!
//! ```text
//!   queue < target / 2,   served < 0.94 x capacity,   in flight > 1.03 x delivered x T + a segment a flow
//! ```
//!
//! Reports that do not count what is served show nothing of that. A T that is too short looks the same. So it is tried first with what the round trip is, in flight / delivered: where more is
//! delivered by it, T was too short, and stays so. Where not, or where more than a twentieth of what is sent is sent again, there is
//! a narrow link, and the rate of all UEs together is bounded by what it was found to carry, b (max-min fair among them):
//!
//! ```text
//!   Wide --evident for 0.3 s--> Trying --no more by it--> Draining ---> Cruising ---> Probing
//!    ^ ^                          |                        0.75 b        b, 6 x        1.25 b
//!    | '---- T was too short -----'                          ^                           | b = delivered
//!    '---- b is the capacity, or the radio's queue stands ---+---------------------------'
//! ```
//!
//! A probe that finds more than cruising is repeated at once; one that loses packets makes the next ones weaker. T follows what
//! cruising did: where it delivers less than b, T was too short; where it loses packets, too long. A retransmission timeout is no
//! measurement of a link: where nothing is acknowledged for a while, what was measured is dropped, and so is what is measured while
//! the losses of the time before b are repaired.

mod measure;
mod path;

use super::flow::weight;
use super::is_served_counted;
use measure::{Disturbance, Found, Losses, Measure};
pub(super) use path::Path;

/// Forgetting time of the radio's queue, seconds.
const QUEUE_TIME: f64 = 0.1;
/// The radio's queue is short below so many times the target, and where many packets are lost.
const SHORT: f64 = 0.5;
const SHORT_OF_BURSTS: f64 = 8.0;
/// The radio is not all used below this part of the capacity.
const BELOW: f64 = 0.94;
/// In flight beyond what T accounts for, and segments of each flow.
const BEYOND: f64 = 1.03;
const BEYOND_SEGMENTS: f64 = 1.0;
/// Evident for so long, seconds, and where many packets are lost; and for so many times T.
const ONSET: f64 = 0.3;
const ONSET_OF_LOSSES: f64 = 0.025;
const ONSET_TURNAROUNDS: f64 = 4.0;
/// A T that is longer by less is not tried.
const LONGER: f64 = 1.15;
/// What is delivered is measured over so many times T, so long, and so many segments.
const MEASURE_TURNAROUNDS: f64 = 2.0;
const MEASURE_TIME: f64 = 0.1;
const MEASURE_SEGMENTS: f64 = 24.0;
/// Rate over b while draining; cruising lasts so many measurements.
const DRAIN: f64 = 0.75;
const CRUISE: f64 = 6.0;
/// A probe's rate is this part above b at the most and the least: half as much after one that lost packets, twice as much after one
/// that did not.
const PROBE: f64 = 0.25;
const MIN_PROBE: f64 = 0.03;
/// Cruising that delivers less than this part of b ends at once; b falls to this part of itself at the least.
const LESS: f64 = 0.8;
const FALL: f64 = 0.5;
/// A probe that finds this part of what it sent more is repeated.
const MORE: f64 = 0.6;
/// What is sent again within so long after b was found repairs the losses of before, seconds.
const REPAIR_TIME: f64 = 0.5;
/// Draining ends at so many times what T accounts for, or after so many round trips.
const DRAINED: f64 = 1.1;
const DRAIN_ROUNDS: f64 = 4.0;
/// T is too short where cruising delivers less than this part of what a probe did: it becomes what the round trip was, or longer by
/// what is missing, so much at the least and the most. Else it shrinks.
const FULL: f64 = 0.98;
const GROWTH: [f64; 2] = [1.03, 1.5];
const DECAY: f64 = 0.97;
/// It shrinks more where cruising loses packets.
const SHRINK: f64 = 0.7;
/// The link carries what the radio does from this part of the capacity on (which counts headers as well).
const AS_WIDE: f64 = 0.94;
/// What was found expires after so long without a flow that sends all that it is let, seconds.
const EXPIRY_TIME: f64 = 10.0;
/// A round trip is taken to be no longer, seconds.
const MAX_ROUND: f64 = 2.0;

/// What the UEs of a cell are to do about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    /// So many times T is tried.
    Trial(f64),
    /// So many byte/s, all together, and so many times T without what stands for the radio's variation.
    Bound(f64, f64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// The radio is the bottleneck, as far as is known.
    #[default]
    Wide,
    /// This T is tried, after so much less; delivered before.
    Trying {
        time: f64,
        less: f64,
        before: f64,
    },
    /// For so many seconds at the most.
    Draining {
        until: f64,
    },
    Cruising,
    Probing,
}

/// A link before the radio.
#[derive(Debug, Default)]
pub(super) struct Narrow {
    phase: Phase,
    /// Seconds in this phase.
    elapsed: f64,
    /// The radio's queue over its target, average.
    queue: f64,
    /// Evident for so long, seconds, and what was acknowledged since when.
    evident: f64,
    acked: u64,
    since: f64,
    /// What the link was found to carry, byte/s, and T for it, seconds.
    bound: f64,
    time: f64,
    /// b was not renewed yet.
    is_rough: bool,
    /// T without what stands for the radio's variation as it was before, seconds.
    base: f64,
    /// Of the next probe.
    gain: f64,
    /// What cruising did before this probe.
    cruised: Option<Found>,
    measure: Measure,
    /// Acknowledged and sent again at the last time.
    counted: (u64, u64),
    losses: Losses,
    disturbance: Disturbance,
    /// The radio's queue has stood, or the radio has carried no more, for so long; no flow has sent all that it is let for so long.
    stands: f64,
    idle: f64,
}

impl Narrow {
    /// What it requires.
    pub(super) fn limit(&self) -> Option<Limit> {
        if let Phase::Trying { time, less, .. } = self.phase {
            return Some(Limit::Trial(time / less));
        }
        let rate = self.bound()? * self.bound;
        Some(Limit::Bound(rate, self.time / self.base))
    }

    /// The rate as a multiple of b; none while there is no bound.
    fn bound(&self) -> Option<f64> {
        match self.phase {
            Phase::Wide | Phase::Trying { .. } => None,
            Phase::Draining { .. } => Some(DRAIN),
            Phase::Cruising => Some(1.0),
            Phase::Probing => Some(self.gain),
        }
    }

    /// No flow is left: what was found holds for the next, if it comes soon. `elapsed`: since the last time, seconds.
    pub(super) fn rest(&mut self, elapsed: f64) {
        self.idle += elapsed;
        if self.bound().is_none() || self.idle >= EXPIRY_TIME {
            *self = Self::default();
        } else {
            self.cruised = None;
            self.enter(Phase::Cruising);
        }
    }

    /// `elapsed`: since the last time, seconds. True if the T that was tried is what it should be.
    pub(super) fn update(&mut self, elapsed: f64, path: &Path) -> bool {
        self.elapsed += elapsed;
        self.queue += weight(elapsed, QUEUE_TIME) * (path.queue - self.queue);
        let (acked, resent) = self.counted;
        let news = (
            path.acked.saturating_sub(acked),
            path.resent.saturating_sub(resent),
        );
        self.counted = (path.acked, path.resent);
        self.losses.update(elapsed, news);
        self.disturbance.update(elapsed, news);
        let mut is_found = false;
        match self.phase {
            Phase::Wide => self.look(elapsed, path),
            Phase::Trying { .. } if !self.is_clear(path) => self.enter(Phase::Wide),
            Phase::Trying { time, less, before } => {
                is_found = self.try_time(elapsed, path, (time, less), before);
            }
            Phase::Draining { until } => {
                let is_drained = path.in_flight <= DRAINED * self.bound * self.time + path.segments;
                if is_drained || self.elapsed >= until {
                    self.enter(Phase::Cruising);
                }
            }
            Phase::Cruising => self.cruise(elapsed, path),
            Phase::Probing => self.probe(elapsed, path),
        }
        if self.bound().is_some() {
            self.leave(elapsed, path);
        }
        is_found
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.elapsed = 0.0;
        self.measure = Measure::default();
    }

    /// A round trip now.
    fn round(path: &Path, time: f64) -> f64 {
        let round = path.in_flight / path.delivered.max(1.0);
        round.clamp(time, MAX_ROUND.max(time))
    }

    /// Measures from a round trip after the phase began, or after the last disturbance, on; `unit`: how long at the least.
    fn measure(&mut self, elapsed: f64, path: &Path, time: f64, unit: f64) {
        if self.disturbance.is_now(unit) {
            self.elapsed = 0.0;
            self.measure = Measure::default();
        } else if self.measure.has_begun() || self.elapsed >= Self::round(path, time) {
            self.measure.update(elapsed, path);
        }
    }

    /// How long what is delivered is measured.
    fn measured_over(path: &Path, time: f64, rate: f64) -> f64 {
        let segments = MEASURE_SEGMENTS * path.segment / rate.max(1.0);
        (MEASURE_TURNAROUNDS * time)
            .max(MEASURE_TIME)
            .max(segments.min(MAX_ROUND))
    }

    /// What is looked at is not caused by others. What was served of ours and waits for the repetition of what was lost looks like
    /// theirs.
    fn is_clear(&self, path: &Path) -> bool {
        path.is_fresh && !path.takes_turns && (path.is_alone || self.losses.are_many())
    }

    /// The radio's queue is short; where many packets are lost, what repeats them comes in bursts.
    fn is_short(&self) -> bool {
        match self.losses.are_many() {
            true => self.queue < SHORT_OF_BURSTS,
            false => self.queue < SHORT,
        }
    }

    fn is_evident(&self, path: &Path) -> bool {
        let accounted = BEYOND * path.delivered * path.base_time + BEYOND_SEGMENTS * path.segments;
        self.is_clear(path)
            && path.is_greedy
            && path.base_time > 0.0
            && self.is_short()
            && is_served_counted(path.served, path.delivered)
            && path.served < BELOW * path.capacity
            && path.in_flight > accounted
    }

    /// Whether there is a narrow link.
    fn look(&mut self, elapsed: f64, path: &Path) {
        if self.is_evident(path) {
            if self.evident == 0.0 {
                (self.acked, self.since) = (path.acked, 0.0);
            }
            self.evident += elapsed;
        } else {
            self.evident = (self.evident - elapsed).max(0.0);
        }
        self.since += elapsed;
        let onset = match self.losses.are_many() {
            true => ONSET_OF_LOSSES,
            false => ONSET,
        };
        if self.evident < onset.max(ONSET_TURNAROUNDS * path.base_time) {
            return;
        }
        let before = path.acked.saturating_sub(self.acked) as f64 / self.since.max(1e-6);
        self.evident = 0.0;
        if before <= 0.0 {
            return;
        }
        let time = (path.in_flight / before).min(path.max_time);
        // where many packets are lost, more in flight would lose more
        if time > LONGER * path.time && !self.losses.are_many() {
            let less = path.time;
            self.enter(Phase::Trying { time, less, before });
        } else {
            self.bind(path, before);
        }
    }

    /// Whether more is delivered with a longer T.
    fn try_time(
        &mut self,
        elapsed: f64,
        path: &Path,
        (time, less): (f64, f64),
        before: f64,
    ) -> bool {
        let is_short = self.queue < 1.0;
        let unit = Self::measured_over(path, time, before);
        self.measure(elapsed, path, time, unit);
        if is_short && self.measure.time < unit {
            return false;
        }
        let found = self.measure.found(path);
        let wanted = (time / less).min(path.capacity / before);
        let is_grown = |found: Found| found.rate / before >= 1.0 + (wanted - 1.0) / 2.0;
        if !is_short || found.is_some_and(is_grown) {
            self.enter(Phase::Wide);
            return true;
        }
        match found {
            Some(found) => self.bind(path, found.rate.max(before)),
            None => self.enter(Phase::Wide),
        }
        false
    }

    fn bind(&mut self, path: &Path, rate: f64) {
        self.bound = rate;
        (self.base, self.time) = (path.base_time, path.base_time);
        self.gain = 1.0 + PROBE;
        self.is_rough = true;
        (self.stands, self.idle, self.cruised) = (0.0, 0.0, None);
        self.disturbance.expect_repair(REPAIR_TIME);
        self.drain(path);
    }

    fn drain(&mut self, path: &Path) {
        let until = DRAIN_ROUNDS * Self::round(path, self.time);
        self.enter(Phase::Draining { until });
    }

    fn cruise(&mut self, elapsed: f64, path: &Path) {
        let unit = Self::measured_over(path, self.time, self.bound);
        self.measure(elapsed, path, self.time, unit);
        // b is not known well, what the link carries has become much less, or enough time has passed
        let found = self.measure.found(path);
        let is_less = found.is_some_and(|found| found.rate < LESS * self.bound);
        if ((is_less || self.is_rough) && self.measure.time >= unit)
            || self.measure.time >= CRUISE * unit
        {
            self.cruised = found;
            self.enter(Phase::Probing);
        }
    }

    fn probe(&mut self, elapsed: f64, path: &Path) {
        let unit = Self::measured_over(path, self.time, self.bound);
        self.measure(elapsed, path, self.time, unit);
        if self.measure.time < unit {
            return;
        }
        let Some(probed) = self.measure.found(path) else {
            return self.enter(Phase::Cruising);
        };
        self.is_rough = false;
        let cruised = self.cruised.take();
        // what cruising leaves unused, a probe does as well
        let before = cruised.map_or(self.bound, |cruised| {
            cruised.rate.clamp(LESS * self.bound, self.bound)
        });
        let more = (1.0 + MORE * (self.gain - 1.0)) * before;
        let was_clean = !probed.is_lossy;
        let excess = (self.gain - 1.0) * if was_clean { 2.0 } else { 0.5 };
        self.gain = 1.0 + excess.clamp(MIN_PROBE, PROBE);
        if was_clean && probed.rate >= more.max(self.bound) {
            // what was before is no measure of b any more, but of T
            self.follow(cruised, path);
            self.bound = probed.rate;
            return self.enter(Phase::Probing);
        }
        self.bound = match cruised {
            None if was_clean => self.bound.max(probed.rate),
            None => self.bound,
            // what is lost is acknowledged late, and then seems to be delivered fast
            Some(cruised) => {
                let rate = if was_clean { probed.rate } else { 0.0 };
                rate.max(cruised.rate).max(FALL * self.bound)
            }
        };
        self.follow(cruised, path);
        self.drain(path);
    }

    /// T follows what cruising did.
    fn follow(&mut self, cruised: Option<Found>, path: &Path) {
        let Some(cruised) = cruised else {
            return;
        };
        let rate = cruised.rate.max(1.0);
        let little = (cruised.in_flight / (rate * self.time)).max(self.bound / rate);
        let factor = match (cruised.is_lossy, cruised.rate < FULL * self.bound) {
            (true, _) => SHRINK,
            (false, true) => little.clamp(GROWTH[0], GROWTH[1]),
            (false, false) => DECAY,
        };
        self.time = (self.time * factor).clamp(path.min_time, path.max_time);
    }

    /// The radio is the bottleneck again, or nothing is sent.
    fn leave(&mut self, elapsed: f64, path: &Path) {
        let is_radio = self.queue >= 1.0 || self.bound >= AS_WIDE * path.capacity;
        self.stands = match is_radio {
            true => self.stands + elapsed,
            false => (self.stands - elapsed).max(0.0),
        };
        self.idle = if path.is_greedy {
            0.0
        } else {
            self.idle + elapsed
        };
        let stood = ONSET.max(ONSET_TURNAROUNDS * self.time);
        if !path.is_fresh || self.stands >= stood || self.idle >= EXPIRY_TIME {
            self.enter(Phase::Wide);
            self.evident = 0.0;
        }
    }
}

#[cfg(test)]
mod tests;
