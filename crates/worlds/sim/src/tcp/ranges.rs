//! Sets of positions, as sorted spans.

use std::collections::VecDeque;

/// The positions `start <= p < end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// First position.
    pub start: u64,
    /// Position after the last.
    pub end: u64,
}

impl Span {
    /// True if the two share a position or touch.
    pub(super) fn touches(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// A set of positions: disjoint spans that do not touch, in order.
///
/// Insertion at the end, the usual case, takes constant time; elsewhere a binary search and the
/// moving of the spans on the shorter side.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    spans: VecDeque<Span>,
}

impl RangeSet {
    /// Adds `new` (not empty); `uncovered` gets each part of it that was not in the set, in order.
    /// Returns the span of the set that now holds it.
    pub(crate) fn insert(&mut self, new: Span, mut uncovered: impl FnMut(Span)) -> Span {
        match self.spans.back_mut() {
            Some(last) if new.start < last.start => self.insert_inside(new, uncovered),
            Some(last) if new.start <= last.end => {
                if new.end > last.end {
                    uncovered(Span {
                        start: last.end,
                        end: new.end,
                    });
                    last.end = new.end;
                }
                *last
            }
            _ => {
                self.spans.push_back(new);
                uncovered(new);
                new
            }
        }
    }

    fn insert_inside(&mut self, new: Span, mut uncovered: impl FnMut(Span)) -> Span {
        let first = self.spans.partition_point(|s| s.end < new.start);
        let mut merged = new;
        let mut covered_to = new.start;
        let mut next = first;
        while let Some(&span) = self.spans.get(next)
            && span.start <= new.end
        {
            if span.start > covered_to {
                uncovered(Span {
                    start: covered_to,
                    end: span.start,
                });
            }
            covered_to = covered_to.max(span.end);
            merged = Span {
                start: merged.start.min(span.start),
                end: merged.end.max(span.end),
            };
            next += 1;
        }
        if covered_to < new.end {
            uncovered(Span {
                start: covered_to,
                end: new.end,
            });
        }
        if next == first {
            self.spans.insert(first, merged);
        } else {
            self.spans[first] = merged;
            if next > first + 1 {
                self.spans.drain(first + 1..next);
            }
        }
        merged
    }

    /// Removes all positions below `position`.
    pub(super) fn remove_below(&mut self, position: u64) {
        while let Some(front) = self.spans.front_mut()
            && front.start < position
        {
            if front.end <= position {
                self.spans.pop_front();
            } else {
                front.start = position;
            }
        }
    }

    /// True without positions.
    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
    /// The spans, in order.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = Span> {
        self.spans.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a set of single positions.
        #[test]
        fn spans_are_the_set_of_what_was_inserted(
            inserts in prop::collection::vec((0u64..60, 1u64..12), 1..40),
            cut in 0u64..70,
        ) {
            let mut ranges = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len) in inserts {
                let new = Span { start, end: start + len };
                let mut uncovered = Vec::new();
                let merged = ranges.insert(new, |gap| uncovered.extend(gap.start..gap.end));
                let expected: Vec<u64> = (new.start..new.end).filter(|p| !model.contains(p)).collect();
                prop_assert_eq!(uncovered, expected);
                model.extend(new.start..new.end);
                prop_assert!(merged.start <= new.start && merged.end >= new.end);
                prop_assert!(ranges.iter().any(|s| s == merged));
            }
            ranges.remove_below(cut);
            model.retain(|&p| p >= cut);
            let listed: Vec<u64> = ranges.iter().flat_map(|s| s.start..s.end).collect();
            prop_assert_eq!(listed, model.into_iter().collect::<Vec<_>>());
            let spans: Vec<Span> = ranges.iter().collect();
            prop_assert!(spans.windows(2).all(|w| w[0].end < w[1].start));
        }
    }
}
