//! How far the window is used, and what becomes of one that is not: [`recovery::usage`] and
//! [`recovery::validation`] of a byte stream.
//!
//! Outstanding is what lies between SND.UNA and SND.NXT, as Linux counts `packets_out`. The window is the controller's, not
//! that of PRR.

use super::Sender;
use ::recovery::{Acked, EpisodeEnd, Resume, SentState};
use cc::{AckSample, ValidatedWindow};
use units::{Bytes, Instant};

impl Sender {
    /// True if cwnd limits the sender, in this round trip.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        let window = self.controller.window();
        self.usage.is_cwnd_limited(window.cwnd, window.ssthresh)
    }

    fn limit_window(&mut self, now: Instant, limit: Option<ValidatedWindow>) {
        if let Some(limit) = limit {
            self.controller.on_window_validation(now, limit);
        }
    }

    /// New data follows on data that is all acknowledged.
    pub(super) fn resume(&mut self, now: Instant) {
        let idle = now.saturating_since(self.last_sent_at);
        let (rto, window) = (self.rtt.rto(), self.controller.window());
        match self.validation.on_resume(now, idle, rto, &window) {
            Resume::Keep => {}
            Resume::Restart => self.controller.on_restart_after_idle(now),
            Resume::Limit(limit) => self.limit_window(now, Some(limit)),
        }
    }

    /// All that may leave now has left.
    pub(super) fn on_batch(&mut self, now: Instant, is_limited: bool) {
        let (una, next) = (self.board.una(), self.snd_nxt);
        let used = Bytes::new(next.saturating_sub(una));
        self.usage.on_sent(una, next, used, is_limited);
        let sent = SentState {
            used,
            is_cwnd_limited: self.is_cwnd_limited(),
            is_open: self.episode.is_none() && self.buffer.space(una) > 0,
            rto: self.rtt.rto(),
        };
        let window = self.controller.window();
        let limit = self.validation.on_sent(now, &sent, &window);
        self.limit_window(now, limit);
    }

    /// The controller has received an acknowledgement.
    pub(super) fn validate_acked(&mut self, now: Instant, ack: &AckSample) {
        let acked = Acked {
            bytes: ack.newly_acked,
            is_round_start: ack.is_round_start,
            is_recovering: ack.is_recovering,
            srtt: ack.srtt,
        };
        let window = self.controller.window();
        let limit = self.validation.on_ack(now, &acked, &window);
        self.limit_window(now, limit);
    }

    /// The controller is about to be informed of losses or a mark.
    pub(super) fn validate_congestion(&mut self, now: Instant) {
        let flight = Bytes::new(self.snd_nxt.saturating_sub(self.board.una()));
        let window = self.controller.window();
        let limit = self.validation.on_congestion(now, flight, &window);
        self.limit_window(now, limit);
    }

    /// The controller has been informed of an episode's end.
    pub(super) fn validate_recovery_end(&mut self, now: Instant, end: &EpisodeEnd) {
        let window = self.controller.window();
        let limit = self.validation.on_recovery_end(now, end, &window);
        self.limit_window(now, limit);
    }
}
