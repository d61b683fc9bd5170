//! The rate of a UE's radio, from what its modem has sent between two of its statuses.
//!
//! ```text
//!   r = sent / time,  s = what waits in the modem / r
//!   s > T:                                        R += time / (time + 20 ms) (r - R)
//!   s <= T:                                       R = max(R, r)
//!   the modem ran dry, and packets waited above:  R = 1.25 max(R, r)
//!   nothing was sent, and just after:             R stays (no grant yet, a handover, an outage)
//! ```
//! Below T the base station may have granted all that it was shown: what waits for that long waits for its grant, and the
//! radio could carry more. So the rate is a lower bound there, and one of the radio above. R is known from the first
//! rate of the radio on, until for 200 ms there was none and nothing waited above the modem: a radio that is not a bottleneck
//! has no rate, and nothing is to wait for it.
//!
//! Rates in bytes per second.

use super::ModemStatus;
use units::{BitRate, Duration, Instant};

/// Forgetting time, seconds.
const AVERAGED: f64 = 0.02;
/// What a rate that was too low is raised by at each status.
const GROWTH: f64 = 1.25;
/// How long a rate holds.
const KEPT: Duration = Duration::from_millis(200);

/// What the radio takes of a UE.
#[derive(Clone, Copy, Debug)]
pub struct GrantedRate {
    /// T, seconds.
    granted_within: f64,
    last: Option<ModemStatus>,
    /// Something was sent in the interval before.
    was_granted: bool,
    rate: f64,
    /// When the rate was last found.
    found_at: Option<Instant>,
}

impl GrantedRate {
    /// Without statuses; what has waited in the modem for `granted_within` has been granted, as far as the radio carries it.
    pub fn new(granted_within: Duration) -> Self {
        Self {
            granted_within: granted_within.as_secs_f64(),
            last: None,
            was_granted: false,
            rate: 0.0,
            found_at: None,
        }
    }

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
        let is_of_radio = status.queue.get() as f64 > rate * self.granted_within;
        let is_known = self.found_at.is_some();
        if is_of_radio {
            let weight = if is_known {
                time / (time + AVERAGED)
            } else {
                1.0
            };
            self.rate += weight * (rate - self.rate);
        } else if is_known {
            let ran_dry = status.queue.is_zero() && waits_above;
            self.rate = self.rate.max(rate) * if ran_dry { GROWTH } else { 1.0 };
        }
        if is_of_radio || (is_known && waits_above) {
            self.found_at = Some(status.at);
        }
    }
}
