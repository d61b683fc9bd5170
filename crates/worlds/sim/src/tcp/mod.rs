//! TCP connections without input or output: segments go in with their times, segments come out.
//!
//! ```text
//!            write, close                         read
//!                 |                                ^
//!            +---------+      acks, windows   +----------+
//!   segments |  sender | <------------------- | receiver |  segments
//!   <--------+---------+   poll_transmit      +----------+ <--------
//!             scoreboard, RACK-TLP, PRR,        reassembly, delayed
//!             RTO, pacing, `cc`                 acks, window
//! ```
//!
//! A [`Connection`] is one end, full duplex. Its payload has no content: only positions, lengths and
//! each byte's *origin*, the time at which the first server sent it, which survives a relay.
//!
//! | what | source | file |
//! | --- | --- | --- |
//! | connection states | RFC 9293 3.3.2 | `connection.rs` |
//! | selective acknowledgements | RFC 2018, 2883 (DSACK), 6675 (pipe) | `sender/scoreboard.rs`, `receiver/reassembly.rs` |
//! | loss detection, tail loss probe | RFC 8985 | [`recovery::reordering`], `sender/rack.rs`, `sender/probe.rs` |
//! | sending in recovery | RFC 6937 as revised by RFC 9937 | `sender/prr.rs` |
//! | spurious recovery | RFC 3522, 4015 (Eifel), 3708 (DSACK) | `sender/recovery.rs` |
//! | retransmission timer | RFC 6298, floor as in Linux | [`recovery::rto`] |
//! | limited transmit | RFC 3042, by the pipe of RFC 6675 | `sender/transmit.rs` |
//! | pacing | Linux internal pacing | [`recovery::pacer`] |
//! | windows that are not used | RFC 5681 4.1, RFC 2861, RFC 7661 | [`recovery::validation`], `sender/validation.rs` |
//! | Nagle, silly window avoidance, zero-window probes | RFC 1122 4.2.3.4, 4.2.2.17 | `sender/transmit.rs` |
//! | delayed acknowledgements | RFC 1122 4.2.3.2, 5681 4.2, Linux quick acks | `receiver/ack.rs` |
//! | explicit congestion notification | RFC 3168, 8257 3.2 | `sender/marks.rs`, `receiver/echo.rs` |
//! | accurate feedback of it | RFC 9768 | `accecn` |
//! | timestamps, window scale | RFC 7323 | `receiver/mod.rs`, `receiver/window.rs` |
//!
//! Positions are `u64` offsets of the stream and cannot wrap around: SYN is 0, data begins at 1.
//!
//! *Deviations* from Linux, with their reasons, are listed in `docs/algorithms/tcp.md`.

mod accecn;
mod config;
mod connection;
mod ranges;
mod receiver;
mod segment;
mod sender;
mod stats;
#[cfg(test)]
mod tests;

pub use accecn::{AccEcnOption, ByteCounts, FieldOrder};
pub use config::{Config, ConfigError, EcnConfig, EcnEcho};
pub use connection::{CloseReason, Connection};
#[cfg(feature = "quic")]
pub(crate) use ranges::RangeSet;
pub use ranges::Span;
pub use segment::{Flags, SackBlocks, Segment};
pub use stats::{ReadChunk, RttSample, Stats};
