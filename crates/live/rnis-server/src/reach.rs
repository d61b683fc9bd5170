//! Where callbacks may go.
//!
//! A client names the address, so that the service could be made to send requests to what the client does not
//! reach, but this host: the operator's network. So callbacks go to the networks of `callback-networks` only, and
//! without any to none. What only this host reaches, its own services and the metadata of a cloud, is *guarded*:
//! permitted where a network inside the guarded range is listed, or
//! for one of this host's own addresses that address itself. An IPv6 address that carries an IPv4 address (mapped,
//! NAT64, 6to4 and others) is guarded as that one is.

use crate::config::Network;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Guarded ranges (RFC 6890, RFC 4291), the metadata services of two clouds among them.
const RANGES: [&str; 14] = [
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "192.0.0.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/128",
    "::1/128",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "fd00:ec2::/32",
    "fd20:ce::/32",
    "100::/64",
];
/// Metadata services of clouds that are in none of these ranges.
const METADATA: [&str; 2] = ["100.100.100.200/32", "168.63.129.16/32"];

/// The addresses that callbacks may go to.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// As configured; without any, no callback is permitted.
    networks: Vec<Network>,
    guarded: Vec<Network>,
}

impl Reach {
    /// With the configured networks.
    pub(crate) fn new(networks: &[Network]) -> Self {
        let parsed = RANGES.iter().chain(&METADATA).map(|text| text.parse());
        Self {
            networks: networks.to_vec(),
            guarded: parsed.filter_map(Result::ok).collect(),
        }
    }

    /// Whether no callback is permitted, wherever it goes.
    pub(crate) fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// Whether a callback may go to this address now: interfaces come and go.
    pub(crate) fn permits(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.names(ip)
            && self.is_free(ip)
            && embedded(ip).into_iter().all(|ip| self.is_free(ip.into()))
    }

    fn names(&self, ip: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(ip))
    }

    /// Whether it is not guarded, or named in spite of that.
    fn is_free(&self, ip: IpAddr) -> bool {
        let named = || self.networks.iter().filter(|network| network.contains(ip));
        let ranges: Vec<&Network> = self.guarded.iter().filter(|r| r.contains(ip)).collect();
        if !ranges.is_empty() {
            return named().any(|network| ranges.iter().any(|range| range.covers(network)));
        }
        named().any(Network::is_one_address) || !is_own(ip)
    }
}

/// Whether an address is one of this host's, of any interface. Only the kernel has all of them: a
/// socket can be bound to those alone. What cannot be decided is taken for one.
fn is_own(ip: IpAddr) -> bool {
    match UdpSocket::bind((ip, 0)) {
        Ok(_) => !binds_others(ip) || is_routed_to_itself(ip),
        Err(error) => error.kind() != ErrorKind::AddrNotAvailable,
    }
}

/// Whether sockets can be bound to addresses that are not this host's (`ip_nonlocal_bind`): then to this
/// one too, of a range that no host has.
fn binds_others(like: IpAddr) -> bool {
    let nowhere: IpAddr = match like {
        IpAddr::V4(_) => Ipv4Addr::new(240, 0, 0, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1).into(),
    };
    UdpSocket::bind((nowhere, 0)).is_ok()
}

/// Whether packets to an address come from it: the kernel routes those to this host's own so. Nothing is
/// sent.
fn is_routed_to_itself(ip: IpAddr) -> bool {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let routed = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((ip, 9))?;
        socket.local_addr()
    });
    routed.is_ok_and(|from| from.ip() == ip)
}

/// The IPv4 addresses that an IPv6 address carries, where a router or this host would go to those.
fn embedded(ip: IpAddr) -> Vec<Ipv4Addr> {
    let IpAddr::V6(ip) = ip else {
        return Vec::new();
    };
    let bits = ip.to_bits();
    let at = |low: u32| Ipv4Addr::from_bits((bits >> low) as u32);
    let starts = |prefix: &str, length: u32| {
        let prefix: Option<Ipv6Addr> = prefix.parse().ok();
        prefix.is_some_and(|prefix| (bits ^ prefix.to_bits()) >> (128 - length) == 0)
    };
    let mut carried = Vec::new();
    // IPv4-compatible (RFC 4291 2.5.5.1), and ISATAP in any network (RFC 5214 6.1)
    let interface = (bits >> 32) as u32;
    if starts("::", 96) || matches!(interface, 0x0000_5efe | 0x0200_5efe) {
        carried.push(at(0));
    }
    // NAT64: the well-known prefix (RFC 6052 2.1) and that for local use (RFC 8215), of any length
    if starts("64:ff9b::", 96) {
        carried.push(at(0));
    }
    if starts("64:ff9b:1::", 48) {
        // RFC 6052 2.2: bits 64 to 71 are left out
        let after_48 = ((bits >> 64) as u32 & 0xffff) << 16 | (bits >> 40) as u32 & 0xffff;
        let after_56 = ((bits >> 64) as u32 & 0xff) << 24 | (bits >> 32) as u32 & 0xff_ffff;
        carried.extend([after_48, after_56].map(Ipv4Addr::from_bits));
        carried.extend([at(24), at(0)]);
    }
    // 6to4 (RFC 3056 2)
    if starts("2002::", 16) {
        carried.push(at(80));
    }
    // Teredo: the server, and the client with all bits inverted (RFC 4380 4)
    if starts("2001::", 32) {
        carried.extend([at(64), Ipv4Addr::from_bits(!(bits as u32))]);
    }
    carried
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(networks: &[&str]) -> Reach {
        let networks: Vec<Network> = networks.iter().map(|n| n.parse().expect(n)).collect();
        Reach::new(&networks)
    }

    fn permits(reach: &Reach, ip: &str) -> bool {
        reach.permits(ip.parse().expect(ip))
    }

    /// The address from which this host reaches others, if it has one.
    fn own_address() -> Option<IpAddr> {
        let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
        socket.connect("192.0.2.200:9").ok()?;
        Some(socket.local_addr().ok()?.ip())
    }

    #[test]
    fn all_guarded_ranges_are_networks() {
        assert_eq!(reach(&[]).guarded.len(), RANGES.len() + METADATA.len());
    }

    #[test]
    fn callbacks_do_not_go_to_this_host_its_link_or_metadata() {
        for no in [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "::",
            "::1",
            "fe80::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::127.0.0.1",
            "64:ff9b:1:7f00:0:100::",
            "64:ff9b:1:a9fe:a9:fe00::",
            "2002:7f00:1::1",
            "2002:a9fe:a9fe::1",
            "2001:0:7f00:1::1",
            "2001:0:5db8:d822::80ff:fffe",
            "2001:db8::5efe:127.0.0.1",
        ] {
            assert!(
                !permits(&reach(&["0.0.0.0/0", "::/0"]), no),
                "{no}, all listed"
            );
        }
        for yes in ["10.255.0.1", "192.168.255.1", "93.184.216.34", "100.64.0.1"] {
            assert!(permits(&reach(&["0.0.0.0/0"]), yes), "{yes}");
            assert!(!permits(&reach(&[]), yes), "{yes}, none listed");
        }
    }

    #[test]
    fn own_addresses_of_every_interface_are_guarded() {
        let Some(own) = own_address() else {
            return;
        };
        assert!(!reach(&["0.0.0.0/0", "::/0"]).permits(own), "{own}");
        let itself = format!("{own}/{}", if own.is_ipv4() { 32 } else { 128 });
        assert!(reach(&[&itself]).permits(own), "{own}, named itself");
        if let IpAddr::V4(own) = own {
            let nat64 = Ipv6Addr::from_bits(0x0064_ff9b << 96 | u128::from(own.to_bits()));
            assert!(!reach(&["::/0"]).permits(nat64.into()), "{nat64}");
        }
    }

    #[test]
    fn packets_to_an_own_address_come_from_it() {
        assert!(is_routed_to_itself(Ipv4Addr::LOCALHOST.into()));
        if let Some(own) = own_address() {
            assert!(is_routed_to_itself(own) && is_own(own), "{own}");
        }
    }

    #[test]
    fn listed_networks_are_the_only_ones_and_guarded_ones_are_named() {
        let listed = reach(&["10.0.0.0/8", "127.0.0.0/8"]);
        assert!(permits(&listed, "10.255.0.1") && permits(&listed, "127.0.0.1"));
        assert!(permits(&listed, "::ffff:10.255.0.1"));
        for no in ["192.168.255.1", "169.254.169.254", "93.184.216.34", "::1"] {
            assert!(!permits(&listed, no), "{no}");
        }
    }
}
