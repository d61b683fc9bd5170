//! The gate that every report passes before anybody relies on it.
//!
//! A report is refused if it contradicts itself or holds a value that no base station can have, if
//! it repeats the last one of its cell, or is older. A UE without an address gets the mapping's; if
//! there is none it stays in the report (its PRBs are taken) and is reported.

use crate::identity::{MissingMapping, UeId, UeMap};
use crate::mec012::MAX_UES_PER_CELL;
use crate::order::{Arrival, Order};
use crate::{CellId, LinkQuality, RadioReport, ReportError, UeReport};
use std::collections::BTreeMap;
use units::{Bytes, Duration, Prb};

/// Most cells of one service.
pub const MAX_CELLS: usize = 1024;
/// Largest carrier of NR, in PRBs (TS 38.101-1 5.3.2).
pub(crate) const MAX_PRB: u16 = 275;
/// Longest slot that is accepted (LTE's subframe is 1 ms).
const MAX_SLOT: Duration = Duration::from_millis(10);
/// Largest amount of one UE and report that is accepted.
const MAX_BYTES: Bytes = Bytes::new(1 << 40);
const MAX_CQI: u8 = 15;
const MAX_MCS: u8 = 31;
const MAX_LAYERS: u8 = 8;

/// Why a report was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Its values cannot be true.
    #[error("cell {cell}: {what}")]
    Absurd {
        /// The cell.
        cell: u32,
        /// What is wrong.
        what: String,
    },
    /// The same as the last of its cell.
    #[error("cell {cell}: a report of slot {slot} again")]
    Repeated {
        /// The cell.
        cell: u32,
        /// The slot.
        slot: u64,
    },
    /// Older than the last of its cell.
    #[error("cell {cell}: a report of slot {slot}, older than the last")]
    Late {
        /// The cell.
        cell: u32,
        /// The slot.
        slot: u64,
    },
    /// More cells than a service can have.
    #[error("cell {cell}: reports of {MAX_CELLS} cells are followed already")]
    TooManyCells {
        /// The cell.
        cell: u32,
    },
}

/// A report that passed.
#[derive(Debug, Clone, PartialEq)]
pub struct Vetted {
    /// The report, with addresses from the mapping.
    pub report: RadioReport,
    /// UEs without a mapping.
    pub unknown: Vec<MissingMapping>,
    /// The cell's time jumped back; this report begins a new series.
    pub restarted: bool,
}

/// Follows the reports of all cells.
#[derive(Debug, Default)]
pub struct Vetter {
    ues: UeMap,
    cells: BTreeMap<CellId, Order>,
}

impl Vetter {
    /// With the mapping of UEs.
    pub fn new(ues: UeMap) -> Self {
        Self {
            ues,
            cells: BTreeMap::new(),
        }
    }

    /// Takes another mapping.
    pub fn set_ues(&mut self, ues: UeMap) {
        self.ues = ues;
    }

    /// Looks at a report.
    ///
    /// # Errors
    /// Why it must not be used.
    pub fn vet(&mut self, mut report: RadioReport) -> Result<Vetted, Refusal> {
        let cell = report.cell.id;
        plausible(&mut report).map_err(|what| Refusal::Absurd { cell: cell.0, what })?;
        if !self.cells.contains_key(&cell) && self.cells.len() >= MAX_CELLS {
            return Err(Refusal::TooManyCells { cell: cell.0 });
        }
        let slot = report.cell.slot.get();
        let time_ns = slot.saturating_mul(report.cell.slot_duration.as_nanos());
        let arrival = self.cells.entry(cell).or_default().on_message(time_ns);
        match arrival {
            Arrival::Repeated => return Err(Refusal::Repeated { cell: cell.0, slot }),
            Arrival::Late => return Err(Refusal::Late { cell: cell.0, slot }),
            Arrival::First | Arrival::Next(_) | Arrival::Restarted => {}
        }
        let mut unknown = Vec::new();
        for ue in report.ues.iter_mut().filter(|ue| ue.ip.is_none()) {
            match self.ues.address(&[UeId::Rnti(ue.rnti)]) {
                Ok(ip) => ue.ip = Some(ip),
                Err(missing) => unknown.push(missing),
            }
        }
        Ok(Vetted {
            report,
            unknown,
            restarted: arrival == Arrival::Restarted,
        })
    }
}

/// Puts UEs in order and checks every value that has a range.
fn plausible(report: &mut RadioReport) -> Result<(), String> {
    report
        .check()
        .map_err(|error: ReportError| error.to_string())?;
    if report.cell.n_prb > Prb::new(MAX_PRB) {
        return Err(format!(
            "{} PRBs; a carrier has at most {MAX_PRB}",
            report.cell.n_prb
        ));
    }
    if report.cell.slot_duration > MAX_SLOT {
        return Err(format!(
            "slots of {}; at most {MAX_SLOT}",
            report.cell.slot_duration
        ));
    }
    if report.ues.len() > MAX_UES_PER_CELL {
        return Err(format!(
            "{} UEs; at most {MAX_UES_PER_CELL} of one cell",
            report.ues.len()
        ));
    }
    report.ues.sort_by_key(|ue| ue.rnti);
    if let Some(pair) = report
        .ues
        .windows(2)
        .find(|pair| pair[0].rnti == pair[1].rnti)
    {
        return Err(format!("RNTI {} is there twice", pair[0].rnti.0));
    }
    report.ues.iter().try_for_each(plausible_ue)
}

fn plausible_ue(ue: &UeReport) -> Result<(), String> {
    let within = |field: &str, value: u8, least: u8, most: u8| {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(format!(
            "RNTI {}: {field} is {value}; allowed is {least} to {most}",
            ue.rnti.0
        ))
    };
    let amounts = [
        ("tbs_bytes", ue.tbs_bytes),
        ("served_bytes", ue.served_bytes),
        ("rlc_queue_bytes", ue.rlc_queue_bytes),
    ];
    if let Some((field, bytes)) = amounts.into_iter().find(|(_, bytes)| *bytes > MAX_BYTES) {
        return Err(format!(
            "RNTI {}: {field} is {bytes}; at most {MAX_BYTES}",
            ue.rnti.0
        ));
    }
    within("cqi", ue.cqi.get(), 0, MAX_CQI)?;
    if let LinkQuality::Mcs { mcs, layers, .. } = ue.quality {
        within("mcs", mcs.get(), 0, MAX_MCS)?;
        within("layers", layers, 1, MAX_LAYERS)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::KnownUe;
    use crate::{CellReport, McsTable, Rnti};
    use core::net::IpAddr;
    use units::{Cqi, Hertz, Instant, Mcs, Slot};

    fn report(slot: u64) -> RadioReport {
        let ue = |rnti| UeReport {
            rnti: Rnti(rnti),
            ip: None,
            prb_dl: Prb::new(10),
            quality: LinkQuality::Mcs {
                mcs: Mcs::new(20),
                table: McsTable::NrQam256,
                layers: 1,
                data_re_per_prb: 132,
            },
            cqi: Cqi::new(10),
            tbs_bytes: Bytes::new(100),
            served_bytes: Bytes::new(90),
            rlc_queue_bytes: Bytes::ZERO,
            harq_processes: 0,
            harq_retx: 0,
            lost_packets: None,
            seq: 0,
            timestamp: Instant::from_nanos(slot),
        };
        RadioReport {
            cell: CellReport {
                id: CellId(3),
                n_prb: Prb::new(106),
                scs: Hertz::from_khz(30),
                slot_duration: Duration::from_micros(500),
                downlink_share: 1.0,
                slot: Slot::new(slot),
                slots: 20,
                prb_background: Prb::new(0),
            },
            ues: vec![ue(9), ue(7)],
        }
    }

    fn vetter() -> Vetter {
        let known = KnownUe {
            ip: IpAddr::from([10, 45, 0, 7]),
            ids: vec![UeId::Rnti(Rnti(7))],
        };
        Vetter::new(UeMap::new(vec![known]).expect("one UE"))
    }

    #[test]
    fn ues_get_their_addresses_and_the_unknown_are_named() {
        let vetted = vetter().vet(report(20)).expect("good");
        assert_eq!(vetted.report.ues[0].ip, Some(IpAddr::from([10, 45, 0, 7])));
        assert_eq!(vetted.report.ues[1].ip, None);
        assert_eq!(vetted.unknown[0].ids, vec![UeId::Rnti(Rnti(9))]);
    }

    #[test]
    fn repeated_and_late_reports_are_rejected_and_a_restart_is_detected() {
        let mut vetter = vetter();
        assert!(vetter.vet(report(1_000_000)).is_ok());
        assert!(matches!(
            vetter.vet(report(1_000_000)),
            Err(Refusal::Repeated { .. })
        ));
        assert!(matches!(
            vetter.vet(report(999_999)),
            Err(Refusal::Late { .. })
        ));
        assert!(!vetter.vet(report(1_000_020)).expect("next").restarted);
        assert!(vetter.vet(report(5)).expect("from the beginning").restarted);
    }

    #[test]
    fn values_that_no_base_station_has_are_refused() {
        let refused = |change: fn(&mut RadioReport)| {
            let mut r = report(20);
            change(&mut r);
            vetter().vet(r).expect_err("absurd").to_string()
        };
        assert!(refused(|r| r.cell.n_prb = Prb::new(276)).contains("276"));
        assert!(refused(|r| r.ues[0].cqi = Cqi::new(16)).contains("cqi is 16"));
        assert!(refused(|r| r.cell.slot_duration = Duration::from_secs(1)).contains("slots of"));
        assert!(refused(|r| r.ues[0].tbs_bytes = Bytes::MAX).contains("tbs_bytes"));
        assert!(refused(|r| r.ues[1].rnti = Rnti(9)).contains("twice"));
        assert!(refused(|r| r.cell.downlink_share = f64::NAN).contains("downlink_share"));
        let layers = refused(|r| {
            if let LinkQuality::Mcs { layers, .. } = &mut r.ues[0].quality {
                *layers = 0;
            }
        });
        assert!(layers.contains("layers is 0"), "{layers}");
    }

    #[test]
    fn the_number_of_cells_is_limited() {
        let mut vetter = vetter();
        for id in 0..MAX_CELLS as u32 {
            let mut r = report(20);
            r.cell.id = CellId(id);
            assert!(vetter.vet(r).is_ok());
        }
        let mut r = report(20);
        r.cell.id = CellId(u32::MAX);
        assert!(matches!(vetter.vet(r), Err(Refusal::TooManyCells { .. })));
    }
}
