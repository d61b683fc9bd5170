//! Users between cells: when a UE is handed over, in which steps, and what becomes of its packets.
//!
//! ```text
//!   RSRP of each cell --> filter (layer 3) --> event A3, time to trigger --> report: the target
//!                                                                              |
//!   source cell <-- command, access, path switch, End Marker <-- Handover <----+
//!       |  forwarding (X2, Xn)
//!       v
//!   [ TargetBuffer ]: what was forwarded first, what came by the new path after the End Marker
//!       v
//!   [ Reordering ]: PDCP at the receiver, in order, across the change of cell
//!
//!   SINR of the source --> LinkMonitor (N310, T310, N311): failure --> Reestablishment: another cell, or the same
//! ```
//!
//! TS 36.331 5.3.11 and 38.331 5.3.10 (failure), 5.3.7 (re-establishment), 5.5.3.2, 5.5.4.1, 5.5.4.4; TS 36.300 10.1.2, TS 38.300 9.2.3.2; TS 36.323 and 38.323 5.1.2, 5.2.2, 5.4.
//! What is modelled and what is not stands in `docs/algorithms/mobility.md`.
//!
//! What this crate is *not*: it has no clock and no socket, it measures no radio (crate `radio`) and it sends nothing
//! (crate `ran`): measurements and times go in, steps come out.
#![forbid(unsafe_code)]

mod event;
mod filter;
mod link_monitor;
mod measurements;
mod procedure;
mod reestablishment;
mod reordering;
mod target;

pub use event::{A3, A3Config, A3Error};
pub use filter::{Filter, FilterCoefficient, FilterError, Rsrp};
pub use link_monitor::{INDICATION_PERIOD, LinkMonitor, LinkMonitorConfig, LinkMonitorError};
pub use measurements::{Measurements, MeasurementsConfig};
pub use procedure::{Handover, MIN_STAY, Route, Step, Timing};
pub use reestablishment::{FailureKind, Reestablishment, ReestablishmentConfig, UeContext};
pub use reordering::{Count, Reordering};
pub use target::TargetBuffer;
