//! The sockets at the UE: what the client's supervision requests is done at once, as a kernel does it.

use super::super::World;
use super::Path;
use super::build::path_config;
use crate::forwarding::TunnelEnd;
use crate::stream::{StreamEnd, build_config};
use core::net::SocketAddr;
use multipath::client::{Action, ClientPathId};
use multipath::scheduler::PathSet;
use multipath::server::Flow;
use scenario::TunnelSpec;

/// A tunnel has no more paths than this; the edge's sockets are numbered by it.
const PATHS: u32 = PathSet::MAX_PATHS as u32;

/// The path that a flow at the edge is.
pub(super) fn path_of(flow: Flow) -> usize {
    (flow.socket % PATHS) as usize
}

/// Of two pairs.
pub(super) fn added(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0 + b.0, a.1 + b.1)
}

impl Path {
    /// Where the edge receives the path's packets from that port: a datagram socket for each path, or the end
    /// of the UE's present TCP connection.
    pub(super) fn flow(&self, path: usize, port: u32) -> Flow {
        let port = u16::try_from(port).unwrap_or(u16::MAX);
        Flow {
            socket: self.socket_at_edge(path),
            remote: SocketAddr::from(([10, 64, 0, path as u8], port)),
        }
    }

    /// The number of the edge's socket.
    pub(super) fn socket_at_edge(&self, path: usize) -> u32 {
        let connection = match self.timers {
            Some(_) => self.way.socket,
            None => 0,
        };
        connection * PATHS + path as u32
    }

    /// Another socket, with another port at the NAT.
    fn new_socket(&mut self) {
        self.way.has_socket = true;
        self.way.is_gone = false;
        self.way.is_mapped = true;
        self.way.socket += 1;
        self.new_mapping();
    }

    /// A new TCP connection, with ends at the edge and at the UE.
    fn connect(&mut self, spec: &TunnelSpec, index: usize) {
        let Some(timers) = self.timers else { return };
        let streams = match self.way.socket {
            1 => self.streams,
            n => self.streams.child(&format!("connection/{n}")),
        };
        self.stream = Some(TunnelEnd::BOTH.map(|end| {
            let controller = cc::build(&spec.paths[index].cc, build_config())
                .expect("checked as the tunnel was built");
            let name = ["edge", "ue"][end as usize];
            let is_client = end == TunnelEnd::Ue;
            StreamEnd::new(
                is_client,
                controller,
                spec.connection.window_validation,
                streams.stream(name),
                timers[end as usize],
            )
        }));
    }

    /// The NAT gives the socket another port.
    pub(super) fn new_mapping(&mut self) {
        self.way.mapping = self.way.mapping.wrapping_add(1);
    }
}

impl World {
    /// Does what the client requests next; true if it requested something.
    pub(super) fn act_on_socket(&mut self, ue: usize) -> bool {
        let client = &mut self.tunnels[ue].client;
        // changes of state are for a log, which a simulation has not
        while client.poll_event().is_some() {}
        let Some(action) = client.poll_action() else {
            return false;
        };
        match action {
            Action::Open(id) | Action::Renew(id) => self.open_socket(ue, id),
            Action::Close(id) => self.close_socket(ue, id),
        }
        true
    }

    fn open_socket(&mut self, ue: usize, id: ClientPathId) {
        let (now, index) = (self.now, id.index());
        let state = &mut self.tunnels[ue];
        let path = &mut state.paths[index];
        if !path.way.has_link {
            return state.client.on_open_failed(now, id);
        }
        path.new_socket();
        if path.timers.is_none() {
            return state.client.on_opened(now, id);
        }
        path.connect(&state.spec, index);
        let socket = path.socket_at_edge(index);
        let config = path_config(&state.spec, index);
        state.server.add_socket(socket, config);
        if let Some(stream) = &mut state.paths[index].stream {
            stream[TunnelEnd::Ue as usize].open(now);
        }
        self.transmit_stream(ue, TunnelEnd::Ue, index);
    }

    /// A TCP connection ends at both ends at once: what notifies the edge is not simulated.
    fn close_socket(&mut self, ue: usize, id: ClientPathId) {
        let (now, index) = (self.now, id.index());
        let state = &mut self.tunnels[ue];
        let path = &mut state.paths[index];
        path.way.has_socket = false;
        let Some([edge, _]) = path.stream.take() else {
            return;
        };
        path.repairs = added(path.repairs, edge.repairs());
        path.is_connected = false;
        let socket = path.socket_at_edge(index);
        state.server.remove_stream(now, socket);
        self.settle_tunnel(ue, TunnelEnd::Edge);
    }
}
