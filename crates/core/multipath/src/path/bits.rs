//! Sets of packet numbers, a bit each, 64 to a word.

/// A set of numbers that all lie within [`Self::capacity`] of each other: number n has the place
/// n modulo capacity.
#[derive(Clone, Debug)]
pub(super) struct BitRing {
    /// A power of two of them.
    words: Vec<u64>,
}

/// The part of a range of numbers that lies within one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WordSpan {
    /// Number of the word's lowest bit.
    pub(super) first: u64,
    /// The bits of the range.
    pub(super) mask: u64,
}

/// The words that the numbers from `start` to before `end` lie in, lowest first.
pub(super) fn word_spans(start: u64, end: u64) -> impl Iterator<Item = WordSpan> {
    let mut at = start;
    core::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let first = at & !63;
        let bits = (end - at).min(64 - (at - first));
        let mask = (u64::MAX >> (64 - bits)) << (at - first);
        at = first + 64;
        Some(WordSpan { first, mask })
    })
}

impl BitRing {
    /// An empty set for numbers up to `numbers` apart, rounded up to a power of two, at least 64.
    pub(super) fn new(numbers: usize) -> Self {
        let words = numbers.div_ceil(64).next_power_of_two();
        Self {
            words: vec![0; words],
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    fn index(&self, number: u64) -> usize {
        (number >> 6) as usize & (self.words.len() - 1)
    }

    /// The word that holds the bit of `number`; the bit's place in it is `number` modulo 64.
    pub(super) fn word(&self, number: u64) -> u64 {
        self.words[self.index(number)]
    }

    pub(super) fn word_mut(&mut self, number: u64) -> &mut u64 {
        let index = self.index(number);
        &mut self.words[index]
    }

    pub(super) fn insert(&mut self, number: u64) {
        *self.word_mut(number) |= 1 << (number & 63);
    }

    pub(super) fn remove(&mut self, number: u64) {
        *self.word_mut(number) &= !(1 << (number & 63));
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.word(number) >> (number & 63) & 1 == 1
    }

    /// Removes the numbers from `start` to before `end`. Costs at most the whole set, however far
    /// they are apart.
    pub(super) fn remove_range(&mut self, start: u64, end: u64) {
        if end.saturating_sub(start) >= self.capacity() {
            self.words.fill(0);
            return;
        }
        for span in word_spans(start, end) {
            *self.word_mut(span.first) &= !span.mask;
        }
    }

    /// The lowest number of the set from `start` to before `end`.
    pub(super) fn first_in(&self, start: u64, end: u64) -> Option<u64> {
        word_spans(start, end).find_map(|span| {
            let bits = self.word(span.first) & span.mask;
            (bits != 0).then(|| span.first + u64::from(bits.trailing_zeros()))
        })
    }

    /// The same set with room for numbers twice as far apart; all lie from `start` to before `end`.
    pub(super) fn doubled(&self, start: u64, end: u64) -> Self {
        let mut larger = Self {
            words: vec![0; self.words.len() * 2],
        };
        for span in word_spans(start, end) {
            *larger.word_mut(span.first) |= self.word(span.first) & span.mask;
        }
        larger
    }
}

/// Number of set bits of `word` from place `number` modulo 64 downwards without a gap.
pub(super) fn ones_down(word: u64, number: u64) -> u64 {
    u64::from((word << (63 - (number & 63))).leading_ones())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn spans_cut_a_range_at_words() {
        let spans: Vec<_> = word_spans(62, 130).map(|s| (s.first, s.mask)).collect();
        assert_eq!(spans, [(0, 0b11 << 62), (64, u64::MAX), (128, 0b11)]);
        assert_eq!(word_spans(5, 5).count(), 0);
    }

    #[test]
    fn ones_are_counted_downwards_within_the_word() {
        assert_eq!(ones_down(0b0111_0110, 6), 3);
        assert_eq!(ones_down(0b0111_0110, 3), 0);
        assert_eq!(ones_down(u64::MAX, 64 + 5), 6);
    }

    proptest! {
        /// A ring does what a set does, as long as its numbers are near each other.
        #[test]
        fn a_ring_is_a_set(
            start in 0u64..1_000,
            steps in prop::collection::vec((0u64..256, 0u8..3), 0..200),
            range in (0u64..300, 0u64..300),
        ) {
            let mut ring = BitRing::new(256);
            let mut set = BTreeSet::new();
            for (offset, action) in steps {
                let number = start + offset;
                match action {
                    0 | 1 => { ring.insert(number); set.insert(number); }
                    _ => { ring.remove(number); set.remove(&number); }
                }
                prop_assert_eq!(ring.contains(number), set.contains(&number));
            }
            let (from, to) = (start + range.0.min(range.1).min(256), start + range.0.max(range.1).min(256));
            prop_assert_eq!(ring.first_in(from, to), set.range(from..to).next().copied());
            let larger = ring.doubled(start, start + 256);
            prop_assert_eq!(larger.first_in(from, to), set.range(from..to).next().copied());
            ring.remove_range(from, to);
            set.retain(|n| !(from..to).contains(n));
            prop_assert_eq!(ring.first_in(start, start + 256), set.first().copied());
        }
    }
}
