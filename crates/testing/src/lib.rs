//! What the tests of all crates share.
//!
//! ```text
//!   skip     a test that cannot run here: printed, recorded for the summary, a failure under CI
//!   port     a free port that stays free until a server listens there
//!   wait     polls a condition up to a hang limit
//!   pattern  bytes that depend on their position
//!   namespace  a network namespace
//!   native   a model in C, compiled for this machine
//!   outgoing a packet as such a model is asked about it
//!   clock    the system's clock, set by a test for the programs that it starts
//!   machine  what a bench states of the machine, and whether it is quiet enough to record
//!   bench    how a bench that needs root begins and ends, and where its table goes
//! ```
//!
//! What this crate is *not*: no shipped crate depends on it (it is a dev-dependency only), and it
//! asserts nothing about how fast anything is.
#![forbid(unsafe_code)]

mod bench;
mod clock;
mod machine;
mod namespace;
mod native;
mod outgoing;
mod pattern;
mod port;
mod skip;
mod wait;

pub use bench::{Page, bench};
pub use clock::StepClock;
pub use machine::{MAX_LOAD, Machine};
pub use namespace::Namespace;
pub use native::Native;
pub use outgoing::{OfSocket, Outgoing};
pub use pattern::{assert_pattern, pattern};
pub use port::free_port;
pub use skip::{Missing, has_root, skip};
pub use wait::{HANG_LIMIT, is_slow_machine, wait_for, wait_until};
