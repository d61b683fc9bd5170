//! RLC: one direction of one bearer, both ends (TS 38.322; TS 36.322 where LTE differs).
//!
//! ```text
//!   enqueue -> [ drop-tail ] -> pull: segments into a transport block      (transmitting side)
//!                                   |  MAC and HARQ
//!   release <- [ held: sent and not yet delivered ] <- receive             (receiving side)
//! ```
//!
//! A packet never leaves this structure between the two ends: what travels is a span of the byte
//! stream, and the packet stays in `held` until the receiver has every byte of it and of all before
//! it. SDUs get their sequence number when their first byte is sent.
//!
//! *Deviations*: LTE is modelled with the SDU-wise segmentation of NR and the header sizes of LTE.
//! In unacknowledged mode, one timer stands for t-Reassembly of RLC and t-Reordering of PDCP, and a
//! packet that HARQ has lost is reported as dropped at once, although the receiver still waits for it.

pub(crate) mod am;
mod reassembly;
pub(crate) mod segment;
pub(crate) mod span;

use crate::config::{Rat, RlcMode};
use crate::output::DropReason;
use crate::pdcp::{Pdcp, SnLength};
use crate::sdap;
use crate::stats::DirectionStats;
use crate::timers::{EntityId, TimerKind, Timers};
use am::{Am, Status};
use queue::{Capacity, ConfigError, DropTail, Occupancy, Packet, QueueManagement};
use reassembly::Reassembly;
use segment::{Headers, Part, Room};
use span::Span;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// What an entity needs of the cell.
pub(crate) struct Cx<'a> {
    pub(crate) now: Instant,
    pub(crate) entity: EntityId,
    pub(crate) timers: &'a mut Timers,
    pub(crate) stats: &'a mut DirectionStats,
}

/// A packet in the buffer.
#[derive(Debug)]
struct Waiting<P> {
    packet: P,
    arrived_at: Instant,
}

impl<P: Packet> Packet for Waiting<P> {
    fn bytes(&self) -> Bytes {
        self.packet.bytes()
    }
}

/// An SDU of which at least one byte has been sent.
#[derive(Debug)]
struct Sdu<P> {
    /// None once it has been dropped.
    packet: Option<P>,
    /// Its end in the byte stream.
    end: u64,
    /// Its bytes in the byte stream, PDCP and SDAP headers included.
    bytes: u64,
    /// PDCP sequence number.
    sn: u32,
    /// RETX_COUNT.
    retransmissions: u8,
    arrived_at: Instant,
    /// From `arrived_at` until the last byte was sent.
    sojourn: Duration,
}

impl<P> Sdu<P> {
    fn span(&self) -> Span {
        Span::new(self.end - self.bytes, self.end)
    }
}

/// One direction of one bearer.
#[derive(Debug)]
pub(crate) struct Rlc<P> {
    queue: DropTail<Waiting<P>>,
    headers: Headers,
    /// PDCP and SDAP header bytes of an SDU.
    overhead: u64,
    pdcp: Pdcp,
    /// In stream order; the last may have been sent in part only.
    held: VecDeque<Sdu<P>>,
    /// End of what has been sent.
    next: u64,
    /// End of the last SDU taken from the buffer.
    end: u64,
    /// Payload between `next` and `end`.
    payload_left: u64,
    /// Span of the SDU sent last.
    last_sdu: Span,
    rx: Reassembly,
    /// SDUs delivered or given up.
    delivered: u64,
    /// None in unacknowledged mode.
    am: Option<Am>,
    /// When the backlog's integral was last brought up to date.
    accrued_at: Instant,
}

impl<P: Packet + Send> Rlc<P> {
    pub(crate) fn new(rat: Rat, mode: &RlcMode, buffer: Capacity) -> Result<Self, ConfigError> {
        let (t_reassembly, am) = match mode {
            RlcMode::Am(config) => (config.t_reassembly, Some(Am::new(*config, rat))),
            RlcMode::Um { t_reassembly } => (*t_reassembly, None),
        };
        let sn = SnLength::of(rat);
        Ok(Self {
            queue: DropTail::new(buffer)?,
            headers: Headers::of(rat, mode),
            overhead: sn.header() + sdap::header(rat),
            pdcp: Pdcp::new(sn),
            held: VecDeque::new(),
            next: 0,
            end: 0,
            payload_left: 0,
            last_sdu: Span::new(0, 0),
            rx: Reassembly::new(t_reassembly),
            delivered: 0,
            am,
            accrued_at: Instant::ZERO,
        })
    }

    // transmitting side

    /// A packet enters the buffer at `at` (not after now), or comes back because it is full.
    pub(crate) fn enqueue(
        &mut self,
        cx: &mut Cx<'_>,
        packet: P,
        arrived_at: Instant,
        at: Instant,
    ) -> Result<(), P> {
        self.accrue(cx);
        let bytes = packet.bytes();
        if let Err(refused) = self.queue.enqueue(at, Waiting { packet, arrived_at }) {
            return Err(refused.packet);
        }
        cx.stats.queued.add(bytes);
        cx.stats.backlog += bytes;
        let early = cx.now.saturating_since(at);
        cx.stats.backlog_integral += u128::from(bytes.get()) * u128::from(early.as_nanos());
        Ok(())
    }

    /// Brings the integral of the backlog up to now.
    pub(crate) fn accrue(&mut self, cx: &mut Cx<'_>) {
        let time = cx.now.saturating_since(self.accrued_at);
        if time.is_zero() {
            return;
        }
        self.accrued_at = cx.now;
        let waiting = self.queue.occupancy().bytes.get() + self.payload_left;
        cx.stats.backlog_integral += u128::from(waiting) * u128::from(time.as_nanos());
    }

    /// No new SDU may be sent before old ones are acknowledged.
    fn is_stalled(&self) -> bool {
        self.am
            .as_ref()
            .is_some_and(|am| am.is_stalled() || self.pdcp.is_stalled())
    }
    fn retransmit_bytes(&self) -> u64 {
        self.am.as_ref().map_or(0, |am| am.retransmit.bytes())
    }
    fn has_new_data(&self) -> bool {
        self.next < self.end || (self.queue.occupancy().packets > 0 && !self.is_stalled())
    }
    /// Whether there is anything that may be sent now.
    pub(crate) fn has_data(&self) -> bool {
        self.retransmit_bytes() > 0 || self.has_new_data()
    }
    /// Bytes of a transport block that all the data would need, headers included (a bound from
    /// above by a few bytes); zero if nothing may be sent.
    pub(crate) fn demand(&self, is_bare: bool) -> u64 {
        let headers = if is_bare { Headers::Bare } else { self.headers };
        let mut bytes = self.retransmit_bytes() + (self.end - self.next);
        if !self.is_stalled() {
            let Occupancy {
                packets,
                bytes: waiting,
            } = self.queue.occupancy();
            let overhead = if is_bare { 0 } else { self.overhead };
            bytes += waiting.get() + packets as u64 * (overhead + headers.of_sdu());
        }
        if bytes == 0 {
            0
        } else {
            bytes + headers.of_block()
        }
    }

    /// Fills up to `room` bytes of a transport block; hands out the spans, the last one with a poll
    /// where RLC polls. How many bytes are used, headers included.
    pub(crate) fn pull(
        &mut self,
        cx: &mut Cx<'_>,
        room: u64,
        is_bare: bool,
        mut place: impl FnMut(Span, bool),
    ) -> u64 {
        self.accrue(cx);
        let headers = if is_bare { Headers::Bare } else { self.headers };
        let overhead = if is_bare { 0 } else { self.overhead };
        let mut space = Room::new(headers, room);
        let mut last = None;
        if self.retransmit_bytes() > 0 {
            self.pull_again(cx, &mut space, |span| {
                if let Some(before) = last.replace(span) {
                    place(before, false);
                }
            });
        }
        let start = self.next;
        self.pull_new(cx, &mut space, overhead);
        if self.next > start
            && let Some(before) = last.replace(Span::new(start, self.next))
        {
            place(before, false);
        }
        cx.stats.backlog = self.backlog();
        if let Some(span) = last {
            place(span, self.poll(cx, space.parts()));
        }
        room - space.left()
    }

    /// Whether `pdus` that go out now carry a poll.
    fn poll(&mut self, cx: &mut Cx<'_>, pdus: u64) -> bool {
        let is_last = !self.has_data();
        let Some(am) = &mut self.am else { return false };
        let Some(expires_at) = am.poll_with(cx.now, pdus, self.next, is_last) else {
            return false;
        };
        cx.timers
            .arm(cx.entity, TimerKind::PollRetransmit, expires_at);
        cx.stats.rlc_polls += 1;
        true
    }

    fn pull_again(&mut self, cx: &mut Cx<'_>, room: &mut Room, mut place: impl FnMut(Span)) {
        let Some(am) = &mut self.am else { return };
        while let Some(span) = am.retransmit.first() {
            let at = self.held.partition_point(|sdu| sdu.end <= span.start);
            // what the receiver has already is no longer held; it goes out as one segment
            let sdu = self.held.get(at).map_or(span, Sdu::span);
            let (end, part) = if span.start < sdu.start {
                (span.end.min(sdu.start), Part::FromStart)
            } else if span.start == sdu.start {
                (span.end.min(sdu.end), Part::FromStart)
            } else {
                (span.end.min(sdu.end), Part::RestAgain)
            };
            let bytes = end - span.start;
            let taken = room.place(bytes, part);
            if taken > 0 {
                let sent = Span::new(span.start, span.start + taken);
                am.retransmit.remove(sent);
                cx.stats.rlc_retransmitted += Bytes::new(taken);
                place(sent);
            }
            if taken < bytes {
                return;
            }
        }
    }

    fn pull_new(&mut self, cx: &mut Cx<'_>, room: &mut Room, overhead: u64) {
        loop {
            if self.next == self.end && !self.take_sdu(cx, room, overhead) {
                return;
            }
            let Some(sdu) = self.held.back_mut() else {
                return;
            };
            let left = self.end - self.next;
            let part = if left == sdu.bytes {
                Part::FromStart
            } else {
                Part::Rest
            };
            let taken = room.place(left, part);
            self.next += taken;
            let payload = if taken == left {
                self.payload_left
            } else {
                taken.min(self.payload_left)
            };
            self.payload_left -= payload;
            cx.stats.served += Bytes::new(payload);
            if taken < left {
                return;
            }
            sdu.sojourn = cx.now.saturating_since(sdu.arrived_at);
            cx.stats.sojourns.add(sdu.sojourn);
        }
    }

    /// Takes the next packet out of the buffer, if a byte of it has room.
    fn take_sdu(&mut self, cx: &mut Cx<'_>, room: &Room, overhead: u64) -> bool {
        if !room.has_space() || self.is_stalled() {
            return false;
        }
        // the buffer gives packets whole; RLC segments them
        let Some(next) = self.queue.dequeue(cx.now, Bytes::MAX, &mut |_| {}) else {
            return false;
        };
        let Waiting { packet, arrived_at } = next.packet;
        let payload = packet.bytes();
        cx.stats.queued.remove(payload);
        cx.stats.in_flight.add(payload);
        // an empty packet still has a byte in the stream, so that it ends after its predecessor
        let bytes = (payload.get() + overhead).max(1);
        self.last_sdu = Span::new(self.end, self.end + bytes);
        self.end += bytes;
        self.payload_left = payload.get();
        if let Some(am) = &mut self.am {
            am.on_new_sdu();
        }
        self.held.push_back(Sdu {
            packet: Some(packet),
            end: self.end,
            bytes,
            sn: self.pdcp.number(),
            retransmissions: 0,
            arrived_at,
            sojourn: Duration::ZERO,
        });
        true
    }

    /// Payload waiting above the MAC: unsent, and to be sent again.
    fn backlog(&self) -> Bytes {
        let left = self.payload_left + self.retransmit_bytes();
        self.queue.occupancy().bytes + Bytes::new(left)
    }

    /// HARQ has given up on a span. The transmitter of unacknowledged mode does not learn of it, but
    /// the packets are lost from now on.
    pub(crate) fn on_lost(&mut self, cx: &mut Cx<'_>, span: Span, drop: impl FnMut(P, DropReason)) {
        if self.am.is_none() {
            self.drop_incomplete(cx, span, DropReason::HarqFailure, drop);
        }
    }

    /// Drops the SDUs of which bytes of `span` are lost.
    fn drop_incomplete(
        &mut self,
        cx: &mut Cx<'_>,
        span: Span,
        reason: DropReason,
        mut drop: impl FnMut(P, DropReason),
    ) {
        let from = self.held.partition_point(|sdu| sdu.end <= span.start);
        for sdu in self
            .held
            .range_mut(from..)
            .take_while(|sdu| sdu.span().start < span.end)
        {
            let all = sdu.span();
            let touched = Span::new(all.start.max(span.start), all.end.min(span.end));
            if self.rx.has(touched) {
                continue;
            }
            if let Some(packet) = sdu.packet.take() {
                count_drop(cx, &packet, reason);
                drop(packet, reason);
            }
        }
    }

    /// A status report about this direction has come back.
    pub(crate) fn on_status(
        &mut self,
        cx: &mut Cx<'_>,
        status: &Status,
        mut drop: impl FnMut(P, DropReason),
    ) {
        let Some(am) = &mut self.am else { return };
        am.on_status(status);
        for &gap in &status.missing {
            self.retransmit(cx, gap, &mut drop);
        }
        cx.stats.backlog = self.backlog();
    }

    /// Marks the SDUs and segments in `span` for retransmission, and gives up those that have been
    /// sent too often (5.3.2).
    fn retransmit(&mut self, cx: &mut Cx<'_>, span: Span, drop: &mut impl FnMut(P, DropReason)) {
        let Some(am) = &mut self.am else { return };
        let most = am.max_retransmissions();
        let from = self.held.partition_point(|sdu| sdu.end <= span.start);
        for sdu in self
            .held
            .range_mut(from..)
            .take_while(|sdu| sdu.span().start < span.end)
        {
            let all = sdu.span();
            let part = Span::new(
                all.start.max(span.start),
                all.end.min(span.end).min(self.next),
            );
            if sdu.packet.is_none() || part.start >= part.end || am.retransmit.covers(part) {
                continue;
            }
            if sdu.retransmissions < most {
                sdu.retransmissions += 1;
                am.retransmit.insert(part);
                continue;
            }
            if let Some(packet) = sdu.packet.take() {
                count_drop(cx, &packet, DropReason::RlcRetransmissions);
                drop(packet, DropReason::RlcRetransmissions);
            }
            am.retransmit.remove(all);
            self.rx.receive(all);
            if all.end > self.next {
                self.next = all.end;
                self.payload_left = 0;
            }
        }
        self.update_receiver(cx);
    }

    // receiving side

    /// A span has come, with a poll or without.
    pub(crate) fn receive(&mut self, cx: &mut Cx<'_>, span: Span, has_poll: bool) {
        let duplicate = self.rx.receive(span);
        cx.stats.rlc_duplicates += Bytes::new(duplicate);
        if has_poll && let Some(am) = &mut self.am {
            am.on_poll(span.end);
        }
        self.update_receiver(cx);
    }

    fn update_receiver(&mut self, cx: &mut Cx<'_>) {
        if let Some(expires_at) = self.rx.update_timer(cx.now) {
            cx.timers.arm(cx.entity, TimerKind::Reassembly, expires_at);
        }
        if let Some(am) = &mut self.am
            && let Some(allowed_at) = am.update_status(cx.now, &self.rx)
        {
            cx.timers
                .arm(cx.entity, TimerKind::StatusProhibit, allowed_at);
        }
    }

    /// Hands out, in order, the packets that are complete.
    pub(crate) fn release(&mut self, cx: &mut Cx<'_>, mut deliver: impl FnMut(P, Duration)) {
        let contiguous = self.rx.contiguous();
        // in unacknowledged mode nothing remembers what was lost but the receiver's positions
        let lost_before = if self.am.is_some() { 0 } else { self.next };
        let is_done = |sdu: &Sdu<P>| {
            sdu.end <= contiguous || (sdu.packet.is_none() && sdu.end <= lost_before)
        };
        while self.held.front().is_some_and(is_done) {
            let Some(sdu) = self.held.pop_front() else {
                return;
            };
            self.delivered += 1;
            let in_order = self.pdcp.deliver(sdu.sn);
            debug_assert!(in_order, "PDCP sequence numbers are delivered in order");
            if let Some(packet) = sdu.packet {
                let bytes = packet.bytes();
                cx.stats.in_flight.remove(bytes);
                cx.stats.delivered.add(bytes);
                deliver(packet, sdu.sojourn);
            }
        }
    }

    /// Whether a status report about this direction is to be sent in the other one.
    pub(crate) fn is_status_ready(&self, now: Instant) -> bool {
        self.am.as_ref().is_some_and(|am| am.is_status_ready(now))
    }
    /// Bytes of a transport block that a status report needs at least.
    pub(crate) fn status_demand(&self, now: Instant, is_bare: bool) -> u64 {
        if !self.is_status_ready(now) {
            return 0;
        }
        let (fixed, each) = if is_bare {
            (0, 0)
        } else {
            self.headers.status()
        };
        let am_mark = self.am.as_ref().map_or(0, |am| am.mark(&self.rx));
        (fixed + each * self.rx.gaps_before(am_mark).count() as u64).max(1)
    }
    /// Writes the status report that is ready into at most `room` bytes; how many it takes.
    pub(crate) fn write_status(
        &mut self,
        cx: &mut Cx<'_>,
        room: u64,
        is_bare: bool,
        status: &mut Status,
    ) -> Option<u64> {
        let (fixed, each) = if is_bare {
            (0, 0)
        } else {
            self.headers.status()
        };
        let am = self.am.as_mut().filter(|am| am.is_status_ready(cx.now))?;
        let left = room.checked_sub(fixed)?;
        let most = left.checked_div(each).unwrap_or(u64::MAX);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        am.write_status(cx.now, &self.rx, self.delivered, most, status);
        cx.stats.rlc_statuses += 1;
        if let Some(allowed_at) = am.update_status(cx.now, &self.rx) {
            cx.timers
                .arm(cx.entity, TimerKind::StatusProhibit, allowed_at);
        }
        Some(fixed + each * status.missing.len() as u64)
    }

    // timers

    /// A timer may have expired.
    pub(crate) fn on_timer(
        &mut self,
        cx: &mut Cx<'_>,
        kind: TimerKind,
        mut drop: impl FnMut(P, DropReason),
    ) {
        let running = match kind {
            TimerKind::Reassembly => self.rx.expires_at(),
            TimerKind::PollRetransmit => self.am.as_ref().and_then(Am::poll_expires_at),
            // whoever waits for it looks at the time
            TimerKind::StatusProhibit => None,
        };
        match running {
            None => {}
            Some(expires_at) if expires_at > cx.now => cx.timers.arm(cx.entity, kind, expires_at),
            Some(_) if kind == TimerKind::Reassembly => self.on_reassembly_expired(cx, drop),
            Some(_) => self.on_poll_expired(cx, &mut drop),
        }
        self.update_receiver(cx);
    }

    fn on_reassembly_expired(&mut self, cx: &mut Cx<'_>, drop: impl FnMut(P, DropReason)) {
        let mark = self.rx.expire();
        if let Some(am) = &mut self.am {
            am.on_reassembly_expired(mark);
            return;
        }
        cx.stats.rlc_gaps_skipped += 1;
        let lost = Span::new(self.rx.contiguous(), mark);
        self.drop_incomplete(cx, lost, DropReason::ReassemblyTimeout, drop);
        self.rx.skip_to(mark);
    }

    fn on_poll_expired(&mut self, cx: &mut Cx<'_>, drop: &mut impl FnMut(P, DropReason)) {
        let is_idle = !self.has_data();
        let last = self.last_sdu;
        let Some(am) = &mut self.am else { return };
        am.on_poll_expired();
        if !is_idle {
            return;
        }
        let held_from = self.held.front().map_or(self.end, |sdu| sdu.span().start);
        if last.start < held_from {
            am.ask_again(last);
        } else {
            self.retransmit(cx, last, drop);
        }
        cx.stats.backlog = self.backlog();
    }

    // audit

    /// What the buffer and what `held` hold, counted anew.
    pub(crate) fn audit(&self) -> (Occupancy, Occupancy) {
        let mut held = Occupancy::default();
        for packet in self.held.iter().filter_map(|sdu| sdu.packet.as_ref()) {
            held.packets += 1;
            held.bytes += packet.bytes();
        }
        (self.queue.occupancy(), held)
    }
}

fn count_drop<P: Packet>(cx: &mut Cx<'_>, packet: &P, reason: DropReason) {
    let bytes = packet.bytes();
    cx.stats.in_flight.remove(bytes);
    cx.stats.dropped.count(reason, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct P(u64);
    impl Packet for P {
        fn bytes(&self) -> Bytes {
            Bytes::new(self.0)
        }
    }

    /// One entity with what it needs.
    struct Setup {
        rlc: Rlc<P>,
        timers: Timers,
        stats: DirectionStats,
    }

    impl Setup {
        fn um() -> Self {
            let mode = RlcMode::Um {
                t_reassembly: Duration::from_millis(10),
            };
            let rat = Rat::Nr { numerology: 1 };
            Self {
                rlc: Rlc::new(rat, &mode, Capacity::Unlimited).unwrap(),
                timers: Timers::new(1),
                stats: DirectionStats::default(),
            }
        }
        fn with<T>(&mut self, ms: u64, f: impl FnOnce(&mut Rlc<P>, &mut Cx<'_>) -> T) -> T {
            let now = Instant::ZERO + Duration::from_millis(ms);
            let (entity, timers, stats) = (EntityId(0), &mut self.timers, &mut self.stats);
            f(
                &mut self.rlc,
                &mut Cx {
                    now,
                    entity,
                    timers,
                    stats,
                },
            )
        }
        fn send(&mut self, bytes: u64) {
            self.with(0, |rlc, cx| {
                rlc.enqueue(cx, P(bytes), Instant::ZERO, Instant::ZERO)
                    .unwrap();
            });
        }
        fn pull(&mut self, room: u64) -> Span {
            let mut pulled = None;
            self.with(0, |rlc, cx| {
                rlc.pull(cx, room, false, |span, _| pulled = Some(span))
            });
            pulled.unwrap()
        }
    }

    #[test]
    fn headers_and_segments_of_two_packets() {
        let mut setup = Setup::um();
        setup.send(1000);
        setup.send(500);
        assert_eq!(
            setup.rlc.demand(false),
            1500 + 2 * (1 + 3) + 2 * (3 + 1) + 7
        );
        // PDCP 3 + SDAP 1 + RLC 1 + MAC 3; then a first segment with RLC 2 + MAC 2
        assert_eq!(setup.pull(1008 + 4 + 96), Span::new(0, 1004 + 96));
        assert_eq!(setup.stats.served.get(), 1000 + 96);
        assert_eq!(setup.stats.backlog.get(), 404);
        assert_eq!(setup.pull(5000), Span::new(1100, 1508));
        assert_eq!(
            (setup.stats.served.get(), setup.stats.backlog.get()),
            (1500, 0)
        );
    }

    #[test]
    fn what_um_has_lost_is_forgotten() {
        let mut setup = Setup::um();
        for _ in 0..10 {
            setup.send(100);
            let span = setup.pull(1000);
            let mut dropped = Vec::new();
            setup.with(1, |rlc, cx| {
                rlc.on_lost(cx, span, |p, reason| dropped.push((p, reason)));
            });
            assert_eq!(dropped, [(P(100), DropReason::HarqFailure)]);
            setup.with(1, |rlc, cx| rlc.release(cx, |_, _| unreachable!()));
            assert!(setup.rlc.held.is_empty());
        }
        assert_eq!(setup.stats.dropped.total().bytes.get(), 1000);
    }

    #[test]
    fn um_goes_on_without_what_is_missing_when_the_timer_expires() {
        let mut setup = Setup::um();
        let spans: Vec<Span> = (0..3)
            .map(|_| {
                setup.send(100);
                setup.pull(1000)
            })
            .collect();
        setup.with(0, |rlc, cx| rlc.receive(cx, spans[1], false));
        let mut out = Vec::new();
        setup.with(0, |rlc, cx| rlc.release(cx, |p, _| out.push(p)));
        assert!(out.is_empty());
        let mut dropped = Vec::new();
        setup.with(10, |rlc, cx| {
            rlc.on_timer(cx, TimerKind::Reassembly, |p, reason| {
                dropped.push((p, reason));
            });
            rlc.release(cx, |p, _| out.push(p));
        });
        assert_eq!(dropped, [(P(100), DropReason::ReassemblyTimeout)]);
        assert_eq!(out, [P(100)]);
        // what comes too late is no use any more
        setup.with(11, |rlc, cx| rlc.receive(cx, spans[0], false));
        assert_eq!(setup.stats.rlc_duplicates.get(), 104);
    }
}
