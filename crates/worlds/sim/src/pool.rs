//! Packets on their way, stored once; queues and links move small handles.
//!
//! A handle carries what a queue needs (the wire size, the flow, ECN), so that a packet's body is
//! touched only where it is made and where it arrives. Every packet is taken out exactly once, on arrival or as
//! it is dropped; what is left at the end of a run is what queues and links hold.

use queue::{Ecn, Packet as QueuePacket};
use units::Bytes;

/// Bits of the wire size: IPv4 ends at 65,535 bytes, and TCP options of the simulator may stand above.
const SIZE_BITS: u32 = 17;
/// Bits of the ECN field.
const ECN_BITS: u32 = 2;
/// Where the flow's number begins. It has the remaining 13 bits.
const FLOW_SHIFT: u32 = SIZE_BITS + ECN_BITS;

/// What queues see of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    /// Bytes on the wire; less than 2^17.
    pub(crate) wire: Bytes,
    /// Its flow's number, as a queue would compute it from addresses and ports; of it 13 bits are
    /// kept, so that 8,192 numbers in a row differ.
    pub(crate) flow: u32,
    /// The ECN field of its IP header as it leaves.
    pub(crate) ecn: Ecn,
}

/// A packet in a [`Pool`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handle {
    index: u32,
    /// The label: wire size, ECN field and flow, from the lowest bit on.
    label: u32,
}

impl Handle {
    /// Bytes on the wire.
    pub(crate) fn wire_bytes(self) -> Bytes {
        Bytes::new(u64::from(self.label & ((1 << SIZE_BITS) - 1)))
    }

    fn new(index: u32, label: Label) -> Self {
        let bytes = u32::try_from(label.wire.get()).unwrap_or(u32::MAX);
        assert!(bytes < 1 << SIZE_BITS, "a packet has {}", label.wire);
        let label = bytes | bits_of(label.ecn) << SIZE_BITS | label.flow << FLOW_SHIFT;
        Self { index, label }
    }
}

/// The ECN field as RFC 3168 section 5 has it.
fn bits_of(ecn: Ecn) -> u32 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}

impl QueuePacket for Handle {
    fn bytes(&self) -> Bytes {
        self.wire_bytes()
    }
    fn flow(&self) -> u64 {
        u64::from(self.label >> FLOW_SHIFT)
    }
    fn ecn(&self) -> Ecn {
        match self.label >> SIZE_BITS & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    fn mark(&mut self) {
        self.label |= bits_of(Ecn::Ce) << SIZE_BITS;
    }
}

/// Storage of packets in flight.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    slots: Vec<Option<T>>,
    /// Of each slot the owner of its packet, by itself: it is looked at on the way, where the packet is in no cache.
    owners: Vec<u32>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            owners: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Pool<T> {
    /// Stores a packet of `owner`, of which links and queues see this label.
    pub(crate) fn insert(&mut self, packet: T, owner: u32, label: Label) -> Handle {
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = Some(packet);
            self.owners[index as usize] = owner;
            return Handle::new(index, label);
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets in flight");
        self.slots.push(Some(packet));
        self.owners.push(owner);
        Handle::new(index, label)
    }

    /// Whose packet it is.
    pub(crate) fn owner(&self, handle: Handle) -> u32 {
        self.owners[handle.index as usize]
    }

    /// Looks at a packet.
    pub(crate) fn get(&self, handle: Handle) -> &T {
        self.slots[handle.index as usize]
            .as_ref()
            .expect("a handle lives as long as its packet")
    }

    /// A packet, to be changed.
    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut T {
        self.slots[handle.index as usize]
            .as_mut()
            .expect("a handle lives as long as its packet")
    }

    /// Takes a packet out.
    pub(crate) fn take(&mut self, handle: Handle) -> T {
        self.free.push(handle.index);
        self.slots[handle.index as usize]
            .take()
            .expect("a packet is taken out once")
    }

    /// Packets stored now.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(wire: u64) -> Label {
        Label {
            wire: Bytes::new(wire),
            flow: 3,
            ecn: Ecn::NotEct,
        }
    }

    #[test]
    fn labels_are_read_as_written() {
        assert_eq!(size_of::<Handle>(), 8);
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            for (wire, flow) in [(1, 0), (1_500, 77), (65_563, 8_191), ((1 << 17) - 1, 8_192)] {
                let wire = Bytes::new(wire);
                let mut handle = Handle::new(5, Label { wire, flow, ecn });
                assert_eq!((handle.bytes(), handle.ecn()), (wire, ecn));
                assert_eq!(handle.flow(), u64::from(flow % 8_192));
                handle.mark();
                assert_eq!((handle.bytes(), handle.ecn()), (wire, Ecn::Ce));
                assert_eq!(handle.flow(), u64::from(flow % 8_192));
            }
        }
    }

    #[test]
    fn slots_are_reused_and_counted() {
        let mut pool = Pool::default();
        let a = pool.insert("a", 7, label(1500));
        let b = pool.insert("b", 8, label(40));
        assert_eq!(
            (pool.len(), *pool.get(a), b.bytes()),
            (2, "a", Bytes::new(40))
        );
        assert_eq!((pool.owner(a), pool.owner(b)), (7, 8));
        assert_eq!(pool.take(a), "a");
        let c = pool.insert("c", 9, label(52));
        assert_eq!((pool.owner(c), pool.owner(b)), (9, 8));
        assert_eq!((pool.len(), pool.slots.len(), *pool.get(c)), (2, 2, "c"));
    }
}
