//! Radio network information.
//!
//! ```text
//!   base station (ran, or a real one) -> RadioReport -> rapid, MELD, CQIC, dashboard
//! ```
//!
//! The report is the one view of the radio that every consumer shares. This crate is its form, as
//! a type and as bytes; it does no I/O.
#![forbid(unsafe_code)]

pub mod codec;
mod report;

pub use codec::DecodeError;
pub use report::{
    CellId, CellReport, LinkQuality, McsTable, RadioReport, ReportError, Rnti, UeReport,
};
