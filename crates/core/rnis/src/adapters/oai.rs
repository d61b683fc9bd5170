//! OAI's rnis-xApp: one JSON message for each KPI of a UE.
//!
//! ```text
//!   {"kpi": "cqi", "source": "RAN", "timestamp": T, "unit": "", "value": 12,
//!    "labels": {"amf_ue_ngap_id": "1"}}
//! ```
//! `T` is microseconds since 1970 (milliseconds, seconds and nanoseconds are recognised by their size).
//! KPIs of one time belong together: a report is made when a message of a later time arrives. The
//! names of KPIs differ by version; read are, without regard to case and punctuation:
//! `cqi`/`wb_cqi`, `mcs`/`dl_mcs`/`dl_mcs1`, `rlc_buffer`/`txbuf_occ_bytes`, `prb`/`RRU.PrbTotDl`
//! (PRBs of the UE, mean of a slot), `thp`/`DRB.UEThpDl` (kbit/s) and `rsrp`/`ss_rsrp`,
//! `rsrq`/`ss_rsrq` (coded, TS 38.133). Others are left out of account.
//!
//! Not known, and what stands there instead: RNTI and address (by mapping of the AMF UE NGAP id; a
//! UE without both is not reported), HARQ (0), payload (throughput times period), PRBs of
//! broadcast (0); PRBs, if no KPI reports them (those that the throughput needs at the MCS).

use super::number::{CQI, Fields, MCS, Number, QUEUE, RATE};
use super::series::{Series, Turn};
use super::{Adapted, Adapter, AdapterError, BlockBytes, CellProfile, json, report};
use crate::UeReport;
use crate::event::{EventKind, RadioEvent};
use crate::identity::{UeId, UeMap};
use serde::Deserialize;
use std::collections::BTreeMap;
use units::{Bytes, Cqi, Instant, Mcs, Prb};

/// Largest AMF UE NGAP identity (TS 38.413 9.3.3.1).
const NGAP_ID: u64 = (1 << 40) - 1;
/// UEs whose KPIs are gathered at one time.
const MAX_UES: usize = 4096;

#[derive(Deserialize)]
struct Kpi {
    kpi: String,
    #[serde(default)]
    timestamp: Number,
    #[serde(default)]
    value: Number,
    #[serde(default)]
    labels: Labels,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Labels {
    amf_ue_ngap_id: Number,
}

/// KPIs of one UE and time.
#[derive(Clone, Copy, Debug, Default)]
struct Gathered {
    cqi: Number,
    mcs: Number,
    queue: Number,
    prb: Number,
    kbps: Number,
    rsrp: Number,
    rsrq: Number,
}

/// Reads messages of OAI's rnis-xApp.
#[derive(Debug)]
pub struct OaiXapp {
    profile: CellProfile,
    ues: UeMap,
    block_bytes: BlockBytes,
    series: Series,
    time_ns: Option<u64>,
    turn: Option<Turn>,
    gathered: BTreeMap<u64, Gathered>,
}

impl OaiXapp {
    /// A reader of one cell's KPIs.
    pub fn new(profile: CellProfile, ues: UeMap, block_bytes: BlockBytes) -> Self {
        Self {
            profile,
            ues,
            block_bytes,
            series: Series::default(),
            time_ns: None,
            turn: None,
            gathered: BTreeMap::new(),
        }
    }

    /// The report of what was gathered, if anything was.
    fn finish(&mut self, now: Instant, out: &mut Adapted) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        let gathered = core::mem::take(&mut self.gathered);
        let ues: Vec<UeReport> = gathered
            .iter()
            .filter_map(|(id, kpis)| self.ue(now, turn, *id, kpis, out))
            .collect();
        let cell = self.profile.cell_report(turn);
        out.reports.push(report(cell, ues));
    }

    fn ue(
        &mut self,
        now: Instant,
        turn: Turn,
        id: u64,
        kpis: &Gathered,
        out: &mut Adapted,
    ) -> Option<UeReport> {
        let ids = [UeId::AmfUeNgapId(id)];
        let known = self
            .ues
            .address(&ids)
            .and_then(|ip| Ok((ip, self.ues.rnti(&ids)?)));
        let (ip, rnti) = known
            .map_err(|missing| out.problems.push(missing.into()))
            .ok()?;
        let mut fields = Fields {
            who: ids[0].to_string(),
            problems: &mut out.problems,
        };
        let mcs = fields.needed("mcs", kpis.mcs, MCS.into())? as u8;
        let cqi = fields.small("cqi", kpis.cqi, CQI, 0);
        let queue = fields.whole("rlc_buffer", kpis.queue, QUEUE).unwrap_or(0);
        let kbps = fields
            .optional("thp", kpis.kbps, RATE / 1_000)
            .unwrap_or(0.0);
        let n_prb = self.profile.n_prb;
        let prb = fields.optional("prb", kpis.prb, n_prb.get().into());
        let rsrp = fields.whole("rsrp", kpis.rsrp, 127);
        let rsrq = fields.whole("rsrq", kpis.rsrq, 127);

        if rsrp.is_some() || rsrq.is_some() {
            let coded = |value: Option<u64>| value.and_then(|v| u8::try_from(v).ok());
            out.events.push(RadioEvent {
                cell: self.profile.id,
                ue: Some(ip),
                teid: None,
                kind: EventKind::NrMeasurement {
                    rsrp: coded(rsrp),
                    rsrq: coded(rsrq),
                    sinr: None,
                    trigger: 0,
                },
            });
        }
        let quality = self.profile.quality(Mcs::new(mcs), self.profile.layers);
        let slots = self.profile.downlink_slots(turn.period);
        let bytes = kbps * 125.0 * turn.period.as_secs_f64();
        let full = (self.block_bytes)(quality, n_prb, n_prb).map_or(0, Bytes::get);
        let prb = prb.unwrap_or_else(|| match full {
            0 => 0.0,
            full => bytes / f64::from(slots) / full as f64 * f64::from(n_prb.get()),
        });
        let bytes = Bytes::new(bytes.round() as u64);
        Some(UeReport {
            rnti,
            ip: Some(ip),
            prb_dl: Prb::new(prb.round() as u16).min(n_prb),
            quality,
            cqi: Cqi::new(cqi),
            tbs_bytes: bytes,
            served_bytes: bytes,
            rlc_queue_bytes: Bytes::new(queue),
            bearers: Vec::new(),
            harq_processes: 0,
            harq_retx: 0,
            lost_packets: None,
            seq: self.series.next_seq(rnti),
            timestamp: now,
        })
    }
}

impl Gathered {
    fn put(&mut self, kpi: &str, value: Number) {
        let name: String = kpi
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        let place = match name.as_str() {
            "cqi" | "wbcqi" => &mut self.cqi,
            "mcs" | "dlmcs" | "dlmcs1" => &mut self.mcs,
            "rlcbuffer" | "txbufoccbytes" => &mut self.queue,
            "prb" | "rruprbtotdl" => &mut self.prb,
            "thp" | "drbuethpdl" => &mut self.kbps,
            "rsrp" | "ssrsrp" => &mut self.rsrp,
            "rsrq" | "ssrsrq" => &mut self.rsrq,
            _ => return,
        };
        *place = value;
    }
}

/// Nanoseconds of a time in seconds, milli-, micro- or nanoseconds since 1970, by its size.
fn nanoseconds(time: f64) -> Option<u64> {
    let scale = match time {
        t if !(0.0..=1.8e19).contains(&t) => return None,
        t if t < 1e11 => 1e9,
        t if t < 1e14 => 1e6,
        t if t < 1e17 => 1e3,
        _ => 1.0,
    };
    Some((time * scale) as u64)
}

impl Adapter for OaiXapp {
    fn name(&self) -> &'static str {
        "oai-xapp"
    }

    fn unavailable_fields(&self) -> &'static [&'static str] {
        &[
            "rnti, ip: by mapping of the AMF UE NGAP id only",
            "prb_dl: without a KPI worked out from throughput and MCS",
            "tbs_bytes, served_bytes: throughput times period",
            "harq_processes, harq_retx: 0",
            "prb_background: 0",
        ]
    }

    fn on_message(&mut self, now: Instant, message: &[u8]) -> Result<Adapted, AdapterError> {
        let kpi: Kpi = json("rnis-xApp KPI", message)?;
        let mut out = Adapted::default();
        let id = Fields {
            who: format!("KPI {}", crate::codec::shorten(&kpi.kpi)),
            problems: &mut out.problems,
        }
        .needed("amf_ue_ngap_id", kpi.labels.amf_ue_ngap_id, NGAP_ID);
        let Some(id) = id else {
            return Ok(out);
        };
        let time_ns = kpi
            .timestamp
            .0
            .and_then(nanoseconds)
            .unwrap_or(now.as_nanos());
        if self.time_ns != Some(time_ns) {
            let mut problems = Vec::new();
            let Some(turn) = self.series.turn(time_ns, &self.profile, &mut problems) else {
                out.problems.append(&mut problems);
                return Ok(out);
            };
            self.finish(now, &mut out);
            out.problems.append(&mut problems);
            self.turn = Some(turn);
            self.time_ns = Some(time_ns);
        }
        if self.gathered.len() < MAX_UES || self.gathered.contains_key(&(id as u64)) {
            let gathered = self.gathered.entry(id as u64).or_default();
            gathered.put(&kpi.kpi, kpi.value);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_any_resolution_are_nanoseconds() {
        let expected = Some(1_700_000_000_000_000_000);
        for time in [1.7e9, 1.7e12, 1.7e15, 1.7e18] {
            assert_eq!(nanoseconds(time), expected, "{time}");
        }
        assert_eq!(nanoseconds(-1.0), None);
        assert_eq!(nanoseconds(f64::NAN), None);
    }

    #[test]
    fn names_of_kpis_are_read_without_case_and_punctuation() {
        let mut gathered = Gathered::default();
        gathered.put("DRB.UEThpDl", Number(Some(4.0)));
        gathered.put("WB_CQI", Number(Some(9.0)));
        gathered.put("something", Number(Some(1.0)));
        assert_eq!(gathered.kbps, Number(Some(4.0)));
        assert_eq!(gathered.cqi, Number(Some(9.0)));
    }
}
