//! The multipath tunnel of an experiment, as a scenario file specifies it.
//!
//! Source: Pieska et al., "Performance Impact of Nested Congestion Control on Transport-Layer
//! Multipath Tunneling", Future Internet 16(7), 2024: tables 1 and 2 for the defaults.

use crate::experiment::{LinkSpec, ReportSpec};
use multipath::reorder::ReorderConfig;
use recovery::Validation;
use units::{Bytes, Duration, Packets};

/// A tunnel of several paths between the edge and each user.
#[derive(Clone, Debug, PartialEq)]
pub struct TunnelSpec {
    /// Its paths, at least one, in the file's order.
    pub paths: Vec<TunnelPathSpec>,
    /// Which path a packet takes, as [`multipath::scheduler::build`] takes it.
    pub scheduler: &'static str,
    /// How packets are put back in order.
    pub reorder: ReorderConfig,
    /// Longest packet inside; connections keep to it (MSS clamping).
    pub mtu: Bytes,
    /// Packets that wait for a path, at most.
    pub scheduler_buffer: Packets,
    /// Packets that a path lost are sent again up to this age; never if none.
    pub reliability: Option<Duration>,
    /// Which rules validate the congestion window of a path that is not used.
    pub validation: Validation,
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
}

/// What a path of a tunnel goes through.
#[derive(Clone, Debug, PartialEq)]
pub enum TunnelAccess {
    /// A wire of its own.
    Link(LinkSpec),
    /// The scenario's radio cell.
    Cell,
}

/// What carries a tunnel's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// DCCP in UDP: unreliable, its controller counts in packets.
    Dccp,
    /// A TCP connection: reliable, in order.
    Tcp,
}

impl Carrier {
    /// Its name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dccp => "dccp",
            Self::Tcp => "tcp",
        }
    }
}
