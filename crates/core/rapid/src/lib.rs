//! RAPID's window allocator: radio reports and flow telemetry in, windows out.
//!
//! ```text
//!   RadioReport ---> capacity of each UE ---+
//!                                           v
//!   FlowTelemetry -> demand of each flow -> share -> Decision { wan_window, ran allocation }
//! ```
//!
//! A proxy at the edge splits each TCP connection. The allocator gives it, for every flow, which
//! receive window to show the server and which congestion window to keep towards the UE.
//!
//! What this crate is *not*: it moves no bytes; the proxy (simulated or live) does.
#![forbid(unsafe_code)]

mod allocator;
mod capacity;
mod config;
mod default_mode;
mod follow;
mod learnt;
mod paper;
mod share;
#[cfg(test)]
mod test_support;
mod unsplit;

pub use allocator::{Allocator, Decision, FlowId, FlowOpened, FlowTelemetry, WanWindow, allocator};
pub use config::{AllocatorConfig, ConfigError, Mode, Part, Reading};
pub use follow::{FollowAllocation, MIN_SEGMENTS};
pub use learnt::Learnt;
pub use unsplit::Unsplit;
