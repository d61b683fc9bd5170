//! Segmentation, and the header bytes of RLC and MAC (TS 38.322 6.2.2, TS 38.321 6.1.2; TS 36.322
//! 6.2.1, TS 36.321 6.1.2).
//!
//! NR does not concatenate: each SDU or segment has an RLC header and a MAC subheader. LTE puts all
//! data of a bearer in a transport block into one RLC PDU, with a length indicator of 12 bits for
//! each SDU but the last.

use crate::config::{Rat, RlcMode};

/// MAC subheader with a length field of 8 or 16 bits (TS 38.321 6.1.2).
const NR_SUBHEADER_SHORT: u64 = 2;
const NR_SUBHEADER: u64 = 3;
const NR_SHORT_LENGTH: u64 = 255;
/// MAC subheader with a length field of 15 bits, and RLC header with an SN of 10 bits.
const LTE_PDU: u64 = 3 + 2;
/// Segment offset field: of NR segments but the first, and of LTE retransmissions in part.
const SEGMENT_OFFSET: u64 = 2;

/// Header formats of one bearer on one kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headers {
    /// Nothing is charged: a recorded capacity, which counts IP bytes.
    Bare,
    /// LTE.
    Lte,
    /// NR.
    Nr {
        /// RLC header of a complete SDU.
        whole: u64,
        /// RLC header of a segment (a segment offset comes on top for all but the first).
        segment: u64,
    },
}

impl Headers {
    /// AM with an SN of 18 bits: 3 bytes (TS 38.322 Figure 6.2.2.4-2). UM: 1 byte for a complete
    /// SDU, 2 for segments with an SN of 12 bits (Figures 6.2.2.3-1, -3).
    pub(crate) const fn of(rat: Rat, rlc: &RlcMode) -> Self {
        match (rat, rlc) {
            (Rat::Lte, _) => Self::Lte,
            (Rat::Nr { .. }, RlcMode::Am(_)) => Self::Nr {
                whole: 3,
                segment: 3,
            },
            (Rat::Nr { .. }, RlcMode::Um { .. }) => Self::Nr {
                whole: 1,
                segment: 2,
            },
        }
    }
    /// Header bytes of an RLC status PDU in its transport block: the fixed part, and for each
    /// missing span (TS 38.322 6.2.2.5: NACK_SN, SOstart and SOend).
    pub(crate) const fn status(self) -> (u64, u64) {
        match self {
            Self::Bare => (0, 0),
            Self::Lte => (2 + 2, 6),
            Self::Nr { .. } => (2 + 3, 7),
        }
    }
    /// A bound of the header bytes of one more SDU, for estimates of demand.
    pub(crate) const fn of_sdu(self) -> u64 {
        match self {
            Self::Bare => 0,
            Self::Lte => 2,
            Self::Nr { whole, .. } => NR_SUBHEADER + whole,
        }
    }
    /// Likewise, once for each transport block: a PDU header, or a segment's.
    pub(crate) const fn of_block(self) -> u64 {
        match self {
            Self::Bare => 0,
            Self::Lte => LTE_PDU,
            Self::Nr { segment, .. } => NR_SUBHEADER + segment + SEGMENT_OFFSET,
        }
    }
}

/// Room that one bearer has in a transport block.
#[derive(Debug)]
pub(crate) struct Room {
    headers: Headers,
    left: u64,
    /// SDUs and segments placed.
    parts: u64,
}

/// Which part of an SDU is to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// From its first byte on.
    FromStart,
    /// From a later byte on.
    Rest,
    /// A retransmission from a later byte on.
    RestAgain,
}

impl Room {
    pub(crate) fn new(headers: Headers, bytes: u64) -> Self {
        Self {
            headers,
            left: bytes,
            parts: 0,
        }
    }
    pub(crate) fn left(&self) -> u64 {
        self.left
    }
    pub(crate) fn parts(&self) -> u64 {
        self.parts
    }
    /// Whether a byte of a new SDU would fit.
    pub(crate) fn has_space(&self) -> bool {
        self.left > self.header(self.left, Part::FromStart, false)
    }
    /// Places as much as fits of `bytes` of one SDU; how much that is.
    pub(crate) fn place(&mut self, bytes: u64, part: Part) -> u64 {
        let whole = self.header(bytes, part, true);
        let (taken, header) = if bytes + whole <= self.left {
            (bytes, whole)
        } else {
            let header = self.header(self.left, part, false);
            (self.left.saturating_sub(header).min(bytes), header)
        };
        if taken > 0 {
            self.left -= taken + header;
            self.parts += 1;
        }
        taken
    }
    /// Header bytes of a part of `bytes` bytes that does or does not reach the end of its SDU.
    fn header(&self, bytes: u64, part: Part, reaches_end: bool) -> u64 {
        match self.headers {
            Headers::Bare => 0,
            Headers::Lte => {
                let offset = if part == Part::RestAgain {
                    SEGMENT_OFFSET
                } else {
                    0
                };
                match self.parts {
                    0 => LTE_PDU + offset,
                    // 12 bits each, in whole bytes: 2, 1, 2, 1 ...
                    n => 1 + n % 2 + offset,
                }
            }
            Headers::Nr { whole, segment } => {
                let rlc = match part {
                    Part::FromStart if reaches_end => whole,
                    Part::FromStart => segment,
                    Part::Rest | Part::RestAgain => segment + SEGMENT_OFFSET,
                };
                let short = bytes + rlc <= NR_SHORT_LENGTH;
                rlc + if short {
                    NR_SUBHEADER_SHORT
                } else {
                    NR_SUBHEADER
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NR_AM: Headers = Headers::Nr {
        whole: 3,
        segment: 3,
    };

    #[test]
    fn nr_packet_of_1480_bytes_costs_ten_with_pdcp_and_sdap() {
        // SDAP 1 + PDCP 3 are in the SDU of 1484 bytes; RLC 3 + MAC 3 come on top
        let mut room = Room::new(NR_AM, 1490);
        assert_eq!(room.place(1484, Part::FromStart), 1484);
        assert_eq!(room.left(), 0);
    }

    #[test]
    fn nr_segments() {
        let mut room = Room::new(NR_AM, 1006);
        assert_eq!(room.place(1484, Part::FromStart), 1000);
        let mut room = Room::new(NR_AM, 2000);
        // 484 B + RLC 5 + MAC 3
        assert_eq!(room.place(484, Part::Rest), 484);
        assert_eq!(room.left(), 2000 - 492);
        // up to 255 B the length field has 8 bits
        let mut room = Room::new(NR_AM, 60);
        assert_eq!(room.place(40, Part::FromStart), 40);
        assert_eq!(room.left(), 60 - 45);
    }

    #[test]
    fn lte_concatenates_with_length_indicators_of_12_bits() {
        let mut room = Room::new(Headers::Lte, 1000);
        for used in [105, 207, 308, 410] {
            assert_eq!(room.place(100, Part::FromStart), 100);
            assert_eq!(room.left(), 1000 - used);
        }
    }

    proptest! {
        #[test]
        fn never_more_than_the_room(
            bytes in 0u64..4000,
            sdus in prop::collection::vec((1u64..3000, 0usize..3), 1..20),
            kind in 0usize..4,
        ) {
            let headers =
                [Headers::Bare, Headers::Lte, NR_AM, Headers::Nr { whole: 1, segment: 2 }][kind];
            let mut room = Room::new(headers, bytes);
            let mut placed = 0;
            for (sdu, part) in sdus {
                let part = [Part::FromStart, Part::Rest, Part::RestAgain][part];
                let taken = room.place(sdu, part);
                prop_assert!(taken <= sdu);
                placed += taken;
                let bound = headers.of_block() + (room.parts() + 1) * (headers.of_sdu() + 4);
                prop_assert!(placed + room.left() <= bytes);
                prop_assert!(bytes - placed - room.left() <= bound);
            }
        }
    }
}
