//! The answer of FlexRAN's REST interface to `/stats`.
//!
//! ```text
//!   {"date_time", "eNB_config": [{"bs_id", "eNB": {"cellConfig": [{"dlBandwidth"}]},
//!                                 "UE": {"ueConfig": [{"rnti", "imsi"}]}}],
//!    "mac_stats": [{"bs_id", "ue_mac_stats": [{"rnti", "harq": ["ACK" x 8], "mac_stats": {
//!       "rlcReport": [{"lcId", "txQueueSize"}], "dlCqiReport": {"csiReport": [{"p10csi": {"wbCqi"}}]},
//!       "rrcMeasurements": {"pcellRsrp", "pcellRsrq"}, "gtpStats": [{"teidEnb", "teidSgw"}],
//!       "macStats": {"mcs1Dl", "totalTbsDl", "totalPrbDl", "prbRetxDl"}}}]}]}
//! ```
//! PRBs and bytes are the growth of `totalPrbDl` and `totalTbsDl`; the carrier's PRBs are the
//! source's own `dlBandwidth` where it is there. A UE's address is found by its IMSI, the TEID of
//! its tunnel at the base station, or its RNTI.
//!
//! Not known, and what stands there instead: addresses of UEs (the mapping's), retransmitted
//! blocks (1 where `prbRetxDl` is above 0), payload that left the RLC (bytes of transport blocks,
//! headers included), spatial layers (the configured ones), PRBs of broadcast (0).

use super::number::{COUNTER, CQI, Fields, MCS, Number, QUEUE, RNTI};
use super::queues::Queues;
use super::series::{Series, Turn, parse_date_time};
use super::{Adapted, Adapter, AdapterError, CellProfile, address, json, report};
use crate::event::{EventKind, RadioEvent};
use crate::identity::{UeId, UeMap};
use crate::{Rnti, UeReport};
use serde::Deserialize;
use std::collections::BTreeMap;
use units::{Bytes, Cqi, Instant, Mcs, Prb};

/// Largest LTE carrier, in PRBs.
const LTE_PRB: u64 = 110;
/// Logical channels of data bearers (TS 36.331, logicalChannelIdentity): 1 and 2 are of signalling, and the base
/// station gives DRB n channel n + 2.
const DATA_CHANNELS: core::ops::RangeInclusive<u8> = 3..=10;
/// Largest logical channel (the same, extended).
const MAX_CHANNEL: u8 = 38;
/// HARQ processes of an LTE FDD cell.
const HARQ_PROCESSES: usize = 8;

#[derive(Deserialize)]
struct Stats {
    #[serde(default)]
    date_time: String,
    #[serde(default, rename = "eNB_config")]
    config: Vec<Config>,
    mac_stats: Vec<MacStats>,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    bs_id: Number,
    #[serde(default, rename = "eNB")]
    enb: Enb,
    #[serde(default, rename = "UE")]
    ue: UeConfigs,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Enb {
    cell_config: Vec<CellConfig>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct CellConfig {
    dl_bandwidth: Number,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct UeConfigs {
    ue_config: Vec<UeConfig>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct UeConfig {
    rnti: Number,
    imsi: Option<String>,
}

#[derive(Deserialize)]
struct MacStats {
    #[serde(default)]
    bs_id: Number,
    #[serde(default)]
    ue_mac_stats: Vec<UeStats>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct UeStats {
    rnti: Number,
    mac_stats: Ue,
    harq: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Ue {
    rlc_report: Vec<RlcReport>,
    dl_cqi_report: CqiReport,
    rrc_measurements: RrcMeasurements,
    gtp_stats: Vec<GtpStats>,
    mac_stats: Mac,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RlcReport {
    lc_id: Number,
    tx_queue_size: Number,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct CqiReport {
    csi_report: Vec<CsiReport>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CsiReport {
    p10csi: P10Csi,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct P10Csi {
    wb_cqi: Number,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RrcMeasurements {
    pcell_rsrp: Number,
    pcell_rsrq: Number,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct GtpStats {
    teid_enb: Number,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Mac {
    mcs1_dl: Number,
    total_tbs_dl: Number,
    total_prb_dl: Number,
    prb_retx_dl: Number,
}

/// Reads answers of FlexRAN's `/stats`.
#[derive(Debug)]
pub struct FlexRan {
    profile: CellProfile,
    ues: UeMap,
    /// The base station that is meant, where the controller has several.
    bs_id: Option<u64>,
    series: Series,
    /// Of each UE, the totals of bytes and PRBs.
    totals: BTreeMap<Rnti, (Option<u64>, Option<u64>)>,
}

impl FlexRan {
    /// A reader of one base station's cell; `bs_id` distinguishes it from others of the controller.
    pub fn new(profile: CellProfile, ues: UeMap, bs_id: Option<u64>) -> Self {
        Self {
            profile,
            ues,
            bs_id,
            series: Series::default(),
            totals: BTreeMap::new(),
        }
    }

    fn is_ours(&self, bs_id: Number) -> bool {
        self.bs_id.is_none_or(|ours| bs_id.0 == Some(ours as f64))
    }

    /// The entry of the base station that is meant.
    fn station<'a>(&self, stats: &'a Stats) -> Result<&'a MacStats, AdapterError> {
        let refused = |problem: String| AdapterError::Form {
            format: "FlexRAN statistics",
            problem,
        };
        let mut ours = stats.mac_stats.iter().filter(|s| self.is_ours(s.bs_id));
        let first = ours.next().ok_or_else(|| match self.bs_id {
            Some(id) => refused(format!("no mac_stats of bs_id {id}")),
            None => refused("mac_stats is empty".to_owned()),
        })?;
        match ours.next() {
            None => Ok(first),
            Some(_) => Err(refused(
                "several base stations: name one by bs-id in the source's configuration".to_owned(),
            )),
        }
    }

    /// Takes the carrier's size from the source, where it is there.
    fn learn_carrier(&mut self, config: Option<&Config>, out: &mut Adapted) {
        let Some(cell) = config.and_then(|config| config.enb.cell_config.first()) else {
            return;
        };
        let mut fields = Fields {
            who: "the cell".to_owned(),
            problems: &mut out.problems,
        };
        if let Some(prb @ 1..) = fields.whole("dlBandwidth", cell.dl_bandwidth, LTE_PRB) {
            self.profile.n_prb = Prb::new(prb as u16);
        }
    }

    fn ue(
        &mut self,
        now: Instant,
        turn: Turn,
        entry: &UeStats,
        config: Option<&Config>,
        out: &mut Adapted,
    ) -> Option<UeReport> {
        let ue = &entry.mac_stats;
        let mut fields = Fields {
            who: entry
                .rnti
                .0
                .map_or("a UE".to_owned(), |r| format!("RNTI {r}")),
            problems: &mut out.problems,
        };
        let rnti = Rnti(fields.needed("rnti", entry.rnti, RNTI)? as u16);
        let mcs = fields.needed("mcs1Dl", ue.mac_stats.mcs1_dl, MCS.into())? as u8;
        let tbs = fields.needed("totalTbsDl", ue.mac_stats.total_tbs_dl, COUNTER)? as u64;
        let prb = fields.needed("totalPrbDl", ue.mac_stats.total_prb_dl, COUNTER)? as u64;
        let retx = fields.whole("prbRetxDl", ue.mac_stats.prb_retx_dl, LTE_PRB);
        let mut queues = Queues::default();
        for rlc in &ue.rlc_report {
            let channel = fields.small("lcId", rlc.lc_id, MAX_CHANNEL, 0);
            if let Some(queue) = fields.whole("txQueueSize", rlc.tx_queue_size, QUEUE) {
                queues.add(data_bearer(channel), queue);
            }
        }
        let csi = ue.dl_cqi_report.csi_report.first();
        let cqi = csi.map_or(0, |csi| fields.small("wbCqi", csi.p10csi.wb_cqi, CQI, 0));
        let latest = (Some(tbs), Some(prb));
        let before = self.totals.insert(rnti, latest).unwrap_or_default();
        let before = if turn.begins { (None, None) } else { before };
        let tbs = fields.growth("totalTbsDl", before.0, latest.0).unwrap_or(0);
        let prb = fields.growth("totalPrbDl", before.1, latest.1).unwrap_or(0);

        let slots = self.profile.downlink_slots(turn.period);
        let ip = address(&self.ues, &identities(rnti, ue, config), &mut out.problems);
        out.events.extend(self.measurement(ue, ip));
        let busy = entry
            .harq
            .iter()
            .take(HARQ_PROCESSES)
            .filter(|h| *h != "ACK");
        Some(UeReport {
            rnti,
            ip,
            prb_dl: self.profile.mean_prb(prb as f64, slots),
            quality: self.profile.quality(Mcs::new(mcs), self.profile.layers),
            cqi: Cqi::new(cqi),
            tbs_bytes: Bytes::new(tbs),
            served_bytes: Bytes::new(tbs),
            rlc_queue_bytes: queues.total(),
            bearers: queues.bearers(),
            harq_processes: busy.count() as u8,
            harq_retx: u32::from(retx.is_some_and(|prb| prb > 0)),
            lost_packets: None,
            seq: self.series.next_seq(rnti),
            timestamp: now,
        })
    }

    /// The UE's measurement, if it made one: -1 means that it did not.
    fn measurement(&self, ue: &Ue, ip: Option<core::net::IpAddr>) -> Option<RadioEvent> {
        let coded = |number: Number, most: f64| {
            number
                .0
                .filter(|n| (0.0..=most).contains(n))
                .map(|n| n as u8)
        };
        Some(RadioEvent {
            cell: self.profile.id,
            ue: ip,
            teid: None,
            kind: EventKind::Measurement {
                rsrp: coded(ue.rrc_measurements.pcell_rsrp, 97.0)?,
                rsrq: coded(ue.rrc_measurements.pcell_rsrq, 34.0)?,
                trigger: 0,
            },
        })
    }
}

/// The data radio bearer of a logical channel; 0: it is of none.
fn data_bearer(channel: u8) -> u8 {
    match DATA_CHANNELS.contains(&channel) {
        true => channel - 2,
        false => 0,
    }
}

/// All identities that the answer gives for a UE.
fn identities(rnti: Rnti, ue: &Ue, config: Option<&Config>) -> Vec<UeId> {
    let configured = config.and_then(|config| {
        let mut ues = config.ue.ue_config.iter();
        ues.find(|ue| ue.rnti.0 == Some(rnti.0.into()))
    });
    let imsi = configured.and_then(|ue| ue.imsi.clone()).map(UeId::Imsi);
    let teids = ue
        .gtp_stats
        .iter()
        .filter_map(|gtp| gtp.teid_enb.0)
        .filter(|teid| (0.0..=f64::from(u32::MAX)).contains(teid))
        .map(|teid| UeId::Teid(teid as u32));
    imsi.into_iter()
        .chain(teids)
        .chain([UeId::Rnti(rnti)])
        .collect()
}

impl Adapter for FlexRan {
    fn name(&self) -> &'static str {
        "flexran"
    }

    fn unavailable_fields(&self) -> &'static [&'static str] {
        &[
            "ip: by mapping only",
            "harq_retx: 1 where PRBs were retransmitted",
            "served_bytes: bytes of transport blocks, with headers",
            "layers: as configured",
            "prb_background: 0",
        ]
    }

    fn on_message(&mut self, now: Instant, message: &[u8]) -> Result<Adapted, AdapterError> {
        let stats: Stats = json("FlexRAN statistics", message)?;
        let station = self.station(&stats)?;
        let config = stats.config.iter().find(|c| c.bs_id == station.bs_id);
        let mut out = Adapted::default();
        let time_ns = parse_date_time(&stats.date_time).unwrap_or(now.as_nanos());
        let Some(turn) = self.series.turn(time_ns, &self.profile, &mut out.problems) else {
            return Ok(out);
        };
        self.learn_carrier(config, &mut out);
        let ues: Vec<UeReport> = station
            .ue_mac_stats
            .iter()
            .filter_map(|ue| self.ue(now, turn, ue, config, &mut out))
            .collect();
        let present = |rnti: Rnti| ues.iter().any(|ue| ue.rnti == rnti);
        self.series.keep(present);
        self.totals.retain(|rnti, _| present(*rnti));
        let cell = self.profile.cell_report(turn);
        out.reports.push(report(cell, ues));
        Ok(out)
    }
}
