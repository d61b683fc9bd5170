//! The network between the hosts: it moves packets, and returns where they come out.
//!
//! ```text
//!   server --host link--> path (wan) --> edge --> access (cell or wired link) --> UE
//!          <--host link--            <--      <--                             <--
//! ```
//!
//! Each flow has a server of its own, on a link of its own. All flows share the path and the
//! access. With a tunnel there are several accesses, one for each of its paths, and packets come out
//! at both ends of each. At the edge a packet comes out of the network, so that a proxy may take it; what passes
//! by goes in again with [`Network::enter_access`] or [`Network::enter_path`].

use crate::carried::Ledger;
use crate::packet::Packet;
use crate::pool::{Handle, Pool};
use crate::schedule::{EntityId, Schedule};
use network::measure::{SeriesSet, Totals};
use network::{CellRoute, Entered, LinkId, Radio, Topology, WireSpec};
use queue::{Ecn, Packet as _};
use ran::Direction;
use scenario::QueueResult;
use std::rc::Rc;
use units::{Instant, Streams};

/// Where a packet comes out of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// At the edge, on its way to the UE.
    EdgeDown,
    /// At the edge, on its way to the server.
    EdgeUp,
    /// At the UE.
    Ue,
    /// At its server.
    Server,
    /// At an end of a tunnel, through one of its paths.
    Tunnel(TunnelEnd),
}

/// An end of a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TunnelEnd {
    /// At the edge.
    Edge,
    /// At the UE.
    Ue,
}

impl TunnelEnd {
    /// Both, by their index.
    pub(crate) const BOTH: [Self; 2] = [Self::Edge, Self::Ue];

    /// The other one.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Edge => Self::Ue,
            Self::Ue => Self::Edge,
        }
    }
}

/// Where a link ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exit {
    /// At the path's entrance.
    Path,
    /// At the links of the servers.
    Hosts,
    /// Out of the network.
    Out(Place),
}

/// A link's place in the schedule, and where it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheduled {
    pub(crate) entity: EntityId,
    pub(crate) exit: Exit,
}

/// A server's links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostLinks {
    /// Towards the path.
    pub(crate) down: LinkId,
    /// From the path.
    pub(crate) up: LinkId,
}

/// Counts of all packets of a run. Every packet sent is delivered, dropped or still in the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Handed to the network by hosts and the proxy.
    pub sent: u64,
    /// Arrived at a host or the proxy.
    pub delivered: u64,
    /// Dropped by a queue, a lossy link or the cell.
    pub dropped: u64,
    /// Still on their way.
    pub in_network: u64,
}

/// The network.
pub(crate) struct Network {
    /// Pending times of everything in the run.
    pub(crate) schedule: Schedule,
    pool: Pool<Packet>,
    topology: Topology<Handle>,
    /// Of each link.
    scheduled: Vec<Scheduled>,
    cell_entity: Option<EntityId>,
    /// Of each flow's server.
    hosts: Vec<HostLinks>,
    /// With a tunnel: what is inside, each UE's and direction's.
    ledgers: Vec<Rc<Ledger>>,
    /// Packets dropped, by flow.
    lost: Vec<u64>,
    counts: PacketCounts,
    hops: u64,
    /// Handles that links drop, before they are counted.
    dropped: Vec<Handle>,
}

/// A network under construction.
pub(crate) struct Parts {
    topology: Topology<Handle>,
    scheduled: Vec<Scheduled>,
    cell_entity: Option<EntityId>,
    hosts: Vec<HostLinks>,
}

impl Parts {
    /// Of this topology, whose links and cell get their places in the schedule from `entity`, in the order of
    /// the accesses and then the path.
    pub(crate) fn new(
        topology: Topology<Handle>,
        has_tunnel: bool,
        mut entity: impl FnMut(Option<LinkId>) -> EntityId,
    ) -> Self {
        let mut scheduled = Vec::new();
        let mut cell_entity = None;
        let [to_ue, from_ue] = match has_tunnel {
            false => [Place::Ue, Place::EdgeUp],
            true => [TunnelEnd::Ue, TunnelEnd::Edge].map(Place::Tunnel),
        };
        for access in topology.accesses() {
            match *access {
                network::Access::Wired { down, up } => {
                    for (link, place) in [(down, to_ue), (up, from_ue)] {
                        debug_assert_eq!(link.index(), scheduled.len());
                        let (entity, exit) = (entity(Some(link)), Exit::Out(place));
                        scheduled.push(Scheduled { entity, exit });
                    }
                }
                network::Access::Cell(_) | network::Access::Cells(_) => {
                    cell_entity = Some(entity(None));
                }
            }
        }
        let path = [
            (topology.path_down(), Exit::Out(Place::EdgeDown)),
            (topology.path_up(), Exit::Hosts),
        ];
        for (link, exit) in path {
            let entity = entity(Some(link));
            scheduled.push(Scheduled { entity, exit });
        }
        Self {
            topology,
            scheduled,
            cell_entity,
            hosts: Vec::new(),
        }
    }

    /// Adds the links of the next flow's server.
    ///
    /// # Errors
    /// If a queue cannot be.
    pub(crate) fn add_host(
        &mut self,
        wire: &WireSpec<'_>,
        (streams, began): (&Streams, Instant),
        mut entity: impl FnMut(LinkId) -> EntityId,
    ) -> Result<(), network::Error> {
        let mut add = |exit| {
            let link = self.topology.add(wire, streams, began)?;
            let entity = entity(link);
            self.scheduled.push(Scheduled { entity, exit });
            Ok::<_, network::Error>(link)
        };
        let (down, up) = (add(Exit::Path)?, add(Exit::Out(Place::Server))?);
        self.hosts.push(HostLinks { down, up });
        Ok(())
    }
}

impl Network {
    /// An empty network.
    pub(crate) fn new(schedule: Schedule, parts: Parts, ledgers: Vec<Rc<Ledger>>) -> Self {
        Self {
            schedule,
            pool: Pool::default(),
            topology: parts.topology,
            scheduled: parts.scheduled,
            cell_entity: parts.cell_entity,
            lost: vec![0; parts.hosts.len()],
            hosts: parts.hosts,
            ledgers,
            counts: PacketCounts::default(),
            hops: 0,
            dropped: Vec::new(),
        }
    }

    /// A server sends a packet.
    pub(crate) fn send_from_server(&mut self, now: Instant, packet: Packet) {
        let link = self.hosts[packet.flow as usize].down;
        let handle = self.admit(packet);
        self.offer(now, link, handle);
    }

    /// A UE sends a packet.
    pub(crate) fn send_from_ue(&mut self, now: Instant, packet: Packet) {
        let route = self.route(packet.flow);
        let handle = self.admit(packet);
        self.enter(now, (0, Direction::Uplink), route, handle);
    }

    /// An end of a tunnel sends a packet of its own on one of the paths.
    pub(crate) fn send_from_tunnel(
        &mut self,
        now: Instant,
        end: TunnelEnd,
        path: usize,
        packet: Packet,
    ) {
        // packets of a tunnel have their UE's number in the flow's place
        let route = self.topology.other_route(packet.flow as usize);
        let route = route.expect("a tunnel is of a UE");
        let handle = self.admit(packet);
        let direction = match end {
            TunnelEnd::Edge => Direction::Downlink,
            TunnelEnd::Ue => Direction::Uplink,
        };
        self.enter(now, (path, direction), route, handle);
    }

    /// A host's packet goes into a tunnel at its own end, without a link between.
    pub(crate) fn count_sent(&mut self) {
        self.counts.sent += 1;
    }

    /// A packet that a tunnel gives out at its UE has arrived.
    pub(crate) fn count_delivered(&mut self) {
        self.counts.delivered += 1;
    }

    /// Takes a packet that has come out into a tunnel: it is not delivered yet.
    pub(crate) fn take_in(&mut self, handle: Handle) -> Packet {
        let mut packet = self.pool.take(handle);
        if handle.ecn() == Ecn::Ce {
            packet.mark();
        }
        packet
    }

    /// A packet that a tunnel gives out at the edge goes on towards its server.
    pub(crate) fn continue_up(&mut self, now: Instant, packet: Packet) {
        let handle = self.insert(packet);
        self.enter_path(now, handle);
    }

    fn route(&self, flow: u32) -> CellRoute {
        let route = self.topology.route(flow as usize);
        route.expect("a packet is of a flow")
    }

    fn enter(&mut self, now: Instant, to: (usize, Direction), route: CellRoute, handle: Handle) {
        let dropped = &mut self.dropped;
        match self.topology.enter(now, to, route, handle, dropped) {
            Entered::Link(link) => self.after_link(link),
            Entered::Cell => self.after_cell(),
        }
    }

    /// The proxy sends a packet to the UE.
    pub(crate) fn send_from_edge_down(&mut self, now: Instant, packet: Packet) {
        let handle = self.admit(packet);
        self.enter_access(now, handle);
    }

    /// The proxy sends a packet to the server.
    pub(crate) fn send_from_edge_up(&mut self, now: Instant, packet: Packet) {
        let handle = self.admit(packet);
        self.enter_path(now, handle);
    }

    /// A packet goes on from the edge towards its UE.
    pub(crate) fn enter_access(&mut self, now: Instant, handle: Handle) {
        let route = self.route(self.pool.owner(handle));
        self.enter(now, (0, Direction::Downlink), route, handle);
    }

    /// A packet that has come out at the edge goes no further.
    pub(crate) fn drop_at_edge(&mut self, handle: Handle) {
        self.dropped.push(handle);
        self.count_dropped();
    }

    /// A packet goes on from the edge towards its server.
    pub(crate) fn enter_path(&mut self, now: Instant, handle: Handle) {
        self.offer(now, self.topology.path_up(), handle);
    }

    /// The flow of a packet that has come out.
    pub(crate) fn flow_of(&self, handle: Handle) -> u32 {
        self.pool.owner(handle)
    }

    /// A look at a packet that has come out.
    pub(crate) fn peek(&self, handle: Handle) -> &Packet {
        self.pool.get(handle)
    }

    /// Takes a packet that has come out and goes no further.
    pub(crate) fn receive(&mut self, handle: Handle) -> Packet {
        self.counts.delivered += 1;
        let mut packet = self.pool.take(handle);
        if handle.ecn() == Ecn::Ce {
            packet.mark();
        }
        packet
    }

    /// The next packet of a link that comes out of the network by `now`; packets that go on to
    /// another link do so on the way. `None`: nothing more, and the link's next event is set.
    pub(crate) fn poll_link(&mut self, now: Instant, id: LinkId) -> Option<(Place, Handle)> {
        self.topology.link(id).advance(now, &mut self.dropped);
        loop {
            let Some(handle) = self.topology.link(id).take_arrived(now) else {
                self.after_link(id);
                return None;
            };
            self.hops += 1;
            match self.scheduled[id.index()].exit {
                Exit::Out(place) => return Some((place, handle)),
                Exit::Path => self.offer(now, self.topology.path_down(), handle),
                Exit::Hosts => {
                    let flow = self.pool.owner(handle);
                    self.offer(now, self.hosts[flow as usize].up, handle);
                }
            }
        }
    }

    /// The cell's first deadline goes into the schedule.
    pub(crate) fn start_cell(&mut self) {
        self.after_cell();
    }

    /// Runs the cell until `now`, its deadline. What it delivers is fetched by
    /// [`Self::poll_cell`].
    pub(crate) fn run_cell(&mut self, now: Instant) {
        if let Some(mut radio) = self.topology.radio() {
            radio.on_deadline(now);
            self.after_cell();
        }
    }

    /// The next packet that the cell has delivered.
    pub(crate) fn poll_cell(&mut self) -> Option<(Place, Handle)> {
        let network::Delivered {
            direction,
            packet: handle,
            held,
        } = self.topology.radio()?.poll_delivered()?;
        self.hops += 1;
        if !held.is_zero() {
            self.pool.get_mut(handle).held += held;
        }
        let place = match (direction, self.has_tunnel()) {
            (Direction::Downlink, false) => Place::Ue,
            (Direction::Uplink, false) => Place::EdgeUp,
            (Direction::Downlink, true) => Place::Tunnel(TunnelEnd::Ue),
            (Direction::Uplink, true) => Place::Tunnel(TunnelEnd::Edge),
        };
        Some((place, handle))
    }

    /// Brings the records of all queues up to `now`.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.topology.settle(now, &mut self.dropped);
        self.count_dropped();
    }

    /// What the bottleneck has carried, and could have carried, until `now`.
    pub(crate) fn totals(&mut self, now: Instant) -> Totals {
        let totals = self.topology.totals(now, &mut self.dropped);
        self.count_dropped();
        totals
    }

    /// The links' and the cell's part of a step of the time series.
    pub(crate) fn sample(&mut self, now: Instant, series: &mut SeriesSet) {
        self.topology.sample(now, series);
    }

    /// The radio, if there is one.
    pub(crate) fn radio(&mut self) -> Option<Radio<'_, Handle>> {
        self.topology.radio()
    }

    /// The handovers that were begun until the run's end.
    pub(crate) fn take_handovers(&mut self, end: Instant) -> Vec<scenario::HandoverResult> {
        self.topology.take_handovers(end)
    }

    fn has_tunnel(&self) -> bool {
        !self.ledgers.is_empty()
    }

    /// Packets of a flow that were dropped.
    pub(crate) fn lost(&self, flow: u32) -> u64 {
        let inside = self.ledgers.iter().map(|ledger| ledger.lost(flow));
        self.lost[flow as usize] + inside.sum::<u64>()
    }

    /// Packets that crossed a link or the cell, counted at each.
    pub(crate) fn hops(&self) -> u64 {
        self.hops
    }

    /// All packets by their outcome.
    pub(crate) fn counts(&self) -> PacketCounts {
        let sum =
            |of: fn(&Ledger) -> u64| self.ledgers.iter().map(|ledger| of(ledger)).sum::<u64>();
        PacketCounts {
            in_network: self.pool.len() as u64 + sum(Ledger::inside),
            dropped: self.counts.dropped + sum(Ledger::dropped),
            ..self.counts
        }
    }

    /// The records of all queues.
    pub(crate) fn finish(self, end: Instant) -> Vec<QueueResult> {
        self.topology.finish(end)
    }

    fn admit(&mut self, packet: Packet) -> Handle {
        self.counts.sent += 1;
        self.insert(packet)
    }

    fn insert(&mut self, packet: Packet) -> Handle {
        let (flow, label) = (packet.flow, packet.label());
        self.pool.insert(packet, flow, label)
    }

    fn offer(&mut self, now: Instant, id: LinkId, handle: Handle) {
        self.topology.link(id).offer(now, handle, &mut self.dropped);
        self.after_link(id);
    }

    fn after_link(&mut self, id: LinkId) {
        let next = self.topology.link(id).next_event();
        self.schedule.set(self.scheduled[id.index()].entity, next);
        self.count_dropped();
    }

    fn after_cell(&mut self) {
        let Some((mut radio, entity)) = self.topology.radio().zip(self.cell_entity) else {
            return;
        };
        radio.take_dropped(&mut self.dropped);
        self.schedule.set(entity, radio.next_deadline());
        self.count_dropped();
    }

    fn count_dropped(&mut self) {
        while let Some(handle) = self.dropped.pop() {
            self.counts.dropped += 1;
            let packet = self.pool.take(handle);
            // what a tunnel lost is its last copy, which counts itself
            if !packet.is_of_tunnel() {
                self.lost[packet.flow as usize] += 1;
            }
        }
    }
}
