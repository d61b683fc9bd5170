//! The ECN field of the IP header.

/// Explicit congestion notification (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not understand marks: congestion is signalled by drops.
    #[default]
    NotEct,
    /// ECT(0): a classic transport, which takes a mark as it takes a loss.
    Ect0,
    /// ECT(1): a scalable transport (RFC 9331), which expects many marks.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The two bits of the IP header (RFC 3168 section 5, figure 1).
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }

    /// From the two low bits of the traffic class; the others are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3168 figure 1.
    #[test]
    fn codepoints_are_those_of_the_rfc() {
        let table = [
            (Ecn::NotEct, 0),
            (Ecn::Ect1, 1),
            (Ecn::Ect0, 2),
            (Ecn::Ce, 3),
        ];
        for (ecn, bits) in table {
            assert_eq!((ecn.bits(), Ecn::from_bits(bits | 0xFC)), (bits, ecn));
        }
    }
}
