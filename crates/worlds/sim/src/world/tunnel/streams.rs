//! The TCP connections under paths of a tunnel.

use super::super::World;
use crate::forwarding::TunnelEnd;
use crate::packet::{Body, Packet};
use crate::tcp::Segment;
use multipath::client::ClientPathId;
use queue::Ecn;

impl World {
    /// A segment of a path's connection arrived at one end: what is whole now is received.
    pub(super) fn on_stream_segment(
        &mut self,
        ue: usize,
        end: TunnelEnd,
        path: usize,
        segment: &Segment,
    ) {
        let now = self.now;
        if let Some(stream) = &mut self.tunnels[ue].paths[path].stream {
            stream[end as usize].on_segment(now, segment);
        }
        if end == TunnelEnd::Ue {
            self.note_connected(ue, path);
        }
        while let Some((packet, payload)) = self.next_read(ue, end, path) {
            // a stream shows nothing of the ECN field of its segments
            let place = u32::from(self.tunnels[ue].paths[path].way.mapping);
            self.receive_tunnel(ue, end, (path, place), &packet, payload, Ecn::NotEct);
        }
        self.report_to_stream(ue, end, path);
    }

    /// The client is notified once that the connection can carry packets.
    fn note_connected(&mut self, ue: usize, index: usize) {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        let path = &mut state.paths[index];
        let stream = path.stream.as_ref();
        let is_established =
            stream.is_some_and(|stream| stream[TunnelEnd::Ue as usize].is_established());
        if is_established && !core::mem::replace(&mut path.is_connected, is_established) {
            state.client.on_opened(now, ClientPathId(index as u16));
        }
    }

    /// The timer of an end of a path's connection fired.
    pub(in super::super) fn on_stream_timer(&mut self, ue: usize, end: TunnelEnd, path: usize) {
        let now = self.now;
        if let Some(stream) = &mut self.tunnels[ue].paths[path].stream {
            stream[end as usize].on_deadline(now);
        }
        self.transmit_stream(ue, end, path);
        self.settle_tunnel(ue, end);
    }

    fn next_read(
        &mut self,
        ue: usize,
        end: TunnelEnd,
        path: usize,
    ) -> Option<(multipath::packet::Packet, Option<crate::carried::Carried>)> {
        let [edge, at_ue] = self.tunnels[ue].paths[path].stream.as_mut()?;
        match end {
            TunnelEnd::Edge => at_ue.take_read(edge),
            TunnelEnd::Ue => edge.take_read(at_ue),
        }
    }

    /// Segments of a path's connection leave, its timer is set, and its state is reported to the tunnel.
    pub(super) fn transmit_stream(&mut self, ue: usize, end: TunnelEnd, path: usize) {
        let now = self.now;
        while let Some(stream) = &mut self.tunnels[ue].paths[path].stream
            && let Some(segment) = stream[end as usize].poll_transmit(now)
        {
            let way = &self.tunnels[ue].paths[path].way;
            if !way.carries(way.socket) {
                continue;
            }
            let body = Body::Stream {
                path: path as u8,
                socket: way.socket,
                segment,
            };
            let flow = ue as u32;
            self.net
                .send_from_tunnel(now, end, path, Packet::new(flow, body));
        }
        if let Some(stream) = &self.tunnels[ue].paths[path].stream {
            let stream = &stream[end as usize];
            let deadline = stream.next_deadline();
            self.net.schedule.set_no_later(stream.timer, deadline);
        }
        self.report_to_stream(ue, end, path);
    }

    fn report_to_stream(&mut self, ue: usize, end: TunnelEnd, path: usize) {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        let at = &mut state.paths[path];
        let Some(stream) = &mut at.stream else {
            return;
        };
        match (end, at.at_edge) {
            (TunnelEnd::Ue, _) => {
                let id = ClientPathId(path as u16);
                if state.client.path(id).is_some() {
                    let state_of_stream = stream[end as usize].state(now);
                    state.client.on_stream(now, id, state_of_stream);
                }
            }
            (TunnelEnd::Edge, Some((key, id))) => {
                let state_of_stream = stream[end as usize].state(now);
                if let Some(tunnel) = state.server.tunnel(key) {
                    tunnel.on_stream(now, id, state_of_stream);
                }
            }
            (TunnelEnd::Edge, None) => {}
        }
    }
}
