//! `[handover]`: connections of a UE move to other proxies, and come from them.

use super::{ConfigError, Interception};
use daemon::config::Section;
use keys::PublicKeyText;
use secrecy::PublicKey;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use units::Duration;

/// Without a message for so long a transfer is given up.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes of connections that run are sent ahead for so long.
const AHEAD: Duration = Duration::from_millis(500);

/// Where a proxy is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A socket on this machine, whose file says who may connect.
    Unix(PathBuf),
    /// An address and a port, where both show that they have their keys.
    Tcp(SocketAddr),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

/// How connections move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Where other proxies connect to; none: connections only leave.
    pub listen: Option<Place>,
    /// The file of this proxy's private key, for TCP.
    pub private_key_file: Option<PathBuf>,
    /// For each message.
    pub timeout: Duration,
    /// For sending ahead what connections carry, while they run; zero: all is sent while they are frozen.
    pub ahead: Duration,
    /// The program that has the network send a UE's packets here.
    pub route_hook: Option<PathBuf>,
    /// Other proxies.
    pub peers: Vec<Peer>,
}

/// Another proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// What commands call it.
    pub name: String,
    /// Where it listens.
    pub address: Place,
    /// Its key: on TCP no proxy without one is spoken to.
    pub public_key: Option<PublicKey>,
    /// Cells whose UEs are its.
    pub cells: Vec<u32>,
}

pub(super) fn handover(
    top: &mut Section<'_, '_>,
    interception: &Interception,
) -> Result<Option<Handover>, ConfigError> {
    let Some(mut table) = top.table("handover", "[handover]")? else {
        return Ok(None);
    };
    if !matches!(interception, Interception::Transparent(_)) {
        return Err(table
            .fault("connections move between proxies that are transparent; this is another mode"));
    }
    let listen = place(&mut table, "listen")?;
    let private_key_file = path(&mut table, "private-key-file")?;
    let timeout = table.time("timeout")?.unwrap_or(TIMEOUT);
    if timeout < Duration::from_millis(10) || timeout > Duration::from_secs(60) {
        return Err(table.fault(format!("timeout is {timeout}, expected 10 ms to 1 min")));
    }
    let ahead = ahead(&mut table)?;
    let route_hook = path(&mut table, "route-hook")?;
    let mut peers: Vec<Peer> = Vec::new();
    for mut peer in table.tables("peer", "[[handover.peer]]")? {
        let (name, at) = peer.needed_text("name", "\"edge-2\"")?;
        if name.is_empty() || peers.iter().any(|other| other.name == name) {
            return Err(peer.fault_at(at, format!("name = {name:?}: expected another for each")));
        }
        let Some(address) = place(&mut peer, "address")? else {
            let example = "\"unix:/run/brimful/edge-2.sock\", or \"tcp:192.0.2.2:7404\"";
            return Err(peer.missing("address", example));
        };
        let public_key = peer.parsed_at::<PublicKeyText>("public-key")?;
        if public_key.is_none() && matches!(address, Place::Tcp(_)) {
            let example =
                "\"...\", the public key that `brimful tunnel key` prints at the other end";
            return Err(peer.missing("public-key", example));
        }
        if let Some((key, at)) = &public_key
            && peers
                .iter()
                .any(|other| other.public_key == Some(key.key()))
        {
            return Err(peer.fault_at(*at, "public-key is another peer's already"));
        }
        if Some(&address) == listen.as_ref() {
            return Err(peer.fault("address is the proxy itself (listen)"));
        }
        let cells: Vec<u32> = peer.parsed_list("cells")?;
        let taken = |cell: &u32| peers.iter().any(|other| other.cells.contains(cell));
        if let Some(cell) = cells.iter().find(|cell| taken(cell)) {
            return Err(peer.fault(format!("cell {cell} is another peer's already")));
        }
        peer.finish()?;
        peers.push(Peer {
            name,
            address,
            public_key: public_key.map(|(key, _)| key.key()),
            cells,
        });
    }
    if listen.is_none() && peers.is_empty() {
        return Err(table.missing("listen", "\"unix:/run/brimful/handover.sock\", or a peer"));
    }
    let has_key = peers.iter().any(|peer| peer.public_key.is_some());
    let is_tcp = matches!(listen, Some(Place::Tcp(_)));
    if (has_key || is_tcp) && private_key_file.is_none() {
        return Err(table.missing("private-key-file", "\"/etc/brimful/handover.key\""));
    }
    if is_tcp && !has_key {
        return Err(
            table.fault("listen is on TCP, and no peer has a public-key: none could connect")
        );
    }
    table.finish()?;
    Ok(Some(Handover {
        listen,
        private_key_file,
        timeout,
        ahead,
        route_hook,
        peers,
    }))
}

/// How long, or `none`.
fn ahead(table: &mut Section<'_, '_>) -> Result<Duration, ConfigError> {
    let Some((text, at)) = table.text("ahead")? else {
        return Ok(AHEAD);
    };
    let time = match text.as_str() {
        "none" => Some(Duration::ZERO),
        text => text.parse().ok().filter(|time| !Duration::is_zero(*time)),
    };
    let expected = "expected \"none\", or a time of at most 1 min";
    time.filter(|time| *time <= Duration::from_secs(60))
        .ok_or_else(|| table.fault_at(at, format!("ahead is {text:?}, {expected}")))
}

/// An absolute path.
fn path(table: &mut Section<'_, '_>, key: &'static str) -> Result<Option<PathBuf>, ConfigError> {
    let Some((text, at)) = table.text(key)? else {
        return Ok(None);
    };
    match PathBuf::from(&text) {
        path if path.is_absolute() => Ok(Some(path)),
        _ => Err(table.fault_at(at, format!("{key} is {text:?}, expected \"/PATH\""))),
    }
}

fn place(table: &mut Section<'_, '_>, key: &'static str) -> Result<Option<Place>, ConfigError> {
    let Some((text, at)) = table.text(key)? else {
        return Ok(None);
    };
    let unix = text.strip_prefix("unix:").map(PathBuf::from);
    let unix = unix.filter(|path| path.is_absolute()).map(Place::Unix);
    let tcp = text.strip_prefix("tcp:").and_then(|text| text.parse().ok());
    let tcp = tcp
        .filter(|address: &SocketAddr| address.port() != 0)
        .map(Place::Tcp);
    let expected = "expected \"unix:/PATH\" or \"tcp:ADDRESS:PORT\"";
    unix.or(tcp)
        .map(Some)
        .ok_or_else(|| table.fault_at(at, format!("{key} is {text:?}, {expected}")))
}

#[cfg(test)]
mod tests {
    use super::Place;
    use crate::config::Config;

    fn parse(more: &str) -> Result<Config, String> {
        let text = format!(
            "control = \"split\"\nue-prefixes = [\"10.45.0.0/24\"]\nran-interface = \"ran0\"\n\
             wan-interface = \"wan0\"\n{more}"
        );
        Config::parse("pep.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn peers_have_names_addresses_and_cells() {
        let of = parse(
            "[handover]\nlisten = \"unix:/run/h\"\n[[handover.peer]]\nname = \"b\"\n\
             address = \"unix:/run/b\"\ncells = [\"2\", \"3\"]\n",
        );
        let of = of.expect("valid").handover.expect("there");
        assert_eq!(of.peers[0].cells, [2, 3]);
        assert_eq!(of.timeout.as_millis(), 1_000);
        assert_eq!(of.ahead.as_millis(), 500);
        assert_eq!(parse("").expect("valid").handover, None);
    }

    const KEY: &str = "public-key = \"jSAvZXPFVvCnmWn6pTQUWtvUvMR2lYuG6Wv7GRYP3zQ=\"\n";

    fn tcp(more: &str) -> String {
        format!("[[handover.peer]]\nname = \"b\"\naddress = \"tcp:[::1]:7404\"\n{more}")
    }

    #[test]
    fn proxies_on_other_machines_have_keys() {
        let of = parse(&format!(
            "[handover]\nlisten = \"tcp:10.0.0.1:7404\"\nprivate-key-file = \"/k\"\n{}",
            tcp(KEY)
        ));
        let of = of.expect("valid").handover.expect("there");
        let address = |text: &str| Place::Tcp(text.parse().expect("an address"));
        assert_eq!(of.listen, Some(address("10.0.0.1:7404")));
        assert_eq!(of.peers[0].address, address("[::1]:7404"));
        assert_eq!(of.peers[0].address.to_string(), "tcp:[::1]:7404");
        assert!(of.peers[0].public_key.is_some());
    }

    #[test]
    fn faults_name_what_is_allowed() {
        let peer = "[[handover.peer]]\nname = \"b\"\naddress = \"unix:/b\"\ncells = [\"2\"]\n";
        for (bad, printed) in [
            ("[handover]\n".to_owned(), "or a peer"),
            ("[handover]\nlisten = \"/run/h\"\n".to_owned(), "unix:/PATH"),
            ("[handover]\nlisten = \"unix:h\"\n".to_owned(), "unix:/PATH"),
            (
                "[handover]\ntimeout = \"1 ms\"\n".to_owned(),
                "10 ms to 1 min",
            ),
            (
                "[handover]\nlisten = \"unix:/run/h\"\nahead = \"2 min\"\n".to_owned(),
                "at most 1 min",
            ),
            ("[handover]\nahead = \"0 s\"\n".to_owned(), "\"none\""),
            (format!("[handover]\n{peer}{peer}"), "another for each"),
            (
                format!("[handover]\n{peer}{}", peer.replace("\"b\"", "\"c\"")),
                "another peer's already",
            ),
            (
                format!("[handover]\nlisten = \"unix:/b\"\n{peer}"),
                "the proxy itself",
            ),
            ("[handover]\nroute-hook = \"x\"\n".to_owned(), "/PATH"),
            (
                "[handover]\nlisten = \"tcp:x:1\"\n".to_owned(),
                "tcp:ADDRESS:PORT",
            ),
            (
                "[handover]\nlisten = \"tcp:10.0.0.1:0\"\n".to_owned(),
                "tcp:ADDRESS:PORT",
            ),
            (format!("[handover]\n{}", tcp("")), "public-key"),
            (
                format!("[handover]\n{}", tcp("public-key = \"abc\"\n")),
                "44 characters",
            ),
            (format!("[handover]\n{}", tcp(KEY)), "private-key-file"),
            (
                format!("[handover]\nprivate-key-file = \"k\"\n{}", tcp(KEY)),
                "/PATH",
            ),
            (
                format!(
                    "[handover]\nprivate-key-file = \"/k\"\n{}{}",
                    tcp(KEY),
                    tcp(KEY).replace("\"b\"", "\"c\"")
                ),
                "another peer's already",
            ),
            (
                format!(
                    "[handover]\nprivate-key-file = \"/k\"\nlisten = \"tcp:10.0.0.1:7404\"\n{peer}"
                ),
                "none could connect",
            ),
        ] {
            let error = parse(&bad).expect_err(&bad);
            assert!(
                error.contains(printed) && error.contains("pep.toml:"),
                "{error}"
            );
        }
    }
}
