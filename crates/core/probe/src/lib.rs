//! A network path recorded as a trace, between a UE and a server, by two workloads.
//!
//! ```text
//!   UE (Client)                                       server (Server)
//!      | -- Hello (padded) -----------------------------> |  keeps nothing
//!      | <----------------------------- Challenge (cookie) |
//!      | -- Begin (cookie, what it asks) ----------------> |  a session, or Refuse
//!      | <---------------------------------------- Accept |
//!      | -- Probe, Probe, ... (a train) -----------------> |  light: each comes back as an Echo
//!      | <--------------------------------- Echo, Echo ... |
//!      | -- Control, Data (up) --------------------------> |  heavy: numbered packets above the capacity,
//!      | <------------------------- Report, Data (down) -- |  arrivals counted by the millisecond
//!      | -- End -----------------------------------------> |
//!      | <----------------------------------------- Ended |
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`message`] | the messages and their layout |
//! | [`key`] | the shared secret, the keys of a session, cookies |
//! | [`load`] | the heavy workload's sender: paced, with a bound of what is under way |
//! | [`arrivals`] | what a receiver counts of it |
//! | [`server`], [`client`] | the state machines of both ends |
//! | [`recording`] | what came of it: opportunities, round trips |
//!
//! **Source**: W. Sentosa et al., *CellReplay: Towards accurate record-and-replay for cellular networks*, NSDI 2025: a light
//! workload of packet trains shows delays of a radio at rest (DRX, scheduling requests), a heavy one of saturating UDP the
//! opportunities at which packets are delivered; and K. Winstein et al., NSDI 2013 (Saturator), for the latter.
//!
//! *Deviations*: one UE does both by turns, where CellReplay has two phones beside each other; the heavy rate is fixed, with a
//! bound of what is under way, where Saturator's window follows the round trip.
//!
//! **Clocks** of the two ends are not assumed in step, only of the same speed: one-way delays are over the smallest of the
//! recording, and the uplink's times are brought to the UE's clock by the exchange with the smallest round trip, as NTP does:
//! wrong by at most half of that. Between two clocks that drift by 50 ppm, ten minutes are 30 ms.
//!
//! What this crate is *not*: it has no socket, no clock and no randomness, and plays no trace.
#![forbid(unsafe_code)]

pub mod arrivals;
pub mod client;
pub mod key;
pub mod load;
pub mod message;
mod payload;
pub mod plan;
pub mod recording;
pub mod server;
#[cfg(test)]
mod tests;

pub use client::{Client, Failure};
pub use key::Secret;
pub use plan::{Plan, PlanError};
pub use recording::{Direction, Recording, RoundTrip};
pub use server::{Ended, Event, Server, ServerConfig};

use units::Duration;

/// After this time without a valid message an end considers the other one gone.
pub const SILENCE: Duration = Duration::from_secs(30);
