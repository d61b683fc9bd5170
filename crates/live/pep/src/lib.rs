//! The live proxy: splits the TCP connections of UEs, and lets RAPID decide their windows.
//!
//! ```text
//!   UE == ran socket ==[ worker: splice ]== wan socket == server
//!             ^                                ^
//!             | cwnd, pacing (BPF)             | receive window (TCP_WINDOW_CLAMP)
//!             '--------- control thread: rapid::Allocator <-- radio reports
//!                                  |
//!   UE == ran-interface [ marker ] <== packets that are not split == servers
//! ```
//!
//! What this crate is *not*: it decides nothing about rates; `rapid` does. It depends on neither the
//! simulator nor the lab.

mod admin;
mod config;
mod control;
mod counters;
mod daemon;
mod dashboard;
mod descriptors;
mod error;
mod flow;
mod handover;
mod intercept;
mod listener;
mod memory;
mod meters;
mod metrics;
mod overflow;
mod privileges;
mod recording;
mod registry;
mod relay;
mod shared;
mod slots;
#[expect(unsafe_code, reason = "the kernel's interfaces that no safe crate has")]
mod sys;
mod touched;
mod unsplit;
mod upgrade;
mod wire;

pub use self::daemon::{Start, run};
pub use admin::{check_request, flows, move_connections, status};
pub use config::{Config, ConfigError};
pub use error::PepError;
pub use handover::admits;
pub use metrics::metrics_status;
pub use upgrade::check_upgrade;
