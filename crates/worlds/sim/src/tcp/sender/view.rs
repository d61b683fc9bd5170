//! What there is to see of a sender.

use super::{Counters, Episode, Sender};
use queue::Ecn;
use units::{BitRate, Bytes, Duration, Packets};

impl Sender {
    /// Window that congestion control allows.
    pub(super) fn cwnd(&self) -> u64 {
        let in_recovery = self.episode.as_ref().and_then(Episode::cwnd);
        in_recovery.unwrap_or_else(|| self.controller.cwnd())
    }

    /// Written and not yet sent.
    pub(in super::super) fn unsent(&self) -> u64 {
        self.buffer.end().saturating_sub(self.snd_nxt)
    }
    pub(in super::super) fn space(&self) -> Bytes {
        if self.is_closing {
            Bytes::ZERO
        } else {
            Bytes::new(self.buffer.space(self.board.una()))
        }
    }
    /// All data and the FIN are acknowledged.
    pub(in super::super) fn is_finished(&self) -> bool {
        self.is_fin_sent && self.board.una() == self.snd_nxt
    }
    /// All that was written is acknowledged, and the FIN if there is one.
    pub(in super::super) fn is_all_acked(&self) -> bool {
        self.board.is_empty() && self.unsent() == 0 && (self.is_fin_sent || !self.is_closing)
    }
    /// The peer does not answer any more.
    pub(in super::super) fn has_given_up(&self) -> bool {
        self.has_given_up
    }
    pub(in super::super) fn rto(&self) -> Duration {
        self.rtt.rto()
    }
    pub(in super::super) fn rtt(&self) -> (Option<Duration>, Option<Duration>) {
        (self.rtt.srtt(), self.rtt.min_rtt())
    }
    pub(in super::super) fn windows(&self) -> (Bytes, Option<Bytes>, Option<BitRate>) {
        let c = &self.controller;
        (Bytes::new(self.cwnd()), c.ssthresh(), c.pacing_rate())
    }
    pub(in super::super) fn in_flight(&self) -> Bytes {
        Bytes::new(self.board.in_flight())
    }
    pub(in super::super) fn peer_window(&self) -> Bytes {
        Bytes::new(self.peer_edge.saturating_sub(self.board.una()))
    }
    pub(in super::super) fn counters(&self) -> &Counters {
        &self.counters
    }
    pub(in super::super) fn lost(&self) -> Packets {
        Packets::new(self.board.lost_ever())
    }
    /// Payload acknowledged cumulatively.
    pub(in super::super) fn acked(&self) -> Bytes {
        let una = self.board.una().min(self.buffer.end());
        Bytes::new(una.saturating_sub(1))
    }
    /// SND.NXT.
    pub(in super::super) fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }
    /// The codepoint of new data, and how many marked packets the peer's counters have shown.
    pub(in super::super) fn marks(&self) -> (Ecn, Packets) {
        (self.marks.codepoint(), self.marks.reported())
    }
    pub(in super::super) fn controller_name(&self) -> &'static str {
        self.controller.name()
    }

    #[cfg(test)]
    pub(in super::super) fn check(&self) {
        self.board.check();
        assert!(self.snd_nxt <= self.peer_edge + u64::from(self.is_fin_sent));
        let len = self.snd_nxt - self.board.una().max(1);
        assert!(self.board.outstanding() <= len);
        if !self.board.is_empty() && !self.has_given_up {
            assert!(
                self.timers.retransmission < units::Instant::MAX,
                "data in flight without a timer"
            );
        }
    }
}
