//! The world of one run: the network, the hosts, the proxy, and the loop that moves time on.
//!
//! The loop takes the earliest entity of the [`crate::schedule::Schedule`], passes it the time, and
//! moves what comes of it. What an entity hands on without delay is carried on at once; everything
//! else goes through the schedule.

mod apps;
mod build;
mod calls;
mod connections;
mod hosts;
mod meld;
mod proxy;
mod sampling;
mod tunnel;

use crate::control::{Control, ServerReports};
use crate::custom::Registry;
use crate::forwarding::{Network, Place, TunnelEnd};
use crate::held::Left;
use crate::packet::{Body, Packet};
use crate::pool::Handle;
use crate::schedule::EntityId;
use crate::session::{Session, Side};
use apps::App;
use cc::RateReporter;
use edge::marker::{self, Codepoint, Fate};
use edge::recording::Record;
use meld::Recorder;
use network::measure::{Bottleneck, FlowMeter, QueueMeter, SeriesSet};
use network::{LinkId, ue_address};
use queue::{Ecn, Packet as _};
use rnis::Rnti;
use scenario::{
    ApplicationResult, CdbeSpec, FlowResult, FlowSpec, Observer, PepMode, PepSpec, RunResult,
};
use std::collections::BTreeMap;
use tunnel::UeTunnel;
use units::{Duration, Instant, Streams};

pub(crate) use build::build;

/// What an entry of the schedule belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entity {
    /// A radio report is made.
    Report,
    /// A radio report reaches the proxy.
    ReportArrival,
    /// A radio report for the servers is made.
    ServerReport,
    /// A radio report reaches the servers.
    ServerReportArrival,
    /// A deadline of what decides for the proxy.
    Edge,
    /// What waits at the edge may go on.
    Held,
    /// The cell.
    Cell,
    /// A link.
    Link(LinkId),
    /// A flow's application.
    Flow(u32),
    /// A step of the time series.
    Sample,
    /// The timer of one end of a session.
    Timer { session: u32, side: Side },
    /// The timer of one end of a UE's tunnel.
    TunnelTimer { ue: usize, end: TunnelEnd },
    /// The timer of one end of the connection that carries a path of a tunnel.
    StreamTimer { ue: usize, end: TunnelEnd, path: u8 },
    /// The next event of a path of a UE's tunnel.
    TunnelEvent { ue: usize },
}

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    spec: FlowSpec,
    app: App,
    meter: FlowMeter,
    /// Its own random streams.
    streams: Streams,
    /// What MELD decides of its losses.
    decisions: Recorder,
    /// What the client of a UDP flow measures.
    reporter: Option<Box<dyn RateReporter>>,
    entity: EntityId,
    /// Its UE's identity in radio reports.
    rnti: Rnti,
    /// True if the proxy takes its connections.
    is_intercepted: bool,
    /// From the proxy back to the sending host, without queues.
    return_delay: Duration,
    /// What waits in the proxy.
    proxy_queue: Option<QueueMeter>,
    /// Sessions opened.
    sessions: u32,
    /// The session opened last.
    latest: Option<u32>,
    /// True once its application has begun.
    has_started: bool,
    /// True if a session ended before its object was whole.
    has_failed: bool,
}

/// Everything in a run.
pub(crate) struct World {
    now: Instant,
    end: Instant,
    seed: u64,
    sample_interval: Duration,
    net: Network,
    entities: Vec<Entity>,
    flows: Vec<Flow>,
    sessions: Vec<Option<Box<Session>>>,
    pep: PepSpec,
    mechanisms: Registry,
    cdbe: CdbeSpec,
    control: Option<Control>,
    /// The tunnel of each UE, if there is one.
    tunnels: Vec<UeTunnel>,
    /// Radio reports to the servers.
    server_reports: Option<ServerReports>,
    /// What MELD takes for a fresh report.
    meld_max_age: Duration,
    bottleneck: Bottleneck,
    series: SeriesSet,
    /// Flows that have not ended.
    running: usize,
    events: u64,
}

impl World {
    /// Handles so many events at most; true if that was the end.
    pub(crate) fn advance(&mut self, events: u64) -> bool {
        for _ in 0..events {
            if self.running == 0 {
                break;
            }
            match self.net.schedule.first() {
                Some((at, entity)) if at <= self.end => {
                    self.now = at;
                    self.events += 1;
                    self.dispatch(entity);
                }
                _ => {
                    self.now = self.end;
                    self.running = 0;
                }
            }
        }
        if self.running == 0 {
            self.net.settle(self.now);
        }
        self.running == 0
    }

    /// Records all that goes into the proxy's decisions and comes out, if there is such a proxy.
    pub(crate) fn record(&mut self, sink: Box<dyn Record>) -> bool {
        let now = self.now;
        let Some(control) = self.control.as_mut().filter(|control| control.has_flows) else {
            return false;
        };
        control.edge.record(now, &BTreeMap::new(), sink);
        true
    }

    /// Passes all samples to an observer.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        self.series.observe(Some(observer));
    }

    /// The network, for its counts.
    pub(crate) fn network(&self) -> &Network {
        &self.net
    }

    fn dispatch(&mut self, id: EntityId) {
        match self.entities[id.0 as usize] {
            Entity::Link(link) => {
                while let Some((place, handle)) = self.net.poll_link(self.now, link) {
                    self.arrive(place, handle);
                }
            }
            Entity::Cell => {
                self.net.run_cell(self.now);
                while let Some((place, handle)) = self.net.poll_cell() {
                    self.arrive(place, handle);
                }
            }
            Entity::Timer { session, side } => {
                self.net.schedule.set(id, None);
                self.on_timer(session, side);
            }
            Entity::TunnelTimer { ue, end } => {
                self.net.schedule.set(id, None);
                self.on_tunnel_timer(ue, end);
            }
            Entity::StreamTimer { ue, end, path } => {
                self.net.schedule.set(id, None);
                self.on_stream_timer(ue, end, usize::from(path));
            }
            Entity::TunnelEvent { ue } => self.on_tunnel_event(ue, id),
            Entity::Flow(flow) => {
                self.net.schedule.set(id, None);
                self.on_flow(flow);
            }
            Entity::Report => self.make_report(id),
            Entity::ReportArrival => self.on_report_arrival(id),
            Entity::ServerReport => self.make_server_report(),
            Entity::ServerReportArrival => self.on_server_report_arrival(),
            Entity::Edge => {
                self.net.schedule.set(id, None);
                self.on_edge_deadline();
            }
            Entity::Held => {
                self.net.schedule.set(id, None);
                self.release_held(Left::default());
            }
            Entity::Sample => self.sample(id),
        }
    }

    /// A packet came out of the network.
    fn arrive(&mut self, place: Place, handle: Handle) {
        let side = match place {
            Place::Ue => Side::Client,
            Place::Server => Side::Server,
            Place::Tunnel(end) => {
                let packet = self.net.receive(handle);
                return self.on_tunnel_packet(end, packet);
            }
            Place::EdgeDown if !self.tunnels.is_empty() => return self.enter_at_edge(handle),
            Place::EdgeDown | Place::EdgeUp => {
                let is_taken = self.pep.mode != PepMode::None && self.is_intercepted(handle);
                match (place, is_taken) {
                    (Place::EdgeDown, false) => return self.pass_down(handle),
                    (_, false) => return self.net.enter_path(self.now, handle),
                    (Place::EdgeDown, true) => Side::ProxyWan,
                    (_, true) => Side::ProxyRan,
                }
            }
        };
        let packet = self.net.receive(handle);
        self.hand_over(side, packet);
    }

    /// True of a packet that the proxy takes.
    fn is_intercepted(&self, handle: Handle) -> bool {
        let packet = self.net.peek(handle);
        matches!(packet.body, Body::Segment { .. })
            && self.flows[packet.flow as usize].is_intercepted
    }

    /// A packet that is not split passes the edge on its way to its UE.
    fn pass_down(&mut self, mut handle: Handle) {
        if let Some(control) = &mut self.control {
            let flow = self.net.flow_of(handle);
            let address = ue_address(self.flows[flow as usize].spec.ue).into();
            if let Some(holder) = &mut control.holder {
                let mut left = Left::default();
                holder.enqueue(self.now, address, handle, &mut left);
                return self.release_held(left);
            }
            let packet = marker::Packet {
                flow: handle.flow() as u32,
                bytes: handle.wire_bytes().get() as u32,
                segments: 1,
                codepoint: match handle.ecn() {
                    Ecn::NotEct => Codepoint::NotEct,
                    Ecn::Ect1 => Codepoint::Ect1,
                    Ecn::Ect0 => Codepoint::Ect0,
                    Ecn::Ce => Codepoint::Ce,
                },
            };
            match control.judge(self.now, address, packet) {
                Fate::Forward => {}
                Fate::Mark => handle.mark(),
                Fate::Drop => return self.net.drop_at_edge(handle),
            }
        }
        self.net.enter_access(self.now, handle);
    }

    /// What waits at the edge and may go on does, behind what has left already.
    fn release_held(&mut self, mut left: Left) {
        let Some(control) = &mut self.control else {
            return;
        };
        let Some(holder) = &mut control.holder else {
            return;
        };
        let next = holder.release(self.now, &mut left);
        self.net.schedule.set(control.held_entity, next);
        for handle in left.passed {
            self.net.enter_access(self.now, handle);
        }
        for handle in left.dropped {
            self.net.drop_at_edge(handle);
        }
    }

    /// A packet reaches a host or the proxy.
    fn hand_over(&mut self, side: Side, packet: Packet) {
        let Packet { flow, body, held } = packet;
        let came_at = self.now - held;
        match body {
            Body::Segment { session, segment } => {
                self.on_segment((session, side), segment, came_at);
            }
            Body::Quic { session, datagram } => self.on_quic((session, side), datagram, came_at),
            Body::Datagram(datagram) => self.on_datagram(flow, datagram, came_at),
            Body::Media(media) => self.on_media(flow, &media, came_at),
            Body::MediaFeedback(feedback) => self.on_media_feedback(flow, &feedback),
            // a tunnel's own packets come out at its ends only
            Body::Dccp(_) | Body::Stream { .. } => {}
        }
    }

    /// A new entity.
    fn add_entity(&mut self, entity: Entity) -> EntityId {
        self.entities.push(entity);
        self.net.schedule.add_entity()
    }

    /// Ends measuring.
    pub(crate) fn finish(mut self) -> RunResult {
        let end = self.now;
        let totals = self.totals(end);
        self.bottleneck.stop(end, totals);
        for index in 0..self.sessions.len() {
            if let Some(session) = self.sessions[index].take() {
                self.count_retransmits(&session);
            }
        }
        let link = self.bottleneck.result();
        let (hops, events) = (self.net.hops(), self.events);
        let lost: Vec<u64> = (0..self.flows.len())
            .map(|f| self.net.lost(f as u32))
            .collect();
        let (tunnel, of_tunnel) = self.take_tunnel_results();
        let handovers = self.net.take_handovers(end);
        let mut queues = self.net.finish(end);
        queues.extend(of_tunnel);
        let mut flows = Vec::with_capacity(self.flows.len());
        for (mut flow, lost) in self.flows.into_iter().zip(lost) {
            queues.extend(flow.proxy_queue.map(|queue| queue.finish(end)));
            let cc = match &flow.app {
                App::Datagrams { .. } => "udp".to_owned(),
                App::Call(call) => call.controller().to_owned(),
                _ => flow.spec.cc.name,
            };
            let application = flow.app.result(end);
            let measured = flow.meter.finish(flow.spec.name, cc, end, lost);
            let load_time = match &application {
                Some(ApplicationResult::Page(page)) => page.load_time.clone(),
                _ => measured.load_time.clone(),
            };
            flows.push(FlowResult {
                loss_decisions: flow.decisions.take(),
                load_time,
                application,
                ..measured
            });
        }
        RunResult {
            seed: self.seed,
            unit: None,
            elapsed: end.since_start(),
            flows,
            queues,
            link,
            series: self.series.finish(),
            events,
            packet_hops: hops,
            wall: core::time::Duration::ZERO,
            real_time: None,
            tunnel,
            handovers,
            unsplit: self
                .control
                .and_then(|control| control.marker)
                .map(|marker| *marker.counts()),
        }
    }
}
