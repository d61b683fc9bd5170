//! The simulator: a deterministic, packet-level, discrete-event world for an experiment.
//!
//! ```text
//!   server ==link==> path =====> [ proxy? ] ====> access ====> UE       tcp: the hosts
//!          <=======       <=====            <====        <====          relay, control: the proxy
//!          \______________________ network _____________________/       schedule: what happens next
//! ```
//!
//! [`run()`] takes a [`scenario::Experiment`] and a seed, and gives a [`scenario::RunResult`]. Time is
//! whole nanoseconds; simultaneous events have a defined order (see `schedule.rs`); every component
//! draws from its own named random stream. A run is therefore the same, bit for bit, on every
//! machine and for any number of threads, and another flow changes no other's draws.
//!
//! Wires, applications and meters are those of crate `network`, which the lab uses too. TCP
//! ([`tcp`]) is written here; QUIC is quinn-proto; congestion control, the cell and the proxy's decisions are the crates
//! `cc`, `ran` and `rapid`, driven but never second-guessed. Without the feature `quic`, for places that have no
//! `std::time::Instant` (a browser), flows over QUIC are refused.
//!
//! What this crate is *not*: it reads no file, clock or socket, and it decides nothing that a
//! mechanism should decide.
#![forbid(unsafe_code)]

mod carried;
mod control;
mod custom;
mod error;
mod forwarding;
mod held;
mod host;
mod http;
mod packet;
mod pool;
#[cfg(feature = "quic")]
mod quic;
#[cfg(not(feature = "quic"))]
#[path = "quic/absent.rs"]
mod quic;
mod relay;
mod run;
mod schedule;
mod session;
mod stream;
pub mod tcp;
mod world;

pub use custom::Mechanisms;
pub use error::Error;
pub use forwarding::PacketCounts;
pub use quic::ConfigError as QuicConfigError;
pub use run::{Simulation, run, run_repeats, run_repeats_on};
