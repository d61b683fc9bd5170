//! The header of a PDCP data PDU (TS 38.323 6.2.2): its sequence number can be read although what follows is ciphered.

/// Width of sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnLength {
    /// 12 bits: a header of 2 octets.
    Bits12,
    /// 18 bits: a header of 3 octets.
    Bits18,
}

impl SnLength {
    /// Its bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits12 => 12,
            Self::Bits18 => 18,
        }
    }

    /// Octets of a data PDU's header.
    pub const fn header(self) -> usize {
        match self {
            Self::Bits12 => 2,
            Self::Bits18 => 3,
        }
    }

    /// The sequence number of a COUNT.
    pub const fn sn(self, count: u64) -> u32 {
        (count & ((1 << self.bits()) - 1)) as u32
    }

    /// The COUNT with this sequence number that is nearest to another, which is not negative. Bits above the sequence number's
    /// are ignored.
    pub const fn nearest(self, sn: u32, to: u64) -> u64 {
        let (period, half) = (1_u64 << self.bits(), 1_u64 << (self.bits() - 1));
        let ahead = (sn as u64).wrapping_sub(to) & (period - 1);
        if ahead < half || to + ahead < period {
            to + ahead
        } else {
            to + ahead - period
        }
    }
}

/// The sequence number of a data PDU; none of a control PDU and of what is too short.
pub fn number(pdu: &[u8], length: SnLength) -> Option<u32> {
    let header = pdu.get(..length.header())?;
    if header[0] & 0x80 == 0 {
        return None;
    }
    let all = header
        .iter()
        .fold(0, |value, byte| value << 8 | u32::from(*byte));
    Some(all & ((1 << length.bits()) - 1))
}

/// Appends the header of a data PDU.
pub fn write_header(sn: u32, length: SnLength, out: &mut Vec<u8>) {
    let sn = length.sn(sn.into());
    let octets = sn.to_be_bytes();
    let header = &octets[4 - length.header()..];
    out.push(0x80 | header[0]);
    out.extend_from_slice(&header[1..]);
}
