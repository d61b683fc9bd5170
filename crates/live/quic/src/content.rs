//! What a download of a given size consists of: a block of 64 KiB without a pattern that a link
//! could compress, again and again.

use bytes::Bytes;
use std::sync::LazyLock;

const BLOCK: usize = 65_536;

static CONTENT: LazyLock<Bytes> = LazyLock::new(|| {
    // a linear congruential generator (Knuth's MMIX), its upper bits
    let mut state = 1u64;
    let block: Vec<u8> = (0..BLOCK)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    Bytes::from(block)
});

/// What comes at this place, at most so much of it; without a copy.
pub(crate) fn at(offset: u64, max: u64) -> Bytes {
    let begin = (offset % BLOCK as u64) as usize;
    let length = max.min((BLOCK - begin) as u64) as usize;
    CONTENT.slice(begin..begin + length)
}

/// Whether these bytes are what comes at this place.
pub(crate) fn is_at(mut offset: u64, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let expected = at(offset, bytes.len() as u64);
        let (now, later) = bytes.split_at(expected.len());
        if now != &expected[..] {
            return false;
        }
        offset += now.len() as u64;
        bytes = later;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_its_content() {
        let whole: Vec<u8> = [at(0, 70_000), at(65_536, 70_000 - 65_536)].concat();
        assert_eq!(whole.len(), 70_000);
        assert!(is_at(0, &whole) && is_at(12_345, &whole[12_345..]));
        assert!(!is_at(1, &whole));
        let mut wrong = whole.clone();
        wrong[66_000] ^= 1;
        assert!(!is_at(0, &wrong));
    }
}
