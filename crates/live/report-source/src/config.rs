//! Where a program's reports come from, as its configuration names it.

use crate::{Address, Follower, follow_broker, follow_socket};
use daemon::config::{ConfigError, Section};
use rnis::Rnti;
use rnis::identity::{KnownUe, UeId, UeMap};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

/// Where radio reports come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportSource {
    /// Lines of JSON on a Unix stream socket of this machine.
    Unix {
        /// The socket.
        path: PathBuf,
        /// Users whose processes may be at the other end. Empty: those that the reader has for it ([`Peers`]).
        users: Vec<u32>,
    },
    /// A broker: AMQP 0-9-1 or NATS.
    Broker {
        /// Its URL; it may hold a password, and is never printed.
        url: Address,
        /// Exchange (AMQP) or beginning of the subject (NATS).
        topic: String,
    },
}

/// Whose processes may be at the other end of a socket where no users are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// Root's and those of the reader's own user.
    Own,
    /// Any user's: who may make the socket is a matter of its folder's permissions.
    Any,
}

impl ReportSource {
    /// Whether its times are of another machine's clock.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Broker { .. })
    }

    /// Brings what comes to the follower until `is_done`; connects again and again. Blocks. What
    /// makes trying on useless goes to the log.
    pub fn follow(&self, peers: Peers, follower: &mut impl Follower, is_done: impl Fn() -> bool) {
        let ended = match self {
            Self::Unix { path, users } => {
                let allowed = allowed(users, peers);
                follow_socket(path, allowed.as_deref(), follower, is_done)
            }
            Self::Broker { url, topic } => follow_broker(url, topic, follower, is_done),
        };
        if let Err(error) = ended {
            tracing::error!(source = %self, %error, "no radio reports");
        }
    }
}

impl std::str::FromStr for ReportSource {
    type Err = String;
    /// `unix:PATH`, or the URL of a broker.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse()? {
            Address::Unix(path) => Ok(Self::Unix {
                path,
                users: Vec::new(),
            }),
            url @ Address::Url { .. } if is_broker(&url) => Ok(Self::Broker {
                url,
                topic: TOPIC.to_owned(),
            }),
            _ => Err("expected unix:PATH or a URL of amqp, amqps, nats, tls".to_owned()),
        }
    }
}

/// As the configuration writes it, without passwords.
impl std::fmt::Display for ReportSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix { path, .. } => write!(f, "unix:{}", path.display()),
            Self::Broker { url, .. } => url.fmt(f),
        }
    }
}

/// The users that may be at the other end; none: any.
fn allowed(users: &[u32], peers: Peers) -> Option<Vec<u32>> {
    match (users.is_empty(), peers) {
        (false, _) => Some(users.to_vec()),
        (true, Peers::Own) => Some(vec![0, rustix::process::geteuid().as_raw()]),
        (true, Peers::Any) => None,
    }
}

/// A URL of a broker, with a host.
fn is_broker(address: &Address) -> bool {
    let Address::Url { scheme, url } = address else {
        return false;
    };
    let has_host = url.len() > scheme.len() + "://".len();
    has_host && matches!(*scheme, "amqp" | "amqps" | "nats" | "tls")
}

/// Where reports are published unless configured otherwise.
const TOPIC: &str = "brimful.radio";

/// Reads `source`, `topic` and `users` of a table of a configuration.
///
/// # Errors
/// Names the place, what was wrong, and what is allowed.
pub fn read_source(table: &mut Section<'_, '_>) -> Result<ReportSource, ConfigError> {
    match read_source_if_any(table)? {
        Some(source) => Ok(source),
        None => Err(table.missing("source", "\"unix:/run/brimful/radio.sock\"")),
    }
}

/// As [`read_source`], where a program may have no source.
///
/// # Errors
/// As [`read_source`].
pub fn read_source_if_any(
    table: &mut Section<'_, '_>,
) -> Result<Option<ReportSource>, ConfigError> {
    let source = match table.text("source")? {
        None => None,
        // what it is may hold a password
        Some((text, at)) => Some(text.parse().map_err(|_| {
            let message = "source is not known; expected unix:PATH, for example \"unix:/PATH\", or a URL of a \
                           broker: \"amqp://HOST:PORT/VHOST\" or \"nats://HOST:PORT\"";
            table.fault_at(at, message)
        })?),
    };
    let topic = table.text("topic")?;
    let users = table.parsed_list::<u32>("users")?;
    match (source, topic) {
        (None | Some(ReportSource::Unix { .. }), Some((_, at))) => {
            let message =
                "topic is of a broker; it needs a source that is a broker (amqp:// or nats://)";
            Err(table.fault_at(at, message))
        }
        (None | Some(ReportSource::Broker { .. }), _) if !users.is_empty() => {
            Err(table.fault("users is of a socket; whom a broker lets publish is its own matter"))
        }
        (None, None) => Ok(None),
        (Some(ReportSource::Unix { path, .. }), None) => {
            Ok(Some(ReportSource::Unix { path, users }))
        }
        (Some(ReportSource::Broker { url, topic }), given) => Ok(Some(ReportSource::Broker {
            url,
            topic: given.map_or(topic, |(given, _)| given),
        })),
    }
}

/// Reads the addresses of UEs whose reports carry none: `[[ue]]` with `ip` and `rnti`, and `[ues]` with
/// `RNTI = "ADDRESS"`, which is the same in short.
///
/// # Errors
/// As [`read_source`]; an RNTI that is given twice.
pub fn read_ue_addresses(top: &mut Section<'_, '_>) -> Result<BTreeMap<Rnti, IpAddr>, ConfigError> {
    let mut ues = BTreeMap::new();
    let twice = |rnti: Rnti| format!("RNTI {} is given two addresses", rnti.0);
    for mut table in top.tables("ue", "[[ue]]")? {
        let ip: IpAddr = table.needed_parsed("ip", "\"10.45.0.2\"")?;
        let Some(rnti) = table.whole::<u16>("rnti", 1..=65_535)?.map(Rnti) else {
            return Err(table.missing("rnti", "17921"));
        };
        if ues.insert(rnti, ip.to_canonical()).is_some() {
            return Err(table.fault(twice(rnti)));
        }
        table.finish()?;
    }
    for named in top.texts("ues", "[ues]")? {
        let rnti = named.name.parse::<u16>().ok().filter(|number| *number > 0);
        let Some(rnti) = rnti.map(Rnti) else {
            let message = format!(
                "[ues]: {:?} is no RNTI; allowed is 1 to 65535, for example 17921 = \"10.45.0.2\"",
                named.name
            );
            return Err(top.fault_at(named.name_at, message));
        };
        let ip: IpAddr = named.text.parse().map_err(|_| {
            let message = format!("[ues]: RNTI {}: {:?} is no address", rnti.0, named.text);
            top.fault_at(named.text_at, message)
        })?;
        if ues.insert(rnti, ip.to_canonical()).is_some() {
            return Err(top.fault_at(named.name_at, twice(rnti)));
        }
    }
    Ok(ues)
}

/// As [`read_ue_addresses`], for a [`Gate`](crate::Gate).
///
/// # Errors
/// As [`read_ue_addresses`].
pub fn read_ues(top: &mut Section<'_, '_>) -> Result<UeMap, ConfigError> {
    let known = read_ue_addresses(top)?
        .into_iter()
        .map(|(rnti, ip)| KnownUe {
            ip,
            ids: vec![UeId::Rnti(rnti)],
        });
    UeMap::new(known.collect()).map_err(|error| top.fault(error))
}

/// Reads `[[address]]` with `remote` and `ue`: UEs that are seen under another address than their
/// own.
///
/// # Errors
/// As [`read_source`].
pub fn read_addresses(top: &mut Section<'_, '_>) -> Result<BTreeMap<IpAddr, IpAddr>, ConfigError> {
    let mut addresses = BTreeMap::new();
    for mut table in top.tables("address", "[[address]]")? {
        let remote: IpAddr = table.needed_parsed("remote", "\"192.0.2.7\"")?;
        let ue: IpAddr = table.needed_parsed("ue", "\"10.45.0.2\"")?;
        if addresses
            .insert(remote.to_canonical(), ue.to_canonical())
            .is_some()
        {
            return Err(table.fault(format!("{remote} is given twice")));
        }
        table.finish()?;
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(
        text: &str,
        with: impl FnOnce(&mut Section<'_, '_>) -> Result<T, ConfigError>,
    ) -> Result<T, String> {
        daemon::config::parse("daemon.toml", text, with).map_err(|error| error.to_string())
    }

    #[test]
    fn both_spellings_of_ues_are_one_map() {
        let long = "[[ue]]\nip = \"10.45.0.2\"\nrnti = 17921\n[[ue]]\nip = \"::ffff:10.45.0.3\"\nrnti = 7\n";
        let short = "[ues]\n7 = \"10.45.0.3\"\n17921 = \"10.45.0.2\"\n";
        let mixed = "[[ue]]\nip = \"10.45.0.2\"\nrnti = 17921\n[ues]\n7 = \"10.45.0.3\"\n";
        let expected = BTreeMap::from([
            (Rnti(7), IpAddr::from([10, 45, 0, 3])),
            (Rnti(17_921), IpAddr::from([10, 45, 0, 2])),
        ]);
        for text in [long, short, mixed] {
            assert_eq!(
                read(text, read_ue_addresses),
                Ok(expected.clone()),
                "{text}"
            );
            let map = read(text, read_ues).expect("a map");
            for (rnti, ip) in &expected {
                assert_eq!(map.address(&[UeId::Rnti(*rnti)]), Ok(*ip), "{text}");
            }
        }
    }

    #[test]
    fn ues_that_cannot_be_are_refused_in_both_spellings() {
        for (text, message) in [
            ("[ues]\n0 = \"10.45.0.2\"\n", "is no RNTI"),
            ("[ues]\n70000 = \"10.45.0.2\"\n", "is no RNTI"),
            ("[ues]\n7 = \"phone\"\n", "is no address"),
            ("[[ue]]\nip = \"10.45.0.2\"\nrnti = 0\n", "rnti"),
            ("[[ue]]\nip = \"10.45.0.2\"\n", "rnti"),
            (
                "[[ue]]\nip = \"10.45.0.2\"\nrnti = 7\n[ues]\n7 = \"10.45.0.3\"\n",
                "two addresses",
            ),
        ] {
            let error = read(text, read_ue_addresses).expect_err(text);
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_source_is_a_socket_or_a_broker_and_may_be_missing_only_where_it_is_allowed() {
        assert_eq!(read("", read_source_if_any), Ok(None));
        let error = read("", read_source).expect_err("none");
        assert!(error.contains("source"), "{error}");
        let socket = "source = \"unix:/radio\"\nusers = [\"994\"]\n";
        let expected = ReportSource::Unix {
            path: "/radio".into(),
            users: vec![994],
        };
        assert_eq!(read(socket, read_source), Ok(expected));
        let broker = "source = \"nats://me:secret@broker\"\ntopic = \"other\"\n";
        let source = read(broker, read_source).expect("a broker");
        let ReportSource::Broker { topic, .. } = &source else {
            panic!("{source}");
        };
        assert!(topic == "other" && source.is_foreign());
        assert!(!format!("{source} {source:?}").contains("secret"));
        for (text, message) in [
            ("source = \"http://me:secret@x\"\n", "expected unix:PATH"),
            ("source = \"nats://\"\n", "expected unix:PATH"),
            ("topic = \"t\"\n", "is a broker"),
            ("users = [\"0\"]\n", "is of a socket"),
            ("source = \"unix:/x\"\ntopic = \"t\"\n", "is a broker"),
            (
                "source = \"nats://me:secret@x\"\nusers = [\"0\"]\n",
                "is of a socket",
            ),
        ] {
            let error = read(text, read_source_if_any).expect_err(text);
            let is_safe = !error.contains("secret");
            assert!(error.contains(message) && is_safe, "{error}");
        }
    }

    #[test]
    fn without_users_the_program_has_whose_processes_may_report() {
        assert_eq!(allowed(&[], Peers::Any), None);
        let own = allowed(&[], Peers::Own).expect("some");
        assert!(own.contains(&0) && own.contains(&rustix::process::geteuid().as_raw()));
        for peers in [Peers::Any, Peers::Own] {
            assert_eq!(allowed(&[994], peers), Some(vec![994]));
        }
    }
}
