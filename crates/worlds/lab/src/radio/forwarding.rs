//! The network of a lab, without its devices: wires, cell and meters, driven by the owner of the clock.

use super::paths::Paths;
use super::steering::Steering;
use crate::measure::{Flows, Hop};
use crate::packet::Packet;
use crate::split::{self, Pdu};
use crate::topology::Devices;
use crate::traffic::EndStates;
use crate::{Error, names};
use network::measure::{Bottleneck, SeriesSet, Totals};
use network::{Access, CellRoute, LinkId, Radio, Topology, first_rtt, path_delay};
use ran::{Direction, UeIndex};
use rnis::RadioReport;
use scenario::{Experiment, LinkResult, RunResult};
use std::net::IpAddr;
use units::{Bytes, Duration, Instant, Streams};

/// The network.
pub(crate) struct Network {
    pub(super) topology: Topology<Packet>,
    /// Through which edge packets go.
    pub(crate) steering: Steering,
    /// The last time that anything came to the radio: it goes on from there.
    pub(super) latest: Instant,
    /// Packets that a wire or the cell has dropped, before they are counted.
    pub(super) dropped: Vec<Packet>,
    /// What they came over F1-U in, before it is reported.
    pub(super) rejected: Vec<Pdu>,
    pub(crate) flows: Flows,
    bottleneck: Bottleneck,
    pub(crate) series: SeriesSet,
    paths: Paths,
    hops: u64,
}

impl Network {
    /// The network of an experiment for a seed.
    pub(crate) fn new(
        experiment: &Experiment,
        seed: u64,
        steering: Steering,
    ) -> Result<Self, Error> {
        let first = experiment.flows.iter().map(|flow| flow.start).min();
        let began = Instant::ZERO + first.unwrap_or_default();
        let access_rtt = first_rtt(experiment);
        let delay = path_delay(&experiment.path, access_rtt)?;
        let address = |ue| Some(IpAddr::V4(names::ue_address(ue)));
        let mut topology = Topology::new(experiment, address, delay, Streams::new(seed), began)?;
        if !split::cells(experiment).is_empty()
            && let Some(Radio::Several(cells)) = topology.radio()
        {
            cells.split();
        }
        Ok(Self {
            topology,
            steering,
            latest: Instant::ZERO,
            dropped: Vec::new(),
            rejected: Vec::new(),
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

    /// When the radio needs to run next.
    pub(crate) fn next_in_cell(&mut self) -> Option<Instant> {
        self.topology.radio()?.next_deadline()
    }

    /// Runs everything that is due, and gives what comes out of it to the devices.
    pub(crate) fn run(&mut self, now: Instant, devices: &mut Devices) {
        let (down, up) = (self.topology.path_down(), self.topology.path_up());
        while let Some(packet) = self.take(now, down) {
            self.pass(now, Hop::EdgeFromServer, &packet);
            let site = self.site(now, &packet);
            devices.wan[site].push(packet);
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
        let Some(mut radio) = self.topology.radio() else {
            return;
        };
        match &mut radio {
            Radio::One(cell) => cell.on_deadline(now),
            // slots of all cells, and what users do between them, each at its time and in their order
            Radio::Several(cells) => {
                while let Some(due) = cells.next_deadline().filter(|&due| due <= now) {
                    cells.on_deadline(due.max(self.latest));
                }
            }
        }
        radio.take_dropped(&mut self.dropped);
        while let Some(delivered) = self.topology.radio().and_then(|mut r| r.poll_delivered()) {
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
            (Direction::Uplink, None) => self.came_from_ue(now, packet, devices),
            (Direction::Uplink, Some(_)) => devices.ran[access].push(packet),
            (Direction::Downlink, Some(gateway)) => {
                self.paths.count(access, &packet.data);
                gateway.paths[access].push(packet);
            }
            (Direction::Downlink, None) => {
                self.flows.observe(now, Hop::UeIn, &packet);
                if let (Some(split), Some(pdu)) = (&mut devices.split, packet.pdu) {
                    split.on_delivered(pdu);
                }
                if let Some(ue) = packet.address.ue.and_then(|ue| devices.ues.get_mut(ue)) {
                    ue.push(packet);
                }
            }
        }
        self.hops += 1;
    }

    /// The site through whose edge a packet goes.
    pub(super) fn site(&mut self, now: Instant, packet: &Packet) -> usize {
        let ue = packet.address.ue;
        let serving = ue.and_then(|ue| self.topology.serving_cell(ue));
        self.steering.site(now, packet, serving)
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

    pub(super) fn enter(
        &mut self,
        now: Instant,
        to: (usize, Direction),
        route: CellRoute,
        packet: Packet,
    ) {
        self.latest = self.latest.max(now);
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

    /// A UE sends a packet.
    pub(crate) fn sent_by_ue(&mut self, now: Instant, ue: usize, packet: Packet) {
        self.flows.observe(now, Hop::UeOut, &packet);
        if let Some(route) = self.route(&packet, ue) {
            self.enter(now, (0, Direction::Uplink), route, packet);
        }
    }

    /// The place of a UE's packet in the cell; none if there is no such UE.
    pub(super) fn route(&self, packet: &Packet, ue: usize) -> Option<CellRoute> {
        let other = self.topology.other_route(ue)?;
        let flow = packet.address.flow;
        let of_flow = flow.and_then(|flow| self.topology.route(flow));
        Some(of_flow.unwrap_or(other))
    }

    pub(super) fn count_dropped(&mut self, now: Instant) {
        for packet in self.dropped.drain(..) {
            self.flows.lost(now, &packet);
            self.rejected.extend(packet.pdu);
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
        self.latest = self.latest.max(now);
        self.topology.totals(now, &mut self.dropped)
    }

    /// The radio reports of the period since the last ones, one of each cell; a wire has none.
    pub(crate) fn reports(&mut self, now: Instant) -> Vec<RadioReport> {
        self.latest = self.latest.max(now);
        let radio = self.topology.radio();
        radio.map_or_else(Vec::new, |mut radio| radio.reports(now))
    }

    /// What the modem of a UE shows: bytes that it has sent, and those that wait in it; a wire has none.
    pub(crate) fn modem(&mut self, ue: usize) -> Option<(Bytes, Bytes)> {
        let radio = self.topology.radio()?;
        Some(radio.modem(UeIndex(ue)))
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
        self.latest = self.latest.max(now);
        self.topology.sample(now, &mut self.series);
        self.paths.sample(now, step, &mut self.series);
    }

    /// Ends measuring.
    pub(crate) fn finish(mut self, end: Instant, seed: u64) -> RunResult {
        let totals = self.totals(end);
        self.bottleneck.stop(end, totals);
        let link: LinkResult = self.bottleneck.result();
        let (flows, proxy_queues) = self.flows.finish(end);
        let handovers = self.topology.take_handovers(end);
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
            handovers,
            ..RunResult::default()
        }
    }
}
