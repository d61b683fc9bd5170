//! Messages of a recorded path at both ends: any bytes, and real messages that are changed, cut, repeated or come late.
//! Nothing panics, what is read is written as it came, no answer before a session is longer than its question, and the
//! server sends nothing to an address that has no session.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probe::message::{decode, encode};
use probe::{Client, Plan, Secret, Server, ServerConfig};
use std::net::SocketAddr;
use units::{BitRate, Bytes, Duration, Instant};

/// Commands of one run.
const MAX_COMMANDS: usize = 200;
/// Datagrams that are kept.
const MAX_KEPT: usize = 64;
/// Datagrams that an end sends at one time.
const MAX_SENT: usize = 64;

struct Ends {
    now: Instant,
    client: Client,
    server: Server,
    /// Whether to the server, and the bytes.
    kept: Vec<(bool, Vec<u8>)>,
}

fn address(port: u16) -> SocketAddr {
    ([192, 0, 2, 1], port).into()
}

impl Ends {
    fn new() -> Self {
        let plan = Plan {
            down: BitRate::from_mbps(5),
            up: BitRate::from_mbps(5),
            packet: Bytes::new(200),
            duration: Duration::from_secs(2),
            light: Duration::from_millis(300),
            heavy: Duration::from_millis(500),
            train: 3,
            interval: Duration::from_millis(100),
        };
        let config = ServerConfig {
            secret: Secret::new(b"fuzzed"),
            max_rate: BitRate::from_mbps(10),
            max_duration: Duration::from_secs(10),
            max_sessions: 2,
        };
        let now = Instant::ZERO;
        let client = Client::new(now, plan, Secret::new(b"fuzzed"), address(2), [4; 16]);
        Self {
            now,
            client: client.expect("a plan"),
            server: Server::new(config, &[5; 32]),
            kept: Vec::new(),
        }
    }

    fn keep(&mut self, to_server: bool, datagram: &[u8]) {
        if self.kept.len() == MAX_KEPT {
            self.kept.remove(0);
        }
        self.kept.push((to_server, datagram.to_vec()));
    }

    fn to_server(&mut self, from: SocketAddr, datagram: &[u8]) {
        let had_session = self.server.sessions() > 0;
        self.server.receive(self.now, from, datagram);
        let (mut out, mut answered) = (Vec::new(), 0);
        for _ in 0..MAX_SENT {
            let Some(to) = self.server.poll_transmit(self.now, &mut out) else {
                break;
            };
            answered += out.len();
            if to == address(1) {
                self.keep(false, &out);
            } else {
                // only what it has asked for with a key: a Challenge or what follows it
                assert!(to == from);
            }
        }
        if !had_session && self.server.sessions() == 0 {
            assert!(answered <= datagram.len());
        }
        assert!(self.server.sessions() <= 2);
        while self.server.poll_event().is_some() {}
    }

    fn advance(&mut self, time: Duration) {
        self.now += time;
        self.server.expire(self.now);
        let mut out = Vec::new();
        for _ in 0..MAX_SENT {
            if !self.client.poll_transmit(self.now, &mut out) {
                break;
            }
            self.keep(true, &out);
        }
    }

    fn deliver(&mut self, to_server: bool, from: SocketAddr, datagram: &[u8]) {
        match to_server {
            true => self.to_server(from, datagram),
            false => drop(self.client.receive(self.now, datagram)),
        }
    }
}

fn take(bytes: &mut &[u8]) -> u8 {
    bytes.split_off_first().copied().unwrap_or(0)
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(received) = decode(bytes) {
        let key = probe::key::Key::of(b"other");
        let mut out = Vec::new();
        encode(&received.message, &key, 0, &mut out);
        let again = decode(&out).expect("a message");
        assert_eq!(again.message, received.message);
        assert!(again.is_by(&key));
    }
    let mut bytes = bytes;
    let mut ends = Ends::new();
    for _ in 0..MAX_COMMANDS {
        if bytes.is_empty() {
            break;
        }
        let (command, argument) = (take(&mut bytes), take(&mut bytes));
        match command % 5 {
            0 => ends.advance(Duration::from_millis(u64::from(argument))),
            1 => {
                // all that is kept arrives in order
                for (to_server, datagram) in std::mem::take(&mut ends.kept) {
                    ends.deliver(to_server, address(1), &datagram);
                }
            }
            2 | 3 => {
                let count = ends.kept.len().max(1);
                let Some((to_server, mut datagram)) = ends.kept.get(usize::from(argument) % count).cloned()
                else {
                    continue;
                };
                let (how, place) = (take(&mut bytes), usize::from(take(&mut bytes)));
                let length = datagram.len();
                match how % 4 {
                    0 => {}
                    1 => datagram[place % length] ^= how | 1,
                    2 => datagram.truncate(place % length),
                    _ => datagram.push(how),
                }
                ends.deliver(to_server ^ (how & 64 != 0), address(1 + u16::from(how >> 7)), &datagram);
            }
            _ => {
                let length = usize::from(argument).min(bytes.len());
                let (raw, rest) = bytes.split_at(length);
                bytes = rest;
                ends.deliver(command & 8 == 0, address(1), raw);
            }
        }
    }
    drop(ends.client.finish());
});
