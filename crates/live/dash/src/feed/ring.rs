//! The frames of the last minute.

use super::WINDOW;
use axum::extract::ws::Utf8Bytes;
use std::collections::VecDeque;
use std::time::Instant;

/// Maximum number of frames that are kept: those of a window, at 50 a second.
const MAX_FRAMES: usize = 3_000;
/// Maximum bytes of them.
const MAX_BYTES: usize = 96 << 20;

/// A frame as it is sent.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) seq: u64,
    /// When it was made.
    pub(super) at: Instant,
    /// Whether it holds all series.
    pub(super) is_whole: bool,
    pub(super) text: Utf8Bytes,
}

/// Frames in order; their numbers have no gaps.
#[derive(Debug, Default)]
pub(super) struct Ring {
    frames: VecDeque<Frame>,
    bytes: usize,
}

impl Ring {
    /// One more; old ones go.
    pub(super) fn push(&mut self, frame: Frame) {
        let now = frame.at;
        self.bytes += frame.text.len();
        self.frames.push_back(frame);
        while self.frames.len() > MAX_FRAMES
            || (self.bytes > MAX_BYTES && self.frames.len() > 1)
            || self
                .frames
                .front()
                .is_some_and(|f| now.duration_since(f.at) > WINDOW)
        {
            if let Some(gone) = self.frames.pop_front() {
                self.bytes -= gone.text.len();
            }
        }
    }

    /// The number of the newest.
    pub(super) fn newest(&self) -> Option<u64> {
        self.frames.back().map(|frame| frame.seq)
    }

    /// Whether the frame that follows this number is still there.
    pub(super) fn follows(&self, after: u64) -> bool {
        self.frames
            .front()
            .is_some_and(|first| first.seq <= after + 1)
    }

    /// The number before the first whole frame.
    pub(super) fn before_first_whole(&self) -> Option<u64> {
        let first = self.frames.iter().find(|frame| frame.is_whole)?;
        Some(first.seq - 1)
    }

    /// The number before the last whole frame.
    pub(super) fn before_last_whole(&self) -> Option<u64> {
        let last = self.frames.iter().rev().find(|frame| frame.is_whole)?;
        Some(last.seq - 1)
    }

    /// The frames after this number.
    pub(super) fn after(&self, after: u64) -> impl Iterator<Item = &Frame> {
        let first = self.frames.front().map_or(0, |frame| frame.seq);
        let skipped = usize::try_from((after + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        self.frames.range(skipped.min(self.frames.len())..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ring(frames: u64, step: Duration) -> Ring {
        let began = Instant::now();
        let mut ring = Ring::default();
        for k in 1..=frames {
            ring.push(Frame {
                seq: k,
                at: began + step * k as u32,
                is_whole: k % 50 == 1,
                text: Utf8Bytes::from(format!("{k}")),
            });
        }
        ring
    }

    #[test]
    fn a_minute_of_frames_is_kept() {
        let full = ring(5_000, Duration::from_millis(20));
        assert_eq!(full.after(0).count(), MAX_FRAMES);
        assert_eq!(full.newest(), Some(5_000));
        // 1 a second: 61 are at most a minute apart
        let slow = ring(200, Duration::from_secs(1));
        assert_eq!(slow.after(0).count(), 61);
        assert!(slow.follows(139) && !slow.follows(138));
    }

    #[test]
    fn frames_after_a_number_are_found_at_once() {
        let ring = ring(200, Duration::from_millis(20));
        let after: Vec<u64> = ring.after(197).map(|frame| frame.seq).collect();
        assert_eq!(after, [198, 199, 200]);
        assert_eq!(ring.after(200).count(), 0);
        assert_eq!(ring.after(u64::MAX - 1).count(), 0);
        assert_eq!(ring.before_first_whole(), Some(0));
        assert_eq!(ring.before_last_whole(), Some(150));
    }
}
