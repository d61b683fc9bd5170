//! Reports for tests.

use rnis::{CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport};
use units::{Bytes, Cqi, Duration, Hertz, Instant, Mcs, Prb, Slot};

/// A report of the paper's cell (tables 1-2: numerology 3, 132 PRB, MCS 28): one UE for each entry,
/// with so many PRBs.
pub(crate) fn report(prb: &[u16]) -> RadioReport {
    let ue = |(i, &prb): (usize, &u16)| UeReport {
        rnti: Rnti(i as u16 + 1),
        ip: None,
        prb_dl: Prb::new(prb),
        quality: LinkQuality::Mcs {
            mcs: Mcs::new(28),
            table: McsTable::NrQam64,
            layers: 1,
            data_re_per_prb: 144,
        },
        cqi: Cqi::new(15),
        tbs_bytes: Bytes::ZERO,
        served_bytes: Bytes::ZERO,
        rlc_queue_bytes: Bytes::ZERO,
        bearers: Vec::new(),
        harq_processes: 0,
        harq_retx: 0,
        lost_packets: None,
        seq: 0,
        timestamp: Instant::ZERO,
    };
    RadioReport {
        cell: CellReport {
            id: CellId(1),
            n_prb: Prb::new(132),
            scs: Hertz::from_khz(120),
            slot_duration: Duration::from_micros(125),
            downlink_share: 1.0,
            slot: Slot::new(8),
            slots: 8,
            prb_background: Prb::new(0),
        },
        ues: prb.iter().enumerate().map(ue).collect(),
    }
}
