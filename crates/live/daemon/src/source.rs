//! What limits by source address count as one source.

use std::net::{IpAddr, SocketAddr};

/// The source that an address belongs to: an IPv4 address (also in IPv6-mapped form) is its own, of IPv6 it
/// is the /64, of which one host can have all addresses.
pub fn source_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

/// The address that a request comes from: the peer's, or, where the peer is a reverse proxy on this machine
/// (loopback), the one that it appended to `X-Forwarded-For` or to `Forwarded` (RFC 7239, 5.2). Addresses before
/// the last are the client's own words and count for nothing.
///
/// `last_line` gives the value of the request's last header of a name.
pub fn client_address<'a>(peer: IpAddr, last_line: impl Fn(&str) -> Option<&'a str>) -> IpAddr {
    if !peer.to_canonical().is_loopback() {
        return peer;
    }
    let last = |line: &str| line.rsplit(',').next().and_then(node);
    let last_for = |line: &str| {
        let pairs = line.rsplit(',').next()?.split(';');
        let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = named.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
        node(value)
    };
    last_line("x-forwarded-for")
        .and_then(last)
        .or_else(|| last_line("forwarded").and_then(last_for))
        .unwrap_or(peer)
}

/// An address, with or without quotes, brackets and a port.
fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse().ok();
    address.or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()))
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

    #[test]
    fn a_reverse_proxy_on_this_machine_names_its_client() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let client = |peer: &str, x: Option<&'static str>, forwarded: Option<&'static str>| {
            let line = |name: &str| if name == "forwarded" { forwarded } else { x };
            client_address(address(peer), line).to_string()
        };
        let near = "127.0.0.1";
        assert_eq!(client(near, None, None), near);
        assert_eq!(client(near, Some("192.0.2.7"), None), "192.0.2.7");
        // the first is what the client wrote
        let two = Some("198.51.100.1, 192.0.2.7:4711");
        assert_eq!(client("::1", two, None), "192.0.2.7");
        let standard = Some("for=198.51.100.1, For=\"[2001:db8::7]:4711\";proto=https");
        assert_eq!(client(near, None, standard), "2001:db8::7");
        assert_eq!(client(near, Some("[2001:db8::7]"), standard), "2001:db8::7");
        for nothing in ["", "unknown", "_hidden", "for=", "[", "\""] {
            assert_eq!(
                client(near, Some(nothing), Some(nothing)),
                near,
                "{nothing}"
            );
        }
        // others' words count for nothing
        assert_eq!(client("203.0.113.9", two, standard), "203.0.113.9");
    }
}
