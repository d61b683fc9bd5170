//! Which numbers of a session have come: a window that slides with the greatest (RFC 6479).

/// Numbers that may come late.
pub const WIDTH: u64 = 2_048;
const BITS: u64 = 64;
/// One block more than the window has: the greatest number's is only partly used.
const BLOCKS: usize = (WIDTH / BITS) as usize + 1;

/// The numbers that have come, of the last [`WIDTH`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The greatest that has come, and one more; 0: none has.
    next: u64,
    blocks: [u64; BLOCKS],
}

impl Default for Window {
    fn default() -> Self {
        Self {
            next: 0,
            blocks: [0; BLOCKS],
        }
    }
}

impl Window {
    /// The least number that is greater than all that have come.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// True if a number has not come, and is not too old to be certain.
    pub fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        self.next - number <= WIDTH && self.blocks[block(number)] & bit(number) == 0
    }

    /// A number has come. False if it had before, or is too old; nothing changes then.
    pub fn insert(&mut self, number: u64) -> bool {
        if !self.is_new(number) {
            return false;
        }
        if number >= self.next {
            let newest = self.next.saturating_sub(1) / BITS;
            let steps = (number / BITS - newest).min(BLOCKS as u64);
            for step in 0..steps {
                self.blocks[((number / BITS - step) % BLOCKS as u64) as usize] = 0;
            }
            self.next = number + 1;
        }
        self.blocks[block(number)] |= bit(number);
        true
    }
}

const fn block(number: u64) -> usize {
    (number / BITS % BLOCKS as u64) as usize
}

const fn bit(number: u64) -> u64 {
    1 << (number % BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_window_has_its_width() {
        let mut window = Window::default();
        assert!(window.insert(5_000));
        assert!(window.is_new(5_001 - WIDTH));
        assert!(!window.is_new(5_000 - WIDTH), "too old");
        assert!(window.insert(5_001 - WIDTH));
        assert!(!window.insert(5_001 - WIDTH), "once more");
        assert!(window.insert(0x00ff_ffff_ffff_ffff));
        assert!(!window.is_new(5_001));
    }

    proptest! {
        /// As a set of all numbers that have come would have it.
        #[test]
        fn it_is_the_set_of_what_has_come(steps in prop::collection::vec((0u64..6_000, any::<bool>()), 1..400)) {
            let (mut window, mut all) = (Window::default(), BTreeSet::new());
            for (number, far) in steps {
                let number = if far { number } else { number % 200 + window.next().saturating_sub(100) };
                let greatest = all.last().copied();
                let is_old = greatest.is_some_and(|greatest: u64| greatest >= number && greatest - number >= WIDTH);
                let expected = !is_old && !all.contains(&number);
                prop_assert_eq!(window.is_new(number), expected);
                prop_assert_eq!(window.insert(number), expected);
                if expected {
                    all.insert(number);
                }
            }
        }
    }
}
