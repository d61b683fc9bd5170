//! Radio network information.
//!
//! ```text
//!   base station (ran, or a real one) -> RadioReport -> rapid, MELD, CQIC, dashboard
//! ```
//!
//! The report is the one view of the radio that every consumer shares. This crate is its form, as
//! a type and as bytes, what other projects' sources make of it, the rules by which it is accepted, and
//! what MEC 012 has of it.
//!
//! What this crate is *not*: it measures no radio and decides nothing from a report, and it does no I/O:
//! sources, sockets and HTTP are of `report-source` and `rnis-server`.
#![forbid(unsafe_code)]

pub mod adapters;
pub mod codec;
pub mod event;
pub mod identity;
pub mod intake;
pub mod mec012;
pub mod order;
mod report;

pub use codec::DecodeError;
pub use report::{
    BearerReport, CellId, CellReport, LinkQuality, MAX_BEARER, McsTable, RadioReport, ReportError,
    Rnti, UeReport,
};
