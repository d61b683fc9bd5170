//! A histogram that is written to in batches.

use core::fmt;
use hdrhistogram::{Counter, Histogram};

/// So many values are written to the histogram at once. Of a thousand flows none of the histograms stays in the processor's
/// caches, and each write is then some hundred nanoseconds.
const BATCH: usize = 16;

/// How often which values were recorded, to three digits. An empty one has no histogram.
pub(super) struct Levels<C: Counter> {
    histogram: Option<Box<Histogram<C>>>,
    /// Values and how often, not yet in the histogram.
    waiting: [(u32, u32); BATCH],
    len: u8,
}

impl<C: Counter> Default for Levels<C> {
    fn default() -> Self {
        Self {
            histogram: None,
            waiting: [(0, 0); BATCH],
            len: 0,
        }
    }
}

impl<C: Counter> fmt::Debug for Levels<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Levels")
            .field("waiting", &&self.waiting[..usize::from(self.len)])
            .finish_non_exhaustive()
    }
}

impl<C: Counter> Levels<C> {
    /// The same value so many times, at most what a counter holds.
    pub(super) fn record_n(&mut self, value: u64, count: u64) {
        let (Ok(small), Ok(times)) = (u32::try_from(value), u32::try_from(count)) else {
            return write(self.present(), value, count);
        };
        self.waiting[usize::from(self.len)] = (small, times);
        self.len += 1;
        if usize::from(self.len) == BATCH {
            self.write_all();
        }
    }

    /// All that was recorded.
    pub(super) fn all(&mut self) -> &Histogram<C> {
        self.write_all();
        self.present()
    }

    fn write_all(&mut self) {
        let len = usize::from(core::mem::take(&mut self.len));
        let waiting = self.waiting;
        let histogram = self.present();
        for &(value, count) in &waiting[..len] {
            write(histogram, value.into(), count.into());
        }
    }

    fn present(&mut self) -> &mut Histogram<C> {
        let new = || Box::new(Histogram::new(3).expect("three digits are allowed"));
        self.histogram.get_or_insert_with(new)
    }
}

fn write<C: Counter>(histogram: &mut Histogram<C>, value: u64, count: u64) {
    let count = C::from_u64(count).expect("a count that its counters hold");
    histogram
        .record_n(value, count)
        .expect("a resizing histogram takes every value");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn batches_change_nothing(
            values in prop::collection::vec((0u64..1 << 40, 0u64..1 << 36), 0..100),
        ) {
            let mut levels = Levels::<u64>::default();
            let mut plain = Histogram::<u64>::new(3).expect("three digits");
            for &(value, count) in &values {
                levels.record_n(value, count);
                plain.record_n(value, count).expect("it resizes");
            }
            prop_assert!(levels.all() == &plain);
        }
    }
}
