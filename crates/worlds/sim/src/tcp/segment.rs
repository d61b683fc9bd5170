//! Segments as the simulated network carries them.

use super::Span;
use super::accecn::AccEcnOption;
use cc::RateReport;
use core::ops::BitOr;
use queue::Ecn;
use units::{Bytes, Instant};

/// IPv4 and TCP headers without options (RFC 791 3.1, RFC 9293 3.1).
const HEADERS: u64 = 20 + 20;
/// MSS, SACK-permitted, timestamps and window scale on a SYN, as Linux packs them.
const SYN_OPTIONS: u64 = 20;
/// Timestamps with two bytes of padding (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;
/// Kind, length and two bytes of padding before SACK blocks (RFC 2018 3).
const SACK_HEAD: u64 = 4;
/// A SACK block (RFC 2018 3).
const SACK_BLOCK: u64 = 8;
/// A report of bandwidth: an experimental option (RFC 6994 3) with kind, length, two bytes of identifier
/// and 32 bits of report (CDBE section III-A-1).
const REPORT: u64 = 8;
/// The maximum of options (RFC 9293 3.1: a header of 60 bytes).
const OPTIONS: u64 = 40;

/// Control bits (RFC 9293 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// No bit.
    pub const NONE: Self = Self(0);
    /// The connection begins.
    pub const SYN: Self = Self(1);
    /// The sender has no more data.
    pub const FIN: Self = Self(2);
    /// The connection is aborted.
    pub const RST: Self = Self(4);
    /// The acknowledgement is valid.
    pub const ACK: Self = Self(8);
    /// ECN-Echo: a mark was received (RFC 3168 6.1).
    pub const ECE: Self = Self(16);
    /// The congestion window was reduced (RFC 3168 6.1).
    pub const CWR: Self = Self(32);
    /// Accurate ECN (RFC 9768 3.1): with CWR and ECE it requests that, later it is a bit of the counter ACE.
    pub const AE: Self = Self(64);

    /// These bits, or none.
    #[must_use]
    pub const fn when(self, is_set: bool) -> Self {
        if is_set { self } else { Self::NONE }
    }

    /// True if all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, rhs: Self) -> Self {
        Self(self.0 | rhs.0)
    }
}

/// Up to three SACK blocks (RFC 2018 3: as many as fit beside timestamps), the most recent first.
/// They are kept relative to the acknowledgement of their segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    edges: [(i32, i32); Self::MAX],
    count: u8,
}

impl SackBlocks {
    /// The maximum blocks of a segment.
    pub const MAX: usize = 3;
    /// No blocks.
    pub const NONE: Self = Self {
        edges: [(0, 0); Self::MAX],
        count: 0,
    };

    /// Appends a block, unless three are there or it is 2 GiB away from `ack` (windows are smaller).
    pub fn push(&mut self, ack: u64, block: Span) {
        let relative = |edge: u64| i32::try_from(edge.wrapping_sub(ack).cast_signed());
        if let (Ok(start), Ok(end)) = (relative(block.start), relative(block.end))
            && usize::from(self.count) < Self::MAX
        {
            self.edges[usize::from(self.count)] = (start, end);
            self.count += 1;
        }
    }
    /// The same without what does not fit beside two.
    pub(super) fn truncated(self) -> Self {
        Self {
            count: self.count.min(2),
            ..self
        }
    }
    /// The blocks, given the acknowledgement of their segment.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = Span> {
        let absolute = move |edge: i32| ack.saturating_add_signed(i64::from(edge));
        self.edges[..usize::from(self.count)]
            .iter()
            .map(move |&(start, end)| Span {
                start: absolute(start),
                end: absolute(end),
            })
    }
    /// True without blocks.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// True if nothing else fits beside them and the timestamps.
    pub fn is_full(&self) -> bool {
        usize::from(self.count) == Self::MAX
    }
}

/// A TCP segment. Payload has no content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Position of the first byte of payload (or of SYN, FIN).
    pub seq: u64,
    /// Next position expected from the peer; valid with [`Flags::ACK`].
    pub ack: u64,
    /// Receive window in bytes from `ack`: what the receiver of this segment decodes, hence a
    /// multiple of the scaling granularity (RFC 7323 2.3).
    pub window: u64,
    /// When the segment was sent: TSval (RFC 7323 3.2).
    pub ts_val: Instant,
    /// TSecr; [`Instant::ZERO`] before anything was received.
    pub ts_ecr: Instant,
    /// TSval in ticks of the sender's clock, as others read it.
    pub ts_ticks: u32,
    /// The bandwidth that a client measures.
    pub report: Option<RateReport>,
    /// The counters of RFC 9768 3.2.3.
    pub accecn: Option<AccEcnOption>,
    /// When the first server sent the last byte of this payload. Metadata of the simulator; a relay
    /// carries it from one connection to the next.
    pub origin: Instant,
    /// Bytes of payload.
    pub len: u32,
    /// SACK blocks, a DSACK first (RFC 2883 4).
    pub sack: SackBlocks,
    /// Control bits.
    pub flags: Flags,
    /// The ECN field of the IP header, as sent or, on arrival, as the network has left it.
    pub ecn: Ecn,
    /// True if this payload was sent before. Metadata of the simulator.
    pub is_retransmission: bool,
}

impl Segment {
    /// IP packet that carries it, headers and options included.
    pub fn wire_bytes(&self) -> Bytes {
        let options = if self.flags.contains(Flags::SYN) {
            SYN_OPTIONS + report_bytes(self.report)
        } else {
            option_bytes(&self.sack, self.report)
        };
        // padded to the words of the header
        let accecn = self.accecn.map_or(0, |option| option.wire_len() as u64);
        let options = options + accecn.next_multiple_of(4);
        Bytes::new(HEADERS + options + u64::from(self.len))
    }
    /// The position after the last byte of payload; SYN and FIN are not counted.
    pub fn payload_end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

fn report_bytes(report: Option<RateReport>) -> u64 {
    if report.is_some() { REPORT } else { 0 }
}

/// Options of a segment without SYN, beside that of RFC 9768.
fn option_bytes(sack: &SackBlocks, report: Option<RateReport>) -> u64 {
    let sack = if sack.is_empty() {
        0
    } else {
        SACK_HEAD + SACK_BLOCK * u64::from(sack.count)
    };
    TIMESTAMPS + sack + report_bytes(report)
}

/// Bytes that these leave for the option of RFC 9768.
pub(super) fn room_for_counters(sack: &SackBlocks, report: Option<RateReport>) -> usize {
    OPTIONS.saturating_sub(option_bytes(sack, report)) as usize
}

#[cfg(test)]
mod tests {
    use super::super::accecn::{ByteCounts, FieldOrder};
    use super::*;

    fn segment(flags: Flags, len: u32) -> Segment {
        Segment {
            seq: 1,
            ack: 1,
            window: 65_535,
            ts_val: Instant::ZERO,
            ts_ecr: Instant::ZERO,
            ts_ticks: 0,
            report: None,
            accecn: None,
            origin: Instant::ZERO,
            len,
            sack: SackBlocks::NONE,
            flags,
            ecn: Ecn::NotEct,
            is_retransmission: false,
        }
    }

    #[test]
    fn a_full_ethernet_packet_has_1448_bytes_of_payload() {
        assert_eq!(segment(Flags::ACK, 1_448).wire_bytes(), Bytes::new(1_500));
        assert_eq!(segment(Flags::SYN, 0).wire_bytes(), Bytes::new(60));
    }

    #[test]
    fn rfc_6994_3_a_report_is_an_option_of_eight_bytes() {
        let mut ack = segment(Flags::ACK, 0);
        ack.report = Some(RateReport::new(1_000_000));
        assert_eq!(ack.wire_bytes(), Bytes::new(52 + 8));
    }

    #[test]
    fn rfc_9768_3_2_3_3_two_blocks_leave_room_for_two_counters() {
        let mut ack = segment(Flags::ACK, 0);
        assert_eq!(room_for_counters(&ack.sack, None), 28);
        for (k, room) in [(1, 16), (2, 8), (3, 0)] {
            let (start, end) = (1_000 * k, 1_000 * k + 500);
            ack.sack.push(ack.ack, Span { start, end });
            assert_eq!(room_for_counters(&ack.sack, None), room);
        }
        for (fields, bytes) in [(1, 52 + 8), (2, 52 + 8), (3, 52 + 12)] {
            let mut ack = segment(Flags::ACK, 0);
            let counts = ByteCounts::INITIAL;
            ack.accecn = Some(AccEcnOption::new(FieldOrder::Ect1First, counts, fields));
            assert_eq!(ack.wire_bytes(), Bytes::new(bytes));
        }
    }

    #[test]
    fn rfc_2018_three_blocks_fill_the_header() {
        let mut ack = segment(Flags::ACK, 0);
        for k in 1..=4 {
            ack.sack.push(
                ack.ack,
                Span {
                    start: 1_000 * k,
                    end: 1_000 * k + 500,
                },
            );
        }
        // 60 bytes is the largest TCP header
        assert_eq!(ack.wire_bytes(), Bytes::new(20 + 60));
        let blocks: Vec<_> = ack.sack.iter(ack.ack).collect();
        assert_eq!(blocks.len(), 3);
        assert_eq!(
            blocks[2],
            Span {
                start: 3_000,
                end: 3_500
            }
        );
    }

    #[test]
    fn rfc_2883_a_block_may_lie_below_the_acknowledgement() {
        let mut sack = SackBlocks::NONE;
        sack.push(
            5_000,
            Span {
                start: 3_000,
                end: 3_500,
            },
        );
        assert_eq!(
            sack.iter(5_000).next(),
            Some(Span {
                start: 3_000,
                end: 3_500
            })
        );
    }

    #[test]
    fn a_segment_stays_small() {
        assert!(size_of::<Segment>() <= 112, "{}", size_of::<Segment>());
    }
}
