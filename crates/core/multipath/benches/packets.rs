//! What a packet costs, on one core.
//!
//! `cargo bench -p multipath` prints two tables; `path` or `tunnel` after `--` selects one.
//!
//! *Path*: nanoseconds for a packet sent, received and acknowledged by [`path::Sender`] and
//! [`path::Receiver`], with 1000 and 10,000 in flight, without losses and with one in a hundred
//! lost; beside it the bookkeeping alone by a plain map and a set of packet numbers, which writes its
//! vector of the last 256 numbers anew each time.
//!
//! *Tunnel*: nanoseconds for a packet from one end's `send` to the other's `poll_delivery`, both ends
//! and all acknowledgements together, over one and two paths of 320,000 packets a second in all; with
//! packets handed over as values, and as bytes.
//!
//! Processor time, the best of fifty rounds of 20,000 packets.
#![expect(clippy::disallowed_methods, reason = "a bench has arguments")]

use multipath::packet::{self, AckVector, Packet, ReceptionState};
use multipath::path::{
    self, AckOutcome, AckParts, Acknowledgement, ReceiverConfig, SenderConfig, SentPacket,
};
use multipath::scheduler;
use multipath::tunnel::{PathConfig, ServerEnd, Transmit, Tunnel, TunnelConfig};
use multipath::{PathId, Payload, SeqNo};
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hint::black_box;
use std::sync::Arc;
use units::{Bytes, Duration, Ecn, Instant, Streams};

const ROUNDS: usize = 50;
const PACKETS: u64 = 20_000;
const SIZE: Bytes = Bytes::new(1_400);

/// Nanoseconds for which this thread has had a processor.
fn busy() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// One end's sending and the other's receiving half.
trait Halves {
    fn send(&mut self, now: Instant, seq: u64);
    fn arrive(&mut self, now: Instant, seq: u64);
    fn acknowledge(&mut self, now: Instant) -> AckParts;
    fn on_ack(&mut self, now: Instant, ack: &AckParts);
}

struct Ours {
    sender: path::Sender,
    receiver: path::Receiver,
    outcome: AckOutcome,
    /// Numbers of acknowledgements, and their own acknowledgements: one in 256.
    ack_seq: SeqNo,
}

impl Ours {
    fn new(controller: &str) -> Self {
        let build = cc::BuildConfig {
            mss: SIZE,
            initial_window: SIZE * 10,
        };
        let cc = cc::build(controller, build).expect("a controller");
        Self {
            sender: path::Sender::new(cc, SenderConfig::default(), Streams::new(1).stream("cc")),
            receiver: path::Receiver::new(ReceiverConfig::default()),
            outcome: AckOutcome::default(),
            ack_seq: SeqNo::new(0),
        }
    }
}

impl Halves for Ours {
    fn send(&mut self, now: Instant, seq: u64) {
        let packet = SentPacket {
            seq: SeqNo::new(seq),
            bytes: SIZE,
            mp_seq: None,
            is_data: true,
        };
        self.sender.on_sent(now, &packet);
    }
    fn arrive(&mut self, now: Instant, seq: u64) {
        black_box(
            self.receiver
                .on_packet(now, SeqNo::new(seq), Ecn::Ect0, true),
        );
    }
    fn acknowledge(&mut self, now: Instant) -> AckParts {
        self.ack_seq = self.ack_seq.next();
        if self.ack_seq.get() % 256 == 1 {
            let info = path::SentInfo {
                seq: self.ack_seq.sub(256),
                mp_seq: None,
                bytes: Bytes::ZERO,
                sent_at: now,
                is_data: false,
            };
            let acked = AckOutcome {
                acked: vec![info],
                ..AckOutcome::default()
            };
            self.receiver.on_outcome(&acked);
        }
        self.receiver
            .acknowledge(now, self.ack_seq, 253)
            .expect("arrivals")
    }
    fn on_ack(&mut self, now: Instant, ack: &AckParts) {
        let ack = Acknowledgement {
            ack: ack.ack,
            vector: Some(&ack.vector),
            elapsed: Some(ack.elapsed),
        };
        self.sender.on_ack(now, &ack, &mut self.outcome);
        black_box(&self.outcome);
    }
}

/// The bookkeeping alone, as one writes it first.
#[derive(Default)]
struct Plain {
    in_flight: BTreeMap<u64, (Instant, Bytes)>,
    received: BTreeSet<u64>,
    /// Packets that an acknowledgement covers.
    window: u64,
}

impl Halves for Plain {
    fn send(&mut self, now: Instant, seq: u64) {
        self.in_flight.insert(seq, (now, SIZE));
    }
    fn arrive(&mut self, _now: Instant, seq: u64) {
        black_box(self.received.insert(seq));
    }
    fn acknowledge(&mut self, _now: Instant) -> AckParts {
        let highest = self.received.last().copied().unwrap_or_default();
        let oldest = highest.saturating_sub(self.window);
        self.received = self.received.split_off(&oldest);
        let mut vector = AckVector::default();
        let mut next = highest;
        for &number in self.received.iter().rev() {
            if number < next {
                vector.push(ReceptionState::NotReceived, next - number);
            }
            vector.push(ReceptionState::Received, 1);
            next = number.saturating_sub(1);
        }
        AckParts {
            ack: SeqNo::new(highest),
            vector,
            elapsed: Duration::ZERO,
        }
    }
    fn on_ack(&mut self, _now: Instant, ack: &AckParts) {
        let mut end = ack.ack.get() + 1;
        for run in ack.vector.runs() {
            let start = end.saturating_sub(u64::from(run.packets));
            if run.state != ReceptionState::NotReceived {
                for number in start..end {
                    black_box(self.in_flight.remove(&number));
                }
            }
            end = start;
        }
        let lost = ack.ack.get().saturating_sub(3);
        while let Some(entry) = self.in_flight.first_entry()
            && *entry.key() < lost
        {
            black_box(entry.remove());
        }
    }
}

/// So many packets in flight, one in `loses` lost (0: none), one acknowledgement for two packets.
fn path_round(halves: &mut impl Halves, next: &mut u64, in_flight: u64, loses: u64) -> f64 {
    let mut acks: VecDeque<(u64, AckParts)> = VecDeque::new();
    let began = busy();
    for _ in 0..PACKETS {
        let seq = *next;
        *next += 1;
        let now = Instant::ZERO + Duration::from_micros(3) * seq;
        halves.send(now, seq);
        if loses == 0 || seq % loses != 7 {
            halves.arrive(now, seq);
        }
        if seq % 2 == 1 {
            acks.push_back((seq + in_flight, halves.acknowledge(now)));
        }
        while let Some((_, ack)) = acks.pop_front_if(|(due, _)| *due <= seq) {
            halves.on_ack(now, &ack);
        }
    }
    let ns = (busy() - began) as f64 / PACKETS as f64;
    for (_, ack) in acks {
        let now = Instant::ZERO + Duration::from_micros(3) * *next;
        halves.on_ack(now, &ack);
    }
    ns
}

fn best(mut round: impl FnMut() -> f64) -> f64 {
    round();
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn paths() {
    println!("path: ns a packet sent, received and acknowledged");
    for in_flight in [1_000, 10_000] {
        for loses in [0, 100] {
            let losses = if loses == 0 { "no losses" } else { "1 % lost" };
            let plain = {
                let mut plain = Plain {
                    window: 256,
                    ..Plain::default()
                };
                let mut next = 0;
                best(|| path_round(&mut plain, &mut next, in_flight, loses))
            };
            println!("  {in_flight:6} in flight, {losses:9}  map and set  {plain:7.1}");
            for controller in ["newreno", "cubic", "bbr"] {
                let mut ours = Ours::new(controller);
                let mut next = 0;
                let ns = best(|| path_round(&mut ours, &mut next, in_flight, loses));
                println!(
                    "  {in_flight:6} in flight, {losses:9}  {controller:11}  {ns:7.1}  {:5.2} x",
                    ns / plain
                );
            }
        }
    }
}

/// A packet's bytes, counted as the daemon counts its references.
#[derive(Clone)]
struct Data(Arc<[u8]>);

impl Payload for Data {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

/// What is on its way.
enum Wire {
    Value(Transmit<Data>),
    Bytes(PathId, Vec<u8>, Option<Data>, Ecn),
}

/// Both ends, and a delay of 1 ms each way.
struct Pair {
    client: Tunnel<Data>,
    server: Option<Tunnel<Data>>,
    up: VecDeque<(Instant, Wire)>,
    down: VecDeque<(Instant, Wire)>,
    now: Instant,
    payload: Data,
    paths: u8,
    has_bytes: bool,
    /// Buffers that were used before.
    spare: Vec<Vec<u8>>,
    delivered: u64,
}

const DELAY: Duration = Duration::from_millis(1);
/// A step, and what all paths together carry in it: 320,000 packets a second.
const STEP: Duration = Duration::from_micros(100);
const STEP_PACKETS: usize = 32;

fn path_config(priority: u8) -> PathConfig {
    PathConfig {
        controller: "bbr",
        priority: packet::PathPriority::from_bits(priority),
        ..PathConfig::default()
    }
}

impl Pair {
    fn new(paths: u8, has_bytes: bool) -> Self {
        let scheduler = scheduler::build("cpf").expect("known");
        let mut client = Tunnel::client(TunnelConfig::default(), scheduler, None, 1);
        for index in 0..paths {
            let ports = (1_000 + u16::from(index), 6_511);
            let path = PathConfig {
                address: packet::AddressId(index),
                ..path_config(4)
            };
            client.open_path(Instant::ZERO, path, ports).expect("opens");
        }
        let mut pair = Self {
            client,
            server: None,
            up: VecDeque::new(),
            down: VecDeque::new(),
            now: Instant::ZERO,
            payload: Data(Arc::from(vec![0; SIZE.get() as usize])),
            paths,
            has_bytes,
            spare: Vec::new(),
            delivered: 0,
        };
        for _ in 0..5_000 {
            pair.step();
        }
        assert!(pair.delivered > 100_000, "{}", pair.delivered);
        pair
    }

    fn wrap(&mut self, transmit: Transmit<Data>) -> Wire {
        if !self.has_bytes {
            return Wire::Value(transmit);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        packet::encode(&transmit.packet, &mut bytes).expect("fits");
        Wire::Bytes(transmit.path, bytes, transmit.payload, transmit.ecn)
    }

    fn unwrap(&mut self, wire: Wire) -> (PathId, Packet, Option<Data>, Ecn) {
        match wire {
            Wire::Value(t) => (t.path, t.packet, t.payload, t.ecn),
            Wire::Bytes(path, bytes, payload, ecn) => {
                let (packet, _) = packet::decode(&bytes).expect("as encoded");
                self.spare.push(bytes);
                (path, packet, payload, ecn)
            }
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        while self.client.send(now, self.payload.clone()).is_ok() {
            if self.client.stats().waiting.get() >= 64 {
                break;
            }
        }
        if self.client.next_deadline(now).is_some_and(|at| at <= now) {
            self.client.on_deadline(now);
        }
        let mut room = STEP_PACKETS;
        while room > 0
            && let Some(transmit) = self.client.poll_transmit(now)
        {
            room -= 1;
            let wire = self.wrap(transmit);
            self.up.push_back((now + DELAY, wire));
        }
        while let Some((_, wire)) = self.up.pop_front_if(|(at, _)| *at <= now) {
            let (path, packet, payload, ecn) = self.unwrap(wire);
            self.at_server(path, &packet, payload, ecn);
        }
        if let Some(server) = &mut self.server {
            while let Some(data) = server.poll_delivery(now) {
                black_box(&data);
                self.delivered += 1;
            }
            if server.next_deadline(now).is_some_and(|at| at <= now) {
                server.on_deadline(now);
            }
        }
        while let Some(transmit) = self.server.as_mut().and_then(|s| s.poll_transmit(now)) {
            let wire = self.wrap(transmit);
            self.down.push_back((now + DELAY, wire));
        }
        while let Some((_, wire)) = self.down.pop_front_if(|(at, _)| *at <= now) {
            let (path, packet, payload, ecn) = self.unwrap(wire);
            self.client.receive(now, path, &packet, payload, ecn);
        }
    }

    fn at_server(&mut self, path: PathId, packet: &Packet, payload: Option<Data>, ecn: Ecn) {
        let now = self.now;
        let is_request = matches!(packet.kind, packet::Kind::Request { .. });
        match &mut self.server {
            None => {
                let end = ServerEnd {
                    config: TunnelConfig::default(),
                    scheduler: scheduler::build("cpf").expect("known"),
                    path: path_config(15),
                    seed: 2,
                };
                self.server = Tunnel::accept(now, packet, &[], end)
                    .ok()
                    .map(|(end, _)| end);
            }
            Some(server) if is_request && server.path_ids().count() <= usize::from(path.0) => {
                let _ = server.accept_join(now, path_config(15), packet);
            }
            Some(server) => server.receive(now, path, packet, payload, ecn),
        }
    }

    fn round(&mut self) -> f64 {
        let before = self.delivered;
        let began = busy();
        while self.delivered - before < PACKETS {
            self.step();
        }
        let ns = (busy() - began) as f64 / (self.delivered - before) as f64;
        let server = self.server.as_ref().expect("accepted");
        assert_eq!(server.path_ids().count(), usize::from(self.paths));
        ns
    }
}

fn tunnels() {
    println!("tunnel: ns a packet, both ends and acknowledgements");
    for paths in [1, 2] {
        for (name, has_bytes) in [("values", false), ("bytes", true)] {
            let mut pair = Pair::new(paths, has_bytes);
            let ns = best(|| pair.round());
            println!("  {paths} paths, {name:6}  {ns:7.1}");
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let is_selected = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    if is_selected("path") {
        paths();
    }
    if is_selected("tunnel") {
        tunnels();
    }
}
