//! The transmitting side of an entity: packets enter the buffer, segments fill transport blocks, what
//! a status report misses goes out again, what is lost for good is dropped (TS 38.322, 5.2.2.1,
//! 5.2.3.1, 5.3.2, 5.3.3).

use super::am::Status;
use super::segment::{Headers, Part, Room};
use super::span::Span;
use super::{Cx, Rlc, Sdu};
use crate::output::DropReason;
use crate::packet::Held;
use crate::timers::TimerKind;
use queue::{Occupancy, Packet, QueueManagement};
use units::{Bytes, Duration, Instant};

impl<P: Packet + Send> Rlc<P> {
    /// A packet enters the buffer at `at` (not after now), or one comes back that is dropped
    /// instead.
    pub(crate) fn enqueue(
        &mut self,
        cx: &mut Cx<'_>,
        mut packet: Held<P>,
        at: Instant,
    ) -> Result<(), Held<P>> {
        self.accrue(cx);
        packet.found = self.unsent();
        let bytes = packet.bytes();
        let early = cx.now.saturating_since(at);
        let rejected = self.queue.enqueue(at, packet).err();
        cx.stats.queued.add(bytes);
        cx.stats.backlog += bytes;
        cx.stats.backlog_integral += u128::from(bytes.get()) * u128::from(early.as_nanos());
        let Some(rejected) = rejected else {
            return Ok(());
        };
        let bytes = rejected.bytes();
        cx.stats.queued.remove(bytes);
        cx.stats.backlog -= bytes;
        cx.stats.backlog_integral -= u128::from(bytes.get()) * u128::from(early.as_nanos());
        Err(rejected)
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
    pub(crate) fn demand(&self, now: Instant, is_bare: bool) -> u64 {
        let headers = if is_bare { Headers::Bare } else { self.headers };
        let mut bytes = self.retransmit_bytes() + (self.end - self.next);
        if !self.is_stalled() {
            let Occupancy {
                packets,
                bytes: waiting,
            } = self.queue.ready(now);
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
            let number = sdu.packet.as_ref().and_then(P::number);
            cx.stats.transmitted = cx.stats.transmitted.max(number);
        }
    }

    /// Takes the next packet out of the buffer, if a byte of it has room.
    fn take_sdu(&mut self, cx: &mut Cx<'_>, room: &Room, overhead: u64) -> bool {
        if !room.has_space() || self.is_stalled() {
            return false;
        }
        // the buffer gives packets whole; RLC segments them
        let dropped = &mut self.dropped;
        let next = self
            .queue
            .dequeue(cx.now, Bytes::MAX, &mut |rejected: Held<P>| {
                let bytes = rejected.bytes();
                cx.stats.queued.remove(bytes);
                cx.stats.dropped.count(DropReason::QueueManagement, bytes);
                dropped.push(rejected.packet);
            });
        let Some(next) = next else {
            return false;
        };
        let Held {
            packet,
            arrived_at,
            found,
            ..
        } = next.packet;
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
            found,
            sojourn: Duration::ZERO,
            came_at: None,
        });
        true
    }

    /// Payload waiting above the MAC: unsent, and to be sent again.
    fn backlog(&self) -> Bytes {
        let left = self.payload_left + self.retransmit_bytes();
        self.queue.occupancy().bytes + Bytes::new(left)
    }

    /// HARQ has given up on a span. The transmitter of unacknowledged mode is not notified of it, but
    /// the packets are lost from now on.
    pub(crate) fn on_lost(&mut self, cx: &mut Cx<'_>, span: Span, drop: impl FnMut(P, DropReason)) {
        if self.am.is_none() {
            self.drop_incomplete(cx, span, DropReason::HarqFailure, drop);
        }
    }

    /// Drops the SDUs of which bytes of `span` are lost.
    pub(super) fn drop_incomplete(
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
        let max = am.max_retransmissions();
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
            if sdu.retransmissions < max {
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

    pub(super) fn on_poll_expired(
        &mut self,
        cx: &mut Cx<'_>,
        drop: &mut impl FnMut(P, DropReason),
    ) {
        let is_idle = !self.has_data();
        let last = self.last_sdu;
        let Some(am) = &mut self.am else { return };
        am.on_poll_expired();
        if !is_idle {
            return;
        }
        let held_from = self.held.front().map_or(self.end, |sdu| sdu.span().start);
        if last.start < held_from {
            am.poll_again(last);
        } else {
            self.retransmit(cx, last, drop);
        }
        cx.stats.backlog = self.backlog();
    }
}

fn count_drop<P: Packet>(cx: &mut Cx<'_>, packet: &P, reason: DropReason) {
    let bytes = packet.bytes();
    cx.stats.in_flight.remove(bytes);
    cx.stats.dropped.count(reason, bytes);
}
