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
use network::{CellAccess, CellRoute};
use queue::{Ecn, Packet as _};
use ran::Direction;
use std::rc::Rc;
use units::Instant;

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
enum Exit {
    /// At the path's entrance.
    Path,
    /// At the links of the servers.
    Hosts,
    /// Out of the network.
    Out(Place),
}

/// A link of the network.
pub(crate) type Link = network::Link<Handle>;

/// A link as the network holds it.
pub(crate) struct NetLink {
    link: Link,
    entity: EntityId,
    exit: Exit,
}

/// Number of a link in a [`Network`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkId(u32);

/// The way into and out of the UEs.
pub(crate) enum Access {
    /// A shared wired link in each direction.
    Wired {
        /// Towards the UEs.
        down: LinkId,
        /// From the UEs.
        up: LinkId,
    },
    /// A radio cell, and its place in the schedule.
    Cell(Box<CellAccess<Handle>>, EntityId),
}

/// How a flow's packets go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// The server's link towards the path.
    pub(crate) host_down: LinkId,
    /// The server's link from the path.
    pub(crate) host_up: LinkId,
    /// Its place in the cell, if there is one.
    pub(crate) cell: CellRoute,
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
    links: Vec<NetLink>,
    /// One; with a tunnel those of its paths, in their order.
    accesses: Vec<Access>,
    path_down: LinkId,
    path_up: LinkId,
    routes: Vec<Route>,
    /// With a tunnel, of each UE: the place of its packets in the cell.
    tunnel_routes: Vec<CellRoute>,
    /// With a tunnel: what is inside, each UE's and direction's.
    ledgers: Vec<Rc<Ledger>>,
    /// Packets dropped, by flow.
    lost: Vec<u64>,
    counts: PacketCounts,
    hops: u64,
    /// Handles that links drop, before they are counted.
    dropped: Vec<Handle>,
}

/// What a network with a tunnel has more; nothing without.
#[derive(Default)]
pub(crate) struct TunnelParts {
    /// Of each UE: the place of its packets in the cell.
    pub(crate) routes: Vec<CellRoute>,
    /// Of each UE and direction: what is inside.
    pub(crate) ledgers: Vec<Rc<Ledger>>,
}

/// Links under construction.
#[derive(Default)]
pub(crate) struct Links {
    links: Vec<NetLink>,
}

impl Links {
    /// The number of the link that is made next.
    pub(crate) fn next_id(&self) -> LinkId {
        LinkId(u32::try_from(self.links.len()).expect("fewer than 2^32 links"))
    }
    fn add(&mut self, link: Link, entity: EntityId, exit: Exit) -> LinkId {
        let id = self.next_id();
        self.links.push(NetLink { link, entity, exit });
        id
    }
    /// A link from the servers to the edge.
    pub(crate) fn path_down(&mut self, link: Link, entity: EntityId) -> LinkId {
        self.add(link, entity, Exit::Out(Place::EdgeDown))
    }
    /// A link from the edge to the servers.
    pub(crate) fn path_up(&mut self, link: Link, entity: EntityId) -> LinkId {
        self.add(link, entity, Exit::Hosts)
    }
    /// A wired access towards the UEs.
    pub(crate) fn access_down(&mut self, link: Link, entity: EntityId) -> LinkId {
        self.add(link, entity, Exit::Out(Place::Ue))
    }
    /// A wired access from the UEs.
    pub(crate) fn access_up(&mut self, link: Link, entity: EntityId) -> LinkId {
        self.add(link, entity, Exit::Out(Place::EdgeUp))
    }
    /// A tunnel's path towards the UEs.
    pub(crate) fn tunnel_down(&mut self, link: Link, entity: EntityId) -> LinkId {
        self.add(link, entity, Exit::Out(Place::Tunnel(TunnelEnd::Ue)))
    }
    /// A tunnel's path from the UEs.
    pub(crate) fn tunnel_up(&mut self, link: Link, entity: EntityId) -> LinkId {
        self.add(link, entity, Exit::Out(Place::Tunnel(TunnelEnd::Edge)))
    }
    /// A server's link towards the path.
    pub(crate) fn host_down(&mut self, link: Link, entity: EntityId) -> LinkId {
        self.add(link, entity, Exit::Path)
    }
    /// A server's link from the path.
    pub(crate) fn host_up(&mut self, link: Link, entity: EntityId) -> LinkId {
        self.add(link, entity, Exit::Out(Place::Server))
    }
}

impl Network {
    /// An empty network.
    pub(crate) fn new(
        schedule: Schedule,
        links: Links,
        accesses: Vec<Access>,
        path: (LinkId, LinkId),
        routes: Vec<Route>,
        tunnel: TunnelParts,
    ) -> Self {
        let lost = vec![0; routes.len()];
        Self {
            schedule,
            pool: Pool::default(),
            links: links.links,
            accesses,
            path_down: path.0,
            path_up: path.1,
            routes,
            tunnel_routes: tunnel.routes,
            ledgers: tunnel.ledgers,
            lost,
            counts: PacketCounts::default(),
            hops: 0,
            dropped: Vec::new(),
        }
    }

    /// A server sends a packet.
    pub(crate) fn send_from_server(&mut self, now: Instant, packet: Packet) {
        let link = self.routes[packet.flow as usize].host_down;
        let handle = self.admit(packet);
        self.offer(now, link, handle);
    }

    /// A UE sends a packet.
    pub(crate) fn send_from_ue(&mut self, now: Instant, packet: Packet) {
        let route = self.routes[packet.flow as usize].cell;
        let handle = self.admit(packet);
        self.enter_uplink(now, 0, route, handle);
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
        let route = self.tunnel_routes[packet.flow as usize];
        let handle = self.admit(packet);
        match end {
            TunnelEnd::Edge => self.enter_downlink(now, path, route, handle),
            TunnelEnd::Ue => self.enter_uplink(now, path, route, handle),
        }
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
        let label = packet.label();
        let handle = self.pool.insert(packet, label);
        self.enter_path(now, handle);
    }

    fn enter_uplink(&mut self, now: Instant, access: usize, route: CellRoute, handle: Handle) {
        match &mut self.accesses[access] {
            &mut Access::Wired { up, .. } => self.offer(now, up, handle),
            Access::Cell(cell, _) => {
                cell.send_uplink(now, route, handle);
                self.after_cell();
            }
        }
    }

    fn enter_downlink(&mut self, now: Instant, access: usize, route: CellRoute, handle: Handle) {
        match &mut self.accesses[access] {
            &mut Access::Wired { down, .. } => self.offer(now, down, handle),
            Access::Cell(cell, _) => {
                cell.send_downlink(now, route, handle);
                self.after_cell();
            }
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
        let flow = self.pool.get(handle).flow;
        let route = self.routes[flow as usize].cell;
        self.enter_downlink(now, 0, route, handle);
    }

    /// A packet goes on from the edge towards its server.
    pub(crate) fn enter_path(&mut self, now: Instant, handle: Handle) {
        self.offer(now, self.path_up, handle);
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
        let index = id.0 as usize;
        self.links[index].link.advance(now, &mut self.dropped);
        loop {
            let entry = &mut self.links[index];
            let Some(handle) = entry.link.take_arrived(now) else {
                self.schedule.set(entry.entity, entry.link.next_event());
                self.count_dropped();
                return None;
            };
            self.hops += 1;
            match entry.exit {
                Exit::Out(place) => return Some((place, handle)),
                Exit::Path => self.offer(now, self.path_down, handle),
                Exit::Hosts => {
                    let flow = self.pool.get(handle).flow;
                    self.offer(now, self.routes[flow as usize].host_up, handle);
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
        if let Some(cell) = self.cell() {
            cell.on_deadline(now);
            self.after_cell();
        }
    }

    /// The next packet that the cell has delivered.
    pub(crate) fn poll_cell(&mut self) -> Option<(Place, Handle)> {
        let (_, direction, handle) = self.cell()?.poll_delivered()?;
        self.hops += 1;
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
        for entry in &mut self.links {
            entry.link.advance(now, &mut self.dropped);
        }
        self.count_dropped();
    }

    /// The cell, if there is one.
    pub(crate) fn cell(&mut self) -> Option<&mut CellAccess<Handle>> {
        self.accesses.iter_mut().find_map(|access| match access {
            Access::Cell(cell, _) => Some(&mut **cell),
            Access::Wired { .. } => None,
        })
    }

    /// The ways into the UEs.
    pub(crate) fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    fn has_tunnel(&self) -> bool {
        !self.ledgers.is_empty()
    }

    /// A link.
    pub(crate) fn link(&self, id: LinkId) -> &Link {
        &self.links[id.0 as usize].link
    }

    /// All links.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().map(|entry| &entry.link)
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

    /// Takes the network apart, for its queues' records.
    pub(crate) fn into_parts(self) -> (Vec<Link>, Vec<Access>) {
        (
            self.links.into_iter().map(|entry| entry.link).collect(),
            self.accesses,
        )
    }

    fn admit(&mut self, packet: Packet) -> Handle {
        self.counts.sent += 1;
        let label = packet.label();
        self.pool.insert(packet, label)
    }

    fn offer(&mut self, now: Instant, id: LinkId, handle: Handle) {
        let entry = &mut self.links[id.0 as usize];
        entry.link.offer(now, handle, &mut self.dropped);
        self.schedule.set(entry.entity, entry.link.next_event());
        self.count_dropped();
    }

    fn after_cell(&mut self) {
        let cell = self.accesses.iter_mut().find_map(|access| match access {
            Access::Cell(cell, entity) => Some((cell, entity)),
            Access::Wired { .. } => None,
        });
        let Some((cell, entity)) = cell else {
            return;
        };
        self.schedule.set(*entity, cell.next_deadline());
        cell.take_dropped(&mut self.dropped);
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
