//! Two ends of a tunnel that work, and whatever is made of their packets on the way: nothing
//! panics, nothing grows without bound, and neither end answers more than it receives.
//!
//! The bytes are commands: have both ends exchange packets, let time pass, send data, cut or heal the way, or put in
//! a packet whose numbers are near those of the real ones and whose options are any bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multipath::packet::{AddressId, Packet, decode};
use multipath::parity::Fec;
use multipath::provision::Builtin;
use multipath::scheduler;
use multipath::server::{Flow, Server, ServerConfig};
use multipath::tunnel::{PathConfig, TunnelConfig};
use multipath::{PathId, Payload, SeqNo, Tunnel};
use units::{Duration, Ecn, Instant, Packets};

/// Commands of one run.
const MAX_COMMANDS: usize = 200;
/// Packets of both ends at one moment: what waits at both, acknowledged, and some more. More would be two
/// ends that answer each other for ever.
const MAX_EXCHANGE: usize = 10_000;
/// Connections and unfinished ones at the server.
const CONNECTIONS: usize = 4;
const HALF_OPEN: usize = 2;

#[derive(Clone)]
struct Data;

impl Payload for Data {
    fn len(&self) -> usize {
        100
    }
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }
    fn parity(_of: &[Self]) -> Option<Self> {
        Some(Self)
    }
    fn rebuilt(&self, _others: &[Self]) -> Option<Self> {
        Some(Self)
    }
    fn mark(&mut self) {}
}

/// Both ends rebuild packets from parities.
fn config() -> TunnelConfig {
    TunnelConfig {
        fec: Fec::Auto,
        ..TunnelConfig::default()
    }
}

struct Net {
    now: Instant,
    server: Server<Data>,
    client: Tunnel<Data>,
    /// The last packet of each direction and path.
    last: [[Option<Packet>; 2]; 2],
    is_cut: bool,
}

fn flow(path: usize) -> Flow {
    Flow {
        socket: path as u32,
        remote: ([192, 0, 2, 1], 40_000).into(),
    }
}

fn path(address: u8) -> PathConfig {
    PathConfig {
        address: AddressId(address),
        ..PathConfig::default()
    }
}

impl Net {
    fn new() -> Self {
        let build = scheduler::build("rr").expect("known");
        let mut client = Tunnel::client(config(), build, None, 1);
        for address in 0..2 {
            let ports = (1_000 + u16::from(address), 6_511);
            client
                .open_path(Instant::ZERO, path(address), ports)
                .expect("opens");
        }
        let config = ServerConfig {
            tunnel: config(),
            path: path(0),
            shared: Vec::new(),
            connections: CONNECTIONS,
            path_v6: None,
            half_open: HALF_OPEN,
        };
        Self {
            now: Instant::ZERO,
            server: Server::new(config, Box::new(Builtin::new("cpf", 2).expect("known"))),
            client,
            last: [const { [const { None }; 2] }; 2],
            is_cut: false,
        }
    }

    /// What both ends have to send, and what that brings about: `max` packets at most.
    fn exchange(&mut self, max: usize) {
        let now = self.now;
        self.client.on_deadline(now);
        self.server.on_deadline(now);
        let mut sent = 0;
        loop {
            let before = sent;
            while let Some(out) = self.client.poll_transmit(now) {
                sent += 1;
                assert!(sent < max, "{:?}", out.packet);
                let path = usize::from(out.path.0);
                if path > 1 {
                    continue;
                }
                self.last[0][path] = Some(out.packet.clone());
                if !self.is_cut {
                    self.server
                        .receive(now, flow(path), &out.packet, out.payload, out.ecn);
                }
            }
            while let Some(out) = self.server.poll_transmit(now) {
                sent += 1;
                assert!(sent < max, "{:?}", out.packet);
                let path = out.flow.socket as usize;
                if path > 1 {
                    continue;
                }
                self.last[1][path] = Some(out.packet.clone());
                if !self.is_cut {
                    let path = PathId(path as u8);
                    self.client
                        .receive(now, path, &out.packet, out.payload, out.ecn);
                }
            }
            if sent == before {
                break;
            }
        }
        while self.client.poll_delivery(now).is_some() {}
        while self.client.poll_event().is_some() {}
        while self.server.poll_event().is_some() {}
        self.check();
    }

    fn check(&mut self) {
        assert!(self.client.path_ids().count() <= 32);
        let most = Packets::new(1_500);
        assert!(self.client.stats().held <= most);
        let keys: Vec<_> = self.server.connections().map(|(key, _)| key).collect();
        assert!(keys.len() <= CONNECTIONS);
        for key in keys {
            let tunnel = self.server.tunnel(key).expect("listed");
            while tunnel.poll_delivery(self.now).is_some() {}
            assert!(tunnel.path_ids().count() <= 32);
            assert!(tunnel.stats().held <= most && tunnel.stats().waiting <= most);
        }
    }

    fn put_in(&mut self, command: u8, bytes: &mut &[u8]) {
        let side = usize::from(command & 1);
        let path = usize::from(command >> 1 & 1);
        let Some(like) = self.last[side][path].clone() else {
            return;
        };
        let other = self.last[1 - side][path].as_ref().map(|packet| packet.seq);
        // numbers as the next packet would have them, moved by little or by much
        let seq = moved(like.seq.next(), bytes);
        let ack = moved(other.unwrap_or_default(), bytes);
        let code = take(bytes) % 10;
        let mut wire = vec![0; 16];
        wire[8] = code << 1 | 1;
        wire.extend([0; 12]);
        let fixed = match code {
            0 => 20,
            1 | 7 => 28,
            2 => 16,
            _ => 24,
        };
        wire.truncate(fixed);
        if code == 0 || code == 1 {
            let service = TunnelConfig::default().service;
            wire[fixed - 4..].copy_from_slice(&service.to_be_bytes());
        } else if code == 7 {
            wire[24] = take(bytes) % 14;
        }
        if ack != SeqNo::default() && fixed >= 24 {
            wire[18..24].copy_from_slice(&ack.get().to_be_bytes()[2..]);
        }
        let length = usize::from(take(bytes)) % 64;
        let options = bytes
            .split_off(..length.min(bytes.len()))
            .unwrap_or_default();
        wire.extend(options);
        wire.resize(wire.len().next_multiple_of(4), 0);
        wire[4] = (wire.len() / 4) as u8;
        let (mut packet, _) = decode(&wire).expect("its header is right");
        (packet.source, packet.destination) = (like.source, like.destination);
        packet.seq = seq;
        if command & 4 != 0 {
            // the options of a real packet on another one
            packet.options = like.options;
        }
        let payload = packet.kind.carries_data().then_some(Data);
        let ecn = Ecn::from_bits(command >> 3);
        let now = self.now;
        if side == 0 {
            let to = flow(if command & 128 == 0 { path } else { 7 });
            self.server.receive(now, to, &packet, payload, ecn);
        } else {
            self.client
                .receive(now, PathId(path as u8), &packet, payload, ecn);
        }
    }
}

fn take(bytes: &mut &[u8]) -> u8 {
    bytes.split_off_first().copied().unwrap_or(0)
}

/// A number moved by -64 to 63, or by a power of two.
fn moved(number: SeqNo, bytes: &mut &[u8]) -> SeqNo {
    let by = take(bytes);
    match by {
        0..=127 => number.add(u64::from(by)).sub(64),
        _ => number.add(1 << (by & 63).min(47)),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes;
    let mut net = Net::new();
    for _ in 0..20 {
        net.now += Duration::from_millis(10);
        net.exchange(MAX_EXCHANGE);
    }
    for _ in 0..MAX_COMMANDS {
        if bytes.is_empty() {
            break;
        }
        let command = take(&mut bytes);
        match take(&mut bytes) % 8 {
            0 => net.now += Duration::from_millis(u64::from(command) * 20),
            1 => net.is_cut = command & 1 == 0,
            2 => {
                for _ in 0..command % 16 {
                    let _ = net.client.send(net.now, Data);
                    let key = net.server.connections().next().map(|(key, _)| key);
                    if let Some(tunnel) = key.and_then(|key| net.server.tunnel(key)) {
                        let _ = tunnel.send(net.now, Data);
                    }
                }
            }
            3 => {
                let path = PathId(command & 1);
                match command >> 1 & 7 {
                    0 => net.client.close_path(net.now, path),
                    1 => {
                        let config = self::path(command >> 4);
                        let ports = (1_002 + u16::from(command), 6_511);
                        let _ = net.client.open_path(net.now, config, ports);
                    }
                    2 => {
                        let address = [192, 0, 2, command].into();
                        let id = AddressId(command >> 4);
                        let _ = net.client.add_address(net.now, id, address, None);
                    }
                    3 => {
                        let id = AddressId(command >> 4);
                        let _ = net.client.remove_address(net.now, id);
                    }
                    _ => {}
                }
            }
            4 => {
                net.now += Duration::from_micros(u64::from(command) * 50);
                net.exchange(MAX_EXCHANGE);
            }
            _ => net.put_in(command, &mut bytes),
        }
    }
    net.is_cut = false;
    net.now += Duration::from_secs(1);
    net.exchange(MAX_EXCHANGE);
});
