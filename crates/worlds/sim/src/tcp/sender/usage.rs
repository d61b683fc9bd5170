//! Whether cwnd is what limits the sender (Linux `tcp_cwnd_validate`, `tcp_is_cwnd_limited`).

use super::controller::Controller;

/// How far the window was used in the present round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    /// cwnd was full at some time of it.
    is_limited: bool,
    /// Maximum bytes outstanding in it; not followed once it is limited.
    max_outstanding: u64,
    /// It ends as this position is acknowledged.
    until: u64,
}

impl WindowUsage {
    /// All that may be sent now was sent.
    pub(super) fn on_batch(&mut self, una: u64, snd_nxt: u64, is_limited: bool) {
        let outstanding = snd_nxt.saturating_sub(una);
        let is_more = !self.is_limited && outstanding > self.max_outstanding;
        if una >= self.until || is_limited || is_more {
            *self = Self {
                is_limited,
                max_outstanding: outstanding,
                until: snd_nxt,
            };
        }
    }

    /// In slow start half of the window is enough: cwnd may become twice what was acknowledged.
    pub(super) fn is_cwnd_limited(&self, controller: &Controller) -> bool {
        if self.is_limited {
            return true;
        }
        let cwnd = controller.cwnd();
        let is_slow_start = controller
            .ssthresh()
            .is_some_and(|ssthresh| cwnd < ssthresh.get());
        is_slow_start && cwnd < 2 * self.max_outstanding
    }
}
