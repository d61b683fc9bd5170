//! FlexRIC's MAC and RLC indications, each forwarded by an xApp as one line of JSON.
//!
//! ```text
//!   {"tstamp": us, "ue_stats": [{"rnti", "frame", "slot", "dl_aggr_tbs", "dl_aggr_prb",
//!      "dl_aggr_retx_prb", "dl_harq": [5], "wb_cqi", "dl_mcs1", ...}]}        MAC
//!   {"tstamp": us, "rb_stats": [{"rnti", "rbid", "txbuf_occ_bytes", ...}]}    RLC, rbid: a DRB
//! ```
//! The names are those of the service models. A MAC indication gives a report, with the queues of
//! the last RLC indication; one object may hold both. Only the differences of `dl_aggr_*` are
//! used: `dl_curr_tbs` is bytes in some versions and bits in others, and `slot` can be 0.
//! `dl_aggr_tbs` is taken for bytes, `dl_harq` for counts of transmissions by round.
//!
//! Not known, and what stands there instead: payload that left the RLC (bytes of transport blocks,
//! headers included), spatial layers (the configured ones), busy HARQ processes (0), PRBs of
//! broadcast (0). The first indication of a UE, and one after its counters shrank, gives 0 PRBs
//! and bytes.

use super::number::{COUNTER, CQI, Fields, MCS, Number, QUEUE, RNTI};
use super::queues::Queues;
use super::series::{Series, Turn};
use super::{Adapted, Adapter, AdapterError, CellProfile, address, json, report};
use crate::identity::{UeId, UeMap};
use crate::{MAX_BEARER, Rnti, UeReport};
use serde::Deserialize;
use std::collections::BTreeMap;
use units::{Bytes, Cqi, Instant, Mcs};

#[derive(Deserialize)]
struct Indication {
    #[serde(default)]
    tstamp: Number,
    ue_stats: Option<Vec<MacUe>>,
    rb_stats: Option<Vec<RadioBearer>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MacUe {
    rnti: Number,
    dl_aggr_tbs: Number,
    dl_aggr_prb: Number,
    dl_aggr_retx_prb: Number,
    dl_harq: Vec<Number>,
    wb_cqi: Number,
    dl_mcs1: Number,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RadioBearer {
    rnti: Number,
    rbid: Number,
    txbuf_occ_bytes: Number,
}

/// A UE's counters as of its last indication.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    tbs: Option<u64>,
    prb: Option<u64>,
    retx_prb: Option<u64>,
    retransmissions: Option<u64>,
}

/// Reads FlexRIC's MAC and RLC indications.
#[derive(Debug)]
pub struct FlexRic {
    profile: CellProfile,
    ues: UeMap,
    series: Series,
    counters: BTreeMap<Rnti, Counters>,
    queues: BTreeMap<Rnti, Queues>,
}

impl FlexRic {
    /// A reader of one cell's indications.
    pub fn new(profile: CellProfile, ues: UeMap) -> Self {
        Self {
            profile,
            ues,
            series: Series::default(),
            counters: BTreeMap::new(),
            queues: BTreeMap::new(),
        }
    }

    fn on_rlc(&mut self, bearers: &[RadioBearer], out: &mut Adapted) {
        self.queues.clear();
        for bearer in bearers {
            let mut fields = Fields {
                who: "a radio bearer".to_owned(),
                problems: &mut out.problems,
            };
            let rnti = fields.needed("rnti", bearer.rnti, RNTI);
            let id = fields.small("rbid", bearer.rbid, MAX_BEARER, 0);
            let queue = fields.whole("txbuf_occ_bytes", bearer.txbuf_occ_bytes, QUEUE);
            if let (Some(rnti), Some(queue)) = (rnti, queue) {
                self.queues
                    .entry(Rnti(rnti as u16))
                    .or_default()
                    .add(id, queue);
            }
        }
    }

    fn ue(&mut self, now: Instant, turn: Turn, ue: &MacUe, out: &mut Adapted) -> Option<UeReport> {
        let mut fields = Fields {
            who: ue.rnti.0.map_or("a UE".to_owned(), |r| format!("RNTI {r}")),
            problems: &mut out.problems,
        };
        let rnti = Rnti(fields.needed("rnti", ue.rnti, RNTI)? as u16);
        let mcs = fields.needed("dl_mcs1", ue.dl_mcs1, MCS.into())? as u8;
        fields.needed("dl_aggr_tbs", ue.dl_aggr_tbs, COUNTER)?;
        fields.needed("dl_aggr_prb", ue.dl_aggr_prb, COUNTER)?;
        let latest = counters(ue, &mut fields);
        let before = self.counters.insert(rnti, latest).unwrap_or_default();
        let before = if turn.begins {
            Counters::default()
        } else {
            before
        };
        let tbs = fields.growth("dl_aggr_tbs", before.tbs, latest.tbs);
        let prb = fields.growth("dl_aggr_prb", before.prb, latest.prb);
        let retx_prb = fields.growth("dl_aggr_retx_prb", before.retx_prb, latest.retx_prb);
        let retx = fields.growth("dl_harq", before.retransmissions, latest.retransmissions);
        let cqi = fields.small("wb_cqi", ue.wb_cqi, CQI, 0);

        let slots = self.profile.downlink_slots(turn.period);
        let prbs = prb.unwrap_or(0).saturating_add(retx_prb.unwrap_or(0));
        let bytes = Bytes::new(tbs.unwrap_or(0));
        let queues = self.queues.get(&rnti).cloned().unwrap_or_default();
        Some(UeReport {
            rnti,
            ip: address(&self.ues, &[UeId::Rnti(rnti)], &mut out.problems),
            prb_dl: self.profile.mean_prb(prbs as f64, slots),
            quality: self.profile.quality(Mcs::new(mcs), self.profile.layers),
            cqi: Cqi::new(cqi),
            tbs_bytes: bytes,
            served_bytes: bytes,
            rlc_queue_bytes: queues.total(),
            bearers: queues.bearers(),
            harq_processes: 0,
            harq_retx: u32::try_from(retx.unwrap_or(0)).unwrap_or(u32::MAX),
            lost_packets: None,
            seq: self.series.next_seq(rnti),
            timestamp: now,
        })
    }
}

fn counters(ue: &MacUe, fields: &mut Fields<'_>) -> Counters {
    // the first entry counts first transmissions
    let rounds = ue.dl_harq.iter().skip(1);
    let retransmissions = rounds
        .map(|n| fields.whole("dl_harq", *n, COUNTER))
        .sum::<Option<u64>>()
        .filter(|_| !ue.dl_harq.is_empty());
    Counters {
        tbs: ue.dl_aggr_tbs.0.map(|n| n as u64),
        prb: ue.dl_aggr_prb.0.map(|n| n as u64),
        retx_prb: fields.whole("dl_aggr_retx_prb", ue.dl_aggr_retx_prb, COUNTER),
        retransmissions,
    }
}

impl Adapter for FlexRic {
    fn name(&self) -> &'static str {
        "flexric"
    }

    fn unavailable_fields(&self) -> &'static [&'static str] {
        &[
            "served_bytes: bytes of transport blocks, with headers",
            "layers: as configured",
            "harq_processes: 0",
            "prb_background: 0",
        ]
    }

    fn on_message(&mut self, now: Instant, message: &[u8]) -> Result<Adapted, AdapterError> {
        let indication: Indication = json("FlexRIC indication", message)?;
        let mut out = Adapted::default();
        if indication.ue_stats.is_none() && indication.rb_stats.is_none() {
            return Err(AdapterError::Form {
                format: "FlexRIC indication",
                problem: "neither ue_stats nor rb_stats".to_owned(),
            });
        }
        if let Some(bearers) = &indication.rb_stats {
            self.on_rlc(bearers, &mut out);
        }
        let Some(stats) = &indication.ue_stats else {
            return Ok(out);
        };
        let time_ns = match indication.tstamp.0 {
            Some(us) if (0.0..=COUNTER as f64).contains(&us) => (us as u64).saturating_mul(1_000),
            _ => now.as_nanos(),
        };
        let Some(turn) = self.series.turn(time_ns, &self.profile, &mut out.problems) else {
            return Ok(out);
        };
        let ues: Vec<UeReport> = stats
            .iter()
            .filter_map(|ue| self.ue(now, turn, ue, &mut out))
            .collect();
        let present = |rnti: Rnti| ues.iter().any(|ue| ue.rnti == rnti);
        self.series.keep(present);
        self.counters.retain(|rnti, _| present(*rnti));
        let cell = self.profile.cell_report(turn);
        out.reports.push(report(cell, ues));
        Ok(out)
    }
}
