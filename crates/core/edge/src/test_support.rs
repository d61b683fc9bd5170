//! Reports for tests.

use rnis::{CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport};
use std::net::Ipv4Addr;
use units::{Bytes, Cqi, Duration, Hertz, Instant, Mcs, Prb, Slot};

/// A report of a cell of 25 PRBs (LTE), made in the slot that begins at `at`, of UEs with these numbers and
/// addresses 10.0.0.RNTI.
pub(crate) fn report(rntis: &[u8], at: Instant) -> RadioReport {
    let ue = |rnti: &u8| UeReport {
        rnti: Rnti(u16::from(*rnti)),
        ip: Some(Ipv4Addr::new(10, 0, 0, *rnti).into()),
        prb_dl: Prb::new(0),
        quality: LinkQuality::Mcs {
            mcs: Mcs::new(27),
            table: McsTable::LteQam64,
            layers: 1,
            data_re_per_prb: 120,
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
        timestamp: at,
    };
    let slot = at.saturating_since(Instant::ZERO) / Duration::from_millis(1);
    RadioReport {
        cell: CellReport {
            id: CellId(1),
            n_prb: Prb::new(25),
            scs: Hertz::from_khz(15),
            slot_duration: Duration::from_millis(1),
            downlink_share: 1.0,
            slot: Slot::new(slot),
            slots: 1,
            prb_background: Prb::new(0),
        },
        ues: rntis.iter().map(ue).collect(),
    }
}
