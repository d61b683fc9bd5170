//! What to send next.
//!
//! Source: RFC 6675 5 (lost segments first, then new data, as the pipe allows), RFC 3042 (limited
//! transmit: sacked segments leave the pipe, so that new data follows them), RFC 1122 4.2.3.4 (Nagle,
//! silly windows) with Minshall's rule as in Linux, RFC 9293 3.8.6.1 (zero-window probes).
//!
//! *Deviations*
//! - A FIN needs no window, so that a closed window cannot hold up the end of a stream.
//! - Payload is not reduced for the SACK option.

use super::Sender;
use super::probe::TailProbe;
use super::recovery::MAX_RETRIES;
use super::scoreboard::{Record, Status};
use ::recovery::is_full;
use cc::{PacketStamp, Sent};
use queue::Ecn;
use units::{Bytes, Instant, Packets};

/// A segment to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Outgoing {
    pub(in super::super) seq: u64,
    pub(in super::super) len: u32,
    pub(in super::super) is_fin: bool,
    pub(in super::super) origin: Instant,
    pub(in super::super) is_retransmission: bool,
    /// The ECN field of the IP header.
    pub(in super::super) ecn: Ecn,
    /// Reports that the window was reduced (CWR).
    pub(in super::super) has_reduced: bool,
}

/// What must be sent whatever cwnd and pacing allow: one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgent {
    None,
    /// The first lost segment, after a timeout.
    Resend,
    /// A tail loss probe.
    TailProbe,
    /// A zero-window probe.
    WindowProbe,
}

/// The new data that could be sent, were it not for cwnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NewData {
    /// So many bytes, with or without FIN.
    Segment(u32, bool),
    /// There is none, or Nagle holds it back.
    Nothing,
    /// The peer's window is too small.
    WindowClosed,
}

impl Sender {
    /// The next segment that may leave now. To be called until it has none.
    pub(in super::super) fn poll(&mut self, now: Instant) -> Option<Outgoing> {
        if !self.is_active {
            return None;
        }
        if self.urgent != Urgent::None
            && let Some(outgoing) = self.send_urgent(now)
        {
            return Some(outgoing);
        }
        let outgoing = self.send_allowed(now);
        if outgoing.is_none() {
            self.end_batch(now);
        }
        outgoing
    }

    fn send_urgent(&mut self, now: Instant) -> Option<Outgoing> {
        match core::mem::replace(&mut self.urgent, Urgent::None) {
            Urgent::None => None,
            Urgent::Resend => self.resend_lost(now),
            Urgent::TailProbe => self.send_tail_probe(now),
            Urgent::WindowProbe => Some(self.send_window_probe(now)),
        }
    }

    /// Lost segments first, then new data, if cwnd and pacing allow it.
    fn send_allowed(&mut self, now: Instant) -> Option<Outgoing> {
        let resend = self.board.next_to_resend().map(|record| record.len);
        let new = if resend.is_some() {
            NewData::Nothing
        } else {
            self.new_data()
        };
        let len = match (resend, new) {
            (Some(len), _) | (None, NewData::Segment(len, _)) => len,
            (None, NewData::WindowClosed) => {
                self.start_persisting(now);
                return None;
            }
            (None, NewData::Nothing) => return None,
        };
        if !self.cwnd_allows(len) || !self.pacing_allows(now) {
            return None;
        }
        match new {
            NewData::Segment(len, is_fin) => Some(self.send_new(now, len, is_fin)),
            _ => self.resend_lost(now),
        }
    }

    fn cwnd_allows(&self, len: u32) -> bool {
        let in_flight = self.board.in_flight();
        in_flight + u64::from(len) <= self.cwnd() || in_flight == 0
    }

    fn pacing_allows(&mut self, now: Instant) -> bool {
        self.timers.pacing = Instant::MAX;
        let at = self.pacer.send_time();
        if self.controller.pacing_rate().is_some() && now < at {
            self.timers.pacing = at;
            return false;
        }
        true
    }

    /// The next segment of new data that window and Nagle let go.
    fn new_data(&self) -> NewData {
        let unsent = self.unsent();
        let ends = |len: u64| self.is_closing && !self.is_fin_sent && len == unsent;
        let window = self.peer_edge.saturating_sub(self.snd_nxt);
        let len = self.mss.min(unsent).min(window);
        let segment = NewData::Segment(len as u32, ends(len));
        if unsent == 0 {
            if ends(0) { segment } else { NewData::Nothing }
        } else if len == self.mss {
            segment
        } else if len < unsent {
            // RFC 1122 4.2.3.4 (3): a piece only if it fills half of the greatest window
            let is_worthwhile = len > 0 && len >= self.max_peer_window / 2;
            if is_worthwhile {
                segment
            } else {
                NewData::WindowClosed
            }
        } else if self.nodelay || self.is_closing || self.last_small_end <= self.board.una() {
            segment
        } else {
            NewData::Nothing
        }
    }

    fn send_new(&mut self, now: Instant, len: u32, is_fin: bool) -> Outgoing {
        let is_idle = self.board.is_empty();
        if is_idle && self.counters.segments_sent > Packets::ZERO {
            self.resume(now);
        }
        let seq = self.snd_nxt;
        let payload_end = seq + u64::from(len);
        let record = Record {
            seq,
            sent_at: now,
            origin: self.buffer.origin_before(payload_end, now),
            stamp: self.stamp(now, len, false),
            len,
            is_fin,
            is_resent: false,
            status: Status::InFlight,
        };
        self.board.push(record);
        self.snd_nxt = record.end();
        self.is_fin_sent |= is_fin;
        if u64::from(len) < self.mss {
            self.last_small_end = self.snd_nxt;
        }
        self.timers.persist = Instant::MAX;
        self.window_probes = 0;
        self.after_sending(now, &record);
        self.schedule_probe(now);
        if len == 0 {
            return outgoing(&record);
        }
        Outgoing {
            ecn: self.marks.codepoint(),
            has_reduced: self.marks.take_reduced(),
            ..outgoing(&record)
        }
    }

    fn resend_lost(&mut self, now: Instant) -> Option<Outgoing> {
        let len = self.board.next_to_resend()?.len;
        let is_head = self.board.resends_head();
        let stamp = self.stamp(now, len, true);
        let record = self.board.resend_lost(now, stamp)?;
        self.after_resending(now, &record);
        if is_head {
            self.timers.retransmission = self.rtt.deadline(now);
        }
        Some(outgoing(&record))
    }

    /// RFC 8985 7.3, `TLP_send_probe`: new data if there is any, else the last segment again.
    fn send_tail_probe(&mut self, now: Instant) -> Option<Outgoing> {
        if self.board.is_empty() {
            return None;
        }
        let window = self.peer_edge.saturating_sub(self.snd_nxt);
        let unsent = self.unsent();
        let len = self.mss.min(unsent).min(window);
        let sent = if len > 0 {
            let is_fin = self.is_closing && len == unsent;
            let sent = self.send_new(now, len as u32, is_fin);
            self.tail_probe = TailProbe::sent(self.snd_nxt, false);
            sent
        } else {
            let len = self.board.last_in_flight_len()?;
            let stamp = self.stamp(now, len, true);
            let record = self.board.resend_last(now, stamp)?;
            self.after_resending(now, &record);
            self.tail_probe = TailProbe::sent(self.snd_nxt, true);
            outgoing(&record)
        };
        self.counters.probes += Packets::new(1);
        self.timers.probe = Instant::MAX;
        Some(sent)
    }

    /// What fits into a small window, or a segment without payload below it, which the peer must
    /// answer.
    fn send_window_probe(&mut self, now: Instant) -> Outgoing {
        let window = self.peer_edge.saturating_sub(self.snd_nxt);
        let unsent = self.unsent();
        let len = self.mss.min(unsent).min(window);
        if len > 0 {
            let probe = self.send_new(now, len as u32, self.is_closing && len == unsent);
            // RFC 3168 6.1.6
            return Outgoing {
                ecn: Ecn::NotEct,
                ..probe
            };
        }
        let seq = self.board.una().saturating_sub(1);
        Outgoing {
            seq,
            len: 0,
            is_fin: false,
            origin: now,
            is_retransmission: true,
            ecn: Ecn::NotEct,
            has_reduced: false,
        }
    }

    /// Reports the controller of a segment; one without payload does not concern it.
    fn stamp(&mut self, now: Instant, len: u32, is_retransmission: bool) -> PacketStamp {
        if len == 0 {
            return PacketStamp::default();
        }
        let packet = Sent {
            bytes: Bytes::new(u64::from(len)),
            bytes_in_flight: Bytes::new(self.board.in_flight()),
            is_retransmission,
        };
        self.controller.on_sent(now, &packet)
    }

    fn after_resending(&mut self, now: Instant, record: &Record) {
        self.counters.retransmits += Packets::new(1);
        self.counters.bytes_resent += Bytes::new(u64::from(record.len));
        if let Some(episode) = &mut self.episode {
            episode.on_resent(now, u64::from(record.len));
        }
        self.after_sending(now, record);
    }

    fn after_sending(&mut self, now: Instant, record: &Record) {
        let len = u64::from(record.len);
        self.has_sent = true;
        self.last_sent_at = now;
        self.counters.segments_sent += Packets::new(1);
        if let Some(rate) = self.controller.pacing_rate() {
            self.pacer.on_sent(now, rate, Bytes::new(len));
        }
        if let Some(episode) = &mut self.episode {
            episode.on_sent(len);
        }
        if self.timers.retransmission == Instant::MAX {
            self.timers.retransmission = self.rtt.deadline(now);
        }
    }

    /// All that may leave now has left.
    fn end_batch(&mut self, now: Instant) {
        self.is_active = false;
        let in_flight = self.board.in_flight();
        let [flight, segment, cwnd] = [in_flight, self.mss, self.cwnd()].map(Bytes::new);
        let is_limited = is_full(flight, segment, cwnd);
        if self.has_sent || is_limited {
            self.on_batch(now, is_limited);
        }
        self.has_sent = false;
        // draft-cheng-iccrg-delivery-rate-estimation 3.4
        if !is_limited && self.unsent() < self.mss && self.board.lost() == 0 {
            self.controller.on_app_limited(now, Bytes::new(in_flight));
        }
    }

    /// RFC 9293 3.8.6.1: with nothing in flight, nothing would record that the window opened.
    fn start_persisting(&mut self, now: Instant) {
        if self.board.is_empty() && self.timers.persist == Instant::MAX {
            self.timers.persist = now + self.rtt.backed_off(self.window_probes);
        }
    }

    /// The window stayed closed for a timeout.
    pub(super) fn on_persist_timer(&mut self) {
        self.timers.persist = Instant::MAX;
        if !self.board.is_empty() || self.unsent() == 0 {
            return;
        }
        self.unanswered_window_probes += 1;
        if self.unanswered_window_probes > MAX_RETRIES {
            self.has_given_up = true;
            return;
        }
        self.window_probes += 1;
        self.urgent = Urgent::WindowProbe;
    }
}

fn outgoing(record: &Record) -> Outgoing {
    Outgoing {
        seq: record.seq,
        len: record.len,
        is_fin: record.is_fin,
        origin: record.origin,
        is_retransmission: record.is_resent,
        ecn: Ecn::NotEct,
        has_reduced: false,
    }
}
