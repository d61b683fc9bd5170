//! The ACE field: the flags AE, CWR and ECE as a number of three bits (RFC 9768 3.2.2).

use super::super::segment::Flags;
use queue::Ecn;

/// Values of the field.
pub(super) const VALUES: u64 = 8;

/// AE, CWR and ECE, from 0 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Ace(u8);

impl Ace {
    /// The field of a segment.
    pub(in crate::tcp) fn of(flags: Flags) -> Self {
        let bit = |flag, value| if flags.contains(flag) { value } else { 0 };
        Self(bit(Flags::AE, 4) | bit(Flags::CWR, 2) | bit(Flags::ECE, 1))
    }

    /// A counter of packets modulo 8 (3.2.2.2).
    pub(super) fn of_count(packets: u64) -> Self {
        Self((packets % VALUES) as u8)
    }

    /// The codepoint with which a SYN or SYN-ACK arrived (tables 2 and 3).
    pub(in crate::tcp) const fn of_handshake(arrived: Ecn) -> Self {
        Self(match arrived {
            Ecn::NotEct => 0b010,
            Ecn::Ect1 => 0b011,
            Ecn::Ect0 => 0b100,
            Ecn::Ce => 0b110,
        })
    }

    /// The same read backwards; none for values that no end sends.
    pub(super) fn handshake(self) -> Option<Ecn> {
        [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]
            .into_iter()
            .find(|&ecn| Self::of_handshake(ecn) == self)
    }

    /// 0 to 7.
    pub(super) const fn value(self) -> u8 {
        self.0
    }

    /// As the segment carries it.
    pub(in crate::tcp) fn flags(self) -> Flags {
        let is_set = |value| self.0 & value != 0;
        Flags::AE.when(is_set(4)) | Flags::CWR.when(is_set(2)) | Flags::ECE.when(is_set(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_9768_figure_3_the_least_significant_bit_is_ece() {
        for value in 0..8 {
            let flags = Ace(value).flags();
            assert_eq!(Ace::of(flags), Ace(value));
            assert_eq!(flags.contains(Flags::ECE), value & 1 != 0);
            assert_eq!(flags.contains(Flags::CWR), value & 2 != 0);
            assert_eq!(flags.contains(Flags::AE), value & 4 != 0);
        }
        assert_eq!(Ace::of_count(5), Ace(5));
        assert_eq!(Ace::of_count(8), Ace(0));
    }

    #[test]
    fn rfc_9768_table_3_the_handshake_encoding() {
        for (ecn, value) in [
            (Ecn::NotEct, 0b010),
            (Ecn::Ect1, 0b011),
            (Ecn::Ect0, 0b100),
            (Ecn::Ce, 0b110),
        ] {
            assert_eq!(Ace::of_handshake(ecn), Ace(value));
            assert_eq!(Ace(value).handshake(), Some(ecn));
        }
        for unused in [0b000, 0b001, 0b101, 0b111] {
            assert_eq!(Ace(unused).handshake(), None);
        }
    }
}
