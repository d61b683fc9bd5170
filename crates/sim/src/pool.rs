//! Packets on their way, stored once; queues and links move small handles.
//!
//! A handle carries what a queue needs (the wire size), so that a packet's body is touched only
//! where it is made and where it arrives. Every packet is taken out exactly once, on arrival or as
//! it is dropped; what is left at the end of a run is what queues and links hold.

use queue::Packet as QueuePacket;
use units::Bytes;

/// A packet in a [`Pool`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handle {
    index: u32,
    /// Bytes on the wire.
    bytes: u32,
}

impl Handle {
    /// Bytes on the wire.
    pub(crate) fn wire_bytes(self) -> Bytes {
        Bytes::new(u64::from(self.bytes))
    }
}

impl QueuePacket for Handle {
    fn bytes(&self) -> Bytes {
        self.wire_bytes()
    }
}

/// Storage of packets in flight.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Pool<T> {
    /// Stores a packet that occupies `wire` bytes on links and in queues.
    pub(crate) fn insert(&mut self, packet: T, wire: Bytes) -> Handle {
        let bytes = u32::try_from(wire.get()).expect("a packet is smaller than 4 GB");
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = Some(packet);
            return Handle { index, bytes };
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets in flight");
        self.slots.push(Some(packet));
        Handle { index, bytes }
    }

    /// Looks at a packet.
    pub(crate) fn get(&self, handle: Handle) -> &T {
        self.slots[handle.index as usize]
            .as_ref()
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

    #[test]
    fn slots_are_reused_and_counted() {
        let mut pool = Pool::default();
        let a = pool.insert("a", Bytes::new(1500));
        let b = pool.insert("b", Bytes::new(40));
        assert_eq!(
            (pool.len(), *pool.get(a), b.bytes()),
            (2, "a", Bytes::new(40))
        );
        assert_eq!(pool.take(a), "a");
        let c = pool.insert("c", Bytes::new(52));
        assert_eq!((pool.len(), pool.slots.len(), *pool.get(c)), (2, 2, "c"));
    }
}
