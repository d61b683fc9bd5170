//! Pacing: payload leaves in small bursts at the controller's rate.
//!
//! Source: Linux internal pacing (`tcp_update_skb_after_send`) and `tcp_tso_autosize`: a burst is
//! what the rate carries in 1/1024 s, at least two segments, at most 64 KiB. Here no clock jitter has
//! to be made up for, so no credit is given for time that passed unused.

use units::{BitRate, Bytes, Duration, Instant};

/// The maximum burst.
const MAX_BURST: u64 = 65_536;
/// The longest pause between two bursts, so that a rate near zero cannot silence a connection that
/// is later given a higher one.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// When the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    mss: u64,
    /// When what was sent has left at the pacing rate.
    next_at: Instant,
    /// What may still leave before then; >= 0.
    burst_left: u64,
    /// The last division, for its repetition: rate, bytes, time.
    last: (BitRate, u64, Duration),
}

/// The burst at `rate`.
fn burst(rate: BitRate, mss: u64) -> u64 {
    (rate.as_bps() / 8 / 1_024).min(MAX_BURST).max(2 * mss)
}

impl Pacer {
    pub(super) fn new(mss: u64) -> Self {
        let last = (BitRate::ZERO, 0, Duration::ZERO);
        Self {
            mss,
            next_at: Instant::ZERO,
            burst_left: 0,
            last,
        }
    }

    /// When a segment may leave, if not now.
    pub(super) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        (now < self.next_at && self.burst_left == 0).then_some(self.next_at)
    }

    /// A segment left.
    pub(super) fn on_sent(&mut self, now: Instant, rate: BitRate, bytes: u64) {
        if now >= self.next_at {
            self.next_at = now;
            self.burst_left = burst(rate, self.mss);
        }
        if (self.last.0, self.last.1) != (rate, bytes) {
            let time = (Bytes::new(bytes) / rate).min(MAX_PAUSE);
            self.last = (rate, bytes, time);
        }
        self.next_at += self.last.2;
        self.burst_left = self.burst_left.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends whenever it may, for a second; returns the bytes and the greatest burst.
    fn saturate(rate: BitRate, mss: u64) -> (u64, u64) {
        let mut pacer = Pacer::new(mss);
        let end = Instant::ZERO + Duration::from_secs(1);
        let (mut now, mut sent, mut burst, mut greatest) = (Instant::ZERO, 0, 0, 0);
        while now < end {
            if let Some(at) = pacer.blocked_until(now) {
                now = at;
                burst = 0;
            } else {
                pacer.on_sent(now, rate, mss);
                sent += mss;
                burst += mss;
                greatest = greatest.max(burst);
            }
        }
        (sent, greatest)
    }

    #[test]
    fn the_rate_is_kept_within_a_burst() {
        for mbps in [1, 10, 100, 1_000] {
            let (sent, greatest) = saturate(BitRate::from_mbps(mbps), 1_448);
            let expected = mbps * 125_000;
            assert!(
                sent >= expected && sent <= expected + greatest,
                "{mbps} Mbit/s: {sent} B"
            );
        }
    }

    #[test]
    fn linux_a_burst_is_a_millisecond_within_two_segments_and_64_kib() {
        assert_eq!(saturate(BitRate::from_mbps(1), 1_448).1, 2 * 1_448);
        // 100 Mbit/s carry 12207 bytes in 1/1024 s: nine segments are the first to reach that
        assert_eq!(saturate(BitRate::from_mbps(100), 1_448).1, 9 * 1_448);
        assert_eq!(saturate(BitRate::from_mbps(10_000), 1_448).1, 46 * 1_448);
    }
}
