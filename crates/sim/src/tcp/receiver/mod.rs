//! The receiving half of a connection.

mod ack;
mod reassembly;
mod window;

use super::config::Config;
use super::ranges::Span;
use super::segment::{Flags, SackBlocks, Segment};
use super::stats::ReadChunk;
use ack::AckPolicy;
use reassembly::Reassembly;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Packets};
use window::Window;

/// What a segment says to the peer's sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckFields {
    pub(super) ack: u64,
    pub(super) window: u64,
    pub(super) ts_ecr: Instant,
    pub(super) sack: SackBlocks,
}

/// Data in, acknowledgements and ordered payload out.
#[derive(Debug)]
pub(super) struct Receiver {
    mss: u64,
    auto_read: bool,
    /// RCV.NXT: the next position expected; the peer's FIN counts.
    next: u64,
    /// RCV.NXT as last told to the peer (Last.ACK.sent of RFC 7323 4.3).
    last_ack_sent: u64,
    /// TS.Recent of RFC 7323 4.3.
    ts_recent: Instant,
    reassembly: Reassembly,
    window: Window,
    acks: AckPolicy,
    /// Payload in order that the application has not read, by origin.
    chunks: VecDeque<ReadChunk>,
    /// Bytes of `chunks`; always their sum.
    readable: u64,
    /// Position of the peer's FIN, once it is known.
    fin_at: Option<u64>,
    /// All of the peer's data and its FIN have arrived.
    is_finished: bool,
    /// Data that arrived twice, to be reported once (RFC 2883 4).
    duplicate: Option<Span>,
    received_in_order: u64,
    pure_acks_sent: u64,
}

impl Receiver {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            mss: config.mss.get(),
            auto_read: config.auto_read,
            next: 0,
            last_ack_sent: 0,
            ts_recent: Instant::ZERO,
            reassembly: Reassembly::default(),
            window: Window::new(config.receive_buffer, config.mss),
            acks: AckPolicy::new(config.delayed_ack),
            chunks: VecDeque::new(),
            readable: 0,
            fin_at: None,
            is_finished: false,
            duplicate: None,
            received_in_order: 0,
            pure_acks_sent: 0,
        }
    }

    /// The peer's SYN arrived.
    pub(super) fn on_syn(&mut self, segment: &Segment) {
        self.next = 1;
        self.ts_recent = segment.ts_val;
    }

    /// A segment of an established connection arrived. `pause` is the silence after which its sender
    /// has presumably restarted.
    pub(super) fn on_segment(&mut self, now: Instant, segment: &Segment, pause: Duration) {
        // RFC 7323 4.3 (2)
        if segment.ts_val >= self.ts_recent && segment.seq <= self.last_ack_sent {
            self.ts_recent = segment.ts_val;
        }
        let is_fin = segment.flags.contains(Flags::FIN);
        if segment.len > 0 {
            self.on_payload(now, segment, pause);
        } else if !is_fin && segment.seq < self.next {
            // a zero-window probe or a keep-alive (RFC 9293 3.10.7.4, first check)
            self.acks.require();
        }
        if is_fin {
            self.on_fin(segment.payload_end());
        }
    }

    fn on_payload(&mut self, now: Instant, segment: &Segment, pause: Duration) {
        let span = Span {
            start: segment.seq,
            end: segment.payload_end(),
        };
        if span.end <= self.next {
            self.duplicate = Some(span);
            self.acks.on_duplicate();
        } else if span.end > self.window.edge() {
            // outside of the window: dropped, and the sender is told what it missed
            self.acks.require();
        } else if span.start > self.next {
            if !self.reassembly.insert(span, segment.origin) {
                self.duplicate = Some(span);
            }
            self.acks.require();
        } else {
            self.on_in_order(now, span.end, segment.origin, pause);
        }
    }

    fn on_in_order(&mut self, now: Instant, end: u64, origin: Instant, pause: Duration) {
        let bytes = end - self.next;
        self.next = end;
        self.deliver(bytes, origin);
        if self.reassembly.is_empty() {
            let unacknowledged = self.next - self.last_ack_sent;
            self.acks.on_in_order(now, unacknowledged, self.mss, pause);
        } else {
            self.acks.require(); // RFC 5681 4.2: a gap was filled, or is still open
            self.advance();
        }
        self.finish_if_complete();
    }

    /// Takes out of reassembly what now follows without a gap.
    fn advance(&mut self) {
        let (chunks, readable) = (&mut self.chunks, &mut self.readable);
        let before = self.next;
        self.next = self.reassembly.advance(self.next, |bytes, origin| {
            push_chunk(chunks, bytes, origin);
            *readable += bytes;
        });
        self.received_in_order += self.next - before;
    }

    fn deliver(&mut self, bytes: u64, origin: Instant) {
        push_chunk(&mut self.chunks, bytes, origin);
        self.readable += bytes;
        self.received_in_order += bytes;
    }

    fn on_fin(&mut self, position: u64) {
        self.fin_at = Some(position);
        self.acks.require();
        self.finish_if_complete();
    }

    fn finish_if_complete(&mut self) {
        if self.fin_at == Some(self.next) && !self.is_finished {
            self.is_finished = true;
            self.next += 1;
            self.acks.require();
        }
    }

    /// Bytes that occupy the receive buffer.
    fn buffered(&self) -> u64 {
        if self.auto_read { 0 } else { self.readable }
    }

    /// Hands over at most `max` bytes of the oldest origin.
    pub(super) fn read(&mut self, max: Bytes) -> Option<ReadChunk> {
        let front = self.chunks.front_mut()?;
        let bytes = front.bytes.min(max);
        if bytes.is_zero() {
            return None;
        }
        let chunk = ReadChunk {
            bytes,
            origin: front.origin,
        };
        if bytes == front.bytes {
            self.chunks.pop_front();
        } else {
            front.bytes -= bytes;
        }
        self.readable -= bytes.get();
        if !self.auto_read
            && !self.is_finished
            && self.window.deserves_update(self.next, self.buffered())
        {
            self.acks.require();
        }
        Some(chunk)
    }

    /// Sets or lifts the limit of the advertised window.
    pub(super) fn set_limit(&mut self, limit: Option<Bytes>) {
        self.window.set_limit(limit);
        let is_open = self.next > 0 && !self.is_finished;
        if is_open && self.window.opens_by_a_segment(self.next, self.buffered()) {
            self.acks.require();
        }
    }

    /// An acknowledgement must leave at once, whatever arrived.
    pub(super) fn require_ack(&mut self) {
        self.acks.require();
    }
    /// What a SYN or SYN-ACK says.
    pub(super) fn syn_fields(&mut self) -> AckFields {
        let window = self.window.offer_unscaled();
        self.window.promise(1, window);
        self.last_ack_sent = self.next;
        AckFields {
            ack: self.next,
            window,
            ts_ecr: self.ts_recent,
            sack: SackBlocks::NONE,
        }
    }

    /// What the segment that now leaves says. It counts as the acknowledgement that was owed.
    pub(super) fn ack_fields(&mut self, is_pure: bool) -> AckFields {
        let window = self.window.offer(self.next, self.buffered());
        self.window.promise(self.next, window);
        self.last_ack_sent = self.next;
        self.acks.on_acknowledged();
        self.pure_acks_sent += u64::from(is_pure);
        let mut sack = SackBlocks::NONE;
        if let Some(span) = self.duplicate.take() {
            sack.push(self.next, span);
        }
        self.reassembly.report(self.next, &mut sack);
        AckFields {
            ack: self.next,
            window,
            ts_ecr: self.ts_recent,
            sack,
        }
    }

    pub(super) fn is_ack_due(&self) -> bool {
        self.acks.is_due()
    }
    pub(super) fn deadline(&self) -> Instant {
        self.acks.deadline()
    }
    pub(super) fn on_deadline(&mut self, now: Instant) {
        self.acks.on_deadline(now);
    }
    pub(super) fn readable(&self) -> Bytes {
        Bytes::new(self.readable)
    }
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }
    pub(super) fn next(&self) -> u64 {
        self.next
    }
    /// Promised and not yet used.
    pub(super) fn open_window(&self) -> Bytes {
        Bytes::new(self.window.edge().saturating_sub(self.next))
    }
    pub(super) fn received_in_order(&self) -> Bytes {
        Bytes::new(self.received_in_order)
    }
    pub(super) fn pure_acks_sent(&self) -> Packets {
        Packets::new(self.pure_acks_sent)
    }
}

fn push_chunk(chunks: &mut VecDeque<ReadChunk>, bytes: u64, origin: Instant) {
    let bytes = Bytes::new(bytes);
    match chunks.back_mut() {
        Some(last) if last.origin == origin => last.bytes += bytes,
        _ => chunks.push_back(ReadChunk { bytes, origin }),
    }
}
