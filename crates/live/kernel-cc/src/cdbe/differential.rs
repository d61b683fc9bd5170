//! The program's arithmetic beside the Rust core's: the same events, the same states, to the bit.

use super::words;
use crate::in_kernel;
use crate::load::map_of;
use cc::cdbe::cadence::Cadence;
use cc::cdbe::clock::PeerClock;
use cc::cdbe::{Mode, estimator, server};
use cc::{RateReport, Timestamps};
use libbpf_rs::{MapCore, MapFlags, MapHandle, ProgramInput};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::VecDeque;

const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cdbe_check.bpf.o"));

/// Places in the program's `struct check`, in words.
const EVENT: usize = 0;
const RULES: usize = 1;
const SEGMENT: usize = RULES + words::RULES;
const ESTIMATE: usize = SEGMENT + 4;
const CADENCE: usize = ESTIMATE + words::ESTIMATE;
const IS_DUE: usize = CADENCE + 4;
const STAMPS: usize = IS_DUE + 1;
const CLOCK: usize = STAMPS + 2;
const ACK: usize = CLOCK + words::CLOCK;
const DECISION: usize = ACK + 13;
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
        let object = in_kernel::load(PROGRAM)?;
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
        (state, self.words[IS_DUE] != 0)
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
            event.tick,
            event.rtt,
            event.min_rtt,
            event.acked,
            event.lost,
            event.in_flight,
            event.delivered,
            u64::from(event.is_app_limited),
        ];
        self.put(ACK, &ack);
        self.run();
        Decided {
            state: words::decision(&self.get(DECISION)),
            clock: words::clock(&self.get(CLOCK)),
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
        let reported = cadence.on_ack(RateReport::saturating(state.rate)).is_some();
        assert_eq!(
            kernel.arrive(&segment),
            (state, reported),
            "after {segment:?}"
        );
    }
}

/// An acknowledgement after another: gap (us), report, ticks of TSval and TSecr, whether it has them,
/// RTT_min and RTT (us), in flight, delivered (byte/s), acknowledged and lost, application-limited.
type Reply = (
    u64,
    Option<u32>,
    (u32, u32),
    bool,
    (u64, u64),
    (u64, u64, u64, u64),
    bool,
);

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
    let rtt = prop_oneof![
        8 => 20_000..60_000u64,
        1 => Just(0u64),
        1 => any::<u64>(),
    ];
    let acked = prop_oneof![8 => 0..6_000u64, 1 => any::<u64>()];
    let lost = prop_oneof![8 => Just(0u64), 2 => 0..12_000u64, 1 => any::<u64>()];
    let amounts = (0..5_000_000u64, delivered, acked, lost);
    let is_app_limited = prop::bool::weighted(0.1);
    let has_stamps = prop::bool::weighted(0.95);
    let reply = (
        gap,
        report,
        ticks,
        has_stamps,
        (min_rtt, rtt),
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
    for &(gap, report, ticks, has_stamps, (min_rtt, rtt), amounts, is_app_limited) in replies {
        let (in_flight, delivered, acked, lost) = amounts;
        at += gap;
        val = val.wrapping_add(ticks.0);
        ecr = ecr.wrapping_add(ticks.1);
        let stamps = has_stamps.then_some(Timestamps { val, ecr });
        let event = server::Event {
            at,
            report,
            delay: stamps.and_then(|stamps| clock.delay(mode, at, stamps)),
            tick: clock.tick,
            rtt,
            min_rtt,
            acked,
            lost,
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

/// A download in a closed loop: what the server decides is sent, what arrives is measured, what is
/// measured is reported. Milliseconds as slots of a cell whose rate steps and which holds data up, as
/// HARQ does.
struct Download {
    mode: Mode,
    now: u64,
    /// Arrivals at the cell's queue: when, the sender's timestamp; of the rival none.
    down: VecDeque<(u64, Option<u32>)>,
    /// Acknowledgements on their way: when, report, timestamps, segments.
    up: VecDeque<(u64, Option<u32>, Timestamps, u64)>,
    credit: u64,
    in_flight: u64,
    estimate: estimator::State,
    cadence: Cadence,
    clock: PeerClock,
    decision: server::State,
    /// Segments that arrived, and were not acknowledged.
    unacked: u64,
}

const MSS: u64 = 1_448;
/// One way without the queue, us.
const WAY: u64 = 20_000;
/// What the client's clock shows above the server's in mode `default`, ticks; `paper` takes both for one.
const OFFSET: u32 = u32::MAX - 1_500;

impl Download {
    fn new(mode: Mode) -> Self {
        Self {
            mode,
            now: 1_000_000,
            down: VecDeque::new(),
            up: VecDeque::new(),
            credit: 0,
            in_flight: 0,
            estimate: estimator::State::new(&estimator::Config::new(mode)),
            cadence: Cadence::new(mode),
            clock: PeerClock::default(),
            decision: server::State::new(),
            unacked: 0,
        }
    }

    fn rules(&self) -> server::Config {
        server::Config::new(self.mode, MSS)
    }

    /// A flow that keeps so many segments in path and queue begins.
    fn join(&mut self, segments: u64) {
        for _ in 0..segments {
            self.down.push_back((self.now + WAY, None));
        }
    }

    /// A millisecond; how many events it had.
    fn step(&mut self, kernel: &mut Kernel) -> usize {
        self.now += 1_000;
        self.send();
        let slot = self.now / 1_000;
        // 2 s each at 3, 1, 6 and 2 MB/s; of 40 slots the first eight carry nothing
        let rate = [3_000, 1_000, 6_000, 2_000][(slot / 2_000) as usize % 4];
        let mut budget = match slot % 40 {
            0..8 => 0,
            8 => 9 * rate,
            _ => rate,
        };
        let mut events = 0;
        while let Some((at, stamp)) = self.down.front().copied()
            && at <= self.now
            && budget >= MSS
        {
            budget -= MSS;
            self.down.pop_front();
            match stamp {
                Some(stamp) => self.arrive(kernel, stamp),
                // its next one
                None => self.down.push_back((self.now + WAY, None)),
            }
            events += 1;
        }
        while self.up.front().is_some_and(|(at, ..)| *at <= self.now) {
            let (_, report, stamps, segments) = self.up.pop_front().expect("there is one");
            self.acknowledge(kernel, report, stamps, segments);
            events += 1;
        }
        events
    }

    fn send(&mut self) {
        let rules = self.rules();
        // before the first acknowledgement: ten segments
        let window = self.decision.window(&rules).max(10 * MSS);
        self.credit = (self.credit + self.decision.pacing_rate(&rules) / 1_000).min(20 * MSS);
        while self.credit >= MSS && self.in_flight + MSS <= window {
            self.credit -= MSS;
            self.in_flight += MSS;
            let stamp = (self.now / 1_000) as u32;
            self.down.push_back((self.now + WAY, Some(stamp)));
        }
    }

    fn arrive(&mut self, kernel: &mut Kernel, stamp: u32) {
        let segment = estimator::Segment {
            at: self.now,
            bytes: MSS,
            stamp,
            rtt: self.now - u64::from(stamp) * 1_000 + WAY,
        };
        let config = estimator::Config::new(self.mode);
        self.estimate.on_segment(&config, &segment);
        let report = RateReport::saturating(self.estimate.rate);
        self.unacked += 1;
        // the kernel's counts what could carry it; a delayed acknowledgement carries it for two
        let reported = self.cadence.on_ack(report);
        let found = kernel.arrive(&segment);
        assert_eq!(
            found,
            (self.estimate, reported.is_some()),
            "after {segment:?}"
        );
        if self.unacked == 2 {
            let offset = if self.mode == Mode::Default {
                OFFSET
            } else {
                0
            };
            let stamps = Timestamps {
                val: ((self.now / 1_000) as u32).wrapping_add(offset),
                ecr: stamp,
            };
            let report = reported.map(RateReport::bytes_per_second);
            self.up
                .push_back((self.now + WAY, report, stamps, self.unacked));
            self.unacked = 0;
        }
    }

    fn acknowledge(
        &mut self,
        kernel: &mut Kernel,
        report: Option<u32>,
        stamps: Timestamps,
        segments: u64,
    ) {
        self.in_flight -= segments * MSS;
        let rtt = self.now - u64::from(stamps.ecr) * 1_000;
        let event = server::Event {
            at: self.now,
            report,
            delay: self.clock.delay(self.mode, self.now, stamps),
            tick: self.clock.tick,
            rtt,
            min_rtt: 2 * WAY + 1_000,
            acked: segments * MSS,
            lost: 0,
            in_flight: self.in_flight,
            delivered: (self.in_flight + segments * MSS) * 1_000_000 / rtt,
            is_app_limited: false,
        };
        let rules = self.rules();
        self.decision.on_ack(&rules, &event);
        let decided = Decided {
            state: self.decision,
            clock: self.clock,
            pacing_rate: self.decision.pacing_rate(&rules),
            window: self.decision.window(&rules),
        };
        let found = kernel.acknowledge(&event, Some(stamps));
        assert_eq!(found, decided, "after {event:?}");
    }
}

#[test]
fn a_download_through_all_states_is_decided_the_same() {
    let Some(mut kernel) = Kernel::load() else {
        return;
    };
    let mut phases = [0u32; 4];
    for mode in [Mode::Paper, Mode::Default] {
        let mut download = Download::new(mode);
        kernel.begin(&download.rules());
        let mut events = 0;
        for _ in 0..9_000 {
            events += download.step(&mut kernel);
            phases[download.decision.phase as usize] += 1;
        }
        assert!(events > 10_000, "{events} events");
    }
    assert!(phases.iter().all(|&slots| slots > 0), "{phases:?}");
}

#[test]
fn a_download_beside_a_flow_that_does_not_yield_is_decided_the_same() {
    let Some(mut kernel) = Kernel::load() else {
        return;
    };
    let mut download = Download::new(Mode::Default);
    kernel.begin(&download.rules());
    let (mut competed, mut cycles) = (0, 0);
    for ms in 0..12_000 {
        if ms == 1_500 {
            download.join(150);
        }
        download.step(&mut kernel);
        let competing = &download.decision.steering.competing;
        competed += u32::from(competing.is_on);
        cycles = cycles.max(competing.cycles);
    }
    assert!(competed > 2_000, "{competed} ms of 10,500");
    assert!(cycles >= 5, "{cycles}");
}
