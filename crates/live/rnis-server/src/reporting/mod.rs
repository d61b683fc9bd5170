//! For programs that read reports: where from, which of them to accept, and when they were made.

mod clock;
mod gate;
mod source;

pub use clock::{Placed, SourceClock};
pub use gate::{Gate, GateCounts};
pub use source::{ReportSource, read_addresses, read_source, read_ues};
