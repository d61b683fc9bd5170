//! The network of a lab, without its devices: wires, cell and meters, driven by the owner of the clock.

use super::paths::Paths;
use crate::measure::{Flows, Hop};
use crate::packet::Packet;
use crate::topology::Devices;
use crate::traffic::EndStates;
use crate::{Error, names};
use network::measure::{Bottleneck, SeriesSet, Totals};
use network::{Access, CellRoute, LinkId, Topology, first_rtt, path_delay};
use ran::Direction;
use rnis::RadioReport;
use scenario::{Experiment, LinkResult, RunResult};
use std::net::IpAddr;
use units::{Duration, Instant, Streams};

/// The network.
pub(crate) struct Network {
    topology: Topology<Packet>,
    /// Packets that a wire or the cell has dropped, before they are counted.
    dropped: Vec<Packet>,
    pub(crate) flows: Flows,
    bottleneck: Bottleneck,
    pub(crate) series: SeriesSet,
    paths: Paths,
    hops: u64,
}

impl Network {
    /// The network of an experiment for a seed.
    pub(crate) fn new(experiment: &Experiment, seed: u64) -> Result<Self, Error> {
        let first = experiment.flows.iter().map(|flow| flow.start).min();
        let began = Instant::ZERO + first.unwrap_or_default();
        let access_rtt = first_rtt(experiment);
        let delay = path_delay(&experiment.path, access_rtt)?;
        let address = |ue| Some(IpAddr::V4(names::ue_address(ue)));
        Ok(Self {
            topology: Topology::new(experiment, address, delay, Streams::new(seed), began)?,
            dropped: Vec::new(),
            flows: Flows::new(experiment, delay, access_rtt),
            bottleneck: Bottleneck::default(),
            series: SeriesSet::default(),
            paths: Paths::new(experiment),
            hops: 0,
        })
    }

    /// When anything is due next on the wires.
    pub(crate) fn next_on_wires(&self) -> Option<Instant> {
        self.topology.next_on_links()
    }

    /// When the cell needs to run next.
    pub(crate) fn next_in_cell(&self) -> Option<Instant> {
        self.topology
            .accesses()
            .iter()
            .find_map(|access| match access {
                Access::Cell(cell) => cell.next_deadline(),
                // several cells are refused before
                Access::Wired { .. } | Access::Cells(_) => None,
            })
    }

    /// Runs everything that is due, and gives what comes out of it to the devices.
    pub(crate) fn run(&mut self, now: Instant, devices: &mut Devices) {
        let (down, up) = (self.topology.path_down(), self.topology.path_up());
        while let Some(packet) = self.take(now, down) {
            self.pass(now, Hop::EdgeFromServer, &packet);
            devices.wan.push(packet);
        }
        for index in 0..self.topology.accesses().len() {
            match self.topology.accesses()[index] {
                Access::Wired { down, up } => {
                    for (link, direction) in [(down, Direction::Downlink), (up, Direction::Uplink)]
                    {
                        while let Some(packet) = self.take(now, link) {
                            self.arrive(now, index, direction, packet, devices);
                        }
                    }
                }
                Access::Cell(_) | Access::Cells(_) => self.run_cell(now, index, devices),
            }
        }
        while let Some(packet) = self.take(now, up) {
            self.pass(now, Hop::ServerIn, &packet);
            devices.server.push(packet);
        }
        self.count_dropped(now);
    }

    /// The next packet that has come out of a link by `now`.
    fn take(&mut self, now: Instant, link: LinkId) -> Option<Packet> {
        let link = self.topology.link(link);
        link.advance(now, &mut self.dropped);
        link.take_arrived(now)
    }

    fn run_cell(&mut self, now: Instant, access: usize, devices: &mut Devices) {
        let Some(cell) = self.topology.cell() else {
            return;
        };
        cell.on_deadline(now);
        cell.take_dropped(&mut self.dropped);
        while let Some(delivered) = self.topology.cell().and_then(|c| c.poll_delivered()) {
            let packet = Packet {
                held: delivered.held,
                ..delivered.packet
            };
            self.arrive(now, access, delivered.direction, packet, devices);
        }
    }

    /// A packet has come through an access.
    fn arrive(
        &mut self,
        now: Instant,
        access: usize,
        direction: Direction,
        packet: Packet,
        devices: &mut Devices,
    ) {
        match (direction, &mut devices.gateway) {
            (Direction::Uplink, gateway) => {
                if gateway.is_none() {
                    self.flows.observe(now, Hop::EdgeFromUe, &packet);
                }
                devices.ran[access].push(packet);
            }
            (Direction::Downlink, Some(gateway)) => {
                self.paths.count(access, &packet.data);
                gateway.paths[access].push(packet);
            }
            (Direction::Downlink, None) => {
                self.flows.observe(now, Hop::UeIn, &packet);
                if let Some(ue) = packet.address.ue.and_then(|ue| devices.ues.get_mut(ue)) {
                    ue.push(packet);
                }
            }
        }
        self.hops += 1;
    }

    /// A UE sends a packet to its gateway.
    pub(crate) fn passed_up(&mut self, now: Instant, packet: &Packet) {
        self.flows.observe(now, Hop::UeOut, packet);
    }

    /// A UE gets a packet from its gateway.
    pub(crate) fn passed_down(&mut self, now: Instant, packet: &Packet) {
        self.flows.observe(now, Hop::UeIn, packet);
    }

    /// The edge sends a packet of the tunnel on one of its paths.
    pub(crate) fn sent_down_on_path(&mut self, now: Instant, path: usize, packet: Packet) {
        if let Some(route) = self.topology.other_route(0) {
            self.enter(now, (path, Direction::Downlink), route, packet);
        }
    }

    /// The gateway sends a packet of the tunnel on one of its paths.
    pub(crate) fn sent_up_on_path(&mut self, now: Instant, path: usize, packet: Packet) {
        if let Some(route) = self.topology.other_route(0) {
            self.enter(now, (path, Direction::Uplink), route, packet);
        }
    }

    fn enter(&mut self, now: Instant, to: (usize, Direction), route: CellRoute, packet: Packet) {
        self.topology
            .enter(now, to, route, packet, &mut self.dropped);
        self.count_dropped(now);
    }

    fn offer(&mut self, now: Instant, link: LinkId, packet: Packet) {
        self.topology
            .link(link)
            .offer(now, packet, &mut self.dropped);
        self.count_dropped(now);
    }

    /// A packet comes out of a link or a host.
    fn pass(&mut self, now: Instant, hop: Hop, packet: &Packet) {
        self.hops += 1;
        self.flows.observe(now, hop, packet);
    }

    /// A server sends a packet.
    pub(crate) fn sent_by_server(&mut self, now: Instant, packet: Packet) {
        self.flows.observe(now, Hop::ServerOut, &packet);
        self.offer(now, self.topology.path_down(), packet);
    }

    /// The edge sends a packet to a server.
    pub(crate) fn sent_up_by_edge(&mut self, now: Instant, packet: Packet) {
        self.flows.observe(now, Hop::EdgeToServer, &packet);
        self.offer(now, self.topology.path_up(), packet);
    }

    /// The edge sends a packet to a UE. One for no UE is dropped.
    pub(crate) fn sent_down_by_edge(&mut self, now: Instant, packet: Packet) {
        let ue = packet.address.ue;
        let Some(route) = ue.and_then(|ue| self.route(&packet, ue)) else {
            return;
        };
        self.flows.observe(now, Hop::EdgeToUe, &packet);
        self.enter(now, (0, Direction::Downlink), route, packet);
    }

    /// A UE sends a packet.
    pub(crate) fn sent_by_ue(&mut self, now: Instant, ue: usize, packet: Packet) {
        self.flows.observe(now, Hop::UeOut, &packet);
        if let Some(route) = self.route(&packet, ue) {
            self.enter(now, (0, Direction::Uplink), route, packet);
        }
    }

    /// The place of a UE's packet in the cell; none if there is no such UE.
    fn route(&self, packet: &Packet, ue: usize) -> Option<CellRoute> {
        let other = self.topology.other_route(ue)?;
        let flow = packet.address.flow;
        let of_flow = flow.and_then(|flow| self.topology.route(flow));
        Some(of_flow.unwrap_or(other))
    }

    fn count_dropped(&mut self, now: Instant) {
        for packet in self.dropped.drain(..) {
            self.flows.lost(now, &packet);
        }
    }

    /// A flow becomes active.
    pub(crate) fn flow_starts(&mut self, now: Instant) {
        let totals = self.totals(now);
        self.bottleneck.start(now, totals);
    }

    /// A flow is no longer active.
    pub(crate) fn flow_ends(&mut self, now: Instant) {
        let totals = self.totals(now);
        self.bottleneck.end(now, totals);
    }

    fn totals(&mut self, now: Instant) -> Totals {
        self.topology.totals(now, &mut self.dropped)
    }

    /// The radio report of the period since the last one; a wire has none.
    pub(crate) fn report(&mut self, now: Instant) -> Option<RadioReport> {
        self.topology.cell().map(|cell| cell.report(now))
    }

    /// A flow's part of a step of the time series, with what is known of its ends.
    pub(crate) fn sample_flow(
        &mut self,
        now: Instant,
        interval: Duration,
        flow: usize,
        known: &EndStates,
    ) {
        self.flows
            .sample(now, interval, flow, known, &mut self.series);
    }

    /// The part of the links and of the tunnel's paths in a step.
    pub(crate) fn sample_links(&mut self, now: Instant, step: Duration) {
        self.topology.sample(now, &mut self.series);
        self.paths.sample(now, step, &mut self.series);
    }

    /// Ends measuring.
    pub(crate) fn finish(mut self, end: Instant, seed: u64) -> RunResult {
        let totals = self.totals(end);
        self.bottleneck.stop(end, totals);
        let link: LinkResult = self.bottleneck.result();
        let (flows, proxy_queues) = self.flows.finish(end);
        RunResult {
            seed,
            elapsed: end.since_start(),
            flows,
            queues: self
                .topology
                .finish(end)
                .into_iter()
                .chain(proxy_queues)
                .collect(),
            link,
            series: self.series.finish(),
            packet_hops: self.hops,
            ..RunResult::default()
        }
    }
}
