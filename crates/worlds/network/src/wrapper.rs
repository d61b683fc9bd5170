//! Packets with what is noted of them on their way.

/// A struct with a packet in its field `packet` is that packet to a queue.
macro_rules! is_packet {
    ($wrapper:ident) => {
        impl<P: queue::Packet> queue::Packet for $wrapper<P> {
            fn bytes(&self) -> units::Bytes {
                self.packet.bytes()
            }
            fn flow(&self) -> u64 {
                self.packet.flow()
            }
            fn ecn(&self) -> queue::Ecn {
                self.packet.ecn()
            }
            fn mark(&mut self) {
                self.packet.mark();
            }
            fn number(&self) -> Option<u64> {
                self.packet.number()
            }
        }
    };
}

pub(crate) use is_packet;
