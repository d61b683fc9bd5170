//! The program's arithmetic beside the Rust core's: the same events, the same states, to the bit.

use super::words;
use crate::load::map_of;
use cc::cdbe::cadence::Cadence;
use cc::cdbe::clock::PeerClock;
use cc::cdbe::{Mode, estimator, server};
use cc::{RateReport, Timestamps};
use libbpf_rs::{MapCore, MapFlags, MapHandle, ObjectBuilder, ProgramInput};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cdbe_check.bpf.o"));

/// Places in the program's `struct check`, in words.
const EVENT: usize = 0;
const RULES: usize = 1;
const SEGMENT: usize = RULES + words::RULES;
const ESTIMATE: usize = SEGMENT + 4;
const CADENCE: usize = ESTIMATE + words::ESTIMATE;
const IS_TOLD: usize = CADENCE + 4;
const STAMPS: usize = IS_TOLD + 1;
const CLOCK: usize = STAMPS + 2;
const ACK: usize = CLOCK + 5;
const DECISION: usize = ACK + 9;
const PACING_RATE: usize = DECISION + words::DECISION;
const WINDOW: usize = PACING_RATE + 1;
const WORDS: usize = WINDOW + 1;

/// The program, with the state that it has reached.
struct Kernel {
    object: libbpf_rs::Object,
    checks: MapHandle,
    words: [u64; WORDS],
}

impl Kernel {
    fn load() -> Option<Self> {
        let open = ObjectBuilder::default().open_memory(PROGRAM).expect("read");
        let object = match open.load() {
            Ok(object) => object,
            Err(error) if error.kind() == libbpf_rs::ErrorKind::PermissionDenied => {
                eprintln!("skipped: loading a program needs root: {error}");
                return None;
            }
            Err(error) => panic!("{error:#}"),
        };
        let checks = map_of(&object, "checks").expect("a map");
        Some(Self {
            object,
            checks,
            words: [0; WORDS],
        })
    }

    /// At the start of a connection.
    fn begin(&mut self, config: &server::Config) {
        self.words = [0; WORDS];
        self.put(RULES, &words::rules(config));
        self.words[ESTIMATE + words::ESTIMATE - 1] = u64::from(cc::cdbe::INITIAL_REPORT);
        let decision = &mut self.words[DECISION..];
        decision[1] = u64::from(cc::cdbe::INITIAL_REPORT);
        decision[20] = u64::from(cc::cdbe::INITIAL_REPORT);
        decision[25] = server::STARTUP_GAIN;
    }

    fn put(&mut self, at: usize, words: &[u64]) {
        self.words[at..at + words.len()].copy_from_slice(words);
    }

    fn get<const N: usize>(&self, at: usize) -> [u64; N] {
        self.words[at..at + N].try_into().expect("so many words")
    }

    fn run(&mut self) {
        let key = 0u32.to_ne_bytes();
        let value = words::to_bytes(self.words);
        let updated = self.checks.update(&key, &value, MapFlags::ANY);
        updated.expect("written");
        let program = self.object.progs_mut().next().expect("a program");
        let output = program.test_run(ProgramInput::default()).expect("run");
        assert_eq!(output.return_value, 0);
        let value = self.checks.lookup(&key, MapFlags::ANY).expect("read");
        self.words = words::from_bytes(&value.expect("a value"), 0).expect("so many words");
    }

    fn arrive(&mut self, segment: &estimator::Segment) -> (estimator::State, bool) {
        self.words[EVENT] = 0;
        let stamp = u64::from(segment.stamp);
        self.put(SEGMENT, &[segment.at, segment.bytes, stamp, segment.rtt]);
        self.run();
        let state = words::estimate(&self.get(ESTIMATE));
        (state, self.words[IS_TOLD] != 0)
    }

    fn acknowledge(&mut self, event: &server::Event, stamps: Option<Timestamps>) -> Decided {
        self.words[EVENT] = 1;
        if let Some(stamps) = stamps {
            self.put(STAMPS, &[u64::from(stamps.val), u64::from(stamps.ecr)]);
        }
        let ack = [
            event.at,
            u64::from(event.report.is_some()),
            u64::from(event.report.unwrap_or(0)),
            u64::from(stamps.is_some()),
            0,
            event.min_rtt,
            event.in_flight,
            event.delivered,
            u64::from(event.is_app_limited),
        ];
        self.put(ACK, &ack);
        self.run();
        let [is_running, val, ecr, first_at, tick] = self.get(CLOCK);
        Decided {
            state: words::decision(&self.get(DECISION)),
            clock: PeerClock {
                is_running: is_running != 0,
                first_val: val as u32,
                first_ecr: ecr as u32,
                first_at,
                tick,
            },
            pacing_rate: self.words[PACING_RATE],
            window: self.words[WINDOW],
        }
    }
}

/// All that follows from an acknowledgement.
#[derive(Debug, PartialEq, Eq)]
struct Decided {
    state: server::State,
    clock: PeerClock,
    pacing_rate: u64,
    window: u64,
}

/// A segment after another: gap (us), bytes, what the sender's clock went on (ticks), RTT (us).
type Step = (u64, u64, i32, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![
        8 => 0..3_000u64,
        2 => 3_000..200_000u64,
        1 => 200_000..90_000_000u64,
    ];
    let bytes = prop_oneof![1_448u64..=1_448, 0..70_000u64];
    let stamp = prop_oneof![6 => 0..3i32, 1 => -300..300i32, 1 => any::<i32>()];
    let rtt = prop_oneof![6 => 5_000..200_000u64, 1 => Just(0u64), 1 => 0..20_000_000u64];
    prop::collection::vec((gap, bytes, stamp, rtt), 1..120)
}

fn same_estimates(kernel: &mut Kernel, mode: Mode, steps: &[Step]) {
    let config = estimator::Config::new(mode);
    let mut state = estimator::State::new(&config);
    let mut cadence = Cadence::new(mode);
    kernel.begin(&server::Config::new(mode, 1_448));
    let (mut at, mut stamp) = (1_000_000u64, 7u32);
    for &(gap, bytes, ticks, rtt) in steps {
        at += gap;
        stamp = stamp.wrapping_add_signed(ticks);
        let segment = estimator::Segment {
            at,
            bytes,
            stamp,
            rtt,
        };
        state.on_segment(&config, &segment);
        let told = cadence.on_ack(RateReport::saturating(state.rate)).is_some();
        assert_eq!(kernel.arrive(&segment), (state, told), "after {segment:?}");
    }
}

/// An acknowledgement after another: gap (us), report, ticks of TSval and TSecr, whether it has them,
/// RTT_min (us), in flight, delivered (byte/s), application-limited.
type Reply = (u64, Option<u32>, (u32, u32), bool, u64, (u64, u64), bool);

fn replies() -> impl Strategy<Value = Vec<Reply>> {
    let gap = prop_oneof![8 => 0..5_000u64, 2 => 5_000..100_000u64, 1 => 0..30_000_000u64];
    let number = prop_oneof![
        6 => 100_000..20_000_000u32,
        1 => Just(0u32),
        1 => Just(u32::MAX),
        1 => any::<u32>(),
    ];
    let report = prop_oneof![1 => Just(None), 3 => number.prop_map(Some)];
    let ticks = prop_oneof![
        8 => (0..20u32, 0..20u32),
        1 => (any::<u32>(), any::<u32>()),
    ];
    let min_rtt = prop_oneof![8 => 20_000..21_000u64, 1 => 0..2_000_000u64];
    let delivered =
        prop_oneof![1 => Just(0u64), 4 => 0..30_000_000u64, 1 => 0..=u64::from(u32::MAX)];
    let amounts = (0..5_000_000u64, delivered);
    let is_app_limited = prop::bool::weighted(0.1);
    let has_stamps = prop::bool::weighted(0.95);
    let reply = (
        gap,
        report,
        ticks,
        has_stamps,
        min_rtt,
        amounts,
        is_app_limited,
    );
    prop::collection::vec(reply, 1..200)
}

fn same_decisions(kernel: &mut Kernel, mode: Mode, replies: &[Reply]) {
    let config = server::Config::new(mode, 1_448);
    let mut state = server::State::new();
    let mut clock = PeerClock::default();
    kernel.begin(&config);
    let (mut at, mut val, mut ecr) = (1_000_000u64, 99u32, 12u32);
    for &(gap, report, ticks, has_stamps, min_rtt, (in_flight, delivered), is_app_limited) in
        replies
    {
        at += gap;
        val = val.wrapping_add(ticks.0);
        ecr = ecr.wrapping_add(ticks.1);
        let stamps = has_stamps.then_some(Timestamps { val, ecr });
        let event = server::Event {
            at,
            report,
            delay: stamps.and_then(|stamps| clock.delay(mode, at, stamps)),
            min_rtt,
            in_flight,
            delivered,
            is_app_limited,
        };
        state.on_ack(&config, &event);
        let decided = Decided {
            state,
            clock,
            pacing_rate: state.pacing_rate(&config),
            window: state.window(&config),
        };
        let found = kernel.acknowledge(&event, stamps);
        assert_eq!(found, decided, "after {event:?}");
    }
}

fn runner() -> TestRunner {
    TestRunner::new(Config {
        cases: 96,
        failure_persistence: None,
        ..Config::default()
    })
}

#[test]
fn the_kernels_estimate_is_the_cores() {
    let Some(mut kernel) = Kernel::load() else {
        return;
    };
    let kernel = std::cell::RefCell::new(&mut kernel);
    for mode in [Mode::Paper, Mode::Default] {
        let same = |steps: Vec<Step>| {
            same_estimates(*kernel.borrow_mut(), mode, &steps);
            Ok(())
        };
        runner().run(&steps(), same).expect("the same");
    }
}

#[test]
fn the_kernels_decisions_are_the_cores() {
    let Some(mut kernel) = Kernel::load() else {
        return;
    };
    let kernel = std::cell::RefCell::new(&mut kernel);
    for mode in [Mode::Paper, Mode::Default] {
        let same = |replies: Vec<Reply>| {
            same_decisions(*kernel.borrow_mut(), mode, &replies);
            Ok(())
        };
        runner().run(&replies(), same).expect("the same");
    }
}
