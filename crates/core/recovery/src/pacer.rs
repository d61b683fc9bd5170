//! Pacing: packets leave in small bursts at the controller's rate.
//!
//! Source: Linux internal pacing (`tcp_update_skb_after_send`, `tcp_tso_autosize`): a burst is what the rate carries in
//! 1/1024 s, at least two packets, at most 64 KiB, so that a live sender has batches to send.
//!
//! A sender that its timer wakes late may make up for a part of it, its *credit*; a simulated one is never late and has
//! none.

use units::{BitRate, Bytes, Duration, Instant};

/// The maximum burst.
const MAX_BURST: Bytes = Bytes::new(65_536);
/// Bursts a second, where that is not less than two packets or more than [`MAX_BURST`].
const BURSTS_PER_SECOND: u64 = 1_024;
/// The longest pause between two bursts, so that a rate near zero cannot silence a sender that is later given a higher
/// one.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// When the next packet may leave.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    packet_size: Bytes,
    credit: Duration,
    /// When what was sent has left at the pacing rate.
    next_at: Instant,
    /// What may still leave before then.
    burst_left: Bytes,
    /// Rate, packet size and its time: the last division, which is repeated most of the time.
    last: (BitRate, Bytes, Duration),
}

/// What may leave at once at `rate`.
fn burst(rate: BitRate, packet_size: Bytes) -> Bytes {
    Bytes::new(rate.as_bps() / 8 / BURSTS_PER_SECOND)
        .min(MAX_BURST)
        .max(packet_size * 2)
}

impl Pacer {
    /// Of packets of that size at most, with so much lateness made up for.
    pub fn new(packet_size: Bytes, credit: Duration) -> Self {
        Self {
            packet_size,
            credit,
            next_at: Instant::ZERO,
            burst_left: Bytes::ZERO,
            last: (BitRate::ZERO, Bytes::ZERO, Duration::ZERO),
        }
    }

    /// When the next packet may leave; now or earlier if nothing holds it.
    pub fn send_time(&self) -> Instant {
        if self.burst_left.is_zero() {
            self.next_at
        } else {
            Instant::ZERO
        }
    }

    /// A packet of `bytes` left, while packets are to leave at `rate`.
    pub fn on_sent(&mut self, now: Instant, rate: BitRate, bytes: Bytes) {
        if now >= self.next_at {
            self.next_at = self.next_at.max(now - self.credit);
            self.burst_left = burst(rate, self.packet_size);
        }
        if (self.last.0, self.last.1) != (rate, bytes) {
            self.last = (rate, bytes, (bytes / rate).min(MAX_PAUSE));
        }
        self.next_at += self.last.2;
        self.burst_left = self.burst_left.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::new(1_500);
    const CREDIT: Duration = Duration::from_millis(1);

    /// Sends whenever it may, waking up late by so much, for a second; returns the bytes and the
    /// greatest burst.
    fn saturate(mut pacer: Pacer, rate: BitRate, late: Duration) -> (u64, u64) {
        let start = Instant::ZERO + Duration::from_secs(1);
        let end = start + Duration::from_secs(1);
        let (mut now, mut sent, mut burst, mut greatest) = (start, 0, 0, 0);
        while now < end {
            if pacer.send_time() > now {
                now = pacer.send_time() + late;
                burst = 0;
            } else {
                pacer.on_sent(now, rate, pacer.packet_size);
                sent += pacer.packet_size.get();
                burst += pacer.packet_size.get();
                greatest = greatest.max(burst);
            }
        }
        (sent, greatest)
    }

    #[test]
    fn without_credit_the_rate_is_kept_within_a_burst() {
        for mbps in [1, 10, 100, 1_000] {
            let pacer = Pacer::new(Bytes::new(1_448), Duration::ZERO);
            let (sent, greatest) = saturate(pacer, BitRate::from_mbps(mbps), Duration::ZERO);
            let expected = mbps * 125_000;
            assert!(
                sent >= expected && sent <= expected + greatest,
                "{mbps} Mbit/s: {sent} B"
            );
        }
    }

    #[test]
    fn with_credit_the_rate_is_kept_within_two_bursts_on_time_and_late() {
        for mbps in [1, 10, 100, 1_000, 10_000] {
            for late in [Duration::ZERO, Duration::from_micros(50)] {
                let pacer = Pacer::new(SIZE, CREDIT);
                let (sent, greatest) = saturate(pacer, BitRate::from_mbps(mbps), late);
                let expected = mbps * 125_000;
                // the credit for the time before the beginning is a millisecond
                let max = expected + expected / 1_000 + 2 * greatest;
                // 64 KiB take 52 us at 10 Gbit/s
                assert!(
                    sent + greatest >= expected && sent <= max,
                    "{mbps} Mbit/s, {late} late: {sent} B"
                );
            }
        }
    }

    #[test]
    fn linux_a_burst_is_a_millisecond_within_two_packets_and_64_kib() {
        let greatest = |mbps, credit| {
            saturate(
                Pacer::new(SIZE, credit),
                BitRate::from_mbps(mbps),
                Duration::ZERO,
            )
            .1
        };
        // 100 Mbit/s carry 12207 bytes in 1/1024 s: nine packets are the first to reach that
        for (mbps, packets) in [(1, 2), (100, 9), (10_000, 44)] {
            assert_eq!(greatest(mbps, Duration::ZERO), packets * SIZE.get());
        }
        assert_eq!(greatest(1, CREDIT), 2 * SIZE.get());
        // the first burst has a millisecond of credit and is two
        assert!(greatest(100, CREDIT) <= 2 * 9 * SIZE.get());
        assert_eq!(burst(BitRate::from_mbps(100), SIZE), Bytes::new(12_207));
        assert_eq!(burst(BitRate::from_mbps(10_000), SIZE), MAX_BURST);
    }

    #[test]
    fn a_rate_near_zero_holds_a_packet_for_a_second_at_most() {
        let mut pacer = Pacer::new(SIZE, Duration::ZERO);
        for _ in 0..2 {
            pacer.on_sent(Instant::ZERO, BitRate::from_bps(1), SIZE);
        }
        assert_eq!(pacer.send_time(), Instant::ZERO + MAX_PAUSE * 2);
    }
}
