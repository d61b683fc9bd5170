//! The sending end: frames into packets, and packets out as pacer and window allow.

use crate::encoder::{Encoder, Frame};
use crate::{EncodedFrame, Feedback, MediaController, SentPacket};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant};

/// The encoder skips a frame while a packet has waited longer than this in the pacer. Ours: libwebrtc's encoder drops
/// frames as well, by its own measures, and the draft of SCReAM permits it (3.3).
const MAX_QUEUE_DELAY: Duration = Duration::from_millis(500);

/// A packet of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaPacket {
    /// Its number, from 0.
    pub seq: u64,
    /// The frame that it belongs to.
    pub frame: u64,
    /// When that was captured.
    pub captured_at: Instant,
    /// Packets of the frame.
    pub of_frame: u32,
    /// True of the frame's last packet (RTP's marker).
    pub is_last: bool,
    /// UDP payload.
    pub bytes: Bytes,
}

/// A packet in the pacer.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: MediaPacket,
    since: Instant,
}

/// The sending end of a call.
#[derive(Debug)]
pub struct Sender {
    controller: Box<dyn MediaController>,
    encoder: Encoder,
    /// Largest UDP payload.
    max_packet: Bytes,
    pacer: VecDeque<Waiting>,
    /// When the pacer lets the next packet go.
    paced_until: Instant,
    next_seq: u64,
    skipped: u64,
    /// Sum of the targets at all frames that were encoded, bit/s.
    target_sum: u128,
}

impl Sender {
    /// A sender whose packets have at most so much UDP payload.
    pub fn new(controller: Box<dyn MediaController>, encoder: Encoder, max_packet: Bytes) -> Self {
        Self {
            controller,
            paced_until: encoder.next_capture(),
            encoder,
            max_packet: max_packet.max(Bytes::new(1)),
            pacer: VecDeque::new(),
            next_seq: 0,
            skipped: 0,
            target_sum: 0,
        }
    }

    /// Its congestion control.
    pub fn controller(&self) -> &dyn MediaController {
        &*self.controller
    }

    /// Frames encoded so far.
    pub fn frames(&self) -> u64 {
        self.encoder.encoded()
    }

    /// Captures that were not encoded, because too much waited.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Mean target over the frames encoded so far.
    pub fn mean_target(&self) -> BitRate {
        let mean = self.target_sum / u128::from(self.frames().max(1));
        BitRate::from_bps(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// When [`Self::on_deadline`] and [`Self::poll_transmit`] are to be called although no feedback comes.
    pub fn next_deadline(&self) -> Instant {
        let capture = self.encoder.next_capture();
        self.next_packet()
            .map_or(capture, |packet| packet.min(capture))
    }

    /// When the first packet of the pacer may leave.
    fn next_packet(&self) -> Option<Instant> {
        let bytes = self.pacer.front()?.packet.bytes;
        let opens = self.controller.window_opens_at(bytes);
        Some(self.paced_until.max(opens))
    }

    /// Captures what is due.
    pub fn on_deadline(&mut self, now: Instant) {
        while self.encoder.next_capture() <= now {
            let oldest = self.pacer.front().map(|waiting| waiting.since);
            let queue_delay = oldest.map_or(Duration::ZERO, |since| now.saturating_since(since));
            if queue_delay > MAX_QUEUE_DELAY {
                self.encoder.skip();
                self.skipped += 1;
                continue;
            }
            let target = self.controller.target_bitrate();
            self.target_sum += u128::from(target.as_bps());
            let frame = self.encoder.encode(target);
            self.controller.on_frame(EncodedFrame {
                bytes: frame.bytes,
                queue_delay,
            });
            self.split(now, frame);
        }
    }

    /// Puts a frame into the pacer, in packets of about the same size.
    fn split(&mut self, now: Instant, frame: Frame) {
        let (total, max) = (frame.bytes.get(), self.max_packet.get());
        let packets = total.div_ceil(max).max(1);
        for index in 0..packets {
            let bytes = total * (index + 1) / packets - total * index / packets;
            let packet = MediaPacket {
                seq: 0, // given as it leaves
                frame: frame.number,
                captured_at: frame.captured_at,
                of_frame: u32::try_from(packets).unwrap_or(u32::MAX),
                is_last: index + 1 == packets,
                bytes: Bytes::new(bytes),
            };
            self.pacer.push_back(Waiting { packet, since: now });
        }
    }

    /// The next packet, if one may leave now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<MediaPacket> {
        if self.next_packet()? > now {
            return None;
        }
        let Waiting { mut packet, .. } = self.pacer.pop_front()?;
        packet.seq = self.next_seq;
        self.next_seq += 1;
        let sent = SentPacket {
            seq: packet.seq,
            bytes: packet.bytes,
        };
        self.controller.on_packet_sent(now, sent);
        self.paced_until = self.paced_until.max(now) + packet.bytes / self.controller.pacing_rate();
        Some(packet)
    }

    /// Feedback has come.
    pub fn on_feedback(&mut self, now: Instant, feedback: &Feedback) {
        self.controller.on_feedback(now, feedback);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EncoderConfig, Gcc, RateLimits};
    use units::Streams;

    fn sender(bps: u64) -> Sender {
        let rate = BitRate::from_bps;
        let limits = RateLimits::new(rate(150_000), rate(bps), rate(8_000_000)).unwrap();
        let config = EncoderConfig {
            frame_rate: 30,
            deviation: 0.0,
            key_frame_interval: None,
            key_frame_size: 1.0,
        };
        let rng = Streams::new(1).stream("encoder");
        let encoder = Encoder::new(config, Instant::ZERO, rng).unwrap();
        Sender::new(Box::new(Gcc::new(limits)), encoder, Bytes::new(1200))
    }

    #[test]
    fn a_frame_leaves_in_packets_of_one_size_paced_by_the_controller() {
        let mut sender = sender(960_000); // 4,000 bytes a frame
        assert_eq!(sender.next_deadline(), Instant::ZERO);
        sender.on_deadline(Instant::ZERO);
        let mut packets = Vec::new();
        while sender.next_deadline() < Instant::from_nanos(33_000_000) {
            let now = sender.next_deadline();
            let packet = sender.poll_transmit(now).expect("it is due");
            packets.push((now, packet));
        }
        assert_eq!(packets.len(), 4);
        // 1,000 bytes at 2.5 x 0.96 Mbit/s: 3.333 ms
        let at = |i: u64| Instant::from_nanos(3_333_334 * i);
        for (i, (now, packet)) in (0..).zip(&packets) {
            assert_eq!((*now, packet.seq, packet.frame), (at(i), i, 0));
            assert_eq!((packet.bytes, packet.of_frame), (Bytes::new(1000), 4));
            assert_eq!(packet.is_last, i == 3);
        }
        assert_eq!(sender.poll_transmit(at(4)), None);
        assert_eq!(sender.next_deadline(), Instant::from_nanos(33_333_333));
    }

    #[test]
    fn frames_are_skipped_while_the_oldest_packet_waits_too_long() {
        let mut sender = sender(960_000);
        // nothing is polled
        sender.on_deadline(Instant::from_nanos(500_000_000));
        assert_eq!((sender.frames(), sender.skipped()), (16, 0));
        sender.on_deadline(Instant::from_nanos(1_100_000_000));
        assert_eq!((sender.frames(), sender.skipped()), (16, 18));
        assert_eq!(sender.mean_target(), BitRate::from_bps(960_000));
    }
}
