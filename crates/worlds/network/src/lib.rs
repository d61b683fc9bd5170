//! What an experiment is run and measured with, in either world.
//!
//! ```text
//!   app      when the next object or datagram is due, when a flow is complete
//!   link     a wire: queue, transmitter, delay, jitter, loss      reports  radio reports on their way
//!   rates    the rate of a wire over time
//!   cells    several cells, and users that are handed over between them
//!   cell     the radio cell with the records of its queues        channel  its channels and its load
//!   uplink   what UEs send waits above their modems, or is marked there        wrapper  packets with what is noted of them
//!   measure  flows, queues, the bottleneck, time series
//!   check    what must not be in an experiment
//!   topology the links and the cell of an experiment, and their part of its records
//! ```
//!
//! The simulator and the lab move packets in different ways. What their packets go through, and what
//! is written down of them, is the same code, so that their results mean the same.
//!
//! What this crate is *not*: it has no clock, no socket and no event loop, and it implements no protocol.
#![forbid(unsafe_code)]

pub mod app;
mod cell;
mod cells;
mod channel;
mod check;
mod error;
mod link;
pub mod measure;
mod rates;
mod reports;
mod topology;
mod uplink;
mod wrapper;

pub use cell::{CellAccess, CellRoute, Delivered};
pub use cells::{Cells, Place, UnitEvent};
pub use check::{access_base_rtt, check, check_share, first_rtt, path_delay, rnti, ue_address};
pub use error::Error;
pub use link::{Jitter, Link, LinkParts, Loss, WireSpec};
pub use rates::Rates;
pub use reports::ReportChannel;
pub use topology::{Access, Entered, LinkId, Radio, Topology};
