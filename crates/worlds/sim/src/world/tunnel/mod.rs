//! The multipath tunnel: an end at the edge and one at the UE, and what passes through them.
//!
//! ```text
//!   from the server -> [ edge ] ==path 0: DCCP in UDP====> [ UE ] -> its hosts
//!   to the server <--- [ end  ] ==path 1: TCP, in which==> [ end ] <- from its hosts
//!                               ==DCCP packets go=========
//! ```
//!
//! The ends decide nothing here: they are [`multipath::Tunnel`]s, and the streams under their TCP
//! paths are connections of [`crate::tcp`]. Every UE has a tunnel of its own, through paths that all
//! share.

mod build;
mod opening;
mod results;
mod streams;

use super::World;
use crate::carried::{Carried, Ledger};
use crate::forwarding::TunnelEnd;
use crate::packet::{Body, Dccp, Packet};
use crate::pool::Handle;
use crate::schedule::EntityId;
use crate::session::Side;
use crate::stream::StreamEnd;
use multipath::PathId;
use multipath::tunnel::{Transmit, Tunnel};
use network::measure::QueueMeter;
use queue::Ecn;
use scenario::TunnelSpec;
use std::rc::Rc;
use units::Bytes;

pub(super) use build::{build, ledgers};

/// The tunnel of a UE.
pub(super) struct UeTunnel {
    spec: TunnelSpec,
    /// By [`TunnelEnd`].
    ends: [End; 2],
    paths: Vec<Path>,
    /// Seed of the edge's end.
    edge_seed: u64,
}

/// One end.
struct End {
    /// At the edge none until the UE's first request has come.
    tunnel: Option<Tunnel<Carried>>,
    /// Its timer.
    timer: EntityId,
    /// What it has taken in and not given out at the other end.
    ledger: Rc<Ledger>,
    /// Packets that wait for a path here.
    scheduler: QueueMeter,
    /// Packets that this end holds for those before them.
    reorder: QueueMeter,
    /// The paths by the numbers that this end gave them.
    paths: Vec<usize>,
}

/// A path.
struct Path {
    /// As results name it.
    entity: String,
    /// By [`TunnelEnd`]: the number that it has there.
    ids: [Option<PathId>; 2],
    /// By [`TunnelEnd`]: the ends of the TCP connection that carries it, if one does.
    stream: Option<[StreamEnd; 2]>,
    /// The UE's end has requested it.
    is_requested: bool,
    /// Bytes and packets inside that it has delivered to the UE.
    carried: (Bytes, u64),
    /// Those of the present step of the time series.
    step: Bytes,
}

impl UeTunnel {
    /// The timer by which the tunnel begins.
    pub(super) fn first_timer(&self) -> EntityId {
        self.ends[TunnelEnd::Ue as usize].timer
    }

    fn end(&mut self, end: TunnelEnd) -> &mut End {
        &mut self.ends[end as usize]
    }
}

impl World {
    /// A packet that came out of the network goes into its UE's tunnel at the edge.
    pub(super) fn enter_at_edge(&mut self, handle: Handle) {
        let packet = self.net.take_in(handle);
        self.enter_tunnel(TunnelEnd::Edge, packet);
    }

    /// A packet goes into its UE's tunnel.
    pub(super) fn enter_tunnel(&mut self, end: TunnelEnd, packet: Packet) {
        let now = self.now;
        let ue = self.flows[packet.flow as usize].spec.ue;
        let state = self.tunnels[ue].end(end);
        let carried = Carried::new(now, packet, &state.ledger);
        let refused = match &mut state.tunnel {
            Some(tunnel) => tunnel.send(now, carried).is_err(),
            None => true,
        };
        if refused {
            return state.scheduler.dropped();
        }
        self.transmit_tunnel(ue, end);
    }

    /// A packet of the tunnel itself has arrived at one of its ends.
    pub(super) fn on_tunnel_packet(&mut self, end: TunnelEnd, packet: Packet) {
        let ue = packet.flow as usize;
        match packet.body {
            Body::Dccp(dccp) => {
                let Dccp {
                    path,
                    packet,
                    payload,
                    ecn,
                } = *dccp;
                self.receive_tunnel(ue, end, usize::from(path), &packet, payload, ecn);
            }
            Body::Stream { path, segment } => {
                self.on_stream_segment(ue, end, usize::from(path), &segment);
            }
            // nothing else is sent between the two ends
            Body::Segment { .. } | Body::Quic { .. } | Body::Datagram(_) => return,
        }
        self.settle_tunnel(ue, end);
    }

    /// The timer of an end of a tunnel fired.
    pub(super) fn on_tunnel_timer(&mut self, ue: usize, end: TunnelEnd) {
        let now = self.now;
        if end == TunnelEnd::Ue && !self.has_begun(ue) {
            self.begin_tunnel(ue);
        }
        if let Some(tunnel) = &mut self.tunnels[ue].end(end).tunnel {
            tunnel.on_deadline(now);
        }
        self.settle_tunnel(ue, end);
    }

    /// A DCCP packet of a path, whatever carried it.
    fn receive_tunnel(
        &mut self,
        ue: usize,
        end: TunnelEnd,
        path: usize,
        packet: &multipath::packet::Packet,
        payload: Option<Carried>,
        ecn: Ecn,
    ) {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        if let Some(payload) = &payload {
            payload.arrives(now);
            if end == TunnelEnd::Ue {
                let bytes = Bytes::new(multipath::Payload::len(payload) as u64);
                let path = &mut state.paths[path];
                path.carried.0 += bytes;
                path.carried.1 += 1;
                path.step += bytes;
            }
        }
        match state.paths[path].ids[end as usize] {
            Some(id) => {
                if let Some(tunnel) = &mut state.end(end).tunnel {
                    tunnel.receive(now, id, packet, payload, ecn);
                }
            }
            None => self.accept_path(ue, path, packet),
        }
    }

    /// After anything happened at an end: what may be given out is, packets leave, the timer is set.
    fn settle_tunnel(&mut self, ue: usize, end: TunnelEnd) {
        let now = self.now;
        self.take_tunnel_events(ue, end);
        while let Some(tunnel) = &mut self.tunnels[ue].end(end).tunnel
            && let Some(carried) = tunnel.poll_delivery(now)
        {
            self.give_out(ue, end, &carried);
        }
        let state = &mut self.tunnels[ue];
        let held = state.end(end.other()).ledger.held();
        state.end(end).reorder.set(now, held);
        self.transmit_tunnel(ue, end);
    }

    /// A packet leaves the tunnel.
    fn give_out(&mut self, ue: usize, end: TunnelEnd, carried: &Carried) {
        let Some((packet, held)) = carried.give_out(self.now) else {
            return;
        };
        self.tunnels[ue].end(end).reorder.left(held);
        match end {
            TunnelEnd::Edge => self.net.continue_up(self.now, packet),
            TunnelEnd::Ue => {
                self.net.count_delivered();
                self.hand_over(Side::Client, packet);
            }
        }
    }

    /// Everything that may leave an end now does, and its timer is set.
    fn transmit_tunnel(&mut self, ue: usize, end: TunnelEnd) {
        let now = self.now;
        while let Some(tunnel) = &mut self.tunnels[ue].end(end).tunnel
            && let Some(transmit) = tunnel.poll_transmit(now)
        {
            self.transmit_on_path(ue, end, transmit);
        }
        for path in 0..self.tunnels[ue].paths.len() {
            if self.tunnels[ue].paths[path].stream.is_some() {
                self.transmit_stream(ue, end, path);
            }
        }
        let state = self.tunnels[ue].end(end);
        state.scheduler.set(now, state.ledger.waiting());
        if let Some(tunnel) = &mut state.tunnel {
            let deadline = tunnel.next_deadline(now);
            self.net.schedule.set(state.timer, deadline);
        }
    }

    fn transmit_on_path(&mut self, ue: usize, end: TunnelEnd, transmit: Transmit<Carried>) {
        let now = self.now;
        let Transmit {
            path: id,
            packet,
            payload,
            ecn,
        } = transmit;
        let state = &mut self.tunnels[ue];
        let waited = payload.as_ref().and_then(|payload| payload.leaves(now));
        let from = state.end(end);
        if let Some(waited) = waited {
            from.scheduler.left(waited);
        }
        let path = from.paths[usize::from(id.0)];
        if let Some(stream) = &mut state.paths[path].stream {
            return stream[end as usize].write(now, packet, payload);
        }
        let dccp = Dccp {
            path: path as u8,
            packet,
            payload,
            ecn,
        };
        let packet = Packet {
            flow: ue as u32,
            body: Body::Dccp(Box::new(dccp)),
        };
        self.net.send_from_tunnel(now, end, path, packet);
    }
}
