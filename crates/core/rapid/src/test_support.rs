//! Reports for tests.

use rnis::intake::CheckedReport;
use rnis::{CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport};
use units::{Duration, Hertz, Instant, Mcs, Prb, Slot};

/// A report of the paper's cell (tables 1-2: numerology 3, 132 PRB, MCS 28): one UE for each entry,
/// with so many PRBs.
pub(crate) fn report(prb: &[u16]) -> RadioReport {
    let ue = |(i, &prb): (usize, &u16)| UeReport {
        prb_dl: Prb::new(prb),
        ..UeReport::idle(
            Rnti(i as u16 + 1),
            LinkQuality::Mcs {
                mcs: Mcs::new(28),
                table: McsTable::NrQam64,
                layers: 1,
                data_re_per_prb: 144,
            },
            Instant::ZERO,
        )
    };
    RadioReport {
        cell: CellReport {
            scs: Hertz::from_khz(120),
            slot_duration: Duration::from_micros(125),
            slot: Slot::new(8),
            slots: 8,
            ..CellReport::fdd(CellId(1), Prb::new(132))
        },
        ues: prb.iter().enumerate().map(ue).collect(),
    }
}

/// As the intake gives it.
pub(crate) fn checked(report: RadioReport) -> CheckedReport {
    CheckedReport::new(report).expect("possible values")
}
