//! What is measured of a link, and what makes a measurement invalid.

use super::super::flow::weight;
use super::Path;

/// It counts if our flows sent all that they were let for this part of the time.
const MOSTLY: f64 = 0.75;
/// Losses are many above this part of what was sent lately, and are discarded after so long, seconds.
const MANY: f64 = 0.05;
const LOSSES_TIME: f64 = 0.5;
/// Packets were lost if more than this part of what was sent was sent again.
pub(super) const LOSSY: f64 = 0.02;

/// What was lately acknowledged and sent again, bytes, both discarded alike.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    acked: f64,
    resent: f64,
}

impl Losses {
    /// `elapsed`: since the last time, seconds; acknowledged and sent again in that time, bytes.
    pub(super) fn update(&mut self, elapsed: f64, (acked, resent): (u64, u64)) {
        let kept = 1.0 - weight(elapsed, LOSSES_TIME);
        self.acked = kept * self.acked + acked as f64;
        self.resent = kept * self.resent + resent as f64;
    }

    pub(super) fn are_many(&self) -> bool {
        self.resent > MANY * (self.acked + self.resent)
    }
}

/// What makes a measurement of the link invalid.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disturbance {
    /// Nothing has been acknowledged for so long, seconds.
    silent: f64,
    /// Losses of before are repaired for so long at the most, seconds.
    repair: f64,
    repairs: bool,
}

impl Disturbance {
    /// What is sent again within so long, seconds, repairs the losses of before.
    pub(super) fn expect_repair(&mut self, time: f64) {
        self.repair = time;
    }

    /// Whether a measurement that takes `unit`, seconds, is to begin anew.
    pub(super) fn is_now(&self, unit: f64) -> bool {
        self.repairs || self.silent >= unit
    }

    /// `elapsed`: since the last time, seconds; acknowledged and sent again in that time, bytes.
    pub(super) fn update(&mut self, elapsed: f64, (acked, resent): (u64, u64)) {
        self.silent = if acked > 0 {
            0.0
        } else {
            self.silent + elapsed
        };
        self.repair = (self.repair - elapsed).max(0.0);
        self.repairs = self.repair > 0.0 && resent > 0;
    }
}

/// What is delivered from a round trip after the phase began on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measure {
    /// Acknowledged and sent again at its beginning.
    began: Option<(u64, u64)>,
    /// Seconds.
    pub(super) time: f64,
    greedy: f64,
    /// In flight, byte x seconds.
    in_flight: f64,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Delivered, byte/s.
    pub(super) rate: f64,
    /// In flight on average, bytes.
    pub(super) in_flight: f64,
    /// More than a little was sent again.
    pub(super) is_lossy: bool,
}

impl Measure {
    pub(super) fn has_begun(&self) -> bool {
        self.began.is_some()
    }

    /// `elapsed`: since the last time, seconds.
    pub(super) fn update(&mut self, elapsed: f64, path: &Path) {
        if self.has_begun() {
            self.time += elapsed;
            self.in_flight += path.in_flight * elapsed;
            self.greedy += if path.is_greedy { elapsed } else { 0.0 };
        } else {
            self.began = Some((path.acked, path.resent));
        }
    }

    /// What it has found; none if our flows did not send all that they were let.
    pub(super) fn found(&self, path: &Path) -> Option<Found> {
        let (acked, resent) = self.began?;
        if self.time <= 0.0 || self.greedy < MOSTLY * self.time {
            return None;
        }
        let [acked, resent] = [
            path.acked.saturating_sub(acked),
            path.resent.saturating_sub(resent),
        ];
        Some(Found {
            rate: acked as f64 / self.time,
            in_flight: self.in_flight / self.time,
            is_lossy: resent as f64 > LOSSY * (acked + resent) as f64,
        })
    }
}
