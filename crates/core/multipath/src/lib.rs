//! Multipath DCCP (RFC 9897) as values and decisions: several paths between two ends, each with a
//! congestion controller of its own, carry one stream of packets.
//!
//! ```text
//!   send(P) -> [ scheduler buffer ] -> scheduler -> path -> poll_transmit -> (network)
//!                                                   path
//!   poll_delivery(P) <- [ reordering ] <------------ path <- receive <------ (network)
//! ```
//!
//! | module | what | source |
//! | --- | --- | --- |
//! | [`auth`] | keys, and what is proved with them | RFC 9897 section 3.2.6; the pre-shared key is ours |
//! | [`class`] | which packets inside are latency-sensitive | RFC 4594; patterns are ours |
//! | [`client`] | the client's paths: when they are opened, renewed, begun anew | |
//! | [`ecn`] | the ECN field on the way in and out | RFC 6040 |
//! | [`features`] | what both ends of a path agree on | RFC 4340 section 6 |
//! | [`join`] | joining a path; handshakes that are not finished | RFC 9897 section 3.3 |
//! | [`mtu`] | how large packets on a path may be | RFC 8899 |
//! | [`packet`] | DCCP packets and options as values, and as bytes | RFC 4340, RFC 9897 |
//! | [`parity`] | forward error correction of latency-sensitive packets | ours |
//! | [`path`] | congestion control, loss detection and acknowledgements of a path | RFC 4340 11, RFC 4341 |
//! | [`provision`] | what new connections are made with | |
//! | [`reorder`] | putting packets in order again | Pieska et al. 2024 |
//! | [`scheduler`] | which path a packet takes | Pieska et al. 2024 |
//! | [`seq`] | sequence numbers of 48 bits | RFC 4340 section 3.1 |
//! | [`signal`] | addresses and priorities, repeated until confirmed | RFC 9897 sections 3.2.1, 3.2.8 to 3.2.10 |
//! | [`server`] | many connections at one server | RFC 6773 section 3.3 |
//! | [`tunnel`] | one end of a connection: all of it together | RFC 9897 |
//!
//! A payload is any `P:` [`Payload`]: an IP packet's bytes in the daemon, a packet of the simulator
//! there. Time and randomness are arguments; nothing here has a socket.
//!
//! What this crate is *not*: it encrypts nothing (MP-DCCP authenticates joins only; the daemon seals packets by `secrecy`), it opens no
//! socket or device, and it does not look into payloads.
#![forbid(unsafe_code)]

pub mod auth;
pub mod class;
pub mod client;
pub mod ecn;
pub mod features;
pub mod join;
pub mod mtu;
pub mod packet;
pub mod parity;
pub mod path;
pub mod provision;
pub mod reorder;
pub mod scheduler;
pub mod seq;
pub mod server;
pub mod signal;
pub mod tunnel;

pub use client::Client;
pub use seq::{MpSeq, SeqNo};
pub use server::Server;
pub use tunnel::Tunnel;

use units::Ecn;

/// What the tunnel carries: one packet of the traffic inside.
pub trait Payload: Clone {
    /// Its length in bytes.
    fn len(&self) -> usize;
    /// True if it has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The ECN codepoint of its IP header.
    fn ecn(&self) -> Ecn;
    /// What its headers show of its flow; nothing unless the payload can be read.
    fn label(&self) -> class::FlowLabel {
        class::FlowLabel::default()
    }
    /// It is of use only with what was handed in before it, and is dropped with that: a part, not the first, of datagrams that
    /// travel as one.
    fn follows(&self) -> bool {
        false
    }
    /// The parity of these, from which [`Self::rebuilt`] makes any one of them that is missing ([`parity::parity`] of their
    /// bytes); none unless payloads have one.
    fn parity(_of: &[Self]) -> Option<Self> {
        None
    }
    /// Of a parity: the packet that is missing beside these others; none if they are not of one group.
    fn rebuilt(&self, _others: &[Self]) -> Option<Self> {
        None
    }
    /// Sets congestion experienced in its IP header; called only for packets that are ECT(0) or ECT(1).
    fn mark(&mut self);
}

/// A path of a connection, by the order in which this end learned of it: 0 is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u8);
