//! Explicit congestion notification of the sender: RFC 3168 6.1.
//!
//! | section | here |
//! | --- | --- |
//! | 6.1.2: new data is ECN-capable; ECE reduces the window, once for each window of data | `Sender::on_echo` |
//! | 6.1.2: the first new data after a reduction has CWR | `Marks::take_reduced` |
//! | 6.1.4, 6.1.5, 6.1.6: not what is sent again, acknowledgements or window probes | `transmit.rs` |
//! | 6.1.2: no reduction for a mark and a loss of one window | `Sender::begin_fast` |
//!
//! An episode of [`LossKind::Ecn`] is Linux's state CWR: PRR leads the flight to the new window, and
//! it ends once something is acknowledged that was sent after the reduction: the CWR has then reached
//! the peer's receiver.
//!
//! With accurate feedback (RFC 9768) there is neither ECE nor CWR: the peer's counters show what was marked, and an
//! acknowledgement that shows more of it is what one with ECE is otherwise.
//!
//! *Deviations*
//! - Only data is ECN-capable, as in RFC 3168; RFC 8257 3.6 would let SYN and acknowledgements be.
//! - After a recovery an echo counts once data is acknowledged that was sent after the reduction;
//!   Linux reduces again if the echo has outlived the recovery.
//! - At a window of the minimum size 6.1.2 has the sender wait for its retransmission timer; here, as in
//!   Linux, the minimum window is kept and used.

use super::super::accecn::{Ace, AckEvidence, MarkReader};
use super::super::segment::Segment;
use super::recovery::Episode;
use super::scoreboard::Delivery;
use super::{AckFacts, Sender};
use cc::LossKind;
use queue::Ecn;
use units::{Bytes, Packets};

/// The ECN state of the sender's segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Codepoint of new data; not ECT while ECN is not in use.
    codepoint: Ecn,
    /// The next new data reports that the window was reduced.
    is_cwr_due: bool,
    /// SND.NXT as the window was reduced last: marks of data before it are of the same window.
    reduced_at: u64,
    /// The peer's counters, with accurate feedback.
    reader: Option<MarkReader>,
    /// TSval of the newest acknowledgement.
    newest: Option<u32>,
}

impl Marks {
    /// ECE is what reports marks.
    pub(super) fn has_echo(self) -> bool {
        self.codepoint != Ecn::NotEct && self.reader.is_none()
    }
    pub(super) fn codepoint(self) -> Ecn {
        let is_capable = self.reader.is_none_or(|reader| reader.may_mark());
        if is_capable {
            self.codepoint
        } else {
            Ecn::NotEct
        }
    }
    /// Marked packets that the peer has reported.
    pub(super) fn reported(self) -> Packets {
        Packets::new(self.reader.map_or(0, |reader| reader.marks()))
    }
    /// The window was reduced, whatever for, with `snd_nxt` sent.
    pub(super) fn on_reduced(&mut self, snd_nxt: u64) {
        self.is_cwr_due = self.has_echo();
        self.reduced_at = snd_nxt;
    }
    /// Whether new data that leaves now has CWR.
    pub(super) fn take_reduced(&mut self) -> bool {
        core::mem::take(&mut self.is_cwr_due)
    }
}

impl Sender {
    /// ECN is in use from now on: new data has this codepoint.
    pub(in super::super) fn use_ecn(&mut self, codepoint: Ecn) {
        self.marks.codepoint = codepoint;
    }

    /// The same with accurate feedback. At a client `syn` is the codepoint with which its SYN arrived, if the peer
    /// states that.
    pub(in super::super) fn use_counters(
        &mut self,
        codepoint: Ecn,
        is_server: bool,
        syn: Option<Ecn>,
    ) {
        let mut reader = MarkReader::new(self.mss, is_server);
        reader.on_handshake_echo(syn);
        self.marks.reader = Some(reader);
        self.use_ecn(codepoint);
    }

    /// The SYN-ACK carried the option of RFC 9768.
    pub(in super::super) fn on_option_seen(&mut self) {
        if let Some(reader) = &mut self.marks.reader {
            reader.on_option_seen();
        }
    }

    /// A segment of the handshake was without ECN although accurate feedback was agreed on (RFC 9768 3.1.5).
    pub(in super::super) fn stop_ecn(&mut self) {
        if let Some(reader) = &mut self.marks.reader {
            reader.stop();
        }
    }

    /// Whether the peer's counters show marks that were not known.
    pub(super) fn reads_marks(
        &mut self,
        segment: &Segment,
        is_old: bool,
        delivery: &Delivery,
    ) -> bool {
        let marks = &mut self.marks;
        let Some(reader) = &mut marks.reader else {
            return false;
        };
        // later than the newest, or as late and with something new (Linux `tcp_accecn_process`)
        let age = marks.newest.map_or(1, |newest| {
            segment.ts_ticks.wrapping_sub(newest).cast_signed()
        });
        let has_news = !is_old && delivery.segments > 0;
        let is_plain = segment.len == 0 && segment.sack.is_empty();
        // one that acknowledges nothing but the SYN-ACK has the handshake's encoding, as often as it is repeated
        let is_of_handshake = is_plain && segment.ack <= 1;
        let is_superseded = is_old || is_of_handshake || age < 0 || (age == 0 && !has_news);
        if age > 0 && !is_old {
            marks.newest = Some(segment.ts_ticks);
        }
        let shown = reader.on_ack(&AckEvidence {
            ace: Ace::of(segment.flags),
            option: segment.accecn,
            is_plain,
            is_superseded,
            packets: u64::from(delivery.segments),
            bytes: delivery.bytes,
        });
        shown > 0
    }

    /// Of what an acknowledgement has delivered what was marked.
    pub(super) fn marked(&mut self, facts: &AckFacts, delivered: Bytes) -> Bytes {
        match &mut self.marks.reader {
            Some(reader) => reader.take_marked(delivered),
            None if facts.is_echo => delivered,
            None => Bytes::ZERO,
        }
    }

    /// The peer received a mark. `delivered` by the acknowledgement that reports it.
    pub(super) fn on_echo(&mut self, facts: &AckFacts, delivered: u64) {
        if self.episode.is_none() && self.board.una() > self.marks.reduced_at {
            self.inform_of_loss(facts.now, LossKind::Ecn, &super::Losses::default());
            let prr = self.begin_prr(delivered);
            self.episode = Some(Episode::new(
                LossKind::Ecn,
                self.snd_nxt,
                self.board.una(),
                prr,
            ));
            self.counters.marked_windows += Packets::new(1);
        }
    }
}
