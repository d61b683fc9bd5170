//! Spans of a bearer's byte stream.
//!
//! All SDUs of one direction of a bearer are laid end to end in one stream of bytes, each with its
//! PDCP and SDAP headers. A segment of an SDU, a whole SDU or several of them are then one span, and
//! what RLC tracks by sequence number and segment offset is tracked by position.

/// Bytes `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Span {
    pub(crate) const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }
    pub(crate) const fn len(self) -> u64 {
        self.end - self.start
    }
}

/// Disjoint spans in ascending order, none of them empty, none touching the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanSet {
    spans: Vec<Span>,
    bytes: u64,
}

impl SpanSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
    /// Sum of the lengths.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }
    pub(crate) fn first(&self) -> Option<Span> {
        self.spans.first().copied()
    }
    /// Whether all of `span` is in the set.
    pub(crate) fn covers(&self, span: Span) -> bool {
        let at = self.spans.partition_point(|s| s.end < span.end);
        self.spans
            .get(at)
            .is_some_and(|s| s.start <= span.start && span.end <= s.end)
    }
    /// Adds a span; the bytes that were not in the set before.
    pub(crate) fn insert(&mut self, span: Span) -> u64 {
        if span.end <= span.start {
            return 0;
        }
        let before = self.bytes;
        // those that overlap or touch
        let from = self.spans.partition_point(|s| s.end < span.start);
        let to = from + self.spans[from..].partition_point(|s| s.start <= span.end);
        let mut merged = span;
        if from < to {
            merged.start = merged.start.min(self.spans[from].start);
            merged.end = merged.end.max(self.spans[to - 1].end);
        }
        self.bytes += merged.len();
        self.bytes -= self.spans[from..to].iter().map(|s| s.len()).sum::<u64>();
        self.spans.splice(from..to, core::iter::once(merged));
        self.bytes - before
    }
    /// Removes all bytes before `position`.
    pub(crate) fn remove_before(&mut self, position: u64) {
        let gone = self.spans.partition_point(|s| s.end <= position);
        self.bytes -= self.spans.drain(..gone).map(Span::len).sum::<u64>();
        if let Some(first) = self.spans.first_mut()
            && first.start < position
        {
            self.bytes -= position - first.start;
            first.start = position;
        }
    }
    /// Removes the bytes of `span`.
    pub(crate) fn remove(&mut self, span: Span) {
        let from = self.spans.partition_point(|s| s.end <= span.start);
        let to = from + self.spans[from..].partition_point(|s| s.start < span.end);
        if from == to {
            return;
        }
        let (first, last) = (self.spans[from], self.spans[to - 1]);
        self.bytes -= self.spans[from..to].iter().map(|s| s.len()).sum::<u64>();
        let left = Span::new(first.start, span.start.max(first.start));
        let right = Span::new(span.end.min(last.end), last.end);
        self.bytes += left.len() + right.len();
        let rest = [left, right].into_iter().filter(|s| s.len() > 0);
        self.spans.splice(from..to, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64, u64),
        Remove(u64, u64),
        RemoveBefore(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            3 => (0u64..64, 0u64..12).prop_map(|(a, n)| Op::Insert(a, a + n)),
            1 => (0u64..64, 1u64..12).prop_map(|(a, n)| Op::Remove(a, a + n)),
            1 => (0u64..64).prop_map(Op::RemoveBefore),
        ]
    }

    proptest! {
        #[test]
        fn is_a_set_of_bytes(ops in prop::collection::vec(op(), 1..60)) {
            let (mut set, mut model) = (SpanSet::default(), [false; 80]);
            for op in ops {
                match op {
                    Op::Insert(a, b) => {
                        let fresh = (a..b).filter(|&i| !model[i as usize]).count() as u64;
                        prop_assert_eq!(set.insert(Span::new(a, b)), fresh);
                        model[a as usize..b as usize].fill(true);
                    }
                    Op::Remove(a, b) => {
                        set.remove(Span::new(a, b));
                        model[a as usize..b as usize].fill(false);
                    }
                    Op::RemoveBefore(a) => {
                        set.remove_before(a);
                        model[..a as usize].fill(false);
                    }
                }
                let mut read = [false; 80];
                for s in set.spans() {
                    read[s.start as usize..s.end as usize].fill(true);
                    let inside = Span::new(s.start + s.len() / 2, s.end);
                    prop_assert!(set.covers(inside) && !set.covers(Span::new(s.start, s.end + 1)));
                }
                prop_assert_eq!(read, model);
                prop_assert_eq!(set.bytes(), model.iter().filter(|&&b| b).count() as u64);
                prop_assert!(set.spans().windows(2).all(|w| w[0].end < w[1].start));
            }
        }
    }
}
