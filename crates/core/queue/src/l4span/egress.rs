//! The egress rate of a bearer, by what the reports on F1-U show as transmitted.
//!
//! Bytes a second. A report shows a batch of packets, which all count with its rate.

use std::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// A report sooner after the one before has that one's rate.
const MIN_TIME: Duration = Duration::from_millis(1);

/// What is expected of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prediction {
    /// Mean, byte/s; above zero.
    pub(super) rate: f64,
    /// Standard deviation, byte/s.
    pub(super) deviation: f64,
}

/// Packets that a report showed, of those within the window.
#[derive(Clone, Copy, Debug)]
struct Batch {
    packets: u32,
    /// byte/s.
    rate: f64,
}

/// What has been transmitted of a bearer.
#[derive(Debug)]
pub(super) struct Egress {
    /// Packets whose rates count.
    window: u32,
    /// Since the last report that showed any.
    packets: u32,
    bytes: Bytes,
    /// When a report last showed any.
    head_at: Option<Instant>,
    /// The latest last; no more than `window` packets together.
    batches: VecDeque<Batch>,
}

impl Egress {
    pub(super) fn new(window: u32) -> Self {
        Self {
            window,
            packets: 0,
            bytes: Bytes::ZERO,
            head_at: None,
            batches: VecDeque::new(),
        }
    }

    /// A packet leaves.
    pub(super) fn on_transmitted(&mut self, bytes: Bytes) {
        self.packets = self.packets.saturating_add(1);
        self.bytes += bytes;
    }

    /// A report comes: whether it shows anything new.
    pub(super) fn report(&mut self, at: Instant) -> bool {
        let (packets, bytes) = (
            core::mem::take(&mut self.packets),
            core::mem::take(&mut self.bytes),
        );
        if packets == 0 {
            return false;
        }
        if let Some(before) = self.head_at.replace(at)
            && let Some(rate) = self.rate(bytes, at.saturating_since(before))
        {
            self.batches.push_back(Batch { packets, rate });
            self.forget();
        }
        true
    }

    /// The egress rate of a report.
    fn rate(&self, bytes: Bytes, time: Duration) -> Option<f64> {
        match time < MIN_TIME {
            true => self.batches.back().map(|batch| batch.rate),
            false => Some(bytes.get() as f64 / time.as_secs_f64()),
        }
    }

    /// Leaves the packets of the window.
    fn forget(&mut self) {
        let held: u64 = self.batches.iter().map(|b| u64::from(b.packets)).sum();
        let mut excess = held.saturating_sub(u64::from(self.window));
        while let Some(oldest) = self.batches.front_mut()
            && excess > 0
        {
            let gone = excess.min(u64::from(oldest.packets));
            oldest.packets -= gone as u32;
            excess -= gone;
            if oldest.packets == 0 {
                self.batches.pop_front();
            }
        }
    }

    /// Mean and standard deviation of the rates of the window's packets; none before the first rate.
    pub(super) fn predict(&self) -> Option<Prediction> {
        let packets: f64 = self.batches.iter().map(|b| f64::from(b.packets)).sum();
        if packets == 0.0 {
            return None;
        }
        let mean = |of: &dyn Fn(&Batch) -> f64| {
            let weighted = self.batches.iter().map(|b| f64::from(b.packets) * of(b));
            weighted.sum::<f64>() / packets
        };
        let rate = mean(&|batch| batch.rate);
        let variance = mean(&|batch| (batch.rate - rate) * (batch.rate - rate));
        Some(Prediction {
            rate,
            deviation: variance.sqrt(),
        })
    }
}
