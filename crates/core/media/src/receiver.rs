//! The receiving end: frames out of packets, and feedback on them.
//!
//! Nothing is repaired: a frame of which a packet is lost never comes whole, and frames after it do not depend on it.

use crate::{Feedback, FeedbackFormat, MediaPacket, PacketReport, Received};
use std::collections::{BTreeMap, VecDeque};
use units::{Bytes, Ecn, Instant};

/// Frames that are not whole are given up once so many later ones have begun.
const MAX_FRAMES: usize = 300;

/// The most packets of one message (RFC 8888 3.1 limits it to 16,384).
const MAX_REPORTS: u64 = 4096;

/// A frame that came whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivedFrame {
    /// Its number.
    pub number: u64,
    /// When it was captured, by the sender's clock.
    pub captured_at: Instant,
    /// The payload of its packets.
    pub bytes: Bytes,
}

/// A frame some packets of which have come.
#[derive(Clone, Copy, Debug, Default)]
struct Partial {
    packets: u32,
    bytes: Bytes,
}

/// The receiving end of a call.
#[derive(Clone, Debug)]
pub struct Receiver {
    format: FeedbackFormat,
    frames: BTreeMap<u64, Partial>,
    /// What came of the packets from `first` on.
    packets: VecDeque<Option<Received>>,
    first: u64,
    /// The first packet that no message was about, or that has come since one was.
    next_report: u64,
    /// Packets that came and were not reported.
    unreported: u64,
    /// When the next message is due, if a packet waits for one.
    due: Option<Instant>,
}

impl Receiver {
    /// A receiver with feedback of this format.
    pub fn new(format: FeedbackFormat) -> Self {
        Self {
            format,
            frames: BTreeMap::new(),
            packets: VecDeque::new(),
            first: 0,
            next_report: 0,
            unreported: 0,
            due: None,
        }
    }

    /// A packet came. Returns its frame if that is whole now.
    pub fn on_packet(
        &mut self,
        now: Instant,
        packet: &MediaPacket,
        ecn: Ecn,
    ) -> Option<ArrivedFrame> {
        if !self.record(now, packet, ecn) {
            return None;
        }
        let frame = self.frames.entry(packet.frame).or_default();
        frame.packets += 1;
        frame.bytes += packet.bytes;
        let whole = (frame.packets == packet.of_frame).then_some(ArrivedFrame {
            number: packet.frame,
            captured_at: packet.captured_at,
            bytes: frame.bytes,
        });
        if whole.is_some() {
            self.frames.remove(&packet.frame);
        } else if self.frames.len() > MAX_FRAMES {
            self.frames.pop_first();
        }
        whole
    }

    /// Remembers a packet for feedback; false if it came before, or is too old to be reported.
    fn record(&mut self, now: Instant, packet: &MediaPacket, ecn: Ecn) -> bool {
        let Some(index) = packet.seq.checked_sub(self.first) else {
            return false;
        };
        if index >= self.packets.len() as u64 + MAX_REPORTS {
            // a gap that no message can span
            self.packets.clear();
            self.first = packet.seq;
            self.next_report = packet.seq;
        }
        let index = (packet.seq - self.first) as usize;
        if index >= self.packets.len() {
            self.packets.resize(index + 1, None);
        }
        if self.packets[index].is_some() {
            return false;
        }
        self.packets[index] = Some(Received {
            at: self.format.rounded(now),
            ecn: self.format.reported(ecn),
        });
        self.next_report = self.next_report.min(packet.seq);
        self.unreported += 1;
        let latest = self.due.unwrap_or(now + self.format.interval());
        let is_early = self.format.is_due_early(self.unreported, packet.is_last);
        self.due = Some(if is_early { now } else { latest });
        true
    }

    /// When [`Self::poll_feedback`] has a message although nothing comes.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.due
    }

    /// The message that is due, and its UDP payload.
    pub fn poll_feedback(&mut self, now: Instant) -> Option<(Feedback, Bytes)> {
        self.due.filter(|&due| due <= now)?;
        self.due = None;
        self.unreported = 0;
        let end = self.first + self.packets.len() as u64;
        let repeated = end.saturating_sub(self.format.repeated());
        let from = self.next_report.min(repeated).max(self.first);
        let from = from.max(end.saturating_sub(MAX_REPORTS));
        let packets: Vec<PacketReport> = (from..end)
            .map(|seq| PacketReport {
                seq,
                received: self.packets[(seq - self.first) as usize],
            })
            .collect();
        let received = packets.iter().filter(|of| of.received.is_some()).count();
        let payload = self.format.payload(packets.len() as u64, received as u64);
        self.next_report = end;
        // late packets are reported if they are no older than a message is long
        let keep = end.saturating_sub(MAX_REPORTS);
        while self.first < keep && self.packets.pop_front().is_some() {
            self.first += 1;
        }
        let feedback = Feedback {
            made_at: now,
            packets,
        };
        Some((feedback, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn packet(seq: u64, frame: u64, of_frame: u32, is_last: bool) -> MediaPacket {
        MediaPacket {
            seq,
            frame,
            captured_at: at(frame),
            of_frame,
            is_last,
            bytes: Bytes::new(1000),
        }
    }

    #[test]
    fn a_frame_is_whole_with_its_last_packet_in_any_order_and_once() {
        let mut receiver = Receiver::new(FeedbackFormat::Rfc8888);
        let mut come = |seq, is_last| {
            let packet = packet(seq, 0, 3, is_last);
            receiver.on_packet(at(20 + seq), &packet, Ecn::NotEct)
        };
        assert_eq!(come(2, true), None);
        assert_eq!(come(0, false), None);
        assert_eq!(come(0, false), None, "a duplicate");
        let frame = come(1, false).expect("it is whole");
        assert_eq!((frame.number, frame.bytes), (0, Bytes::new(3000)));
        assert_eq!(come(1, false), None);
    }

    #[test]
    fn rfc_8888_feedback_follows_the_end_of_a_frame_and_repeats() {
        let mut receiver = Receiver::new(FeedbackFormat::Rfc8888);
        receiver.on_packet(at(20), &packet(0, 0, 3, false), Ecn::Ect1);
        assert_eq!(receiver.poll_feedback(at(20)), None);
        assert_eq!(receiver.next_deadline(), Some(at(60)));
        receiver.on_packet(at(22), &packet(2, 0, 3, true), Ecn::Ce);
        let (feedback, payload) = receiver.poll_feedback(at(22)).expect("a frame ended");
        assert_eq!(payload, Bytes::new(20 + 8 + 14));
        let of = |i: usize| feedback.packets[i].received.map(|of| of.ecn);
        assert_eq!(
            [of(0), of(1), of(2)],
            [Some(Ecn::Ect1), None, Some(Ecn::Ce)]
        );
        assert_eq!(receiver.next_deadline(), None);
        receiver.on_packet(at(55), &packet(3, 1, 1, true), Ecn::Ect1);
        let (feedback, _) = receiver.poll_feedback(at(55)).expect("another");
        assert_eq!(feedback.packets.len(), 4, "the last 32, which are four");
    }

    #[test]
    fn transport_wide_feedback_is_each_50_ms_without_ecn() {
        let mut receiver = Receiver::new(FeedbackFormat::TransportWide);
        receiver.on_packet(at(20), &packet(0, 0, 1, true), Ecn::Ce);
        receiver.on_packet(at(60), &packet(2, 2, 1, true), Ecn::Ce);
        assert_eq!(receiver.poll_feedback(at(69)), None);
        let (feedback, _) = receiver.poll_feedback(at(70)).expect("50 ms");
        assert_eq!(feedback.packets.len(), 3);
        assert_eq!(
            feedback.packets[0].received.map(|of| of.ecn),
            Some(Ecn::NotEct)
        );
        // a packet that is late is reported with those that follow it
        receiver.on_packet(at(75), &packet(1, 1, 1, true), Ecn::NotEct);
        let (feedback, _) = receiver.poll_feedback(at(125)).expect("50 ms");
        let seqs: Vec<u64> = feedback.packets.iter().map(|of| of.seq).collect();
        assert_eq!(seqs, [1, 2]);
        assert!(feedback.packets[0].received.is_some());
    }

    #[test]
    fn a_gap_beyond_a_message_begins_anew() {
        let mut receiver = Receiver::new(FeedbackFormat::TransportWide);
        receiver.on_packet(at(20), &packet(0, 0, 1, true), Ecn::NotEct);
        let far = packet(1 << 60, 9, 1, true);
        assert!(receiver.on_packet(at(21), &far, Ecn::NotEct).is_some());
        let (feedback, _) = receiver.poll_feedback(at(70)).expect("50 ms");
        assert_eq!(feedback.packets.len(), 1);
        let old = packet(0, 0, 1, true);
        assert_eq!(receiver.on_packet(at(80), &old, Ecn::NotEct), None);
    }
}
