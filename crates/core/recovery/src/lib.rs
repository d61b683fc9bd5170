//! What transports share beside congestion control: the parts of loss recovery and of sending that are the same for a
//! byte stream and for numbered packets.
//!
//! ```text
//!   round-trip times --> [ RttEstimator ] --> srtt, min_rtt, timeout
//!   deliveries, DSACKs -> [ Reordering ] ---> when a packet counts as lost
//!   sent, pacing rate --> [ Pacer ] --------> when the next may leave
//!   sent, acknowledged -> [ WindowUsage ] --> does cwnd limit the sender?
//!                         [ WindowValidation ] --> what becomes of a cwnd that is not used
//! ```
//!
//! | module | what | source |
//! | --- | --- | --- |
//! | [`rto`] | round-trip time, its variation, the retransmission timeout | RFC 6298 |
//! | [`reordering`] | the reordering window and the time of a loss | RFC 8985 6.2 |
//! | [`pacer`] | bursts at a rate | Linux internal pacing |
//! | [`usage`] | whether cwnd or the application limits the sender | Linux `tcp_is_cwnd_limited` |
//! | [`validation`] | congestion window validation | RFC 5681 4.1, RFC 2861 as in Linux, RFC 7661 |
//!
//! The simulator's TCP and the tunnel's paths use all of it. Where they differ, the difference is a parameter with its
//! source, or it stays with them.
//!
//! What this crate is *not*: it holds no packets. What was sent, what an acknowledgement names (TCP's scoreboard, DCCP's
//! Ack Vectors), when an episode begins and ends, and all timers are the transport's.
#![forbid(unsafe_code)]

pub mod pacer;
pub mod reordering;
pub mod rto;
pub mod usage;
pub mod validation;

pub use pacer::Pacer;
pub use reordering::Reordering;
pub use rto::{RtoConfig, RttEstimator};
pub use usage::{WindowUsage, is_full};
pub use validation::{
    Acked, EpisodeEnd, Resume, SentState, UnknownValidation, Validation, ValidationConfig,
    WindowState, WindowValidation,
};
