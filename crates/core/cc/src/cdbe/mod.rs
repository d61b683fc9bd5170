//! CDBE: the client measures the bandwidth at which data reaches it and reports it on its
//! acknowledgements; the server paces by the report and by the one-way delay.
//!
//! Source: Zhong, Hamchaoui, Ferrieux, Khatoun, Serhrouchni, "CDBE: A cooperative way to improve
//! end-to-end congestion control in mobile network" (WiMob 2018).
//!
//! ```text
//!   client                                    server
//!   segment -> [estimator] -> [cadence] -ACK-> [server] -> pacing interval (6), cwnd (7)
//!               (1)-(5)                          ^ (8), (9), states
//!                                    timestamps -+
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | [`estimator`] | the client's dual-window estimate, equations 1 to 5 |
//! | [`cadence`] | which acknowledgements carry it |
//! | [`server`] | the server's rate, window and states, equations 6 to 9 |
//! | [`steering`] | mode `default`: the queue that flows share, its target and drains |
//! | [`competing`] | mode `default` beside flows that do not let the queue run off |
//! | [`Constants`] | mode `default`: what of it can be set |
//! | [`clock`] | one-way delays out of timestamps of two clocks |
//! | `controller.rs` | the server as a [`CongestionControl`](crate::CongestionControl), with its bound and its fallback |
//!
//! `estimator`, `server`, `steering`, `competing` and `clock` reckon in whole numbers only: microseconds, bytes,
//! bytes a second and thousandths. They run in the kernel too (`kernel-cc/bpf/cdbe_model.h`), where there is nothing
//! else, and both must decide the same to the bit.

pub mod cadence;
pub mod clock;
pub mod competing;
mod constants;
mod controller;
pub mod estimator;
pub mod server;
pub mod steering;

pub use constants::Constants;
pub use controller::{Cdbe, Config};

/// Whose equations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As published.
    Paper,
    /// Ours.
    #[default]
    Default,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Paper, Self::Default];
    /// Their names, in the same order.
    pub const NAMES: &'static [&'static str] = &[Self::ALL[0].name(), Self::ALL[1].name()];

    /// The mode of that name in scenario files.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
    /// Its name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Default => "default",
        }
    }
}

/// The first report of a client, and what a server assumes before one, bytes a second (section
/// III-A-2: 1 MBps).
pub const INITIAL_REPORT: u32 = 1_000_000;
