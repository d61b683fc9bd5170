//! The lab: the experiments of the simulator on this machine's kernel, in real time.
//!
//! ```text
//!   [ servers ]            [ edge ]                [ UE 1 ] [ UE 2 ]        network namespaces
//!   traffic, eth0        wan0  (pep)  ran0        radio0    radio0
//!        \________tun________/          \______tun_____/________/
//!              radio: wires, the cell of crate `ran`, clocked by CLOCK_MONOTONIC
//!              measure: what the packets show       reports: radio reports on a Unix socket
//! ```
//!
//! A base station may be in two parts with F1-U between them on a wire (`split`), off which the radio is read. Between it and the
//! core may be N3 on a wire (`n3`), on which packets can be marked.
//!
//! Of several cells there is an edge at each site, between which split connections move.
//!
//! [`run()`] takes what the simulator takes, a [`scenario::Experiment`] and a seed, and gives the same
//! [`scenario::RunResult`]. Connections are the kernel's; the wires, the cell, the applications'
//! timing and the meters are the simulator's own (crates `ran` and `network`).
//!
//! What this crate is *not*: it decides nothing that a mechanism should decide, it changes nothing
//! outside of its own namespaces, and it leaves nothing behind.

mod cdbe;
mod check;
mod child;
mod cleanup;
mod clock;
mod error;
mod fit;
mod gtp;
mod label;
mod measure;
mod meld;
mod n3;
mod names;
mod namespace;
mod note;
mod offload;
mod packet;
mod pep;
mod quic;
mod radio;
mod reports;
mod run;
mod shell;
mod sites;
mod split;
mod sys;
mod topology;
mod traffic;
mod tun;
mod tunnel;
mod uplink;

pub use check::check;
pub use error::Error;
pub use fit::{Fitted, MAX_DATAGRAMS, MAX_RATE, fit, scaled};
pub use run::{Options, is_running, run};
pub use shell::{
    Host, Place, Programs, ShellOutcome, ShellSession, check_shell, content_path, occupy, shell,
};
