//! One TCP connection of a flow, followed from its packets.
//!
//! ```text
//!   data's sender --(1)--> ... [ proxy? ] --(2)--> ... --(3)--> receiver
//!                                  <------(4)------ acknowledgement
//! ```
//!
//! (1) the data leaves its sender; (2) it leaves the proxy, if there is one; (3) it arrives; (4) its
//! acknowledgement comes to the last sender before the receiver, as in the simulator. The positions
//! of a byte in the two connections of a proxy differ only by where their numbers begin, which their
//! SYNs report.
//!
//! Round-trip time: from (1), the first time, to (4); through a proxy, with the way from there back to
//! the sender added, which has no queue. A segment sent again gives none (Karn). One-way delay: from
//! (1) to (3), in order.

use crate::packet::TcpSegment;
use std::collections::{BTreeMap, VecDeque};
use units::{Bytes, Duration, Instant};

/// Positions in a stream, counted from the first byte of payload. 2^32 bytes wrap the number on the
/// wire, not this one.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// Number of the first byte of payload, once it is known.
    first: Option<u32>,
    /// The highest position seen.
    highest: u64,
}

impl Position {
    /// A SYN reports where numbers begin.
    fn begin(&mut self, syn: u32) {
        self.first = Some(syn.wrapping_add(1));
        self.highest = 0;
    }

    /// The position of a number, which is within 2 GiB of the highest one. Of numbers before the
    /// first byte there is none.
    fn of(&mut self, number: u32) -> Option<u64> {
        let relative = number.wrapping_sub(self.first?);
        let distance = relative.wrapping_sub(self.highest as u32).cast_signed();
        let position = self.highest.checked_add_signed(i64::from(distance))?;
        self.highest = self.highest.max(position);
        Some(position)
    }
}

/// Payload that left its sender in one piece.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    /// When it left for the first time.
    left_at: Instant,
    /// It, or a part of it, was sent again.
    is_resent: bool,
    /// Its arrival has been acknowledged.
    is_acked: bool,
}

/// A connection in the direction of its data.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// Of the sender.
    origin: Position,
    /// Of the last sender before the receiver: the same, or the proxy.
    last_hop: Position,
    /// What was sent and not acknowledged, in order.
    pieces: VecDeque<Piece>,
    /// Arrived in order.
    arrived: u64,
    /// Arrived out of order: end by start.
    islands: BTreeMap<u64, u64>,
    /// Handed on by the proxy.
    forwarded: u64,
    /// Come to the proxy in order.
    at_edge: u64,
    /// When that was: (up to which position, when), of what has not been handed on.
    edge_arrivals: VecDeque<(u64, Instant)>,
    /// Out of order there: end by start.
    edge_islands: BTreeMap<u64, u64>,
}

/// What a proxy did with a packet's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forwarded {
    /// Segments that were handed on before: 0 or 1.
    pub(crate) resent: u64,
    /// How long the newest part of it had waited, if it is new.
    pub(crate) wait: Option<Duration>,
}

/// A part of the payload that has just arrived in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// How much.
    pub(crate) bytes: Bytes,
    /// When it left its sender.
    pub(crate) left_at: Instant,
}

impl Connection {
    /// A packet of the data's sender leaves it (1).
    pub(crate) fn on_sent(&mut self, now: Instant, segment: &TcpSegment<'_>, has_proxy: bool) {
        if segment.is_syn() {
            self.origin.begin(segment.seq);
        }
        if !has_proxy {
            // the edge only forwards: both positions are one
            self.last_hop = self.origin;
        }
        let before = self.origin.highest;
        let Some((start, end)) = range(&mut self.origin, segment) else {
            return;
        };
        if start < before && !has_proxy {
            self.mark_resent(start, end.min(before));
        }
        if !has_proxy {
            self.last_hop = self.origin;
        }
        if end > before {
            self.pieces.push_back(Piece {
                start: start.max(before),
                end,
                left_at: now,
                is_resent: false,
                is_acked: false,
            });
        }
    }

    /// A packet of the data's direction comes to a proxy.
    pub(crate) fn on_edge(&mut self, now: Instant, segment: &TcpSegment<'_>) {
        let mut position = self.origin;
        if let Some((start, end)) = range(&mut position, segment) {
            let before = self.at_edge;
            self.at_edge = advance(&mut self.edge_islands, before, start, end).until;
            if self.at_edge > before {
                self.edge_arrivals.push_back((self.at_edge, now));
            }
        }
    }

    /// A packet of the data's direction leaves a proxy (2).
    pub(crate) fn on_forwarded(&mut self, now: Instant, segment: &TcpSegment<'_>) -> Forwarded {
        if segment.is_syn() {
            self.last_hop.begin(segment.seq);
        }
        let mut done = Forwarded {
            resent: 0,
            wait: None,
        };
        let before = self.last_hop.highest;
        let Some((start, end)) = range(&mut self.last_hop, segment) else {
            return done;
        };
        if start < before {
            done.resent = 1;
            self.mark_resent(start, end.min(before));
        }
        self.forwarded = self.forwarded.max(end);
        while let Some(&(_, arrived_at)) = self
            .edge_arrivals
            .front()
            .filter(|(until, _)| *until <= self.forwarded)
        {
            done.wait = Some(now.saturating_since(arrived_at));
            self.edge_arrivals.pop_front();
        }
        done
    }

    /// What has come to a proxy in order and not been handed on.
    pub(crate) fn waiting(&self) -> Bytes {
        Bytes::new(self.at_edge.saturating_sub(self.forwarded))
    }

    /// A packet of the data's direction arrives (3). Hands what is now in order to `deliver`, and returns how much of
    /// its payload had not come before.
    pub(crate) fn on_arrived(
        &mut self,
        segment: &TcpSegment<'_>,
        mut deliver: impl FnMut(Delivery),
    ) -> Bytes {
        let mut position = self.last_hop;
        let Some((start, end)) = range(&mut position, segment) else {
            return Bytes::ZERO;
        };
        let before = self.arrived;
        let advanced = advance(&mut self.islands, before, start, end);
        self.arrived = advanced.until;
        let first = self.pieces.partition_point(|piece| piece.end <= before);
        for piece in self.pieces.range(first..) {
            let (from, to) = (piece.start.max(before), piece.end.min(self.arrived));
            if from >= to {
                break;
            }
            deliver(Delivery {
                bytes: Bytes::new(to - from),
                left_at: piece.left_at,
            });
        }
        Bytes::new(advanced.new)
    }

    /// An acknowledgement of the data comes to the last sender before the receiver (4). Returns the
    /// time since the newest payload that it covers, and no earlier one did, left its sender.
    pub(crate) fn on_ack(&mut self, now: Instant, segment: &TcpSegment<'_>) -> Option<Duration> {
        if !segment.has_ack() {
            return None;
        }
        let mut newest = None;
        let mut cover = |piece: &mut Piece| {
            if !piece.is_acked && !piece.is_resent {
                newest = newest.max(Some(piece.left_at));
            }
            piece.is_acked = true;
        };
        let mut position = self.last_hop;
        let acked = position.of(segment.ack)?;
        while let Some(piece) = self.pieces.front_mut().filter(|piece| piece.end <= acked) {
            cover(piece);
            self.pieces.pop_front();
        }
        for (start, end) in segment.sack_blocks() {
            let mut position = self.last_hop;
            let (Some(start), Some(end)) = (position.of(start), position.of(end)) else {
                continue;
            };
            let after = self.pieces.partition_point(|piece| piece.end <= end);
            for piece in self.pieces.range_mut(..after).rev() {
                // what lies before was covered by an earlier block
                if piece.start < start || piece.is_acked {
                    break;
                }
                cover(piece);
            }
        }
        newest.map(|left_at| now.saturating_since(left_at))
    }

    fn mark_resent(&mut self, start: u64, end: u64) {
        let first = self.pieces.partition_point(|piece| piece.end <= start);
        for piece in self.pieces.range_mut(first..) {
            if piece.start >= end {
                break;
            }
            piece.is_resent = true;
        }
    }
}

/// Positions of a segment's payload, if it has any.
fn range(position: &mut Position, segment: &TcpSegment<'_>) -> Option<(u64, u64)> {
    if segment.payload == 0 || segment.is_syn() {
        return None;
    }
    let start = position.of(segment.seq)?;
    let end = start + u64::from(segment.payload);
    position.highest = position.highest.max(end);
    Some((start, end))
}

/// What a part of a stream changes that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Advanced {
    /// All is there up to here.
    until: u64,
    /// Bytes that had not come before.
    new: u64,
}

/// `start..end` has come too. Islands neither overlap nor touch, and lie beyond what is in order.
fn advance(islands: &mut BTreeMap<u64, u64>, in_order: u64, start: u64, end: u64) -> Advanced {
    let (mut from, mut until) = (start.max(in_order), end.max(in_order));
    let mut new = until - from;
    // those that it touches, the last first
    while let Some((&first, &last)) = islands.range(..=until).next_back()
        && last >= from
    {
        islands.remove(&first);
        new -= last.min(until).saturating_sub(first.max(from));
        (from, until) = (from.min(first), until.max(last));
    }
    if from > in_order {
        islands.insert(from, until);
        until = in_order;
    }
    Advanced { until, new }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::segment;

    const SYN: u8 = 0x12;
    const ACK: u8 = 0x10;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn read(data: &[u8]) -> TcpSegment<'_> {
        TcpSegment::read(data).expect("a segment")
    }

    fn data(seq: u32, length: usize) -> Vec<u8> {
        segment(seq, ACK, &vec![0; length])
    }

    /// A pure acknowledgement, with SACK blocks.
    fn ack(number: u32, blocks: &[(u32, u32)]) -> Vec<u8> {
        let mut packet = segment(1, ACK, b"");
        packet.truncate(40);
        packet[28..32].copy_from_slice(&number.to_be_bytes());
        packet.extend([1, 1, 5, (2 + 8 * blocks.len()) as u8]);
        for (start, end) in blocks {
            packet.extend(start.to_be_bytes());
            packet.extend(end.to_be_bytes());
        }
        packet[32] = ((packet.len() - 20) / 4 * 16) as u8;
        packet
    }

    /// A connection whose sender's numbers begin at `isn`, without a proxy.
    fn direct(isn: u32) -> Connection {
        let mut connection = Connection::default();
        let syn = segment(isn, SYN, b"");
        connection.on_sent(at(0), &read(&syn), false);
        connection
    }

    fn send(connection: &mut Connection, ms: u64, seq: u32, length: usize) {
        let packet = data(seq, length);
        connection.on_sent(at(ms), &read(&packet), false);
    }

    #[test]
    fn what_comes_counts_once_in_any_order() {
        let mut islands = BTreeMap::new();
        let mut in_order = 0;
        let mut come = |start, end| {
            let advanced = advance(&mut islands, in_order, start, end);
            in_order = advanced.until;
            (advanced.until, advanced.new, islands.len())
        };
        assert_eq!(come(0, 10), (10, 10, 0));
        assert_eq!(come(20, 30), (10, 10, 1));
        assert_eq!(come(40, 50), (10, 10, 2));
        assert_eq!(come(22, 28), (10, 0, 2), "all of it was there");
        assert_eq!(come(25, 45), (10, 10, 1), "it joins both");
        assert_eq!(come(60, 70), (10, 10, 2));
        assert_eq!(come(5, 25), (50, 10, 1), "the gap is closed");
        assert_eq!(come(50, 60), (70, 10, 0));
        assert_eq!(come(0, 70), (70, 0, 0));
    }

    #[test]
    fn an_acknowledgement_is_timed_from_the_newest_it_covers() {
        let isn = u32::MAX - 1500;
        let mut connection = direct(isn);
        send(&mut connection, 10, isn.wrapping_add(1), 1000);
        send(&mut connection, 12, isn.wrapping_add(1001), 1000);
        send(&mut connection, 14, isn.wrapping_add(2001), 1000);
        let both = ack(isn.wrapping_add(2001), &[]);
        let rtt = connection.on_ack(at(60), &read(&both));
        assert_eq!(rtt, Some(Duration::from_millis(48)));
        assert_eq!(connection.on_ack(at(61), &read(&both)), None, "nothing new");
    }

    #[test]
    fn sacked_payload_counts_once_and_what_was_sent_again_never() {
        let mut connection = direct(0);
        for k in 0..3 {
            send(&mut connection, 10 + u64::from(k), 1 + k * 1000, 1000);
        }
        let sack = ack(1, &[(2001, 3001)]);
        let rtt = connection.on_ack(at(50), &read(&sack));
        assert_eq!(rtt, Some(Duration::from_millis(38)));
        send(&mut connection, 51, 1, 1000);
        let rest = ack(3001, &[]);
        let rtt = connection.on_ack(at(90), &read(&rest));
        assert_eq!(rtt, Some(Duration::from_millis(79)), "the second piece");
    }

    #[test]
    fn delays_are_counted_as_data_comes_in_order() {
        let mut connection = direct(0);
        send(&mut connection, 10, 1, 1000);
        send(&mut connection, 11, 1001, 500);
        let mut seen = Vec::new();
        let second = data(1001, 500);
        connection.on_arrived(&read(&second), |d| seen.push(d));
        assert!(seen.is_empty());
        let first = data(1, 1000);
        connection.on_arrived(&read(&first), |d| seen.push(d));
        connection.on_arrived(&read(&first), |d| seen.push(d));
        let seen: Vec<_> = seen.iter().map(|d| (d.bytes.get(), d.left_at)).collect();
        assert_eq!(seen, [(1000, at(10)), (500, at(11))]);
    }

    #[test]
    fn a_proxy_has_numbers_of_its_own() {
        let mut connection = Connection::default();
        connection.on_sent(at(0), &read(&segment(100, SYN, b"")), true);
        connection.on_forwarded(at(0), &read(&segment(9000, SYN, b"")));
        let (sent, forwarded) = (data(101, 800), data(9001, 800));
        connection.on_sent(at(5), &read(&sent), true);
        connection.on_edge(at(9), &read(&sent));
        assert_eq!(connection.waiting(), Bytes::new(800));
        let done = connection.on_forwarded(at(12), &read(&forwarded));
        assert_eq!(
            (done.resent, done.wait),
            (0, Some(Duration::from_millis(3)))
        );
        assert_eq!(connection.waiting(), Bytes::ZERO);
        let mut seen = 0;
        connection.on_arrived(&read(&forwarded), |d| seen += d.bytes.get());
        assert_eq!(seen, 800);
        let rtt = connection.on_ack(at(30), &read(&ack(9801, &[])));
        assert_eq!(rtt, Some(Duration::from_millis(25)));
    }
}
