//! QUIC on the network: a server that consults radio reports before it slows down, and a client.
//!
//! ```text
//!   radio reports ──> gate ──> directory: UE ──> [RadioFeed] ──> controller
//!   unix, AMQP, NATS   rnis         ^                               |
//!   or a channel                    | address                      v
//!   client <──────── HTTP/3 or "brimful/1" ─────────────> quinn connection ──> qlog, stats, metrics
//! ```
//!
//! The congestion controllers are those of [`cc`], by [`quinn_cc`]; to one that paces by reports of its
//! client's bandwidth (CDBE) the [`Client`] sends them as datagrams. Each connection of a [`Server`] has
//! its own, and a feed of what the radio of the UE behind its remote address does.
//!
//! What this crate is *not*: it decides neither windows nor which losses are congestion (`cc` does),
//! nor which reports are accepted (`rnis` does).
#![forbid(unsafe_code)]

mod client;
mod config;
mod content;
mod error;
mod metered;
mod protocol;
mod reports;
mod server;
mod tls;

pub use client::{Client, ClientOptions, Download, SeenBy, Sink, Target, download};
pub use config::{Certificate, Config, ReportSource, StatsTarget};
pub use error::QuicError;
pub use metered::Reported;
pub use protocol::{ALPN, MAX_REQUEST_BYTES, Request, RequestError};
pub use reports::{Inlet, ReportCounts, Reporter};
pub use server::{Server, check_frames, check_path, run};
pub use tls::Trust;

/// An instant of quinn's clock at which CLOCK_MONOTONIC, by which reports of this machine give
/// their time, was zero.
fn epoch() -> std::time::Instant {
    let now = std::time::Instant::now();
    let since = std::time::Duration::from_nanos(daemon::clock::now().as_nanos());
    // on Linux it is the same clock
    now.checked_sub(since).unwrap_or(now)
}
