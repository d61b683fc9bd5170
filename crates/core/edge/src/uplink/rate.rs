//! The rate of a UE's radio, from what its modem has sent between two of its statuses.
//!
//! ```text
//!   the modem had something to send all the time:  r = sent / time,   R += time / (time + 20 ms) (r - R)
//!   it ran dry while packets waited above it:      R = 1.25 max(R, r)
//!   it had nothing else to send:                   R = max(R, r)
//!   nothing was sent, and just after:              R stays (no grant yet, a handover, an outage)
//! ```
//! R is known from the first rate of the first kind on, until there was none of the first two kinds for 200 ms: a radio that
//! is not a bottleneck has no rate, and nothing is to wait for it.
//!
//! Rates in bytes per second.
//!
//! *Deviations* from a bottleneck's rate: statuses show both ends of an interval only, so that a buffer that was empty in
//! between counts as busy.

use super::ModemStatus;
use units::{BitRate, Duration, Instant};

/// Forgetting time, seconds.
const AVERAGED: f64 = 0.02;
/// What a rate that was too low is raised by at each status.
const GROWTH: f64 = 1.25;
/// How long a rate holds.
const KEPT: Duration = Duration::from_millis(200);

/// What the radio takes of a UE.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrantedRate {
    last: Option<ModemStatus>,
    /// Something was sent in the interval before.
    was_granted: bool,
    rate: f64,
    /// When the rate was last found.
    found_at: Option<Instant>,
}

impl GrantedRate {
    /// A status, and whether packets wait above the modem. The rate, where it is known.
    pub fn on_status(&mut self, status: &ModemStatus, waits_above: bool) -> Option<BitRate> {
        let last = self.last.replace(*status);
        if let Some(last) = last.filter(|last| last.at < status.at) {
            self.follow(&last, status, waits_above);
        }
        let found_at = self.found_at?;
        if status.at.saturating_since(found_at) > KEPT {
            self.found_at = None;
            return None;
        }
        Some(BitRate::from_bps((self.rate * 8.0) as u64))
    }

    fn follow(&mut self, last: &ModemStatus, status: &ModemStatus, waits_above: bool) {
        let sent = status.sent.saturating_sub(last.sent);
        let is_whole = core::mem::replace(&mut self.was_granted, !sent.is_zero());
        if sent.is_zero() || !is_whole {
            return;
        }
        let time = (status.at - last.at).as_secs_f64();
        let rate = sent.get() as f64 / time;
        let is_busy = !last.queue.is_zero() && !status.queue.is_zero();
        let known = self.found_at.is_some();
        if is_busy {
            let weight = if known { time / (time + AVERAGED) } else { 1.0 };
            self.rate += weight * (rate - self.rate);
        } else if known {
            let growth = if waits_above { GROWTH } else { 1.0 };
            self.rate = self.rate.max(rate) * growth;
        }
        if is_busy || (known && waits_above) {
            self.found_at = Some(status.at);
        }
    }
}
