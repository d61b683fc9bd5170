//! What is in flight, as far as quinn reports it: amounts, stamps and round trips.
//!
//! quinn reports datagrams as they leave, several at once with segmentation offload, and not whether
//! they count as in flight. Here all of more than [`MAX_ACK_ONLY`] bytes do: what is smaller is an
//! acknowledgement as a rule. With each acknowledgement quinn reports the exact amount, from which
//! counting goes on.

use cc::PacketStamp;
use std::collections::VecDeque;
use units::{Bytes, Instant};

/// Datagrams up to this size are taken for acknowledgements, which are not congestion controlled.
const MAX_ACK_ONLY: Bytes = Bytes::new(64);
/// Maximum number of stamps kept; beyond it the oldest are dropped, and give no rate sample.
const MAX_STAMPS: usize = 16_384;

/// Counts what is in flight and keeps the stamps of what was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    bytes: Bytes,
    /// By the time of sending.
    stamps: VecDeque<PacketStamp>,
    last_sent_at: Instant,
    /// The time of sending of the latest packet acknowledged.
    latest_acked: Option<Instant>,
    /// The round trip ends when something sent later than this is acknowledged.
    round_ends_after: Instant,
}

impl Flight {
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(crate) fn last_sent_at(&self) -> Instant {
        self.last_sent_at
    }

    /// Whether a datagram of this size is taken to be in flight.
    pub(crate) fn counts(bytes: Bytes) -> bool {
        bytes > MAX_ACK_ONLY
    }

    pub(crate) fn on_sent(&mut self, now: Instant, bytes: Bytes, stamp: PacketStamp) {
        self.bytes += bytes;
        self.last_sent_at = now;
        if self.stamps.len() == MAX_STAMPS {
            self.stamps.pop_front();
        }
        self.stamps.push_back(stamp);
    }

    pub(crate) fn on_lost(&mut self, bytes: Bytes) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// An acknowledgement has been counted by quinn: so much is left.
    pub(crate) fn set_bytes(&mut self, bytes: Bytes) {
        self.bytes = bytes;
    }

    /// Something was acknowledged, the latest of it sent at that time. Returns whether that is the
    /// latest of all so far, which gives a sample of the round-trip time.
    pub(crate) fn is_newest(&mut self, sent_at: Instant) -> bool {
        let is_newest = self.latest_acked.is_none_or(|latest| sent_at > latest);
        if is_newest {
            self.latest_acked = Some(sent_at);
        }
        is_newest
    }

    /// The stamp of what was sent at that time. Those of what was sent before are dropped: an
    /// acknowledgement of that comes out of order, and gives no rate sample.
    pub(crate) fn stamp(&mut self, sent_at: Instant) -> Option<PacketStamp> {
        let older = self.stamps.partition_point(|stamp| stamp.sent_at < sent_at);
        self.stamps.drain(..older);
        let last = self
            .stamps
            .partition_point(|stamp| stamp.sent_at <= sent_at);
        last.checked_sub(1).map(|index| self.stamps[index])
    }

    /// Whether the acknowledgement of what was sent at that time begins a round trip.
    pub(crate) fn begins_round(&mut self, sent_at: Instant) -> bool {
        let begins = sent_at > self.round_ends_after;
        if begins {
            self.round_ends_after = self.last_sent_at;
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn send(flight: &mut Flight, ms: u64, delivered: u64) {
        let stamp = PacketStamp {
            delivered: Bytes::new(delivered),
            sent_at: at(ms),
            ..PacketStamp::default()
        };
        flight.on_sent(at(ms), Bytes::new(1_000), stamp);
    }

    #[test]
    fn the_stamp_is_the_last_one_of_its_time_and_outlives_it() {
        let mut flight = Flight::default();
        for (ms, delivered) in [(1, 1), (2, 2), (2, 3), (4, 4)] {
            send(&mut flight, ms, delivered);
        }
        let delivered = |flight: &mut Flight, ms| flight.stamp(at(ms)).map(|s| s.delivered.get());
        assert_eq!(delivered(&mut flight, 2), Some(3));
        assert_eq!(delivered(&mut flight, 2), Some(3), "of the same group");
        assert_eq!(delivered(&mut flight, 1), None, "out of order");
        assert_eq!(delivered(&mut flight, 4), Some(4));
    }

    #[test]
    fn a_round_ends_with_what_was_sent_after_it_began() {
        let mut flight = Flight::default();
        for ms in [1, 2, 3] {
            send(&mut flight, ms, 0);
        }
        assert!(flight.begins_round(at(1)));
        assert!(!flight.begins_round(at(3)), "in flight as the round began");
        send(&mut flight, 4, 0);
        assert!(flight.begins_round(at(4)));
    }

    #[test]
    fn stamps_are_bounded() {
        let mut flight = Flight::default();
        for ms in 0..20_000 {
            send(&mut flight, ms, ms);
        }
        assert_eq!(flight.stamps.len(), MAX_STAMPS);
        assert_eq!(
            flight.stamp(at(19_999)).map(|stamp| stamp.delivered.get()),
            Some(19_999)
        );
    }
}
