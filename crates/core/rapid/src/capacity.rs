//! What a UE could carry (section 3.3 of the paper, equation 3; [`RadioReport`] has 1 and 2).

use rnis::{LinkQuality, RadioReport};
use units::{BitRate, Prb};

/// Eq. 3: the transport block that those PRBs would carry, over the TTI.
///
/// A quality outside its table (an index that the source invented) gives zero.
pub(crate) fn capacity(report: &RadioReport, quality: LinkQuality, prb: Prb) -> BitRate {
    radio::transport_block_bytes(quality, prb, report.cell.n_prb).map_or(BitRate::ZERO, |tbs| {
        BitRate::from_bytes_per(tbs, report.cell.slot_duration)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::report;

    #[test]
    fn eq_1_and_2_count_background_and_other_ues_as_used() {
        let mut r = report(&[40, 30]);
        r.cell.prb_background = Prb::new(12);
        assert_eq!(r.unused_prb(), Prb::new(132 - 82));
        assert_eq!(r.expected_prb(&r.ues[0]), Prb::new(40 + 50));
        assert_eq!(r.expected_prb(&r.ues[1]), Prb::new(30 + 50));
    }

    #[test]
    fn eq_3_gives_852_6_mbps_for_the_papers_cell() {
        // TBS 106576 bit in slots of 125 us
        let r = report(&[0]);
        let c = capacity(&r, r.ues[0].quality, r.expected_prb(&r.ues[0]));
        assert_eq!(c, BitRate::from_bps(852_608_000));
    }

    #[test]
    fn an_invented_mcs_carries_nothing() {
        let mut r = report(&[0]);
        if let LinkQuality::Mcs { ref mut mcs, .. } = r.ues[0].quality {
            *mcs = units::Mcs::new(200);
        }
        assert_eq!(capacity(&r, r.ues[0].quality, Prb::new(132)), BitRate::ZERO);
    }
}
