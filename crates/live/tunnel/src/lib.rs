//! The live tunnel: a TUN device on one side, several paths to the other end on the other.
//!
//! ```text
//!   kernel <-> TUN (64 kB at once) <-> split, join <-> multipath::Tunnel <-> paths: UDP (64 kB at
//!                                       inner packets                        once), TCP carriers
//! ```
//!
//! One thread takes packets in and decides; it sleeps until a descriptor or the clock wakes it. It sends and writes them
//! too, or with `threads = 2` a second one seals, sends and writes what the first has decided (`output`). Others answer the
//! admin socket and `/metrics`.
//!
//! What a path carries is sealed by `secrecy` (UDP: each datagram, TCP: each frame), unless `encryption = "none"`.
//!
//! What this crate is *not*: it decides nothing about paths, windows or order (`multipath` does), nor about keys and
//! handshakes (`secrecy` does).

mod admin;
mod arena;
mod batch;
mod client;
mod config;
mod daemon;
#[cfg(feature = "edge")]
mod dashboard;
mod error;
mod flow;
mod frames;
mod inner;
mod inside;
mod limits;
mod link;
mod metrics;
mod netlink;
mod output;
mod packet_thread;
mod pending;
mod pieces;
mod poller;
mod queue;
#[cfg(feature = "edge")]
mod radio;
mod reload;
mod resolver;
mod sealing;
mod server;
mod setup;
mod status;
mod stream;
#[expect(unsafe_code, reason = "the kernel's interfaces that no safe crate has")]
mod sys;
mod udp;

pub use self::daemon::{Start, run};
pub use admin::{check_request, request};
pub use client::count_notices;
pub use config::{
    ClientConfig, ClientEnd, Config, ConfigError, Encryption, End, HostPort, InterfaceAddress,
    Network, PORT, ParseInterfaceAddressError, PathConfig, Remote, Role, ServerConfig, Threads,
    TunConfig,
};
pub use error::TunnelError;
pub use frames::split_frames;
pub use inner::check_inner;
pub use keys::{Key, KeyError, PublicKeyText, StaticKey};
pub use metrics::metrics_status;
pub use multipath::client::Supervision;
pub use multipath::scheduler;
pub use multipath::tunnel::Carrier;
pub use pending::PendingLimits;
#[cfg(feature = "edge")]
pub use radio::ReportsConfig;
#[cfg(feature = "edge")]
pub use report_source::ReportSource;
pub use setup::{Plan, remove_leftovers};
