//! What the tunnel is made with: sizes, times, and the core's configuration from ours.

use crate::config::{Config, Encryption};
use crate::inner::MIN_MTU;
use crate::udp::MAX_BYTES;
use daemon::config::Network;
use multipath::auth::KeyType;
use multipath::mtu::DiscoveryConfig;
use multipath::tunnel::{Carrier, PathMtu, TunnelConfig};
use units::Bytes;

/// Bytes that a packet's DCCP header takes on a path at most, beside one full packet inside: the
/// header itself (16), its number in the connection (9), and now and then a round-trip time (12) or
/// a priority (4), in words of four.
const OVERHEAD: usize = 48;
/// The same where packets are sealed: full ones are written in compact form.
const SEALED_OVERHEAD: usize = multipath::packet::COMPACT_LEN + secrecy::message::DATA_OVERHEAD;
/// Largest packet inside: a TCP carrier's frames hold no larger one.
const MAX_INNER: usize = 65_000;
/// Smallest MTU of a device without IPv6 (RFC 791: every host takes so much).
const MIN_MTU_V4: usize = 576;
/// Smallest path of IPv6, whose datagrams every path is taken to carry.
const MIN_PATH: usize = 1_280;
/// What a link takes of which nothing is known: Ethernet's.
const USUAL_LINK: usize = 1_500;
/// With encryption: short packets are as a rule acknowledgements inside, of whose acknowledgements a download would have one
/// for two. Without it they keep the ratio of all others: a download over a path without limits, NewReno, had 0.8 instead of
/// 3.9 Gbit/s with this one.
const SHORT_ACK_RATIO: u32 = 16;
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
pub(crate) fn ip_udp(is_ipv6: bool) -> usize {
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

/// Largest packet inside: what the device holds, or over this family of IP what a link takes of which nothing is known.
pub(crate) fn link_mtu(config: &Config, is_ipv6: bool) -> usize {
    let usual = inner_mtu(USUAL_LINK, is_ipv6, config.encryption);
    config.tun.mtu.unwrap_or(usual)
}

/// Largest packet inside that a path of this MTU takes.
pub(crate) fn inner_mtu(path_mtu: usize, is_ipv6: bool, encryption: Encryption) -> usize {
    path_mtu
        .saturating_sub(ip_udp(is_ipv6) + overhead(encryption))
        .clamp(MIN_MTU, MAX_INNER)
}

fn size(bytes: usize) -> Bytes {
    Bytes::new(bytes as u64)
}

/// How large datagrams on a path may be: as configured, or as probes find. They begin at what carries the smallest MTU of
/// IPv6 inside, and end at what its link takes.
pub(crate) fn path_mtu(config: &Config, fixed: Option<usize>) -> PathMtu {
    match fixed {
        // of IPv6, until the path's family is known
        Some(mtu) => PathMtu::Fixed(size(mtu.saturating_sub(ip_udp(true)))),
        None => PathMtu::Found(DiscoveryConfig {
            min: size(MIN_PATH - ip_udp(true)),
            base: size(MIN_MTU + overhead(config.encryption)),
            max: largest_datagram(config, USUAL_LINK, false),
        }),
    }
}

/// The largest datagram that a link takes whose IP packets have up to `mtu` bytes, and that the device can fill.
pub(crate) fn largest_datagram(config: &Config, mtu: usize, is_ipv6: bool) -> Bytes {
    let inner = config.tun.mtu.unwrap_or(MAX_INNER);
    let most = (inner + overhead(config.encryption)).min(MAX_BYTES);
    size(mtu.saturating_sub(ip_udp(is_ipv6)).min(most))
}

/// The device's MTU where all paths take packets of `inner` bytes. IPv6 inside has its minimum, whatever they take.
pub(crate) fn device_mtu(config: &Config, inner: Bytes) -> usize {
    let addresses = &config.tun.addresses;
    let is_v4 = !addresses.is_empty()
        && addresses.iter().all(|of| of.address.is_ipv4())
        && !"::/0"
            .parse()
            .is_ok_and(|v6: Network| config.tun.routes.iter().any(|route| v6.overlaps(route)));
    let min = if is_v4 { MIN_MTU_V4 } else { MIN_MTU };
    usize::try_from(inner.get())
        .unwrap_or(MAX_INNER)
        .clamp(min, MAX_INNER)
}

/// The core's configuration of a connection.
pub(crate) fn tunnel_config(config: &Config, mtu: usize) -> TunnelConfig {
    TunnelConfig {
        mtu,
        is_compact: config.encryption == Encryption::On,
        short_ack_ratio: match config.encryption {
            Encryption::On => SHORT_ACK_RATIO,
            Encryption::None => config.connection.short_ack_ratio,
        },
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
        assert_eq!(inner_mtu(1_500, false, sealed), 1_445);
        assert_eq!(inner_mtu(1_500, true, sealed), usual_mtu(sealed));
    }

    fn config(text: &str) -> Config {
        let text = format!(
            "encryption = \"none\"\nkey-file = \"/k\"\nremote = \"192.0.2.1:1\"\n{text}\n[[path]]\nname = \"a\"\n"
        );
        Config::parse("t.toml", &text, crate::Role::Client).expect("valid")
    }

    #[test]
    fn a_search_begins_with_what_carries_the_smallest_packet_of_ipv6() {
        let PathMtu::Found(found) = path_mtu(&config(""), None) else {
            panic!("a search")
        };
        let sizes = [found.min, found.base, found.max].map(Bytes::get);
        assert_eq!(sizes, [1_232, 1_280 + 48, 1_472]);
        let fixed = path_mtu(&config(""), Some(1_400));
        assert_eq!(fixed, PathMtu::Fixed(Bytes::new(1_352)));
    }

    #[test]
    fn no_larger_probe_than_the_link_or_the_device_can_fill() {
        let any = config("");
        assert_eq!(largest_datagram(&any, 9_000, false), Bytes::new(8_972));
        assert_eq!(largest_datagram(&any, 9_000, true), Bytes::new(8_952));
        assert_eq!(largest_datagram(&any, 65_536, false), Bytes::new(65_048));
        let small = config("[tun]\nmtu = 1300");
        assert_eq!(largest_datagram(&small, 9_000, false), Bytes::new(1_348));
    }

    #[test]
    fn a_full_packet_fills_the_usual_link_over_either_family() {
        let full = |text: &str, is_ipv6| {
            let mtu = link_mtu(&config(text), is_ipv6);
            packet_size(mtu, is_ipv6, Encryption::None)
        };
        assert_eq!([full("", false), full("", true)], [1_500, 1_500]);
        assert_eq!(full("[tun]\nmtu = 1300", false), 1_376);
        assert_eq!(full("[tun]\nmtu = 9000", true), 9_096);
    }

    #[test]
    fn a_device_with_ipv6_keeps_its_minimum() {
        let mtu = |text: &str, inner| device_mtu(&config(text), Bytes::new(inner));
        let (v4, v6) = (
            "[tun]\naddresses = [\"10.0.0.1/24\"]",
            "[tun]\naddresses = [\"fd00::1/64\"]",
        );
        assert_eq!(mtu(v4, 1_176), 1_176);
        assert_eq!((mtu(v6, 1_176), mtu("", 1_176)), (1_280, 1_280));
        assert_eq!(mtu(&format!("{v4}\nroutes = [\"::/0\"]"), 1_176), 1_280);
        assert_eq!((mtu(v4, 8_896), mtu(v4, 65_100)), (8_896, 65_000));
    }
}
