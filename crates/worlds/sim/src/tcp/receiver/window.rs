//! The receive window: RFC 9293 3.8.6.2, RFC 1122 4.2.3.3, RFC 7323 2.
//!
//! The right edge once advertised is kept: it never moves left. A window smaller than what was
//! advertised comes into force as data arrives and uses the advertise up.

use units::Bytes;

/// The largest unscaled window (RFC 7323 2.2).
const UNSCALED: u64 = 65_535;
/// The largest shift (RFC 7323 2.3).
const MAX_SHIFT: u32 = 14;

/// What may arrive.
#[derive(Debug)]
pub(super) struct Window {
    /// Receive buffer in bytes.
    buffer: u64,
    /// What a proxy allows, in bytes.
    limit: Option<u64>,
    /// Rightmost position ever advertised; never decreases.
    edge: u64,
    /// Windows are multiples of this (a power of two).
    granularity: u64,
    mss: u64,
}

/// RFC 7323 2.3: the smallest shift by which the whole buffer can be expressed.
fn shift_for(buffer: u64) -> u32 {
    (0..MAX_SHIFT)
        .find(|&s| UNSCALED << s >= buffer)
        .unwrap_or(MAX_SHIFT)
}

impl Window {
    pub(super) fn new(buffer: Bytes, mss: Bytes) -> Self {
        let granularity = 1 << shift_for(buffer.get());
        Self {
            buffer: buffer.get(),
            limit: None,
            edge: 0,
            granularity,
            mss: mss.get(),
        }
    }

    pub(super) fn set_limit(&mut self, limit: Option<Bytes>) {
        self.limit = limit.map(Bytes::get);
    }

    fn down(&self, bytes: u64) -> u64 {
        bytes & !(self.granularity - 1)
    }
    fn up(&self, bytes: u64) -> u64 {
        self.down(bytes + self.granularity - 1)
    }

    /// The smallest step in which the window opens (RFC 1122 4.2.3.3: a segment or half the buffer).
    fn step(&self) -> u64 {
        self.mss
            .min(self.buffer / 2)
            .min(self.limit.unwrap_or(u64::MAX))
    }

    /// Receive window for a segment that acknowledges `next`, with `buffered` bytes not yet read.
    ///
    /// A limit is rounded up to the granularity, as Linux does, so that it is not scaled away. What
    /// was advertised is rounded up while the buffer can hold that, else down: only then the field
    /// shows a right edge that is less than one granule left of the advertise (RFC 7323 2.4), which is
    /// still honoured.
    pub(super) fn offer(&self, next: u64, buffered: u64) -> u64 {
        let free = self.buffer.saturating_sub(buffered);
        let backed = self.down(free);
        let offered = self
            .limit
            .map_or(backed, |limit| self.up(limit).min(backed));
        let advertised = self.edge.saturating_sub(next);
        if offered >= advertised + self.step() {
            offered
        } else if self.up(advertised) <= free {
            self.up(advertised)
        } else {
            self.down(advertised)
        }
    }

    /// The window for a SYN, whose acknowledgement is 1: not scaled (RFC 7323 2.2).
    pub(super) fn offer_unscaled(&self) -> u64 {
        let offered = self.buffer.min(self.limit.unwrap_or(u64::MAX));
        offered.min(UNSCALED).max(self.edge.saturating_sub(1))
    }

    /// A segment with this window left.
    pub(super) fn advertise(&mut self, next: u64, window: u64) {
        self.edge = self.edge.max(next + window);
    }

    /// True if the window would open so much that the sender should be notified immediately: twice what it
    /// has left (Linux `tcp_cleanup_rbuf`).
    pub(super) fn deserves_update(&self, next: u64, buffered: u64) -> bool {
        let advertised = self.edge.saturating_sub(next);
        // most calls end here, before the arithmetic
        if advertised > self.buffer / 2 {
            return false;
        }
        let offer = self.offer(next, buffered);
        offer > advertised && offer >= 2 * advertised
    }

    /// True if the window would open by a segment or more.
    pub(super) fn opens_by_a_segment(&self, next: u64, buffered: u64) -> bool {
        self.offer(next, buffered) >= self.edge.saturating_sub(next) + self.step().max(1)
    }

    pub(super) fn edge(&self) -> u64 {
        self.edge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_7323_2_3_the_shift_covers_the_buffer() {
        assert_eq!(shift_for(65_535), 0);
        assert_eq!(shift_for(65_536), 1);
        assert_eq!(shift_for(6 << 20), 7);
        assert_eq!(shift_for(1 << 30), 14);
    }

    #[test]
    fn the_window_is_a_multiple_of_the_granularity_within_the_buffer() {
        let w = Window::new(Bytes::new(6 << 20), Bytes::new(1_448));
        assert_eq!(w.offer(1, 0), 6 << 20);
        // 128 byte granules: 1000 bytes buffered cost eight of them
        assert_eq!(w.offer(1_001, 1_000), (6 << 20) - 1_024);
    }

    #[test]
    fn a_smaller_limit_takes_effect_as_data_arrives() {
        let mut w = Window::new(Bytes::new(60_000), Bytes::new(1_000));
        w.advertise(1, w.offer(1, 0));
        assert_eq!(w.edge(), 60_001);
        w.set_limit(Some(Bytes::new(20_000)));
        for arrived in (0..60_000).step_by(1_000) {
            let window = w.offer(1 + arrived, 0);
            w.advertise(1 + arrived, window);
            assert_eq!(window, (60_000 - arrived).max(20_000));
        }
    }

    #[test]
    fn rfc_1122_4_2_3_3_the_window_opens_by_a_segment_or_not_at_all() {
        let mut w = Window::new(Bytes::new(60_000), Bytes::new(1_000));
        w.advertise(1, 60_000);
        assert_eq!(w.offer(60_001, 60_000), 0);
        assert_eq!(w.offer(60_001, 59_001), 0);
        assert_eq!(w.offer(60_001, 59_000), 1_000);
        assert!(w.deserves_update(60_001, 59_000));
        assert!(!w.deserves_update(60_001, 59_001));
    }

    #[test]
    fn a_limit_is_not_scaled_away() {
        let mut w = Window::new(Bytes::new(6 << 20), Bytes::new(1_448));
        w.set_limit(Some(Bytes::new(7_240)));
        assert_eq!(w.offer(1, 0), 7_296);
        w.set_limit(Some(Bytes::ZERO));
        assert_eq!(w.offer(1, 0), 0);
    }
}
