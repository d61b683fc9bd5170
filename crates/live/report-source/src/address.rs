//! Where sources, brokers and listeners are: `unix:PATH`, `tcp:HOST:PORT`, `interface:NAME`, `ws://...` and the like.

use std::fmt;
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
    /// A network interface, at which packets are captured.
    Interface(String),
    /// A URL: of a broker, a WebSocket or an HTTP server.
    Url {
        /// `amqp`, `amqps`, `nats`, `tls`, `ws`, `wss`, `http` or `https`.
        scheme: &'static str,
        /// The whole URL; it may hold a password, and is never printed.
        url: String,
    },
}

/// Longest name of an interface (linux/if.h, without the zero at its end).
const MAX_INTERFACE_NAME: usize = 15;
const SCHEMES: [&str; 8] = ["amqp", "amqps", "nats", "tls", "ws", "wss", "http", "https"];

impl Address {
    /// The transport's name.
    pub fn scheme(&self) -> &'static str {
        match self {
            Self::Unix(_) => "unix",
            Self::Tcp(_) => "tcp",
            Self::File(_) => "file",
            Self::Interface(_) => "interface",
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
            Self::Interface(name) => write!(f, "interface:{name}"),
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
        if let Some(name) = text.strip_prefix("interface:") {
            let is_possible = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':');
            return match name.len() <= MAX_INTERFACE_NAME && name.bytes().all(is_possible) {
                true => Ok(Self::Interface(some(name)?)),
                false => Err(format!("{name:?} cannot be the name of an interface")),
            };
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
                "expected unix:PATH, tcp:HOST:PORT, file:PATH, interface:NAME or a URL of {}",
                SCHEMES.join(", ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "interface:",
            "interface:a/b",
            "interface:an-interface-name",
        ] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
        assert_eq!("tcp:[::1]:80".parse(), Ok(Address::Tcp("[::1]:80".into())));
        let vlan: Address = "interface:eth0.5".parse().expect("a name");
        assert_eq!(
            (vlan.scheme(), vlan.to_string().as_str()),
            ("interface", "interface:eth0.5")
        );
    }
}
