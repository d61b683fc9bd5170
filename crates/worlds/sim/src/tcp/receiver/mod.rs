//! The receiving half of a connection.

mod ack;
mod echo;
mod reassembly;
mod reporting;
mod window;

use super::accecn::{AccEcnOption, Counters};
use super::config::{Config, EcnEcho};
use super::ranges::Span;
use super::segment::{Flags, SackBlocks, Segment, room_for_counters};
use super::stats::ReadChunk;
use ack::AckPolicy;
use cc::RateReport;
use echo::{Change, Echo};
use queue::Ecn;
use reassembly::Reassembly;
pub(super) use reporting::Reporting;
use rnis::{RadioReport, UeReport};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Packets};
use window::Window;

/// The fields of a segment for the peer's sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckFields {
    pub(super) ack: u64,
    pub(super) window: u64,
    pub(super) ts_ecr: Instant,
    pub(super) sack: SackBlocks,
    /// ECE, or nothing; with accurate feedback the counter ACE.
    pub(super) echo: Flags,
    /// Counters of marked bytes.
    pub(super) accecn: Option<AccEcnOption>,
    /// The bandwidth measured here.
    pub(super) report: Option<RateReport>,
}

/// An acknowledgement of what had come before the marks began or ended (RFC 8257 3.2).
#[derive(Clone, Copy, Debug)]
struct FormerAck {
    ack: u64,
    is_echo: bool,
}

/// Data in, acknowledgements and ordered payload out.
#[derive(Debug)]
pub(super) struct Receiver {
    mss: u64,
    auto_read: bool,
    /// RCV.NXT: the next position expected; the peer's FIN counts.
    next: u64,
    /// RCV.NXT as last advertised to the peer (Last.ACK.sent of RFC 7323 4.3).
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
    echo: Echo,
    /// Accurate feedback is in use.
    counters: Option<Counters>,
    former_ack: Option<FormerAck>,
    reporting: Option<Reporting>,
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
            echo: Echo::default(),
            counters: None,
            former_ack: None,
            reporting: None,
        }
    }

    /// From now on bandwidth is measured and reported.
    pub(super) fn set_reporting(&mut self, reporting: Reporting) {
        self.reporting = Some(reporting);
    }

    /// The present estimate of bandwidth, if it is measured.
    pub(super) fn rate(&self) -> Option<RateReport> {
        self.reporting.as_ref().map(Reporting::rate)
    }

    /// The modem reports its link.
    pub(super) fn on_modem(&mut self, now: Instant, report: &RadioReport, ue: &UeReport) {
        if let Some(reporting) = &mut self.reporting {
            reporting.on_radio(now, report, ue);
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
            if let Some(reporting) = &mut self.reporting {
                reporting.on_data(now, segment);
            }
            let is_notable = self.look_for_mark(segment) | self.count_mark(segment);
            self.on_payload(now, segment, pause);
            if is_notable {
                self.acks.require();
            }
        } else if !is_fin && segment.seq < self.next {
            // a zero-window probe or a keep-alive (RFC 9293 3.10.7.4, first check)
            self.acks.require();
        } else if self.count_mark(segment) {
            self.acks.require();
        }
        if is_fin {
            self.on_fin(segment.payload_end());
        }
    }

    /// ECN is in use from now on.
    pub(super) fn use_ecn(&mut self, echo: EcnEcho) {
        self.echo.begin(echo);
    }

    /// Accurate feedback is in use from now on; at a client with the codepoint of the SYN-ACK.
    pub(super) fn use_counters(&mut self, syn_ack: Option<Ecn>) {
        self.counters = Some(Counters::new(syn_ack));
    }

    /// The SYN-ACK arrived again.
    pub(super) fn on_repeated_syn_ack(&mut self, ecn: Ecn) {
        if let Some(counters) = &mut self.counters {
            counters.on_syn_ack(ecn);
        }
    }

    /// The option of a SYN-ACK, with accurate feedback.
    pub(super) fn syn_ack_option(&self) -> Option<AccEcnOption> {
        self.counters.as_ref().map(Counters::syn_ack_option)
    }

    /// Counts an acceptable packet (RFC 9768 3.2). True if the peer is to be notified without delay.
    fn count_mark(&mut self, segment: &Segment) -> bool {
        let Some(counters) = &mut self.counters else {
            return false;
        };
        let (end, edge) = (segment.payload_end(), self.window.edge());
        let is_old = end < self.next || (segment.len > 0 && end == self.next);
        if is_old || end > edge {
            return false;
        }
        let waits = segment.len > 0 || self.next > self.last_ack_sent;
        counters.on_packet(segment.ecn, u64::from(segment.len), waits)
    }

    /// Takes note of a mark. True if the peer is to be notified without delay.
    fn look_for_mark(&mut self, segment: &Segment) -> bool {
        let end = segment.payload_end();
        if end <= self.next || end > self.window.edge() {
            return false;
        }
        let is_echo = self.echo.is_set();
        let has_reduced = segment.flags.contains(Flags::CWR);
        match self.echo.on_data(segment.ecn, has_reduced) {
            Change::None => false,
            Change::Notable => true,
            Change::Turned => {
                self.former_ack = self.acks.is_held().then_some(FormerAck {
                    ack: self.next,
                    is_echo,
                });
                true
            }
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
            // outside of the window: dropped, and the sender is notified of what it missed
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

    /// Sets or lifts the limit of the advertised window, which the acknowledgements to come show.
    pub(super) fn set_limit(&mut self, limit: Option<Bytes>) {
        self.window.set_limit(limit);
    }

    /// Has the window advertised at once if it opens by a segment.
    pub(super) fn show_window(&mut self) {
        let is_open = self.next > 0 && !self.is_finished;
        if is_open && self.window.opens_by_a_segment(self.next, self.buffered()) {
            self.acks.require();
        }
    }

    /// An acknowledgement must leave at once, whatever arrived.
    pub(super) fn require_ack(&mut self) {
        self.acks.require();
    }
    /// The fields of a SYN or SYN-ACK.
    pub(super) fn syn_fields(&mut self) -> AckFields {
        let window = self.window.offer_unscaled();
        self.window.advertise(1, window);
        self.last_ack_sent = self.next;
        AckFields {
            ack: self.next,
            window,
            ts_ecr: self.ts_recent,
            sack: SackBlocks::NONE,
            echo: Flags::NONE,
            accecn: None,
            report: self.rate(),
        }
    }

    /// The fields of the acknowledgement that must precede the one now owed, if there is one.
    fn former_ack_fields(&mut self) -> Option<AckFields> {
        let former = self.former_ack.take()?;
        let window = self.window.offer(former.ack, self.buffered());
        self.window.advertise(former.ack, window);
        self.last_ack_sent = former.ack;
        Some(AckFields {
            ack: former.ack,
            window,
            ts_ecr: self.ts_recent,
            sack: SackBlocks::NONE,
            echo: Flags::ECE.when(former.is_echo),
            accecn: None,
            report: None,
        })
    }

    /// The fields of the segment that now leaves. It counts as the acknowledgement that was owed.
    pub(super) fn ack_fields(&mut self, is_pure: bool) -> AckFields {
        self.pure_acks_sent += u64::from(is_pure);
        if let Some(former) = self.former_ack_fields() {
            return former;
        }
        let window = self.window.offer(self.next, self.buffered());
        self.window.advertise(self.next, window);
        self.last_ack_sent = self.next;
        self.acks.on_acknowledged();
        let mut sack = SackBlocks::NONE;
        if let Some(span) = self.duplicate.take() {
            sack.push(self.next, span);
        }
        self.reassembly.report(self.next, &mut sack);
        let reporting = self.reporting.as_mut();
        let report = reporting.and_then(|reporting| reporting.for_ack(&sack));
        let mut fields = AckFields {
            ack: self.next,
            window,
            ts_ecr: self.ts_recent,
            sack,
            echo: Flags::ECE.when(self.echo.is_set()),
            accecn: None,
            report,
        };
        if let Some(counters) = &mut self.counters {
            report_counters(counters, &mut fields, is_pure);
        }
        fields
    }

    pub(super) fn is_ack_due(&self) -> bool {
        self.acks.is_due()
    }
    /// An acknowledgement must leave before anything else.
    pub(super) fn is_former_ack_due(&self) -> bool {
        let counters = self.counters.as_ref();
        self.former_ack.is_some() || counters.is_some_and(Counters::must_report_handshake)
    }
    /// Marked segments so far.
    pub(super) fn marks_received(&self) -> Packets {
        let counted = self.counters.as_ref().map_or(0, Counters::marks);
        Packets::new(self.echo.marks() + counted)
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
    pub(super) fn received(&self) -> Bytes {
        Bytes::new(self.received_in_order + self.reassembly.bytes())
    }
    pub(super) fn received_in_order(&self) -> Bytes {
        Bytes::new(self.received_in_order)
    }
    pub(super) fn pure_acks_sent(&self) -> Packets {
        Packets::new(self.pure_acks_sent)
    }
}

/// RFC 9768 3.2.2.2 and 3.2.3.3: the field in each segment, the option in pure acknowledgements. It goes before a third
/// SACK block.
fn report_counters(counters: &mut Counters, fields: &mut AckFields, is_pure: bool) {
    if is_pure && counters.must_report_handshake() {
        fields.sack = SackBlocks::NONE; // 3.2.2.1
    }
    fields.echo = counters.ace(is_pure && fields.sack.is_empty()).flags();
    if !is_pure {
        return;
    }
    let shortened = fields.sack.truncated();
    fields.accecn = counters.option(room_for_counters(&shortened, fields.report));
    if fields.accecn.is_some() {
        fields.sack = shortened;
    }
}

fn push_chunk(chunks: &mut VecDeque<ReadChunk>, bytes: u64, origin: Instant) {
    let bytes = Bytes::new(bytes);
    match chunks.back_mut() {
        Some(last) if last.origin == origin => last.bytes += bytes,
        _ => chunks.push_back(ReadChunk { bytes, origin }),
    }
}

#[cfg(test)]
mod tests;
