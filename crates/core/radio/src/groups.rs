//! Resource block groups: what a scheduler deals out at a time (TS 36.213 Table 7.1.6.1-1; TS 38.214
//! Table 5.1.2.2.1-1, configuration 1).
//!
//! *Deviation*: each group has a CQI of its own, as in ns-3. Sub-bands of reports by the standards (TS 36.213 Table
//! 7.2.1-3, TS 38.214 Table 5.2.1.4-2) are two or more groups wide.

use units::Hertz;

/// The groups of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrbGroups {
    n_prb: u16,
    size: u16,
}

impl PrbGroups {
    /// No carrier has more.
    pub const MAX: usize = 28;

    /// Those of an LTE carrier of so many PRBs, 1 to 110.
    pub fn lte(n_prb: u16) -> Self {
        let size = match n_prb {
            ..=10 => 1,
            11..=26 => 2,
            27..=63 => 3,
            _ => 4,
        };
        Self { n_prb, size }
    }

    /// Those of an NR bandwidth part of so many PRBs, 1 to 275.
    pub fn nr(n_prb: u16) -> Self {
        let size = match n_prb {
            ..=36 => 2,
            37..=72 => 4,
            73..=144 => 8,
            _ => 16,
        };
        Self { n_prb, size }
    }

    /// How many.
    pub fn count(self) -> usize {
        usize::from(self.n_prb.div_ceil(self.size))
    }

    /// PRBs of a group: the last may have fewer.
    pub fn prbs(self, group: usize) -> u16 {
        let before = u16::try_from(group)
            .unwrap_or(u16::MAX)
            .saturating_mul(self.size);
        self.n_prb.saturating_sub(before).min(self.size)
    }

    /// From the middle of the carrier to that of each group, Hz.
    pub(crate) fn offsets(self, sub_carrier_spacing: Hertz) -> Vec<f64> {
        let prb = 12.0 * sub_carrier_spacing.get() as f64;
        let middle = |group: usize| {
            let before = group as f64 * f64::from(self.size);
            (before + 0.5 * f64::from(self.prbs(group)) - 0.5 * f64::from(self.n_prb)) * prb
        };
        (0..self.count()).map(middle).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 PRBs: 25 groups of 4. 50: 16 of 3 and one of 2. NR, 275: 17 of 16 and one of 3.
    #[test]
    fn sizes_of_the_tables() {
        let seen = |groups: PrbGroups| {
            let last = groups.count() - 1;
            (groups.count(), groups.prbs(0), groups.prbs(last))
        };
        assert_eq!(seen(PrbGroups::lte(100)), (25, 4, 4));
        assert_eq!(seen(PrbGroups::lte(50)), (17, 3, 2));
        assert_eq!(seen(PrbGroups::lte(6)), (6, 1, 1));
        assert_eq!(seen(PrbGroups::nr(275)), (18, 16, 3));
        for n in 1..=110 {
            for groups in [PrbGroups::lte(n), PrbGroups::nr(n)] {
                let sum: u16 = (0..groups.count()).map(|g| groups.prbs(g)).sum();
                assert!(sum == n && groups.count() <= PrbGroups::MAX, "{groups:?}");
            }
        }
        assert_eq!(PrbGroups::lte(100).prbs(25), 0);
    }

    #[test]
    fn offsets_are_from_the_middle() {
        let offsets = PrbGroups::lte(100).offsets(Hertz::from_khz(15));
        assert!((offsets[0] + 8.64e6).abs() < 1.0 && offsets[12].abs() < 1.0);
        assert!((offsets[24] - 8.64e6).abs() < 1.0);
    }
}
