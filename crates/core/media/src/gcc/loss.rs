//! The estimate by loss (section 6).

use crate::RateLimits;

/// Losses are counted over so many packets at least (libwebrtc, `kLimitNumPackets`).
const MIN_PACKETS: u64 = 20;

/// The estimate As.
#[derive(Clone, Debug)]
pub(super) struct LossBased {
    limits: RateLimits,
    /// bit/s.
    estimate: f64,
    lost: u64,
    packets: u64,
}

impl LossBased {
    /// At the first rate.
    pub(super) fn new(limits: RateLimits) -> Self {
        Self {
            limits,
            estimate: limits.start().as_bps() as f64,
            lost: 0,
            packets: 0,
        }
    }

    /// As, bit/s.
    pub(super) fn estimate(&self) -> f64 {
        self.estimate
    }

    /// So many packets of these were lost; `by_delay` is A.
    pub(super) fn update(&mut self, lost: u64, packets: u64, by_delay: f64) {
        self.lost += lost;
        self.packets += packets;
        if self.packets < MIN_PACKETS {
            return;
        }
        let p = self.lost as f64 / self.packets as f64;
        (self.lost, self.packets) = (0, 0);
        let estimate = if p > 0.10 {
            // As(i) = As(i-1) (1 - 0.5 p)
            self.estimate.min(by_delay) * (1.0 - 0.5 * p)
        } else if p < 0.02 {
            // As(i) = 1.05 As(i-1)
            1.05 * self.estimate
        } else {
            self.estimate
        };
        self.estimate = self.limits.clamp(estimate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    #[test]
    fn section_6_by_hand() {
        let mbps = BitRate::from_mbps;
        let limits = RateLimits::new(mbps(1), mbps(4), mbps(8)).unwrap();
        let estimate = |lost, by_delay: f64| {
            let mut loss = LossBased::new(limits);
            loss.update(lost, 100, by_delay);
            loss.estimate()
        };
        assert_eq!(estimate(1, 9e6), 4.2e6);
        assert_eq!(estimate(2, 9e6), 4e6);
        assert_eq!(estimate(10, 9e6), 4e6);
        assert_eq!(estimate(20, 9e6), 4e6 * 0.9);
        assert_eq!(estimate(20, 2e6), 2e6 * 0.9, "from the smaller of both");
    }

    #[test]
    fn a_few_packets_decide_nothing() {
        let mbps = BitRate::from_mbps;
        let limits = RateLimits::new(mbps(1), mbps(4), mbps(8)).unwrap();
        let mut loss = LossBased::new(limits);
        loss.update(5, 10, 9e6);
        assert_eq!(loss.estimate(), 4e6);
        loss.update(5, 10, 9e6);
        assert_eq!(loss.estimate(), 4e6 * 0.75);
    }
}
