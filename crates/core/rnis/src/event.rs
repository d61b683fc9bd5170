//! What happens to UEs and their bearers, for those who subscribe to it.
//!
//! Reports state what a cell does in every period; events are rare. Some follow from reports (a UE
//! that appears in another cell), some from fields that reports have no place for (timing
//! advance), and the rest is known to sources alone: a bridge sends them as lines of JSON in this form:
//!
//! ```json
//! {"cell":1,"ue":"10.45.0.2","event":"measurement","rsrp":72,"rsrq":24,"trigger":12}
//! ```

use crate::CellId;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};

/// Something that happened to a UE.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RadioEvent {
    /// The UE's (primary) cell.
    pub cell: CellId,
    /// The UE's address, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ue: Option<IpAddr>,
    /// Its GTP tunnel endpoint, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teid: Option<u32>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened to a UE.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EventKind {
    /// A handover, in one of its states.
    CellChange {
        /// The cell it goes to.
        to: CellId,
        /// 1 in preparation, 2 in execution, 3 completed, 4 rejected, 5 cancelled.
        status: u8,
    },
    /// A bearer was set up.
    BearerEstablished(Bearer),
    /// A bearer's quality of service was changed.
    BearerModified(Bearer),
    /// A bearer was released.
    BearerReleased {
        /// The bearer.
        erab_id: u8,
        /// Its quality class, for subscriptions by class.
        qci: u8,
    },
    /// An LTE measurement report.
    Measurement {
        /// Reference signal received power, as coded in TS 36.133 (0 to 97).
        rsrp: u8,
        /// Reference signal received quality, as coded in TS 36.133 (0 to 34).
        rsrq: u8,
        /// What triggered it, by the numbers of MEC 012 (0: not available).
        #[serde(default)]
        trigger: u8,
    },
    /// An NR measurement report of the serving cell.
    NrMeasurement {
        /// SS-RSRP, as coded in TS 38.133 (0 to 127).
        #[serde(default)]
        rsrp: Option<u8>,
        /// SS-RSRQ, as coded in TS 38.133 (0 to 127).
        #[serde(default)]
        rsrq: Option<u8>,
        /// SS-SINR, as coded in TS 38.133 (0 to 127).
        #[serde(default)]
        sinr: Option<u8>,
        /// What triggered it, by the numbers of MEC 012 (0: not available).
        #[serde(default)]
        trigger: u8,
    },
    /// The timing advance of a UE.
    TimingAdvance {
        /// In steps of 16 Ts (0.52 us).
        steps: u32,
    },
    /// Secondary cells were added or removed.
    CarrierAggregation {
        /// Added, at most [`MAX_SECONDARY_CELLS`].
        #[serde(default)]
        added: Vec<CellId>,
        /// Removed, at most as many.
        #[serde(default)]
        removed: Vec<CellId>,
    },
    /// A tunnel between base station and gateway was set up, changed or released.
    S1Bearer {
        /// 1 established, 2 modified, 3 released.
        change: u8,
        /// The tunnel.
        #[serde(flatten)]
        tunnel: Tunnel,
    },
}

/// A radio bearer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bearer {
    /// Its identity within the UE (TS 36.413: 0 to 15).
    pub erab_id: u8,
    /// Its quality class (TS 23.401).
    pub qci: u8,
    /// Bit rates, for bearers that have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<BearerRates>,
}

/// Bit rates of a bearer, in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BearerRates {
    /// Maximum, downlink.
    pub mbr_dl: u64,
    /// Maximum, uplink.
    pub mbr_ul: u64,
    /// Guaranteed, downlink.
    pub gbr_dl: u64,
    /// Guaranteed, uplink.
    pub gbr_ul: u64,
}

/// A GTP tunnel between base station and gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tunnel {
    /// The bearer.
    pub erab_id: u8,
    /// Address of the base station's end.
    pub enb_address: IpAddr,
    /// Tunnel endpoint at the base station.
    pub enb_teid: u32,
    /// Address of the gateway's end.
    pub sgw_address: IpAddr,
    /// Tunnel endpoint at the gateway.
    pub sgw_teid: u32,
}

/// Secondary cells of a UE, at most (TS 38.331 section 6.4, maxNrofSCells; TS 36.331 section 6.4, maxSCell-r13): with
/// the primary one it has 32 serving cells.
pub const MAX_SECONDARY_CELLS: usize = 31;

/// Longest event that is read, in bytes.
pub const MAX_EVENT_BYTES: usize = 64 << 10;

/// Bytes are no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no radio event: {0}")]
pub struct EventError(String);

impl RadioEvent {
    /// Reads an event.
    ///
    /// # Errors
    /// What is not an event, is too long, or has a code outside its range.
    pub fn from_json(bytes: &[u8]) -> Result<Self, EventError> {
        if bytes.len() > MAX_EVENT_BYTES {
            return Err(EventError(format!(
                "{} bytes, at most {MAX_EVENT_BYTES} are read",
                bytes.len()
            )));
        }
        let event: Self = serde_json::from_slice(bytes)
            .map_err(|error| EventError(crate::codec::shorten(&error.to_string())))?;
        event.check()?;
        Ok(event)
    }

    /// Whether bytes are meant as an event, whatever is wrong with them: they have its field, and no
    /// report's. For the right error.
    pub fn is_meant(bytes: &[u8]) -> bool {
        let has = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
        bytes.len() <= MAX_EVENT_BYTES && has(b"\"event\"") && !has(b"\"ues\"")
    }

    /// The event as one line of JSON.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn check(&self) -> Result<(), EventError> {
        let within = |field: &str, value: u8, most: u8, least: u8| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(EventError(format!(
                "{field} is {value}; allowed is {least} to {most}"
            )))
        };
        match &self.kind {
            EventKind::CellChange { status, .. } => within("status", *status, 5, 1),
            EventKind::Measurement { rsrp, rsrq, .. } => {
                within("rsrp", *rsrp, 97, 0)?;
                within("rsrq", *rsrq, 34, 0)
            }
            EventKind::NrMeasurement {
                rsrp, rsrq, sinr, ..
            } => [("rsrp", rsrp), ("rsrq", rsrq), ("sinr", sinr)]
                .into_iter()
                .filter_map(|(name, value)| value.map(|v| (name, v)))
                .try_for_each(|(name, value)| within(name, value, 127, 0)),
            EventKind::S1Bearer { change, tunnel } => {
                within("change", *change, 3, 1)?;
                within("erab_id", tunnel.erab_id, 15, 0)
            }
            EventKind::BearerEstablished(bearer) | EventKind::BearerModified(bearer) => {
                within("erab_id", bearer.erab_id, 15, 0)
            }
            EventKind::BearerReleased { erab_id, .. } => within("erab_id", *erab_id, 15, 0),
            EventKind::CarrierAggregation { added, removed } => {
                let (added, removed) = (("added", added.len()), ("removed", removed.len()));
                let too_many = |list: &(&str, usize)| list.1 > MAX_SECONDARY_CELLS;
                match [added, removed].into_iter().find(too_many) {
                    Some((name, count)) => Err(EventError(format!(
                        "{name} has {count} cells; a UE has at most {MAX_SECONDARY_CELLS} secondary cells"
                    ))),
                    None => Ok(()),
                }
            }
            EventKind::TimingAdvance { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_an_event_is_named() {
        let error = |text: &str| {
            assert!(RadioEvent::is_meant(text.as_bytes()), "{text}");
            let error = RadioEvent::from_json(text.as_bytes());
            error.expect_err("no event").to_string()
        };
        let missing = error(r#"{"cell":1,"event":"measurement","rsrp":72}"#);
        assert!(missing.contains("rsrq"), "{missing}");
        let unknown = error(r#"{"cell":1,"event":"measurment","rsrp":72,"rsrq":24}"#);
        assert!(
            unknown.contains("measurment") && unknown.contains("measurement"),
            "{unknown}"
        );
        let code = error(r#"{"cell":1,"event":"measurement","rsrp":200,"rsrq":24}"#);
        assert!(code.contains("rsrp is 200"), "{code}");
        let cut = error(r#"{"cell":1,"event":"measurement","rsrp":"#);
        assert!(cut.starts_with("no radio event"), "{cut}");
        assert!(!RadioEvent::is_meant(br#"{"cell":{"id":1},"ues":[]}"#));
    }

    #[test]
    fn more_secondary_cells_than_a_ue_can_have_are_no_event() {
        let event = |field: &str, count: u32| {
            let cells: Vec<u32> = (1..=count).collect();
            let text = format!(r#"{{"cell":1,"event":"carrier-aggregation","{field}":{cells:?}}}"#);
            RadioEvent::from_json(text.as_bytes())
        };
        for field in ["added", "removed"] {
            assert!(event(field, 31).is_ok());
            // one too many, and as many as fit into the longest event
            for count in [32, 10_000] {
                let error = event(field, count).expect_err("no event").to_string();
                let expected =
                    format!("{field} has {count} cells; a UE has at most 31 secondary cells");
                assert!(error.contains(&expected), "{error}");
            }
        }
    }
}
