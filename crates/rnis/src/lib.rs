//! Radio network information.
//!
//! ```text
//!   base station (ran, or a real one) -> RadioReport -> rapid, MELD, CQIC, dashboard
//! ```
//!
//! The report is the one view of the radio that every consumer shares. This crate is its form;
//! it does no I/O.
#![forbid(unsafe_code)]

mod report;

pub use report::{
    CellId, CellReport, LinkQuality, McsTable, RadioReport, ReportError, Rnti, UeReport,
};
