//! The network between the hosts: it moves packets, and says where they come out.
//!
//! ```text
//!   server --host link--> path (wan) --> edge --> access (cell or wired link) --> UE
//!          <--host link--            <--      <--                             <--
//! ```
//!
//! Each flow has a server of its own, on a link of its own. All flows share the path and the
//! access. At the edge a packet comes out of the network, so that a proxy may take it; what passes
//! by goes in again with [`Network::enter_access`] or [`Network::enter_path`].

use crate::packet::Packet;
use crate::pool::{Handle, Pool};
use crate::schedule::{EntityId, Schedule};
use apparatus::{CellAccess, CellRoute};
use queue::{Ecn, Packet as _};
use ran::Direction;
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
pub(crate) type Link = apparatus::Link<Handle>;

/// A link as the network knows it.
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
    access: Access,
    path_down: LinkId,
    path_up: LinkId,
    routes: Vec<Route>,
    /// Packets dropped, by flow.
    lost: Vec<u64>,
    counts: PacketCounts,
    hops: u64,
    /// Handles that links drop, before they are counted.
    dropped: Vec<Handle>,
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
        access: Access,
        path: (LinkId, LinkId),
        routes: Vec<Route>,
    ) -> Self {
        let lost = vec![0; routes.len()];
        Self {
            schedule,
            pool: Pool::default(),
            links: links.links,
            access,
            path_down: path.0,
            path_up: path.1,
            routes,
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
        let flow = packet.flow;
        let handle = self.admit(packet);
        match &mut self.access {
            &mut Access::Wired { up, .. } => self.offer(now, up, handle),
            Access::Cell(cell, _) => {
                cell.send_uplink(now, self.routes[flow as usize].cell, handle);
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
        match &mut self.access {
            &mut Access::Wired { down, .. } => self.offer(now, down, handle),
            Access::Cell(cell, _) => {
                let flow = self.pool.get(handle).flow;
                cell.send_downlink(now, self.routes[flow as usize].cell, handle);
                self.after_cell();
            }
        }
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

    /// Runs the cell until `now`, as it asked to be. What it delivers is fetched by
    /// [`Self::poll_cell`].
    pub(crate) fn run_cell(&mut self, now: Instant) {
        if let Access::Cell(cell, _) = &mut self.access {
            cell.on_deadline(now);
            self.after_cell();
        }
    }

    /// The next packet that the cell has delivered.
    pub(crate) fn poll_cell(&mut self) -> Option<(Place, Handle)> {
        let Access::Cell(cell, _) = &mut self.access else {
            return None;
        };
        let (_, direction, handle) = cell.poll_delivered()?;
        self.hops += 1;
        Some(match direction {
            Direction::Downlink => (Place::Ue, handle),
            Direction::Uplink => (Place::EdgeUp, handle),
        })
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
        match &mut self.access {
            Access::Cell(cell, _) => Some(cell),
            Access::Wired { .. } => None,
        }
    }

    /// The way into the UEs.
    pub(crate) fn access(&self) -> &Access {
        &self.access
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
        self.lost[flow as usize]
    }

    /// Packets that crossed a link or the cell, counted at each.
    pub(crate) fn hops(&self) -> u64 {
        self.hops
    }

    /// All packets by their fate.
    pub(crate) fn counts(&self) -> PacketCounts {
        PacketCounts {
            in_network: self.pool.len() as u64,
            ..self.counts
        }
    }

    /// Takes the network apart, for its queues' records.
    pub(crate) fn into_parts(self) -> (Vec<Link>, Access) {
        (
            self.links.into_iter().map(|entry| entry.link).collect(),
            self.access,
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
        let Access::Cell(cell, entity) = &mut self.access else {
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
            self.lost[packet.flow as usize] += 1;
        }
    }
}
