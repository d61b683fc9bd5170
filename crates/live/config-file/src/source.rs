//! What limits by source address count as one source.

use std::net::IpAddr;

/// The source that an address belongs to: an IPv4 address (also in IPv6-mapped form) is its own, of IPv6 it
/// is the /64, of which one host can have all addresses.
pub fn source_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        source_network(text.parse().expect("an address")).to_string()
    }

    #[test]
    fn one_host_is_one_source() {
        assert_eq!(of("2001:db8:0:1::1"), "2001:db8:0:1::");
        assert_eq!(of("2001:db8:0:1:ffff:ffff:ffff:ffff"), "2001:db8:0:1::");
        assert_eq!(of("2001:db8:0:2::1"), "2001:db8:0:2::");
        assert_eq!(of("192.0.2.7"), "192.0.2.7");
        assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
    }
}
