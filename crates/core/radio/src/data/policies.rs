//! CQI to MCS as base station software does it: policies of implementations, not of 3GPP.
//!
//! Written by `python3 crates/core/radio/tools/generate_data.py`; do not edit.

use crate::cqi_policy::{CqiToMcs, Row};
use crate::{CqiTable, McsTable};

/// One row for each pair of tables that a policy covers.
pub(crate) static ROWS: [Row; 19] = [
    Row {
        policy: CqiToMcs::OaiLte,
        cqi_table: CqiTable::LteQam64,
        mcs_table: McsTable::LteQam64,
        cqi_zero: Some(0),
        mcs: [0, 1, 2, 4, 6, 8, 11, 13, 16, 18, 20, 23, 25, 27, 28],
    },
    Row {
        policy: CqiToMcs::Ns3Lte,
        cqi_table: CqiTable::LteQam64,
        mcs_table: McsTable::LteQam64,
        cqi_zero: Some(0),
        mcs: [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28],
    },
    Row {
        policy: CqiToMcs::OaiNr,
        cqi_table: CqiTable::NrQam64,
        mcs_table: McsTable::NrQam64,
        cqi_zero: None,
        mcs: [0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28],
    },
    Row {
        policy: CqiToMcs::OaiNr,
        cqi_table: CqiTable::NrQam256,
        mcs_table: McsTable::NrQam256,
        cqi_zero: None,
        mcs: [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27],
    },
    Row {
        policy: CqiToMcs::OaiNr,
        cqi_table: CqiTable::NrLowSe,
        mcs_table: McsTable::NrLowSe,
        cqi_zero: None,
        mcs: [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28],
    },
    Row {
        policy: CqiToMcs::Srsran4gNr,
        cqi_table: CqiTable::NrQam64,
        mcs_table: McsTable::NrQam64,
        cqi_zero: None,
        mcs: [0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28],
    },
    Row {
        policy: CqiToMcs::Srsran4gNr,
        cqi_table: CqiTable::NrQam64,
        mcs_table: McsTable::NrQam256,
        cqi_zero: None,
        mcs: [0, 0, 1, 2, 3, 4, 5, 7, 9, 11, 13, 15, 17, 19, 21],
    },
    Row {
        policy: CqiToMcs::Srsran4gNr,
        cqi_table: CqiTable::NrQam64,
        mcs_table: McsTable::NrLowSe,
        cqi_zero: None,
        mcs: [4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 28, 28],
    },
    Row {
        policy: CqiToMcs::Srsran4gNr,
        cqi_table: CqiTable::NrQam256,
        mcs_table: McsTable::NrQam64,
        cqi_zero: None,
        mcs: [0, 2, 6, 11, 13, 15, 18, 20, 22, 24, 26, 28, 28, 28, 28],
    },
    Row {
        policy: CqiToMcs::Srsran4gNr,
        cqi_table: CqiTable::NrQam256,
        mcs_table: McsTable::NrQam256,
        cqi_zero: None,
        mcs: [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27],
    },
    Row {
        policy: CqiToMcs::Srsran4gNr,
        cqi_table: CqiTable::NrQam256,
        mcs_table: McsTable::NrLowSe,
        cqi_zero: None,
        mcs: [4, 8, 12, 16, 18, 20, 22, 24, 26, 28, 28, 28, 28, 28, 28],
    },
    Row {
        policy: CqiToMcs::Srsran4gNr,
        cqi_table: CqiTable::NrLowSe,
        mcs_table: McsTable::NrQam64,
        cqi_zero: None,
        mcs: [0, 0, 0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24],
    },
    Row {
        policy: CqiToMcs::Srsran4gNr,
        cqi_table: CqiTable::NrLowSe,
        mcs_table: McsTable::NrQam256,
        cqi_zero: None,
        mcs: [0, 0, 0, 0, 1, 2, 3, 4, 5, 7, 9, 11, 13, 15, 17],
    },
    Row {
        policy: CqiToMcs::Srsran4gNr,
        cqi_table: CqiTable::NrLowSe,
        mcs_table: McsTable::NrLowSe,
        cqi_zero: None,
        mcs: [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28],
    },
    Row {
        policy: CqiToMcs::SrsranProject,
        cqi_table: CqiTable::NrQam64,
        mcs_table: McsTable::NrQam64,
        cqi_zero: None,
        mcs: [0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28],
    },
    Row {
        policy: CqiToMcs::SrsranProject,
        cqi_table: CqiTable::NrQam256,
        mcs_table: McsTable::NrQam256,
        cqi_zero: None,
        mcs: [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27],
    },
    Row {
        policy: CqiToMcs::SrsranProject,
        cqi_table: CqiTable::NrLowSe,
        mcs_table: McsTable::NrLowSe,
        cqi_zero: None,
        mcs: [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28],
    },
    Row {
        policy: CqiToMcs::Lena5g,
        cqi_table: CqiTable::NrQam64,
        mcs_table: McsTable::NrQam64,
        cqi_zero: Some(0),
        mcs: [0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28],
    },
    Row {
        policy: CqiToMcs::Lena5g,
        cqi_table: CqiTable::NrQam256,
        mcs_table: McsTable::NrQam256,
        cqi_zero: Some(0),
        mcs: [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27],
    },
];
