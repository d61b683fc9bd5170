//! What goes into a path's sending half, and what it reports.

use super::super::flight::Record;
use super::super::numbering::Numbering;
use crate::packet::AckVector;
use crate::seq::{MpSeq, SeqNo};
use units::{Bytes, Duration, Instant, Packets};

/// A packet that has just been handed to the network.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// Its number on the path, after all before it.
    pub seq: SeqNo,
    /// Size of what it carries; 0 for a packet without data.
    pub bytes: Bytes,
    /// Its number in the connection, if it has one.
    pub mp_seq: Option<MpSeq>,
    /// It carries data: it is congestion controlled. Acknowledgements and signalling are not
    /// (RFC 4341 5), but have a number, which acknowledgements cover.
    pub is_data: bool,
}

/// A packet of the past, as [`AckOutcome`] reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentInfo {
    /// Its number on the path.
    pub seq: SeqNo,
    /// Its number in the connection, if it had one.
    pub mp_seq: Option<MpSeq>,
    /// Size of what it carried.
    pub bytes: Bytes,
    /// When it was sent.
    pub sent_at: Instant,
    /// It carried data.
    pub is_data: bool,
}

/// What a packet of the peer's acknowledges (RFC 4340 11.4).
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement<'a> {
    /// Acknowledgement number.
    pub ack: SeqNo,
    /// Ack Vector. Without one only the packet of that number is acknowledged.
    pub vector: Option<&'a AckVector>,
    /// Elapsed Time: how long the peer held the acknowledgement back (13.2).
    pub elapsed: Option<Duration>,
}

/// What an acknowledgement or a timer showed. Every packet is named once in `acked` or `lost`; one in
/// `lost` may be named once more, in `late`. To be used again and again: its lists keep their memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Packets known to have arrived, in no particular order.
    pub acked: Vec<SentInfo>,
    /// Packets found lost, oldest first.
    pub lost: Vec<SentInfo>,
    /// Packets found lost before that have arrived after all.
    pub late: Vec<SentInfo>,
    /// Data packets that arrived with a congestion mark.
    pub marked: Packets,
    /// Round-trip time, if it was measured.
    pub rtt: Option<Duration>,
    /// A reduction of the window proved to be for nothing and was taken back.
    pub is_spurious: bool,
    /// The retransmission timer ran out.
    pub is_timeout: bool,
}

impl AckOutcome {
    /// Clears everything and keeps the memory.
    pub fn clear(&mut self) {
        self.acked.clear();
        self.lost.clear();
        self.late.clear();
        self.marked = Packets::ZERO;
        self.rtt = None;
        self.is_spurious = false;
        self.is_timeout = false;
    }
}

/// Counts since the path began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data packets sent.
    pub sent: Packets,
    /// What they carried.
    pub sent_bytes: Bytes,
    /// Data packets known to have arrived, late ones too.
    pub acked: Packets,
    /// Data packets found lost, those too that arrived late.
    pub lost: Packets,
    /// Data packets found lost that arrived late.
    pub late: Packets,
    /// Data packets that arrived with a congestion mark.
    pub marked: Packets,
    /// Reductions of the window for losses.
    pub recoveries: Packets,
    /// Those of them that were taken back.
    pub spurious: Packets,
    /// Reductions of the window for marks.
    pub marked_windows: Packets,
    /// Retransmission timeouts.
    pub timeouts: Packets,
}

/// A packet as reported to the caller.
pub(super) fn info(numbering: &Numbering, number: u64, record: &Record) -> SentInfo {
    SentInfo {
        seq: numbering.seq(number),
        mp_seq: record.mp_seq,
        bytes: Bytes::new(u64::from(record.bytes)),
        sent_at: record.sent_at,
        is_data: record.is_data(),
    }
}
