//! R(i), the received rate (section 5.5).

use std::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// T (5.5: between 0.5 and 1 s).
const WINDOW: Duration = Duration::from_millis(500);

/// Payload that arrived lately.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceivedRate {
    packets: VecDeque<(Instant, Bytes)>,
    sum: Bytes,
    first: Option<Instant>,
    latest: Instant,
}

impl ReceivedRate {
    /// A packet arrived.
    pub(super) fn on_packet(&mut self, at: Instant, bytes: Bytes) {
        self.first.get_or_insert(at);
        self.latest = self.latest.max(at);
        let oldest = self.latest - WINDOW;
        if at < oldest {
            return;
        }
        self.packets.push_back((at, bytes));
        self.sum += bytes;
        while let Some(&(at, bytes)) = self.packets.front()
            && at <= oldest
            && self.packets.len() > 1
        {
            self.packets.pop_front();
            self.sum = self.sum.saturating_sub(bytes);
        }
    }

    /// Payload of the last T over T, bit/s; none before T has passed.
    pub(super) fn rate(&self) -> Option<f64> {
        let has_passed = self.latest.saturating_since(self.first?) >= WINDOW;
        has_passed.then(|| self.sum.get() as f64 * 8.0 / WINDOW.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_5_5_received_rate() {
        let mut received = ReceivedRate::default();
        // 1250 bytes every 10 ms are 1 Mbit/s
        for i in 0..=49 {
            received.on_packet(Instant::from_nanos(i * 10_000_000), Bytes::new(1250));
        }
        assert_eq!(received.rate(), None);
        for i in 50..200 {
            received.on_packet(Instant::from_nanos(i * 10_000_000), Bytes::new(1250));
        }
        assert_eq!(received.rate(), Some(1e6));
        // after a second without a packet, one
        received.on_packet(Instant::from_nanos(3_000_000_000), Bytes::new(1250));
        assert_eq!(received.rate(), Some(20_000.0));
    }
}
