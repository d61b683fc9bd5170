//! Bytes that depend on their position: what is lost, repeated or moved on its way is detected.
//!
//! Tests send hundreds of megabytes of them, so this crate is optimised where tests are not.

/// So many bytes of the pattern, from a position on.
pub fn pattern(start: usize, length: usize) -> Vec<u8> {
    (start..start + length).map(byte).collect()
}

/// Panics with the first of these bytes that is not the pattern's from `start` on.
#[track_caller]
pub fn assert_pattern(start: usize, bytes: &[u8]) {
    let differs = |(at, value): (usize, &u8)| *value != byte(at);
    if let Some(at) = (start..).zip(bytes).position(differs) {
        panic!("other bytes than were sent, from {} on", start + at);
    }
}

/// The highest of four bytes of a multiple of a large odd number.
fn byte(at: usize) -> u8 {
    (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_the_patterns_only_at_its_place() {
        let piece = pattern(70_000, 1_000);
        assert_pattern(70_000, &piece);
        assert_pattern(70_500, &piece[500..]);
        for moved in [0, 1, 65_536, 69_999, 70_001, 70_256, 135_536] {
            let result = std::panic::catch_unwind(|| assert_pattern(moved, &piece));
            assert!(result.is_err(), "{moved}");
        }
    }

    #[test]
    #[should_panic(expected = "from 70300 on")]
    fn the_first_wrong_byte_is_named() {
        let mut piece = pattern(70_000, 1_000);
        piece[300] ^= 1;
        piece[800] ^= 1;
        assert_pattern(70_000, &piece);
    }
}
