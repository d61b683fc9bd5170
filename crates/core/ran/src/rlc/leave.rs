//! The end of an entity's service: re-establishment (TS 38.322 5.1.2), which hands out all SDUs.

use super::span::Span;
use super::{Cx, Rlc};
use crate::handover::{Left, SentPacket, drain};
use queue::Packet;

impl<P: Packet + Send> Rlc<P> {
    /// Hands out all packets, and begins anew.
    pub(crate) fn leave(&mut self, cx: &mut Cx<'_>) -> Left<P> {
        self.accrue(cx);
        let mut sent = Vec::new();
        for sdu in core::mem::take(&mut self.held) {
            let is_received = self.rx.has(sdu.span());
            if let Some(packet) = sdu.packet {
                cx.stats.in_flight.remove(packet.bytes());
                cx.stats.handed_over.add(packet.bytes());
                sent.push(SentPacket {
                    packet,
                    is_received,
                });
            }
        }
        let waiting = drain(&mut self.queue, cx.now).into_iter();
        let waiting: Vec<P> = waiting.map(|held| held.packet).collect();
        for packet in &waiting {
            cx.stats.queued.remove(packet.bytes());
            cx.stats.handed_over.add(packet.bytes());
        }
        cx.stats.backlog = units::Bytes::ZERO;
        self.pdcp = self.pdcp.anew();
        self.rx = self.rx.anew();
        self.am = self.am.as_ref().map(super::Am::anew);
        (self.next, self.end, self.payload_left, self.delivered) = (0, 0, 0, 0);
        self.last_sdu = Span::new(0, 0);
        Left { sent, waiting }
    }
}
