//! The chassis of every daemon: what `pep`, `tunnel`, `quic`, `rnis-server` and `dash` need besides what each
//! is for.
//!
//! ```text
//!   file --> config --> the daemon's configuration       log --> stderr, one event a line
//!   CLOCK_MONOTONIC --> clock                            notify --> systemd
//!   SIGTERM, SIGINT --> Termination                      Backoff, LogLimit: how often again
//!   /metrics, /status, /healthz <-- metrics (Site, Page, Server)
//!   connections of strangers --> Connections: places, and who gives way
//!   queues between threads --> Seats: how many may wait
//!   a file that is read again --> reload: what differs (Differences), logged, notified
//!   admin socket, a JSON object a line <-- admin; its file <-- socket
//! ```
//!
//! What this crate is *not*: it has no daemon's keys, pages or requests, measures nothing, and speaks neither
//! to brokers nor to base stations.
#![forbid(unsafe_code)]

pub mod admin;
mod backoff;
pub mod clock;
pub mod config;
mod limit;
mod log;
pub mod metrics;
mod notify;
mod places;
mod reload;
mod seats;
mod signals;
pub mod socket;
mod source;

pub use backoff::Backoff;
pub use limit::LogLimit;
pub use log::{Log, lost_log_lines, set_log_level, start_log};
pub use notify::notify;
pub use places::{Connections, Standing, gives_way};
pub use reload::{Differences, reload};
pub use seats::{Seat, Seats};
pub use signals::Termination;
pub use source::{client_address, source_network};
