//! One path: the sending half with its congestion control, the receiving half with its
//! acknowledgements, and what may be sent again.
//!
//! ```text
//!   on_sent ----> [ Sender ] <---- acknowledgements of the peer       on_packet ----> [ Receiver ]
//!   room, send_time  |  acked, lost, late                                 acknowledgement  |
//!                    v                                                                     v
//!             [ Reliability ] -> payloads to send again              Ack Vector, Elapsed Time
//! ```
//!
//! A path is a DCCP connection (RFC 4340) whose congestion control counts packets (RFC 4341); the
//! endpoint makes the packets and checks their numbers, this module decides.

mod bits;
mod detection;
mod episode;
mod flight;
mod numbering;
mod rate;
mod receiver;
mod reliability;
mod rtt;
mod sender;

pub use rate::RateEstimate;
pub use receiver::{AckParts, Arrival, Gap, Receiver, ReceiverConfig, ReceiverCounters};
pub use reliability::{Reliability, ReliabilityConfig, ReliabilityCounters};
pub use sender::{
    AckOutcome, Acknowledgement, Counting, Sender, SenderConfig, SenderCounters, SentInfo,
    SentPacket,
};

#[cfg(test)]
mod tests;
