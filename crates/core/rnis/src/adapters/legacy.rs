//! The CSV messages of the RAPID and MELD prototypes: `cqi,queue,tbs_bytes,prb`.
//!
//! One message reports one UE, and does not name it: it is configured. `queue` is bytes in
//! the RLC, `tbs_bytes` the last transport block, `prb` the PRBs that it took.
//!
//! Not known, and what stands there instead: which UE (the configured one), the source's time (that
//! of arrival, so a repeated message cannot be distinguished from a new one), MCS (the bytes that a PRB of
//! the block carried; while the UE is idle, those of its last block), bytes of the whole period (the
//! block, in each slot), HARQ (0), PRBs of others (0).

use super::number::{CQI, Fields, Number, QUEUE};
use super::series::Series;
use super::{Adapted, Adapter, AdapterError, CellProfile, limit, report};
use crate::{LinkQuality, Rnti, UeReport};
use core::net::IpAddr;
use units::{Bytes, Cqi, Instant, Prb};

/// Largest transport block that is accepted, in bytes (NR, 8 layers, below 2^18).
const BLOCK: u64 = 1 << 18;
/// Longest message.
const MAX_MESSAGE_BYTES: usize = 256;
const FORMAT: &str = "cqi,queue,tbs_bytes,prb";

/// Reads the prototypes' CSV messages.
#[derive(Debug)]
pub struct LegacyCsv {
    profile: CellProfile,
    rnti: Rnti,
    ip: IpAddr,
    series: Series,
    /// What all PRBs would carry in one slot, in thousandths of a byte, as last seen.
    full_band_millibytes: u64,
}

impl LegacyCsv {
    /// A reader of messages about this UE.
    pub fn new(profile: CellProfile, rnti: Rnti, ip: IpAddr) -> Self {
        Self {
            profile,
            rnti,
            ip,
            series: Series::default(),
            full_band_millibytes: 0,
        }
    }
}

impl Adapter for LegacyCsv {
    fn name(&self) -> &'static str {
        "legacy-csv"
    }

    fn unavailable_fields(&self) -> &'static [&'static str] {
        &[
            "which UE: as configured",
            "repeated and late messages: there is no time in them",
            "quality: from bytes and PRBs of the last block",
            "tbs_bytes, served_bytes: the last block in every slot",
            "harq_processes, harq_retx: 0",
            "prb_background: 0",
        ]
    }

    fn on_message(&mut self, now: Instant, message: &[u8]) -> Result<Adapted, AdapterError> {
        limit(message)?;
        let [cqi, queue, block, prb] = split(message)?;
        let mut out = Adapted::default();
        let Some(turn) = self
            .series
            .turn(now.as_nanos(), &self.profile, &mut out.problems)
        else {
            return Ok(out);
        };
        let n_prb = self.profile.n_prb;
        let mut fields = Fields {
            who: self.ip.to_string(),
            problems: &mut out.problems,
        };
        let cqi = fields.small("cqi", cqi, CQI, 0);
        let queue = fields.whole("queue", queue, QUEUE);
        let block = fields.whole("tbs_bytes", block, BLOCK);
        let prb = fields.whole("prb", prb, n_prb.get().into());
        let (Some(queue), Some(block), Some(prb)) = (queue, block, prb) else {
            return Ok(out);
        };
        if block > 0 && prb > 0 {
            self.full_band_millibytes = block * 1_000 * u64::from(n_prb.get()) / prb;
        }
        let cell = self.profile.cell_report(turn);
        let bytes = Bytes::new(block * u64::from(cell.slots));
        let ue = UeReport {
            rnti: self.rnti,
            ip: Some(self.ip),
            prb_dl: Prb::new(prb as u16),
            quality: LinkQuality::Measured {
                full_band_millibytes: self.full_band_millibytes,
            },
            cqi: Cqi::new(cqi),
            tbs_bytes: bytes,
            served_bytes: bytes,
            rlc_queue_bytes: Bytes::new(queue),
            bearers: Vec::new(),
            harq_processes: 0,
            harq_retx: 0,
            lost_packets: None,
            seq: self.series.next_seq(self.rnti),
            timestamp: now,
        };
        out.reports.push(report(cell, vec![ue]));
        Ok(out)
    }
}

fn split(message: &[u8]) -> Result<[Number; 4], AdapterError> {
    let refused = |problem: String| AdapterError::Form {
        format: FORMAT,
        problem,
    };
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(refused(format!("{} bytes", message.len())));
    }
    let text = core::str::from_utf8(message).map_err(|_| refused("not text".to_owned()))?;
    let mut numbers = [Number(None); 4];
    let mut parts = text.trim().split(',');
    for (number, name) in numbers.iter_mut().zip(FORMAT.split(',')) {
        let part = parts
            .next()
            .ok_or_else(|| refused(format!("no {name}")))?
            .trim();
        let value: f64 = part
            .parse()
            .map_err(|_| refused(format!("{name} is \"{part}\", no number")))?;
        *number = Number(Some(value));
    }
    match parts.next() {
        None => Ok(numbers),
        Some(_) => Err(refused("more than four values".to_owned())),
    }
}
