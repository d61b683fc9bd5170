//! What comes out of a cell.

use queue::Occupancy;
use units::Duration;

/// A UE by its place in the list that the cell was built with, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UeIndex(pub usize);

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the network to the UE.
    Downlink,
    /// From the UE to the network.
    Uplink,
}

impl Direction {
    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Downlink => Self::Uplink,
            Self::Uplink => Self::Downlink,
        }
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The cell has no such UE.
    UnknownUe,
    /// The queue that it came to was full, or its management rejected it.
    BufferFull,
    /// Queue management dropped it where it waited.
    QueueManagement,
    /// HARQ gave up, and the bearer is unacknowledged.
    HarqFailure,
    /// It was incomplete when t-Reassembly expired (unacknowledged mode).
    ReassemblyTimeout,
    /// RLC gave up after its last retransmission.
    RlcRetransmissions,
    /// Lost at random, as the bearer is configured.
    Random,
}

/// A layer above the RLC that has a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// User plane function.
    Upf,
    /// Service data adaptation protocol.
    Sdap,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output<P> {
    /// It has reached the other end: the UE, or the UPF.
    Delivered {
        /// The UE.
        ue: UeIndex,
        /// Which way it went.
        direction: Direction,
        /// The packet.
        packet: P,
        /// From its arrival (at the UPF, or in the UE) until the MAC had pulled its last byte.
        sojourn: Duration,
        /// How long it was whole at the other end and waited there for packets before it (PDCP delivers in order).
        held: Duration,
        /// What waited in the RLC buffer as it came there.
        found: Occupancy,
    },
    /// A downlink packet has left the queue of a layer above the RLC.
    Forwarded {
        /// The UE.
        ue: UeIndex,
        /// Number of the bearer in the UE's list, from 0.
        bearer: usize,
        /// Where it waited.
        layer: Layer,
        /// How long.
        sojourn: Duration,
    },
    /// It was dropped.
    Dropped {
        /// The UE.
        ue: UeIndex,
        /// Which way it went.
        direction: Direction,
        /// The packet.
        packet: P,
        /// Why.
        reason: DropReason,
    },
}
