//! Putting packets of several paths in order again (Pieska et al. 2024, section 2.1).
//!
//! ```text
//!   arrival: late  -> forwarded or dropped     in turn -> delivered, and all that follow it
//!            early -> held until those before it have come, are known to be lost,
//!                     or the wait of the rule is over
//! ```
//!
//! | rule | wait |
//! | --- | --- |
//! | `fixed` | a constant |
//! | `adaptive` | greatest latency - minimum latency + margin |
//! | `equalised` | greatest latency - own latency + margin |
//! | `static` | as adaptive, with a margin of 150 ms and no limit |
//!
//! All but `static` are limited to 100 ms. A path's latency is half its round-trip time, smoothed
//! with a weight of 0.95 for the new sample.
//!
//! **Fast loss detection**: a path delivers in order. A number that is missing is lost if every path
//! that has lately carried data has delivered a later one; or if, between two packets of a path, as
//! many of the path's own numbers are missing as there are numbers missing of the connection.
//!
//! *Deviations*: the paper's modules check waits when packets arrive; here [`Reorder::next_deadline`]
//! is when a wait is over, and packets leave then.

mod config;
mod latency;

pub use config::{
    BUFFER, FIXED_WAIT, LATENCY_WEIGHT, Late, MARGIN, MAX_WAIT, ReorderConfig, STATIC_MARGIN,
    UnknownWaitRule, WaitRule,
};

use crate::PathId;
use crate::seq::MpSeq;
use core::cmp::Reverse;
use latency::Latencies;
use std::collections::{BinaryHeap, VecDeque};
use units::{Duration, Instant, Packets};

/// Numbers before the next expected one whose outcome is kept, to distinguish late packets from copies.
const HISTORY: usize = 8_192;
/// A packet so many numbers ahead is no gap: the peer has moved on, and everything held is given out.
const MAX_AHEAD: u64 = 1 << 17;
/// A path that has carried nothing for so long no longer holds up the decision that a packet is lost.
const IDLE: Duration = Duration::from_millis(200);

/// An arriving packet, as the reordering sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// The path that it came on.
    pub path: PathId,
    /// Its number in the connection.
    pub mp_seq: MpSeq,
    /// Numbers of the path that are missing directly before it.
    pub missing_before: u64,
}

/// What the reordering has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReorderStats {
    /// Delivered in turn, without having been held.
    pub in_order: Packets,
    /// Held, then delivered.
    pub held: Packets,
    /// Of those the ones released by a wait that ran out, with a gap before them.
    pub timed_out: Packets,
    /// Numbers given up as lost, by waits, fast detection, or a full buffer.
    pub given_up: Packets,
    /// Of those the ones given up by fast loss detection.
    pub detected: Packets,
    /// Came after their number had been given up.
    pub late: Packets,
    /// Came again.
    pub duplicates: Packets,
}

#[derive(Debug)]
struct Held<P> {
    payload: P,
    /// It does not leave before (delay equalisation).
    not_before: Instant,
}

/// A place in the order, from the next expected number on.
#[derive(Debug)]
enum Place<P> {
    /// Not there yet.
    Missing,
    /// Held.
    Held(Held<P>),
    /// Known to be lost: it is not waited for.
    Lost,
    /// A number without payload.
    Empty,
}

#[derive(Clone, Copy, Debug)]
struct PathProgress {
    /// Its latest number; the latest of all where the path has been restarted.
    highest: MpSeq,
    /// When that came.
    at: Instant,
}

/// The reordering of one direction of a connection.
#[derive(Debug)]
pub struct Reorder<P> {
    config: ReorderConfig,
    latencies: Latencies,
    /// The next number to deliver; none before the first packet.
    expected: Option<MpSeq>,
    /// Places from `expected` on.
    places: VecDeque<Place<P>>,
    /// Packets held.
    held: usize,
    /// Ends of waits, by distance from `origin` of the number that waits.
    waits: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Numbers passed since the first: `expected` is the first number plus this.
    passed: u64,
    /// For the [`HISTORY`] numbers just before `expected`, newest last: true if it was given up.
    given_up: VecDeque<bool>,
    /// By path number.
    progress: Vec<Option<PathProgress>>,
    /// Packets that go out at once although they are late.
    late: VecDeque<P>,
    /// Until where (as `passed`) places are passed although something is missing.
    release_to: u64,
    stats: ReorderStats,
}

impl<P> Reorder<P> {
    /// An empty one; it begins with the number of the first packet that arrives.
    pub fn new(config: ReorderConfig) -> Self {
        Self {
            config,
            latencies: Latencies::new(config.latency_weight),
            expected: None,
            places: VecDeque::new(),
            held: 0,
            waits: BinaryHeap::new(),
            passed: 0,
            // numbers before the first that comes have not been delivered either
            given_up: VecDeque::from(vec![true; HISTORY]),
            progress: Vec::new(),
            late: VecDeque::new(),
            release_to: 0,
            stats: ReorderStats::default(),
        }
    }

    /// How it is configured.
    pub fn config(&self) -> &ReorderConfig {
        &self.config
    }

    /// A sample of a path's round-trip time.
    pub fn on_rtt(&mut self, path: PathId, rtt: Duration) {
        self.latencies.on_rtt(path, rtt);
    }

    /// A path carries nothing any more: it is neither waited for nor counted.
    pub fn on_path_gone(&mut self, path: PathId) {
        self.latencies.remove(path);
        if let Some(progress) = self.progress.get_mut(usize::from(path.0)) {
            *progress = None;
        }
    }

    /// A number that has no payload (control options have numbers too).
    pub fn skip(&mut self, mp_seq: MpSeq) {
        if let Some(ahead) = self.ahead(mp_seq) {
            self.make_place(ahead);
            if matches!(self.places[ahead as usize], Place::Missing) {
                self.places[ahead as usize] = Place::Empty;
            }
        }
    }

    /// A packet arrived. What may be delivered is fetched by [`Self::poll`].
    pub fn insert(&mut self, now: Instant, arrived: Arrived, payload: P) {
        let expected = *self.expected.get_or_insert(arrived.mp_seq);
        let distance = arrived.mp_seq.distance_from(expected);
        if distance < 0 {
            self.note_progress(now, arrived);
            return self.on_late(distance.unsigned_abs(), payload);
        }
        let ahead = distance.unsigned_abs();
        if ahead > MAX_AHEAD {
            self.jump(arrived.mp_seq);
            return self.insert(now, arrived, payload);
        }
        self.make_place(ahead);
        let not_before = self.not_before(now, arrived.path);
        let place = &mut self.places[ahead as usize];
        match place {
            Place::Held(_) => {
                self.stats.duplicates += Packets::new(1);
                return;
            }
            // it was taken for lost and comes after all, still in its turn
            Place::Lost | Place::Empty | Place::Missing => {
                *place = Place::Held(Held {
                    payload,
                    not_before,
                });
            }
        }
        self.held += 1;
        if ahead == 0 && not_before <= now {
            self.stats.in_order += Packets::new(1);
        } else {
            self.stats.held += Packets::new(1);
            let wait = self.wait(arrived.path);
            let until = not_before.max(now + wait);
            self.waits.push(Reverse((until, self.passed + ahead)));
        }
        if self.config.has_fast_loss_detection {
            self.detect_by_gap(arrived);
        }
        self.note_progress(now, arrived);
        if self.config.has_fast_loss_detection {
            self.detect_by_progress(now);
        }
    }

    /// A packet arrived that is delivered as it comes, whatever is missing before it: true unless it came before.
    pub fn deliver_at_once(&mut self, now: Instant, arrived: Arrived, payload: P) -> bool {
        let expected = *self.expected.get_or_insert(arrived.mp_seq);
        let distance = arrived.mp_seq.distance_from(expected);
        if distance.unsigned_abs() > MAX_AHEAD && distance > 0 {
            self.jump(arrived.mp_seq);
            return self.deliver_at_once(now, arrived, payload);
        }
        let is_new = self.deliver_out_of_order(distance, payload);
        self.stats.duplicates += Packets::new(u64::from(!is_new));
        if self.config.has_fast_loss_detection && distance >= 0 {
            self.detect_by_gap(arrived);
        }
        self.note_progress(now, arrived);
        if self.config.has_fast_loss_detection {
            self.detect_by_progress(now);
        }
        is_new
    }

    /// A packet that did not arrive but was rebuilt: true unless it came before, or its number is too far away.
    pub fn deliver_rebuilt(&mut self, mp_seq: MpSeq, payload: P) -> bool {
        let distance = self.expected.map(|expected| mp_seq.distance_from(expected));
        let distance = distance.filter(|distance| distance.unsigned_abs() <= MAX_AHEAD);
        distance.is_some_and(|distance| self.deliver_out_of_order(distance, payload))
    }

    /// The packet so far ahead of the next expected is delivered now: true unless it was before.
    fn deliver_out_of_order(&mut self, distance: i64, payload: P) -> bool {
        let is_new = match u64::try_from(distance) {
            Err(_) => self.take_given_up(distance.unsigned_abs()),
            Ok(ahead) => {
                self.make_place(ahead);
                let place = &mut self.places[ahead as usize];
                let is_new = matches!(place, Place::Missing | Place::Lost);
                if is_new {
                    *place = Place::Empty;
                }
                is_new
            }
        };
        if is_new {
            self.late.push_back(payload);
        }
        is_new
    }

    /// A number that has been passed was given up, and is not any more.
    fn take_given_up(&mut self, behind: u64) -> bool {
        let index = (self.given_up.len() as u64).checked_sub(behind);
        index.is_some_and(|index| core::mem::replace(&mut self.given_up[index as usize], false))
    }

    /// The next packet that may be delivered now.
    pub fn poll(&mut self, now: Instant) -> Option<P> {
        if let Some(late) = self.late.pop_front() {
            return Some(late);
        }
        self.expire(now);
        loop {
            let must_wait = match self.places.front()? {
                Place::Held(held) => held.not_before > now,
                Place::Missing => self.passed >= self.release_to,
                Place::Lost | Place::Empty => false,
            };
            if must_wait && !self.is_over_full() {
                return None;
            }
            let place = self.places.pop_front()?;
            self.pass(matches!(place, Place::Missing | Place::Lost));
            if let Place::Held(held) = place {
                self.held -= 1;
                return Some(held.payload);
            }
        }
    }

    /// When [`Self::poll`] may have something although nothing arrives.
    pub fn next_deadline(&mut self) -> Option<Instant> {
        if !self.late.is_empty() {
            return Some(Instant::ZERO);
        }
        while let Some(&Reverse((at, number))) = self.waits.peek() {
            if number >= self.passed {
                return Some(at);
            }
            self.waits.pop();
        }
        None
    }

    /// More is held than the buffer takes: nothing waits until it is no more.
    fn is_over_full(&self) -> bool {
        self.held as u64 > self.config.buffer.get().max(1)
    }

    /// Packets held.
    pub fn held(&self) -> Packets {
        Packets::new(self.held as u64)
    }

    /// What it has done.
    pub fn stats(&self) -> ReorderStats {
        self.stats
    }

    /// How long a packet of that path is held for those before it.
    pub fn wait(&self, path: PathId) -> Duration {
        let config = &self.config;
        let slowest = self.latencies.max();
        let own = self.latencies.of(path).unwrap_or(slowest);
        match config.rule {
            WaitRule::Off => Duration::ZERO,
            WaitRule::Fixed(wait) => wait.min(config.max_wait),
            WaitRule::Adaptive => {
                (slowest.saturating_sub(self.latencies.min()) + config.margin).min(config.max_wait)
            }
            WaitRule::Equalised => {
                (slowest.saturating_sub(own) + config.margin).min(config.max_wait)
            }
            WaitRule::Static => slowest.saturating_sub(self.latencies.min()) + config.margin,
        }
    }

    /// Delay equalisation: the difference to the slowest path.
    fn not_before(&self, now: Instant, path: PathId) -> Instant {
        if !self.config.has_delay_equalisation {
            return now;
        }
        let slowest = self.latencies.max();
        let own = self.latencies.of(path).unwrap_or(slowest);
        now + slowest.saturating_sub(own).min(self.config.max_wait)
    }

    /// How far a number is ahead of the next expected; none if it is behind, or no gap but a jump.
    fn ahead(&self, mp_seq: MpSeq) -> Option<u64> {
        let distance = mp_seq.distance_from(self.expected?);
        u64::try_from(distance)
            .ok()
            .filter(|&ahead| ahead <= MAX_AHEAD)
    }

    fn make_place(&mut self, ahead: u64) {
        while self.places.len() as u64 <= ahead {
            self.places.push_back(Place::Missing);
        }
    }

    /// The next expected number is passed.
    fn pass(&mut self, is_given_up: bool) {
        self.passed += 1;
        self.stats.given_up += Packets::new(u64::from(is_given_up));
        self.expected = self.expected.map(MpSeq::next);
        self.given_up.pop_front();
        self.given_up.push_back(is_given_up);
    }

    /// A number that has been passed: a copy, or a packet whose place was given up.
    fn on_late(&mut self, behind: u64, payload: P) {
        if !self.take_given_up(behind) {
            self.stats.duplicates += Packets::new(1);
            return;
        }
        self.stats.late += Packets::new(1);
        if self.config.late == Late::Forward {
            self.late.push_back(payload);
        }
    }

    /// Far ahead: what is held goes out, and the order begins anew there.
    fn jump(&mut self, to: MpSeq) {
        for place in self.places.drain(..) {
            if let Place::Held(held) = place {
                self.late.push_back(held.payload);
            }
        }
        self.held = 0;
        self.waits.clear();
        self.given_up
            .iter_mut()
            .for_each(|given_up| *given_up = true);
        self.passed += HISTORY as u64;
        self.release_to = self.passed;
        self.expected = Some(to);
        self.progress.fill(None);
    }

    /// Waits that are over release all up to the packet that waited.
    fn expire(&mut self, now: Instant) {
        while let Some(&Reverse((at, number))) = self.waits.peek() {
            if at > now {
                break;
            }
            self.waits.pop();
            if number > self.release_to && number >= self.passed {
                self.release_to = number;
                self.stats.timed_out += Packets::new(1);
            }
        }
    }

    fn note_progress(&mut self, now: Instant, arrived: Arrived) {
        let index = usize::from(arrived.path.0);
        if self.progress.len() <= index {
            self.progress.resize(index + 1, None);
        }
        let progress = self.progress[index].get_or_insert(PathProgress {
            highest: arrived.mp_seq,
            at: now,
        });
        progress.highest = progress.highest.later(arrived.mp_seq);
        progress.at = now;
    }

    /// Every path that is in use has gone past: what is missing before the lowest of their latest
    /// numbers is lost.
    fn detect_by_progress(&mut self, now: Instant) {
        let in_use = self
            .progress
            .iter()
            .flatten()
            .filter(|progress| now.saturating_since(progress.at) < IDLE);
        let lowest = in_use
            .map(|progress| progress.highest)
            .reduce(|a, b| if b.is_after(a) { a } else { b });
        if let Some(ahead) = lowest.and_then(|lowest| self.ahead(lowest)) {
            let until = self.passed + ahead;
            if until > self.release_to {
                let from = self.release_to.saturating_sub(self.passed) as usize;
                let missing = self
                    .places
                    .range(from.min(self.places.len())..(ahead as usize).min(self.places.len()))
                    .filter(|place| matches!(place, Place::Missing))
                    .count();
                self.stats.detected += Packets::new(missing as u64);
                self.release_to = until;
            }
        }
    }

    /// As many of the path's numbers are missing between this packet and the path's last as there are
    /// numbers missing of the connection: those are the lost ones.
    fn detect_by_gap(&mut self, arrived: Arrived) {
        if arrived.missing_before == 0 {
            return;
        }
        let Some(Some(last)) = self.progress.get(usize::from(arrived.path.0)) else {
            return;
        };
        let Some(to) = self.ahead(arrived.mp_seq) else {
            return;
        };
        let from = self.ahead(last.highest.next()).unwrap_or(0);
        if from >= to || to - from > arrived.missing_before.saturating_mul(64) {
            return;
        }
        let between = from as usize..to as usize;
        let missing = self
            .places
            .range(between.clone())
            .filter(|place| matches!(place, Place::Missing))
            .count() as u64;
        if missing == arrived.missing_before {
            self.stats.detected += Packets::new(missing);
            for place in self.places.range_mut(between) {
                if matches!(place, Place::Missing) {
                    *place = Place::Lost;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
