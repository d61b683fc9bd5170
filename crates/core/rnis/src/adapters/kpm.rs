//! E2SM-KPM measurements, forwarded by an xApp as one line of JSON for each indication.
//!
//! ```text
//!   {"timestamp": ms, "cell": {"RRU.PrbUsedDl", "RRU.PrbAvailDl", "RRU.PrbTotDl"},
//!    "ues": [{"rnti" and/or "amf_ue_ngap_id", "DRB.UEThpDl", "DRB.RlcSduDelayDl",
//!             "RRU.PrbUsedDl"}]}
//! ```
//! The names are those of TS 28.552: `DRB.UEThpDl` in kbit/s, `DRB.RlcSduDelayDl` in tenths of a
//! millisecond, `RRU.PrbUsedDl` and `RRU.PrbAvailDl` in PRBs (mean of a slot), `RRU.PrbTotDl` in
//! percent of the carrier.
//!
//! Not known, and what stands there instead: MCS, CQI (0), HARQ (0); PRBs of a UE, if its entry has
//! no `RRU.PrbUsedDl` (the cell's, by share of throughput); a UE's quality (the bytes that its PRBs
//! carried; while idle, as before); the queue (throughput times the mean delay in the RLC); RNTI, if the
//! entry has none (by mapping; a UE without is not reported).

use super::number::{Fields, Number, RATE, RNTI};
use super::series::{Series, Turn};
use super::{Adapted, Adapter, AdapterError, CellProfile, Problem, address, json, report};
use crate::identity::{UeId, UeMap};
use crate::intake::MAX_PRB;
use crate::{LinkQuality, Rnti, UeReport};
use serde::Deserialize;
use std::collections::BTreeMap;
use units::{Bytes, Cqi, Instant, Prb};

/// Largest delay that is accepted, in tenths of a millisecond (an hour).
const DELAY: u64 = 36_000_000;

#[derive(Deserialize)]
struct Indication {
    #[serde(default)]
    timestamp: Number,
    #[serde(default)]
    cell: Cell,
    ues: Vec<Ue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cell {
    #[serde(rename = "RRU.PrbUsedDl")]
    used: Number,
    #[serde(rename = "RRU.PrbAvailDl")]
    available: Number,
    #[serde(rename = "RRU.PrbTotDl")]
    percent: Number,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Ue {
    rnti: Number,
    amf_ue_ngap_id: Number,
    #[serde(rename = "DRB.UEThpDl")]
    kbps: Number,
    #[serde(rename = "DRB.RlcSduDelayDl")]
    delay: Number,
    #[serde(rename = "RRU.PrbUsedDl")]
    prb: Number,
}

/// A UE's entry, as far as it can be true.
struct Read {
    rnti: Rnti,
    ids: Vec<UeId>,
    kbps: f64,
    delay_s: f64,
    prb: Option<f64>,
}

/// Reads E2SM-KPM indications of a bridge.
#[derive(Debug)]
pub struct Kpm {
    profile: CellProfile,
    ues: UeMap,
    series: Series,
    /// What all PRBs would carry in one slot, in thousandths of a byte, as last seen of each UE.
    full_band: BTreeMap<Rnti, u64>,
}

impl Kpm {
    /// A reader of one cell's indications.
    pub fn new(profile: CellProfile, ues: UeMap) -> Self {
        Self {
            profile,
            ues,
            series: Series::default(),
            full_band: BTreeMap::new(),
        }
    }

    fn read(&self, ue: &Ue, problems: &mut Vec<Problem>) -> Option<Read> {
        let mut fields = Fields {
            who: "a UE".to_owned(),
            problems,
        };
        let ngap = fields.whole("amf_ue_ngap_id", ue.amf_ue_ngap_id, (1 << 40) - 1);
        let given = fields.whole("rnti", ue.rnti, RNTI).map(|n| Rnti(n as u16));
        let mut ids: Vec<UeId> = ngap.map(UeId::AmfUeNgapId).into_iter().collect();
        ids.extend(given.map(UeId::Rnti));
        if let Some(id) = ids.first() {
            fields.who = id.to_string();
        }
        let rnti = given.map_or_else(|| self.ues.rnti(&ids), Ok);
        let rnti = rnti
            .map_err(|missing| fields.problems.push(missing.into()))
            .ok()?;
        Some(Read {
            rnti,
            ids,
            kbps: fields.needed("DRB.UEThpDl", ue.kbps, RATE / 1_000)?,
            delay_s: fields
                .optional("DRB.RlcSduDelayDl", ue.delay, DELAY)
                .unwrap_or(0.0)
                / 1e4,
            prb: fields.optional("RRU.PrbUsedDl", ue.prb, self.profile.n_prb.get().into()),
        })
    }

    /// PRBs of the cell in use, mean of a slot, where the indication reports.
    fn used(&mut self, cell: &Cell, out: &mut Adapted) -> Option<f64> {
        let mut fields = Fields {
            who: "the cell".to_owned(),
            problems: &mut out.problems,
        };
        if let Some(prb @ 1..) = fields.whole("RRU.PrbAvailDl", cell.available, MAX_PRB.into()) {
            self.profile.n_prb = Prb::new(prb as u16);
        }
        let n_prb = self.profile.n_prb.get();
        let used = fields.optional("RRU.PrbUsedDl", cell.used, n_prb.into());
        let percent = fields.optional("RRU.PrbTotDl", cell.percent, 100);
        used.or(percent.map(|p| p / 100.0 * f64::from(n_prb)))
    }

    fn ue(&mut self, now: Instant, turn: Turn, ue: &Read, prb: f64, out: &mut Adapted) -> UeReport {
        let slots = self.profile.downlink_slots(turn.period);
        let bytes = ue.kbps * 125.0 * turn.period.as_secs_f64();
        let n_prb = self.profile.n_prb;
        if prb > 0.0 && bytes > 0.0 {
            let full = bytes * 1e3 / f64::from(slots) / prb * f64::from(n_prb.get());
            self.full_band.insert(ue.rnti, full as u64);
        }
        let full_band_millibytes = self.full_band.get(&ue.rnti).copied().unwrap_or(0);
        let queue = ue.kbps * 125.0 * ue.delay_s;
        UeReport {
            rnti: ue.rnti,
            ip: address(&self.ues, &ue.ids, &mut out.problems),
            prb_dl: Prb::new(prb.round() as u16).min(n_prb),
            quality: LinkQuality::Measured {
                full_band_millibytes,
            },
            cqi: Cqi::new(0),
            tbs_bytes: Bytes::new(bytes.round() as u64),
            served_bytes: Bytes::new(bytes.round() as u64),
            rlc_queue_bytes: Bytes::new(queue.round() as u64),
            bearers: Vec::new(),
            harq_processes: 0,
            harq_retx: 0,
            lost_packets: None,
            seq: self.series.next_seq(ue.rnti),
            timestamp: now,
        }
    }
}

impl Adapter for Kpm {
    fn name(&self) -> &'static str {
        "e2sm-kpm"
    }

    fn unavailable_fields(&self) -> &'static [&'static str] {
        &[
            "quality: from throughput and PRBs; no MCS",
            "cqi: 0",
            "prb_dl: where the UE's entry has none, the cell's by share of throughput",
            "rlc_queue_bytes: throughput times mean delay",
            "tbs_bytes, served_bytes: throughput times period",
            "harq_processes, harq_retx: 0",
        ]
    }

    fn on_message(&mut self, now: Instant, message: &[u8]) -> Result<Adapted, AdapterError> {
        let indication: Indication = json("E2SM-KPM indication", message)?;
        let mut out = Adapted::default();
        let time_ns = match indication.timestamp.0 {
            Some(ms) if (0.0..1e13).contains(&ms) => (ms * 1e6) as u64,
            _ => now.as_nanos(),
        };
        let Some(turn) = self.series.turn(time_ns, &self.profile, &mut out.problems) else {
            return Ok(out);
        };
        let used = self.used(&indication.cell, &mut out);
        let read: Vec<Read> = indication
            .ues
            .iter()
            .filter_map(|ue| self.read(ue, &mut out.problems))
            .collect();
        let listed: f64 = read.iter().filter_map(|ue| ue.prb).sum();
        let shared = (used.unwrap_or(listed) - listed).max(0.0);
        let untold_kbps: f64 = read
            .iter()
            .filter(|ue| ue.prb.is_none())
            .map(|ue| ue.kbps)
            .sum();
        let mut ues = Vec::with_capacity(read.len());
        for ue in &read {
            let share = if untold_kbps > 0.0 {
                ue.kbps / untold_kbps
            } else {
                0.0
            };
            let prb = ue.prb.unwrap_or(shared * share);
            ues.push(self.ue(now, turn, ue, prb, &mut out));
        }
        let mut cell = self.profile.cell_report(turn);
        if untold_kbps == 0.0 {
            // the unassigned share: broadcast, and UEs that are not listed
            cell.prb_background = Prb::new(shared.round() as u16).min(cell.n_prb);
        }
        let present = |rnti: Rnti| ues.iter().any(|ue| ue.rnti == rnti);
        self.series.keep(present);
        self.full_band.retain(|rnti, _| present(*rnti));
        out.reports.push(report(cell, ues));
        Ok(out)
    }
}
