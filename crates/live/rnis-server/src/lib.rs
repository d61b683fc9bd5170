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
mod backlog;
mod client;
mod clock;
mod config;
mod daemon;
mod dashboard;
mod http;
mod hub;
mod limit;
mod metrics;
mod places;
mod publish;
mod reach;
mod registration;
mod service;
mod sources;
mod tls;

pub(crate) use report_source::Fault;

pub use self::daemon::run;
pub use config::{
    Address, AnswerForm, ClientConfig, Config, ConfigError, Format, HttpConfig, Listening, Network,
    PlatformConfig, SourceConfig, SourceKind, TopicConfig, UnixConfig,
};
pub use http::{Credentials, credentials};
pub use metrics::{Labels, Metrics};
pub use service::{Service, check};
pub use sources::recording_times;
