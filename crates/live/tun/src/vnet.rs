//! What stands before each packet of the device.

/// A `virtio_net_hdr` (Linux `include/uapi/linux/virtio_net.h`), numbers in the machine's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VnetHeader {
    /// [`Self::NEEDS_CHECKSUM`] or 0.
    pub flags: u8,
    /// One of the `GSO_` constants, and [`Self::GSO_ECN`].
    pub gso_type: u8,
    /// Bytes of all headers of a packet that is to be cut.
    pub header_length: u16,
    /// Bytes of payload of each packet that it is to be cut into.
    pub gso_size: u16,
    /// Where the sum of an open checksum begins, bytes.
    pub checksum_start: u16,
    /// Where the checksum goes, bytes from there.
    pub checksum_offset: u16,
}

impl VnetHeader {
    /// Its length.
    pub const BYTES: usize = 10;
    /// A checksum is left open: its field holds the sum of the pseudo-header.
    pub const NEEDS_CHECKSUM: u8 = 1;
    /// No segmentation.
    pub const GSO_NONE: u8 = 0;
    /// TCP over IPv4.
    pub const GSO_TCP4: u8 = 1;
    /// TCP over IPv6.
    pub const GSO_TCP6: u8 = 4;
    /// UDP over either, cut into datagrams.
    pub const GSO_UDP: u8 = 5;
    /// TCP with CWR: added to the other.
    pub const GSO_ECN: u8 = 0x80;

    /// From its bytes.
    pub fn read(bytes: &[u8; Self::BYTES]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            gso_type: bytes[1],
            header_length: word(2),
            gso_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    /// Its bytes.
    pub fn bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [self.flags, self.gso_type, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = [
            self.header_length,
            self.gso_size,
            self.checksum_start,
            self.checksum_offset,
        ];
        for (to, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// What it is cut as, without the mark of ECN.
    pub fn kind(self) -> u8 {
        self.gso_type & !Self::GSO_ECN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(bytes: [u8; VnetHeader::BYTES]) {
            prop_assert_eq!(VnetHeader::read(&bytes).bytes(), bytes);
        }
    }
}
