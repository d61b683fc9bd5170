//! Hosts: applications over their connections, and datagrams.

use super::apps::App;
use super::{Entity, World};
use crate::forwarding::TunnelEnd;
use crate::host::{End, Host};
use crate::http::Http;
use crate::packet::{Body, Datagram, Packet};
use crate::quic;
use crate::session::{Endpoint, ObjectSpec, Session, Side};
use crate::tcp::Segment;
use cc::Arrival;
use network::app::Begin;
use queue::Ecn;
use scenario::{AppSpec, Direction, EcnSpec, Transport};
use units::{Bytes, Duration, Instant, Packets};

/// What the timestamps of clients and servers count in that have no other.
const TICK: Duration = Duration::from_millis(1);

/// What a server with a limited rate hands over at a time: a segment, or what passes in this time.
const RELEASE_INTERVAL: Duration = Duration::from_micros(100);

/// A timestamp of that time.
pub(super) fn timestamp(at: Instant) -> u32 {
    (at.as_nanos() / TICK.as_nanos()) as u32
}

impl World {
    /// An application's time has come.
    pub(super) fn on_flow(&mut self, flow: u32) {
        self.bottleneck_starts(flow);
        match self.flows[flow as usize].app {
            App::Objects(_) | App::Video(_) | App::Page(_) => self.on_objects(flow),
            App::Datagrams { .. } => self.send_datagrams(flow),
            App::Call(_) => self.on_call(flow),
        }
    }

    fn on_objects(&mut self, flow: u32) {
        let now = self.now;
        while let Some(begin) = self.flows[flow as usize].app.begin(now) {
            match begin {
                Begin::OnNewConnection => self.open_session(flow),
                Begin::OnSameConnection => self.begin_object(flow),
            }
        }
        // a sender that limits its own rate, or has another answer ready
        if let Some(id) = self.flows[flow as usize].latest {
            self.with_session(id, |world, session| {
                if session.next_release().is_some_and(|at| at <= world.now) {
                    let side = session.sender_side();
                    world.settle_host(session, id, side);
                }
            });
        }
        self.arm_flow(flow);
    }

    pub(super) fn arm_flow(&mut self, flow: u32) {
        let state = &self.flows[flow as usize];
        let due = state.app.next_deadline();
        self.net.schedule.set_no_later(state.entity, due);
    }

    fn object_spec(&self, flow: u32) -> Option<ObjectSpec> {
        let state = &self.flows[flow as usize];
        let objects = match &state.app {
            App::Objects(objects) => objects,
            App::Video(video) => {
                let exchange = video.exchange();
                return Some(ObjectSpec {
                    request: exchange.request,
                    size: Some(exchange.answer),
                    rate: None,
                    closes_after: false,
                });
            }
            App::Page(_) | App::Datagrams { .. } | App::Call(_) => return None,
        };
        let rate = objects.rate().map(|rate| {
            let chunk = rate.bytes_in(RELEASE_INTERVAL).max(state.spec.tcp.mss);
            (rate, chunk)
        });
        let closes_after = objects.closes_after_object();
        Some(ObjectSpec {
            request: objects.request(),
            size: objects.size(),
            rate,
            closes_after,
        })
    }

    fn open_session(&mut self, flow: u32) {
        let id = u32::try_from(self.sessions.len()).expect("fewer than 2^32 sessions");
        let number = self.flows[flow as usize].sessions;
        let (client, server) = self.new_hosts(flow, number);
        let client = self.endpoint(id, Side::Client, client);
        let server = self.endpoint(id, Side::Server, server);
        let state = &mut self.flows[flow as usize];
        state.sessions += 1;
        state.latest = Some(id);
        let mut session = Session::new(flow, number, state.spec.direction, client, server);
        if matches!(state.app, App::Page(_)) {
            session = session.with_http(Http::new(state.spec.transport == Transport::Quic));
        }
        self.sessions.push(Some(Box::new(session)));
        let now = self.now;
        self.with_session(id, |_, session| session.client.connection.open(now));
        self.begin_object(flow);
    }

    /// An end of a session with its timer.
    pub(super) fn endpoint<C>(&mut self, session: u32, side: Side, connection: C) -> Endpoint<C> {
        let timer = self.add_entity(Entity::Timer { session, side });
        Endpoint { connection, timer }
    }

    /// Begins the flow's next object on its latest session.
    fn begin_object(&mut self, flow: u32) {
        let Some(id) = self.flows[flow as usize].latest else {
            return;
        };
        let object = self.object_spec(flow);
        self.with_session(id, |world, session| {
            match object {
                Some(object) => session.begin_object(world.now, object),
                None => world.request_objects(session),
            }
            world.settle_host(session, id, Side::Client);
        });
    }

    /// Takes a session out while something is done with it, then ends it or puts it back.
    pub(super) fn with_session(&mut self, id: u32, work: impl FnOnce(&mut Self, &mut Session)) {
        let Some(mut session) = self.sessions[id as usize].take() else {
            return; // the session is over: a late segment or timer
        };
        work(self, &mut session);
        if session.is_over() {
            self.end_session(id, &mut session);
        } else {
            self.sessions[id as usize] = Some(session);
        }
    }

    /// A segment arrived at one end of a session, to which it had come at `came_at`.
    pub(super) fn on_segment(
        &mut self,
        (id, side): (u32, Side),
        mut segment: Segment,
        came_at: Instant,
    ) {
        let stripped = self.cdbe.stripped;
        if stripped.is_some_and(|time| time.lasts_at(self.now.since_start())) {
            segment.report = None;
        }
        self.with_session(id, |world, session| {
            if side == Side::ProxyRan && session.relay.is_none() {
                world.intercept(session, id);
            }
            if segment.len > 0 && !world.flows[session.flow as usize].is_intercepted {
                let delay = world.now.saturating_since(segment.ts_val);
                world.flows[session.flow as usize].meter.on_segment(delay);
            }
            let before = session.received_at(side);
            if let Some((End::Tcp(connection), _)) = session.end(side) {
                connection.on_segment(world.now, &segment);
                world.count_received(session, side, before, came_at);
                world.settle(session, id, side);
            }
        });
    }

    /// A datagram arrived at one host of a QUIC session, to which it had come at `came_at`.
    pub(super) fn on_quic(
        &mut self,
        (id, side): (u32, Side),
        datagram: quic::Datagram,
        came_at: Instant,
    ) {
        self.with_session(id, |world, session| {
            let before = session.received_at(side);
            if let Some((End::Quic(connection), _)) = session.end(side) {
                connection.on_datagram(world.now, datagram);
                world.count_received(session, side, before, came_at);
                world.settle(session, id, side);
            }
        });
    }

    /// What has come to the receiver of the data, beyond what it had before.
    fn count_received(
        &mut self,
        session: &Session,
        side: Side,
        before: Option<Bytes>,
        came_at: Instant,
    ) {
        if let (Some(after), Some(before)) = (session.received_at(side), before) {
            let meter = &mut self.flows[session.flow as usize].meter;
            meter.on_received(after.saturating_sub(before), came_at);
        }
    }

    /// The timer of one end of a session fired.
    pub(super) fn on_timer(&mut self, id: u32, side: Side) {
        self.with_session(id, |world, session| {
            let now = world.now;
            if let Some((mut end, _)) = session.end(side) {
                if end.next_deadline().is_some_and(|at| at <= now) {
                    end.on_deadline(now);
                }
                world.settle(session, id, side);
            }
        });
    }

    /// After anything happened at one end: applications or the relay run, segments leave, the timer
    /// is set.
    fn settle(&mut self, session: &mut Session, id: u32, side: Side) {
        match side {
            Side::Client | Side::Server => self.settle_host(session, id, side),
            Side::ProxyRan | Side::ProxyWan => self.settle_proxy(session, id),
        }
    }

    fn settle_host(&mut self, session: &mut Session, id: u32, side: Side) {
        let now = self.now;
        if side != session.sender_side() {
            self.read_data(session);
        }
        session.run_application(now, side);
        if side == session.sender_side()
            && let Some(at) = session.next_release()
        {
            let entity = self.flows[session.flow as usize].entity;
            self.net.schedule.set_no_later(entity, Some(at.max(now)));
        }
        self.transmit(session, id, side);
        self.take_rtt_samples(session, side);
    }

    /// The receiver's application reads, and the object may be whole.
    fn read_data(&mut self, session: &mut Session) {
        let now = self.now;
        let flow = session.flow;
        while let Some((bytes, origin)) = session.read_data(now) {
            self.flows[flow as usize]
                .meter
                .on_delivered(bytes, now.saturating_since(origin));
        }
        self.read_page(session);
        if session.take_object_done() {
            self.on_object_done(flow, now.saturating_since(session.object_began()));
        }
    }

    fn on_object_done(&mut self, flow: u32, load_time: Duration) {
        let state = &mut self.flows[flow as usize];
        let objects = match &mut state.app {
            App::Objects(objects) => objects,
            App::Video(video) => {
                video.on_object_done(self.now);
                return self.arm_flow(flow);
            }
            App::Page(_) | App::Datagrams { .. } | App::Call(_) => return,
        };
        if matches!(state.spec.app, AppSpec::Web { .. } | AppSpec::Short { .. }) {
            state.meter.on_load_time(load_time);
        }
        objects.on_object_done();
        if objects.is_complete() {
            let is_whole = !state.has_failed;
            self.end_flow(flow, is_whole);
        } else {
            self.arm_flow(flow);
        }
    }

    /// Nothing more will come of a flow.
    pub(super) fn end_flow(&mut self, flow: u32, is_whole: bool) {
        let meter = &mut self.flows[flow as usize].meter;
        if meter.has_ended() {
            return;
        }
        if is_whole {
            meter.complete(self.now);
        } else {
            meter.end(self.now);
        }
        self.running -= 1;
        self.bottleneck_ends();
    }

    /// Sends what a connection has to send, and sets its timer.
    pub(super) fn transmit(&mut self, session: &mut Session, id: u32, side: Side) {
        let (now, flow) = (self.now, session.flow);
        let Some((mut end, timer)) = session.end(side) else {
            return;
        };
        while let Some(body) = end.poll_transmit(now, id) {
            let packet = Packet::new(flow, body);
            match side {
                Side::Client => self.send_from_ue(packet),
                Side::Server => self.net.send_from_server(now, packet),
                Side::ProxyRan => self.net.send_from_edge_down(now, packet),
                Side::ProxyWan => self.net.send_from_edge_up(now, packet),
            }
        }
        self.net.schedule.set_no_later(timer, end.next_deadline());
    }

    /// Round-trip times of the data: measured by its sender or, through a proxy, from its origin to
    /// the acknowledgement's arrival at the proxy, and the way from there to the sender.
    pub(super) fn take_rtt_samples(&mut self, session: &mut Session, side: Side) {
        let (is_relayed, is_of_data) = (session.relay.is_some(), side == session.rtt_side());
        let state = &mut self.flows[session.flow as usize];
        let sample = session
            .end(side)
            .and_then(|(mut end, _)| end.take_rtt_sample());
        let Some(sample) = sample else {
            return;
        };
        if let (Side::ProxyRan, Some(relay)) = (side, session.relay.as_mut()) {
            relay.ran_rtt = Some(sample.rtt);
        }
        if is_of_data {
            let rtt = if is_relayed {
                self.now.saturating_since(sample.origin) + state.return_delay
            } else {
                sample.rtt
            };
            state.meter.on_rtt(rtt);
        }
    }

    fn end_session(&mut self, id: u32, session: &mut Session) {
        self.count_retransmits(session);
        for timer in [session.client.timer, session.server.timer] {
            self.net.schedule.set(timer, None);
        }
        if session.relay.is_some() {
            self.end_relay(id, session);
        }
        if session.is_unfinished() {
            self.flows[session.flow as usize].has_failed = true;
            self.on_object_failed(session.flow);
        }
    }

    /// A connection broke before its object was whole.
    fn on_object_failed(&mut self, flow: u32) {
        let now = self.now;
        let is_over = match &mut self.flows[flow as usize].app {
            App::Objects(objects) => {
                objects.on_object_done();
                objects.is_complete() || objects.needs_broken_connection()
            }
            App::Video(video) => {
                video.on_connection_lost(now);
                false
            }
            App::Page(page) => {
                page.on_connection_lost(now);
                page.is_complete()
            }
            App::Datagrams { .. } | App::Call(_) => return,
        };
        if is_over {
            self.end_flow(flow, false);
        } else if !matches!(self.flows[flow as usize].app, App::Objects(_)) {
            self.arm_flow(flow);
        }
    }

    /// Adds what the data's senders of a session sent again.
    pub(super) fn count_retransmits(&mut self, session: &Session) {
        let relayed = session.relay.as_ref().map_or(Packets::ZERO, |relay| {
            let side = match self.flows[session.flow as usize].spec.direction {
                Direction::Down => &relay.ran,
                Direction::Up => &relay.wan,
            };
            side.connection.stats().retransmits
        });
        let sender = match session.sender_side() {
            Side::Client => &session.client,
            _ => &session.server,
        };
        let retransmits = sender.connection.stats().retransmits + relayed;
        self.flows[session.flow as usize]
            .meter
            .add_retransmits(retransmits.get());
    }

    fn send_datagrams(&mut self, flow: u32) {
        while let Some((direction, packet)) = self.next_datagram(flow) {
            self.send_towards(direction, packet);
        }
        self.arm_flow(flow);
    }

    /// A host sends a packet of a UDP application.
    pub(super) fn send_towards(&mut self, direction: Direction, packet: Packet) {
        match direction {
            Direction::Down => self.net.send_from_server(self.now, packet),
            Direction::Up => self.send_from_ue(packet),
        }
    }

    fn next_datagram(&mut self, flow: u32) -> Option<(Direction, Packet)> {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        let App::Datagrams { source, sent, .. } = &mut state.app else {
            return None;
        };
        let number = source.send(now)?;
        *sent += 1;
        let datagram = Datagram {
            number,
            sent_at: now,
            payload: source.payload(),
            ecn: match state.spec.ecn {
                EcnSpec::Off => Ecn::NotEct,
                EcnSpec::Classic => Ecn::Ect0,
                EcnSpec::L4s => Ecn::Ect1,
            },
        };
        let packet = Packet::new(flow, Body::Datagram(datagram));
        Some((state.spec.direction, packet))
    }

    /// A UE sends a packet: into its tunnel, if it has one.
    fn send_from_ue(&mut self, packet: Packet) {
        if self.tunnels.is_empty() {
            return self.net.send_from_ue(self.now, packet);
        }
        self.net.count_sent();
        self.enter_tunnel(TunnelEnd::Ue, packet);
    }

    /// A datagram arrived at its receiver, to which it had come at `came_at`.
    pub(super) fn on_datagram(&mut self, flow: u32, datagram: Datagram, came_at: Instant) {
        let owd = self.now.saturating_since(datagram.sent_at);
        let state = &mut self.flows[flow as usize];
        state
            .meter
            .on_datagram(datagram.number, datagram.payload, owd, came_at);
        if let Some(reporter) = &mut state.reporter {
            reporter.on_data(&Arrival {
                now: self.now,
                bytes: datagram.payload,
                timestamp: Some(timestamp(datagram.sent_at)),
                rtt: Some(self.cdbe.udp_rtt),
            });
        }
        if let App::Datagrams { arrived, .. } = &mut state.app {
            *arrived += 1;
        }
        self.check_datagrams(flow);
    }

    /// Ends a flow of datagrams once every one that was sent has arrived or is known lost.
    pub(super) fn check_datagrams(&mut self, flow: u32) {
        let lost = self.net.lost(flow);
        if let App::Datagrams {
            source,
            arrived,
            sent,
        } = &self.flows[flow as usize].app
            && source.has_stopped()
            && *arrived + lost == *sent
        {
            self.end_flow(flow, lost == 0);
        }
    }

    /// What the time series show of the data's sender.
    pub(super) fn sender_of(&self, flow: u32) -> Option<&Host> {
        let id = self.flows[flow as usize].latest?;
        let session = self.sessions[id as usize].as_ref()?;
        Some(match session.sender_side() {
            Side::Client => &session.client.connection,
            _ => &session.server.connection,
        })
    }
}
