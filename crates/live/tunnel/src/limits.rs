//! What the tunnel is made with: sizes, times, and the core's configuration from ours.

use crate::config::{Config, Encryption};
use crate::inner::MIN_MTU;
use multipath::auth::KeyType;
use multipath::tunnel::{Carrier, TunnelConfig};

/// Bytes that a packet's DCCP header takes on a path at most, beside one full packet inside: the
/// header itself (16), its number in the connection (9), and now and then a round-trip time (12) or
/// a priority (4), in words of four.
const OVERHEAD: usize = 48;
/// The same where packets are sealed: full ones are written in compact form.
const SEALED_OVERHEAD: usize = multipath::packet::COMPACT_LEN + secrecy::message::DATA_OVERHEAD;
/// Congestion control of a server's TCP connections.
pub(crate) const STREAM_CONTROLLER: &str = "cubic";

/// Bytes that a packet takes beside what it carries: of DCCP at most, and of what seals it.
pub(crate) fn overhead(encryption: Encryption) -> usize {
    match encryption {
        Encryption::On => SEALED_OVERHEAD,
        Encryption::None => OVERHEAD,
    }
}

/// What stands below and beside DCCP in a packet: IP and UDP, and what seals it with the byte of its form.
pub(crate) fn lower_headers(is_ipv6: bool, encryption: Encryption) -> usize {
    let sealing = match encryption {
        Encryption::On => secrecy::message::DATA_OVERHEAD + 1,
        Encryption::None => 0,
    };
    ip_udp(is_ipv6) + sealing
}

/// IP and UDP headers, bytes.
fn ip_udp(is_ipv6: bool) -> usize {
    if is_ipv6 { 48 } else { 28 }
}

/// A full packet on a path with all its headers, where packets inside have this MTU.
pub(crate) fn packet_size(mtu: usize, is_ipv6: bool, encryption: Encryption) -> usize {
    mtu + overhead(encryption) + ip_udp(is_ipv6)
}

/// Largest packet inside where nothing is known of the paths: Ethernet's 1,500 over IPv6.
pub(crate) fn usual_mtu(encryption: Encryption) -> usize {
    1_500 - 48 - overhead(encryption)
}

/// Largest packet inside that a path of this MTU takes.
pub(crate) fn inner_mtu(path_mtu: usize, is_ipv6: bool, encryption: Encryption) -> usize {
    path_mtu
        .saturating_sub(ip_udp(is_ipv6) + overhead(encryption))
        .clamp(MIN_MTU, 65_000)
}

/// The core's configuration of a connection.
pub(crate) fn tunnel_config(config: &Config, mtu: usize) -> TunnelConfig {
    TunnelConfig {
        mtu,
        is_compact: config.encryption == Encryption::On,
        // encrypted packets need no other key exchange than that of their sessions
        key_types: match config.encryption {
            Encryption::On => &[KeyType::Plain],
            Encryption::None => &[KeyType::Ecdhe, KeyType::Plain],
        },
        ..config.connection.clone()
    }
}

/// The core's name of a path's controller. A TCP connection has the kernel's, and the core needs
/// none for it.
pub(crate) fn controller(name: &str) -> &'static str {
    let all = Carrier::Dccp.controllers();
    let found = all.iter().find(|known| **known == name);
    found.copied().unwrap_or(all[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_inside() {
        let plain = Encryption::None;
        assert_eq!(inner_mtu(1_500, false, plain), 1_424);
        assert_eq!(inner_mtu(1_500, true, plain), usual_mtu(plain));
        assert_eq!(inner_mtu(600, false, plain), MIN_MTU, "IPv6 needs it");
        let sealed = Encryption::On;
        assert_eq!(inner_mtu(1_500, false, sealed), 1_443);
        assert_eq!(inner_mtu(1_500, true, sealed), usual_mtu(sealed));
    }
}
