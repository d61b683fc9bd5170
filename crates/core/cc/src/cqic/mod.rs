//! CQIC: the client computes its bandwidth out of what its modem has of the radio link, and the
//! server sends at it.
//!
//! Source: Lu, Du, Jain, Voelker, Snoeren, Terzis, "CQIC: Revisiting Cross-Layer Congestion Control for
//! Cellular Networks" (HotMobile 2015), for HSPA+; Zhong, Hamchaoui, Khatoun, "Perils of using CQIC in
//! LTE network and a quick fix with delayed ACK" (CCNC 2018), for LTE; and what the paper of CDBE
//! (sections II-3, V-B) reports of both. It is CDBE's baseline here.
//!
//! | file | what |
//! | --- | --- |
//! | [`client`] | the rate out of CQI, PRBs and block errors |
//! | [`server`] | pacing rate and window by it |
//!
//! CQIC's client under CDBE's server (CQIC-S) is [`crate::cdbe::server`] fed by [`client`].

pub mod client;
pub mod server;

pub use client::Client;
