//! For programs that read reports: where from, and which of them to accept.

mod gate;
mod source;

pub use gate::Gate;
pub use source::{ReportSource, read_addresses, read_source, read_ues};
