//! Traffic that passes us by (point 5): its rate, its part of the radio's queue, and what is done where it leaves our
//! flows no part of the link.
//!
//! A report has one queue for all of a UE. What of it is ours is what of our flows is in flight beyond what a round
//! trip without a queue holds (Little's law):
//!
//! ```text
//!   own = in flight - delivered rate x T0,   0 <= own <= queue
//! ```
//!
//! T0 is measured while there are no others (round trip less the queue's time), and is no more than any round trip
//! beside them. If others are there from the start, T is RTTmin for a moment, and T0 the round trip of that; where it turns
//! out that all wait in one queue, T0 is the round trip less that.
//!
//! The queue loop looks at own, as time at the delivered rate: a queue of others that a base station keeps apart (one
//! for each flow or bearer) takes nothing from us. Where all wait in one FIFO, what is ours waits as long as the
//! others' does, and the loop makes room for them: with flows that yield as well the link is shared, and of one that
//! will not our flows are left nothing. So, if a queue stands and our flows have been left much less than their part
//! for some time, they *compete*: T is T0 and the whole queue's time, so that their part of what is in flight,
//! and with it of a FIFO, is their part of the link, at the delay that the others cause (with n flows of ours beside
//! one with a queue of Q, it is (n + 1) Q). It is a trial at first: where that brings them no more, the queues are
//! apart, and they yield again. What was found holds for 20 s, and twice as long each time that the same is found.
//! Flows that competed yield then, which is a trial as well: where it costs them much, they go on competing.
//!
//! Where a report has the queue of the bearer that carries our flows, none of this is needed: that queue is ours
//! (phase *Reported*), and their rate is taken to be no more than 1.25 times what they have of the capacity.
//!
//! ```text
//!   Alone --others--> Finding --T0 known--> Yielding --left little--> Trying --more--> Competing
//!     ^                                      ^  ^  '-- less than competing, or not --> (as after Trying)
//!     '------------ others have gone         |  '------- 20 s ... ------- Apart <-- no more ---'
//!                                            '------ 20 s ... of Competing, or no queue stands
//! ```

use super::flow::weight;
use super::turnaround::Radio;

/// Forgetting time of the others' rate and of the whole queue, seconds.
const LEARN_TIME: f64 = 0.1;
/// That of the round trip, seconds.
const ROUND_TRIP_TIME: f64 = 0.5;
/// Others count from this part of the capacity on; our own headers are less.
const MIN_PART: f64 = 0.1;
/// They count after so long, seconds (what was served of ours and is not acknowledged yet looks the same), and for so
/// long after that (they pause after losses).
const ONSET: f64 = 0.3;
const PAUSE_TIME: f64 = 1.0;
/// A round trip is measured over so many seconds.
const MEASURE_TIME: f64 = 1.5;
/// Our flows' rate is taken to be no less than this part of what they could have.
pub(super) const MIN_RATE: f64 = 0.1;
/// What our flows have is much less than their part if it is less than so much of it.
const LITTLE: f64 = 0.75;
/// A queue stands if it is longer than so many times the target.
const STANDING_TARGETS: f64 = 4.0;
/// Before a trial our flows have been left little for so long, seconds, and for so many times T.
const LASTING: f64 = 0.5;
const LASTING_TURNAROUNDS: f64 = 4.0;
/// A trial takes up to so many seconds: what is lost in a full queue is delivered late.
const TRIAL_TIME: f64 = 4.0;
/// A trial has succeeded if our flows have this part of what they were short of.
const SUCCESS: f64 = 0.25;
/// What was found holds for so long, seconds, and twice as long each time that the same is found: 20 s to 11 min.
const HOLDS: f64 = 20.0;
const MAX_DOUBLINGS: i32 = 5;
/// A mean discards what is older than this, seconds.
const MEAN_TIME: f64 = 5.0;
/// Where queues are apart, our flows are taken to have up to so much more than they have.
const HEADROOM: f64 = 1.25;

/// What our flows do about the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// There are none.
    #[default]
    Alone,
    /// T0 is being measured, for so long.
    Finding(f64),
    /// The loop looks at our part of the queue; our flows have been left little for so long.
    Yielding(f64),
    /// A trial of so long; delivered of ours before, byte/s.
    Trying(f64, f64),
    /// For so long.
    Competing(f64),
    /// As yielding, and no trial: the queues were found to be apart, so long ago.
    Apart(f64),
    /// The report has our queue by itself.
    Reported,
}

/// Traffic beside ours.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Its rate, byte/s.
    rate: f64,
    phase: Phase,
    /// It has been there or not, other than what the phase has, for so long, seconds.
    differs: f64,
    /// Averages of what is in flight, bytes, and of what is delivered, byte/s.
    in_flight: f64,
    delivered: f64,
    /// T0, and how long it has been measured, seconds.
    base: f64,
    measured: f64,
    /// The whole queue's time, average, seconds.
    whole_time: f64,
    /// Whether queues were found to be apart, and how many times before the same.
    found: Option<(bool, i32)>,
    /// What is delivered of ours with the whole queue's time, byte/s.
    had: Mean,
    /// What our flows have of the capacity while the report has their queue, 0 to 1.
    share: Mean,
}

/// A mean over all so far, and lately.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    value: f64,
    /// What it is over, seconds.
    time: f64,
}

impl Mean {
    /// `memory`: the time that it averages over, seconds.
    fn add(&mut self, value: f64, elapsed: f64, memory: f64) {
        self.value += weight(elapsed, self.time) * (value - self.value);
        self.time = (self.time + elapsed).min(memory);
    }
}

impl Beside {
    /// Learns from what was served in a time, seconds, and what of it was ours, byte/s. Served bytes are IP bytes, ours are
    /// payload: the headers of our own flows count here too, which makes the rest the payload's rate.
    pub(super) fn learn_rate(&mut self, served: f64, ours: f64, covered: f64) {
        self.rate += weight(covered, LEARN_TIME) * (served - ours - self.rate);
    }

    /// What is to be left to it of the capacity: its rate, no more than its part; all of that while our flows compete (what it
    /// has less then is what they have taken); what our flows cannot have where a base station shares otherwise. Byte/s.
    pub(super) fn left(&self, part: f64, capacity: f64) -> f64 {
        match self.phase {
            Phase::Trying(..) | Phase::Competing(_) => part,
            Phase::Apart(_) => (capacity - HEADROOM * self.had.value).max(part),
            Phase::Reported if self.share.time > 0.0 => {
                let unattainable = capacity * (1.0 - HEADROOM * self.share.value);
                unattainable.max(self.rate.clamp(0.0, part))
            }
            _ => self.rate.clamp(0.0, part),
        }
    }

    /// There are no others, or they are known not to be in our queue.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.phase, Phase::Alone | Phase::Reported)
    }

    /// No flow of ours is left: what was measured with them may be long ago when the next comes. How the base station
    /// queues stays known.
    pub(super) fn reset(&mut self) {
        *self = Self {
            rate: self.rate,
            found: self.found,
            ..Self::default()
        };
    }

    /// Our part of the queue, seconds at the rate at which it is delivered; none while there are no others. `elapsed`: since
    /// the last time; `turnaround`: T, seconds.
    pub(super) fn own_queue(
        &mut self,
        elapsed: f64,
        turnaround: f64,
        radio: &Radio,
    ) -> Option<f64> {
        // a UE that can be sent nothing shows nothing of others
        if radio.capacity <= 0.0 {
            return None;
        }
        let learn = weight(elapsed, ROUND_TRIP_TIME);
        self.in_flight += learn * (radio.in_flight - self.in_flight);
        self.delivered += learn * (radio.delivered - self.delivered);
        let learn = weight(elapsed, LEARN_TIME);
        self.whole_time += learn * (radio.queue / radio.capacity - self.whole_time);
        self.find_others(elapsed, radio.capacity);
        self.measure(elapsed, radio);
        if self.phase == Phase::Alone {
            return None;
        }
        self.phase = self.next_phase(elapsed, turnaround, radio);
        let own = match self.phase {
            Phase::Reported => radio.queue,
            _ => (radio.in_flight - radio.delivered * self.base).clamp(0.0, radio.queue),
        };
        Some(own / radio.delivered.max(MIN_RATE * radio.rate))
    }

    /// There is more than our own headers: for some time, or it paused a moment ago.
    fn find_others(&mut self, elapsed: f64, capacity: f64) {
        let is_alone = self.phase == Phase::Alone;
        let are_there = self.rate > MIN_PART * capacity;
        self.differs = match are_there == is_alone {
            true => self.differs + elapsed,
            false => 0.0,
        };
        if self.differs > if is_alone { ONSET } else { PAUSE_TIME } {
            self.differs = 0.0;
            self.phase = match (is_alone, self.measured >= MEASURE_TIME) {
                (false, _) => Phase::Alone,
                (true, true) => Phase::Yielding(0.0),
                (true, false) => Phase::Finding(0.0),
            };
        }
    }

    /// T0: by all of the queue while it is ours, and by the least round trip otherwise.
    fn measure(&mut self, elapsed: f64, radio: &Radio) {
        if self.delivered < MIN_RATE * radio.rate {
            return;
        }
        let round_trip = self.in_flight / self.delivered;
        match self.phase {
            Phase::Alone if self.differs == 0.0 => {
                let own = radio.queue / radio.rate;
                let learn = weight(elapsed, ROUND_TRIP_TIME.min(self.measured));
                self.base += learn * (round_trip - own - self.base);
                self.measured += elapsed;
            }
            Phase::Alone => {}
            Phase::Finding(_) => self.base = round_trip,
            // all wait in one queue: known although the others were there first
            Phase::Competing(time) if time > MEASURE_TIME => {
                let learn = weight(elapsed, ROUND_TRIP_TIME);
                self.base += learn * (round_trip - self.whole_time - self.base);
                self.base = self.base.clamp(0.0, radio.min_rtt);
                return;
            }
            _ => self.base = self.base.min(round_trip),
        }
        self.base = self.base.max(radio.min_rtt);
    }

    fn next_phase(&mut self, elapsed: f64, turnaround: f64, radio: &Radio) -> Phase {
        let stands = self.whole_time > STANDING_TARGETS * radio.target;
        match self.phase {
            Phase::Alone => Phase::Alone,
            Phase::Reported if radio.is_own_queue => {
                // a share, so that a fade does not change it
                if radio.is_saturated {
                    let share = radio.delivered / radio.capacity;
                    self.share.add(share, elapsed, ROUND_TRIP_TIME);
                }
                Phase::Reported
            }
            _ if radio.is_own_queue => {
                self.share = Mean::default();
                Phase::Reported
            }
            Phase::Reported => Phase::Yielding(0.0),
            Phase::Finding(time) if time < MEASURE_TIME => Phase::Finding(time + elapsed),
            Phase::Finding(_) => Phase::Yielding(0.0),
            Phase::Yielding(lasting) => {
                let is_little = radio.delivered < LITTLE * radio.part;
                if !(stands && radio.is_saturated && is_little) {
                    Phase::Yielding((lasting - elapsed).max(0.0))
                } else if lasting < LASTING.max(LASTING_TURNAROUNDS * turnaround) {
                    Phase::Yielding(lasting + elapsed)
                } else if self.had.time > 0.0 && self.found.is_some_and(|found| !found.0) {
                    // what yielding has cost is the trial
                    let lately = self.delivered.min(radio.delivered);
                    self.judge(lately > LITTLE * self.had.value)
                } else {
                    self.had = Mean::default();
                    Phase::Trying(0.0, self.delivered)
                }
            }
            Phase::Trying(time, before) => {
                // what is sent now comes after that
                let first = 2.0 * (radio.min_rtt + self.whole_time);
                if time > first {
                    self.had.add(radio.delivered, elapsed, MEAN_TIME);
                }
                let is_more = self.had.value > before + SUCCESS * (radio.part - before);
                if time > first + MEASURE_TIME && is_more {
                    self.judge(false)
                } else if time < first + TRIAL_TIME {
                    Phase::Trying(time + elapsed, before)
                } else {
                    // losses of the trial are no measure of what can be had
                    self.had.value = self.had.value.max(before);
                    self.judge(true)
                }
            }
            Phase::Competing(time) if stands && time < self.holds() => {
                self.had.add(radio.delivered, elapsed, MEAN_TIME);
                Phase::Competing(time + elapsed)
            }
            Phase::Apart(time) if time < self.holds() => Phase::Apart(time + elapsed),
            Phase::Competing(_) | Phase::Apart(_) => Phase::Yielding(0.0),
        }
    }

    /// What follows from whether the queues are apart.
    fn judge(&mut self, are_apart: bool) -> Phase {
        let again = self.found.filter(|found| found.0 == are_apart);
        let times = again.map_or(0, |found| MAX_DOUBLINGS.min(found.1 + 1));
        self.found = Some((are_apart, times));
        match are_apart {
            true => Phase::Apart(0.0),
            false => Phase::Competing(0.0),
        }
    }

    /// How long what was found holds, seconds.
    fn holds(&self) -> f64 {
        HOLDS * 2_f64.powi(self.found.map_or(0, |found| found.1))
    }

    /// T while it is not the loop's, seconds. `initial`: with the target queue.
    pub(super) fn turnaround(&self, min_rtt: f64, initial: f64) -> Option<f64> {
        match self.phase {
            Phase::Finding(_) => Some(min_rtt),
            Phase::Trying(..) => Some(initial.max(min_rtt + self.whole_time)),
            Phase::Competing(_) => Some(self.base + self.whole_time),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
