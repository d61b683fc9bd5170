//! Mode `default` beside flows that do not let the queue run off: how much of the bottleneck is one's own, and
//! the window that keeps nearly half of it.
//!
//! ```text
//!   share    = fall of the queue / what it would fall by if all of it were one's own
//!   capacity = report / share
//!   window   = 0.48 capacity x RTT, an eighth above and an eighth below in turns
//! ```
//!
//! - **Entered** when the queue has been longer than twice its target for five round trips and has not fallen
//!   by a quarter, or the longest drain has not emptied it. The window begins with what the report was before this flow gave way.
//! - **Capacity.** In one FIFO a flow with s of the bytes in it has s of its rate. A window that is a quarter
//!   longer for two round trips and then shorter again lengthens and shortens the queue by s / 4 of the round
//!   trip. What the queue does by itself, as long as it is steady, is taken out by comparing with the mean of
//!   before and after. Where segments are lost the buffer is full and shows nothing: what more is delivered of
//!   what more is sent, (1 - s) / 4, is taken instead.
//! - **Nearly half**, so that two flows that compete only with one another leave the queue to run off; the
//!   next trial ends it. More than two do not. Cycles in which more than a tenth is lost take from the part, down to a tenth of the capacity.
//! - **Left** when the queue has been nearly empty for 0.4 s and four round trips (BBR's ProbeRTT is shorter),
//!   when the capacity is what is reported, and for a *trial* after 1, 2, 4, 8, then every 16 s: the queue
//!   is steered to the target again. If others take what is given up, competing goes on as it was.
//!
//! Times in microseconds, amounts in bytes, rates in bytes a second.

use super::Constants;
use super::server::{ONE, added};

/// What losses may make of the part of the bottleneck that is aimed at, thousandths.
const MIN_SHARE: u64 = 100;
/// It comes back by so much in a cycle, thousandths.
const SHARE_STEP: u64 = 10;
/// A cycle with losses leaves so much of it, thousandths.
const BACKOFF: u64 = 930;
/// A cycle in which more than one part in so many is lost.
const LOSSES: u64 = 10;
/// The window is this part of its base above and below it.
const PART: u64 = 8;
/// Phases of a cycle, a round trip each: above, above and measured, below, below and measured.
const PHASES: u64 = 4;
/// Weight of what was known of the capacity, against one cycle.
const MEMORY: u64 = 7;
/// Largest capacity, in reports.
const MAX_REPORTS: u64 = 16;
/// Capacity that is taken for one's own: less than a seventh beyond the report.
const ALONE: u64 = 7;
/// Cycles before it is.
const CYCLES: u64 = 4;
/// Base of a cycle over that of the one before, quarters: least and most.
const CHANGES: [u64; 2] = [3, 6];
/// Round trips of a long queue after which a flow competes.
const LONG_ROUNDS: u64 = 5;
/// Time of a queue that is nearly empty after which it does not, beside four round trips, us.
const EMPTY_TIME: u64 = 400_000;
/// Time until the first trial, and the longest until another, us.
const TRIALS: [u64; 2] = [1_000_000, 16_000_000];
/// Round trips of a trial until it is judged.
const TRIAL_ROUNDS: u64 = 3;
/// Time for which it is looked at, us.
const WATCH: u64 = 10_000_000;
/// What a report has to fall to in a trial for others to have taken it, tenths.
const TAKEN: u64 = 5;
/// Largest rate that is reckoned with.
const MAX_RATE: u64 = 1 << 36;

/// What a window of RTT_min has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it ended, us.
    pub at: u64,
    /// The least queue, us.
    pub least_queue: i64,
    /// The queue is nearly empty.
    pub is_empty: bool,
    /// Target of the queue, us.
    pub target: i64,
    /// The report.
    pub report: u64,
}

/// Whether this flow competes, and what it has measured of the bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Competing {
    /// It does.
    pub is_on: bool,
    /// Since when the queue has been long, us; 0 if it is not.
    pub long_since: u64,
    /// The queue then, us; one that has fallen by a quarter counts anew.
    pub long_queue: i64,
    /// Largest report since it became long.
    pub long_report: u64,
    /// Since when the queue has been nearly empty, us; 0 if it is not.
    pub empty_since: u64,
    /// When it began, or went on after a trial, us.
    pub began: u64,
    /// Time until the next trial, us.
    pub lasts: u64,
    /// When the trial under way is judged, us; 0 if there is none.
    pub trial_at: u64,
    /// The queue as it began, us.
    pub trial_queue: i64,
    /// The report as it began.
    pub trial_report: u64,
    /// Base of the window, bytes.
    pub base: u64,
    /// Part of the bottleneck that is aimed at, thousandths.
    pub share: u64,
    /// Phase of the cycle.
    pub phase: u64,
    /// When the phase began, us.
    pub phase_at: u64,
    /// Cycles that have ended.
    pub cycles: u64,
    /// Smoothed round trip, us.
    pub rtt: u64,
    /// Sum of the round trips of a measured phase, us.
    pub rtt_sum: u64,
    /// Their number.
    pub rtt_count: u64,
    /// Acknowledged in this cycle, bytes.
    pub acked: u64,
    /// Of that, before this phase.
    pub acked_before: u64,
    /// Lost in this cycle, bytes.
    pub lost: u64,
    /// Mean round trip of the phase above, us.
    pub high: u64,
    /// Rate of delivery in it.
    pub high_rate: u64,
    /// Mean round trip of the last phase below, us; 0 before any.
    pub low: u64,
    /// Rate of delivery in it.
    pub low_rate: u64,
    /// What the queue falls by, smoothed, us.
    pub fall: u64,
    /// What the window falls by, smoothed, bytes.
    pub given: u64,
}

impl Competing {
    /// An acknowledgement came; a round trip of 0 is none.
    pub fn take(&mut self, rtt: u64, acked: u64, lost: u64) {
        if !self.is_on {
            return;
        }
        self.acked = added(self.acked, acked);
        self.lost = added(self.lost, lost);
        if rtt > 0 {
            self.rtt = (7 * self.rtt + rtt) / 8;
            if self.phase % 2 == 1 {
                self.rtt_sum += rtt;
                self.rtt_count += 1;
            }
        }
    }

    /// A window of RTT_min with samples of the queue ended.
    pub fn look(&mut self, seen: &Seen, min_rtt: u64) {
        if seen.least_queue > 2 * seen.target {
            if self.long_since == 0 {
                self.long_report = 0;
            }
            if self.long_since == 0 || 4 * seen.least_queue < 3 * self.long_queue {
                self.long_since = seen.at;
                self.long_queue = seen.least_queue;
            }
            self.long_report = self.long_report.max(seen.report);
        } else {
            self.long_since = 0;
        }
        if !seen.is_empty {
            self.empty_since = 0;
            return;
        }
        if self.empty_since == 0 {
            self.empty_since = seen.at;
        }
        if self.is_empty_for(seen.at, EMPTY_TIME + 4 * min_rtt) {
            self.is_on = false;
        }
    }

    /// The queue has been nearly empty for longer than this.
    pub fn is_empty_for(&self, at: u64, time: u64) -> bool {
        self.empty_since > 0 && at > self.empty_since + time
    }

    /// Others take what this flow gives up.
    pub fn is_due(&self, at: u64, rtt: u64) -> bool {
        self.long_since > 0 && at > self.long_since + LONG_ROUNDS * rtt
    }

    /// Begins, with the window of this report.
    pub fn begin(&mut self, constants: &Constants, at: u64, report: u64, rtt: u64) {
        let base = report * rtt / 1_000_000;
        *self = Self {
            is_on: true,
            began: at,
            lasts: TRIALS[0],
            base,
            share: constants.share,
            phase_at: at,
            rtt,
            // a quarter of all, until it is measured
            fall: rtt / 16,
            given: 2 * base / PART,
            ..Self::default()
        };
    }

    /// At each acknowledgement: the next phase if it is time. False if competing is over, for now at least.
    pub fn step(&mut self, constants: &Constants, at: u64, queue: i64, report: u64) -> bool {
        if at >= self.phase_at + self.rtt {
            self.end_phase(constants, at, report);
        }
        let is_alone = self.cycles >= CYCLES
            && self.phase == 0
            && self.capacity(report) * ALONE < report * (ALONE + 1);
        if is_alone {
            self.is_on = false;
        } else if at > self.began + self.lasts {
            self.is_on = false;
            self.trial_at = at + TRIAL_ROUNDS * self.rtt;
            self.trial_queue = queue;
            self.trial_report = report;
            self.long_since = 0;
        }
        self.is_on
    }

    /// Judges a trial: true if competing goes on.
    pub fn judge(&mut self, at: u64, queue: i64, target: i64, report: u64) -> bool {
        if self.trial_at == 0 || at <= self.trial_at {
            return false;
        }
        let is_taken = 10 * report < TAKEN * self.trial_report && 4 * queue > 5 * target;
        let is_left = 2 * queue > 3 * target && 2 * queue > self.trial_queue;
        let goes_on = is_taken || is_left;
        if goes_on {
            self.go_on(at);
        } else if at > self.trial_at + WATCH {
            self.trial_at = 0;
        }
        goes_on
    }

    fn go_on(&mut self, at: u64) {
        self.is_on = true;
        self.began = at;
        self.lasts = (2 * self.lasts).min(TRIALS[1]);
        self.trial_at = 0;
        self.phase = 0;
        self.phase_at = at;
        self.low = 0;
        self.begin_cycle();
        self.begin_phase();
    }

    fn begin_phase(&mut self) {
        self.acked_before = self.acked;
        self.rtt_sum = 0;
        self.rtt_count = 0;
    }

    fn begin_cycle(&mut self) {
        self.acked = 0;
        self.lost = 0;
    }

    fn end_phase(&mut self, constants: &Constants, at: u64, report: u64) {
        let mean = self.rtt_sum.checked_div(self.rtt_count);
        let mean = mean.unwrap_or(self.rtt);
        let delivered = (self.acked - self.acked_before) * 1_000_000;
        let rate = (delivered / (at - self.phase_at).max(1)).min(MAX_RATE);
        if self.phase == 1 {
            self.high = mean;
            self.high_rate = rate;
        }
        self.phase = (self.phase + 1) % PHASES;
        self.phase_at = at;
        if self.phase == 0 {
            self.end_cycle(constants, (mean, rate), report);
            self.begin_cycle();
        }
        self.begin_phase();
    }

    fn end_cycle(&mut self, constants: &Constants, (mean, rate): (u64, u64), report: u64) {
        self.cycles += 1;
        if self.low > 0 {
            let fall = if self.lost == 0 {
                self.high.saturating_sub(self.low.midpoint(mean))
            } else {
                let low = self.low_rate.midpoint(rate);
                let middle = low.midpoint(self.high_rate);
                let more = self.high_rate.saturating_sub(low).min(middle / 4);
                (middle / 4 - more) * self.high / middle.max(1)
            };
            let fall = fall.min(self.high / 4);
            self.fall = (MEMORY * self.fall + fall) / (MEMORY + 1);
            self.given = (MEMORY * self.given + 2 * self.base / PART) / (MEMORY + 1);
        }
        self.low = mean;
        self.low_rate = rate;
        self.share = if self.lost * LOSSES > self.acked + self.lost {
            (self.share * BACKOFF / ONE).max(MIN_SHARE)
        } else {
            (self.share + SHARE_STEP).min(constants.share)
        };
        let rtt = self.high.midpoint(mean);
        let aim = self.capacity(report) * rtt / 1_000_000 * self.share / ONE;
        let [least, most] = CHANGES;
        self.base = aim.clamp(self.base * least / 4, self.base * most / 4);
    }

    /// Of the bottleneck, bytes a second.
    pub fn capacity(&self, report: u64) -> u64 {
        let measured = self.given * 1_000_000 / self.fall.max(1);
        measured.clamp(report, MAX_REPORTS * report)
    }

    /// The window, bytes.
    pub fn window(&self) -> u64 {
        let part = self.base / PART;
        if self.phase < PHASES / 2 {
            self.base + part
        } else {
            self.base - part
        }
    }
}

#[cfg(test)]
mod tests;
