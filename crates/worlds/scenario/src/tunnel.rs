//! The multipath tunnel of an experiment, as a scenario file specifies it.
//!
//! Source: Pieska et al., "Performance Impact of Nested Congestion Control on Transport-Layer
//! Multipath Tunneling", Future Internet 16(7), 2024: tables 1 and 2 for the defaults.

use crate::experiment::{LinkSpec, ReportSpec};
use multipath::client::Supervision;
use multipath::tunnel::{Carrier, TunnelConfig};
use units::Duration;

/// A tunnel of several paths between the edge and each user.
#[derive(Clone, Debug, PartialEq)]
pub struct TunnelSpec {
    /// Its paths, at least one, in the file's order.
    pub paths: Vec<TunnelPathSpec>,
    /// Which path a packet takes, as [`multipath::scheduler::build`] takes it.
    pub scheduler: &'static str,
    /// What both ends have: reordering, buffers, times, the longest packet inside (connections keep to it: MSS
    /// clamping).
    pub connection: TunnelConfig,
    /// When the client opens paths again and begins connections anew.
    pub supervision: Supervision,
    /// Schedulers and controllers of a cellular path receive reports on its radio.
    pub uses_radio: bool,
    /// How those reports travel.
    pub reports: ReportSpec,
}

/// A path of a tunnel.
#[derive(Clone, Debug, PartialEq)]
pub struct TunnelPathSpec {
    /// Its name.
    pub name: String,
    /// What it goes through.
    pub access: TunnelAccess,
    /// What carries it.
    pub carrier: Carrier,
    /// Its congestion control, as [`cc::build`] takes it.
    pub cc: String,
    /// Its priority as RFC 9897 numbers them: 0 never, 1 standby, 2 secondary, 3 to 15 primary, the
    /// highest first.
    pub priority: u8,
    /// What happens to it, and when, in order of time.
    pub events: Vec<(Duration, PathEvent)>,
}

/// What happens to a path of a tunnel at the user's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// Its interface loses its link, and the client's end is notified: nothing is carried either way.
    LinkDown,
    /// It has it again, and the client's end is notified.
    LinkUp,
    /// A NAT on its way gives the socket another port, or has lost the TCP connection's: nothing from the other end
    /// arrives until packets from here have shown it the new one. Not reported.
    Rebind,
    /// The address that the socket is bound to is gone: it carries nothing any more, and another is needed.
    /// Reported by the next packet that a `dccp` path sends.
    SocketGone,
}

impl PathEvent {
    /// All of them, by their names in scenario files.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("link-down", Self::LinkDown),
        ("link-up", Self::LinkUp),
        ("rebind", Self::Rebind),
        ("socket-gone", Self::SocketGone),
    ];
}

/// What a path of a tunnel goes through.
#[derive(Clone, Debug, PartialEq)]
pub enum TunnelAccess {
    /// A wire of its own.
    Link(LinkSpec),
    /// The scenario's radio cell.
    Cell,
}
