//! Brimful's congestion controllers in quinn.
//!
//! ```text
//!                 on_sent, on_ack, on_end_acks        Sent, AckSample
//!   quinn-proto   on_congestion_event       [quinn-cc]     LossSample        [cc]
//!                 window                                   cwnd
//!                                               ^
//!            reports of the UE ──> [RadioFeed] ─┤ on_radio
//!     DATAGRAM frames of a client ──> [ReportFeed] ─┘ on_feedback
//! ```
//!
//! [`AdapterFactory`] is a [`quinn_proto::congestion::ControllerFactory`] whose controllers are those of
//! [`cc`]: any of [`cc::names`], MELD round any of them, or one of the caller's own. States of
//! the radio are pushed into a [`RadioFeed`], datagrams of a client that reports its
//! bandwidth (CDBE) into a [`ReportFeed`]; what happens is read from a [`Monitor`] or
//! gives a [`cc::Trace`].
//!
//! ```no_run
//! # use std::sync::Arc;
//! # fn with(now: std::time::Instant) -> Result<(), cc::UnknownController> {
//! let feed = quinn_cc::RadioFeed::new();
//! let factory = quinn_cc::AdapterFactory::named(now, "cubic", Some(cc::meld::Variant::Default))?
//!     .with_feed(feed.clone());
//! let mut transport = quinn::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(factory));
//! # Ok(()) }
//! ```
//!
//! What quinn does not report to a controller, and what is done about it, stands in [`Adapter`].
//!
//! What this crate is *not*: it has no socket, no runtime and no clock; times are quinn's, counted from
//! an epoch that the caller names, so that a simulator can use its own.
#![forbid(unsafe_code)]

mod adapter;
mod credit;
mod factory;
mod feed;
mod flight;
mod marks;
mod monitor;
mod report;

pub use adapter::Adapter;
pub use factory::{AdapterFactory, Epoch, TraceSink};
pub use feed::RadioFeed;
pub use marks::MarkFeed;
pub use monitor::{Monitor, PathSample, RttSummary, Totals};
pub use report::{
    REPORT_BYTES, Report, ReportCounts, ReportError, ReportFeed, ReportOutcome, Reporting,
    allow_reports,
};
