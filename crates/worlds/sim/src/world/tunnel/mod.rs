//! The multipath tunnel: a server at the edge and a client at the UE, and what passes through them.
//!
//! ```text
//!   from the server -> [ edge ] ==path 0: DCCP in UDP, a NAT==> [ UE ] -> its hosts
//!   to the server <--- [ end  ] ==path 1: TCP, in which=======> [ end ] <- from its hosts
//!                               ==DCCP packets go==============
//! ```
//!
//! The ends decide nothing here: they are a [`multipath::Server`] and a [`multipath::Client`], as in the live
//! daemons, and the streams under their TCP paths are connections of [`crate::tcp`]. Every UE has a tunnel of
//! its own, through paths that all share.

mod build;
mod events;
mod measured;
mod sockets;
mod streams;

use super::World;
use crate::carried::{Carried, Ledger};
use crate::forwarding::TunnelEnd;
use crate::packet::{Body, Dccp, Packet};
use crate::pool::Handle;
use crate::schedule::EntityId;
use crate::session::Side;
use crate::stream::StreamEnd;
use multipath::client::{ClientPathId, ClientTransmit, SendFault};
use multipath::server::{ConnectionKey, ServerTransmit};
use multipath::tunnel::{Event, Tunnel};
use multipath::{Client, PathId, Server};
use network::measure::QueueMeter;
use queue::Ecn;
use scenario::{PathEvent, TunnelSpec};
use std::rc::Rc;
use units::{Bytes, Instant, Streams};

pub(super) use build::{build, ledgers};

/// The tunnel of a UE.
pub(super) struct UeTunnel {
    spec: TunnelSpec,
    client: Client<Carried>,
    server: Server<Carried>,
    /// The connection that takes what goes to the UE: the last one established, or the first before that.
    connection: Option<ConnectionKey>,
    /// By [`TunnelEnd`].
    ends: [End; 2],
    paths: Vec<Path>,
    events: Events,
}

/// One end.
struct End {
    /// Its timer.
    timer: EntityId,
    /// What it has taken in and not given out at the other end.
    ledger: Rc<Ledger>,
    /// Packets that wait for a path here.
    scheduler: QueueMeter,
    /// Packets that this end holds for those before them.
    reorder: QueueMeter,
}

/// A path.
struct Path {
    /// As results name it.
    entity: String,
    /// Its random streams.
    streams: Streams,
    /// The timers of the ends of the TCP connections that carry it, if such do.
    timers: Option<[EntityId; 2]>,
    /// By [`TunnelEnd`]: the ends of the present one of them.
    stream: Option<[StreamEnd; 2]>,
    /// The client has been notified that it is connected.
    is_connected: bool,
    /// Segments sent again and found lost of TCP connections that are over.
    repairs: (u64, u64),
    /// What it goes through at the UE's side.
    way: Way,
    /// The connection and path that it last was at the edge.
    at_edge: Option<(ConnectionKey, PathId)>,
    /// Bytes and packets inside that it has delivered to the UE.
    carried: (Bytes, u64),
    /// Those of the present step of the time series.
    step: Bytes,
}

/// What a path goes through at the UE's side: its interface, its socket, a NAT.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The interface has a link.
    has_link: bool,
    /// The UE has a socket.
    has_socket: bool,
    /// The address that the socket is bound to is gone.
    is_gone: bool,
    /// Sockets that it has had.
    socket: u32,
    /// The port that the NAT has given the present one.
    mapping: u16,
    /// Nothing passes the NAT any more for a TCP connection whose mapping it has lost.
    is_mapped: bool,
}

/// Events of the paths, in order of time.
struct Events {
    entity: Option<EntityId>,
    /// When, which path, what.
    all: Vec<(Instant, usize, PathEvent)>,
    next: usize,
}

impl End {
    /// Counts what was dropped in the scheduler's buffer since it was last called.
    fn count_drops(&mut self) {
        for _ in 0..self.ledger.take_lost_waiting() {
            self.scheduler.dropped();
        }
    }
}

impl UeTunnel {
    /// The timer by which the tunnel begins.
    pub(super) fn first_timer(&self) -> EntityId {
        self.ends[TunnelEnd::Ue as usize].timer
    }

    fn end(&mut self, end: TunnelEnd) -> &mut End {
        &mut self.ends[end as usize]
    }

    /// The edge's end of the connection that takes what goes to the UE.
    fn at_edge(&mut self) -> Option<&mut Tunnel<Carried>> {
        self.server.tunnel(self.connection?)
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
        let state = &mut self.tunnels[ue];
        let carried = Carried::new(now, packet, &state.end(end).ledger);
        // what is refused is dropped, as the ledger shows
        let is_taken = match end {
            TunnelEnd::Ue => state.client.send(now, carried).is_ok(),
            TunnelEnd::Edge => match state.at_edge() {
                Some(tunnel) => tunnel.send(now, carried).is_ok(),
                None => false,
            },
        };
        match is_taken {
            true => self.transmit_tunnel(ue, end),
            false => state.end(end).count_drops(),
        }
    }

    /// A packet of the tunnel itself has arrived at one of its ends.
    pub(super) fn on_tunnel_packet(&mut self, end: TunnelEnd, packet: Packet) {
        let ue = packet.flow as usize;
        match packet.body {
            Body::Dccp(dccp) => {
                let Dccp {
                    path,
                    place,
                    packet,
                    payload,
                    ecn,
                } = *dccp;
                let path = usize::from(path);
                let way = &self.tunnels[ue].paths[path].way;
                if !way.has_link || (end == TunnelEnd::Ue && !way.takes(place)) {
                    return;
                }
                self.receive_tunnel(ue, end, (path, place), &packet, payload, ecn);
            }
            Body::Stream {
                path,
                socket,
                segment,
            } => {
                let path = usize::from(path);
                if !self.tunnels[ue].paths[path].way.carries(socket) {
                    return;
                }
                self.on_stream_segment(ue, end, path, &segment);
            }
            // nothing else is sent between the two ends
            Body::Segment { .. }
            | Body::Quic { .. }
            | Body::Datagram(_)
            | Body::Media(_)
            | Body::MediaFeedback(_) => return,
        }
        self.settle_tunnel(ue, end);
    }

    /// The timer of an end of a tunnel fired.
    pub(super) fn on_tunnel_timer(&mut self, ue: usize, end: TunnelEnd) {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        match end {
            TunnelEnd::Ue => state.client.on_deadline(now),
            TunnelEnd::Edge => state.server.on_deadline(now),
        }
        self.settle_tunnel(ue, end);
    }

    /// A DCCP packet of a path, whatever carried it; with the place that it comes from or goes to.
    fn receive_tunnel(
        &mut self,
        ue: usize,
        end: TunnelEnd,
        (path, place): (usize, u32),
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
        match end {
            TunnelEnd::Ue => {
                let id = ClientPathId(path as u16);
                state.client.receive(now, id, packet, payload, ecn);
            }
            TunnelEnd::Edge => {
                let flow = state.paths[path].flow(path, place);
                let found = state.server.receive(now, flow, packet, payload, ecn);
                if let Some(found) = found {
                    state.paths[path].at_edge = Some(found);
                    state.connection.get_or_insert(found.0);
                }
            }
        }
    }

    /// After anything happened at an end: what may be given out is, packets leave, the timer is set.
    fn settle_tunnel(&mut self, ue: usize, end: TunnelEnd) {
        let now = self.now;
        if end == TunnelEnd::Edge {
            self.take_server_events(ue);
        }
        while let Some(carried) = self.poll_delivery(ue, end) {
            self.give_out(ue, end, &carried);
        }
        let state = &mut self.tunnels[ue];
        let held = state.end(end.other()).ledger.held();
        state.end(end).reorder.set(now, held);
        self.transmit_tunnel(ue, end);
    }

    /// A client that connects anew has dropped its old connection.
    fn take_server_events(&mut self, ue: usize) {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        while let Some((key, event)) = state.server.poll_event() {
            if event != Event::Established {
                continue;
            }
            let before = state
                .connection
                .replace(key)
                .filter(|before| *before != key);
            if let Some(tunnel) = before.and_then(|before| state.server.tunnel(before)) {
                tunnel.fast_close(now);
            }
        }
    }

    /// The next packet that an end gives out.
    fn poll_delivery(&mut self, ue: usize, end: TunnelEnd) -> Option<Carried> {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        match end {
            TunnelEnd::Ue => state.client.poll_delivery(now),
            TunnelEnd::Edge => state.at_edge()?.poll_delivery(now),
        }
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
        match end {
            TunnelEnd::Ue => loop {
                while let Some(out) = self.tunnels[ue].client.poll_transmit(now) {
                    self.transmit_from_ue(ue, out);
                }
                if !self.act_on_socket(ue) {
                    break;
                }
            },
            TunnelEnd::Edge => {
                while let Some(out) = self.tunnels[ue].server.poll_transmit(now) {
                    self.transmit_from_edge(ue, out);
                }
            }
        }
        for path in 0..self.tunnels[ue].paths.len() {
            if self.tunnels[ue].paths[path].stream.is_some() {
                self.transmit_stream(ue, end, path);
            }
        }
        let state = &mut self.tunnels[ue];
        let waiting = state.end(end).ledger.waiting();
        state.end(end).scheduler.set(now, waiting);
        state.end(end).count_drops();
        let deadline = match end {
            TunnelEnd::Ue => state.client.next_deadline(now),
            TunnelEnd::Edge => state.server.next_deadline(now),
        };
        self.net.schedule.set(state.end(end).timer, deadline);
    }

    fn transmit_from_ue(&mut self, ue: usize, out: ClientTransmit<Carried>) {
        let (now, index) = (self.now, out.path.index());
        let path = &self.tunnels[ue].paths[index];
        let way = path.way;
        // a TCP connection keeps what it cannot send
        if path.timers.is_none()
            && let Some(fault) = way.fault()
        {
            self.tunnels[ue].client.on_send_fault(now, out.path, fault);
            return;
        }
        if way.has_socket {
            let dccp = Dccp {
                path: index as u8,
                place: u32::from(way.mapping),
                packet: out.packet,
                payload: out.payload,
                ecn: out.ecn,
            };
            self.transmit_on_path(ue, TunnelEnd::Ue, dccp);
        }
    }

    fn transmit_from_edge(&mut self, ue: usize, out: ServerTransmit<Carried>) {
        let index = sockets::path_of(out.flow);
        let path = &self.tunnels[ue].paths[index];
        let way = path.way;
        let is_reached = match path.timers {
            Some(_) => path.stream.is_some() && path.socket_at_edge(index) == out.flow.socket,
            // what goes to a port that the NAT has given to nothing ends there
            None => way.has_link && way.mapping == out.flow.remote.port(),
        };
        if is_reached {
            let dccp = Dccp {
                path: index as u8,
                place: way.socket,
                packet: out.packet,
                payload: out.payload,
                ecn: out.ecn,
            };
            self.transmit_on_path(ue, TunnelEnd::Edge, dccp);
        }
    }

    fn transmit_on_path(&mut self, ue: usize, end: TunnelEnd, dccp: Dccp) {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        let waited = dccp
            .payload
            .as_ref()
            .and_then(|payload| payload.leaves(now));
        if let Some(waited) = waited {
            state.end(end).scheduler.left(waited);
        }
        let path = usize::from(dccp.path);
        if let Some(stream) = &mut state.paths[path].stream {
            return stream[end as usize].write(now, dccp.packet, dccp.payload);
        }
        let packet = Packet::new(ue as u32, Body::Dccp(Box::new(dccp)));
        self.net.send_from_tunnel(now, end, path, packet);
    }
}

impl Way {
    /// With a link, and nothing on it.
    const fn new() -> Self {
        Self {
            has_link: true,
            has_socket: false,
            is_gone: false,
            socket: 0,
            mapping: 40_000,
            is_mapped: true,
        }
    }

    /// Why packets cannot be sent.
    fn fault(&self) -> Option<SendFault> {
        match (self.has_link, self.is_gone) {
            (_, true) => Some(SendFault::SocketGone),
            (false, _) => Some(SendFault::Unreachable),
            (true, false) => None,
        }
    }

    /// A datagram to that socket arrives at the UE.
    fn takes(&self, socket: u32) -> bool {
        self.has_socket && !self.is_gone && self.socket == socket
    }

    /// A segment of the TCP connection of that socket passes.
    fn carries(&self, socket: u32) -> bool {
        self.takes(socket) && self.has_link && self.is_mapped
    }
}
