use super::*;
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
}

impl Wire {
    fn offer(&mut self, now: Instant, transmit: Transmit<Data>) {
        self.sent += 1;
        let is_lost = self.loses > 0 && self.sent.is_multiple_of(self.loses);
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
    config: TunnelConfig,
    scheduler: &'static str,
    shared: Vec<PreSharedKey>,
    events: Vec<Event>,
    next: u64,
}

use crate::auth::PreSharedKey;

impl Pair {
    fn new(scheduler: &'static str, config: TunnelConfig, path: PathConfig) -> Self {
        let wire = |ms| Wire {
            delay: Duration::from_millis(ms),
            per_packet: Duration::from_micros(240),
            free_at: Instant::ZERO,
            in_transit: VecDeque::new(),
            is_cut: false,
            sent: 0,
            loses: 0,
        };
        let build = || scheduler::build(scheduler).expect("known");
        Self {
            now: Instant::ZERO,
            client: Tunnel::client(config.clone(), build(), None, 1),
            server: None,
            up: vec![wire(10), wire(20)],
            down: vec![wire(10), wire(20)],
            delivered: Vec::new(),
            path,
            config,
            scheduler,
            shared: Vec::new(),
            events: Vec::new(),
            next: 0,
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
            while server.waiting.len() < backlog {
                self.next += 1;
                let data = Data {
                    number: self.next,
                    bytes: 1_400,
                    ecn: Ecn::NotEct,
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
            ..self.path.clone()
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

/// RFC 9897 3.3: the first path, then the second joins, and both ends have both.
#[test]
fn two_paths_make_one_connection() {
    let pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
    let server = pair.server.expect("accepted");
    assert!(pair.client.is_established() && server.is_established());
    assert_eq!(server.paths[1].remote_address, AddressId(1));
    assert!(pair.events.contains(&Event::Established));
    // the wires' 20 ms, their 240 us a packet, and steps of 50 us
    for path in pair.client.paths.iter().chain(&server.paths) {
        let wire = Duration::from_millis(20 * (u64::from(path.id.0) + 1));
        let rtt = path.srtt().expect("measured by the handshake");
        assert!(
            (wire..wire + Duration::from_millis(2)).contains(&rtt),
            "{rtt}"
        );
    }
    let expected = PathPriority::from_bits(3);
    assert_eq!(
        server.paths[1].priority(),
        expected,
        "the client's priority reached the server"
    );
}

/// 1,400 of 1,500 bytes of two wires of 50 Mbit/s (each packet counted as 1,500 bytes) come to
/// 93 Mbit/s. Whatever the scheduler and the controller, a greedy source fills both.
#[test]
fn a_greedy_source_fills_both_paths_in_order() {
    for scheduler in ["cpf", "srtt", "rr", "otias", "aware"] {
        for cc in ["newreno", "cubic", "bbr"] {
            let mut pair = Pair::opened(scheduler, TunnelConfig::default(), controller(cc));
            pair.run(Duration::from_secs(3), 200);
            let since = pair.delivered.len();
            pair.run(Duration::from_secs(2), 200);
            let mbps = pair.delivered_mbps(since, Duration::from_secs(2));
            assert!(
                (80.0..=94.0).contains(&mbps),
                "{scheduler} over {cc}: {mbps:.1}"
            );
            let stats = pair.client.stats();
            let late = stats
                .reorder
                .late
                .ratio(Packets::new(pair.delivered.len() as u64));
            // what paces waits on its path, with its number; full buffers differ by more than half of
            // what their round trips do
            let max = if scheduler == "aware" { 0.05 } else { 0.6 };
            assert!(late < max, "{scheduler} over {cc}: {stats:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let run = || {
        let mut pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
        pair.down[1].loses = 100;
        pair.run(Duration::from_secs(1), 100);
        (
            pair.delivered.len(),
            pair.server.expect("accepted").stats(),
            pair.client.stats(),
        )
    };
    assert_eq!(run(), run());
}

#[test]
fn every_copy_but_the_first_is_dropped() {
    let mut pair = Pair::opened("redundant", TunnelConfig::default(), controller("bbr"));
    pair.run(Duration::from_secs(1), 50);
    let stats = pair.client.stats();
    assert!(stats.reorder.duplicates > Packets::new(1_000), "{stats:?}");
    let mut numbers: Vec<_> = pair.delivered.iter().map(|data| data.number).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert!(count > 3_000 && numbers.len() == count, "{count}");
}

/// The first path dies: the other carries on, and it is used again once it answers.
#[test]
fn a_path_that_dies_is_left_and_used_again_when_it_answers() {
    let mut pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
    pair.run(Duration::from_secs(2), 100);
    pair.up[0].is_cut = true;
    pair.down[0].is_cut = true;
    pair.run(Duration::from_millis(600), 100);
    let since = pair.delivered.len();
    pair.run(Duration::from_secs(1), 100);
    let mbps = pair.delivered_mbps(since, Duration::from_secs(1));
    assert!((40.0..=47.5).contains(&mbps), "{mbps}");
    assert!(pair.events.contains(&Event::PathDown(PathId(0))));
    pair.up[0].is_cut = false;
    pair.down[0].is_cut = false;
    pair.run(Duration::from_secs(4), 100);
    let since = pair.delivered.len();
    pair.run(Duration::from_secs(1), 100);
    let mbps = pair.delivered_mbps(since, Duration::from_secs(1));
    assert!((80.0..=94.0).contains(&mbps), "{mbps}");
}

#[test]
fn a_closed_path_leaves_the_other() {
    let mut pair = Pair::opened("srtt", TunnelConfig::default(), controller("cubic"));
    pair.run(Duration::from_secs(1), 100);
    let now = pair.now;
    pair.client.close_path(now, PathId(0));
    pair.run(Duration::from_secs(1), 100);
    assert!(pair.events.contains(&Event::PathClosed(PathId(0))));
    let since = pair.delivered.len();
    pair.run(Duration::from_secs(1), 100);
    let mbps = pair.delivered_mbps(since, Duration::from_secs(1));
    assert!((40.0..=47.5).contains(&mbps), "{mbps}");
    // its number is free for a new path
    pair.open(0);
    pair.server.as_mut().expect("accepted").paths.truncate(2);
}

#[test]
fn a_close_ends_both_ends() {
    for is_fast in [false, true] {
        let mut pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
        pair.run(Duration::from_millis(500), 20);
        let now = pair.now;
        match is_fast {
            true => pair.client.fast_close(now),
            false => pair.client.close(now),
        }
        pair.run(Duration::from_secs(1), 0);
        assert!(pair.client.is_closed());
        assert!(
            pair.server.as_ref().is_some_and(Tunnel::is_closed),
            "fast: {is_fast}"
        );
        let closed = pair.events.iter().filter(|event| **event == Event::Closed);
        assert_eq!(closed.count(), 2);
    }
}

/// RFC 6040 4.2.
#[test]
fn marks_on_the_way_go_on_in_the_packet_inside() {
    let mut pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
    for (number, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce].into_iter().enumerate() {
        let data = Data {
            number: number as u64,
            bytes: 100,
            ecn,
        };
        let now = pair.now;
        let server = pair.server.as_mut().expect("accepted");
        server.send(now, data).expect("there is room");
        let mut transmit = server.poll_transmit(now).expect("leaves");
        assert_eq!(
            transmit.ecn, ecn,
            "the outer header begins as the inner one is"
        );
        transmit.ecn = Ecn::Ce;
        pair.down[0].offer(now, transmit);
    }
    pair.run(Duration::from_millis(100), 0);
    let out: Vec<_> = pair
        .delivered
        .iter()
        .map(|data| (data.number, data.ecn))
        .collect();
    assert_eq!(out, [(1, Ecn::Ce), (2, Ecn::Ce)]);
    assert_eq!(pair.client.stats().marked_without_ecn, Packets::new(1));
}

#[test]
fn a_pre_shared_key_must_be_the_right_one() {
    let key = |text: &str| PreSharedKey::new(text.as_bytes()).expect("long enough");
    for (clients, servers, is_accepted) in [
        (
            Some("0123456789abcdef"),
            vec!["another key of 16", "0123456789abcdef"],
            true,
        ),
        (Some("0123456789abcdeF"), vec!["0123456789abcdef"], false),
        (None, vec!["0123456789abcdef"], false),
        (Some("0123456789abcdef"), vec![], false),
        (None, vec![], true),
    ] {
        let mut pair = Pair::new("cpf", TunnelConfig::default(), controller("bbr"));
        let build = scheduler::build("cpf").expect("known");
        pair.client = Tunnel::client(TunnelConfig::default(), build, clients.map(key), 1);
        pair.shared = servers.iter().map(|text| key(text)).collect();
        pair.open(0);
        pair.run(Duration::from_millis(500), 0);
        assert_eq!(
            pair.client.is_established(),
            is_accepted,
            "{clients:?} {servers:?}"
        );
    }
}

#[test]
fn a_full_scheduler_buffer_refuses() {
    let config = TunnelConfig {
        scheduler_buffer: Packets::new(5),
        ..TunnelConfig::default()
    };
    let mut pair = Pair::opened("cpf", config, controller("bbr"));
    let now = pair.now;
    let server = pair.server.as_mut().expect("accepted");
    let data = Data {
        number: 0,
        bytes: 1_400,
        ecn: Ecn::NotEct,
    };
    let taken = (0..8).filter(|_| server.send(now, data.clone()).is_ok());
    assert_eq!(taken.count(), 5);
    assert_eq!(server.stats().refused, Packets::new(3));
}

/// The deadline covers detection and another crossing: with it nothing is missing, without it what
/// was lost is.
#[test]
fn what_is_lost_is_sent_again_with_partial_reliability() {
    for (reliability, is_whole) in [(Some(Duration::from_millis(200)), true), (None, false)] {
        let mut config = TunnelConfig {
            reliability,
            ..TunnelConfig::default()
        };
        config.reorder.rule = crate::reorder::WaitRule::Static;
        config.reorder.margin = crate::reorder::STATIC_MARGIN;
        let mut pair = Pair::opened("srtt", config, controller("bbr"));
        pair.down[0].loses = 50;
        pair.down[1].loses = 70;
        pair.run(Duration::from_secs(2), 100);
        pair.down[0].loses = 0;
        pair.down[1].loses = 0;
        pair.run(Duration::from_millis(500), 0);
        let mut numbers: Vec<_> = pair.delivered.iter().map(|data| data.number).collect();
        let in_order = numbers.is_sorted();
        numbers.sort_unstable();
        numbers.dedup();
        let count = numbers.len() as u64;
        assert_eq!(numbers.len(), pair.delivered.len(), "nothing comes twice");
        assert!(count > 10_000, "{count}");
        let server = pair.server.as_ref().expect("accepted");
        let counters = server.stats().reliability;
        if is_whole {
            assert_eq!(count, pair.next, "{counters:?}");
            assert!(in_order);
            assert!(counters.repeated >= Packets::new(150), "{counters:?}");
            assert_eq!(counters.too_late, Packets::ZERO);
        } else {
            assert!(count + 100 < pair.next);
        }
    }
}

/// What was in flight on a path that dies takes the other.
#[test]
fn a_dead_path_costs_nothing_with_partial_reliability() {
    let mut config = TunnelConfig {
        reliability: Some(Duration::from_secs(1)),
        ..TunnelConfig::default()
    };
    config.reorder.rule = crate::reorder::WaitRule::Static;
    config.reorder.margin = Duration::from_millis(800);
    let mut pair = Pair::opened("cpf", config, controller("bbr"));
    pair.run(Duration::from_secs(1), 100);
    pair.up[0].is_cut = true;
    pair.down[0].is_cut = true;
    pair.run(Duration::from_secs(2), 100);
    pair.run(Duration::from_secs(1), 0);
    let mut numbers: Vec<_> = pair.delivered.iter().map(|data| data.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let stats = pair.server.as_ref().expect("accepted").stats();
    assert_eq!(numbers.len() as u64, pair.next, "{stats:?}");
    assert!(stats.reliability.repeated > Packets::new(50), "{stats:?}");
}

/// A report counts until it is `report_max_age` old, whatever that is set to.
#[test]
fn a_radio_report_counts_until_its_limit_of_age() {
    for max_age in [100, 250].map(Duration::from_millis) {
        let config = TunnelConfig {
            report_max_age: max_age,
            ..TunnelConfig::default()
        };
        let mut pair = Pair::opened("aware", config, controller("bbr"));
        let (made_at, path) = (pair.now, pair.client.paths[0].id);
        let state = RadioState {
            tbs: Bytes::new(1_000),
            best_tbs: Bytes::new(1_000),
            harq_processes: 16,
            queue: Bytes::ZERO,
            served: Bytes::ZERO,
            harq_retx: 0,
            lost_packets: None,
            period: Duration::from_millis(1),
            slots: 1,
            seq: 1,
            made_at,
        };
        let slot = Duration::from_millis(1);
        pair.client.on_radio(made_at, path, &state, slot);
        let rate = |age: Duration| {
            let stats = pair.client.path_stats(made_at + age, path);
            stats
                .expect("the path")
                .radio_rate
                .map(|rate| rate.as_bps())
        };
        assert_eq!(rate(max_age), Some(8_000_000));
        assert_eq!(rate(max_age + Duration::from_nanos(1)), None);
    }
}
