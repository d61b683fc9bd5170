//! All flows of a run: what their packets show as they pass, and what their applications report.

use super::connection::Connection;
use crate::packet::{Packet, TCP, TcpSegment, UDP, udp_payload};
use crate::traffic::EndStates;
use crate::traffic::Stamp;
use network::measure::{FlowMeter, FlowStep, QueueMeter, SenderStep, SeriesSet};
use scenario::{Direction, Experiment, FlowResult, PepMode, QueueResult, Transport};
use std::collections::BTreeMap;
use units::{Bytes, Duration, Instant};

/// Where a packet is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    /// It leaves a server.
    ServerOut,
    /// It comes to the edge from a server.
    EdgeFromServer,
    /// It leaves the edge towards a UE.
    EdgeToUe,
    /// It comes to a UE.
    UeIn,
    /// It leaves a UE.
    UeOut,
    /// It comes to the edge from a UE.
    EdgeFromUe,
    /// It leaves the edge towards a server.
    EdgeToServer,
    /// It comes to a server.
    ServerIn,
}

/// What a packet means for a flow, by the direction of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Data leaves its sender.
    Sent,
    /// Data comes to the edge.
    AtEdge,
    /// Data leaves the edge.
    Forwarded,
    /// Data arrives.
    Arrived,
    /// An acknowledgement comes to the edge.
    AckAtEdge,
    /// An acknowledgement comes to the data's sender.
    AckArrived,
    /// Nothing.
    None,
}

impl Hop {
    fn role(self, direction: Direction) -> Role {
        match (direction, self) {
            (Direction::Down, Self::ServerOut) | (Direction::Up, Self::UeOut) => Role::Sent,
            (Direction::Down, Self::EdgeFromServer) | (Direction::Up, Self::EdgeFromUe) => {
                Role::AtEdge
            }
            (Direction::Down, Self::EdgeToUe) | (Direction::Up, Self::EdgeToServer) => {
                Role::Forwarded
            }
            (Direction::Down, Self::UeIn) | (Direction::Up, Self::ServerIn) => Role::Arrived,
            (Direction::Down, Self::EdgeFromUe) | (Direction::Up, Self::EdgeFromServer) => {
                Role::AckAtEdge
            }
            (Direction::Down, Self::ServerIn) | (Direction::Up, Self::UeIn) => Role::AckArrived,
            _ => Role::None,
        }
    }
}

/// What an application reports.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// It begins.
    Started,
    /// A page or transfer arrived whole, after so long.
    Loaded(Duration),
    /// Nothing more will come; true if all was delivered.
    Ended(bool),
    /// A connection ended, of which so many segments were sent again.
    Retransmits(u64),
    /// So much arrived, where packets do not show it (QUIC).
    Delivered(Bytes),
    /// A round trip, where packets do not show it (QUIC).
    Rtt(Duration),
    /// What the data's sender reckons with, where the kernel does not have it (QUIC).
    Sender {
        /// Its window.
        cwnd: Bytes,
        /// What it has in flight.
        in_flight: Bytes,
    },
    /// No datagram follows after so many.
    LastDatagram(u64),
}

/// A flow.
#[derive(Debug)]
struct Flow {
    name: String,
    cc: String,
    direction: Direction,
    has_proxy: bool,
    /// Its datagrams carry when they were sent.
    has_stamps: bool,
    /// From the proxy back to the sending host, without queues.
    return_delay: Duration,
    meter: FlowMeter,
    /// Connections by the UE's port.
    connections: BTreeMap<u16, (u32, Connection)>,
    proxy_queue: Option<QueueMeter>,
    /// Packets that the network dropped.
    lost: u64,
    arrived_datagrams: u64,
    last_datagram: Option<u64>,
    /// What the data's sender reckons with, if it has reported that.
    sender: Option<SenderStep>,
}

/// All flows.
#[derive(Debug)]
pub(crate) struct Flows {
    flows: Vec<Flow>,
    running: usize,
}

impl Flows {
    /// The flows of an experiment, on a path and an access of these delays.
    pub(crate) fn new(experiment: &Experiment, path_delay: Duration, access_rtt: Duration) -> Self {
        let flow = |spec: &scenario::FlowSpec| {
            let start = Instant::ZERO + spec.start;
            let is_tcp = spec.transport == Transport::Tcp;
            let is_udp = spec.transport == Transport::Udp;
            let has_proxy = is_tcp && spec.intercepted && experiment.pep.mode != PepMode::None;
            Flow {
                name: spec.name.clone(),
                cc: if is_udp {
                    "udp".to_owned()
                } else {
                    spec.cc.name.clone()
                },
                has_stamps: is_udp,
                direction: spec.direction,
                has_proxy,
                return_delay: match spec.direction {
                    Direction::Down => path_delay,
                    Direction::Up => access_rtt / 2,
                },
                meter: FlowMeter::new(start),
                connections: BTreeMap::new(),
                proxy_queue: has_proxy
                    .then(|| QueueMeter::new(format!("pep/{}", spec.name), start)),
                lost: 0,
                arrived_datagrams: 0,
                last_datagram: None,
                sender: None,
            }
        };
        Self {
            flows: experiment.flows.iter().map(flow).collect(),
            running: experiment.flows.len(),
        }
    }

    /// Flows that have not ended.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// A packet passes.
    pub(crate) fn observe(&mut self, now: Instant, hop: Hop, packet: &Packet) {
        let address = packet.address;
        let Some(flow) = address.flow.and_then(|flow| self.flows.get_mut(flow)) else {
            return;
        };
        let role = hop.role(flow.direction);
        match packet.data.get(9) {
            Some(&TCP) => flow.on_segment(now, hop, role, packet),
            Some(&UDP) if role == Role::Arrived && flow.has_stamps => {
                flow.on_datagram(now, packet);
                self.check_datagrams(now, address.flow);
            }
            // QUIC: what is in its packets only its ends can read
            Some(&UDP) if role == Role::Arrived => {
                let payload = udp_payload(&packet.data).map_or(0, <[u8]>::len);
                let bytes = Bytes::new(payload as u64);
                flow.meter.on_received(bytes, came_at(now, packet));
            }
            _ => {}
        }
    }

    /// The network dropped a packet.
    pub(crate) fn lost(&mut self, now: Instant, packet: &Packet) {
        if let Some(flow) = packet
            .address
            .flow
            .and_then(|flow| self.flows.get_mut(flow))
        {
            flow.lost += 1;
            self.check_datagrams(now, packet.address.flow);
        }
    }

    /// An application reports. True if the flow has ended just now.
    pub(crate) fn on_event(&mut self, now: Instant, index: usize, event: Event) -> bool {
        let before = self.running;
        let Some(flow) = self.flows.get_mut(index) else {
            return false;
        };
        match event {
            Event::Started => {}
            Event::Loaded(time) => flow.meter.on_load_time(time),
            Event::Retransmits(segments) => flow.meter.add_retransmits(segments),
            Event::Ended(is_whole) => self.end(now, index, is_whole),
            Event::Delivered(bytes) => flow.meter.on_payload(bytes),
            Event::Rtt(rtt) => flow.meter.on_rtt(rtt),
            Event::Sender { cwnd, in_flight } => {
                flow.sender = Some(SenderStep {
                    bytes_in_flight: in_flight,
                    cwnd,
                    peer_window: None,
                });
            }
            Event::LastDatagram(sent) => {
                flow.last_datagram = Some(sent);
                self.check_datagrams(now, Some(index));
            }
        }
        self.running < before
    }

    fn end(&mut self, now: Instant, index: usize, is_whole: bool) {
        let meter = &mut self.flows[index].meter;
        if meter.has_ended() {
            return;
        }
        if is_whole {
            meter.complete(now);
        } else {
            meter.end(now);
        }
        self.running -= 1;
    }

    /// A flow of datagrams ends once every one has arrived or is known lost.
    fn check_datagrams(&mut self, now: Instant, index: Option<usize>) {
        let Some((index, flow)) = index.and_then(|i| Some((i, self.flows.get(i)?))) else {
            return;
        };
        if flow.last_datagram == Some(flow.arrived_datagrams + flow.lost) {
            let is_whole = flow.lost == 0;
            self.end(now, index, is_whole);
        }
    }

    /// A step of the time series, with what is known of the flow's ends.
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        interval: Duration,
        index: usize,
        known: &EndStates,
        series: &mut SeriesSet,
    ) {
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        let step = known.step();
        let step = FlowStep {
            sender: step.sender.or(flow.sender),
            ..step
        };
        step.push(now, interval, (&flow.name, &mut flow.meter), series);
        if let Some(losses) = &known.losses {
            losses.record(now, &flow.name, series);
        }
        if let Some(queue) = &flow.proxy_queue {
            queue.push(now, series);
        }
    }

    /// How many flows there are.
    pub(crate) fn count(&self) -> usize {
        self.flows.len()
    }

    /// The results of all flows, and of the proxy's queues.
    pub(crate) fn finish(self, end: Instant) -> (Vec<FlowResult>, Vec<QueueResult>) {
        let (mut results, mut queues) = (Vec::new(), Vec::new());
        for flow in self.flows {
            queues.extend(flow.proxy_queue.map(|queue| queue.finish(end)));
            results.push(flow.meter.finish(flow.name, flow.cc, end, flow.lost));
        }
        (results, queues)
    }
}

impl Flow {
    fn on_segment(&mut self, now: Instant, hop: Hop, role: Role, packet: &Packet) {
        let ue_port = packet.address.ue_port;
        let Some(segment) = TcpSegment::read(&packet.data) else {
            return;
        };
        if hop == Hop::UeOut && segment.is_syn() && !segment.has_ack() {
            self.open(ue_port, segment.seq);
        }
        let Some((_, connection)) = self.connections.get_mut(&ue_port) else {
            return;
        };
        match role {
            Role::Sent => connection.on_sent(now, &segment, self.has_proxy),
            Role::AtEdge if self.has_proxy => connection.on_edge(now, &segment),
            Role::Forwarded if self.has_proxy => {
                let done = connection.on_forwarded(now, &segment);
                self.meter.add_retransmits(done.resent);
                if let (Some(queue), Some(wait)) = (&mut self.proxy_queue, done.wait) {
                    queue.left(wait);
                }
            }
            Role::Arrived => {
                let meter = &mut self.meter;
                let received = connection.on_arrived(&segment, |delivery| {
                    let owd = now.saturating_since(delivery.left_at);
                    meter.on_delivered(delivery.bytes, owd);
                });
                meter.on_received(received, came_at(now, packet));
            }
            Role::AckAtEdge if self.has_proxy => {
                if let Some(rtt) = connection.on_ack(now, &segment) {
                    self.meter.on_rtt(rtt + self.return_delay);
                }
            }
            Role::AckArrived if !self.has_proxy => {
                if let Some(rtt) = connection.on_ack(now, &segment) {
                    self.meter.on_rtt(rtt);
                }
            }
            _ => {}
        }
        if self.has_proxy && matches!(role, Role::AtEdge | Role::Forwarded) {
            self.record_proxy(now);
        }
    }

    /// A UE opens a connection; its SYN may come again.
    fn open(&mut self, ue_port: u16, number: u32) {
        let known = self.connections.get(&ue_port);
        if known.is_none_or(|(syn, _)| *syn != number) {
            let connection = Connection::default();
            self.connections.insert(ue_port, (number, connection));
        }
    }

    fn record_proxy(&mut self, now: Instant) {
        let waiting: Bytes = self.connections.values().map(|(_, c)| c.waiting()).sum();
        if let Some(queue) = &mut self.proxy_queue {
            queue.set(now, waiting);
        }
    }

    fn on_datagram(&mut self, now: Instant, packet: &Packet) {
        let Some(payload) = udp_payload(&packet.data) else {
            return;
        };
        if let Some(stamp) = Stamp::read(payload) {
            self.arrived_datagrams += 1;
            let owd = now.saturating_since(stamp.sent_at);
            let bytes = Bytes::new(payload.len() as u64);
            let number = u64::from(stamp.number);
            self.meter
                .on_datagram(number, bytes, owd, came_at(now, packet));
        }
    }
}

/// When a packet that is handed over now had come, whole.
fn came_at(now: Instant, packet: &Packet) -> Instant {
    now - packet.held
}
