//! Recovery episodes: when they begin, end, and are undone.
//!
//! Source: RFC 6675 5 (entering and leaving), RFC 6298 5 (timeouts), RFC 8985 6.3; RFC 4015 with
//! RFC 3522 (Eifel: by timestamps) and RFC 3708 (by DSACKs) for those that were spurious.
//!
//! *Deviations*
//! - A fast recovery that is undone counts as reordering for RACK (RFC 8985 6.2 step 3 leaves out
//!   segments sent again), as in Linux `tcp_try_undo_partial`.
//! - An undo that only DSACKs prove must come before the episode ends; Linux can undo a little later.
//! - A timeout in a window that was reduced for a mark reduces ssthresh once more; Linux does not.
//! - F-RTO (RFC 5682) is left out: timestamps record the same.

use super::probe::TailProbe;
use super::prr::{Prr, PrrAck};
use super::scoreboard::{Delivery, Losses};
use super::transmit::Urgent;
use super::{AckFacts, Sender};
use ::recovery::EpisodeEnd;
use cc::{LossKind, LossSample};
use units::{Bytes, Instant, Packets};

/// Timeouts or unanswered probes in a row after which the peer is given up (Linux `tcp_retries2`).
pub(super) const MAX_RETRIES: u32 = 15;

/// A recovery, or the reduction after a mark, under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    kind: LossKind,
    /// It ends as this position is acknowledged: SND.NXT as the loss was found.
    end: u64,
    /// SND.UNA at its beginning: DSACKs below are of something else.
    began_una: u64,
    /// When the first segment was sent again in it.
    first_resent_at: Option<Instant>,
    /// Segments sent again in it and not reported as received twice.
    unproven_resends: u64,
    /// Payload sent again in it.
    resent: u64,
    /// Sending rule, while it is fast and the controller leaves it to the transport.
    prr: Option<Prr>,
}

impl Episode {
    /// One that begins, with the position at which it ends.
    pub(super) fn new(kind: LossKind, end: u64, una: u64, prr: Option<Prr>) -> Self {
        Self {
            kind,
            end,
            began_una: una,
            first_resent_at: None,
            unproven_resends: 0,
            resent: 0,
            prr,
        }
    }

    /// Something was lost; not only marked.
    fn is_repair(&self) -> bool {
        self.kind != LossKind::Ecn
    }

    /// Whether it ends with the acknowledgement of all before `una`. After a mark that is of new data
    /// sent since (Linux: so that its CWR has arrived, and ECE means a new mark).
    fn is_over(&self, una: u64) -> bool {
        una > self.end || (una == self.end && self.is_repair())
    }

    fn is_fast(&self) -> bool {
        self.kind == LossKind::Fast
    }

    /// What may be in flight, if PRR governs that.
    pub(super) fn cwnd(&self) -> Option<u64> {
        self.prr.map(|prr| prr.cwnd())
    }

    /// An acknowledgement arrived, or losses were found by a timer.
    pub(super) fn on_ack(&mut self, ack: &PrrAck) {
        if let Some(prr) = &mut self.prr {
            prr.on_ack(ack);
        }
    }

    /// Payload was sent, new or again.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }

    /// A segment was sent again.
    pub(super) fn on_resent(&mut self, now: Instant, bytes: u64) {
        if !self.is_repair() {
            return; // a probe
        }
        self.first_resent_at.get_or_insert(now);
        self.unproven_resends += 1;
        self.resent += bytes;
    }

    fn end(&self, is_spurious: bool) -> EpisodeEnd {
        EpisodeEnd {
            retransmitted: Bytes::new(self.resent),
            is_fast: self.is_fast(),
            is_spurious,
        }
    }

    /// The acknowledgement answers something sent before the first retransmission: what was thought
    /// lost has arrived (RFC 3522 3.2 step 5).
    fn predates_resending(&self, ts_ecr: Instant) -> bool {
        self.first_resent_at.is_some_and(|at| ts_ecr < at)
    }
}

impl Sender {
    /// Losses are being repaired.
    pub(super) fn is_repairing(&self) -> bool {
        self.episode.as_ref().is_some_and(Episode::is_repair)
    }

    /// Counts what was received twice: RFC 8985 6.2 step 4 and RFC 3708.
    pub(super) fn on_dsack(&mut self, facts: &AckFacts) {
        let Some(duplicate) = facts.dsack else { return };
        if !self.tail_probe.is_outstanding() {
            self.rack.on_dsack(self.board.una(), self.snd_nxt);
        }
        if let Some(episode) = &mut self.episode
            && duplicate.start >= episode.began_una
        {
            let segments = (duplicate.end - duplicate.start).div_ceil(self.mss);
            episode.unproven_resends = episode.unproven_resends.saturating_sub(segments);
        }
    }

    fn is_spurious(&self, episode: &Episode, facts: &AckFacts) -> bool {
        let is_disproved = episode.first_resent_at.is_some()
            && episode.unproven_resends == 0
            && facts.dsack.is_some();
        // While other repeats are on their way a fast recovery may still have a real loss.
        let is_decided =
            !episode.is_fast() || facts.ack >= episode.end || self.board.resent_in_flight() == 0;
        is_disproved || facts.is_advance && is_decided && episode.predates_resending(facts.ts_ecr)
    }

    /// Ends, undoes or begins an episode after an acknowledgement. Returns the losses that stand.
    pub(super) fn update_episode(
        &mut self,
        facts: &AckFacts,
        delivery: &Delivery,
        found: Losses,
    ) -> Losses {
        if let Some(episode) = &self.episode {
            if episode.is_repair() && self.is_spurious(episode, facts) {
                if episode.is_fast() {
                    self.rack.on_reordering();
                }
                let end = episode.end(true);
                self.undo(facts.now, &end);
                return Losses::default();
            }
            if episode.is_over(self.board.una()) {
                if episode.is_repair() {
                    self.rack.on_recovery_end();
                }
                let end = episode.end(false);
                self.episode = None;
                self.controller.on_recovery_end(facts.now, false);
                self.validate_recovery_end(facts.now, &end);
            }
        }
        if found.segments > 0 && !self.is_repairing() && self.is_congestion(facts.now, &found) {
            self.begin_fast(facts.now, &found, delivery.bytes);
        } else if facts.is_echo {
            self.on_echo(facts, delivery.bytes);
        }
        found
    }

    /// RFC 4015 3: as if nothing had been lost.
    fn undo(&mut self, now: Instant, end: &EpisodeEnd) {
        self.board.unmark_losses();
        self.episode = None;
        self.rack.on_recovery_end();
        self.counters.spurious_recoveries += Packets::new(1);
        self.controller.on_recovery_end(now, true);
        self.validate_recovery_end(now, end);
    }

    /// RFC 6675 5: the first losses were found; `delivered` by the acknowledgement that showed them.
    /// RFC 3168 6.1.2: in a window that was reduced for a mark they reduce nothing again.
    fn begin_fast(&mut self, now: Instant, found: &Losses, delivered: u64) {
        let reduction = self.episode.take().and_then(|episode| episode.prr);
        let prr = reduction.or_else(|| {
            self.inform_of_loss(now, LossKind::Fast, found);
            self.begin_prr(delivered)
        });
        self.episode = Some(Episode::new(
            LossKind::Fast,
            self.snd_nxt,
            self.board.una(),
            prr,
        ));
        self.tail_probe = TailProbe::default();
        self.counters.recoveries += Packets::new(1);
    }

    /// The sending rule of an episode that begins, if the controller leaves it to the transport.
    pub(super) fn begin_prr(&self, delivered: u64) -> Option<Prr> {
        // RFC 9937 6: flight size, less what was sacked before this acknowledgement
        let recover_fs = self.board.outstanding() + delivered;
        let target = self.controller.cwnd();
        (!self.controller.governs_recovery()).then(|| Prr::begin(recover_fs, target, self.mss))
    }

    /// Whether losses begin an episode. If not, they are repeated as the window allows, and that is
    /// all. A window that was reduced for a mark is not reduced for them: there is nothing to decide.
    fn is_congestion(&mut self, now: Instant, found: &Losses) -> bool {
        let sample = LossSample {
            kind: LossKind::Fast,
            lost: Bytes::new(found.bytes),
            bytes_in_flight: Bytes::new(self.board.in_flight()),
            lost_sent_at: found.first_sent_at.unwrap_or(now),
        };
        self.episode.is_some() || self.controller.is_congestion(now, &sample)
    }

    pub(super) fn inform_of_loss(&mut self, now: Instant, kind: LossKind, found: &Losses) {
        self.validate_congestion(now);
        let sample = LossSample {
            kind,
            lost: Bytes::new(self.board.lost()),
            bytes_in_flight: Bytes::new(self.board.in_flight()),
            lost_sent_at: found.first_sent_at.unwrap_or(now),
        };
        self.controller.on_loss(now, &sample);
        self.marks.on_reduced(self.snd_nxt);
    }

    /// RFC 8985 6.2 step 5: the time of some segments has run out without another acknowledgement.
    pub(super) fn on_reordering_timer(&mut self, now: Instant) {
        let found = self.detect_losses(now);
        if found.segments == 0 {
            return;
        }
        if !self.is_repairing() && self.is_congestion(now, &found) {
            self.begin_fast(now, &found, 0);
        }
        let in_flight = self.board.in_flight();
        if let Some(episode) = &mut self.episode {
            episode.on_ack(&PrrAck {
                delivered: 0,
                in_flight,
                is_safe: false,
            });
        }
    }

    /// RFC 6298 5.4 to 5.6: the retransmission timer ran out.
    pub(super) fn on_retransmission_timer(&mut self, now: Instant) {
        self.timers.retransmission = Instant::MAX;
        if self.board.is_empty() {
            return;
        }
        self.timeouts_in_a_row += 1;
        if self.timeouts_in_a_row > MAX_RETRIES {
            self.has_given_up = true;
            return;
        }
        self.rtt.back_off();
        self.counters.timeouts += Packets::new(1);
        let reo_wnd = self.reordering_window();
        let mut found = self.board.on_timeout(now, &self.rack, reo_wnd);
        found.first_sent_at = found.first_sent_at.or(self.board.head_sent_at());
        self.begin_timeout(now, &found);
        self.urgent = Urgent::Resend;
        self.tail_probe = TailProbe::default();
        self.timers.probe = Instant::MAX;
        self.timers.reordering = Instant::MAX;
        self.timers.retransmission = self.rtt.deadline(now);
    }

    /// A timeout that repeats before anything was acknowledged finds cwnd at one segment already.
    fn begin_timeout(&mut self, now: Instant, found: &Losses) {
        if self.timeouts_in_a_row == 1 {
            self.inform_of_loss(now, LossKind::Timeout, found);
        }
        match &mut self.episode {
            Some(episode) => {
                episode.kind = LossKind::Timeout;
                episode.prr = None;
                episode.end = self.snd_nxt;
            }
            None => {
                let (end, una) = (self.snd_nxt, self.board.una());
                self.episode = Some(Episode::new(LossKind::Timeout, end, una, None));
                self.counters.recoveries += Packets::new(1);
            }
        }
    }
}
