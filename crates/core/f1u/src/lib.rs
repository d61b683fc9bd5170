//! The radio as F1-U shows it: queues, rates and sojourns of bearers from the NR user plane's frames in passing.
//!
//! ```text
//!   centralized unit ---- user data: PDCP numbers, lengths ----> distributed unit, radio
//!                    <--- delivery status: highest transmitted, highest delivered ---
//!                                  |  (both ways, by a capture)
//!   IP packets + time -> [ Monitor: tunnels -> bearers -> UEs ] -> RadioReport, estimates
//! ```
//!
//! What is sent down and has not been handed to lower layers waits above the MAC: the queue that radio reports have. Between
//! two delivery statuses it is taken to drain as statuses have been followed so far. The equations are in `docs/algorithms/f1u.md`; [`Bearer`] has one
//! bearer, `predict` what is served until the next status, `pairing` finds which tunnel upwards is of which downwards, [`TunnelMap`], `whose` and
//! `core_side` whose a bearer is.
//!
//! [`CentralEnd`] and [`UnitEnd`] are the other side: the ends of a bearer, which number packets and report deliveries, for tests and labs;
//! [`EmulatedBearer`] is both, without a wire between them. [`n3`] has the ends of a PDU session above, between core and base station.
//!
//! What this crate is *not*: it captures nothing, has no clock and no socket, sends nothing, and deciphers nothing.
#![forbid(unsafe_code)]

mod bearer;
mod core_side;
mod ends;
mod monitor;
pub mod n3;
mod owner;
mod pairing;
mod predict;
mod report;
mod tunnels;
mod whose;

pub use bearer::{Bearer, Estimate, Sent, StatusError};
pub use ends::{
    CentralEnd, EmulatedBearer, EndError, Endpoints, Progress, Received, STATUS_PERIOD, UnitEnd,
};
pub use gtpu::pdcp::SnLength;
pub use monitor::{Config, Counts, MAX_BEARERS, Monitor, Tunnel};
pub use tunnels::{Endpoint, TunnelCounts, TunnelMap};
