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
        ecn: None,
        reports: false,
        streams: 1,
    }
}

fn setup(name: &str) -> EndSetup {
    setup_of(name, "newreno")
}

fn setup_of(name: &str, cc: &'static str) -> EndSetup {
    let build = BuildConfig {
        mss: Bytes::new(1_440),
        initial_window: Bytes::new(14_400),
    };
    EndSetup {
        controller: Box::new(move || cc::build(cc, build).expect("there is one")),
        trace: None,
        streams: Streams::new(1).child(name),
        reporter: None,
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
    /// Those of the client.
    client_sizes: Vec<usize>,
}

impl Wire {
    fn new(config: &Config, cut_at: Instant) -> Self {
        Self::of(config, cut_at, setup("client"), setup("server"))
    }

    fn of(config: &Config, cut_at: Instant, client: EndSetup, server: EndSetup) -> Self {
        let (mut client, server) = pair(config, client, server);
        client.open(Instant::ZERO);
        Self {
            client,
            server,
            now: Instant::ZERO,
            flying: Default::default(),
            cut_at,
            sizes: Vec::new(),
            client_sizes: Vec::new(),
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
                if is_client {
                    self.client_sizes.push(datagram.payload.len());
                }
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

    /// The client requests `size` bytes by 100 bytes, reads them, and closes.
    fn download(&mut self, size: u64) -> u64 {
        let (mut has_requested, mut left, mut read) = (false, size, 0);
        while self.step() && !(self.client.is_closed() && self.server.is_closed()) {
            if !has_requested {
                has_requested = !self.client.write(Bytes::new(100)).is_zero();
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
    // round trips of 20 ms: handshake, request with the first ten datagrams, four more until slow start has
    // sent 213, and the close; and no more than pacing (a window in 0.8 of a round trip) and a delayed
    // acknowledgement (25 ms) add
    let elapsed = wire.now.as_secs_f64();
    assert!((0.14..0.14 + 0.016 + 0.025).contains(&elapsed), "{elapsed}");
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

/// The sender requests it by draft-ietf-quic-ack-frequency.
#[test]
fn every_packet_is_acknowledged_if_configured() {
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

/// RFC 9221 5: what a report costs upstream is a packet, ten times a round trip at most.
#[test]
fn reports_reach_the_server_and_cost_ten_packets_a_round_trip() {
    use cc::cdbe::estimator::{self, Estimator};
    let run = |reports: bool| {
        let config = Config {
            reports,
            ..config()
        };
        let estimator = || estimator::Config::new(cc::cdbe::Mode::Default);
        let client = EndSetup {
            reporter: reports
                .then(|| -> Box<dyn cc::RateReporter> { Box::new(Estimator::new(estimator())) }),
            ..setup("client")
        };
        // the window of NewReno for both, so that the same is sent
        let mut wire = Wire::of(&config, Instant::MAX, client, setup("server"));
        assert_eq!(wire.download(1_000_000), 1_000_000);
        wire
    };
    let (without, with) = (run(false), run(true));
    let packets = |wire: &Wire| wire.client_sizes.len() as u64;
    let max = with.now.since_start() / Duration::from_millis(5) + 1;
    let more = packets(&with).saturating_sub(packets(&without));
    let bytes = |wire: &Wire| wire.client_sizes.iter().sum::<usize>() as u64;
    let cost = bytes(&with).saturating_sub(bytes(&without));
    assert!(more > 0 && more <= max, "{more} more, {max} reports");
    // a header and tag of up to 30 bytes, and a DATAGRAM frame of up to 12
    assert!(cost > 0 && cost <= max * 42, "{cost} bytes, {max} reports");

    // what the client states before it has measured is not what the server assumes
    let report = cc::RateReport::new(700_000);
    let config = Config {
        reports: true,
        ..config()
    };
    let client = EndSetup {
        reporter: Some(Box::new(Estimator::new(estimator::Config {
            initial_report: report,
            ..estimator::Config::new(cc::cdbe::Mode::Default)
        }))),
        ..setup("client")
    };
    let mut wire = Wire::of(&config, Instant::MAX, client, setup_of("server", "cdbe"));
    assert_eq!(wire.download(100_000), 100_000);
    let used = wire.server.rate_view().expect("CDBE's").used;
    assert_eq!(wire.client.reported_rate(), Some(used));
    assert_ne!(used.bytes_per_second(), cc::cdbe::INITIAL_REPORT);
}
