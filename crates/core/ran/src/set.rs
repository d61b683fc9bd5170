//! A set of small numbers: the UEs that have something to do.

/// A set of numbers below a limit, one bit each: an absent member costs 1/64 of a step.
#[derive(Clone, Debug)]
pub(crate) struct IndexSet {
    words: Vec<u64>,
}

impl IndexSet {
    /// Empty, for numbers below `limit`.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            words: vec![0; limit.div_ceil(64)],
        }
    }
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }
    pub(crate) fn insert(&mut self, index: usize) {
        self.words[index / 64] |= 1 << (index % 64);
    }
    pub(crate) fn remove(&mut self, index: usize) {
        self.words[index / 64] &= !(1 << (index % 64));
    }
    pub(crate) fn contains(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
    /// Appends the members to `out`, in ascending order from `start` on, then those before it.
    pub(crate) fn collect_from(&self, start: usize, out: &mut Vec<u32>) {
        let (first, bit) = (start / 64, start % 64);
        let n = self.words.len();
        for step in 0..=n {
            let at = (first + step) % n;
            let mut word = self.words[at];
            if step == 0 {
                word &= u64::MAX << bit;
            } else if step == n {
                word &= !(u64::MAX << bit);
            }
            while word != 0 {
                out.push((at * 64) as u32 + word.trailing_zeros());
                word &= word - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn is_a_set_read_in_rotation(
            members in prop::collection::vec(0usize..200, 0..60),
            removed in prop::collection::vec(0usize..200, 0..60),
            start in 0usize..200,
        ) {
            let (mut set, mut model) = (IndexSet::new(200), BTreeSet::new());
            for &m in &members {
                set.insert(m);
                model.insert(m);
            }
            for m in &removed {
                set.remove(*m);
                model.remove(m);
            }
            let mut read = Vec::new();
            set.collect_from(start, &mut read);
            let expected: Vec<u32> =
                model.range(start..).chain(model.range(..start)).map(|&m| m as u32).collect();
            prop_assert_eq!(read, expected);
            prop_assert_eq!(set.is_empty(), model.is_empty());
            prop_assert!((0..200).all(|i| set.contains(i) == model.contains(&i)));
        }
    }
}
