//! What the application has written: an amount, and the origins of relayed parts.

use std::collections::VecDeque;
use units::{Bytes, Instant};

/// Payload up to `end` has this origin; [`Instant::MAX`]: the time of its first transmission.
#[derive(Clone, Copy, Debug)]
struct Mark {
    end: u64,
    origin: Instant,
}

/// The send buffer. Its content is positions only.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// Position after the last byte written.
    end: u64,
    /// Maximum bytes from the first unacknowledged one on.
    limit: u64,
    /// In order of position; neighbours differ in origin. Those that were sent are gone.
    marks: VecDeque<Mark>,
}

impl SendBuffer {
    pub(super) fn new(limit: Bytes) -> Self {
        Self {
            end: 1,
            limit: limit.get(),
            marks: VecDeque::new(),
        }
    }

    /// Bytes that would be accepted now.
    pub(super) fn space(&self, una: u64) -> u64 {
        self.limit
            .saturating_sub(self.end.saturating_sub(una.max(1)))
    }

    /// Accepts what fits.
    pub(super) fn write(&mut self, una: u64, bytes: u64, origin: Option<Instant>) -> u64 {
        let accepted = bytes.min(self.space(una));
        if accepted == 0 {
            return 0;
        }
        self.end += accepted;
        let origin = origin.unwrap_or(Instant::MAX);
        match self.marks.back_mut() {
            Some(last) if last.origin == origin => last.end = self.end,
            _ => self.marks.push_back(Mark {
                end: self.end,
                origin,
            }),
        }
        accepted
    }

    /// Origin of the byte before `end`, first sent `now`. Positions must not go back.
    pub(super) fn origin_before(&mut self, end: u64, now: Instant) -> Instant {
        while let Some(front) = self.marks.front()
            && front.end < end
        {
            self.marks.pop_front();
        }
        match self.marks.front() {
            Some(mark) if mark.origin != Instant::MAX => mark.origin,
            _ => now,
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_has_the_origin_of_its_last_byte() {
        let at = Instant::from_nanos;
        let mut b = SendBuffer::new(Bytes::new(1_000));
        assert_eq!(b.write(1, 300, Some(at(5))), 300);
        assert_eq!(b.write(1, 300, None), 300);
        assert_eq!(b.write(1, 300, Some(at(7))), 300);
        assert_eq!(b.write(1, 300, Some(at(7))), 100, "the buffer is full");
        assert_eq!(b.space(501), 500);
        assert_eq!(b.origin_before(201, at(100)), at(5));
        assert_eq!(b.origin_before(301, at(100)), at(5));
        assert_eq!(b.origin_before(302, at(100)), at(100));
        assert_eq!(b.origin_before(601, at(110)), at(110));
        assert_eq!(b.origin_before(1_001, at(120)), at(7));
    }
}
