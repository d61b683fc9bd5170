//! Mode `default`: the server steers the bottleneck's queue to a target that its flows share.
//!
//! ```text
//!   window = report (RTT_min + target + (target - queue) / 2) + 1 segment
//!   target = 19 ms at 1 Mbit/s, 1.9 ms less with each doubling of the report, 2 ms at least
//! ```
//!
//! - **Shares.** All flows of a bottleneck measure the same queue, and the rate of each changes by
//!   (RTT_min + target) / (RTT_min + queue) in a round trip: of two flows the slower one has the longer
//!   target and grows while the faster one shrinks. Times of a queue, not segments, so that this holds from
//!   1 Mbit/s to 1 Gbit/s.
//! - **The floor.** A queue is what delays lie above their least. A flow that joins others takes their queue
//!   for a part of the path. So a flow that has not seen the queue nearly empty for two seconds paces at half
//!   its report until the queue would have run off if it were its own, twice as long each time that this
//!   does not suffice. Every flow of the bottleneck sees what comes of it. The floor itself is of the last
//!   10 to 20 s: paths change, and clocks drift.
//! - **Growth.** While the queue has been nearly empty since STARTUP, or for 0.1 s and RTT_min, the window has a
//!   quarter of RTT_min more room, twice the target at the most.
//! - **A queue of others.** If it stays long, or the longest drain does not empty it: [`super::competing`].
//! - **Small buffers.** A window in which more than a fiftieth is lost takes an eighth per lost segment, half
//!   at the most, off what is left of the target, down to an eighth; without losses it comes back. What
//!   STARTUP sends too much does not count.
//!
//! The queue is measured by the round trip, which is exact, within a tick of the one-way delay, which the
//! uplink does not disturb. [`Constants`] has those of these numbers that can be set. Times in microseconds,
//! amounts in bytes, rates in bytes a second.

use super::Constants;
use super::competing::{Competing, Seen};
use super::server::{Event, MAX_AMOUNT, MAX_DELAY, MAX_TIME, ONE, added, of, window};

/// Rate at which the target is largest: 1 Mbit/s.
pub const TARGET_RATE: u64 = 125_000;
/// The window looks ahead by this part of what the queue is off its target.
const AHEAD: i64 = 2;
/// Least window, segments: what delayed acknowledgements need.
const MIN_WINDOW: u64 = 2;
/// How many times as long as the first the last drain is.
const MAX_DEPTH: u64 = 8;
/// What a drain may last beyond two round trips, us.
const MAX_DRAIN: u64 = 76_000;
/// What a drain empties beyond the queue, us: so it shows whether there is more below the floor.
const BEYOND: i64 = 3_000;
/// Least time that reports are held after a drain, us: the client's sample windows are of 2 ms at least.
const MIN_HOLD: u64 = 20_000;
/// A queue below a quarter of the target is nearly empty, and so is one below this, us.
const NEARLY_EMPTY: i64 = 500;
/// A floor that falls by more in a drain was none, us.
const FALLEN_BY: i64 = 500;
/// A floor is of one to two times this, us.
const FLOOR_TIME: u64 = 10_000_000;
/// Segments of a window whose loss is answered.
const ANSWERED_LOSSES: u64 = 4;
/// Where the queue is nearly empty the window has this part of RTT_min more room.
const GROWTH_PART: u64 = 4;
/// If it has been so since STARTUP, or for this and RTT_min, us: a drain of another flow is shorter.
const GROWTH_AFTER: u64 = 100_000;

/// The logarithm to base 2 of `x`, thousandths: exact at powers of two and straight between them, so that
/// the kernel has it too. `x` is 1 to 2^32.
pub fn log2(x: u64) -> i64 {
    let power = x.ilog2();
    let part = ((x << 10) >> power) - (1 << 10);
    i64::from(power) * 1_000 + ((part * ONE) >> 10).cast_signed()
}

/// The minimum of the last 10 to 20 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// A value has come.
    pub has_now: bool,
    /// Minimum since `since`, us.
    pub now: i64,
    /// There is one of the time before.
    pub has_before: bool,
    /// Minimum of the time before, us.
    pub before: i64,
    /// When the present time began, us.
    pub since: u64,
}

impl Floor {
    /// A value came.
    fn add(&mut self, at: u64, value: i64) {
        let is_over = self.has_now && at >= self.since + FLOOR_TIME;
        if is_over {
            self.before = self.now;
            self.has_before = true;
        }
        if is_over || !self.has_now {
            self.has_now = true;
            self.now = value;
            self.since = at;
        }
        self.now = self.now.min(value);
    }

    /// The minimum; 0 before any value.
    pub fn get(&self) -> i64 {
        if self.has_before {
            self.now.min(self.before)
        } else {
            self.now
        }
    }
}

/// What is known of the queue, and what is done about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    /// False before the first acknowledgement.
    pub is_running: bool,
    /// The least one-way delay, us.
    pub delay: Floor,
    /// The least round trip, us.
    pub rtt: Floor,
    /// The queueing delay, smoothed, us.
    pub queue: i64,
    /// Samples of the queue in this window.
    pub samples: u64,
    /// The least of them, us.
    pub least_queue: i64,
    /// The least round trip as the last drain began, us; 0 before any.
    pub known_rtt: i64,
    /// Acknowledged in this window, bytes.
    pub acked: u64,
    /// Found lost in this window, bytes.
    pub lost: u64,
    /// What losses take of the target, thousandths.
    pub backoff: u64,
    /// When the queue was last nearly empty, or was given up, us.
    pub empty_at: u64,
    /// Drains of a row: 0 for none, else how many times as long as the first the last one was.
    pub depth: u64,
    /// A drain is under way.
    pub is_draining: bool,
    /// Until when it lasts, us.
    pub drain_until: u64,
    /// Until when reports show the drain, us.
    pub hold_until: u64,
    /// When its outcome is known, us.
    pub check_at: u64,
    /// The report as it began.
    pub held: u64,
    /// Until when losses are STARTUP's, us.
    pub settled_at: u64,
    /// No queue has stood since STARTUP.
    pub is_filling: bool,
    /// The queue is nearly empty, and no drain is the reason.
    pub is_growing: bool,
    /// Beside others that do not let the queue run off.
    pub competing: Competing,
}

impl Steering {
    /// The queue that is aimed at, us.
    pub fn target(&self, constants: &Constants, report: u64) -> i64 {
        let octaves = log2(report.max(1)) - log2(TARGET_RATE);
        let target = constants.target_max - constants.target_octave * octaves / ONE.cast_signed();
        let target = target.min(constants.target_max).max(constants.target_min);
        of(ONE - self.backoff, target)
    }

    /// An acknowledgement came.
    pub fn take(&mut self, event: &Event) {
        if !self.is_running {
            self.is_running = true;
            self.empty_at = event.at;
        }
        self.acked = added(self.acked, event.acked);
        self.lost = added(self.lost, event.lost);
        self.competing
            .take(event.rtt.min(MAX_TIME), event.acked, event.lost);
        let by_rtt = self.by_rtt(event);
        let by_delay = self.by_delay(event);
        let queue = match (by_rtt, by_delay) {
            (Some(queue), Some(coarse)) => {
                let tick = event.tick.min(MAX_TIME).cast_signed();
                queue.clamp(coarse - tick, coarse + tick).max(0)
            }
            (Some(queue), None) | (None, Some(queue)) => queue,
            (None, None) => return,
        };
        self.queue += (queue - self.queue) / 4;
        let is_least = self.samples == 0 || queue < self.least_queue;
        self.least_queue = if is_least { queue } else { self.least_queue };
        self.samples += 1;
    }

    fn by_rtt(&mut self, event: &Event) -> Option<i64> {
        if event.rtt == 0 {
            return None;
        }
        let rtt = event.rtt.min(MAX_TIME).cast_signed();
        self.rtt.add(event.at, rtt);
        Some(rtt - self.rtt.get())
    }

    /// Delays count from the least that came before the peer's tick was known.
    fn by_delay(&mut self, event: &Event) -> Option<i64> {
        let delay = event.delay?.clamp(-MAX_DELAY, MAX_DELAY);
        if event.tick == 0 {
            return None;
        }
        if !self.delay.has_now {
            self.delay.add(event.at, 0);
        }
        self.delay.add(event.at, delay);
        Some(delay - self.delay.get())
    }

    /// A window of RTT_min ended.
    pub fn end_window(
        &mut self,
        constants: &Constants,
        at: u64,
        min_rtt: u64,
        report: u64,
        mss: u64,
    ) {
        let overflows = self.lost * constants.losses > self.acked + self.lost;
        if overflows && at >= self.settled_at {
            let segments = (self.lost / mss).min(ANSWERED_LOSSES);
            let taken = (ONE - self.backoff) * segments / (2 * ANSWERED_LOSSES);
            self.backoff = (self.backoff + taken).min(constants.max_backoff);
        } else if !overflows {
            // back within 125 windows, or 8 s of longer ones, but not within five
            let step = (min_rtt / 8_000).clamp(8, 200);
            self.backoff = self.backoff.saturating_sub(step);
        }
        let target = self.target(constants, report);
        let is_empty = self.samples > 0 && self.least_queue <= (target / 4).max(NEARLY_EMPTY);
        // a floor that has fallen since may not be the last
        let has_fallen = self.rtt.get() + FALLEN_BY < self.known_rtt;
        if is_empty && !has_fallen {
            self.empty_at = at;
            self.depth = 0;
        }
        if self.samples > 0 {
            let seen = Seen {
                at,
                least_queue: self.least_queue,
                is_empty,
                target,
                report,
            };
            self.competing.look(&seen, min_rtt);
        }
        if self.samples > 0 && 2 * self.least_queue > target {
            self.is_filling = false;
        }
        let is_idle = self.competing.is_empty_for(at, GROWTH_AFTER + min_rtt);
        self.is_growing = !self.is_holding(at) && (is_idle || (self.is_filling && is_empty));
        self.samples = 0;
        self.acked = 0;
        self.lost = 0;
    }

    /// STARTUP goes on: what it sends too much is lost within two round trips.
    pub fn start_up(&mut self, at: u64, min_rtt: u64) {
        self.settled_at = at + 2 * self.round_trip(min_rtt);
        self.is_filling = true;
    }

    /// RTT_min and the queue, us.
    fn round_trip(&self, min_rtt: u64) -> u64 {
        (min_rtt + self.queue.max(0).cast_unsigned()).min(2 * MAX_TIME)
    }

    /// At each acknowledgement after STARTUP: competes, or begins a drain if one is due and ends the one under
    /// way.
    pub fn steer(&mut self, constants: &Constants, at: u64, min_rtt: u64, report: u64) {
        let target = self.target(constants, report);
        if self.competing.is_on {
            if !self.competing.step(constants, at, self.queue, report) {
                self.give_up(at);
            }
            return;
        }
        if self.competing.judge(at, self.queue, target, report) {
            self.stop_draining(at);
            return;
        }
        let rtt = self.round_trip(min_rtt);
        if self.competing.is_due(at, rtt) {
            self.compete(constants, at, self.competing.long_report.max(report), rtt);
            return;
        }
        if self.is_holding(at) && self.queue > 2 * target {
            // the radio has become slower: what reports show is not the drain's doing
            self.hold_until = at;
        }
        let is_due = self.depth > 0 || at >= self.empty_at + constants.drain_after;
        if at >= self.check_at && is_due {
            if self.depth >= MAX_DEPTH {
                self.compete(constants, at, self.held.max(report), rtt);
                return;
            }
            self.begin(constants, at, min_rtt, report);
        }
        self.is_draining = at < self.drain_until;
    }

    /// Others keep the queue up.
    fn compete(&mut self, constants: &Constants, at: u64, report: u64, rtt: u64) {
        self.stop_draining(at);
        self.give_up(at);
        self.competing.begin(constants, at, report, rtt);
    }

    /// Reports decide again: what the queue did meanwhile does not count.
    pub fn restart(&mut self, at: u64) {
        self.stop_draining(at);
        self.give_up(at);
        self.competing = Competing::default();
    }

    fn stop_draining(&mut self, at: u64) {
        self.is_draining = false;
        self.drain_until = at;
        self.hold_until = at;
        self.check_at = at;
    }

    fn begin(&mut self, constants: &Constants, at: u64, min_rtt: u64, report: u64) {
        self.depth = (2 * self.depth).max(1);
        let queue = (self.queue.max(0) + BEYOND).cast_unsigned();
        let longest = 2 * min_rtt + MAX_DRAIN;
        self.drain_until = at + constants.run_off(queue * self.depth).min(longest);
        self.hold_until = self.drain_until + (2 * min_rtt).max(MIN_HOLD) + queue;
        self.check_at = self.hold_until;
        self.held = report;
        self.known_rtt = self.rtt.get();
    }

    fn give_up(&mut self, at: u64) {
        self.depth = 0;
        self.empty_at = at;
    }

    /// Reports show what the drain left, and not the path.
    pub fn is_holding(&self, at: u64) -> bool {
        at < self.hold_until
    }

    /// Room for the queue in the window, us.
    pub fn room(&self, constants: &Constants, report: u64, min_rtt: u64) -> u64 {
        let target = self.target(constants, report);
        let off = (target - self.queue).clamp(-target, target);
        let more = if self.is_growing && self.queue < target {
            (min_rtt / GROWTH_PART).min(2 * target.cast_unsigned())
        } else {
            0
        };
        (target + off / AHEAD).max(0).cast_unsigned() + more
    }

    /// What the rate becomes within a round trip, thousandths of the report.
    pub fn gain(&self, constants: &Constants, report: u64, min_rtt: u64) -> u64 {
        let rtt = self.round_trip(min_rtt);
        if self.competing.is_on {
            let window = self.competing.window().min(MAX_AMOUNT);
            let rate = (window * 1_000_000 / rtt).min(MAX_AMOUNT);
            rate * ONE / report.max(1)
        } else if self.is_draining {
            constants.draining_gain
        } else {
            ONE * (min_rtt + self.room(constants, report, min_rtt)) / rtt
        }
    }

    /// The window, bytes.
    pub fn window(&self, constants: &Constants, report: u64, min_rtt: u64, mss: u64) -> u64 {
        let window = if self.competing.is_on {
            self.competing.window()
        } else {
            let spare = mss * (ONE - self.backoff) / ONE;
            window(ONE, report, min_rtt + self.room(constants, report, min_rtt)) + spare
        };
        window.max(MIN_WINDOW * mss)
    }

    /// The pacing rate while no drain is under way, bytes a second.
    pub fn pacing_rate(&self, constants: &Constants, window: u64, min_rtt: u64) -> u64 {
        let window = window.min(MAX_AMOUNT);
        window * constants.pacing_gain / ONE * 1_000_000 / self.round_trip(min_rtt)
    }
}

#[cfg(test)]
mod tests;
