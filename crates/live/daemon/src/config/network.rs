//! Networks, as routers write them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network as address and length of prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    address: IpAddr,
    length: u32,
}

impl Network {
    /// Whether an address is in it.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let (ours, other, bits) = match (self.address, ip.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                (u128::from(a.to_bits()), u128::from(b.to_bits()), 32)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
            _ => return false,
        };
        let host_bits = bits - self.length;
        host_bits == 128 || ours >> host_bits == other >> host_bits
    }

    /// Whether all addresses of another are in it.
    pub fn covers(&self, other: &Self) -> bool {
        self.contains(other.address) && self.length <= other.length
    }

    /// Whether it is one address.
    pub fn is_one_address(&self) -> bool {
        self.length == if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// Whether some address is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.address) || other.contains(self.address)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Network {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected a network like 10.0.0.0/8 or 2001:db8::/32".to_owned();
        let (address, length) = text.split_once('/').ok_or_else(expected)?;
        let address: IpAddr = address.parse().map_err(|_| expected())?;
        let length: u32 = length.parse().map_err(|_| expected())?;
        match length <= if address.is_ipv4() { 32 } else { 128 } {
            true => Ok(Self { address, length }),
            false => Err(expected()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_overlap_if_one_has_the_other() {
        let network = |text: &str| text.parse::<Network>().expect(text);
        let (wide, narrow) = (network("10.0.0.0/8"), network("10.1.2.0/24"));
        assert!(wide.overlaps(&narrow) && narrow.overlaps(&wide) && wide.overlaps(&wide));
        assert!(!narrow.overlaps(&network("10.1.3.0/24")));
        assert!(!wide.overlaps(&network("::/0")));
        assert_eq!(narrow.to_string(), "10.1.2.0/24");
    }

    #[test]
    fn a_network_holds_its_addresses_only() {
        let net: Network = "10.45.0.0/16".parse().expect("a network");
        assert!(net.contains(IpAddr::from([10, 45, 200, 1])));
        assert!(!net.contains(IpAddr::from([10, 46, 0, 1])));
        assert!(net.contains("::ffff:10.45.0.1".parse().expect("mapped")));
        let all: Network = "::/0".parse().expect("a network");
        assert!(all.contains("2001:db8::1".parse().expect("IPv6")));
        assert!(!all.contains(IpAddr::from([1, 1, 1, 1])));
        assert!("10.0.0.0/33".parse::<Network>().is_err());
    }
}
