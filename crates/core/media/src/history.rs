//! What was sent, until feedback has accounted for it.

use crate::SentPacket;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// Packets are forgotten beyond so many, the oldest first: 10 s of 16 Mbit/s.
const MAX_RECORDS: usize = 1 << 14;

/// A packet that is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its UDP payload.
    pub(crate) bytes: Bytes,
    /// When it left.
    pub(crate) sent_at: Instant,
    /// What had been sent with it, from the first packet on.
    pub(crate) sent_bytes: Bytes,
    fate: Fate,
}

/// What is known of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nothing.
    InFlight,
    /// A later packet had come, this one had not, since then.
    Missing(Instant),
    /// It counts as lost, since it was missing then.
    Lost(Instant),
    /// It came.
    Received,
}

/// The packets of one sender by their numbers, which follow each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    records: VecDeque<Record>,
    /// Number of the first record.
    first: u64,
    /// What has been sent.
    sent_bytes: Bytes,
}

/// A packet that is reported to have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acked {
    /// As it was sent.
    pub(crate) record: Record,
    /// How long it had been missing, if it had.
    pub(crate) was_missing: Option<Duration>,
}

impl History {
    /// A packet leaves.
    pub(crate) fn on_sent(&mut self, now: Instant, packet: SentPacket) {
        let next = self.first.saturating_add(self.records.len() as u64);
        if packet.seq != next {
            // numbers that do not follow each other: what was before cannot be accounted for
            self.records.clear();
            self.first = packet.seq;
        }
        self.sent_bytes += packet.bytes;
        self.records.push_back(Record {
            bytes: packet.bytes,
            sent_at: now,
            sent_bytes: self.sent_bytes,
            fate: Fate::InFlight,
        });
        if self.records.len() > MAX_RECORDS {
            self.records.pop_front();
            self.first += 1;
        }
    }

    /// What has been sent.
    pub(crate) fn sent_bytes(&self) -> Bytes {
        self.sent_bytes
    }

    fn find(&mut self, seq: u64) -> Option<&mut Record> {
        let index = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        self.records.get_mut(index)
    }

    /// A packet is reported to have come; none if that was known, or it is none that was sent.
    pub(crate) fn on_received(&mut self, now: Instant, seq: u64) -> Option<Acked> {
        let record = self.find(seq)?;
        let was_missing = match record.fate {
            Fate::Received => return None,
            Fate::InFlight => None,
            Fate::Missing(since) | Fate::Lost(since) => Some(now.saturating_since(since)),
        };
        record.fate = Fate::Received;
        Some(Acked {
            record: *record,
            was_missing,
        })
    }

    /// A packet is reported not to have come; true the first time.
    pub(crate) fn on_missing(&mut self, now: Instant, seq: u64) -> bool {
        let Some(record) = self.find(seq) else {
            return false;
        };
        let is_new = record.fate == Fate::InFlight;
        if is_new {
            record.fate = Fate::Missing(now);
        }
        is_new
    }

    /// All before `highest` that were not reported are missing.
    pub(crate) fn miss_before(&mut self, now: Instant, highest: u64) {
        let before = highest.saturating_sub(self.first);
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        let in_flight = |record: &&mut Record| record.fate == Fate::InFlight;
        for record in self.records.iter_mut().take(before).filter(in_flight) {
            record.fate = Fate::Missing(now);
        }
    }

    /// How many packets count as lost from now on: those that have been missing for longer than `window`.
    pub(crate) fn take_lost(&mut self, now: Instant, window: Duration) -> u64 {
        let mut lost = 0;
        for record in &mut self.records {
            if let Fate::Missing(since) = record.fate
                && now.saturating_since(since) >= window
            {
                record.fate = Fate::Lost(since);
                lost += 1;
            }
        }
        lost
    }

    /// Forgets packets that left before `oldest`.
    pub(crate) fn forget(&mut self, oldest: Instant) {
        while let Some(record) = self.records.front()
            && record.sent_at < oldest
        {
            self.records.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn sent(seqs: core::ops::Range<u64>) -> History {
        let mut history = History::default();
        for seq in seqs {
            let bytes = Bytes::new(1000);
            history.on_sent(at(seq), SentPacket { seq, bytes });
        }
        history
    }

    #[test]
    fn a_packet_is_accounted_for_once() {
        let mut history = sent(0..5);
        let acked = history.on_received(at(50), 2).unwrap();
        assert_eq!(acked.record.sent_at, at(2));
        assert_eq!(acked.record.sent_bytes, Bytes::new(3000));
        assert_eq!(history.on_received(at(60), 2), None);
        assert_eq!(history.on_received(at(60), 7), None, "was not sent");
        assert!(history.on_missing(at(60), 1));
        assert!(!history.on_missing(at(70), 1));
    }

    #[test]
    fn a_missing_packet_is_lost_after_the_window_and_may_still_come() {
        let mut history = sent(0..3);
        history.on_received(at(50), 2);
        history.miss_before(at(50), 2);
        let window = Duration::from_millis(10);
        assert_eq!(history.take_lost(at(59), window), 0);
        assert_eq!(history.take_lost(at(60), window), 2);
        assert_eq!(history.take_lost(at(61), window), 0);
        let late = history.on_received(at(75), 1).unwrap();
        assert_eq!(late.was_missing, Some(Duration::from_millis(25)));
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut history = sent(0..3);
        history.forget(at(1));
        assert_eq!(history.on_received(at(50), 0), None);
        assert!(history.on_received(at(50), 1).is_some());
    }

    #[test]
    fn numbers_that_do_not_follow_begin_anew() {
        let mut history = sent(0..3);
        let bytes = Bytes::new(1000);
        history.on_sent(at(9), SentPacket { seq: 100, bytes });
        assert_eq!(history.on_received(at(50), 2), None);
        assert!(history.on_received(at(50), 100).is_some());
        assert_eq!(history.sent_bytes(), Bytes::new(4000));
    }
}
