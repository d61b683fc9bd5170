//! An address prefix, as routers write it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// All addresses that share their first bits, e.g. `10.45.0.0/24`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// Why a text is no prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no address prefix: {problem}; expected for example \"10.45.0.0/24\"")]
pub struct ParsePrefixError {
    text: String,
    problem: String,
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The first `length` bits of 128.
fn mask(length: u8) -> u128 {
    u128::MAX
        .checked_shl(128 - u32::from(length))
        .unwrap_or_default()
}

impl Prefix {
    /// True for IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.address.is_ipv6()
    }

    /// True if the address has these first bits; an IPv4 address mapped into IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.address.is_ipv4() == address.is_ipv4()
            && (bits(address) ^ bits(self.address)) & mask(self.length) == 0
    }
}

impl FromStr for Prefix {
    type Err = ParsePrefixError;
    /// An address alone is a prefix of its full length; bits behind the length must be zero.
    fn from_str(text: &str) -> Result<Self, ParsePrefixError> {
        let error = |problem: &str| ParsePrefixError {
            text: text.to_owned(),
            problem: problem.to_owned(),
        };
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address
            .trim()
            .parse()
            .map_err(|_| error("not an IP address"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(length) => length
                .trim()
                .parse()
                .ok()
                .filter(|length| *length <= most)
                .ok_or_else(|| error(&format!("the length must be 0 to {most}")))?,
        };
        if bits(address) & !mask(length) != 0 {
            let first = bits(address) & mask(length);
            let first: IpAddr = match address {
                IpAddr::V4(_) => Ipv4Addr::from_bits((first >> 96) as u32).into(),
                IpAddr::V6(_) => Ipv6Addr::from_bits(first).into(),
            };
            return Err(error(&format!(
                "bits behind the length are set; the prefix is {first}/{length}"
            )));
        }
        Ok(Self { address, length })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().expect("a prefix")
    }

    #[test]
    fn membership() {
        let v4 = prefix("10.45.0.0/24");
        assert!(v4.contains("10.45.0.255".parse().expect("an address")));
        assert!(!v4.contains("10.45.1.0".parse().expect("an address")));
        assert!(v4.contains("::ffff:10.45.0.1".parse().expect("an address")));
        let all = prefix("0.0.0.0/0");
        assert!(all.contains("255.255.255.255".parse().expect("an address")));
        assert!(!all.contains("2001:db8::1".parse().expect("an address")));
        let v6 = prefix("2001:db8:45::/48");
        assert!(v6.contains("2001:db8:45:ffff::1".parse().expect("an address")));
        assert!(!v6.contains("2001:db8:46::1".parse().expect("an address")));
    }

    #[test]
    fn faults_name_what_is_allowed() {
        let message = |text: &str| text.parse::<Prefix>().expect_err("refused").to_string();
        assert!(message("10.45.0.7/24").contains("the prefix is 10.45.0.0/24"));
        assert!(message("10.45.0.0/33").contains("0 to 32"));
        assert!(message("ue").contains("not an IP address"));
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(address in any::<u32>(), length in 0u8..=32) {
            let address = Ipv4Addr::from_bits(address & (mask(length) >> 96) as u32);
            let p: Prefix = format!("{address}/{length}").parse().expect("a prefix");
            prop_assert_eq!(p.to_string().parse(), Ok(p));
            prop_assert!(p.contains(address.into()));
        }

        #[test]
        fn never_panics(text in ".{0,40}") {
            let _ = text.parse::<Prefix>();
        }
    }
}
