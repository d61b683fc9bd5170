//! QUIC between hosts: real quinn-proto endpoints under simulated time.
//!
//! ```text
//!   write, close ──> [Connection] ──> poll_transmit ──> Datagram      crypto: TLS by rustls,
//!   read         <── quinn-proto  <── on_datagram   <── Datagram             with a tap
//!                        │                                            frames: what the tap reads
//!                        └──> quinn-cc: our controllers, and a monitor of them
//! ```
//!
//! The protocol, its loss detection, its pacing and its timers are quinn's, RFC 9000 and RFC 9002,
//! byte for byte: packets are encrypted, and what the network carries are real datagrams. Written here
//! is what quinn leaves to its user: time, randomness, datagrams, the application's stream, and what is
//! measured.
//!
//! A connection is one bidirectional stream, opened by the client, or (HTTP/3) one for each request. Applications read at once.
//! The client closes the connection when it has read all that the server sent.
//!
//! **Determinism.** Endpoints, connection identifiers and reset keys come from the connection's own
//! random stream. TLS keys are ring's, and differ from run to run: they change what packets contain,
//! not how long they are (one cipher suite, Ed25519, X25519, no session tickets), and nothing here
//! looks into a packet that the network carries. `std::time::Instant` is simulated: see [`clock`].
//!
//! What this module is *not*: it decides nothing of the protocol, and it is no attempt at QUIC's
//! speed.

mod clock;
mod config;
mod connection;
mod endpoint;
mod frames;
mod parameters;
mod tap;
#[cfg(test)]
mod tests;
mod tls;

pub(crate) use connection::{Connection, Datagram, EndSetup, StreamId, pair};
pub use parameters::ConfigError;
pub(crate) use parameters::{BuildController, Config};
pub(crate) use quinn_cc::TraceSink;
