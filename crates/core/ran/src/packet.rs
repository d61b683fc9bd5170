//! A packet within the cell.

use queue::{Ecn, Occupancy, Packet};
use units::{Bytes, Instant};

/// A packet, with what the cell notes down about it.
#[derive(Debug)]
pub(crate) struct Held<P> {
    pub(crate) packet: P,
    /// When it came to the UPF, or in the UE.
    pub(crate) arrived_at: Instant,
    pub(crate) qfi: u8,
    /// What waited in the RLC buffer as it came there.
    pub(crate) found: Occupancy,
}

impl<P: Packet> Packet for Held<P> {
    fn bytes(&self) -> Bytes {
        self.packet.bytes()
    }
    fn flow(&self) -> u64 {
        self.packet.flow()
    }
    fn qfi(&self) -> u8 {
        self.qfi
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn mark(&mut self) {
        self.packet.mark();
    }
    fn number(&self) -> Option<u64> {
        self.packet.number()
    }
}
