//! Reports for tests.

use rnis::{CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport};
use std::net::Ipv4Addr;
use units::{Duration, Instant, Mcs, Prb, Slot};

/// A report of a cell of 25 PRBs (LTE), made in the slot that begins at `at`, of UEs with these numbers and
/// addresses 10.0.0.RNTI.
pub(crate) fn report(rntis: &[u8], at: Instant) -> RadioReport {
    let ue = |rnti: &u8| UeReport {
        ip: Some(Ipv4Addr::new(10, 0, 0, *rnti).into()),
        ..UeReport::idle(
            Rnti(u16::from(*rnti)),
            LinkQuality::Mcs {
                mcs: Mcs::new(27),
                table: McsTable::LteQam64,
                layers: 1,
                data_re_per_prb: 120,
            },
            at,
        )
    };
    let slot = at.saturating_since(Instant::ZERO) / Duration::from_millis(1);
    RadioReport {
        cell: CellReport {
            slot: Slot::new(slot),
            ..CellReport::fdd(CellId(1), Prb::new(25))
        },
        ues: rntis.iter().map(ue).collect(),
    }
}
