//! The program's model (`bpf/meld_model.h`) beside [`Discriminator`]: the same events, the same states, to the
//! bit. Compiled for this machine, where no rights are needed, and in the kernel, by the way that the program
//! takes its reports.

mod replay;

use super::words::{self, to_bytes};
use crate::in_kernel;
use crate::load::map_of;
use cc::meld::{Acked, Config, Discriminator, LossDecision, Order, Reason, State, Variant};
use cc::{LossKind, LossSample, RadioState};
use libbpf_rs::{MapCore, MapFlags, MapHandle, ProgramInput};
use testing::Native;
use units::{BitRate, Bytes, Duration, Instant, Rng, Streams};

const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/meld_check.bpf.o"));

const VARIANTS: [Variant; 3] = [
    Variant::DownloadEnhancement,
    Variant::MixedEnhancement,
    Variant::Default,
];

/// Words of the program's `struct event`: kind, time, rules, report, acknowledgement, loss.
const EVENT: usize = 2 + words::RULES + words::REPORT + 6 + 3;
/// Words of its `struct result`.
const RESULT: usize = 26;
/// Bytes of its `struct meld`; in `struct connection` a `struct reports` follows.
pub(super) const MELD: usize = 38 * 8 + 256 * 4;

/// What can come.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Another connection.
    Begin,
    /// A report arrives; the connection takes it as the next other event comes.
    Report(RadioState),
    /// The connection takes the reports that have arrived.
    Take,
    Ack(Acked),
    Loss(LossSample),
    /// A loss was congestion.
    Congestion,
}

impl Event {
    fn words(&self, now: Instant, config: Config) -> [u64; EVENT] {
        let mut words = [0; EVENT];
        words[1] = now.as_nanos();
        words[2..5].copy_from_slice(&words::rules(config));
        match self {
            Self::Begin => {}
            Self::Report(state) => {
                words[0] = 1;
                words[5..13].copy_from_slice(&words::report(now, state));
            }
            Self::Take => words[0] = 2,
            Self::Congestion => words[0] = 5,
            Self::Ack(ack) => {
                words[0] = 3;
                words[13..19].copy_from_slice(&[
                    ack.newly_acked.get(),
                    ack.prior_in_flight.get(),
                    ack.srtt.as_nanos(),
                    ack.min_rtt.as_nanos(),
                    ack.inner_cwnd.get(),
                    u64::from(ack.is_slow_start),
                ]);
            }
            Self::Loss(loss) => {
                words[0] = 4;
                words[19..22].copy_from_slice(&[
                    loss.lost.get(),
                    loss.bytes_in_flight.get(),
                    loss.lost_sent_at.as_nanos(),
                ]);
            }
        }
        words
    }
}

/// What an event results in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outcome {
    is_held: bool,
    /// Of a loss: why, and the most that may be in flight.
    verdict: Option<(Reason, Bytes)>,
    state: State,
    /// What the reports set; 0 if they set none.
    pace: BitRate,
    /// Of a wrapped controller with the acknowledgement's window; without one, with none.
    window: Bytes,
}

impl Outcome {
    /// From the program's words.
    fn of(words: &[u64; RESULT], is_loss: bool, is_default: bool) -> Self {
        let bytes = |at: usize| Bytes::new(words[at]);
        let instant = |at: usize| Instant::from_nanos(words[at]);
        let round_trips = |at: usize| (instant(at), [bytes(at + 1), bytes(at + 2), bytes(at + 3)]);
        Self {
            is_held: words[0] != 0,
            verdict: is_loss.then(|| (Reason::ALL[words[1] as usize], bytes(2))),
            state: State {
                delivered: round_trips(3),
                unexplained: units::Packets::new(words[7]),
                order: Order {
                    pace: BitRate::from_bps(words[8]),
                    window: bytes(9),
                    per_round_trip: bytes(10),
                    queue: bytes(11),
                    target: bytes(12),
                    in_flight_of_ue: bytes(13),
                    period: Duration::from_nanos(words[14]),
                    expires_at: instant(15),
                },
                peak: round_trips(16),
                began: (instant(20), Duration::from_nanos(words[21])),
                is_settled: words[22] != 0,
                is_leading: is_default && words[23] == 0,
            },
            pace: BitRate::from_bps(words[24]),
            window: bytes(25),
        }
    }
}

/// The model in C, wherever it runs.
trait Model {
    /// What events result in, one by one.
    fn run(&mut self, events: &[[u64; EVENT]]) -> Vec<[u64; RESULT]>;
}

impl Model for Native {
    fn run(&mut self, events: &[[u64; EVENT]]) -> Vec<[u64; RESULT]> {
        let mut results = Vec::with_capacity(events.len());
        // as much as a pipe holds, both ways
        for part in events.chunks(128) {
            let sent = to_bytes(part.as_flattened());
            let bytes = Self::run(self, &sent, part.len(), RESULT * 8);
            results.extend(bytes.chunks_exact(RESULT * 8).map(result_of));
        }
        results
    }
}

/// In the kernel.
struct Kernel {
    object: libbpf_rs::Object,
    events: MapHandle,
    results: MapHandle,
    connections: MapHandle,
    begun: u64,
}

impl Kernel {
    fn load() -> Option<Self> {
        let object = in_kernel::load(PROGRAM)?;
        let map = |name| map_of(&object, name).expect("a map");
        Some(Self {
            events: map("events"),
            results: map("results"),
            connections: map("connections"),
            object,
            begun: 0,
        })
    }

    fn begin(&mut self) {
        self.begun += 1;
        let mut value = vec![0; self.connections.value_size() as usize];
        value[MELD..MELD + 8].copy_from_slice(&self.begun.to_ne_bytes());
        put(&self.connections, &value);
    }
}

fn put(map: &MapHandle, value: &[u8]) {
    let updated = map.update(&0u32.to_ne_bytes(), value, MapFlags::ANY);
    updated.expect("written");
}

impl Model for Kernel {
    fn run(&mut self, events: &[[u64; EVENT]]) -> Vec<[u64; RESULT]> {
        let mut results = Vec::with_capacity(events.len());
        for event in events {
            if event[0] == 0 {
                self.begin();
                results.push([0; RESULT]);
                continue;
            }
            put(&self.events, &to_bytes(event));
            let program = self.object.progs_mut().find(|p| p.name() == "run");
            let output = program
                .expect("a program")
                .test_run(ProgramInput::default());
            assert_eq!(output.expect("run").return_value, 0);
            let value = self.results.lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
            results.push(result_of(&value.expect("read").expect("a value")));
        }
        results
    }
}

fn result_of(bytes: &[u8]) -> [u64; RESULT] {
    let mut words = [0; RESULT];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().expect("eight"));
    }
    words
}

/// A connection's events, with what the core makes of each.
struct Sequence {
    config: Config,
    core: Discriminator,
    events: Vec<(Instant, Event, Option<Outcome>)>,
    /// How often each reason decided, acknowledgements held the window, the flow was steered, and the wrapped
    /// window counted.
    reasons: [u64; Reason::ALL.len()],
    held: u64,
    steered: u64,
    yielding: u64,
}

impl Sequence {
    fn new(config: Config) -> Self {
        Self {
            config,
            core: Discriminator::new(config),
            events: vec![(Instant::ZERO, Event::Begin, None)],
            reasons: [0; Reason::ALL.len()],
            held: 0,
            steered: 0,
            yielding: 0,
        }
    }

    fn push(&mut self, now: Instant, event: Event) -> Outcome {
        let mut outcome = Outcome::default();
        match &event {
            Event::Begin | Event::Take => {}
            Event::Congestion => self.core.on_congestion(),
            Event::Report(state) => self.core.on_radio(now, state),
            Event::Ack(ack) => outcome.is_held = self.core.on_ack(now, ack),
            Event::Loss(loss) => {
                let LossDecision {
                    reason,
                    max_in_flight,
                    ..
                } = self.core.judge(now, loss);
                outcome.verdict = Some((reason, max_in_flight));
                self.reasons[reason as usize] += 1;
            }
        }
        outcome.state = self.core.state();
        let order = self.core.pacing_order();
        outcome.pace = order.map_or(BitRate::ZERO, |order| order.pace);
        outcome.window = self.core.window(match &event {
            Event::Ack(ack) => ack.inner_cwnd,
            _ => Bytes::ZERO,
        });
        self.held += u64::from(outcome.is_held);
        self.steered += u64::from(self.core.order().is_some());
        self.yielding += u64::from(!outcome.state.is_leading);
        // the kernel takes reports as something else comes
        let is_compared = !matches!(event, Event::Report(_));
        self.events
            .push((now, event, is_compared.then_some(outcome)));
        outcome
    }

    fn compare(&self, model: &mut dyn Model, what: &str) {
        let events = self.events.iter();
        let sent: Vec<_> = events
            .map(|(now, event, _)| event.words(*now, self.config))
            .collect();
        let results = model.run(&sent);
        for (k, ((now, event, expected), found)) in self.events.iter().zip(&results).enumerate() {
            let Some(expected) = expected else { continue };
            let is_loss = matches!(event, Event::Loss(_));
            let is_default = self.config.variant == Variant::Default;
            let found = Outcome::of(found, is_loss, is_default);
            assert_eq!(
                found,
                *expected,
                "{what}, {:?}: event {k} at {} ns: {event:?}",
                self.config,
                now.as_nanos()
            );
        }
    }
}

/// Numbers of a sequence: as networks have them, or any.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Plausible,
    Absurd,
}

struct Source {
    rng: Rng,
    kind: Kind,
}

impl Source {
    fn number(&mut self, from: u64, until: u64) -> u64 {
        match self.kind {
            Kind::Plausible => from + self.rng.below(until - from),
            Kind::Absurd => match self.rng.below(6) {
                0 => 0,
                1 => 1,
                2 => u64::MAX,
                3 => from + self.rng.below(until - from),
                4 => self.rng.next_u64() >> self.rng.below(64),
                _ => self.rng.next_u64(),
            },
        }
    }

    fn bytes(&mut self, from: u64, until: u64) -> Bytes {
        Bytes::new(self.number(from, until))
    }

    /// From and until in microseconds.
    fn time(&mut self, from: u64, until: u64) -> Duration {
        Duration::from_nanos(self.number(from * 1_000, until * 1_000))
    }

    fn report(&mut self, now: Instant, period: Duration) -> RadioState {
        let lost = self.number(0, 4) as u32;
        let is_counted = self.rng.chance(0.7);
        let is_lossy = self.rng.chance(0.3);
        // of four reports in five the queue is of the size that decides
        let queue = match self.rng.below(5) {
            0 => self.bytes(0, 200_000),
            _ => self.bytes(5_000, 45_000),
        };
        RadioState {
            tbs: self.bytes(170, 2_300),
            best_tbs: self.bytes(2_000, 2_300),
            harq_processes: match self.kind {
                Kind::Plausible => 8 * (1 + self.rng.below(2)) as u8,
                Kind::Absurd => self.rng.next_u64() as u8,
            },
            queue,
            served: self.bytes(0, 20_000),
            harq_retx: (self.rng.chance(0.4)).into(),
            lost_packets: is_counted.then_some(if is_lossy { lost } else { 0 }),
            period,
            slots: self.rng.below(70) as u32,
            seq: 0,
            made_at: match self.kind {
                Kind::Plausible => now - self.time(0, 45_000),
                Kind::Absurd => Instant::from_nanos(self.number(0, now.as_nanos().max(1))),
            },
        }
    }

    fn ack(&mut self, srtt: Duration) -> Acked {
        Acked {
            newly_acked: self.bytes(0, 30_000),
            prior_in_flight: self.bytes(0, 150_000),
            srtt,
            min_rtt: self.time(20_000, 60_000),
            inner_cwnd: self.bytes(4_000, 200_000),
            is_slow_start: self.rng.chance(0.4),
        }
    }

    fn loss(&mut self, now: Instant, srtt: Duration) -> LossSample {
        LossSample {
            kind: LossKind::Fast,
            lost: self.bytes(0, 6_000),
            bytes_in_flight: self.bytes(0, 120_000),
            lost_sent_at: match self.kind {
                Kind::Plausible => now - self.time(0, 2 * srtt.as_micros().max(1)),
                Kind::Absurd => Instant::from_nanos(self.number(0, now.as_nanos().max(1))),
            },
        }
    }

    /// What follows a time, and when. Reports come in rows of up to as many as the kernel takes at a time.
    fn fill(&mut self, sequence: &mut Sequence) {
        let mut now = Instant::from_nanos(1_000_000_000);
        let period = [1_000, 5_000, 8_000, 40_000][self.rng.below(4) as usize];
        let mut srtt = self.time(30_000, 120_000);
        for _ in 0..30 + self.rng.below(120) {
            let row = match self.rng.below(60) {
                0 => 1 + self.rng.below(255),
                n => n % 3,
            };
            for _ in 0..row {
                now += self.time(0, 2 * period);
                let covered = self.time(period, period + 1);
                let report = self.report(now, covered);
                sequence.push(now, Event::Report(report));
            }
            now += self.time(0, 10_000);
            if self.rng.chance(0.1) {
                srtt = self.time(0, 400_000);
            }
            let event = match self.rng.below(20) {
                0..=1 => Event::Take,
                2 => Event::Congestion,
                3..=6 => Event::Loss(self.loss(now, srtt)),
                _ => Event::Ack(self.ack(srtt)),
            };
            sequence.push(now, event);
        }
    }
}

/// So many sequences of each variant and kind.
fn compare_random(model: &mut dyn Model, sequences: u64) {
    let mut reasons = [0; Reason::ALL.len()];
    let (mut held, mut steered, mut yielding) = (0, 0, 0);
    for variant in VARIANTS {
        for kind in [Kind::Plausible, Kind::Absurd] {
            for seed in 0..sequences {
                let rng = Streams::new(seed).stream("meld-differential");
                let mut source = Source { rng, kind };
                let config = Config {
                    max_age: source.time(1_000, 60_000),
                    ..Config::new(variant, source.bytes(500, 1_500))
                };
                let mut sequence = Sequence::new(config);
                source.fill(&mut sequence);
                sequence.compare(model, &format!("{kind:?} sequence {seed}"));
                for (sum, count) in reasons.iter_mut().zip(sequence.reasons) {
                    *sum += count;
                }
                held += sequence.held;
                steered += sequence.steered;
                if variant == Variant::Default {
                    yielding += sequence.yielding;
                }
            }
        }
    }
    // every rule decided something
    assert!(reasons.iter().all(|&count| count > 0), "{reasons:?}");
    let counts = [held, steered, yielding];
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}

#[test]
fn random_sequences_are_decided_the_same() {
    compare_random(
        &mut Native::compile(env!("CARGO_MANIFEST_DIR"), "meld_check", &[], "random"),
        700,
    );
}

#[test]
fn random_sequences_are_decided_the_same_in_the_kernel() {
    if let Some(mut kernel) = Kernel::load() {
        compare_random(&mut kernel, 150);
    }
}
