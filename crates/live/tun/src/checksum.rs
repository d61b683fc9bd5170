//! The Internet checksum (RFC 1071), eight bytes at a time.
//!
//! The sum is kept in the machine's byte order (RFC 1071 section 2, B) and turned into bytes of the
//! network only at the end.

/// A sum in the making.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes that begin at an even place of what is summed.
    #[must_use]
    pub fn with(self, data: &[u8]) -> Self {
        let mut sums = [self.0, 0, 0, 0];
        let (blocks, rest) = data.as_chunks::<32>();
        for block in blocks {
            let (words, _) = block.as_chunks::<8>();
            for (sum, word) in sums.iter_mut().zip(words) {
                let word = u64::from_ne_bytes(*word);
                *sum += (word & 0xffff_ffff) + (word >> 32);
            }
        }
        let mut sum = sums[0] + sums[1] + sums[2] + sums[3];
        let (pairs, last) = rest.as_chunks::<2>();
        for pair in pairs {
            sum += u64::from(u16::from_ne_bytes(*pair));
        }
        if let [last] = last {
            sum += u64::from(u16::from_ne_bytes([*last, 0]));
        }
        Self(sum)
    }

    /// Adds a number, as one word of the network.
    #[must_use]
    pub fn with_word(self, word: u16) -> Self {
        Self(self.0 + u64::from(word.to_be()))
    }

    /// The sum itself, as it stands in a packet.
    #[must_use]
    pub fn folded(self) -> [u8; 2] {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (sum as u16).to_ne_bytes()
    }

    /// Its complement: the checksum, as it stands in a packet.
    #[must_use]
    pub fn checksum(self) -> [u8; 2] {
        let [a, b] = self.folded();
        [!a, !b]
    }

    /// Whether what was summed contained its own right checksum.
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.folded() == [0xff, 0xff]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071 section 1, word by word.
    fn slow(data: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in data.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn rfc_1071_section_3() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().with(&data).folded(), [0xdd, 0xf2]);
        assert_eq!(Sum::default().with(&data).checksum(), [0x22, 0x0d]);
    }

    proptest! {
        #[test]
        fn as_the_slow_one(data in prop::collection::vec(any::<u8>(), 0..3_000), half in 0usize..1_500) {
            let at = (half * 2).min(data.len() & !1);
            let fast = Sum::default().with(&data[..at]).with(&data[at..]).folded();
            prop_assert_eq!(u16::from_be_bytes(fast), slow(&data));
        }

        #[test]
        fn numbers_are_words_of_the_network(word: u16) {
            prop_assert_eq!(Sum::default().with_word(word).folded(), word.to_be_bytes());
        }
    }
}
