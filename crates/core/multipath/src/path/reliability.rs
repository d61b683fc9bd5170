//! Partial reliability: what was lost on a path is sent again, on whichever path the scheduler
//! chooses, as long as it can still be of use.
//!
//! ```text
//!   keep --> [ payloads by MP_SEQ ] -- on_lost, in time ------> send again, same MP_SEQ
//!                    |             \-- on_lost, too late -----> discarded
//!                    +-- on_arrived, deadline, no room -------> discarded
//! ```
//!
//! DCCP repeats nothing (RFC 4340 section 1); Pieska et al. 2024 name reliability up to a deadline
//! inside the tunnel as future work (section 6, v), because the end-to-end controller takes losses
//! between the tunnel's ends for congestion. A repeated packet has a new number on its path and its old
//! one in the connection, so that the receiver's reordering puts it where it belongs: the reordering
//! must wait long enough for it.
//!
//! A packet that was given to several paths is lost when all of its copies are.

use crate::seq::MpSeq;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Packets};

/// How long and how much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReliabilityConfig {
    /// Age at which a packet is of no more use at the other end, from when it was first given to a
    /// path.
    pub deadline: Duration,
    /// Maximum packets kept; with more the oldest are discarded. At least 1.
    pub max_packets: Packets,
    /// Maximum payload kept, likewise; a packet of more by itself is not kept.
    pub max_bytes: Bytes,
}

impl ReliabilityConfig {
    /// With that deadline, 65,536 packets and 64 MiB.
    pub fn new(deadline: Duration) -> Self {
        Self {
            deadline,
            max_packets: Packets::new(1 << 16),
            max_bytes: Bytes::new(64 << 20),
        }
    }
}

/// Counts since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReliabilityCounters {
    /// Packets kept.
    pub kept: Packets,
    /// Packets lost and handed out to be sent again, each time counted.
    pub repeated: Packets,
    /// Packets lost that would have come too late, or were not kept any more.
    pub too_late: Packets,
    /// Packets discarded for lack of room before their deadline.
    pub evicted: Packets,
}

#[derive(Clone, Debug)]
struct Kept<P> {
    payload: P,
    bytes: Bytes,
    expires_at: Instant,
    /// Copies waiting on paths or in flight.
    copies: u32,
}

/// Payloads that may have to be sent again.
#[derive(Clone, Debug)]
pub struct Reliability<P> {
    config: ReliabilityConfig,
    /// Number of the first place.
    first: MpSeq,
    /// By number from `first` on; the first place is never empty.
    places: VecDeque<Option<Kept<P>>>,
    packets: u64,
    bytes: Bytes,
    counters: ReliabilityCounters,
}

impl<P: Clone> Reliability<P> {
    /// An empty store.
    pub fn new(config: ReliabilityConfig) -> Self {
        Self {
            config: ReliabilityConfig {
                max_packets: config.max_packets.max(Packets::new(1)),
                ..config
            },
            first: MpSeq::default(),
            places: VecDeque::new(),
            packets: 0,
            bytes: Bytes::ZERO,
            counters: ReliabilityCounters::default(),
        }
    }

    fn place(&mut self, mp_seq: MpSeq) -> Option<&mut Option<Kept<P>>> {
        let index = usize::try_from(mp_seq.distance_from(self.first)).ok()?;
        self.places.get_mut(index)
    }

    /// A packet was given to so many paths, at first or again. `bytes` is the size of its payload.
    pub fn keep(&mut self, now: Instant, mp_seq: MpSeq, payload: &P, bytes: Bytes, copies: u32) {
        if let Some(Some(kept)) = self.place(mp_seq) {
            kept.copies += copies;
            return;
        }
        self.drop_expired(now);
        let ahead = mp_seq.distance_from(self.first);
        let is_next = self.places.is_empty() || ahead >= self.places.len() as i64;
        if !is_next || bytes > self.config.max_bytes {
            return; // discarded already, or too large
        }
        self.make_room(mp_seq, bytes);
        if self.places.is_empty() {
            self.first = mp_seq;
        }
        let index = mp_seq.distance_from(self.first).unsigned_abs() as usize;
        self.places.resize_with(index, || None);
        self.places.push_back(Some(Kept {
            payload: payload.clone(),
            bytes,
            expires_at: now + self.config.deadline,
            copies,
        }));
        self.packets += 1;
        self.bytes += bytes;
        self.counters.kept += Packets::new(1);
    }

    /// Discards the oldest until there is room for this number and so many bytes.
    fn make_room(&mut self, mp_seq: MpSeq, bytes: Bytes) {
        let max = self.config.max_packets.get();
        while !self.places.is_empty()
            && (mp_seq.distance_from(self.first).unsigned_abs() >= max
                || self.bytes + bytes > self.config.max_bytes)
        {
            self.counters.evicted += Packets::new(1);
            self.pop_first();
        }
    }

    fn drop_expired(&mut self, now: Instant) {
        while let Some(Some(kept)) = self.places.front()
            && kept.expires_at <= now
        {
            self.pop_first();
        }
    }

    /// Discards the first.
    fn pop_first(&mut self) {
        self.take(self.first);
    }

    fn take(&mut self, mp_seq: MpSeq) {
        let Some(kept) = self.place(mp_seq).and_then(Option::take) else {
            return;
        };
        self.packets -= 1;
        self.bytes -= kept.bytes;
        while let Some(None) = self.places.front() {
            self.places.pop_front();
            self.first = self.first.next();
        }
    }

    /// True if that packet is kept.
    pub fn has(&mut self, mp_seq: MpSeq) -> bool {
        matches!(self.place(mp_seq), Some(Some(_)))
    }

    /// A copy has arrived at the other end.
    pub fn on_arrived(&mut self, mp_seq: MpSeq) {
        self.take(mp_seq);
    }

    /// A copy waits on a path no more, and was not sent; the caller gives it to another
    /// ([`Self::keep`]) or drops it.
    pub fn on_withdrawn(&mut self, mp_seq: MpSeq) {
        if let Some(Some(kept)) = self.place(mp_seq) {
            kept.copies = kept.copies.saturating_sub(1);
        }
    }

    /// A copy was lost. If it was the last one and another can be at the other end in time, after
    /// `one_way_delay`, what to send again.
    pub fn on_lost(&mut self, now: Instant, mp_seq: MpSeq, one_way_delay: Duration) -> Option<P> {
        let Some(Some(kept)) = self.place(mp_seq) else {
            self.counters.too_late += Packets::new(1);
            return None;
        };
        kept.copies = kept.copies.saturating_sub(1);
        if kept.copies > 0 {
            return None;
        }
        if now + one_way_delay >= kept.expires_at {
            self.take(mp_seq);
            self.counters.too_late += Packets::new(1);
            return None;
        }
        let payload = kept.payload.clone();
        self.counters.repeated += Packets::new(1);
        Some(payload)
    }

    /// Packets kept.
    pub fn packets(&self) -> Packets {
        Packets::new(self.packets)
    }
    /// Their payload.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }
    /// Counts since the connection began.
    pub fn counters(&self) -> ReliabilityCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: Bytes = Bytes::new(100);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Numbers that wrap after three.
    fn seq(n: u64) -> MpSeq {
        MpSeq::new((1 << 48) - 3).add(n)
    }

    fn store(max_packets: u64) -> Reliability<u64> {
        Reliability::new(ReliabilityConfig {
            max_packets: Packets::new(max_packets),
            ..ReliabilityConfig::new(ms(100))
        })
    }

    fn keep(store: &mut Reliability<u64>, now: u64, n: u64) {
        store.keep(at(now), seq(n), &n, SIZE, 1);
    }

    #[test]
    fn what_is_lost_is_sent_again_in_time_only() {
        let mut store = store(100);
        for n in 0..5 {
            keep(&mut store, n, n);
        }
        store.on_arrived(seq(0));
        assert_eq!(store.on_lost(at(50), seq(1), ms(20)), Some(1));
        keep(&mut store, 51, 1);
        assert_eq!(store.on_lost(at(80), seq(1), ms(20)), Some(1), "lost again");
        assert_eq!(store.on_lost(at(82), seq(2), ms(20)), None, "there at 102");
        assert_eq!(store.on_lost(at(82), seq(0), ms(20)), None, "arrived");
        let counters = store.counters();
        assert_eq!(counters.repeated, Packets::new(2));
        assert_eq!(counters.too_late, Packets::new(2));
        assert_eq!(
            (store.packets(), store.bytes()),
            (Packets::new(3), SIZE * 3)
        );
        // 1 is kept since 1 ms, 4 since 4 ms
        keep(&mut store, 103, 5);
        assert_eq!(store.packets(), Packets::new(2));
        assert_eq!(store.on_lost(at(103), seq(4), Duration::ZERO), Some(4));
    }

    #[test]
    fn a_packet_is_lost_when_all_its_copies_are() {
        let mut store = store(100);
        store.keep(at(0), seq(0), &7, SIZE, 3);
        assert_eq!(store.on_lost(at(1), seq(0), ms(1)), None);
        store.on_withdrawn(seq(0));
        assert_eq!(store.on_lost(at(1), seq(0), ms(1)), Some(7));
    }

    #[test]
    fn the_oldest_give_way() {
        let mut store = store(3);
        for n in 0..4 {
            keep(&mut store, 0, n);
        }
        assert_eq!(store.packets(), Packets::new(3));
        assert_eq!(store.counters().evicted, Packets::new(1));
        assert_eq!(store.on_lost(at(1), seq(0), ms(1)), None);
        assert_eq!(store.on_lost(at(1), seq(1), ms(1)), Some(1));
        keep(&mut store, 2, 1_000_000);
        assert_eq!(
            store.packets(),
            Packets::new(1),
            "no places for what is between"
        );
        store.keep(at(3), seq(1_000_001), &0, Bytes::new(65 << 20), 1);
        assert_eq!(store.packets(), Packets::new(1), "larger than all");
    }

    proptest! {
        /// What is counted as kept is what is there, within its bounds, whatever happens.
        #[test]
        fn memory_is_bounded(steps in prop::collection::vec((0u8..4, 0u64..40, 0u64..3), 1..300)) {
            let mut store = store(16);
            let (mut now, mut next) = (0, 0);
            for (action, number, time) in steps {
                now += time;
                match action {
                    0 | 1 => { keep(&mut store, now, next); next += 1 + number / 30; }
                    2 => store.on_arrived(seq(number)),
                    _ => { store.on_lost(at(now), seq(number), ms(5)); }
                }
                let there = store.places.iter().flatten().count() as u64;
                prop_assert_eq!(store.packets().get(), there);
                prop_assert_eq!(store.bytes(), SIZE * there);
                prop_assert!(store.places.len() <= 16);
                prop_assert!(store.places.front().is_none_or(Option::is_some));
            }
        }
    }
}
