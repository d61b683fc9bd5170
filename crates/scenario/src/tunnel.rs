//! The multipath tunnel of an experiment, as a scenario file says it.
//!
//! Source: Pieska et al., "Performance Impact of Nested Congestion Control on Transport-Layer
//! Multipath Tunneling", Future Internet 16(7), 2024: tables 1 and 2 for the defaults.

use crate::experiment::{LinkSpec, ReportSpec};
use units::{Duration, Packets};

/// A tunnel of several paths between the edge and each user.
#[derive(Clone, Debug, PartialEq)]
pub struct TunnelSpec {
    /// Its paths, at least one, in the file's order.
    pub paths: Vec<TunnelPathSpec>,
    /// Which path a packet takes.
    pub scheduler: TunnelScheduler,
    /// How packets are put back in order.
    pub reorder: TunnelReorder,
    /// What adaptive reordering waits beyond the paths' difference.
    pub margin: Duration,
    /// No packet waits longer than this for those before it; what `fixed` waits.
    pub max_wait: Duration,
    /// What happens to a packet that comes after its place was given up.
    pub late: LatePolicy,
    /// Packets are known lost from the paths' own sequence numbers, before their time is out.
    pub fast_loss_detection: bool,
    /// Packets of faster paths are held by the difference to the slowest.
    pub delay_equalisation: bool,
    /// Packets that wait for a path, at most.
    pub scheduler_buffer: Packets,
    /// Packets that wait for those before them, at most.
    pub reorder_buffer: Packets,
    /// Packets that a path lost are sent again up to this age; never if none.
    pub reliability: Option<Duration>,
    /// Schedulers and controllers of a cellular path are told of its radio.
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

/// Which path of a tunnel a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelScheduler {
    /// The path of the highest priority that has room.
    CheapestPathFirst,
    /// Of the paths with room that with the lowest smoothed round-trip time.
    LowestRtt,
    /// The paths with room in turn.
    RoundRobin,
    /// All paths with room.
    Redundant,
    /// Out-of-order transmission for in-order arrival: the path on which it arrives first.
    Otias,
    /// Cheapest path first that knows what each path can carry, and what the flows need.
    Aware,
}

impl TunnelScheduler {
    /// The scheduler of this name in scenario files.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "cpf" => Self::CheapestPathFirst,
            "srtt" => Self::LowestRtt,
            "rr" => Self::RoundRobin,
            "redundant" => Self::Redundant,
            "otias" => Self::Otias,
            "aware" => Self::Aware,
            _ => return None,
        })
    }
}

/// How a tunnel's packets are put back in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelReorder {
    /// Not at all.
    None,
    /// A packet waits up to a fixed time for those before it.
    Fixed,
    /// It waits as long as the paths' latencies differ, and a margin.
    Adaptive,
    /// It waits as long as the slowest path's latency is above its own, and a margin.
    Equalised,
    /// As adaptive with 150 ms more, so that a carrier's retransmissions arrive in time.
    Static,
}

impl TunnelReorder {
    /// The reordering of this name in scenario files.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "fixed" => Self::Fixed,
            "adaptive" => Self::Adaptive,
            "equalised" => Self::Equalised,
            "static" => Self::Static,
            _ => return None,
        })
    }
}

/// What happens to a packet of a tunnel that comes after its place was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatePolicy {
    /// It is passed on, out of order.
    Forward,
    /// It is dropped.
    Drop,
}
