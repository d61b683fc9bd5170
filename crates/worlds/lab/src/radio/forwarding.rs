//! The network of a lab, without its devices: wires, cell and meters, driven by the owner of the clock.

use crate::measure::{Flows, Hop};
use crate::packet::Packet;
use crate::topology::Devices;
use crate::traffic::EndStates;
use crate::{Error, names};
use network::measure::{Bottleneck, SeriesSet, Totals};
use network::{CellAccess, CellRoute, Link, WireSpec, first_rtt, path_delay};
use ran::Direction as RadioDirection;
use rnis::RadioReport;
use scenario::{
    AccessSpec, Direction, Experiment, LinkResult, Metric, QueueResult, RunResult, TunnelAccess,
};
use std::net::IpAddr;
use units::{Duration, Instant, Streams};

/// The way into the UEs.
enum Access {
    Cell(Box<CellAccess<Packet>>),
    Wired {
        down: Box<Link<Packet>>,
        up: Box<Link<Packet>>,
    },
}

/// The network.
pub(crate) struct Network {
    wan_down: Link<Packet>,
    wan_up: Link<Packet>,
    /// One; with a tunnel those of its paths.
    accesses: Vec<Access>,
    /// By flow.
    routes: Vec<CellRoute>,
    /// By UE: of what belongs to no flow.
    other_routes: Vec<CellRoute>,
    /// Packets that a wire or the cell has dropped, before they are counted.
    dropped: Vec<Packet>,
    pub(crate) flows: Flows,
    bottleneck: Bottleneck,
    /// The bottleneck is the one from the UEs.
    has_only_uploads: bool,
    pub(crate) series: SeriesSet,
    hops: u64,
}

impl Network {
    /// The network of an experiment for a seed.
    pub(crate) fn new(experiment: &Experiment, seed: u64) -> Result<Self, Error> {
        let streams = Streams::new(seed);
        let first = experiment.flows.iter().map(|flow| flow.start).min();
        let began = Instant::ZERO + first.unwrap_or_default();
        let access_rtt = first_rtt(experiment);
        let delay = path_delay(&experiment.path, access_rtt)?;
        let path = |name| WireSpec::of_path(name, &experiment.path, delay).build(&streams, began);
        let wired = |(down, up): (WireSpec<'_>, WireSpec<'_>)| -> Result<Access, Error> {
            Ok(Access::Wired {
                down: Box::new(down.build(&streams, began)?),
                up: Box::new(up.build(&streams, began)?),
            })
        };
        let access = || match &experiment.access {
            AccessSpec::Link(link) => wired(WireSpec::of_access(link)),
            AccessSpec::Cell(cell) => {
                let address = |ue| Some(IpAddr::V4(names::ue_address(ue)));
                let cell = CellAccess::new(cell, experiment, address, streams, began)?;
                Ok(Access::Cell(Box::new(cell)))
            }
        };
        let accesses = match &experiment.tunnel {
            None => vec![access()?],
            Some(tunnel) => {
                let paths = tunnel.paths.iter().map(|path| match &path.access {
                    TunnelAccess::Cell => access(),
                    TunnelAccess::Link(link) => {
                        let names = ["down", "up"].map(|way| format!("path/{}/{way}", path.name));
                        wired(WireSpec::of_link(link, [&names[0], &names[1]]))
                    }
                });
                paths.collect::<Result<_, _>>()?
            }
        };
        let bearers = |ue: usize| experiment.ues[ue].bearers.as_slice();
        let flows = experiment.flows.iter();
        Ok(Self {
            wan_down: path("wan/down")?,
            wan_up: path("wan/up")?,
            accesses,
            routes: flows
                .clone()
                .enumerate()
                .map(|(index, flow)| CellRoute::new(index, flow, bearers(flow.ue)))
                .collect(),
            other_routes: (0..experiment.ues.len())
                .map(|ue| CellRoute::of(ue, 0, bearers(ue)))
                .collect(),
            dropped: Vec::new(),
            flows: Flows::new(experiment, delay, access_rtt),
            bottleneck: Bottleneck::default(),
            has_only_uploads: !experiment.flows.is_empty()
                && flows.clone().all(|flow| flow.direction == Direction::Up),
            series: SeriesSet::default(),
            hops: 0,
        })
    }

    /// When anything is due next on the wires.
    pub(crate) fn next_on_wires(&self) -> Option<Instant> {
        let wired = self.accesses.iter().flat_map(|access| match access {
            Access::Cell(_) => [None, None],
            Access::Wired { down, up } => [down.next_event(), up.next_event()],
        });
        let path = [self.wan_down.next_event(), self.wan_up.next_event()];
        path.into_iter().chain(wired).flatten().min()
    }

    /// When the cell needs to run next.
    pub(crate) fn next_in_cell(&self) -> Option<Instant> {
        self.accesses.iter().find_map(|access| match access {
            Access::Cell(cell) => cell.next_deadline(),
            Access::Wired { .. } => None,
        })
    }

    /// Runs everything that is due, and gives what comes out of it to the devices.
    pub(crate) fn run(&mut self, now: Instant, devices: &mut Devices) {
        self.wan_down.advance(now, &mut self.dropped);
        while let Some(packet) = self.wan_down.take_arrived(now) {
            self.pass(now, Hop::EdgeFromServer, &packet);
            devices.wan.push(packet);
        }
        self.run_access(now, devices);
        self.wan_up.advance(now, &mut self.dropped);
        while let Some(packet) = self.wan_up.take_arrived(now) {
            self.pass(now, Hop::ServerIn, &packet);
            devices.server.push(packet);
        }
        self.count_dropped(now);
    }

    fn run_access(&mut self, now: Instant, devices: &mut Devices) {
        for access in &mut self.accesses {
            match access {
                Access::Wired { down, up } => {
                    down.advance(now, &mut self.dropped);
                    up.advance(now, &mut self.dropped);
                }
                Access::Cell(cell) => {
                    cell.on_deadline(now);
                    cell.take_dropped(&mut self.dropped);
                }
            }
        }
        for index in 0..self.accesses.len() {
            while let Some((direction, packet)) = self.accesses[index].take(now) {
                self.arrive(now, index, direction, packet, devices);
            }
        }
    }

    /// A packet has come through an access.
    fn arrive(
        &mut self,
        now: Instant,
        access: usize,
        direction: RadioDirection,
        packet: Packet,
        devices: &mut Devices,
    ) {
        match (direction, &mut devices.gateway) {
            (RadioDirection::Uplink, gateway) => {
                if gateway.is_none() {
                    self.flows.observe(now, Hop::EdgeFromUe, &packet);
                }
                devices.ran[access].push(packet);
            }
            (RadioDirection::Downlink, Some(gateway)) => gateway.paths[access].push(packet),
            (RadioDirection::Downlink, None) => {
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
        self.offer_down(now, path, self.other_routes[0], packet);
    }

    /// The gateway sends a packet of the tunnel on one of its paths.
    pub(crate) fn sent_up_on_path(&mut self, now: Instant, path: usize, packet: Packet) {
        self.offer_up(now, path, self.other_routes[0], packet);
    }

    fn offer_down(&mut self, now: Instant, access: usize, route: CellRoute, packet: Packet) {
        match &mut self.accesses[access] {
            Access::Wired { down, .. } => down.offer(now, packet, &mut self.dropped),
            Access::Cell(cell) => {
                cell.send_downlink(now, route, packet);
                cell.take_dropped(&mut self.dropped);
            }
        }
        self.count_dropped(now);
    }

    fn offer_up(&mut self, now: Instant, access: usize, route: CellRoute, packet: Packet) {
        match &mut self.accesses[access] {
            Access::Wired { up, .. } => up.offer(now, packet, &mut self.dropped),
            Access::Cell(cell) => {
                cell.send_uplink(now, route, packet);
                cell.take_dropped(&mut self.dropped);
            }
        }
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
        self.wan_down.offer(now, packet, &mut self.dropped);
        self.count_dropped(now);
    }

    /// The edge sends a packet to a server.
    pub(crate) fn sent_up_by_edge(&mut self, now: Instant, packet: Packet) {
        self.flows.observe(now, Hop::EdgeToServer, &packet);
        self.wan_up.offer(now, packet, &mut self.dropped);
        self.count_dropped(now);
    }

    /// The edge sends a packet to a UE. One for no UE is dropped.
    pub(crate) fn sent_down_by_edge(&mut self, now: Instant, packet: Packet) {
        let Some(ue) = packet.address.ue.filter(|&ue| ue < self.other_routes.len()) else {
            return;
        };
        self.flows.observe(now, Hop::EdgeToUe, &packet);
        let route = self.route(&packet, ue);
        self.offer_down(now, 0, route, packet);
    }

    /// A UE sends a packet.
    pub(crate) fn sent_by_ue(&mut self, now: Instant, ue: usize, packet: Packet) {
        self.flows.observe(now, Hop::UeOut, &packet);
        let route = self.route(&packet, ue);
        self.offer_up(now, 0, route, packet);
    }

    fn route(&self, packet: &Packet, ue: usize) -> CellRoute {
        let of_flow = packet.address.flow.and_then(|flow| self.routes.get(flow));
        *of_flow.unwrap_or(&self.other_routes[ue])
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
        let only_up = self.has_only_uploads;
        let mut sum = Totals::default();
        for access in &mut self.accesses {
            let totals = match access {
                Access::Cell(cell) => cell.totals(now),
                Access::Wired { down, up } => {
                    let link = if only_up { up } else { down };
                    link.advance(now, &mut self.dropped);
                    Totals {
                        capacity: link.capacity_until(now),
                        used: link.sent_until(now),
                    }
                }
            };
            sum.capacity += totals.capacity;
            sum.used += totals.used;
        }
        sum
    }

    /// The radio report of the period since the last one; a wire has none.
    pub(crate) fn report(&mut self, now: Instant) -> Option<RadioReport> {
        self.accesses.iter_mut().find_map(|access| match access {
            Access::Cell(cell) => Some(cell.report(now)),
            Access::Wired { .. } => None,
        })
    }

    /// Begins a step of the time series, with the flows' part of it.
    pub(crate) fn sample_flow(&mut self, now: Instant, step: Duration, flow: usize) {
        self.flows.sample(now, step, flow, &mut self.series);
    }

    /// What its ends make of its bandwidth, if they are CDBE's.
    pub(crate) fn sample_reports(&mut self, now: Instant, flow: usize, state: &EndStates) {
        let name = self.flows.name(flow);
        if let Some(report) = state.report {
            let rate = report.rate().as_bps() as f64;
            self.series.push(name, Metric::Report, now, rate);
        }
        if let Some(view) = state.view {
            self.series.push(name, Metric::Gain, now, view.gain);
            self.series
                .push(name, Metric::SeenDelay, now, view.delay_ms);
            self.series
                .push(name, Metric::MinDelay, now, view.least_delay_ms);
        }
    }

    /// The links' part of a step.
    pub(crate) fn sample_links(&mut self, now: Instant) {
        let only_up = self.has_only_uploads;
        let series = &mut self.series;
        let mut links = vec![&self.wan_down, &self.wan_up];
        let mut wired = None;
        for access in &self.accesses {
            if let Access::Wired { down, up } = access {
                let link = if only_up { up } else { down };
                *wired.get_or_insert(0.0) += link.rate(now).as_bps() as f64;
                links.extend([&**down, &**up]);
            }
        }
        if let Some(rate) = wired {
            series.push("link", Metric::Capacity, now, rate);
        }
        for queue in links.into_iter().filter_map(Link::meter) {
            let bytes = queue.bytes().get() as f64;
            series.push(queue.name(), Metric::QueueBytes, now, bytes);
        }
        for access in &mut self.accesses {
            if let Access::Cell(cell) = access {
                cell.sample(now, series);
            }
        }
    }

    /// Ends measuring.
    pub(crate) fn finish(mut self, end: Instant, seed: u64) -> RunResult {
        let totals = self.totals(end);
        self.bottleneck.stop(end, totals);
        let link: LinkResult = self.bottleneck.result();
        let (flows, proxy_queues) = self.flows.finish(end);
        let mut wires = finish_wires([self.wan_down, self.wan_up], end);
        for access in self.accesses {
            wires.extend(match access {
                Access::Cell(cell) => cell.finish(end),
                Access::Wired { down, up } => finish_wires([*down, *up], end),
            });
        }
        RunResult {
            seed,
            elapsed: end.since_start(),
            flows,
            queues: wires.into_iter().chain(proxy_queues).collect(),
            link,
            series: self.series.finish(),
            packet_hops: self.hops,
            ..RunResult::default()
        }
    }
}

impl Access {
    /// The next packet that has come out by `now`.
    fn take(&mut self, now: Instant) -> Option<(RadioDirection, Packet)> {
        match self {
            Self::Cell(cell) => {
                let (_, direction, packet) = cell.poll_delivered()?;
                Some((direction, packet))
            }
            Self::Wired { down, up } => match down.take_arrived(now) {
                Some(packet) => Some((RadioDirection::Downlink, packet)),
                None => Some((RadioDirection::Uplink, up.take_arrived(now)?)),
            },
        }
    }
}

fn finish_wires<const N: usize>(wires: [Link<Packet>; N], end: Instant) -> Vec<QueueResult> {
    let meters = wires.into_iter().filter_map(Link::into_meter);
    meters.map(|meter| meter.finish(end)).collect()
}
