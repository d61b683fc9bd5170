//! Metrics of srsRAN Project and OCUDU, as their remote control sends them over WebSocket.
//!
//! ```text
//!   {"timestamp": T, "cells": [{"ue_list": [{"rnti", "pci", "cqi", "dl_ri", "dl_mcs", "dl_brate",
//!     "dl_nof_ok", "dl_nof_nok", "dl_bs", "ta_ns", ...}]}]}
//! ```
//! `dl_brate` is bit/s of acknowledged transport blocks, `dl_bs` the bytes waiting in the RLC,
//! `T` seconds since 1970 or a date and time.
//!
//! Not known, and what stands there instead: PRBs of a UE (those that its rate and
//! retransmissions need at its MCS), retransmitted blocks (not acknowledged ones), the payload
//! (bytes of acknowledged blocks, headers included), HARQ processes (0), PRBs of broadcast (0).

use super::number::{CQI, Fields, LAYERS, MCS, Number, QUEUE, RATE, RNTI};
use super::series::{Series, Turn, parse_date_time};
use super::{Adapted, Adapter, AdapterError, BlockBytes, CellProfile, address, json, report};
use crate::event::{EventKind, RadioEvent};
use crate::identity::{UeId, UeMap};
use crate::{LinkQuality, Rnti, UeReport};
use serde::Deserialize;
use units::{Bytes, Cqi, Instant, Mcs, Prb};

/// Largest count of blocks that is accepted in one period.
const BLOCKS: u64 = 100_000_000;
/// One step of LTE's timing advance, 16 Ts, in nanoseconds (TS 36.213 4.2.3).
const TIMING_ADVANCE_STEP_NS: f64 = 520.833;
/// Largest timing advance that is accepted, in nanoseconds (300 km).
const TIMING_ADVANCE: u64 = 2_000_000;

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    timestamp: Option<Time>,
    cells: Option<Vec<CellMetrics>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Time {
    Seconds(f64),
    Date(String),
}

#[derive(Deserialize)]
struct CellMetrics {
    #[serde(default)]
    ue_list: Vec<Listed>,
}

/// A UE; some versions wrap it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    Wrapped { ue_container: Ue },
    Plain(Ue),
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Ue {
    pci: Number,
    rnti: Number,
    cqi: Number,
    dl_ri: Number,
    dl_mcs: Number,
    dl_brate: Number,
    dl_nof_ok: Number,
    dl_nof_nok: Number,
    dl_bs: Number,
    ta_ns: Number,
}

/// Reads metrics of srsRAN Project and OCUDU.
#[derive(Debug)]
pub struct SrsRan {
    profile: CellProfile,
    ues: UeMap,
    /// The physical cell that is meant, where the base station has several.
    pci: Option<u16>,
    block_bytes: BlockBytes,
    series: Series,
}

impl SrsRan {
    /// What to send after connecting, so that metrics come.
    pub const SUBSCRIBE: &'static str = r#"{"cmd":"metrics_subscribe"}"#;

    /// A reader of one cell's metrics. `pci` selects the cell of a base station with several.
    pub fn new(
        profile: CellProfile,
        ues: UeMap,
        pci: Option<u16>,
        block_bytes: BlockBytes,
    ) -> Self {
        Self {
            profile,
            ues,
            pci,
            block_bytes,
            series: Series::default(),
        }
    }

    fn time_ns(&self, now: Instant, time: Option<&Time>) -> u64 {
        match time {
            Some(Time::Seconds(s)) if (0.0..1e10).contains(s) => (s * 1e9) as u64,
            Some(Time::Date(text)) => parse_date_time(text).unwrap_or(now.as_nanos()),
            _ => now.as_nanos(),
        }
    }

    fn ue(&mut self, now: Instant, turn: Turn, ue: &Ue, out: &mut Adapted) -> Option<UeReport> {
        let mut fields = Fields {
            who: ue.rnti.0.map_or("a UE".to_owned(), |r| format!("RNTI {r}")),
            problems: &mut out.problems,
        };
        let rnti = fields.needed("rnti", ue.rnti, RNTI)? as u16;
        let mcs = fields.needed("dl_mcs", ue.dl_mcs, MCS.into())? as u8;
        let rate = fields.needed("dl_brate", ue.dl_brate, RATE)?;
        let layers = fields
            .small("dl_ri", ue.dl_ri, LAYERS, self.profile.layers)
            .max(1);
        let ok = fields
            .optional("dl_nof_ok", ue.dl_nof_ok, BLOCKS)
            .unwrap_or(0.0);
        let nok = fields
            .optional("dl_nof_nok", ue.dl_nof_nok, BLOCKS)
            .unwrap_or(0.0);
        let queue = fields.whole("dl_bs", ue.dl_bs, QUEUE).unwrap_or(0);
        let cqi = fields.small("cqi", ue.cqi, CQI, 0);
        let advance = fields.optional("ta_ns", ue.ta_ns, TIMING_ADVANCE);

        let rnti = Rnti(rnti);
        let ip = address(&self.ues, &[UeId::Rnti(rnti)], &mut out.problems);
        if let Some(ns) = advance {
            out.events.push(RadioEvent {
                cell: self.profile.id,
                ue: ip,
                teid: None,
                kind: EventKind::TimingAdvance {
                    steps: (ns / TIMING_ADVANCE_STEP_NS).round() as u32,
                },
            });
        }
        let quality = self.profile.quality(Mcs::new(mcs), layers);
        let acknowledged = rate / 8.0 * turn.period.as_secs_f64();
        let slots = self.profile.downlink_slots(turn.period);
        let sent = if ok > 0.0 {
            acknowledged * (ok + nok) / ok
        } else {
            acknowledged
        };
        let prb_dl = self.prb_for(quality, sent / f64::from(slots));
        let bytes = Bytes::new(acknowledged.round() as u64);
        Some(UeReport {
            rnti,
            ip,
            prb_dl,
            quality,
            cqi: Cqi::new(cqi),
            tbs_bytes: bytes,
            served_bytes: bytes,
            rlc_queue_bytes: Bytes::new(queue),
            bearers: Vec::new(),
            harq_processes: 0,
            harq_retx: nok as u32,
            lost_packets: None,
            seq: self.series.next_seq(rnti),
            timestamp: now,
        })
    }

    /// The PRBs of a slot that carry so many bytes.
    fn prb_for(&self, quality: LinkQuality, bytes_per_slot: f64) -> Prb {
        let all = self.profile.n_prb;
        let full = (self.block_bytes)(quality, all, all).map_or(0, Bytes::get);
        if full == 0 {
            return Prb::new(0);
        }
        let prb = (bytes_per_slot / full as f64 * f64::from(all.get())).round();
        Prb::new(prb as u16).min(all)
    }

    /// Whether a cell's entry is that of this profile: its UEs have the wanted physical cell.
    fn is_ours(&self, ue: &Ue) -> bool {
        match (self.pci, ue.pci.0) {
            (Some(wanted), Some(pci)) => f64::from(wanted) == pci,
            _ => true,
        }
    }
}

impl Adapter for SrsRan {
    fn name(&self) -> &'static str {
        "srsran"
    }

    fn unavailable_fields(&self) -> &'static [&'static str] {
        &[
            "prb_dl: worked out from rate, retransmissions and MCS",
            "served_bytes: those of acknowledged blocks, with headers",
            "harq_processes: 0",
            "harq_retx: blocks not acknowledged",
            "prb_background: 0",
        ]
    }

    fn on_message(&mut self, now: Instant, message: &[u8]) -> Result<Adapted, AdapterError> {
        let message: Message = json("srsRAN metrics", message)?;
        let mut out = Adapted::default();
        // answers to commands have no cells
        let Some(cells) = message.cells else {
            return Ok(out);
        };
        let time_ns = self.time_ns(now, message.timestamp.as_ref());
        let Some(turn) = self.series.turn(time_ns, &self.profile, &mut out.problems) else {
            return Ok(out);
        };
        let mut ues = Vec::new();
        for listed in cells.iter().flat_map(|cell| &cell.ue_list) {
            let (Listed::Wrapped { ue_container: ue } | Listed::Plain(ue)) = listed;
            if self.is_ours(ue) {
                ues.extend(self.ue(now, turn, ue, &mut out));
            }
        }
        self.series
            .keep(|rnti| ues.iter().any(|ue| ue.rnti == rnti));
        let cell = self.profile.cell_report(turn);
        out.reports.push(report(cell, ues));
        Ok(out)
    }
}
