//! Values that a base station can have.

use super::Refusal;
use crate::mec012::MAX_UES_PER_CELL;
use crate::{LinkQuality, MAX_BEARER, RadioReport, ReportError, UeReport};
use core::ops::Deref;
use units::{Bytes, Duration, Prb};

/// Largest carrier of NR, in PRBs (TS 38.101-1 5.3.2).
pub(crate) const MAX_PRB: u16 = 275;
/// Longest slot that is accepted (LTE's subframe is 1 ms).
const MAX_SLOT: Duration = Duration::from_millis(10);
/// Largest amount of one UE and report that is accepted.
const MAX_BYTES: Bytes = Bytes::new(1 << 40);
const MAX_CQI: u8 = 15;
const MAX_MCS: u8 = 31;
const MAX_LAYERS: u8 = 8;

/// A report whose values a base station can have, its UEs in ascending order of RNTI, each once: what consumers may
/// rely on. It can be read as the report that it is, and not changed.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedReport(RadioReport);

impl CheckedReport {
    /// Puts UEs in order and checks every value that has a range.
    ///
    /// # Errors
    /// [`Refusal::Absurd`] names the first value that no base station can have.
    pub fn new(mut report: RadioReport) -> Result<Self, Refusal> {
        let cell = report.cell.id.0;
        plausible(&mut report).map_err(|what| Refusal::Absurd { cell, what })?;
        Ok(Self(report))
    }

    /// For what leaves values possible: addresses and times.
    pub(super) fn inner(&mut self) -> &mut RadioReport {
        &mut self.0
    }
}

impl Deref for CheckedReport {
    type Target = RadioReport;
    fn deref(&self) -> &RadioReport {
        &self.0
    }
}

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
    plausible_bearers(ue)?;
    within("cqi", ue.cqi.get(), 0, MAX_CQI)?;
    if let LinkQuality::Mcs { mcs, layers, .. } = ue.quality {
        within("mcs", mcs.get(), 0, MAX_MCS)?;
        within("layers", layers, 1, MAX_LAYERS)?;
    }
    Ok(())
}

fn plausible_bearers(ue: &UeReport) -> Result<(), String> {
    let mut seen = 0_u64;
    for bearer in &ue.bearers {
        let refused = |what: String| Err(format!("RNTI {}: bearer {}{what}", ue.rnti.0, bearer.id));
        if !(1..=MAX_BEARER).contains(&bearer.id) {
            return refused(format!("; allowed is 1 to {MAX_BEARER}"));
        }
        if bearer.queue_bytes > MAX_BYTES {
            let bytes = bearer.queue_bytes;
            return refused(format!(": queue_bytes is {bytes}; at most {MAX_BYTES}"));
        }
        if seen & (1 << bearer.id) != 0 {
            return refused(" is there twice".to_owned());
        }
        seen |= 1 << bearer.id;
    }
    Ok(())
}
