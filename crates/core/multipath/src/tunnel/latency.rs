//! Latency-sensitive packets: a queue of their own before all others, copies until they have arrived, and what
//! becomes of those on a path that is left.
//!
//! ```text
//!   send -> class -> [ waiting ] -> choose_latency -> front of a path's queue -> MP_EXP: no order
//!                        ^                                  |
//!                        +-- repeated <-- lost, or the path is left; while it can be in time
//! ```
//!
//! A packet that was lost, or is on a path that is left, goes to another path if it can be there by the deadline at half
//! that path's round trip. Later copies are dropped by their number at the other end.
//!
//! **On the wire** an option `MP_EXP` (RFC 9897 3.2.12) marks a packet that the peer delivers as it comes, past its
//! reordering. Offsets from the option's first byte:
//!
//! | byte | value |
//! | --- | --- |
//! | 0 | 46, a multipath option |
//! | 1 | 6, its length |
//! | 2 | 11, `MP_EXP` |
//! | 3, 4 | 0x42 0x46 |
//! | 5 | 6 |
//!
//! A peer that does not have it delivers the packet in order.

use super::Tunnel;
use super::path::{Path, Phase, Queued};
use super::stats::ClassCounters;
use crate::class::{Class, Classifier, FlowLabel};
use crate::packet::{DccpOption, Options, is_unordered_mark, unordered_mark};
use crate::parity::Encoder;
use crate::path::AckOutcome;
use crate::scheduler::PathSet;
use crate::scheduler::leg::leave_after;
use crate::seq::{MpSeq, SeqNo};
use crate::{PathId, Payload};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Packets};

/// Copies kept; with more the oldest goes.
const MAX_COPIES: usize = 4_096;
/// Times at which data left a path and is not acknowledged; of more the oldest is not watched.
const MAX_OUTSTANDING: usize = 8_192;

/// Counts of latency-sensitive packets since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyCounters {
    /// Packets that were given to a path.
    pub sent: Packets,
    /// Copies on a second path at the same time.
    pub copies: Packets,
    /// Packets that were sent again after a loss.
    pub repeated: Packets,
    /// Packets that were sent again because their path was left.
    pub moved: Packets,
    /// Packets that could not have been there in time any more.
    pub expired: Packets,
    /// Packets that were not acknowledged by their deadline.
    pub late: Packets,
    /// Times that a path was left.
    pub departures: u64,
    /// Packets of the peer that were delivered past the reordering.
    pub unordered: Packets,
    /// Parities that were given to a path.
    pub parities: Packets,
    /// Packets of the peer that were lost, and rebuilt from others and their parity.
    pub rebuilt: Packets,
}

impl LatencyCounters {
    /// The same as of every class. CoDel does not look at these packets, which wait for no window.
    pub fn of_class(&self) -> ClassCounters {
        ClassCounters {
            packets: self.sent,
            duplicated: self.copies,
            repeated: self.repeated + self.moved,
            late: self.late,
            given_up: self.expired,
            marked: Packets::ZERO,
            dropped: Packets::ZERO,
        }
    }
}

/// A packet that may have to be sent again.
#[derive(Debug)]
struct Copy<P> {
    mp_seq: MpSeq,
    payload: P,
    /// When it was first given to a path.
    since: Instant,
    /// The paths on which it may still arrive.
    paths: PathSet,
}

/// The sender's half.
#[derive(Debug)]
pub(super) struct Latency<P> {
    deadline: Duration,
    classifier: Classifier,
    waiting: VecDeque<P>,
    repeated: VecDeque<Queued<P>>,
    /// In order of their numbers.
    copies: VecDeque<Copy<P>>,
    /// Packets that a parity is to be made of.
    pub(super) encoder: Encoder<P>,
    pub(super) counters: LatencyCounters,
}

/// Data of a path that is not acknowledged: its number, and when it left.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    sent: VecDeque<(SeqNo, Instant)>,
    /// When data was last acknowledged.
    acked_at: Option<Instant>,
}

impl Outstanding {
    pub(super) fn on_sent(&mut self, now: Instant, seq: SeqNo) {
        if self.sent.len() >= MAX_OUTSTANDING {
            self.sent.pop_front();
        }
        self.sent.push_back((seq, now));
    }

    /// Everything up to this number has arrived, or is overtaken.
    pub(super) fn on_ack(&mut self, now: Instant, ack: SeqNo) {
        while let Some((seq, _)) = self.sent.front()
            && !seq.is_after(ack)
        {
            self.sent.pop_front();
            self.acked_at = Some(now);
        }
    }

    /// When the next acknowledgement is due.
    fn due(&self, srtt: Duration) -> Option<Instant> {
        let (_, sent_at) = self.sent.front()?;
        let due = *sent_at + srtt;
        Some(self.acked_at.map_or(due, |at| at.max(due)))
    }
}

impl<P> Path<P> {
    /// For how long an acknowledgement has been due.
    pub(super) fn overdue(&self, now: Instant) -> Duration {
        let due = self.outstanding.as_ref().zip(self.sender.srtt());
        let due = due.and_then(|(outstanding, srtt)| outstanding.due(srtt));
        due.map_or(Duration::ZERO, |due| now.saturating_since(due))
    }

    /// Before what is not latency-sensitive, behind what is.
    pub(super) fn push_urgent(&mut self, queued: Queued<P>) {
        let urgent = self.queue.iter().take_while(|other| other.is_urgent);
        let at = urgent.count();
        self.queue.insert(at, queued);
    }
}

/// True if a packet is to be delivered as it comes.
pub(super) fn is_unordered(options: &Options) -> bool {
    options.list.iter().any(is_unordered_mark)
}

/// The option of such a packet.
pub(super) fn unordered() -> DccpOption {
    unordered_mark()
}

impl<P: Payload> Latency<P> {
    pub(super) fn new(deadline: Duration) -> Self {
        Self {
            deadline,
            classifier: Classifier::default(),
            waiting: VecDeque::new(),
            repeated: VecDeque::new(),
            copies: VecDeque::new(),
            encoder: Encoder::new(),
            counters: LatencyCounters::default(),
        }
    }

    /// The class of a packet that comes now.
    pub(super) fn class(&mut self, now: Instant, label: FlowLabel, bytes: Bytes) -> Class {
        self.classifier.class(now, label, bytes)
    }

    /// Takes a latency-sensitive packet.
    pub(super) fn push(&mut self, payload: P) {
        self.waiting.push_back(payload);
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.repeated.len()
    }

    /// Size of the next packet.
    pub(super) fn next_size(&self) -> Option<Bytes> {
        let repeated = self.repeated.front().map(|queued| &queued.payload);
        let next = repeated.or(self.waiting.front())?;
        Some(Bytes::new(next.len() as u64))
    }

    /// The next packet; `number` is the connection's next, which a packet takes that has none.
    pub(super) fn pop(&mut self, number: &mut MpSeq) -> Option<Queued<P>> {
        if let Some(repeated) = self.repeated.pop_front() {
            return Some(repeated);
        }
        let payload = self.waiting.pop_front()?;
        let mp_seq = *number;
        *number = mp_seq.next();
        Some(Queued {
            mp_seq,
            payload,
            is_repeated: false,
            is_urgent: true,
            parity_of: None,
        })
    }

    /// A packet that was on a path goes to another.
    pub(super) fn again(&mut self, queued: Queued<P>) {
        self.repeated.push_back(queued);
    }

    fn position(&self, mp_seq: MpSeq) -> Option<usize> {
        let found = |copy: &Copy<P>| copy.mp_seq.circular_cmp(mp_seq);
        self.copies.binary_search_by(found).ok()
    }

    /// A packet was given to these paths.
    fn keep(&mut self, now: Instant, queued: &Queued<P>, paths: PathSet) {
        let more = (paths.iter().count() as u64).saturating_sub(1);
        self.counters.sent += Packets::new(u64::from(!queued.is_repeated));
        self.counters.copies += Packets::new(more);
        if let Some(at) = self.position(queued.mp_seq) {
            paths
                .iter()
                .for_each(|path| self.copies[at].paths.insert(path));
            return;
        }
        self.expire(now);
        let is_next = self
            .copies
            .back()
            .is_none_or(|last| queued.mp_seq.is_after(last.mp_seq));
        if !is_next {
            return; // it has expired meanwhile
        }
        if self.copies.len() >= MAX_COPIES {
            self.copies.pop_front();
        }
        self.copies.push_back(Copy {
            mp_seq: queued.mp_seq,
            payload: queued.payload.clone(),
            since: now,
            paths,
        });
    }

    /// One that was given to a path before has a copy on another.
    pub(super) fn add_copy(&mut self, mp_seq: MpSeq, path: PathId) {
        self.counters.copies += Packets::new(1);
        if let Some(at) = self.position(mp_seq) {
            self.copies[at].paths.insert(path);
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some(copy) = self.copies.front()
            && now.saturating_since(copy.since) >= self.deadline
        {
            // what has no path left was counted as it was lost
            self.counters.late += Packets::new(u64::from(!copy.paths.is_empty()));
            self.copies.pop_front();
        }
    }

    /// It has arrived.
    fn on_arrived(&mut self, mp_seq: MpSeq) {
        if let Some(at) = self.position(mp_seq) {
            self.copies.remove(at);
        }
    }

    /// It was lost on a path. True if it is one of these packets.
    fn on_lost(&mut self, now: Instant, mp_seq: MpSeq, path: PathId, one_way: Duration) -> bool {
        let Some(at) = self.position(mp_seq) else {
            return false;
        };
        let copy = &mut self.copies[at];
        copy.paths = copy.paths.iter().filter(|other| *other != path).collect();
        if copy.paths.is_empty() && self.repeat(now, at, one_way) {
            self.counters.repeated += Packets::new(1);
        }
        true
    }

    /// Sends one again if it can be there in time.
    fn repeat(&mut self, now: Instant, at: usize, one_way: Duration) -> bool {
        let copy = &self.copies[at];
        if now.saturating_since(copy.since) + one_way > self.deadline {
            self.counters.expired += Packets::new(1);
            return false;
        }
        self.repeated.push_back(Queued {
            mp_seq: copy.mp_seq,
            payload: copy.payload.clone(),
            is_repeated: true,
            is_urgent: true,
            parity_of: None,
        });
        true
    }

    /// These paths are left: what is on no other goes elsewhere.
    fn on_left(&mut self, now: Instant, left: PathSet, one_way: Duration) {
        self.counters.departures += left.iter().count() as u64;
        self.expire(now);
        for at in 0..self.copies.len() {
            let paths = self.copies[at].paths;
            let is_stranded = !paths.is_empty() && paths.iter().all(|path| left.contains(path));
            if is_stranded && self.repeat(now, at, one_way) {
                self.counters.moved += Packets::new(1);
            }
        }
    }
}

impl<P: Payload> Tunnel<P> {
    /// The paths are looked at before packets are given to them.
    pub(super) fn observe_paths(&mut self, now: Instant) {
        let left = self.scheduler.observe(now, &self.views);
        let others = self.views.iter().filter(|view| !left.contains(view.id));
        let one_way = others.filter_map(|view| view.srtt).min();
        let one_way = one_way.unwrap_or_default() / 2;
        if let Some(latency) = self.latency.as_mut().filter(|_| !left.is_empty()) {
            latency.on_left(now, left, one_way);
        }
    }

    /// A latency-sensitive packet goes to these paths.
    pub(super) fn assign_latency(&mut self, now: Instant, chosen: PathSet) {
        let Some(latency) = &mut self.latency else {
            return;
        };
        let Some(queued) = latency.pop(&mut self.next_mp_seq) else {
            return;
        };
        latency.keep(now, &queued, chosen);
        for path in chosen.iter() {
            let copy = Queued {
                payload: queued.payload.clone(),
                ..queued
            };
            self.paths[usize::from(path.0)].push_urgent(copy);
        }
        self.cover(now, &queued, chosen);
    }

    /// What an acknowledgement or a timer has shown of latency-sensitive packets.
    pub(super) fn note_latency(&mut self, now: Instant, index: usize, outcome: &AckOutcome) {
        let path = self.paths[index].id;
        let others = self.paths.iter().filter(|path| path.is_usable());
        let one_way = others
            .filter_map(|path| path.srtt())
            .min()
            .unwrap_or_default()
            / 2;
        let Some(latency) = &mut self.latency else {
            return;
        };
        for info in outcome.acked.iter().chain(&outcome.late) {
            if let Some(mp_seq) = info.mp_seq.filter(|_| info.is_data) {
                latency.on_arrived(mp_seq);
            }
        }
        for info in &outcome.lost {
            if let Some(mp_seq) = info.mp_seq.filter(|_| info.is_data) {
                latency.on_lost(now, mp_seq, path, one_way);
            }
        }
    }

    /// When a path on which latency-sensitive packets are is to be looked at.
    pub(super) fn next_departure(&self, now: Instant) -> Option<Instant> {
        let latency = self.latency.as_ref()?;
        let paths = self.paths.iter().filter(|path| {
            let is_on = |copy: &Copy<P>| copy.paths.contains(path.id);
            path.phase == Phase::Open && latency.copies.iter().any(is_on)
        });
        let times = paths.filter_map(|path| {
            let srtt = path.sender.srtt()?;
            let due = path.outstanding.as_ref()?.due(srtt)?;
            let at = due + leave_after(&path.view(now, self.config.report_max_age));
            (at > now).then_some(at)
        });
        times.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn an_acknowledgement_is_due_a_round_trip_after_the_oldest_and_not_before_the_last() {
        let srtt = Duration::from_millis(20);
        let mut outstanding = Outstanding::default();
        assert_eq!(outstanding.due(srtt), None);
        for n in 0..3 {
            outstanding.on_sent(at_ms(n * 10), SeqNo::new(n));
        }
        assert_eq!(outstanding.due(srtt), Some(at_ms(20)));
        outstanding.on_ack(at_ms(25), SeqNo::new(0));
        assert_eq!(outstanding.due(srtt), Some(at_ms(30)));
        // the one before came late: all that is behind it does
        outstanding.on_ack(at_ms(60), SeqNo::new(1));
        assert_eq!(outstanding.due(srtt), Some(at_ms(60)));
        outstanding.on_ack(at_ms(61), SeqNo::new(2));
        assert_eq!(outstanding.due(srtt), None);
    }

    #[test]
    fn the_option_is_as_it_is_documented() {
        let options = Options {
            list: vec![unordered()],
            ..Options::default()
        };
        assert!(is_unordered(&options) && !is_unordered(&Options::default()));
        let packet = crate::packet::Packet {
            source: 1,
            destination: 2,
            ccval: 0,
            seq: SeqNo::new(7),
            kind: crate::packet::Kind::Data,
            options,
        };
        let mut bytes = Vec::new();
        let length = crate::packet::encode(&packet, &mut bytes).expect("room");
        let option = [46, 6, 11, 0x42, 0x46, 6];
        assert_eq!(length, bytes.len());
        assert!(bytes.windows(6).any(|window| window == option));
    }
}
