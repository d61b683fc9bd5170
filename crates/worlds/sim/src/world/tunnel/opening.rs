//! How a tunnel's paths come up: the UE's end requests them, the edge's end answers.

use super::super::World;
use super::build::{path_config, tunnel_config};
use crate::forwarding::TunnelEnd;
use multipath::PathId;
use multipath::packet::Packet;
use multipath::tunnel::{Event, ServerEnd, Tunnel};

/// DCCP ports: the client's first, and the server's (RFC 6773 section 5.2 has one for UDP only).
const CLIENT_PORT: u16 = 49_152;
const SERVER_PORT: u16 = 6_511;

impl World {
    /// Whether the UE's end has begun.
    pub(super) fn has_begun(&self, ue: usize) -> bool {
        let state = &self.tunnels[ue];
        state.paths.iter().any(|path| path.is_requested) || state.spec.paths.is_empty()
    }

    /// The UE's end begins: streams connect, and the first path is requested.
    pub(super) fn begin_tunnel(&mut self, ue: usize) {
        let now = self.now;
        for path in 0..self.tunnels[ue].paths.len() {
            if let Some(stream) = &mut self.tunnels[ue].paths[path].stream {
                stream[TunnelEnd::Ue as usize].open(now);
                self.transmit_stream(ue, TunnelEnd::Ue, path);
            }
        }
        self.open_paths(ue);
    }

    /// The UE's end requests the paths that can be had now: one at first, then all others.
    pub(super) fn open_paths(&mut self, ue: usize) {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        let end = &mut state.ends[TunnelEnd::Ue as usize];
        let Some(tunnel) = &mut end.tunnel else {
            return;
        };
        for (index, path) in state.paths.iter_mut().enumerate() {
            let is_first = end.paths.is_empty();
            let is_ready = (path.stream.as_ref())
                .is_none_or(|stream| stream[TunnelEnd::Ue as usize].is_established());
            if path.is_requested || !is_ready || !(is_first || tunnel.is_established()) {
                continue;
            }
            let config = path_config(&state.spec, index);
            let ports = (CLIENT_PORT + index as u16, SERVER_PORT);
            if let Ok(id) = tunnel.open_path(now, config, ports) {
                path.is_requested = true;
                path.ids[TunnelEnd::Ue as usize] = Some(id);
                end.paths.push(index);
            }
        }
    }

    /// The edge's end receives the request of a new path.
    pub(super) fn accept_path(&mut self, ue: usize, path: usize, packet: &Packet) {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        let config = path_config(&state.spec, path);
        let end = &mut state.ends[TunnelEnd::Edge as usize];
        let accepted = match &mut end.tunnel {
            Some(tunnel) => tunnel.accept_join(now, config, packet),
            None => {
                let server = ServerEnd {
                    config: tunnel_config(&state.spec),
                    scheduler: (self.mechanisms)
                        .scheduler(state.spec.scheduler)
                        .expect("checked as the world was built"),
                    path: config,
                    seed: state.edge_seed,
                };
                Tunnel::accept(now, packet, &[], server).map(|(tunnel, _)| {
                    end.tunnel = Some(tunnel);
                    PathId(0)
                })
            }
        };
        // a rejected request is repeated, or was none
        if let Ok(id) = accepted {
            end.paths.push(path);
            state.paths[path].ids[TunnelEnd::Edge as usize] = Some(id);
        }
    }

    /// What an end reports.
    pub(super) fn take_tunnel_events(&mut self, ue: usize, end: TunnelEnd) {
        while let Some(tunnel) = &mut self.tunnels[ue].end(end).tunnel
            && let Some(event) = tunnel.poll_event()
        {
            if event == Event::Established && end == TunnelEnd::Ue {
                self.open_paths(ue);
            }
        }
    }
}
