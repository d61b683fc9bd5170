//! Where sources, brokers and listeners are: `unix:PATH`, `tcp:HOST:PORT`, `ws://...` and the like.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// An address with its transport.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix stream socket.
    Unix(PathBuf),
    /// A TCP host and port.
    Tcp(String),
    /// A file.
    File(PathBuf),
    /// A URL: of a broker, a WebSocket or an HTTP server.
    Url {
        /// `amqp`, `amqps`, `nats`, `tls`, `ws`, `wss`, `http` or `https`.
        scheme: &'static str,
        /// The whole URL; it may hold a password, and is never printed.
        url: String,
    },
}

const SCHEMES: [&str; 8] = ["amqp", "amqps", "nats", "tls", "ws", "wss", "http", "https"];

impl Address {
    /// The transport's name.
    pub fn scheme(&self) -> &'static str {
        match self {
            Self::Unix(_) => "unix",
            Self::Tcp(_) => "tcp",
            Self::File(_) => "file",
            Self::Url { scheme, .. } => scheme,
        }
    }
}

/// Without the user and password that a URL may hold.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(host) => write!(f, "tcp:{host}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Url { scheme, url } => {
                let rest = url.split_once("://").map_or("", |(_, rest)| rest);
                let end = rest.find('/').unwrap_or(rest.len());
                let host = rest[..end].rsplit('@').next().unwrap_or_default();
                write!(f, "{scheme}://{host}{}", &rest[end..])
            }
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Address {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let some = |rest: &str| match rest.is_empty() {
            true => Err("nothing after the colon".to_owned()),
            false => Ok(rest.to_owned()),
        };
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(some(path)?.into()));
        }
        if let Some(path) = text.strip_prefix("file:") {
            return Ok(Self::File(some(path)?.into()));
        }
        if let Some(host) = text.strip_prefix("tcp:") {
            let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
            return match port {
                Some(Ok(_)) => Ok(Self::Tcp(host.to_owned())),
                _ => Err("expected tcp:HOST:PORT".to_owned()),
            };
        }
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        match SCHEMES.into_iter().find(|known| Some(*known) == scheme) {
            Some(scheme) => Ok(Self::Url {
                scheme,
                url: text.to_owned(),
            }),
            None => Err(format!(
                "expected unix:PATH, tcp:HOST:PORT, file:PATH or a URL of {}",
                SCHEMES.join(", ")
            )),
        }
    }
}

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
    fn passwords_are_never_printed() {
        let address: Address = "amqp://user:secret@broker:5672/%2f".parse().expect("a URL");
        assert_eq!(address.to_string(), "amqp://broker:5672/%2f");
        assert!(!format!("{address:?}").contains("secret"));
    }

    #[test]
    fn addresses_without_a_known_transport_are_refused() {
        for bad in [
            "",
            "host:5672",
            "ftp://x",
            "tcp:host",
            "tcp:host:99999",
            "unix:",
            "file:",
        ] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
        assert_eq!("tcp:[::1]:80".parse(), Ok(Address::Tcp("[::1]:80".into())));
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
