//! Parities of latency-sensitive packets ([`crate::parity`]): when one is made and where it goes, and what is rebuilt.

use super::Tunnel;
use super::path::Queued;
use crate::packet::Packet;
use crate::parity::{Finished, Group, Made};
use crate::scheduler::PathSet;
use crate::seq::MpSeq;
use crate::{PathId, Payload};
use units::{Bytes, Instant, Packets};

impl<P: Payload> Tunnel<P> {
    /// A latency-sensitive packet goes to these paths: a parity is to cover it if the scheduler has one.
    pub(super) fn cover(&mut self, now: Instant, queued: &Queued<P>, chosen: PathSet) {
        if !self.peer_rebuilds || queued.is_repeated {
            return;
        }
        let mut paths = chosen.iter();
        let (Some(path), None) = (paths.next(), paths.next()) else {
            return;
        };
        if !self.scheduler.wants_parity(now, path, &self.views) {
            return;
        }
        if let Some(latency) = &mut self.latency {
            let payload = queued.payload.clone();
            latency.encoder.push(now, queued.mp_seq, payload, path);
        }
        self.protect(now);
    }

    /// Sends the parity of a group that is closed.
    pub(super) fn protect(&mut self, now: Instant) {
        let Some(latency) = &mut self.latency else {
            return;
        };
        let Some(Finished { of, path }) = latency.encoder.finish(now) else {
            return;
        };
        let (mp_seq, payload, parity_of) = match of {
            Made::Parity(group, payload) => (MpSeq::default(), payload, Some(group)),
            Made::Copy(mp_seq, payload) => (mp_seq, payload, None),
        };
        let bytes = Bytes::new(payload.len() as u64);
        let fitting = self.fitting(now, bytes, &self.views);
        let views = fitting.as_deref().unwrap_or(&self.views);
        let Some(chosen) = self.scheduler.choose_parity(now, bytes, path, views) else {
            return;
        };
        let queued = Queued {
            mp_seq,
            payload,
            is_repeated: false,
            is_urgent: true,
            parity_of,
        };
        if let Some(latency) = &mut self.latency {
            match parity_of {
                Some(_) => latency.counters.parities += Packets::new(1),
                None => latency.add_copy(mp_seq, chosen),
            }
        }
        self.give(chosen, queued);
    }

    fn give(&mut self, path: PathId, queued: Queued<P>) {
        self.paths[usize::from(path.0)].push_urgent(queued);
        let mut views = self.views.iter_mut();
        if let Some(view) = views.find(|view| view.id == path) {
            view.queued += Packets::new(1);
        }
    }

    /// When a group of which not all packets came is to be closed.
    pub(super) fn next_parity(&self) -> Option<Instant> {
        self.latency.as_ref()?.encoder.due()
    }

    /// The peer rebuilds packets.
    pub(super) fn on_peer_rebuilds(&mut self) {
        if self.rebuilder.is_some() && !self.peer_rebuilds {
            self.peer_rebuilds = true;
            self.scheduler.allow_parities();
        }
    }

    /// A packet without a number came: a parity, if its options name a group.
    pub(super) fn on_parity(&mut self, now: Instant, packet: &Packet, payload: P) {
        let Some(group) = packet.options.list.iter().find_map(Group::read) else {
            self.counters.without_number += 1;
            return;
        };
        let rebuilder = self.rebuilder.as_mut();
        let rebuilt = rebuilder.and_then(|of| of.on_parity(now, group, payload));
        self.deliver_rebuilt(rebuilt);
    }

    /// A latency-sensitive packet came, as it was sent.
    pub(super) fn note_packet(&mut self, now: Instant, mp_seq: MpSeq, payload: P) {
        let rebuilder = self.rebuilder.as_mut();
        let rebuilt = rebuilder.and_then(|of| of.on_packet(now, mp_seq, payload));
        self.deliver_rebuilt(rebuilt);
    }

    fn deliver_rebuilt(&mut self, rebuilt: Option<(MpSeq, P)>) {
        if let Some((mp_seq, payload)) = rebuilt {
            self.rebuilt += u64::from(self.reorder.deliver_rebuilt(mp_seq, payload));
        }
    }
}
