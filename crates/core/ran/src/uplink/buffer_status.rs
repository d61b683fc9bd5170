//! The state of a UE's buffer at the base station: buffer status reports (TS 38.321 5.4.5, 6.1.3.1; TS 36.321 5.4.5,
//! 6.1.3.1), and the grants that it has given since.
//!
//! ```text
//!   request at slot s ----- grant delay -----> owed = 512 bytes
//!   block of slot j carries level(what is left) -- decoded, grant delay --> owed = level - granted after j
//!   each grant:  owed -= its bytes
//! ```
//! Every block carries a short report (2 bytes) of all that is left when it is filled, as the upper bound of its level. A
//! report whose block needs HARQ's retransmissions comes as late as these; one that was made before another that counts
//! already is discarded. Where nothing is owed and no report on its way shows data, a UE that has some requests again.
//!
//! Sizes in bytes, slots since the run began.
//!
//! *Deviations*: there is one logical channel group; what is reported has the headers that it will need (TS 38.321: without);
//! reports are in each block (periodicBSR-Timer: as many subframes as the table of TS 38.331 allows), and a lost one is made
//! up for by a new request at once (retxBSR-Timer). The base station grants the level's upper bound, for the highest one,
//! which has none, its lower one.

use crate::config::Rat;
use crate::frame::SlotNumber;
use std::collections::VecDeque;

/// Upper bounds of the levels of LTE, 0 to 62; level 63 is more (TS 36.321 Table 6.1.3.1-1).
const LTE_LEVELS: [u32; 63] = [
    0, 10, 12, 14, 17, 19, 22, 26, 31, 36, 42, 49, 57, 67, 78, 91, 107, 125, 146, 171, 200, 234,
    274, 321, 376, 440, 515, 603, 706, 826, 967, 1_132, 1_326, 1_552, 1_817, 2_127, 2_490, 2_915,
    3_413, 3_995, 4_677, 5_476, 6_411, 7_505, 8_787, 10_287, 12_043, 14_099, 16_507, 19_325,
    22_624, 26_487, 31_009, 36_304, 42_502, 49_759, 58_255, 68_201, 79_846, 93_479, 109_439,
    128_125, 150_000,
];
/// Upper bounds of the levels of a short report of NR, 0 to 30; level 31 is more (TS 38.321 Table 6.1.3.1-1).
const NR_LEVELS: [u32; 31] = [
    0, 10, 14, 20, 28, 38, 53, 74, 102, 142, 198, 276, 384, 535, 745, 1_038, 1_446, 2_014, 2_806,
    3_909, 5_446, 7_587, 10_570, 14_726, 20_516, 28_581, 39_818, 55_474, 77_284, 107_669, 150_000,
];
/// Bytes of a short report with its subheader (TS 38.321 6.1.3.1, TS 36.321 6.1.3.1).
pub(crate) const REPORT_BYTES: u64 = 2;
/// What is granted to a UE that has requested, and of which nothing else is known (srsRAN Project's scheduler: 512).
const REQUEST_GRANT: u64 = 512;
/// The least that is granted: a report, and headers with a segment behind them. Of several reports on their way each may leave
/// less to be owed than a segment has room in.
const SMALLEST_GRANT: u64 = 32;

/// So many bytes, as a report has them.
pub(crate) fn reported(rat: Rat, bytes: u64) -> u64 {
    let levels: &[u32] = match rat {
        Rat::Lte => &LTE_LEVELS,
        Rat::Nr { .. } => &NR_LEVELS,
    };
    let level = levels.partition_point(|&bound| u64::from(bound) < bytes);
    let bound = levels.get(level).or(levels.last());
    bound.map_or(0, |&bound| bound.into())
}

/// A report, or a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// The slot in which it was made.
    made_in: SlotNumber,
    /// What it shows.
    bytes: u64,
    /// What had been granted by then, its own block included.
    granted: u64,
}

/// The state of a UE's buffer at the base station.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferStatus {
    /// What is still to be granted of the last report.
    owed: u64,
    /// All that was granted.
    granted: u64,
    /// When the last report that counts was made.
    made_in: SlotNumber,
    /// Reports in blocks that are not decoded yet: all, and those that show data.
    sent: [u32; 2],
    /// Reports that do not count yet, in ascending order of the slot from which they do.
    coming: VecDeque<(SlotNumber, Report)>,
}

impl BufferStatus {
    /// What is to be granted. As of the slot of the last [`Self::catch_up`].
    #[cfg(test)]
    pub(crate) fn owed(&self) -> u64 {
        self.owed
    }

    /// What the next grant is for; none if nothing is owed.
    pub(crate) fn next_grant(&self) -> u64 {
        match self.owed {
            0 => 0,
            owed => owed.max(SMALLEST_GRANT),
        }
    }

    /// A report of what is left, which goes into a block of `slot` whose own grant is counted already.
    pub(crate) fn report(&mut self, slot: SlotNumber, bytes: u64) -> Report {
        self.sent[0] += 1;
        self.sent[1] += u32::from(bytes > 0);
        Report {
            made_in: slot,
            bytes,
            granted: self.granted,
        }
    }

    /// The block of a report was decoded, and it counts from a slot on, or it was given up.
    pub(crate) fn on_block(&mut self, report: Report, from: Option<SlotNumber>) {
        self.sent[0] -= 1;
        self.sent[1] -= u32::from(report.bytes > 0);
        if let Some(from) = from {
            self.expect(from, report);
        }
    }

    /// A request of `slot`, which counts from another on.
    pub(crate) fn request(&mut self, slot: SlotNumber, from: SlotNumber) {
        let request = Report {
            made_in: slot,
            bytes: REQUEST_GRANT,
            granted: self.granted,
        };
        self.expect(from, request);
    }

    fn expect(&mut self, from: SlotNumber, report: Report) {
        let at = self.coming.partition_point(|&(other, _)| other <= from);
        self.coming.insert(at, (from, report));
    }

    /// Takes what counts in `slot`.
    pub(crate) fn catch_up(&mut self, slot: SlotNumber) {
        while let Some((_, report)) = self.coming.pop_front_if(|(from, _)| *from <= slot) {
            if report.made_in >= self.made_in {
                self.made_in = report.made_in;
                self.owed = report.bytes.saturating_sub(self.granted - report.granted);
            }
        }
    }

    /// A grant of so many bytes is given.
    pub(crate) fn grant(&mut self, bytes: u64) {
        self.granted += bytes;
        self.owed = self.owed.saturating_sub(bytes);
    }

    /// Grants will come without another request.
    pub(crate) fn expects_grants(&self) -> bool {
        self.owed > 0 || self.sent[1] > 0 || self.coming.iter().any(|(_, report)| report.bytes > 0)
    }

    /// Nothing is owed, and no report is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.owed == 0 && self.sent[0] == 0 && self.coming.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NR: Rat = Rat::Nr { numerology: 1 };

    /// The bounds of TS 36.321 Table 6.1.3.1-1 and TS 38.321 Table 6.1.3.1-1 are 10 bytes to 150,000 in a geometric series.
    #[test]
    fn levels_are_the_geometric_series_of_the_standards() {
        for levels in [&LTE_LEVELS[..], &NR_LEVELS] {
            let steps = levels.len() - 2;
            for (at, &bound) in levels.iter().enumerate().skip(1) {
                let exact = 10.0 * 15_000_f64.powf((at - 1) as f64 / steps as f64);
                assert_eq!(bound, (exact - 1e-6).ceil() as u32, "level {at}");
            }
        }
    }

    #[test]
    fn a_report_is_the_upper_bound_of_its_level() {
        for (rat, bytes, expected) in [
            (Rat::Lte, 0, 0),
            (Rat::Lte, 1, 10),
            (Rat::Lte, 1_500, 1_552),
            (Rat::Lte, 150_000, 150_000),
            (Rat::Lte, 9_000_000, 150_000),
            (NR, 1_500, 2_014),
            (NR, 150_001, 150_000),
        ] {
            assert_eq!(reported(rat, bytes), expected, "{bytes} bytes, {rat:?}");
        }
    }

    #[test]
    fn what_was_granted_since_a_report_is_not_granted_again() {
        let mut status = BufferStatus::default();
        status.request(0, 8);
        status.catch_up(7);
        assert_eq!((status.owed(), status.expects_grants()), (0, true));
        status.catch_up(8);
        assert_eq!(status.owed(), 512);
        status.grant(600);
        // of slot 8: 3,000 bytes are left; before it counts, 1,000 more are granted
        let report = status.report(8, 3_000);
        assert_eq!((status.owed(), status.expects_grants()), (0, true));
        status.on_block(report, Some(16));
        status.grant(1_000);
        status.catch_up(16);
        assert_eq!(status.owed(), 2_000);
    }

    #[test]
    fn a_report_that_comes_late_does_not_replace_a_newer_one() {
        let mut status = BufferStatus::default();
        let (old, lost) = (status.report(3, 5_000), status.report(3, 5_000));
        let new = status.report(4, 100);
        status.on_block(new, Some(12));
        status.on_block(old, Some(20));
        status.on_block(lost, None);
        status.catch_up(30);
        assert_eq!(status.owed(), 100);
        assert!(!status.is_idle());
        status.grant(100);
        assert!(status.is_idle() && !status.expects_grants());
    }

    proptest! {
        /// No level is below what it stands for, nor by more than a step above.
        #[test]
        fn levels_round_up_by_a_step_at_most(bytes in 1_u64..=150_000) {
            for (rat, step) in [(Rat::Lte, 1.2), (NR, 1.4)] {
                let level = reported(rat, bytes);
                prop_assert!(level >= bytes);
                prop_assert!(bytes < 10 || level as f64 <= bytes as f64 * step + 1.0);
            }
        }

        /// Whatever comes when, no more is granted on a report than it shows.
        #[test]
        fn grants_never_exceed_the_last_report(
            reports in prop::collection::vec((0_u64..20, 0_u64..5_000), 1..20),
            grants in prop::collection::vec(1_u64..800, 1..60),
        ) {
            let mut status = BufferStatus::default();
            for (slot, grant) in grants.iter().enumerate() {
                let slot = slot as u64;
                if let Some(&(delay, bytes)) = reports.get(slot as usize) {
                    let report = status.report(slot, bytes);
                    status.on_block(report, Some(slot + delay));
                }
                status.catch_up(slot);
                let most = reports.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0);
                prop_assert!(status.owed() <= most);
                let before = status.owed();
                status.grant((*grant).min(before));
                prop_assert_eq!(status.owed(), before - (*grant).min(before));
            }
        }
    }
}
