//! Where the radio reports of a daemon come from: a Unix socket of this machine, or a broker.
//!
//! ```text
//!   unix: lines of JSON --\                             pep: Follower -> its control thread
//!                          follow --> Follower -- Gate --> tunnel, quic: reports that are accepted
//!   amqp, nats: messages -/  again and again
//! ```
//!
//! The radio information service reads brokers and lines by the same parts ([`broker`], [`Lines`]), and publishes
//! over the same connections.
//!
//! What this crate is *not*: it decides nothing of what a message means or which report is accepted (`rnis`
//! does), and publishes nothing.
#![forbid(unsafe_code)]

mod address;
pub mod broker;
mod config;
mod follow;
mod gate;
mod lines;

pub use address::Address;
pub use config::{
    Peers, ReportSource, read_addresses, read_source, read_source_if_any, read_ue_addresses,
    read_ues,
};
pub use follow::{Follower, follow_broker, follow_socket};
pub use gate::Gate;
pub use lines::{Line, Lines, split_lines};

/// The reason why a connection to a source or a broker ended.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;
