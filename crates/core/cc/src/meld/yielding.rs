//! Gives way to a flow that begins: [`super::Variant::Yielding`].
//!
//! Two flows of a user that share alike take twice as long as one. What a short one loses by that a long one
//! could give at little cost: for half a second from its beginning on, the long one sends what the newcomer leaves, and
//! leaves it twice what it sent in the last round trip, since that is what slow start sends in the next.
//!
//! No report states what is sent by others. Reports state what left the user's queues and what waits there, and so what came:
//!
//! ```text
//!   arrived(t) = served until t + queue(t)
//!   others     = arrived in a round trip - r x sent here in as long a time, which ended a lag earlier
//!   r          = arrived / sent while there are no others: headers
//! ```
//!
//! The lag, from here to the base station (and back by the report, where that is dated as it arrives), is the one of twenty-one, in
//! steps of a sixteenth of the least round trip, whose squared error has been least.
//!
//! Others have begun where that is a tenth of what arrived, and four packets, after a quarter of a second in which it was not. A
//! flow that yielded does so again only after another quarter of a second alone: flows that come one after the other do not
//! hold it down for longer than that. In a time in which a report is missing nothing is known of others.

use crate::RadioState;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// How long a flow has to be alone before it yields, and how long it does.
pub const ALONE: Duration = Duration::from_millis(250);
pub const YIELD: Duration = Duration::from_millis(500);
/// It ends sooner if others have gone, after so many round trips.
pub const MIN_ROUND_TRIPS: u64 = 2;
/// Others are there from the inverse of this of what arrives on, and from so many packets on.
pub const PRESENCE_SHARE: u64 = 10;
pub const PRESENCE_PACKETS: u64 = 4;
/// Bytes with headers over those without, at first and at the most.
const HEADERS: f64 = 1.04;
const MAX_HEADERS: f64 = 1.08;
/// It, and the squared error of a lag, are averaged over so many reports.
const REPORTS: f64 = 256.0;
const REPORTS_OF_LAG: f64 = 64.0;
/// Lags that are tried, and which part of the least round trip lies between two of them.
const LAGS: usize = 21;
const LAG_SHARE: u64 = 16;
/// Others are left so many times what they sent in the last round trip.
pub const GROWTH: u64 = 2;
/// A flow that yields sends the inverse of this of what passes at the least.
pub const MAX_YIELD: u64 = 8;
/// What arrives is counted over a round trip, and for so long at the least.
pub const COUNTED: Duration = Duration::from_millis(50);
/// That time is divided into so many steps at the most.
const STEPS: u64 = 64;
/// Times that are kept.
const MAX_POINTS: usize = 8 * STEPS as usize;

/// Whether other flows of the user have begun, and until when this one yields.
#[derive(Clone, Debug)]
pub(super) struct Yielding {
    /// Payload sent by a time.
    sent: Log,
    /// Bytes served by the reports so far, and what had come to the base station by a time.
    served: Bytes,
    arrived: Log,
    /// Number of the last report.
    last: Option<u64>,
    /// r, and the squared error of each lag.
    headers: f64,
    errors: [f64; LAGS],
    /// No others since then.
    alone_since: Option<Instant>,
    /// It yields since then, and has yielded until then.
    since: Option<Instant>,
    until: Option<Instant>,
    /// What others sent in a round trip.
    others: Bytes,
    counted: Duration,
}

impl Default for Yielding {
    fn default() -> Self {
        Self {
            sent: Log::default(),
            served: Bytes::ZERO,
            arrived: Log::default(),
            last: None,
            headers: HEADERS,
            errors: [0.0; LAGS],
            alone_since: None,
            since: None,
            until: None,
            others: Bytes::ZERO,
            counted: COUNTED,
        }
    }
}

/// An amount that grows, and what it was at times before.
#[derive(Clone, Debug, Default)]
struct Log {
    now: Bytes,
    points: VecDeque<(Instant, Bytes)>,
}

impl Log {
    /// It is so much now. Times apart by less than `step` are one; what is older than `age` is dropped, but for one.
    fn set(&mut self, now: Instant, amount: Bytes, step: Duration, age: Duration) {
        self.now = amount;
        let is_next = |at: Instant| now.saturating_since(at) >= step;
        match self.points.back_mut() {
            Some((at, last)) if !is_next(*at) => *last = amount,
            _ => self.points.push_back((now, amount)),
        }
        let is_old = |at: Instant| now.saturating_since(at) >= age;
        while self.points.len() > MAX_POINTS
            || self.points.get(1).is_some_and(|(at, _)| is_old(*at))
        {
            self.points.pop_front();
        }
    }

    /// What it was then, and at which time before that it became so; none if that is not known any more.
    fn at(&self, then: Instant) -> Option<(Instant, Bytes)> {
        let after = self.points.partition_point(|(at, _)| *at <= then);
        self.points.get(after.checked_sub(1)?).copied()
    }
}

/// Round trips of the connection, and the size of its packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) srtt: Duration,
    pub(super) min_rtt: Duration,
    pub(super) pdu: Bytes,
}

impl Path {
    /// How long is counted what arrives.
    fn counted(self) -> Duration {
        self.srtt.max(COUNTED)
    }
}

impl Yielding {
    /// That much payload is sent.
    pub(super) fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        let sent = self.sent.now + bytes;
        let step = self.counted / STEPS;
        self.sent.set(now, sent, step, self.counted * 4);
    }

    /// A report arrived.
    pub(super) fn on_radio(&mut self, now: Instant, state: &RadioState, path: Path) {
        self.counted = path.counted();
        let follows = self
            .last
            .is_none_or(|last| state.seq == last.wrapping_add(1));
        self.last = Some(state.seq);
        if !follows {
            self.arrived = Log::default();
        }
        self.served += state.served;
        let arrived = self.served + state.queue;
        let step = self.counted / STEPS;
        self.arrived
            .set(state.made_at, arrived, step, self.counted * 2);
        let others = self.count(state, path);
        if self
            .since
            .is_some_and(|since| now.saturating_since(since) >= YIELD)
        {
            self.end(now);
        } else if let Some(others) = others {
            self.judge(now, others, path);
        }
    }

    fn end(&mut self, now: Instant) {
        (self.since, self.until, self.alone_since) = (None, Some(now), None);
    }

    /// What arrived in a round trip, and what of it others sent; none without a report at its beginning.
    fn count(&mut self, state: &RadioState, path: Path) -> Option<Others> {
        let end = state.made_at;
        let (first, before) = self.arrived.at(end - self.counted)?;
        let span = end.saturating_since(first);
        let arrived = self.arrived.now.saturating_sub(before);
        let arrived = arrived.get() as f64;
        let mut beyond = [0.0; LAGS];
        for (n, beyond) in beyond.iter_mut().enumerate() {
            let lag = path.min_rtt * n as u64 / LAG_SHARE;
            let [until, from] = [end - lag, first - lag].map(|then| self.sent.at(then));
            let own = until?.1.saturating_sub(from?.1).get() as f64;
            *beyond = arrived - self.headers * own;
        }
        if self.since.is_none() {
            for (error, beyond) in self.errors.iter_mut().zip(beyond) {
                *error += (beyond * beyond - *error) / REPORTS_OF_LAG;
            }
        }
        let mut best = 0;
        for (n, error) in self.errors.iter().enumerate() {
            if *error < self.errors[best] {
                best = n;
            }
        }
        let beyond = beyond[best];
        let own = (arrived - beyond) / self.headers;
        if self.since.is_none() && beyond.abs() < arrived / PRESENCE_SHARE as f64 {
            self.headers += (arrived / own.max(1.0) - self.headers) / REPORTS;
            self.headers = self.headers.clamp(1.0, MAX_HEADERS);
        }
        let others = beyond.max(0.0);
        let scale = path.srtt.as_secs_f64() / span.as_secs_f64().max(1e-9);
        let [arrived, sent] = [arrived, others].map(|bytes| Bytes::new((bytes * scale) as u64));
        Some(Others { arrived, sent })
    }

    fn judge(&mut self, now: Instant, others: Others, path: Path) {
        let least = (others.arrived / PRESENCE_SHARE).max(path.pdu * PRESENCE_PACKETS);
        let are_there = others.sent >= least;
        self.others = others.sent;
        if let Some(since) = self.since {
            if !are_there && now.saturating_since(since) >= path.srtt * MIN_ROUND_TRIPS {
                self.end(now);
            }
            return;
        }
        if !are_there {
            self.alone_since.get_or_insert(now);
            return;
        }
        let since = self.alone_since.take();
        if since.is_some_and(|since| now.saturating_since(since) >= ALONE) {
            self.since = Some(now);
        }
    }

    /// What it has to leave in a round trip; none unless it yields.
    pub(super) fn left(&self) -> Option<Bytes> {
        self.since.map(|_| self.others * GROWTH)
    }

    /// It has just yielded: what the radio could carry beyond what it serves is to be used.
    pub(super) fn takes_unused(&self, now: Instant, time: Duration) -> bool {
        let is_recent = |until: Instant| now.saturating_since(until) < time;
        self.until.is_some_and(is_recent)
    }
}

/// What arrived in a round trip, and what of it others sent.
#[derive(Clone, Copy, Debug)]
struct Others {
    arrived: Bytes,
    sent: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PDU: u64 = 1440;
    /// Reports every 8 ms, a millisecond old.
    const PERIOD: u64 = 8;
    const AGE: u64 = 1;
    const NEVER: [u64; 0] = [];

    /// A radio of 14 Mbit/s whose queue is never empty, milliseconds from the server; times in milliseconds.
    struct World {
        now: u64,
        lag: u64,
        yielding: Yielding,
        /// Sent here in each millisecond.
        sent: Vec<u64>,
        queue: u64,
        served: u64,
        seq: u64,
    }

    impl World {
        fn new(lag: u64) -> Self {
            Self {
                now: 0,
                lag,
                yielding: Yielding::default(),
                sent: Vec::new(),
                queue: 0,
                served: 0,
                seq: 0,
            }
        }

        /// For so many milliseconds this flow sends, and others' packets arrive, at so many bytes each. The times at which it
        /// yielded.
        fn run(&mut self, time: u64, own: impl Fn(u64) -> u64, others: u64) -> Vec<u64> {
            let mut yielded = Vec::new();
            for _ in 0..time {
                let bytes = own(self.now);
                self.sent.push(bytes);
                let at = Instant::ZERO + Duration::from_millis(self.now);
                self.yielding.on_sent(at, Bytes::new(bytes));
                let came = self.now.checked_sub(self.lag);
                let came = came.map_or(0, |at| self.sent[at as usize] * 104 / 100);
                self.queue += came + others;
                let served = self.queue.min(1_750);
                self.queue -= served;
                self.served += served;
                self.now += 1;
                if self.now % PERIOD == AGE {
                    self.report();
                }
                if self.yielding.left().is_some() {
                    yielded.push(self.now);
                }
            }
            yielded
        }

        fn report(&mut self) {
            let ms = |at: u64| Instant::ZERO + Duration::from_millis(at);
            let state = RadioState {
                queue: Bytes::new(self.queue),
                served: Bytes::new(self.served),
                period: Duration::from_millis(PERIOD),
                slots: PERIOD as u32,
                seq: self.seq,
                made_at: ms(self.now - AGE),
                tbs: Bytes::new(1_750),
                best_tbs: Bytes::new(1_750),
                harq_processes: 8,
                harq_retx: 0,
                lost_packets: None,
            };
            (self.served, self.seq) = (0, self.seq + 1);
            let path = Path {
                srtt: Duration::from_millis(2 * self.lag + 15),
                min_rtt: Duration::from_millis(2 * self.lag + 5),
                pdu: Bytes::new(PDU),
            };
            self.yielding.on_radio(ms(self.now), &state, path);
        }
    }

    #[test]
    fn a_flow_that_begins_is_yielded_to_for_half_a_second_once() {
        for lag in [2, 27, 100] {
            let mut world = World::new(lag);
            assert_eq!(world.run(2_000, |_| 1_750, 0), NEVER);
            // a quarter of the link, as a newcomer has it in its second round trip
            let yielded = world.run(3_000, |_| 1_300, 450);
            let [first, last] = [yielded.first(), yielded.last()].map(|at| *at.expect("yields"));
            let counted = (2 * lag + 15).max(50);
            // four packets or a tenth of what comes in that time have to come, and the next report
            assert!(first <= 2_000 + counted + 2 * PERIOD, "{lag}: {first}");
            assert!(last - first <= YIELD.as_millis() + PERIOD, "{lag}: {last}");
            assert_eq!(yielded.len() as u64, last - first + 1, "{lag}");
            // alone for more than a quarter of a second: it yields again
            assert_eq!(world.run(800, |_| 1_750, 0), NEVER);
            assert!(!world.run(500, |_| 1_300, 450).is_empty(), "{lag}");
        }
    }

    #[test]
    fn it_ends_soon_where_others_are_gone() {
        let mut world = World::new(27);
        world.run(2_000, |_| 1_750, 0);
        world.run(60, |_| 1_750, 600);
        let yielded = world.run(600, |_| 1_750, 0);
        let last = *yielded.last().expect("yields");
        // two round trips, and one in which what others sent still counts
        assert!(last < 2_000 + 60 + 3 * 69 + 2 * PERIOD, "{last}");
    }

    #[test]
    fn what_a_flow_alone_sends_is_no_others() {
        for lag in [2, 27, 100] {
            let mut world = World::new(lag);
            let uneven = |now: u64| match now / 40 % 3 {
                0 => 3_000,
                1 => 400,
                _ => 1_700,
            };
            assert_eq!(world.run(5_000, uneven, 0), NEVER, "{lag}");
        }
    }

    #[test]
    fn without_a_report_nothing_is_known_of_others() {
        let mut world = World::new(27);
        world.run(2_000, |_| 1_750, 0);
        // every second report is lost
        for _ in 0..60 {
            assert_eq!(world.run(PERIOD, |_| 1_300, 450), NEVER);
            world.seq += 1;
        }
    }
}
