//! The largest rate of this cycle of ProbeBW and the last.
//!
//! Source: draft-ietf-ccwg-bbr-06 sections 5.5.3 to 5.5.6.

use units::BitRate;

/// BBR.max_bw_filter with a window of two cycles (MaxBwFilterLen, 2.11).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxBw {
    this_cycle: BitRate,
    last_cycle: BitRate,
}

impl MaxBw {
    /// The maximum; 0 before the first sample.
    pub(super) fn get(&self) -> BitRate {
        self.this_cycle.max(self.last_cycle)
    }

    pub(super) fn update(&mut self, rate: BitRate) {
        self.this_cycle = self.this_cycle.max(rate);
    }

    /// AdvanceMaxBwFilter: a cycle has ended. One without a sample discards nothing.
    pub(super) fn advance(&mut self) {
        if self.this_cycle > BitRate::ZERO {
            self.last_cycle = self.this_cycle;
            self.this_cycle = BitRate::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_5_5_6_a_rate_is_kept_for_two_cycles() {
        let mut max_bw = MaxBw::default();
        max_bw.update(BitRate::from_mbps(50));
        max_bw.advance();
        max_bw.update(BitRate::from_mbps(20));
        assert_eq!(max_bw.get(), BitRate::from_mbps(50));
        max_bw.advance();
        assert_eq!(max_bw.get(), BitRate::from_mbps(20));
        max_bw.advance();
        assert_eq!(max_bw.get(), BitRate::from_mbps(20));
    }
}
