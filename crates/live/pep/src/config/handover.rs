//! `[handover]`: connections of a UE move to other proxies, and come from them.

use super::{ConfigError, Interception};
use daemon::config::Section;
use std::path::PathBuf;
use units::Duration;

/// Without a message for so long a transfer is given up.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes of connections that run are sent ahead for so long.
const AHEAD: Duration = Duration::from_millis(500);

/// How connections move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Where other proxies connect to; none: connections only leave.
    pub listen: Option<PathBuf>,
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
    pub address: PathBuf,
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
    let listen = path(&mut table, "listen", Some("unix:"))?;
    let timeout = table.time("timeout")?.unwrap_or(TIMEOUT);
    if timeout < Duration::from_millis(10) || timeout > Duration::from_secs(60) {
        return Err(table.fault(format!("timeout is {timeout}, expected 10 ms to 1 min")));
    }
    let ahead = ahead(&mut table)?;
    let route_hook = path(&mut table, "route-hook", None)?;
    let mut peers: Vec<Peer> = Vec::new();
    for mut peer in table.tables("peer", "[[handover.peer]]")? {
        let (name, at) = peer.needed_text("name", "\"edge-2\"")?;
        if name.is_empty() || peers.iter().any(|other| other.name == name) {
            return Err(peer.fault_at(at, format!("name = {name:?}: expected another for each")));
        }
        let Some(address) = path(&mut peer, "address", Some("unix:"))? else {
            return Err(peer.missing("address", "\"unix:/run/brimful/edge-2.sock\""));
        };
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
            cells,
        });
    }
    if listen.is_none() && peers.is_empty() {
        return Err(table.missing("listen", "\"unix:/run/brimful/handover.sock\", or a peer"));
    }
    table.finish()?;
    Ok(Some(Handover {
        listen,
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

/// An absolute path, behind a scheme if there is one.
fn path(
    table: &mut Section<'_, '_>,
    key: &'static str,
    scheme: Option<&str>,
) -> Result<Option<PathBuf>, ConfigError> {
    let Some((text, at)) = table.text(key)? else {
        return Ok(None);
    };
    let scheme = scheme.unwrap_or("");
    match text.strip_prefix(scheme).map(PathBuf::from) {
        Some(path) if path.is_absolute() => Ok(Some(path)),
        _ => Err(table.fault_at(at, format!("{key} is {text:?}, expected \"{scheme}/PATH\""))),
    }
}

#[cfg(test)]
mod tests {
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
        ] {
            let error = parse(&bad).expect_err(&bad);
            assert!(
                error.contains(printed) && error.contains("pep.toml:"),
                "{error}"
            );
        }
    }
}
