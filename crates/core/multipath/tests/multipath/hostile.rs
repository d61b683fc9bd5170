//! What others send: a client and a server with two paths between them, and an attacker that makes
//! packets up, repeats old ones, or has the wrong key.
//!
//! *Off the path* means that it sees no packets and has to guess numbers; *on the path* that it sees
//! them all. What an attacker on the path can do (DCCP has no protection against it) is not tested
//! to be impossible, but to be bounded.

mod closing;
mod forged;
mod joining;

use multipath::auth::{Key, PreSharedKey, SessionKeys};
use multipath::join::JoinOffer;
use multipath::packet::{
    AddressId, ConnectionId, DccpOption, Hmac, KeyData, Kind, MpOption, Options, Packet,
    PathPriority, ResetCode,
};
use multipath::provision::Builtin;
use multipath::scheduler;
use multipath::server::{ConnectionKey, Flow, Server, ServerConfig};
use multipath::tunnel::{Event, PathConfig, TunnelConfig};
use multipath::{MpSeq, PathId, Payload, SeqNo, Tunnel};
use units::{Duration, Ecn, Instant, Packets, Rng, Streams};

#[derive(Clone, Debug, PartialEq, Eq)]
struct Data(u64);

impl Payload for Data {
    fn len(&self) -> usize {
        1_000
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

/// A client and its server, their paths without delay, one socket a path; time goes in steps of 1 ms.
struct Net {
    now: Instant,
    server: Server<Data>,
    client: Tunnel<Data>,
    /// Everything that went over the paths, the client's packets first.
    seen: [Vec<(PathId, Packet, Option<Data>)>; 2],
    got: Vec<u64>,
    sent: u64,
    events: Vec<Event>,
    /// The client's Acks reach the server.
    acks_pass: bool,
    rng: Rng,
}

fn flow(path: PathId, port: u16) -> Flow {
    Flow {
        socket: u32::from(path.0),
        remote: ([192, 0, 2, 1], port).into(),
    }
}

/// Where the client's packets come from, and where an attacker's do.
const CLIENT: u16 = 40_000;
const ATTACKER: u16 = 666;

fn path(address: u8) -> PathConfig {
    PathConfig {
        address: AddressId(address),
        ..PathConfig::default()
    }
}

impl Net {
    fn new(shared: Option<&PreSharedKey>) -> Self {
        Self::with(shared, TunnelConfig::default())
    }

    fn with(shared: Option<&PreSharedKey>, tunnel: TunnelConfig) -> Self {
        let config = ServerConfig {
            tunnel,
            path: path(0),
            shared: shared.cloned().into_iter().collect(),
            connections: 20,
            path_v6: None,
            half_open: 8,
        };
        let provision = Builtin::new("rr", 2).expect("known");
        let build = scheduler::build("rr").expect("known");
        let mut client = Tunnel::client(TunnelConfig::default(), build, shared.cloned(), 1);
        for (address, port) in [(0, 1_000), (1, 1_001)] {
            client
                .open_path(Instant::ZERO, path(address), (port, 6_511))
                .expect("opens");
        }
        Self {
            now: Instant::ZERO,
            server: Server::new(config, Box::new(provision)),
            client,
            seen: [Vec::new(), Vec::new()],
            got: Vec::new(),
            sent: 0,
            events: Vec::new(),
            acks_pass: true,
            rng: Streams::new(3).stream("attacker"),
        }
    }

    fn opened() -> Self {
        let mut net = Self::new(None);
        net.run(100);
        assert!(net.is_whole());
        net
    }

    /// Both paths can be used, at both ends.
    fn is_whole(&mut self) -> bool {
        let now = self.now;
        let client = &self.client;
        let is_usable = |tunnel: &Tunnel<Data>, path| {
            tunnel
                .path_stats(now, PathId(path))
                .is_some_and(|stats| stats.is_usable)
        };
        let at_client = is_usable(client, 0) && is_usable(client, 1);
        let server = self.tunnel();
        at_client && is_usable(server, 0) && is_usable(server, 1)
    }

    /// The server's end of the only connection.
    fn tunnel(&mut self) -> &mut Tunnel<Data> {
        let keys: Vec<ConnectionKey> = self.server.connections().map(|(key, _)| key).collect();
        self.server.tunnel(keys[0]).expect("there")
    }

    fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            self.now += Duration::from_millis(1);
            self.step();
        }
    }

    fn step(&mut self) {
        let now = self.now;
        self.server.on_deadline(now);
        self.client.on_deadline(now);
        while let Some(out) = self.client.poll_transmit(now) {
            let copy = (out.path, out.packet.clone(), out.payload.clone());
            self.seen[0].push(copy);
            if self.acks_pass || !matches!(out.packet.kind, Kind::Ack { .. }) {
                let from = flow(out.path, CLIENT);
                self.server
                    .receive(now, from, &out.packet, out.payload, out.ecn);
            }
        }
        while let Some(out) = self.server.poll_transmit(now) {
            if out.flow.remote.port() != CLIENT {
                continue;
            }
            let path = PathId(out.flow.socket as u8);
            self.seen[1].push((path, out.packet.clone(), out.payload.clone()));
            self.client
                .receive(now, path, &out.packet, out.payload, out.ecn);
        }
        while let Some(data) = self.client.poll_delivery(now) {
            self.got.push(data.0);
        }
        while let Some(event) = self.client.poll_event() {
            self.events.push(event);
        }
        while self.server.poll_event().is_some() {}
    }

    /// The server sends so many packets, and the client gets them all, in order.
    fn works(&mut self) -> bool {
        let before = self.got.len();
        let now = self.now;
        for _ in 0..10 {
            let number = self.sent;
            if self.tunnel().send(now, Data(number)).is_err() {
                return false;
            }
            self.sent += 1;
        }
        self.run(300);
        let new: Vec<u64> = (self.sent - 10..self.sent).collect();
        self.got[before..] == new[..]
    }

    /// As [`Self::works`], once what an attack has cost is over: numbers that were taken, a path of
    /// which one end has not noticed yet that it is gone.
    fn recovers(&mut self) -> bool {
        self.works();
        self.run(3_000);
        self.works()
    }

    /// A client's Request as that end makes it, with another option for its key or join.
    fn request(&self, seq: u64, port: u16, option: DccpOption) -> Packet {
        let mut request = self.first_seen(0, |p| matches!(p.kind, Kind::Request { .. }));
        let is_key = |o: &&mut DccpOption| matches!(o, DccpOption::Multipath(_));
        *request.options.list.iter_mut().find(is_key).expect("a key") = option;
        request.source = port;
        request.seq = SeqNo::new(seq);
        request
    }

    /// A packet as the client's, from the client's address (`to_server`) or as the server's.
    fn forge(&mut self, to_server: bool, path: PathId, kind: Kind, seq: SeqNo, options: Options) {
        let ports = (1_000 + u16::from(path.0), 6_511);
        let (source, destination) = if to_server { ports } else { (ports.1, ports.0) };
        let packet = Packet {
            source,
            destination,
            ccval: 0,
            seq,
            kind,
            options,
        };
        let payload = kind.carries_data().then_some(Data(u64::MAX));
        self.inject(to_server, path, &packet, payload);
    }

    fn inject(&mut self, to_server: bool, path: PathId, packet: &Packet, payload: Option<Data>) {
        let now = self.now;
        if to_server {
            let from = flow(path, CLIENT);
            self.server.receive(now, from, packet, payload, Ecn::NotEct);
        } else {
            self.client.receive(now, path, packet, payload, Ecn::NotEct);
        }
    }

    /// The numbers that the next packet of that direction would have, as an attacker on the path
    /// sees them.
    fn next_numbers(&self, to_server: bool, path: PathId) -> (SeqNo, SeqNo) {
        let last = |side: usize| {
            let packets = self.seen[side].iter().rev();
            let mut of_path = packets.filter(|(p, ..)| *p == path);
            of_path.next().expect("there was one").1.seq
        };
        let (own, other) = if to_server { (0, 1) } else { (1, 0) };
        (last(own).next(), last(other))
    }

    fn invalid(&mut self) -> Packets {
        let now = self.now;
        let of = |tunnel: &Tunnel<Data>| {
            let paths = [0, 1].map(|path| tunnel.path_stats(now, PathId(path)));
            let counts = paths.into_iter().flatten();
            counts.map(|stats| stats.counters.invalid).sum::<Packets>()
        };
        let client = of(&self.client);
        client + of(self.tunnel())
    }

    /// The first packet from the client (0) or server (1) that meets the condition.
    fn first_seen(&self, side: usize, is_it: impl Fn(&Packet) -> bool) -> Packet {
        let packets = self.seen[side].iter().map(|(_, packet, _)| packet);
        packets
            .into_iter()
            .find(|p| is_it(p))
            .expect("seen")
            .clone()
    }
}

fn list(list: Vec<DccpOption>) -> Options {
    Options {
        list,
        ..Options::default()
    }
}

fn mp(option: MpOption) -> DccpOption {
    DccpOption::Multipath(option)
}

fn has_hmac(packet: &Packet) -> bool {
    let is_hmac = |o: &DccpOption| matches!(o, DccpOption::Multipath(MpOption::Hmac(_)));
    packet.options.list.iter().any(is_hmac)
}

fn is_join(packet: &Packet) -> bool {
    matches!(packet.kind, Kind::Request { .. }) && JoinOffer::among(&packet.options).is_some()
}
