//! The receiving side of an entity: spans come, complete packets go out in order, status reports are
//! written, t-Reassembly expires (TS 38.322, 5.2.2.2, 5.2.3.2, 5.3.4).

use super::am::Status;
use super::span::Span;
use super::{Cx, Passed, RandomLoss, Rlc, Sdu};
use crate::output::DropReason;
use crate::timers::TimerKind;
use queue::{Occupancy, Packet};
use units::{Bytes, Duration, Instant};

impl<P: Packet + Send> Rlc<P> {
    /// A span has come, with a poll or without.
    pub(crate) fn receive(&mut self, cx: &mut Cx<'_>, span: Span, has_poll: bool) {
        if !self.rx.continues_with(span) {
            self.note_arrival(cx.now, span);
        }
        let duplicate = self.rx.receive(span);
        cx.stats.rlc_duplicates += Bytes::new(duplicate);
        if has_poll && let Some(am) = &mut self.am {
            am.on_poll(span.end);
        }
        self.update_receiver(cx);
    }

    /// Parts of packets have come out of order, or what is behind them has.
    fn note_arrival(&mut self, now: Instant, span: Span) {
        let first = self.held.partition_point(|sdu| sdu.end <= span.start);
        for sdu in self.held.range_mut(first..) {
            let of = sdu.span();
            if of.start >= span.end {
                break;
            }
            if !self.rx.has(of) {
                sdu.came_at = Some(now);
            }
        }
    }

    pub(super) fn update_receiver(&mut self, cx: &mut Cx<'_>) {
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

    /// Hands out, in order, the packets that are complete, each with how it has passed, or with the reason why the
    /// other end does not get it after all, and with what it had found in the buffer.
    pub(crate) fn release(
        &mut self,
        cx: &mut Cx<'_>,
        mut deliver: impl FnMut(P, Result<Passed, DropReason>, Occupancy),
    ) {
        let contiguous = self.rx.contiguous();
        // in unacknowledged mode what was lost shows in the receiver's positions only
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
                if self.loss.as_mut().is_some_and(RandomLoss::takes) {
                    cx.stats.dropped.count(DropReason::Random, bytes);
                    deliver(packet, Err(DropReason::Random), sdu.found);
                } else {
                    cx.stats.delivered.add(bytes);
                    let passed = Passed {
                        sojourn: sdu.sojourn,
                        held: sdu
                            .came_at
                            .map_or(Duration::ZERO, |at| cx.now.saturating_since(at)),
                    };
                    deliver(packet, Ok(passed), sdu.found);
                }
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
        let max_missing = left.checked_div(each).unwrap_or(u64::MAX);
        let max_missing = usize::try_from(max_missing).unwrap_or(usize::MAX);
        am.write_status(cx.now, &self.rx, self.delivered, max_missing, status);
        cx.stats.rlc_statuses += 1;
        if let Some(allowed_at) = am.update_status(cx.now, &self.rx) {
            cx.timers
                .arm(cx.entity, TimerKind::StatusProhibit, allowed_at);
        }
        Some(fixed + each * status.missing.len() as u64)
    }

    pub(super) fn on_reassembly_expired(
        &mut self,
        cx: &mut Cx<'_>,
        drop: impl FnMut(P, DropReason),
    ) {
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
}
