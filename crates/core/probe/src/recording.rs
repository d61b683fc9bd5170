//! What came of a recording: for each direction the opportunities at which packets were delivered, and the round trips of
//! the light workload.
//!
//! Of each round counts the time in which both directions that are recorded deliver: from the later of their first arrivals
//! to the earlier of their last. In it both have a queue, if the rates are above the capacity. The rounds follow each other
//! without the time between them, so that the traces of both directions are of one length and of the same times.

use crate::message::{Arrival, Probe};
use crate::plan::Plan;
use radio::trace::Trace;
use units::{Bytes, Duration, Instant};

/// A queue is there if a packet of the heavy workload took this much longer than the fastest.
pub const QUEUED: Duration = Duration::from_millis(20);
/// Looked at in parts of this many milliseconds.
const PART_MS: u64 = 100;

/// How the clocks differ, by the exchange with the smallest round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    /// Round trip, and the server's clock less the UE's: ns.
    best: Option<(i128, i64)>,
}

impl Clocks {
    /// Something left here at `left`, came there at `came`, went back at `sent` and arrived here at `arrived`.
    pub(crate) fn exchange(
        &mut self,
        left: Instant,
        came: Instant,
        sent: Instant,
        arrived: Instant,
    ) {
        let [left, came, sent, arrived] =
            [left, came, sent, arrived].map(|at| i128::from(at.as_nanos()));
        let trip = (arrived - left) - (sent - came);
        let offset = ((came - left) + (sent - arrived)) / 2;
        let Ok(offset) = i64::try_from(offset) else {
            return;
        };
        if trip >= 0 && self.best.is_none_or(|(smallest, _)| trip < smallest) {
            self.best = Some((trip, offset));
        }
    }

    /// A millisecond of the server's clock by the UE's.
    fn here(self, at_ms: u64) -> u64 {
        let offset = self.best.map_or(0, |(_, offset)| i128::from(offset));
        let here = (i128::from(at_ms) * 1_000_000 - offset).div_euclid(1_000_000);
        u64::try_from(here).unwrap_or(0)
    }
}

/// A probe that came back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trip {
    train: u32,
    index: u16,
    left: Instant,
    /// Between two clocks, ns.
    up: i128,
    down: i128,
}

impl Trip {
    pub(crate) fn of(probe: &Probe, now: Instant) -> Self {
        let [left, turned, now] = [probe.at, probe.turned, now].map(|at| i128::from(at.as_nanos()));
        Self {
            train: probe.train,
            index: probe.index,
            left: probe.at,
            up: turned - left,
            down: now - turned,
        }
    }
}

/// What a client has counted.
pub(crate) struct Counted {
    pub(crate) plan: Plan,
    pub(crate) rounds: u32,
    pub(crate) down: Vec<Arrival>,
    pub(crate) down_received: u64,
    pub(crate) down_next: u64,
    pub(crate) up: Vec<Arrival>,
    pub(crate) up_received: u64,
    pub(crate) up_sent: u64,
    pub(crate) clocks: Clocks,
    pub(crate) trips: Vec<Trip>,
    pub(crate) probes: u64,
    pub(crate) bytes: Bytes,
}

/// A packet of a train that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// When it was sent, since the first.
    pub at: Duration,
    /// Its train, and its place there: the first finds the radio at rest.
    pub train: u32,
    /// See `train`.
    pub index: u16,
    /// The round trip.
    pub rtt: Duration,
    /// Of the way there and of the way back, what each took longer than its fastest.
    pub up: Duration,
    /// See `up`.
    pub down: Duration,
}

/// What was delivered in one direction under the heavy workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Bytes with IP and UDP headers, with the millisecond of the trace.
    pub deliveries: Vec<(Duration, Bytes)>,
    /// Length of the trace.
    pub duration: Duration,
    /// Bytes of them.
    pub recorded: Bytes,
    /// Bytes that came before both directions delivered, or after.
    pub outside: Bytes,
    /// Packets that came.
    pub received: u64,
    /// Packets that did not.
    pub lost: u64,
    /// The share of tenths of seconds in which no packet had waited for [`QUEUED`]: in these the trace is what was sent,
    /// not what the path could have carried.
    pub unqueued: f64,
}

impl Direction {
    /// The opportunities as a trace; none if nothing was delivered.
    pub fn trace(&self, source: &str) -> Option<Trace> {
        let deliveries = self.deliveries.iter().copied();
        radio::trace::delivered(source, deliveries, self.duration)
    }
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Towards the UE; none if it was not asked for.
    pub down: Option<Direction>,
    /// From the UE.
    pub up: Option<Direction>,
    /// Of the light workload, in the order in which they were sent.
    pub round_trips: Vec<RoundTrip>,
    /// Packets of trains that were sent.
    pub probes: u64,
    /// Rounds with a heavy workload that began.
    pub rounds: u32,
    /// All that came to the UE of the server's, with IP and UDP headers.
    pub bytes: Bytes,
}

impl Recording {
    /// The round trips as a table: `time_s`, `train`, `packet`, `rtt_ms`, and what the ways there and back took longer than
    /// their fastest, `up_ms` and `down_ms`.
    pub fn round_trips_csv(&self) -> String {
        let mut text = String::from("time_s,train,packet,rtt_ms,up_ms,down_ms\n");
        for trip in &self.round_trips {
            text.push_str(&format!(
                "{:.6},{},{},{:.3},{:.3},{:.3}\n",
                trip.at.as_secs_f64(),
                trip.train,
                trip.index,
                trip.rtt.as_millis_f64(),
                trip.up.as_millis_f64(),
                trip.down.as_millis_f64()
            ));
        }
        text
    }
}

/// Puts together what was counted.
pub(crate) fn assemble(mut counted: Counted) -> Recording {
    let heavy = counted.plan.has_heavy();
    let is_wanted = |rate: units::BitRate| heavy && !rate.is_zero();
    for arrival in &mut counted.up {
        arrival.at_ms = counted.clocks.here(arrival.at_ms);
    }
    let mut down = Builder::new(counted.down);
    let mut up = Builder::new(counted.up);
    let mut begin = 0;
    for round in 1..=counted.rounds {
        let spans = [down.span(round), up.span(round)];
        let spans = || spans.iter().flatten();
        let from = spans().map(|span| span.0).max();
        let until = spans().map(|span| span.1).min();
        let (Some(from), Some(until)) = (from, until) else {
            continue;
        };
        if until <= from {
            continue;
        }
        down.take(round, from, until, begin);
        up.take(round, from, until, begin);
        begin += until - from;
    }
    let duration = Duration::from_millis(begin);
    let lost = |sent: u64, received: u64| sent.saturating_sub(received);
    let (down_received, up_received) = (counted.down_received, counted.up_received);
    Recording {
        down: is_wanted(counted.plan.down).then(|| {
            let lost = lost(counted.down_next, down_received);
            down.direction(duration, down_received, lost)
        }),
        up: is_wanted(counted.plan.up).then(|| {
            let lost = lost(counted.up_sent, up_received);
            up.direction(duration, up_received, lost)
        }),
        round_trips: round_trips(&counted.trips),
        probes: counted.probes,
        rounds: counted.rounds,
        bytes: counted.bytes,
    }
}

fn round_trips(trips: &[Trip]) -> Vec<RoundTrip> {
    let smallest = |of: fn(&Trip) -> i128| trips.iter().map(of).min().unwrap_or(0);
    let (up, down) = (smallest(|trip| trip.up), smallest(|trip| trip.down));
    let first = trips.iter().map(|trip| trip.left).min();
    let nanos = |ns: i128| Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
    let mut all: Vec<RoundTrip> = trips
        .iter()
        .map(|trip| RoundTrip {
            at: trip.left.saturating_since(first.unwrap_or_default()),
            train: trip.train,
            index: trip.index,
            rtt: nanos(trip.up + trip.down),
            up: nanos(trip.up - up),
            down: nanos(trip.down - down),
        })
        .collect();
    all.sort_by_key(|trip| (trip.train, trip.index));
    // a network may deliver one twice
    all.dedup_by_key(|trip| (trip.train, trip.index));
    all
}

/// The arrivals of a direction becoming its trace.
struct Builder {
    /// By their rounds.
    arrivals: Vec<Arrival>,
    fastest: i64,
    deliveries: Vec<(Duration, Bytes)>,
    recorded: Bytes,
    /// Parts of a tenth of a second with arrivals, and those of them with a queue.
    parts: u64,
    queued: u64,
    /// The part of the last arrival, and whether it has been found to have one.
    part: Option<(u64, bool)>,
}

impl Builder {
    fn new(mut arrivals: Vec<Arrival>) -> Self {
        arrivals.sort_unstable_by_key(|arrival| (arrival.round, arrival.at_ms));
        let delays = arrivals.iter().map(|arrival| arrival.delay_ns);
        Self {
            fastest: delays.min().unwrap_or(0),
            arrivals,
            deliveries: Vec::new(),
            recorded: Bytes::ZERO,
            parts: 0,
            queued: 0,
            part: None,
        }
    }

    fn of(&self, round: u32) -> core::ops::Range<usize> {
        let before = |round: u32| {
            self.arrivals
                .partition_point(|arrival| arrival.round < round)
        };
        before(round)..before(round.saturating_add(1))
    }

    /// First millisecond, and the one behind the last.
    fn span(&self, round: u32) -> Option<(u64, u64)> {
        let of = self.arrivals.get(self.of(round))?;
        Some((of.first()?.at_ms, of.last()?.at_ms + 1))
    }

    fn take(&mut self, round: u32, from: u64, until: u64, begin: u64) {
        for place in self.of(round) {
            let arrival = self.arrivals[place];
            if !(from..until).contains(&arrival.at_ms) {
                continue;
            }
            let at = begin + (arrival.at_ms - from);
            self.deliveries
                .push((Duration::from_millis(at), arrival.bytes));
            self.recorded += arrival.bytes;
            let waited = arrival.delay_ns.saturating_sub(self.fastest);
            let is_queued = u64::try_from(waited).is_ok_and(|ns| ns >= QUEUED.as_nanos());
            self.count(at / PART_MS, is_queued);
        }
    }

    fn count(&mut self, part: u64, is_queued: bool) {
        let found = match self.part {
            Some((last, found)) if last == part => found,
            _ => {
                self.parts += 1;
                false
            }
        };
        self.queued += u64::from(is_queued && !found);
        self.part = Some((part, found || is_queued));
    }

    fn direction(self, duration: Duration, received: u64, lost: u64) -> Direction {
        let all: Bytes = self.arrivals.iter().map(|arrival| arrival.bytes).sum();
        Direction {
            deliveries: self.deliveries,
            duration,
            recorded: self.recorded,
            outside: all - self.recorded,
            received,
            lost,
            unqueued: match self.parts {
                0 => 0.0,
                parts => 1.0 - self.queued as f64 / parts as f64,
            },
        }
    }
}
