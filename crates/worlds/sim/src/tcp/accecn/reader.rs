//! What the sender makes of the feedback: which packets and bytes of its own were marked.
//!
//! | appendix of RFC 9768 | here |
//! | --- | --- |
//! | A.1: counters of 24 bits; acknowledgements that were overtaken | `forward`, [`AckEvidence::is_superseded`] |
//! | A.2: the safest likely number of packets | `safest`, `with_bytes` |
//! | A.3: bytes of a number of packets | `MarkReader::estimate` |
//! | A.4: whether bytes arrived that were not ECN-capable | `MarkReader::look_for_bleaching` |
//!
//! The appendix's text was not at hand: `safest` follows section 3.2.2.5.2 of draft-ietf-tcpm-accurate-ecn-34, and its vectors
//! in the tests are worked out from that section.

use super::ace::VALUES;
use super::option::{AccEcnOption, ByteCounts, FIELD_VALUES};
use super::{Ace, INITIAL_CEP};
use queue::Ecn;
use units::Bytes;

/// Packets after which a path that showed options and reports no byte of either codepoint has cleared the field.
const TEST_PACKETS: u64 = 10;

/// What an acknowledgement shows.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct AckEvidence {
    /// Its flags.
    pub(in crate::tcp) ace: Ace,
    /// Its option, if it has one.
    pub(in crate::tcp) option: Option<AccEcnOption>,
    /// It has neither payload nor SACK blocks.
    pub(in crate::tcp) is_plain: bool,
    /// One that left later has come already: its counters are old.
    pub(in crate::tcp) is_superseded: bool,
    /// Segments that it newly acknowledges.
    pub(in crate::tcp) packets: u64,
    /// Their payload.
    pub(in crate::tcp) bytes: u64,
}

/// Positive distance of a counter that is known modulo `values` (3.2.2.2, 3.2.3.1).
const fn forward(new: u64, old: u64, values: u64) -> u64 {
    (new + values - old % values) % values
}

/// A.2: the greatest number up to `packets` that the field can mean; what it states if that is more.
const fn safest(stated: u64, packets: u64) -> u64 {
    if packets < stated {
        stated
    } else {
        packets - (packets - stated) % VALUES
    }
}

/// The least number that the field can mean and that has room for marked bytes which need `least` packets.
const fn with_bytes(stated: u64, least: u64) -> u64 {
    stated + least.saturating_sub(stated).div_ceil(VALUES) * VALUES
}

/// The sender's counters.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct MarkReader {
    mss: u64,
    /// s.cep.
    cep: u64,
    /// s.e0b, s.ceb, s.e1b.
    counts: ByteCounts,
    /// Marked bytes, as far as they can be known: s.ceb, and an estimate of what came without an option since.
    marked: u64,
    /// Those of them that the controller was given.
    given: u64,
    /// Acknowledged since the field was last read.
    packets: u64,
    bytes: u64,
    /// Acknowledged since an option was last read.
    option_packets: u64,
    /// Marks that the field has shown since then.
    option_marks: u64,
    /// Acknowledged on the connection.
    total_packets: u64,
    /// A server whose SYN-ACK has not been acknowledged: its first acknowledgement has the handshake encoding.
    awaits_handshake: bool,
    /// No counter has been read.
    is_first: bool,
    /// An option has come.
    has_options: bool,
    /// What the peer reports cannot be trusted (3.2.2.1 note 1, 3.2.2.4).
    is_ignored: bool,
    /// New data may be ECN-capable.
    may_mark: bool,
}

impl MarkReader {
    /// A client's, or with `is_server` a server's before its SYN-ACK is acknowledged.
    pub(in crate::tcp) fn new(mss: u64, is_server: bool) -> Self {
        Self {
            mss,
            cep: INITIAL_CEP,
            counts: ByteCounts::INITIAL,
            marked: 0,
            given: 0,
            packets: 0,
            bytes: 0,
            option_packets: 0,
            option_marks: 0,
            total_packets: 0,
            awaits_handshake: is_server,
            is_first: true,
            has_options: false,
            is_ignored: false,
            may_mark: true,
        }
    }

    /// The peer states with which codepoint this end's SYN or SYN-ACK arrived, which was not ECN-capable (3.2.2.3).
    pub(in crate::tcp) fn on_handshake_echo(&mut self, arrived: Option<Ecn>) {
        self.may_mark &= arrived.is_none_or(|ecn| ecn == Ecn::NotEct);
    }

    /// New data is not ECN-capable from now on (3.1.5).
    pub(in crate::tcp) fn stop(&mut self) {
        self.may_mark = false;
    }

    /// The SYN-ACK carried an option.
    pub(in crate::tcp) fn on_option_seen(&mut self) {
        self.has_options = true;
    }

    /// An acknowledgement arrived. Returns how many packets it newly shows to have been marked.
    pub(in crate::tcp) fn on_ack(&mut self, ack: &AckEvidence) -> u64 {
        self.packets += ack.packets;
        self.bytes += ack.bytes;
        self.option_packets += ack.packets;
        self.total_packets += ack.packets;
        if core::mem::take(&mut self.awaits_handshake) {
            self.has_options |= ack.option.is_some();
            if ack.is_plain {
                self.on_handshake_ack(ack.ace);
                return 0;
            }
        }
        if self.is_ignored || ack.is_superseded {
            return 0;
        }
        if core::mem::take(&mut self.is_first) && ack.ace.value() == 0 {
            self.distrust();
            return 0;
        }
        let marks = self.read(ack);
        self.look_for_bleaching();
        marks
    }

    /// Table 4.
    fn on_handshake_ack(&mut self, ace: Ace) {
        match ace.value() {
            0 => self.distrust(),
            _ => {
                self.cep += u64::from(ace.handshake() == Some(Ecn::Ce));
                self.on_handshake_echo(ace.handshake());
            }
        }
    }

    fn distrust(&mut self) {
        self.is_ignored = true;
        self.may_mark = false;
    }

    fn read(&mut self, ack: &AckEvidence) -> u64 {
        let stated = forward(u64::from(ack.ace.value()), self.cep, VALUES);
        let marks = match ack.option {
            Some(option) => self.read_option(option, stated),
            None => {
                let marks = safest(stated, self.packets);
                self.marked += self.estimate(marks);
                self.option_marks += marks;
                marks
            }
        };
        self.cep += marks;
        self.packets = 0;
        self.bytes = 0;
        marks
    }

    /// A.3: bytes of so many packets, by the mean of those acknowledged.
    fn estimate(&self, packets: u64) -> u64 {
        match self.packets {
            0 => packets * self.mss,
            all => packets * self.bytes / all,
        }
    }

    /// Takes the counters of bytes; returns the number of packets that goes with them.
    fn read_option(&mut self, option: AccEcnOption, stated: u64) -> u64 {
        self.has_options = true;
        let step = |new: Option<u64>, old: u64| {
            let step = new.map_or(0, |new| forward(new, old, FIELD_VALUES));
            // more than half of the range: an older option
            if step < FIELD_VALUES / 2 { step } else { 0 }
        };
        let [e0b, ceb, e1b] = option.counts();
        let marked = step(ceb, self.counts.ceb);
        self.counts.e0b += step(e0b, self.counts.e0b);
        self.counts.e1b += step(e1b, self.counts.e1b);
        self.counts.ceb += marked;
        // 3.2.3.2.5: bytes were marked and no packet, though the field cannot have gone round
        if marked > 0 && self.option_marks + stated == 0 && self.option_packets < VALUES {
            self.may_mark = false;
        }
        let least = marked.div_ceil(self.mss);
        let marks = with_bytes(stated, least.saturating_sub(self.option_marks));
        self.marked = self.counts.ceb;
        self.option_marks = 0;
        self.option_packets = 0;
        marks
    }

    /// 3.2.2.3: an ECN-capable codepoint that becomes none.
    fn look_for_bleaching(&mut self) {
        let is_silent = self.counts == ByteCounts::INITIAL && self.cep == INITIAL_CEP;
        if self.has_options && is_silent && self.total_packets >= TEST_PACKETS {
            self.may_mark = false;
        }
    }

    /// Of what is newly acknowledged what was marked. What is more than that is counted with the next.
    pub(in crate::tcp) fn take_marked(&mut self, acked: Bytes) -> Bytes {
        let due = self.marked.saturating_sub(self.given);
        let taken = due.min(acked.get());
        self.given += taken;
        Bytes::new(taken)
    }

    /// Whether new data may be ECN-capable.
    pub(in crate::tcp) fn may_mark(&self) -> bool {
        self.may_mark
    }

    /// Packets of this end that the peer has reported as marked.
    pub(in crate::tcp) fn marks(&self) -> u64 {
        self.cep - INITIAL_CEP
    }
}

#[cfg(test)]
mod tests;
