//! `brimful ue`: the queue of a UE above its modem, as a daemon of a router or phone with Linux.
//!
//! ```text
//!   packets --> program at the modem's interface --all IP--> device --> Worker: edge::uplink::UplinkQueue (mark, or queue)
//!                     |    ^                                               |        ^
//!                  no daemon '------ passes ------ socket <----------------'        | statuses
//!                     v                                                             |
//!                   modem                     modem's counters, lines of JSON --> Source: edge::uplink::ModemIntake
//! ```
//!
//! What becomes of packets, and which reports count, is decided in [`edge::uplink`], as in the simulator. No route and no address
//! is changed; it fails open: where the daemon does not state for half a second that it takes packets, or has ended, they pass.
//!
//! What this crate is *not*: it asks no modem for its counters (another program does, and writes lines), and decides nothing.
#![forbid(unsafe_code)]

mod config;
mod counts;
mod dashboard;
mod inbox;
mod page;
mod place;
mod run;
mod source;
mod worker;

pub use config::{Config, ConfigError, Source};
pub use run::{Start, UeError, run};
