//! The dashboard's server: what is measured now, or what a result folder holds, for one page.
//!
//! ```text
//!   runs, lab, daemons --Round--> Feed (series, ring of 60 s) --\
//!                                                                Dash --> router --> browser, `top`
//!   result folders --> Library (Parquet, decimated) ------------/   ^
//!                                                          Access (token, hosts)
//! ```
//!
//! Live values go into a [`Feed`]; each frame is encoded once, for all viewers. A [`Library`] reads
//! result folders. A [`Dash`] is either of them with the rules of access to it ([`Access`]). It is
//! served by a [`Server`] of its own, or below `/dash/` by the server of a daemon ([`router()`], or
//! [`Mount`] where that server is no HTTP library). [`Hosted`] is all that a daemon needs: it requests
//! values while there is a viewer.
//!
//! # Messages of `/dash/live`
//! Text, one JSON object each. A client begins with `{"type":"start"}` or
//! `{"type":"resume","session":"..","after":N}`. It gets `hello`, `series`, `frame`, `table` and
//! `end`. A frame holds what changed; at least one in 50 holds all series. A client that reads too
//! slowly misses frames and continues with such a whole one. When another run begins, a `hello` with
//! another `session` follows on the same connection, and all that came before is over.
//!
//! What this crate is *not*: it decides nothing and draws nothing, and measures no more than rates and
//! means of what it is given.
#![forbid(unsafe_code)]

mod access;
mod client;
mod dash;
mod error;
mod feed;
mod hosted;
mod http;
mod results;
mod view;

pub use access::{Access, Token};
pub use client::{Client, ClientError, Event, SeriesInfo, Target};
pub use dash::Dash;
pub use error::DashError;
pub use feed::{About, Feed, Position, Round, Source, World};
pub use hosted::{Hosted, Prepared, RadioMeter, Sample, Settings};
pub use http::{Mount, Peer, Server, router};
pub use metric::{Kind, Metric};
pub use results::{Library, READER_THREAD};
pub use view::View;

/// The version of the format of the interface.
pub const FORMAT: u32 = 1;

/// The version of Brimful.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
