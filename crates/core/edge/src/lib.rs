//! The proxy at the edge as one machine: what it decides, in the simulator, in the lab and live.
//!
//! ```text
//!   radio reports --> intake --> directory: which UE has which address
//!                       |            |
//!   flows open, close --+--> adoption: when a flow comes under control, and in which cell
//!                                    |
//!   telemetry ---> cell: rapid::Allocator ---> Action: adopt, windows (and pace), release
//!                                    |
//!   time ---> freshness: following, decaying, plain
//! ```
//!
//! [`Edge`] is driven by calls with the time as an argument and answers with [`Action`]s. The pure rules
//! that a data path applies by itself between two decisions stand apart: [`ServerWindow`] (which receive
//! window to show the server while data passes), [`UnsentBound`] (how much the socket towards the UE may take
//! beyond what it sends), [`wire`] (the window of each segment, where it can be set as that leaves) and [`pace`] (the
//! rate that windows mean, where the window itself cannot be set).
//!
//! Packets that are not split are not of this machine: [`marker`] has what becomes of them, by the same reports. [`uplink`] has
//! what becomes of packets on their way up, in a UE.
//!
//! All that goes in and comes out can be recorded and decided once more ([`recording`]).
//!
//! Source: RAPID sections 3.2 and 4.2 for what the proxy does with the windows; all else is ours, see
//! `docs/algorithms/edge.md`.
//!
//! What this crate is *not*: it moves no bytes and opens no socket; its drivers (the simulator's split proxy
//! and `pep`) do.
#![forbid(unsafe_code)]

mod action;
mod carried;
mod config;
mod directory;
mod flows;
mod freshness;
mod learnt;
mod machine;
pub mod marker;
pub mod pace;
pub mod recording;
mod settings;
#[cfg(test)]
mod test_support;
mod unsent;
pub mod uplink;
mod window;
pub mod wire;

pub use action::{Action, Actuator, Adopted, Windows};
pub use carried::begins_to_matter;
pub use config::{ConfigError, EdgeConfig};
pub use freshness::State;
pub use learnt::Learnt;
pub use machine::{CellStatus, Edge, Meters, UeFlows};
pub use settings::Setting;
pub use unsent::UnsentBound;
pub use window::{Change, Passing, ServerWindow, ShownWindow};
