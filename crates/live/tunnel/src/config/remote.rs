//! Where a server is: an address, or a name of the DNS.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// Longest name of the DNS, in its text form.
const MAX_NAME: usize = 253;

/// A server with its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remote {
    /// By its address.
    Address(SocketAddr),
    /// By a name, which is resolved when a path is opened.
    Name(HostPort),
}

/// A name of the DNS and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    /// The name.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Remote {
    /// The address, if it is one.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Name(_) => None,
        }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        match self {
            Self::Address(address) => address.port(),
            Self::Name(name) => name.port,
        }
    }
}

impl From<SocketAddr> for Remote {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

impl FromStr for Remote {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let expected = || {
            "expected a server with its port, for example \"192.0.2.1:6511\", \"[2001:db8::1]:6511\" or \
             \"tunnel.example.net:6511\""
                .to_owned()
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
        let port: u16 = port.parse().map_err(|_| expected())?;
        match is_name(host) && port > 0 {
            true => Ok(Self::Name(HostPort {
                host: host.to_owned(),
                port,
            })),
            false => Err(expected()),
        }
    }
}

/// Labels of letters, digits, `-` and `_`; the last one is no number, which would be an address that is incomplete.
fn is_name(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (1..=63).contains(&label.len()) && label.chars().all(is_plain) && !label.starts_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= MAX_NAME
        && name.split('.').all(is_label)
        && !last.chars().all(|c| c.is_ascii_digit())
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_and_names_are_servers() {
        let of = |text: &str| text.parse::<Remote>();
        assert!(of("192.0.2.1:6511").is_ok_and(|remote| remote.address().is_some()));
        assert!(of("[2001:db8::1]:443").is_ok_and(|remote| remote.port() == 443));
        for name in [
            "tunnel.example.net:6511",
            "localhost:1",
            "a_b.example.:9",
            "xn--bcher-kva.example:6511",
        ] {
            let remote = of(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(matches!(remote, Remote::Name(_)));
            assert_eq!(remote.to_string(), name);
        }
        for bad in [
            "",
            "example.net",
            "example.net:",
            "example.net:0",
            "example.net:70000",
            "192.0.2:6511",
            "256.1.1.1:6511",
            "2001:db8::1:6511",
            "a..b:1",
            "-a.example:1",
            "b\u{fc}cher.example:1",
            "a b:1",
            ":6511",
        ] {
            let error = of(bad).expect_err(bad);
            assert!(error.contains("expected a server with its port"), "{error}");
        }
        let long = format!("{}.example:1", "a".repeat(64));
        assert!(of(&long).is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(text in "[a-z0-9.:-]{0,40}") {
            if let Ok(remote) = text.parse::<Remote>() {
                prop_assert_eq!(remote.to_string().parse::<Remote>(), Ok(remote));
            }
        }
    }
}
