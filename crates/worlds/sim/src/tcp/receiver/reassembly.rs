//! Data that arrived out of order (RFC 9293 3.10.7.4), and its SACK blocks (RFC 2018 4).

use super::super::ranges::{RangeSet, Span};
use super::super::segment::SackBlocks;
use std::collections::VecDeque;
use units::Instant;

/// How many spans are recent_count for repetition: more than a segment can carry, so that one that
/// is completed leaves no gap (Linux keeps four).
const MAX_RECENT: usize = 4;

/// Payload of one segment.
#[derive(Clone, Copy, Debug)]
struct Part {
    span: Span,
    origin: Instant,
}

/// The out-of-order queue.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    /// All positions held.
    held: RangeSet,
    /// The same as segments, in order of position, not overlapping.
    parts: VecDeque<Part>,
    /// Bytes of `parts`; always their sum.
    bytes: u64,
    /// The spans that changed last, the latest first (RFC 2018 4: first block, then repetitions).
    recent: [Span; MAX_RECENT],
    /// How many of `recent` are in use.
    recent_count: usize,
}

impl Reassembly {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps a segment beyond the next expected position. Returns false if all of it was held.
    pub(super) fn insert(&mut self, new: Span, origin: Instant) -> bool {
        let (parts, bytes) = (&mut self.parts, &mut self.bytes);
        let mut is_new = false;
        let merged = self.held.insert(new, |span| {
            is_new = true;
            *bytes += span.end - span.start;
            let part = Part { span, origin };
            if parts.back().is_none_or(|last| last.span.end <= span.start) {
                parts.push_back(part);
            } else {
                let at = parts.partition_point(|p| p.span.start < span.start);
                parts.insert(at, part);
            }
        });
        self.keep_recent(merged);
        is_new
    }

    /// Puts `latest` first, and drops what became part of it.
    fn keep_recent(&mut self, latest: Span) {
        let mut kept = [Span::default(); MAX_RECENT];
        kept[0] = latest;
        let mut count = 1;
        for &span in &self.recent[..self.recent_count] {
            if !span.touches(latest) && count < MAX_RECENT {
                kept[count] = span;
                count += 1;
            }
        }
        self.recent = kept;
        self.recent_count = count;
    }

    /// All below `next` is there: hands over what now follows without a gap, segment by segment, and
    /// returns the new next position.
    pub(super) fn advance(&mut self, next: u64, mut deliver: impl FnMut(u64, Instant)) -> u64 {
        let mut next = next;
        while let Some(part) = self.parts.front()
            && part.span.start <= next
        {
            if part.span.end > next {
                deliver(part.span.end - next, part.origin);
                next = part.span.end;
            }
            self.bytes -= part.span.end - part.span.start;
            self.parts.pop_front();
        }
        self.held.remove_below(next);
        let recent = &mut self.recent[..self.recent_count];
        let mut count = 0;
        for k in 0..recent.len() {
            if recent[k].start > next {
                recent[count] = recent[k];
                count += 1;
            }
        }
        self.recent_count = count;
        next
    }

    /// Adds blocks for the spans that changed last.
    pub(super) fn report(&self, ack: u64, blocks: &mut SackBlocks) {
        for &span in &self.recent[..self.recent_count] {
            blocks.push(ack, span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }
    fn span(start: u64, end: u64) -> Span {
        Span { start, end }
    }
    fn blocks(r: &Reassembly, ack: u64) -> Vec<Span> {
        let mut blocks = SackBlocks::NONE;
        r.report(ack, &mut blocks);
        blocks.iter(ack).collect()
    }

    /// RFC 2018 section 7: segments of 500 bytes from 5000; case 2, the first is lost.
    #[test]
    fn rfc_2018_7_case_2_the_first_of_eight_is_lost() {
        let mut r = Reassembly::default();
        for k in 1..8 {
            assert!(r.insert(span(5_000 + 500 * k, 5_500 + 500 * k), at(k)));
            assert_eq!(blocks(&r, 5_000), [span(5_500, 5_500 + 500 * k)]);
        }
    }

    /// RFC 2018 section 7, case 3: the 2nd, 4th, 6th and 8th are lost.
    #[test]
    fn rfc_2018_7_case_3_every_other_is_lost() {
        let mut r = Reassembly::default();
        r.insert(span(6_000, 6_500), at(3));
        assert_eq!(blocks(&r, 5_500), [span(6_000, 6_500)]);
        r.insert(span(7_000, 7_500), at(5));
        assert_eq!(blocks(&r, 5_500), [span(7_000, 7_500), span(6_000, 6_500)]);
        r.insert(span(8_000, 8_500), at(7));
        let three = [span(8_000, 8_500), span(7_000, 7_500), span(6_000, 6_500)];
        assert_eq!(blocks(&r, 5_500), three);
        // "the 4th packet is received out of order"
        r.insert(span(6_500, 7_000), at(4));
        assert_eq!(blocks(&r, 5_500), [span(6_000, 7_500), span(8_000, 8_500)]);
        // "the 2nd segment is then received"
        let mut delivered = Vec::new();
        let next = r.advance(6_000, |bytes, origin| delivered.push((bytes, origin)));
        assert_eq!(next, 7_500);
        assert_eq!(delivered, [(500, at(3)), (500, at(4)), (500, at(5))]);
        assert_eq!(blocks(&r, next), [span(8_000, 8_500)]);
    }

    #[test]
    fn a_duplicate_is_distinguished_from_new_data() {
        let mut r = Reassembly::default();
        assert!(r.insert(span(10, 20), at(1)));
        assert!(!r.insert(span(12, 18), at(2)));
        assert!(r.insert(span(5, 25), at(3)));
        let mut delivered = Vec::new();
        assert_eq!(
            r.advance(5, |bytes, origin| delivered.push((bytes, origin))),
            25
        );
        assert_eq!(delivered, [(5, at(3)), (10, at(1)), (5, at(3))]);
        assert!(r.is_empty());
    }
}
