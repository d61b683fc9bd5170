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
        /// Users whose processes may be at the other end. Empty: root and the reader's own.
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

impl ReportSource {
    /// Whether its times are of another machine's clock.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Broker { .. })
    }

    /// Brings what comes to the follower until `is_done`; connects again and again. Blocks. What
    /// makes trying on useless goes to the log.
    pub fn follow(&self, follower: &mut impl Follower, is_done: impl Fn() -> bool) {
        let ended = match self {
            Self::Unix { path, users } => {
                let trusted = match users.is_empty() {
                    true => vec![0, rustix::process::geteuid().as_raw()],
                    false => users.clone(),
                };
                follow_socket(path, Some(&trusted), follower, is_done)
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
            url @ Address::Url { .. }
                if matches!(url.scheme(), "amqp" | "amqps" | "nats" | "tls") =>
            {
                Ok(Self::Broker {
                    url,
                    topic: TOPIC.to_owned(),
                })
            }
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

/// Where reports are published unless configured otherwise.
const TOPIC: &str = "brimful.radio";

/// Reads `source`, `topic` and `users` of a table of a configuration.
///
/// # Errors
/// Names the place, what was wrong, and what is allowed.
pub fn read_source(table: &mut Section<'_, '_>) -> Result<ReportSource, ConfigError> {
    let source: ReportSource = table.needed_parsed("source", "\"unix:/run/brimful/radio.sock\"")?;
    let topic = table.text("topic")?;
    let users = table.parsed_list::<u32>("users")?;
    match (source, topic) {
        (ReportSource::Unix { path, .. }, None) => Ok(ReportSource::Unix { path, users }),
        (ReportSource::Unix { .. }, Some((_, at))) => {
            Err(table.fault_at(at, "topic is of a broker; the source is a socket"))
        }
        (ReportSource::Broker { url, topic }, given) if users.is_empty() => {
            Ok(ReportSource::Broker {
                url,
                topic: given.map_or(topic, |(given, _)| given),
            })
        }
        (ReportSource::Broker { .. }, _) => {
            Err(table.fault("users is of a socket; whom a broker lets publish is its own matter"))
        }
    }
}

/// Reads `[[ue]]` with `ip` and `rnti`: addresses of UEs whose reports carry none.
///
/// # Errors
/// As [`read_source`].
pub fn read_ues(top: &mut Section<'_, '_>) -> Result<UeMap, ConfigError> {
    let mut known = Vec::new();
    for mut table in top.tables("ue", "[[ue]]")? {
        let ip: IpAddr = table.needed_parsed("ip", "\"10.45.0.2\"")?;
        let Some(rnti) = table.whole::<u16>("rnti", 1..=65_535)? else {
            return Err(table.missing("rnti", "17921"));
        };
        known.push(KnownUe {
            ip: ip.to_canonical(),
            ids: vec![UeId::Rnti(Rnti(rnti))],
        });
        table.finish()?;
    }
    UeMap::new(known).map_err(|error| top.fault(error))
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
