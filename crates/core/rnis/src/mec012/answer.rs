//! Answers of queries, written without a value tree between: one can list 65,536 UEs.

use super::types::{AssociateId, Ecgi, TimeStamp};
use crate::event::Bearer;
use serde::{Serialize, Serializer};

/// What a query is answered with.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The data type that it holds one of, if it does.
    name: Option<&'static str>,
    json: String,
}

impl Answer {
    /// One of this data type.
    pub fn of(name: &'static str, value: &impl Serialize) -> Self {
        Self {
            name: Some(name),
            ..Self::list(value)
        }
    }

    /// Several of a data type.
    pub(super) fn list(value: &impl Serialize) -> Self {
        Self {
            name: None,
            // only maps with other keys than text and failing writers can fail; an answer has neither
            json: serde_json::to_string(value).unwrap_or_default(),
        }
    }

    /// As JSON; wrapped: in an object with one property of its data type's name, if it holds one of it.
    pub fn into_json(self, is_wrapped: bool) -> String {
        match self.name.filter(|_| is_wrapped) {
            Some(name) => format!("{{\"{name}\":{}}}", self.json),
            None => self.json,
        }
    }
}

/// Radio access bearers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RabInfo<'a> {
    pub(super) time_stamp: TimeStamp,
    pub(super) app_instance_id: &'a str,
    pub(super) request_id: String,
    pub(super) cell_user_info: Vec<CellUsers>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CellUsers {
    pub(super) ecgi: Ecgi,
    pub(super) ue_info: Vec<UeBearers>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UeBearers {
    pub(super) associate_id: Vec<AssociateId>,
    pub(super) erab_info: Vec<Erab>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Erab {
    pub(super) erab_id: u8,
    pub(super) erab_qos_parameters: Qos,
}

/// A bearer's quality of service.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Qos {
    qci: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    qos_information: Option<QosInformation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QosInformation {
    erab_mbr_dl: u64,
    erab_mbr_ul: u64,
    erab_gbr_dl: u64,
    erab_gbr_ul: u64,
}

impl Qos {
    pub(super) fn of(bearer: &Bearer) -> Self {
        Self {
            qci: bearer.qci,
            qos_information: bearer.rates.map(|rates| QosInformation {
                erab_mbr_dl: rates.mbr_dl,
                erab_mbr_ul: rates.mbr_ul,
                erab_gbr_dl: rates.gbr_dl,
                erab_gbr_ul: rates.gbr_ul,
            }),
        }
    }
}

/// Layer 2 measurements.
#[derive(Serialize)]
pub(super) struct L2Meas {
    #[serde(rename = "timeStamp")]
    pub(super) time_stamp: TimeStamp,
    #[serde(rename = "cellInfo")]
    pub(super) cells: Vec<Measured>,
    #[serde(rename = "cellUEInfo")]
    pub(super) ues: Vec<Measured>,
}

/// Measurements of a cell, or of a UE in one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measured {
    pub(super) ecgi: Ecgi,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) associate_id: Option<AssociateId>,
    #[serde(flatten)]
    pub(super) values: Measurements,
}

/// Values by the names of their measurements.
pub(super) struct Measurements(pub(super) Vec<(&'static str, u64)>);

impl Serialize for Measurements {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

impl Measurements {
    pub(super) fn get(&self, name: &str) -> Option<u64> {
        let mut values = self.0.iter();
        values.find(|(n, _)| *n == name).map(|(_, value)| *value)
    }
}
