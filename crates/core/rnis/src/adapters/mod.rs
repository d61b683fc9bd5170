//! What other projects' base stations and controllers report, as radio reports.
//!
//! ```text
//!   message (bytes) + now -> Adapter -> reports (RadioReport), events (RadioEvent), problems
//!                              ^
//!        CellProfile (what the source never states) + UeMap (identities -> addresses)
//! ```
//!
//! | adapter | message |
//! | --- | --- |
//! | [`SrsRan`] | metrics JSON of srsRAN Project and OCUDU |
//! | [`FlexRic`] | FlexRIC MAC and RLC indications, forwarded as JSON by an xApp |
//! | [`FlexRan`] | the answer of FlexRAN's REST `/stats` |
//! | [`OaiXapp`] | one JSON message per KPI, from OAI's rnis-xApp |
//! | [`LegacyCsv`] | `cqi,queue,tbs_bytes,prb`, of the RAPID and MELD prototypes |
//! | [`Kpm`] | E2SM-KPM measurements, forwarded as JSON by an xApp |
//!
//! No source states everything that a report holds. What it has not is listed by
//! [`Adapter::unavailable_fields`], and each file states what stands there instead. Counters that only
//! grow are used by their differences; the first message of a source gives no report where its
//! report needs one. A message that repeats, comes late or jumps back is a [`Problem`], as is
//! each value that cannot be true; a UE with such a value in a field that its report needs is left
//! out, the others are kept.

mod flexran;
mod flexric;
mod kpm;
mod legacy;
mod number;
mod oai;
mod queues;
mod series;
mod srsran;

use crate::event::RadioEvent;
use crate::identity::{MissingMapping, UeId, UeMap};
use crate::{CellId, CellReport, LinkQuality, McsTable, RadioReport, UeReport};
use core::net::IpAddr;
use units::{Bytes, Duration, Hertz, Instant, Mcs, Prb};

pub use flexran::FlexRan;
pub use flexric::FlexRic;
pub use kpm::Kpm;
pub use legacy::LegacyCsv;
pub use oai::OaiXapp;
pub use srsran::SrsRan;

/// Longest message that an adapter reads, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// What a grant carries: bytes of a quality and so many PRBs of a carrier with so many; none
/// outside the tables. The tables are in crate `radio`.
pub type BlockBytes = fn(LinkQuality, Prb, Prb) -> Option<Bytes>;

/// What is configured of a cell because its source never states it.
#[derive(Clone, Debug)]
pub struct CellProfile {
    /// The cell's identity in reports.
    pub id: CellId,
    /// PRBs of the carrier.
    pub n_prb: Prb,
    /// Sub-carrier spacing.
    pub scs: Hertz,
    /// Duration of a slot.
    pub slot_duration: Duration,
    /// Share of slots that carry downlink, above 0 to 1.
    pub downlink_share: f64,
    /// The table that its MCS indices are of.
    pub table: McsTable,
    /// Spatial layers, where the source does not state them, 1 to 8.
    pub layers: u8,
    /// Resource elements for data in one PRB and slot.
    pub data_re_per_prb: u16,
    /// The usual time between two messages, for the first of them.
    pub period: Duration,
}

impl CellProfile {
    /// The quality of an MCS.
    fn quality(&self, mcs: Mcs, layers: u8) -> LinkQuality {
        LinkQuality::Mcs {
            mcs,
            table: self.table,
            layers,
            data_re_per_prb: self.data_re_per_prb,
        }
    }

    /// Downlink slots in a period, at least 1.
    fn downlink_slots(&self, period: Duration) -> u32 {
        let slots = period.ratio(self.slot_duration) * self.downlink_share;
        (slots.round() as u32).max(1)
    }

    /// The cell's part of the report of a message.
    fn cell_report(&self, turn: series::Turn) -> CellReport {
        CellReport {
            id: self.id,
            n_prb: self.n_prb,
            scs: self.scs,
            slot_duration: self.slot_duration,
            downlink_share: self.downlink_share,
            slot: turn.slot,
            slots: self.downlink_slots(turn.period),
            prb_background: Prb::new(0),
        }
    }

    /// Mean PRBs of a slot, at most the carrier's.
    fn mean_prb(&self, prbs: f64, slots: u32) -> Prb {
        let mean = (prbs / f64::from(slots)).round();
        Prb::new(mean as u16).min(self.n_prb)
    }
}

/// What one message states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adapted {
    /// Reports, in the order of time.
    pub reports: Vec<RadioReport>,
    /// What happened to UEs and bearers.
    pub events: Vec<RadioEvent>,
    /// What could not be used.
    pub problems: Vec<Problem>,
}

/// Something in a message that could not be used; the rest of it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A UE without a mapping.
    #[error(transparent)]
    Unmapped(#[from] MissingMapping),
    /// A value that cannot be true.
    #[error("{who}: {field} is {value}; allowed is 0 to {most}")]
    Absurd {
        /// The UE or cell.
        who: String,
        /// The field, by the source's name.
        field: &'static str,
        /// What it held.
        value: f64,
        /// The largest possible value.
        most: u64,
    },
    /// A field that the report needs is not there.
    #[error("{who}: {field} is missing")]
    Missing {
        /// The UE or cell.
        who: String,
        /// The field, by the source's name.
        field: &'static str,
    },
    /// The same message as before.
    #[error("a message of the same time as the last")]
    Repeated,
    /// An older message than the last.
    #[error("a message older than the last")]
    Late,
    /// The source jumped back in time; a new series begins.
    #[error("the source jumped back in time: a new series begins")]
    Restarted,
    /// A counter that only grows has shrunk: the UE or the base station began anew.
    #[error("{who}: {field} shrank: counting begins anew")]
    CounterReset {
        /// The UE.
        who: String,
        /// The counter.
        field: &'static str,
    },
}

/// Why a message could not be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdapterError {
    /// Too long.
    #[error("a message of {length} bytes: at most {MAX_MESSAGE_BYTES} are read")]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// Not in the source's form.
    #[error("no {format} message: {problem}")]
    Form {
        /// The form that was expected.
        format: &'static str,
        /// Where and what was wrong.
        problem: String,
    },
}

/// A reader of one source's messages.
pub trait Adapter: Send {
    /// The source's name, for messages and metrics.
    fn name(&self) -> &'static str;

    /// What its reports cannot have, and what stands there instead.
    fn unavailable_fields(&self) -> &'static [&'static str];

    /// Reads a message that arrived at `now`; the timestamps of its reports are `now`.
    ///
    /// # Errors
    /// What is not a message of this source.
    fn on_message(&mut self, now: Instant, message: &[u8]) -> Result<Adapted, AdapterError>;
}

/// A UE's address; without a mapping none, and a problem that names its identities.
fn address(ues: &UeMap, ids: &[UeId], problems: &mut Vec<Problem>) -> Option<IpAddr> {
    match ues.address(ids) {
        Ok(ip) => Some(ip),
        Err(missing) => {
            problems.push(missing.into());
            None
        }
    }
}

/// Reads JSON of one source.
fn json<'a, T: serde::Deserialize<'a>>(
    format: &'static str,
    message: &'a [u8],
) -> Result<T, AdapterError> {
    limit(message)?;
    serde_json::from_slice(message).map_err(|error| AdapterError::Form {
        format,
        problem: crate::codec::shorten(&error.to_string()),
    })
}

fn limit(message: &[u8]) -> Result<(), AdapterError> {
    match message.len() {
        length if length > MAX_MESSAGE_BYTES => Err(AdapterError::TooLong { length }),
        _ => Ok(()),
    }
}

/// Puts UEs in order, one for each RNTI (the first is kept), and the rest of the PRBs in bounds.
fn report(cell: CellReport, mut ues: Vec<UeReport>) -> RadioReport {
    ues.sort_by_key(|ue| ue.rnti);
    ues.dedup_by_key(|ue| ue.rnti);
    RadioReport { cell, ues }
}
