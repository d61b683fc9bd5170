//! Which connections have moved since the control thread measured them last: a bit for each place in the arrays that are
//! shared with the program of the kernel ([`crate::slots`]). The program sets it with each acknowledgement, a worker with
//! each turn; the control thread takes all that are set, and measures those connections alone.

use crate::sys::SharedWords;
use std::sync::atomic::{Ordering, fence};

/// Connections of one word.
const EACH: u32 = u64::BITS;

/// A bit for each place.
#[derive(Debug)]
pub(crate) struct Touched(SharedWords);

impl Touched {
    /// Words that so many places take.
    pub(crate) const fn words(places: u32) -> usize {
        places.div_ceil(EACH) as usize
    }

    /// Of this memory.
    pub(crate) fn new(words: SharedWords) -> Self {
        Self(words)
    }

    /// The connection with this place has moved.
    pub(crate) fn touch(&self, place: u32) {
        let Some(word) = self.0.words().get((place / EACH) as usize) else {
            return;
        };
        let bit = 1 << (place % EACH);
        // who has taken a bit that is found set here, finds what was counted before
        fence(Ordering::SeqCst);
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::AcqRel);
        }
    }

    /// Takes all that have moved, in the order of their places.
    pub(crate) fn take(&self, mut each: impl FnMut(u32)) {
        for (at, word) in (0..).zip(self.0.words()) {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = word.swap(0, Ordering::AcqRel);
            fence(Ordering::SeqCst);
            while bits != 0 {
                each(at * EACH + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of memory that no program shares.
    fn touched(places: u32) -> Touched {
        let words = Touched::words(places);
        let file = rustix::fs::memfd_create("touched", rustix::fs::MemfdFlags::CLOEXEC);
        let file = file.expect("memory");
        rustix::fs::ftruncate(&file, 8 * words as u64).expect("resized");
        Touched::new(SharedWords::map(&file, words).expect("mapped"))
    }

    #[test]
    fn each_that_has_moved_is_taken_once_and_in_order() {
        let touched = touched(130);
        for place in [129, 64, 0, 63, 64, 1_000] {
            touched.touch(place);
        }
        let take = || {
            let mut taken = Vec::new();
            touched.take(|place| taken.push(place));
            taken
        };
        assert_eq!(take(), [0, 63, 64, 129]);
        assert_eq!(take(), [0; 0]);
        touched.touch(63);
        assert_eq!(take(), [63]);
    }

    /// What was counted before a touch is found by who takes it.
    #[test]
    fn nothing_that_was_counted_before_a_touch_is_missed() {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        let (touched, counter) = (touched(64), AtomicU64::new(0));
        const LAST: u64 = 100_000;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=LAST {
                    counter.store(n, Relaxed);
                    touched.touch(5);
                }
            });
            let seen = testing::wait_for("the last is seen", || {
                let mut seen = None;
                touched.take(|_| seen = Some(counter.load(Relaxed)));
                seen.filter(|n| *n == LAST)
            });
            assert_eq!(seen, LAST);
        });
    }
}
