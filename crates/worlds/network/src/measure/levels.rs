//! A histogram that is written to in batches.

use core::fmt;
use hdrhistogram::{Counter, Histogram};

/// So many values are written to the histogram at once. Of a thousand flows none of the histograms stays in the processor's
/// caches; values of a batch share lines of them, so that the larger it is, the less is fetched. Beyond this the batches
/// themselves take the caches, and little more is gained.
const BATCH: usize = 128;

/// How often which values were recorded, to three digits. An empty one has no histogram.
pub(super) struct Levels<C: Counter> {
    histogram: Option<Box<Histogram<C>>>,
    /// Values and how often, not yet in the histogram: at most [`BATCH`], without memory until the first.
    waiting: Vec<(u32, u32)>,
}

impl<C: Counter> Default for Levels<C> {
    fn default() -> Self {
        Self {
            histogram: None,
            waiting: Vec::new(),
        }
    }
}

impl<C: Counter> fmt::Debug for Levels<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Levels")
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

impl<C: Counter> Levels<C> {
    /// The same value so many times, at most what a counter holds.
    pub(super) fn record_n(&mut self, value: u64, count: u64) {
        let (Ok(small), Ok(times)) = (u32::try_from(value), u32::try_from(count)) else {
            return write(self.present(), value, count);
        };
        self.waiting.push((small, times));
        if self.waiting.len() >= BATCH {
            self.write_all();
        }
    }

    /// All that was recorded.
    pub(super) fn all(&mut self) -> &Histogram<C> {
        self.write_all();
        self.present()
    }

    fn write_all(&mut self) {
        let mut waiting = core::mem::take(&mut self.waiting);
        let histogram = self.present();
        for (value, count) in waiting.drain(..) {
            write(histogram, value.into(), count.into());
        }
        self.waiting = waiting;
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
            values in prop::collection::vec((0u64..1 << 40, 0u64..1 << 36), 0..400),
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
