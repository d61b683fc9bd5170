//! Two ends without a network between them.

use super::*;
use cc::BuildConfig;
use units::{Bytes, Duration, Instant, Streams};

const ONE_WAY: Duration = Duration::from_millis(10);

fn config() -> Config {
    Config {
        mtu: Bytes::new(1_440),
        initial_window: 10,
        receive_buffer: Bytes::new(1_000_000),
        send_buffer: Bytes::new(1_000_000),
        delayed_ack: true,
        ecn: false,
    }
}

fn setup(name: &str) -> EndSetup {
    let build = BuildConfig {
        mss: Bytes::new(1_440),
        initial_window: Bytes::new(14_400),
    };
    EndSetup {
        controller: Box::new(move || cc::build("newreno", build).expect("it is known")),
        trace: None,
        streams: Streams::new(1).child(name),
    }
}

/// Both ends, and what is on its way between them.
struct Wire {
    client: Connection,
    server: Connection,
    now: Instant,
    /// (arrival, whether at the client, datagram), in order of arrival.
    flying: std::collections::VecDeque<(Instant, bool, Datagram)>,
    /// From then on nothing arrives.
    cut_at: Instant,
    sizes: Vec<usize>,
}

impl Wire {
    fn new(config: &Config, cut_at: Instant) -> Self {
        let (mut client, server) = pair(config, setup("client"), setup("server"));
        client.open(Instant::ZERO);
        Self {
            client,
            server,
            now: Instant::ZERO,
            flying: Default::default(),
            cut_at,
            sizes: Vec::new(),
        }
    }

    /// Sends what may leave, and goes on to the next event. False if there is none.
    fn step(&mut self) -> bool {
        for is_client in [true, false] {
            let end = if is_client {
                &mut self.client
            } else {
                &mut self.server
            };
            while let Some(datagram) = end.poll_transmit(self.now) {
                self.sizes.push(datagram.payload.len());
                let at = self.now + ONE_WAY;
                if at < self.cut_at {
                    self.flying.push_back((at, !is_client, datagram));
                }
            }
        }
        let arrival = self.flying.front().map(|packet| packet.0);
        let due = [
            arrival,
            self.client.next_deadline(),
            self.server.next_deadline(),
        ];
        let Some(next) = due.into_iter().flatten().min() else {
            return false;
        };
        assert!(
            next > self.now || arrival == Some(next),
            "time stands still"
        );
        self.now = next;
        if let Some((_, to_client, datagram)) = self.flying.pop_front_if(|p| p.0 <= next) {
            let end = if to_client {
                &mut self.client
            } else {
                &mut self.server
            };
            end.on_datagram(next, datagram);
        }
        for end in [&mut self.client, &mut self.server] {
            if end.next_deadline().is_some_and(|at| at <= next) {
                end.on_deadline(next);
            }
        }
        true
    }

    /// The client asks for `size` bytes by 100 of its own, reads them, and closes.
    fn download(&mut self, size: u64) -> u64 {
        let (mut asked, mut left, mut read) = (false, size, 0);
        while self.step() && !(self.client.is_closed() && self.server.is_closed()) {
            if !asked {
                asked = !self.client.write(Bytes::new(100)).is_zero();
            }
            let has_request = self.server.readable() == Bytes::new(100);
            if has_request && left > 0 {
                left -= self.server.write(Bytes::new(left)).get();
                if left == 0 {
                    self.server.close(self.now);
                }
            }
            while let Some(chunk) = self.client.read(Bytes::MAX) {
                assert!(chunk.origin < self.now);
                read += chunk.bytes.get();
            }
            if self.client.peer_closed() {
                self.client.close(self.now);
            }
        }
        read
    }
}

#[test]
fn a_connection_closes_when_all_is_read() {
    let mut wire = Wire::new(&config(), Instant::MAX);
    assert_eq!(wire.download(300_000), 300_000);
    assert!(wire.client.is_closed() && wire.server.is_closed());
    // slow start from ten datagrams, paced: handshake, request, and five round trips or more
    let elapsed = wire.now.as_secs_f64();
    assert!((0.1..0.3).contains(&elapsed), "{elapsed}");
    assert_eq!(wire.server.stats().retransmits.get(), 0);
    assert!(wire.sizes.iter().all(|&size| size <= 1_440));
    assert!(wire.sizes.iter().filter(|&&size| size == 1_440).count() > 200);
}

/// RFC 9000 10.1: after the idle time, both ends give up; the client sends a PING before.
#[test]
fn a_connection_that_is_cut_off_is_given_up() {
    for cut_ms in [0, 5, 25, 90] {
        let cut_at = Instant::ZERO + Duration::from_millis(cut_ms);
        let mut wire = Wire::new(&config(), cut_at);
        assert!(wire.download(10_000_000) < 10_000_000);
        assert!(wire.client.is_closed(), "{cut_ms}");
        assert!(
            wire.server.is_closed() || wire.server.has_no_peer(),
            "{cut_ms}"
        );
        let elapsed = wire.now.as_secs_f64();
        assert!((30.0..42.0).contains(&elapsed), "{cut_ms}: {elapsed}");
    }
}

/// TLS keys differ from run to run, lengths and times do not.
#[test]
fn two_runs_differ_in_no_length() {
    let run = || {
        let mut wire = Wire::new(&config(), Instant::MAX);
        wire.download(200_000);
        (wire.sizes, wire.now)
    };
    assert_eq!(run(), run());
}

/// The sender asks for it by draft-ietf-quic-ack-frequency.
#[test]
fn every_packet_is_acknowledged_if_asked_for() {
    let packets = |delayed_ack| {
        let config = Config {
            delayed_ack,
            ..config()
        };
        let mut wire = Wire::new(&config, Instant::MAX);
        wire.download(300_000);
        wire.sizes.iter().filter(|&&size| size < 100).count()
    };
    let (delayed, each) = (packets(true), packets(false));
    assert!(delayed < 150 && each > 190, "{delayed}, {each}");
}
