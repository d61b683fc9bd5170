//! Congestion control.
//!
//! ```text
//!            on_sent -> PacketStamp        cwnd
//! transport  on_ack(AckSample)      [cc]   pacing_rate       transport
//!            on_loss(LossSample)           next_deadline
//! ```
//!
//! A controller is handed time, packets and acknowledgements, and answers how much may be in flight
//! and how fast it may leave. Loss detection, retransmission, fast recovery's sending rule (PRR) and
//! timers are the transport's; a controller never sees a socket or a clock.
//!
//! | module | algorithm | source |
//! | --- | --- | --- |
//! | [`newreno`] | NewReno | RFC 5681, RFC 6582, RFC 3465 |
//! | [`cubic`] | Cubic, HyStart, HyStart++ | RFC 9438, Linux, RFC 9406 |
//! | [`vegas`] | Vegas | Brakmo and Peterson 1995, Linux |
//! | [`westwood`] | Westwood+ | Grieco and Mascolo 2004 |
//! | [`yeah`] | YeAH-TCP | Baiocchi et al. 2007, Linux |
//! | [`veno`] | Veno | Fu and Liew 2003 |
//! | [`bbr`] | BBR version 1 | draft-cardwell-iccrg-bbr-congestion-control-00, Linux |
//! | [`bbr3`] | BBR versions 2 and 3 | Linux `tcp_bbr2.c`, draft-ietf-ccwg-bbr-06 |
//! | [`dctcp`] | DCTCP | RFC 8257 |
//! | [`prague`] | Prague | draft-briscoe-iccrg-prague-congestion-control, RFC 9331 |
//! | [`meld`] | MELD round any of them | Diarra et al. 2021 |
//! | [`cdbe`] | CDBE, the client's part and the server's | Zhong et al. 2018 |
//! | [`cqic`] | CQIC, the same | Lu et al. 2015 |
//! | [`delivery_rate`] | rate samples | draft-cheng-iccrg-delivery-rate-estimation-00 |
//!
//! [`build`] makes one by the name that scenario files use.
//!
//! What this crate is *not*: it is no transport, and it has no packet format.
#![forbid(unsafe_code)]

pub mod bbr;
pub mod bbr3;
mod bbr_parts;
pub mod cdbe;
mod controller;
pub mod cqic;
pub mod cubic;
pub mod dctcp;
pub mod delivery_rate;
mod feedback;
mod marks;
pub mod meld;
pub mod newreno;
pub mod prague;
mod radio_state;
mod registry;
mod reno;
mod rtt_round;
pub mod vegas;
pub mod veno;
pub mod westwood;
mod window;
pub mod yeah;

pub use controller::{
    AckSample, Allocation, CloneController, CongestionControl, Ctx, LossKind, LossSample,
    PacketStamp, RecoveryEnd, Sent, Trace, ValidatedWindow,
};
pub use feedback::{Arrival, Feedback, RateReport, RateReporter, RateView, Reporter, Timestamps};
pub use radio_state::RadioState;
pub use registry::{
    BuildConfig, CONTROLLERS, Controller, UnknownController, build, find, named, names, names_of,
};
