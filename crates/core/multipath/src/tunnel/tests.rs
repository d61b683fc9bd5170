//! Both ends of a tunnel over two wires.

mod carrying;
mod connection;
mod latency;
mod losing;
mod marking;
mod mtu;
mod parity;

use super::*;
use crate::auth::PreSharedKey;
use crate::packet::{Kind, PathPriority};
use crate::scheduler;
use units::Packets;

/// A payload: its number, its length and its codepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Data {
    number: u64,
    bytes: usize,
    ecn: Ecn,
}

impl Payload for Data {
    fn len(&self) -> usize {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn label(&self) -> FlowLabel {
        match self.bytes {
            300 => FlowLabel {
                dscp: 0,
                flow: Some(1),
                is_udp: true,
            },
            _ => FlowLabel::default(),
        }
    }
    /// Of packets of 300 bytes.
    fn parity(of: &[Self]) -> Option<Self> {
        Some(Self {
            number: of.iter().fold(0, |sum, data| sum ^ data.number),
            bytes: 302,
            ecn: Ecn::NotEct,
        })
    }
    fn rebuilt(&self, others: &[Self]) -> Option<Self> {
        let number = others
            .iter()
            .fold(self.number, |sum, data| sum ^ data.number);
        Some(Self {
            number,
            bytes: 300,
            ecn: Ecn::NotEct,
        })
    }
    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// A wire of one path and direction: a rate, a delay, and what it loses.
struct Wire {
    delay: Duration,
    per_packet: Duration,
    free_at: Instant,
    in_transit: VecDeque<(Instant, Transmit<Data>)>,
    is_cut: bool,
    sent: u64,
    /// Every so many packets one is lost; 0: none.
    loses: u64,
    /// What would wait so long for the wire is marked if it is ECN-capable.
    marks_beyond: Option<Duration>,
    /// A node that drops whatever is ECN-capable.
    drops_ect: bool,
    /// Packets of data that it has marked.
    marked: u64,
    /// The longest wait for the wire, and the last outer field of data.
    longest_wait: Duration,
    last_ecn: Option<Ecn>,
    /// Larger datagrams vanish in it.
    carries: u64,
}

impl Wire {
    fn offer(&mut self, now: Instant, mut transmit: Transmit<Data>) {
        self.sent += 1;
        let wait = self.free_at.saturating_since(now);
        if transmit.payload.is_some() {
            self.last_ecn = Some(transmit.ecn);
            self.longest_wait = self.longest_wait.max(wait);
        }
        if self.drops_ect && transmit.ecn != Ecn::NotEct {
            return;
        }
        if self.marks_beyond.is_some_and(|most| wait > most) && transmit.ecn != Ecn::NotEct {
            transmit.ecn = Ecn::Ce;
            self.marked += 1;
        }
        let is_lost = self.loses > 0 && self.sent.is_multiple_of(self.loses)
            || self.carries < u64::MAX && mtu::datagram(&transmit) > self.carries;
        if self.is_cut || is_lost || self.in_transit.len() >= 500 {
            return;
        }
        self.free_at = self.free_at.max(now) + self.per_packet;
        self.in_transit
            .push_back((self.free_at + self.delay, transmit));
    }

    fn take(&mut self, now: Instant) -> Option<Transmit<Data>> {
        match self.in_transit.front() {
            Some((at, _)) if *at <= now => self.in_transit.pop_front().map(|(_, packet)| packet),
            _ => None,
        }
    }
}

/// A client and a server, and two paths of 50 Mbit/s between them.
struct Pair {
    now: Instant,
    client: Tunnel<Data>,
    server: Option<Tunnel<Data>>,
    up: Vec<Wire>,
    down: Vec<Wire>,
    delivered: Vec<Data>,
    path: PathConfig,
    /// The server's paths, if they differ.
    server_path: Option<PathConfig>,
    config: TunnelConfig,
    scheduler: &'static str,
    shared: Vec<PreSharedKey>,
    events: Vec<Event>,
    next: u64,
    /// Length of the server's packets; none: what it states that all paths take.
    bytes: Option<usize>,
    too_big: Vec<Data>,
    /// The field of what is always waiting.
    backlog_ecn: Ecn,
}

impl Pair {
    fn new(scheduler: &'static str, mut config: TunnelConfig, path: PathConfig) -> Self {
        let wire = |ms| Wire {
            delay: Duration::from_millis(ms),
            per_packet: Duration::from_micros(240),
            free_at: Instant::ZERO,
            in_transit: VecDeque::new(),
            is_cut: false,
            sent: 0,
            loses: 0,
            marks_beyond: None,
            drops_ect: false,
            marked: 0,
            longest_wait: Duration::ZERO,
            last_ecn: None,
            carries: u64::MAX,
        };
        let build = || scheduler::build(scheduler).expect("known");
        // what always waits answers no signal of a queue
        config.scheduler_queue = BufferQueue::DropTail;
        Self {
            now: Instant::ZERO,
            client: Tunnel::client(config.clone(), build(), None, 1),
            server: None,
            up: vec![wire(10), wire(20)],
            down: vec![wire(10), wire(20)],
            delivered: Vec::new(),
            path,
            server_path: None,
            config,
            scheduler,
            shared: Vec::new(),
            events: Vec::new(),
            next: 0,
            bytes: Some(1_400),
            too_big: Vec::new(),
            backlog_ecn: Ecn::NotEct,
        }
    }

    fn open(&mut self, index: u8) {
        let path = PathConfig {
            address: AddressId(index),
            priority: PathPriority::from_bits(4 - index),
            ..self.path.clone()
        };
        let ports = (1_000 + u16::from(index), 6_511);
        self.client.open_path(self.now, path, ports).expect("opens");
    }

    /// A pair with both paths open.
    fn opened(scheduler: &'static str, config: TunnelConfig, path: PathConfig) -> Self {
        let mut pair = Self::new(scheduler, config, path);
        pair.open(0);
        pair.open(1);
        pair.run(Duration::from_millis(300), 0);
        let server = pair.server.as_ref().expect("accepted");
        assert!(server.paths.iter().all(Path::is_usable));
        assert!(pair.client.paths.iter().all(Path::is_usable));
        pair
    }

    /// Time passes in steps of 50 us; the server always has `backlog` packets waiting.
    fn run(&mut self, time: Duration, backlog: usize) {
        let end = self.now + time;
        while self.now < end {
            self.now += Duration::from_micros(50);
            self.step(backlog);
        }
    }

    fn step(&mut self, backlog: usize) {
        let now = self.now;
        if let Some(server) = &mut self.server {
            let inner = server
                .inner_mtu()
                .map_or(1_400, |mtu| mtu.size.get() as usize);
            self.too_big.extend(server.poll_too_big());
            while server.waiting.len() < backlog {
                self.next += 1;
                let data = Data {
                    number: self.next,
                    bytes: self.bytes.unwrap_or(inner),
                    ecn: self.backlog_ecn,
                };
                if server.send(now, data).is_err() {
                    break;
                }
            }
        }
        for index in 0..2 {
            while let Some(transmit) = self.up[index].take(now) {
                self.at_server(index, &transmit);
            }
            while let Some(transmit) = self.down[index].take(now) {
                let Transmit {
                    packet,
                    payload,
                    ecn,
                    ..
                } = transmit;
                self.client
                    .receive(now, PathId(index as u8), &packet, payload, ecn);
            }
        }
        for end in [Some(&mut self.client), self.server.as_mut()]
            .into_iter()
            .flatten()
        {
            if end.next_deadline(now).is_some_and(|at| at <= now) {
                end.on_deadline(now);
            }
            while let Some(event) = end.poll_event() {
                self.events.push(event);
            }
        }
        while let Some(transmit) = self.client.poll_transmit(now) {
            self.up[usize::from(transmit.path.0)].offer(now, transmit);
        }
        if let Some(server) = &mut self.server {
            while let Some(transmit) = server.poll_transmit(now) {
                self.down[usize::from(transmit.path.0)].offer(now, transmit);
            }
        }
        while let Some(data) = self.client.poll_delivery(now) {
            self.delivered.push(data);
        }
    }

    fn at_server(&mut self, index: usize, transmit: &Transmit<Data>) {
        let now = self.now;
        let packet = &transmit.packet;
        let path = PathConfig {
            priority: PathPriority::from_bits(15),
            ..self
                .server_path
                .clone()
                .unwrap_or_else(|| self.path.clone())
        };
        let is_request = matches!(packet.kind, Kind::Request { .. });
        match &mut self.server {
            None => {
                let end = ServerEnd {
                    config: self.config.clone(),
                    scheduler: scheduler::build(self.scheduler).expect("known"),
                    path,
                    seed: 2,
                };
                if let Ok((server, _)) = Tunnel::accept(now, packet, &self.shared, end) {
                    self.server = Some(server);
                }
            }
            Some(server) if is_request && server.paths.len() <= index => {
                server.accept_join(now, path, packet).expect("joins");
            }
            Some(server) => {
                let (payload, ecn) = (transmit.payload.clone(), transmit.ecn);
                server.receive(now, PathId(index as u8), packet, payload, ecn);
            }
        }
    }

    /// Of both paths, in Mbit/s over a time just passed.
    fn delivered_mbps(&self, since: usize, time: Duration) -> f64 {
        let bytes: usize = self.delivered[since..].iter().map(|data| data.bytes).sum();
        bytes as f64 * 8.0 / time.as_secs_f64() / 1e6
    }
}

fn controller(name: &'static str) -> PathConfig {
    PathConfig {
        controller: name,
        ..PathConfig::default()
    }
}
