//! Packets of a call beside a download, while one path stalls.

use super::*;
use crate::class::FlowLabel;
use std::collections::{BTreeMap, BTreeSet};

/// Numbers of the call's packets begin here.
pub(super) const CALL: u64 = 1 << 32;

/// Packets of the call every 10 ms beside a backlog, for so long: when each was sent and first delivered.
pub(super) struct Call {
    pub(super) sent: BTreeMap<u64, Instant>,
    pub(super) delivered: BTreeMap<u64, Instant>,
    seen: usize,
    /// Packets at a time.
    pub(super) burst: usize,
}

impl Call {
    pub(super) fn new(pair: &Pair) -> Self {
        Self {
            sent: BTreeMap::new(),
            delivered: BTreeMap::new(),
            seen: pair.delivered.len(),
            burst: 1,
        }
    }

    pub(super) fn run(&mut self, pair: &mut Pair, ms: u64) {
        for _ in 0..ms / 10 {
            for _ in 0..self.burst {
                let number = CALL + self.sent.len() as u64;
                let server = pair.server.as_mut().expect("accepted");
                server.send(pair.now, data(number, 300)).expect("room");
                self.sent.insert(number, pair.now);
            }
            for _ in 0..200 {
                pair.now += Duration::from_micros(50);
                pair.step(100);
                for data in &pair.delivered[self.seen..] {
                    if data.number >= CALL {
                        let before = self.delivered.insert(data.number, pair.now);
                        assert_eq!(before, None, "delivered twice");
                    }
                }
                self.seen = pair.delivered.len();
            }
        }
    }

    /// Delays, the lowest first.
    fn delays(&self) -> Vec<Duration> {
        let delays = self
            .delivered
            .iter()
            .map(|(number, at)| at.saturating_since(self.sent[number]));
        let mut delays: Vec<_> = delays.collect();
        delays.sort_unstable();
        delays
    }
}

fn opened(scheduler: &'static str) -> Pair {
    Pair::opened(scheduler, TunnelConfig::default(), controller("newreno"))
}

/// Small packets of the test's payload are a UDP flow's.
#[test]
fn the_payloads_of_these_tests_show_a_flow() {
    let data = |bytes| Data {
        number: 0,
        bytes,
        ecn: Ecn::NotEct,
    };
    assert!(data(300).label().is_udp && data(1_400).label() == FlowLabel::default());
}

#[test]
fn a_path_that_stalls_is_left_and_what_is_on_it_takes_the_other() {
    let mut pair = opened("deadline");
    pair.run(Duration::from_millis(500), 100);
    let mut call = Call::new(&pair);
    call.run(&mut pair, 500);
    // what enters it now never leaves it: no acknowledgement comes, and no loss is found
    pair.down[0].is_cut = true;
    let began = call.sent.len() as u64;
    call.run(&mut pair, 1_000);
    let stats = pair.server.as_ref().expect("accepted").stats().latency;
    assert!(
        stats.departures >= 1 && stats.moved >= Packets::new(1),
        "{stats:?}"
    );
    let missing: Vec<u64> = (0..began + 95)
        .filter(|n| !call.delivered.contains_key(&(CALL + n)))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {began}, {stats:?}");
    // until the path is left packets wait on it: for the acknowledgement, 15 ms and jitter, and the other path
    let longest = call.delays().last().copied().expect("delivered");
    assert!(
        longest <= Duration::from_millis(150),
        "{longest}, {stats:?}"
    );
}

/// Copies of both paths, and none is delivered twice; without a stall packets are not held by bulk.
#[test]
fn a_call_is_not_held_for_the_download() {
    let mut pair = opened("deadline");
    pair.run(Duration::from_millis(500), 100);
    let mut call = Call::new(&pair);
    call.run(&mut pair, 2_000);
    let delays = call.delays();
    // 10 ms of the faster path and what NewReno keeps there
    let median = delays[delays.len() / 2];
    assert!(median <= Duration::from_millis(20), "{median}");
    let unordered = pair.client.stats().latency.unordered;
    assert_eq!(unordered.get(), call.delivered.len() as u64);
    // bulk comes whole, in order but for its late packets
    let bulk = pair.delivered.iter().filter(|data| data.number < CALL);
    let numbers: Vec<u64> = bulk.map(|data| data.number).collect();
    let different: BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(different.len(), numbers.len(), "none twice");
}

/// What `deadline` marks is all that is new on the wire; other schedulers mark nothing.
#[test]
fn other_schedulers_have_no_classes() {
    let mut pair = opened("aware");
    let mut call = Call::new(&pair);
    call.run(&mut pair, 300);
    let stats = pair.client.stats().latency;
    assert_eq!(stats, LatencyCounters::default());
    assert!(call.delivered.len() > 20);
}

fn data(number: u64, bytes: usize) -> Data {
    Data {
        number,
        bytes,
        ecn: Ecn::NotEct,
    }
}

/// Both windows are full with bulk, of which nothing has arrived: a call's packets leave nonetheless, up to a bound, and do not
/// count in the windows.
#[test]
fn a_full_window_does_not_hold_a_call() {
    let mut pair = opened("deadline");
    let now = pair.now;
    let server = pair.server.as_mut().expect("accepted");
    for number in 0..100 {
        server.send(now, data(number, 1_400)).expect("room");
    }
    let leaves = |server: &mut Tunnel<Data>| {
        let mut numbers = Vec::new();
        while let Some(transmit) = server.poll_transmit(now) {
            numbers.extend(transmit.payload.map(|data| data.number));
        }
        numbers
    };
    let bulk = leaves(server);
    assert!(!bulk.is_empty() && bulk.len() < 100);
    let is_full = |path: &Path<Data>| path.sender.room().is_zero();
    assert!(server.paths.iter().all(is_full));
    let counted = |server: &Tunnel<Data>| {
        let paths = server.paths.iter();
        paths
            .map(|path| path.sender.bytes_in_flight())
            .collect::<Vec<_>>()
    };
    let before = counted(server);
    server.send(now, data(CALL, 300)).expect("room");
    assert_eq!(leaves(server), [CALL]);
    for number in 1..300 {
        server.send(now, data(CALL + number, 300)).expect("room");
    }
    let left = leaves(server);
    // 128 of each path, less the one before, if copies take the other
    assert!((100..256).contains(&left.len()), "{}", left.len());
    assert_eq!(counted(server), before);
    assert!(left.iter().all(|number| *number >= CALL));
}

/// A buffer that bulk has filled takes a call's packets, and a flood of these is refused in the end.
#[test]
fn a_full_buffer_refuses_no_call_and_a_flood_ends() {
    let mut pair = opened("deadline");
    let now = pair.now;
    let server = pair.server.as_mut().expect("accepted");
    let mut number = 0;
    while server.send(now, data(number, 1_400)).is_ok() {
        number += 1;
    }
    assert_eq!(server.stats().refused, Packets::new(1));
    assert!(server.send(now, data(CALL, 300)).is_ok());
    let mut calls = 1;
    // the pattern's burst is 96 kB
    while server.send(now, data(CALL + calls, 300)).is_ok() {
        calls += 1;
        assert!(calls < 10_000, "never refused");
        while server.poll_transmit(now).is_some() {}
    }
    assert!(calls > 200, "{calls}");
}
