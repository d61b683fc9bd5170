//! The model in C (`bpf/marker_model.h`) beside [`UeMarker`]: the same orders and packets, the same verdicts and states, to
//! the bit. Compiled for this machine, where no rights are needed, and in the kernel.

use crate::order::words;
use edge::marker::{Codepoint, Counts, MAX_SEGMENTS, Order, Packet, UeMarker, Verdict};
use kernel_cc::Loaded;
use libbpf_rs::{MapCore, MapFlags, MapHandle, ProgramInput};
use testing::Native;
use units::{Rng, Streams};

const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/marker_check.bpf.o"));

const MS: u64 = 1_000_000;
/// Bytes of the program's `struct result`: verdict, state.
const RESULT: usize = 8 * (1 + UeMarker::WORDS);
/// Results that a pipe holds.
const BATCH: usize = 16;

/// A packet with the order of its UE at that time.
#[derive(Clone, Copy, Debug)]
struct Event {
    is_first: bool,
    now: u64,
    order: Order,
    /// Its bytes are those of the super-packet.
    packet: Packet,
    headers: u32,
}

impl Event {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [u64::from(self.is_first), self.now] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(words(&self.order));
        let Packet {
            flow,
            bytes: size,
            segments,
            codepoint,
        } = self.packet;
        for half in [flow, size, segments, codepoint as u32, self.headers, 0] {
            bytes.extend(half.to_ne_bytes());
        }
        bytes
    }
}

/// The model in C, wherever it runs.
trait Model {
    /// What events result in, one by one.
    fn run(&mut self, events: &[Event]) -> Vec<Vec<u8>>;
}

impl Model for Native {
    fn run(&mut self, events: &[Event]) -> Vec<Vec<u8>> {
        let mut results = Vec::with_capacity(events.len());
        for part in events.chunks(BATCH) {
            let sent: Vec<u8> = part.iter().flat_map(Event::bytes).collect();
            let bytes = Self::run(self, &sent, part.len(), RESULT);
            results.extend(bytes.chunks_exact(RESULT).map(<[u8]>::to_vec));
        }
        results
    }
}

struct Kernel {
    loaded: Loaded,
    events: MapHandle,
    results: MapHandle,
}

impl Kernel {
    fn load() -> Option<Self> {
        if !testing::has_root("the marker's model in the kernel") {
            return None;
        }
        let loaded = Loaded::register(PROGRAM, &[], |_| Ok(())).expect("loaded");
        let map = |name| loaded.map(name).expect("a map");
        Some(Self {
            events: map("events"),
            results: map("results"),
            loaded,
        })
    }
}

impl Model for Kernel {
    fn run(&mut self, events: &[Event]) -> Vec<Vec<u8>> {
        let only = [0; 4];
        let run = |event: &Event| {
            if event.is_first {
                let zero = vec![0; RESULT];
                let begun = self.results.update(&only, &zero, MapFlags::ANY);
                begun.expect("a new UE");
            }
            let written = self.events.update(&only, &event.bytes(), MapFlags::ANY);
            written.expect("written");
            let output = self.loaded.run_with("run", ProgramInput::default());
            assert_eq!(output.expect("run").return_value, 0);
            let result = self.results.lookup(&only, MapFlags::ANY);
            result.expect("read").expect("a result")
        };
        events.iter().map(run).collect()
    }
}

/// A UE: its radio, its reports and its flows.
struct Ue<'a> {
    rng: &'a mut Rng,
    now: u64,
    order: Order,
    /// The radio's rate, bytes in 2^24 ns.
    rate: u64,
    /// What is sent of it, percent.
    load: u64,
    /// What its reports show as a queue, ms at most.
    queue: u64,
    flows: Vec<(u32, Codepoint)>,
    has_super_packets: bool,
}

const CODEPOINTS: [Codepoint; 4] = [
    Codepoint::NotEct,
    Codepoint::Ect1,
    Codepoint::Ect0,
    Codepoint::Ce,
];

impl<'a> Ue<'a> {
    fn new(rng: &'a mut Rng) -> Self {
        let rate = (1 << (8 + rng.below(23))) + rng.below(100_000);
        let count = 1 + rng.below(5);
        let mut flows = Vec::new();
        // one kind often, so that flows of their own are alone
        let common = CODEPOINTS[rng.below(3) as usize];
        for _ in 0..count {
            let codepoint = match rng.below(3) {
                0 => CODEPOINTS[rng.below(4) as usize],
                _ => common,
            };
            flows.push((rng.below(1 << 32) as u32, codepoint));
        }
        // marks of whole super-packets of ECT(0) come to a quarter before the classic law does
        let is_classic = rng.below(6) == 0;
        if is_classic {
            for (_, codepoint) in &mut flows {
                *codepoint = Codepoint::Ect0;
            }
        }
        Self {
            now: rng.below(1 << 50),
            order: Order::default(),
            rate,
            load: 60 + rng.below(400),
            queue: match is_classic {
                true => 300,
                false => [0, 3, 30, 300][rng.below(4) as usize],
            },
            flows,
            has_super_packets: is_classic || rng.below(3) == 0,
            rng,
        }
    }

    /// The time that so many bytes take.
    fn time(&self, bytes: u64) -> u64 {
        (bytes << 24) / self.rate.max(1)
    }

    fn report(&mut self) {
        let age = self.rng.below(90 * MS);
        let width = 1 + self.rng.below(20 * MS);
        let from = self.rng.below(10 * MS);
        let queue = (self.rate.min(1 << 31) * self.rng.below(self.queue * MS + 1)) >> 24;
        self.order = Order {
            number: self.order.number + 1,
            counted_until: self.now.saturating_sub(age),
            valid_until: self.now + self.rng.below(200 * MS),
            drain: match self.rng.below(40) {
                0 => 0,
                _ => self.rate,
            },
            queue,
            slack: match self.rng.below(3) {
                0 => 0,
                1 => u64::MAX,
                _ => self.rng.below(1 << 20),
            },
            ramp_from: from,
            ramp_to: from + width,
            target: MS + self.rng.below(30 * MS),
            spared: self.rng.below(10),
        };
        if self.rng.below(60) == 0 {
            self.order.number = 0;
        }
    }

    fn packet(&mut self) -> (Packet, u32) {
        let (flow, codepoint) = self.flows[self.rng.below(self.flows.len() as u64) as usize];
        let segments = match self.has_super_packets && self.rng.below(2) == 0 {
            true => 1 + self.rng.below(64) as u32,
            false => 1,
        };
        let size = 40 + self.rng.below(1_461) as u32;
        let packet = Packet {
            flow,
            bytes: size * segments,
            segments,
            codepoint,
        };
        (packet, 28 + self.rng.below(60) as u32)
    }

    fn event(&mut self) -> Event {
        let (packet, headers) = self.packet();
        let time = self.time(u64::from(packet.bytes)) * 100 / self.load;
        let step = self.rng.below(2 * time + 1);
        self.now = match self.rng.below(300) {
            0 => self.now.saturating_sub(self.rng.below(50 * MS)),
            1 => self.now + self.rng.below(3_000 * MS),
            _ => self.now + step,
        };
        Event {
            is_first: false,
            now: self.now,
            order: self.order,
            packet,
            headers,
        }
    }
}

/// A UE with its packets as they come on a radio.
fn plausible(rng: &mut Rng, events: &mut Vec<Event>) {
    let mut ue = Ue::new(rng);
    let reports_each = 1 + ue.rng.below(40);
    let first = events.len();
    for number in 0..100 + ue.rng.below(300) {
        if number % reports_each == 3 {
            ue.report();
        }
        let event = ue.event();
        events.push(event);
    }
    events[first].is_first = true;
}

/// Numbers of any size, with small ones and the extremes.
fn any(rng: &mut Rng) -> u64 {
    match rng.below(5) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << rng.below(64),
        3 => rng.below(1_000_000),
        _ => rng.below(1 << 32) << 32 | rng.below(1 << 32),
    }
}

/// A UE with anything that fits.
fn wild(rng: &mut Rng, events: &mut Vec<Event>) {
    let mut order = Order::default();
    let mut now = any(rng);
    for number in 0..60 {
        if number % 7 == 0 {
            let from = rng.below(1_000_000_000);
            order = Order {
                number: any(rng),
                counted_until: any(rng),
                valid_until: any(rng),
                drain: any(rng),
                queue: any(rng),
                slack: any(rng),
                ramp_from: from,
                ramp_to: from + 1 + rng.below(1_000_000_000),
                target: any(rng),
                spared: any(rng),
            };
        }
        now = match number % 16 {
            0 => any(rng),
            _ => now.saturating_add(any(rng) % (50 * MS)),
        };
        let segments = 1 + any(rng) as u32 % MAX_SEGMENTS;
        events.push(Event {
            is_first: number == 0,
            now,
            order,
            packet: Packet {
                flow: rng.below(8) as u32,
                bytes: any(rng) as u32,
                segments,
                codepoint: CODEPOINTS[rng.below(4) as usize],
            },
            headers: rng.below(1 << 16) as u32,
        });
    }
}

/// The same events by the core and by the model; what became of the packets.
fn compare(model: &mut impl Model, ues: u64, stream: &'static str) -> Counts {
    let mut rng = Streams::new(73).stream(stream);
    let mut counts = Counts::default();
    for number in 0..ues {
        let mut events = Vec::new();
        match number % 8 {
            0 => wild(&mut rng, &mut events),
            _ => plausible(&mut rng, &mut events),
        }
        let results = model.run(&events);
        assert_eq!(results.len(), events.len());
        let mut marker = UeMarker::default();
        for (at, (event, result)) in events.iter().zip(&results).enumerate() {
            let Packet {
                bytes, segments, ..
            } = event.packet;
            let packet = Packet {
                bytes: Packet::wire_bytes(bytes, event.headers, segments),
                ..event.packet
            };
            let verdict = marker.decide(&event.order, event.now, packet);
            counts.add(verdict, 1);
            let expected = [verdict as u64].into_iter().chain(marker.words());
            let found = result.as_chunks::<8>().0.iter();
            let found = found.map(|bytes| u64::from_ne_bytes(*bytes));
            for (word, (expected, found)) in expected.zip(found).enumerate() {
                assert_eq!(
                    found, expected,
                    "word {word} after packet {at} of UE {number}: {event:?}"
                );
            }
        }
    }
    counts
}

fn assert_all_happened(counts: &Counts) {
    for verdict in Verdict::ALL {
        assert!(counts.of(verdict) > 0, "no {verdict:?}: {counts:?}");
    }
}

#[test]
fn random_packets_are_judged_as_by_the_core() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let mut native = Native::compile(folder, "marker_check", &["../kernel-cc/bpf"], "random");
    assert_all_happened(&compare(&mut native, 700, "native"));
}

#[test]
fn random_packets_are_judged_in_the_kernel_as_by_the_core() {
    let Some(mut kernel) = Kernel::load() else {
        return;
    };
    assert_all_happened(&compare(&mut kernel, 300, "kernel"));
}
