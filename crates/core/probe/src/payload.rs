//! What of a packet is the UDP payload.

use core::net::{IpAddr, SocketAddr};
use units::Bytes;

/// Bytes of the IP and UDP headers of a packet between this address and here.
pub(crate) fn headers(peer: SocketAddr) -> Bytes {
    match peer.ip().to_canonical() {
        IpAddr::V4(_) => Bytes::new(28),
        IpAddr::V6(_) => Bytes::new(48),
    }
}

/// The payload of a packet of that size.
pub(crate) fn length(packet: Bytes, peer: SocketAddr) -> usize {
    let payload = packet.saturating_sub(headers(peer)).get();
    usize::try_from(payload).unwrap_or(usize::MAX)
}
