//! Packets that pass N3 and F1-U, where these are wires, on their way between the edges and the cells.
//!
//! ```text
//!   edge -- sent_down_by_edge --> N3 -- came_to_station --> F1-U --> the cell
//!   edge <-- came_to_core ------- N3 <-- go_up_n3 --------- F1-U <-- came_from_ue
//! ```

use super::Network;
use crate::measure::Hop;
use crate::n3::N3;
use crate::packet::Packet;
use crate::split::Split;
use crate::topology::Devices;
use crate::tun::Tun;
use network::CellRoute;
use ran::Direction;
use units::Instant;

impl Network {
    /// The edge sends a packet to a UE. One for no UE is dropped.
    pub(crate) fn sent_down_by_edge(
        &mut self,
        now: Instant,
        packet: Packet,
        devices: &mut Devices,
    ) {
        let Some(route) = self.route_of(&packet) else {
            return;
        };
        self.flows.observe(now, Hop::EdgeToUe, &packet);
        match &mut devices.n3 {
            Some(n3) => n3.send_down(route.bearer(), &packet),
            None => self.came_to_station(now, route, packet, &mut devices.split),
        }
    }

    /// The way of a UE's packet in the cells.
    pub(super) fn route_of(&self, packet: &Packet) -> Option<CellRoute> {
        let ue = packet.address.ue?;
        self.route(packet, ue)
    }

    /// A packet for a UE has come to the base station.
    fn came_to_station(
        &mut self,
        now: Instant,
        route: CellRoute,
        packet: Packet,
        split: &mut Option<Split>,
    ) {
        match split {
            Some(split) if self.topology.cell().is_some() => {
                split.send_down(route.bearer(), packet, None);
            }
            // of several cells the UE's has to be found first
            _ => self.enter(now, (0, Direction::Downlink), route, packet),
        }
    }

    /// A packet has come from a UE, by the radio.
    pub(super) fn came_from_ue(&mut self, now: Instant, packet: Packet, devices: &mut Devices) {
        match &mut devices.split {
            Some(split) => self.go_up_f1u(now, &packet, split),
            None => self.go_up_n3(now, packet, &mut devices.n3, &mut devices.ran),
        }
    }

    /// The base station sends a packet to the core.
    pub(super) fn go_up_n3(
        &mut self,
        now: Instant,
        packet: Packet,
        n3: &mut Option<N3>,
        ran: &mut [Tun],
    ) {
        let Some(n3) = n3 else {
            return self.came_to_core(now, packet, ran);
        };
        if let Some(route) = self.route_of(&packet) {
            let (ue, _) = route.bearer();
            let cell = self.topology.serving_cell(ue).unwrap_or(0);
            n3.send_up(cell, route.bearer(), &packet);
        }
    }

    /// A packet of a UE has come to the core, which has it go to an edge.
    fn came_to_core(&mut self, now: Instant, packet: Packet, ran: &mut [Tun]) {
        self.flows.observe(now, Hop::EdgeFromUe, &packet);
        let site = self.site(now, &packet);
        ran[site].push(packet);
    }

    /// What has passed wires comes to their ends: down into the cells, up to the edges.
    pub(crate) fn pass_wires(&mut self, now: Instant, devices: &mut Devices) {
        if let Some(n3) = &mut devices.n3 {
            for ue in 0..devices.ues.len() {
                if let Some(cell) = self.topology.path_cell(ue) {
                    n3.switch(ue, cell);
                }
            }
            while let Some(packet) = n3.take_down() {
                if let Some(route) = self.route_of(&packet) {
                    self.came_to_station(now, route, packet, &mut devices.split);
                }
            }
        }
        self.pass_f1u(now, devices);
        if let Some(n3) = &mut devices.n3 {
            while let Some(packet) = n3.take_up() {
                self.came_to_core(now, packet, &mut devices.ran);
            }
        }
    }
}
