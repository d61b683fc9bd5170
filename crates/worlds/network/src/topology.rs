//! What packets go through between servers and UEs, as an experiment has it.
//!
//! ```text
//!   servers --> path --> edge --> access (a cell, or a wire each way) --> UEs
//!           <--      <--      <--                                     <--
//! ```
//!
//! All flows share the path and the access. With a tunnel there are several accesses, one for each of its
//! paths. Who moves the packets from one part to the next, and when, is the world's: the simulator by its
//! schedule, the lab as the clock shows it.

use crate::measure::{SeriesSet, Totals};
use crate::{CellAccess, CellRoute, Cells, Delivered, Error, Link, WireSpec};
use queue::Packet;
use ran::{Direction, UeIndex};
use rnis::RadioReport;
use scenario::{
    AccessSpec, Direction as FlowDirection, Experiment, HandoverResult, Metric, QueueResult,
    TunnelAccess,
};
use std::net::IpAddr;
use units::{Bytes, Duration, Instant, Streams};

/// QoS flow of what belongs to no flow, a tunnel's packets among it: the UE's first bearer, unless another
/// claims it.
const OTHER_QFI: u8 = 0;

/// A link of a [`Topology`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkId(u32);

impl LinkId {
    /// From 0, in the order in which links are made.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The way into and out of the UEs.
pub enum Access<P> {
    /// A wire in each direction.
    Wired {
        /// Towards the UEs.
        down: LinkId,
        /// From the UEs.
        up: LinkId,
    },
    /// A radio cell.
    Cell(Box<CellAccess<P>>),
    /// Several.
    Cells(Box<Cells<P>>),
}

/// The radio of a [`Topology`].
pub enum Radio<'a, P> {
    /// One cell.
    One(&'a mut CellAccess<P>),
    /// Several.
    Several(&'a mut Cells<P>),
}

impl<P: Packet + Send> Radio<'_, P> {
    /// When it is to run next.
    pub fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::One(cell) => cell.next_deadline(),
            Self::Several(cells) => cells.next_deadline(),
        }
    }

    /// It runs until `now`.
    pub fn on_deadline(&mut self, now: Instant) {
        match self {
            Self::One(cell) => cell.on_deadline(now),
            Self::Several(cells) => cells.on_deadline(now),
        }
    }

    /// The next packet that has come out.
    pub fn poll_delivered(&mut self) -> Option<Delivered<P>> {
        match self {
            Self::One(cell) => cell.poll_delivered(),
            Self::Several(cells) => cells.poll_delivered(),
        }
    }

    /// Packets that have been dropped.
    pub fn take_dropped(&mut self, into: &mut Vec<P>) {
        match self {
            Self::One(cell) => cell.take_dropped(into),
            Self::Several(cells) => cells.take_dropped(into),
        }
    }

    /// What the modem of a UE shows: bytes that it has sent, each counted once, and those that wait in it.
    pub fn modem(&self, ue: UeIndex) -> (Bytes, Bytes) {
        match self {
            Self::One(cell) => cell.modem(ue),
            Self::Several(cells) => cells.modem(ue),
        }
    }

    /// The radio reports of the period since the last ones, one of each cell.
    pub fn reports(&mut self, now: Instant) -> Vec<RadioReport> {
        match self {
            Self::One(cell) => vec![cell.report(now)],
            Self::Several(cells) => cells.reports(now),
        }
    }
}

/// Where a packet has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entered {
    /// Into a link.
    Link(LinkId),
    /// Into the cell.
    Cell,
}

/// The links and the cell.
pub struct Topology<P> {
    links: Links<P>,
    /// Towards the edge, and from it.
    path: [LinkId; 2],
    /// One; with a tunnel those of its paths, in their order.
    accesses: Vec<Access<P>>,
    /// By flow.
    routes: Vec<CellRoute>,
    /// By UE: of what belongs to no flow.
    other_routes: Vec<CellRoute>,
    /// The bottleneck is the one from the UEs.
    has_only_uploads: bool,
}

/// Links, by the order in which they are made.
struct Links<P>(Vec<Link<P>>);

impl<P: Packet + Send + 'static> Links<P> {
    fn add(
        &mut self,
        spec: &WireSpec<'_>,
        streams: &Streams,
        began: Instant,
    ) -> Result<LinkId, Error> {
        let id = u32::try_from(self.0.len()).expect("fewer than 2^32 links");
        self.0.push(spec.build(streams, began)?);
        Ok(LinkId(id))
    }
}

impl<P: Packet + Send + 'static> Topology<P> {
    /// The links and the cell of an experiment whose path takes `path_delay` each way. Queues are watched from
    /// `began` on; radio reports identify UEs by their `address`.
    ///
    /// # Errors
    /// What is wrong with a queue, the cell, a channel or the background load.
    pub fn new(
        experiment: &Experiment,
        address: impl Fn(usize) -> Option<IpAddr>,
        path_delay: Duration,
        streams: Streams,
        began: Instant,
    ) -> Result<Self, Error> {
        let mut links = Links(Vec::new());
        let wired = |links: &mut Links<P>, (down, up): (WireSpec<'_>, WireSpec<'_>)| {
            Ok::<_, Error>(Access::Wired {
                down: links.add(&down, &streams, began)?,
                up: links.add(&up, &streams, began)?,
            })
        };
        let access = |links: &mut Links<P>| match (&experiment.access, &experiment.cells) {
            (AccessSpec::Link(link), _) => wired(links, WireSpec::of_access(link)),
            (AccessSpec::Cell(_), Some(spec)) => {
                let cells = Cells::new(spec, experiment, &address, streams, began)?;
                Ok(Access::Cells(Box::new(cells)))
            }
            (AccessSpec::Cell(cell), None) => {
                let cell = CellAccess::new(cell, experiment, &address, streams, began)?;
                Ok(Access::Cell(Box::new(cell)))
            }
        };
        let accesses = match &experiment.tunnel {
            None => vec![access(&mut links)?],
            Some(tunnel) => {
                let paths = tunnel.paths.iter().map(|path| match &path.access {
                    TunnelAccess::Cell => access(&mut links),
                    TunnelAccess::Link(link) => {
                        let names = ["down", "up"].map(|way| format!("path/{}/{way}", path.name));
                        wired(&mut links, WireSpec::of_link(link, [&names[0], &names[1]]))
                    }
                });
                paths.collect::<Result<_, _>>()?
            }
        };
        let path = |name| WireSpec::of_path(name, &experiment.path, path_delay);
        let mut path = |name| links.add(&path(name), &streams, began);
        let path = [path("wan/down")?, path("wan/up")?];
        let bearers = |ue: usize| experiment.ues[ue].bearers.as_slice();
        let flows = experiment.flows.iter();
        let has_only_uploads = flows.clone().all(|f| f.direction == FlowDirection::Up);
        Ok(Self {
            links,
            path,
            accesses,
            routes: flows
                .enumerate()
                .map(|(index, flow)| CellRoute::new(index, flow, bearers(flow.ue)))
                .collect(),
            other_routes: (0..experiment.ues.len())
                .map(|ue| CellRoute::of(ue, OTHER_QFI, bearers(ue)))
                .collect(),
            has_only_uploads: has_only_uploads && !experiment.flows.is_empty(),
        })
    }

    /// Adds a link beside those of the experiment.
    ///
    /// # Errors
    /// If its buffer cannot be.
    pub fn add(
        &mut self,
        spec: &WireSpec<'_>,
        streams: &Streams,
        began: Instant,
    ) -> Result<LinkId, Error> {
        self.links.add(spec, streams, began)
    }

    /// The path from the servers to the edge.
    pub fn path_down(&self) -> LinkId {
        self.path[0]
    }

    /// The path from the edge to the servers.
    pub fn path_up(&self) -> LinkId {
        self.path[1]
    }

    /// The ways into the UEs: one, or those of a tunnel's paths in their order.
    pub fn accesses(&self) -> &[Access<P>] {
        &self.accesses
    }

    /// The place of a flow's packets in the cell; none if the experiment does not have that flow.
    pub fn route(&self, flow: usize) -> Option<CellRoute> {
        self.routes.get(flow).copied()
    }

    /// The place in the cell of a UE's packets that belong to no flow; none if the experiment does not have that
    /// UE.
    pub fn other_route(&self, ue: usize) -> Option<CellRoute> {
        self.other_routes.get(ue).copied()
    }

    /// A link.
    pub fn link(&mut self, id: LinkId) -> &mut Link<P> {
        &mut self.links.0[id.index()]
    }

    /// The cell, if there is one and no other.
    pub fn cell(&mut self) -> Option<&mut CellAccess<P>> {
        match self.radio() {
            Some(Radio::One(cell)) => Some(cell),
            Some(Radio::Several(_)) | None => None,
        }
    }

    /// The radio, if there is one.
    pub fn radio(&mut self) -> Option<Radio<'_, P>> {
        self.accesses.iter_mut().find_map(|access| match access {
            Access::Cell(cell) => Some(Radio::One(cell)),
            Access::Cells(cells) => Some(Radio::Several(cells)),
            Access::Wired { .. } => None,
        })
    }

    /// Of several cells the one that serves a UE, or did last; none where there is one cell at most.
    pub fn serving_cell(&self, ue: usize) -> Option<usize> {
        self.accesses.iter().find_map(|access| match access {
            Access::Cells(cells) => cells.serving(ue),
            Access::Cell(_) | Access::Wired { .. } => None,
        })
    }

    /// Of several cells the one to whose base station the core sends a UE's packets; none where there is one cell at most.
    pub fn path_cell(&self, ue: usize) -> Option<usize> {
        self.accesses.iter().find_map(|access| match access {
            Access::Cells(cells) => cells.path(ue),
            Access::Cell(_) | Access::Wired { .. } => None,
        })
    }

    /// The handovers that were begun until the run's end.
    pub fn take_handovers(&mut self, end: Instant) -> Vec<HandoverResult> {
        match self.radio() {
            Some(Radio::Several(cells)) => cells.take_handovers(end),
            Some(Radio::One(_)) | None => Vec::new(),
        }
    }

    /// A packet goes into an access. What is dropped for it goes to `dropped`.
    pub fn enter(
        &mut self,
        now: Instant,
        (access, direction): (usize, Direction),
        route: CellRoute,
        packet: P,
        dropped: &mut Vec<P>,
    ) -> Entered {
        match (&mut self.accesses[access], direction) {
            (&mut Access::Wired { down, .. }, Direction::Downlink) => {
                self.links.0[down.index()].offer(now, packet, dropped);
                Entered::Link(down)
            }
            (&mut Access::Wired { up, .. }, Direction::Uplink) => {
                self.links.0[up.index()].offer(now, packet, dropped);
                Entered::Link(up)
            }
            (Access::Cell(cell), direction) => {
                match direction {
                    Direction::Downlink => cell.send_downlink(now, route, packet),
                    Direction::Uplink => cell.send_uplink(now, route, packet),
                }
                cell.take_dropped(dropped);
                Entered::Cell
            }
            (Access::Cells(cells), direction) => {
                match direction {
                    Direction::Downlink => cells.send_downlink(now, route, packet),
                    Direction::Uplink => cells.send_uplink(now, route, packet),
                }
                cells.take_dropped(dropped);
                Entered::Cell
            }
        }
    }

    /// When anything is due next on the links.
    pub fn next_on_links(&self) -> Option<Instant> {
        self.links.0.iter().filter_map(Link::next_event).min()
    }

    /// Brings all links up to `now`.
    pub fn settle(&mut self, now: Instant, dropped: &mut Vec<P>) {
        for link in &mut self.links.0 {
            link.advance(now, dropped);
        }
    }

    /// What the bottleneck has carried, and could have carried, until `now`, to which the links are brought up.
    pub fn totals(&mut self, now: Instant, dropped: &mut Vec<P>) -> Totals {
        self.settle(now, dropped);
        let mut totals = match self.radio() {
            Some(Radio::One(cell)) => cell.totals(now),
            Some(Radio::Several(cells)) => cells.totals(now),
            None => Totals::default(),
        };
        for link in self.wired_bottlenecks() {
            totals.capacity += link.capacity_until(now);
            totals.used += link.sent_until(now);
        }
        totals
    }

    /// The wired accesses, in the direction in which data goes.
    fn wired_bottlenecks(&self) -> impl Iterator<Item = &Link<P>> {
        let of_data = |access: &Access<P>| match *access {
            Access::Wired { up, .. } if self.has_only_uploads => Some(up),
            Access::Wired { down, .. } => Some(down),
            Access::Cell(_) | Access::Cells(_) => None,
        };
        let links = self.accesses.iter().filter_map(of_data);
        links.map(|id| &self.links.0[id.index()])
    }

    /// Their part of a step of the time series.
    pub fn sample(&mut self, now: Instant, series: &mut SeriesSet) {
        let rates = self.wired_bottlenecks().map(|link| link.rate(now).as_bps());
        if let Some(rate) = rates.reduce(u64::saturating_add) {
            series.push("link", Metric::Capacity, now, rate as f64);
        }
        for queue in self.links.0.iter().filter_map(Link::meter) {
            let bytes = queue.bytes().get() as f64;
            series.push(queue.name(), Metric::QueueBytes, now, bytes);
        }
        match self.radio() {
            Some(Radio::One(cell)) => cell.sample(now, series),
            Some(Radio::Several(cells)) => cells.sample(now, series),
            None => {}
        }
    }

    /// The records of all queues.
    pub fn finish(self, end: Instant) -> Vec<QueueResult> {
        let meters = self.links.0.into_iter().filter_map(Link::into_meter);
        let mut results: Vec<_> = meters.map(|meter| meter.finish(end)).collect();
        for access in self.accesses {
            match access {
                Access::Cell(cell) => results.extend(cell.finish(end)),
                Access::Cells(cells) => results.extend(cells.finish(end)),
                Access::Wired { .. } => {}
            }
        }
        results
    }
}
