//! The radio information service: reports in from base stations, out to all that need them.
//!
//! ```text
//!   sources                          hub                      readers
//!   unix, tcp: a lab's cell     \              / unix socket: a proxy on this machine
//!   file: a recording            \            /  AMQP topic, NATS subject: others
//!   srsRAN, FlexRIC, FlexRAN,  -- gate -- view -- ETSI MEC 012 REST: queries, subscriptions
//!   OAI xApp, CSV, E2SM-KPM      /            \  MEC 011: announcement of all of these
//!   AMQP, NATS: another service /              \ /metrics, /dash/
//! ```
//!
//! This crate is a shell: sockets, clocks and brokers. What a message means, what a report must
//! satisfy, what MEC 012 answers is decided by crate `rnis`. It is *not* a part of the radio
//! network: it sends nothing to a base station but subscriptions to its metrics.

mod accept;
mod auth;
mod backoff;
mod client;
mod clock;
mod config;
mod daemon;
mod dashboard;
mod http;
mod hub;
mod limit;
mod log_limit;
mod metrics;
mod places;
mod publish;
mod reach;
mod registration;
pub mod reporting;
mod service;
mod sources;
mod tls;

/// The reason why a connection to a source or a broker ended.
pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

pub use clock::now as monotonic_now;
pub use config::{
    Address, AnswerForm, ClientConfig, Config, ConfigError, Format, HttpConfig, Listening, Network,
    PlatformConfig, SourceConfig, SourceKind, TopicConfig,
};
pub use daemon::{Log, notify, run, start_log};
pub use http::{Credentials, credentials};
pub use metrics::{Labels, Metrics};
pub use service::{Service, check};
pub use sources::{Follower, follow, follow_address, follow_socket, recording_times, split_lines};
