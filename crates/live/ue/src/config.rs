//! The configuration file.

use daemon::config::{Section, load, parse};
use daemon::{Differences, Log};
use dash::Settings as DashboardSettings;
use edge::ConfigError as OutOfRange;
use edge::marker::MarkerConfig;
use edge::uplink::{UplinkConfig, UplinkMode};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tracing::Level;
use units::{Bytes, Duration};

pub use daemon::config::ConfigError;

/// What the marker's keys begin with in scenario files, where they stand beside others.
const MARKER: &str = "unsplit-";
/// The same of the queue's.
const QUEUE: &str = "uplink-";
/// What may wait, and the memory that it may take, where nothing else is configured.
const LIMIT: Bytes = Bytes::new(4_000_000);
const MEMORY: Bytes = Bytes::new(32_000_000);
/// The least memory.
const MIN_MEMORY: Bytes = Bytes::new(1_000_000);
/// What the modem is to have, where nothing else is configured: LTE's 8 ms from a report to its grants, as in scenarios.
const AHEAD: Duration = Duration::from_millis(14);

/// Where the modem's reports come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Lines on a Unix stream socket of this machine.
    Unix {
        /// The socket, at which another process listens.
        path: PathBuf,
        /// Users whose processes may be at the other end. Empty: root and the daemon's own user.
        users: Vec<u32>,
    },
    /// Lines on standard input.
    Stdin,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix { path, .. } => write!(f, "unix:{}", path.display()),
            Self::Stdin => f.write_str("stdin"),
        }
    }
}

/// A configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The modem's interface.
    pub interface: String,
    /// What becomes of packets.
    pub queue: UplinkConfig,
    /// Memory that packets may take that are in the daemon.
    pub memory: Bytes,
    /// Where the modem's reports come from.
    pub source: Source,
    /// Where `/metrics`, `/status` and `/healthz` are served; none: nowhere.
    pub metrics: Option<SocketAddr>,
    /// The dashboard there.
    pub dashboard: DashboardSettings,
    /// How the log is written.
    pub log: Log,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Names the place, what was wrong, and what is allowed.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        load(path, read)
    }

    /// Reads a text; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        parse(name, text, read)
    }

    /// What differs of another one, and whether that can change while the daemon runs.
    pub(crate) fn differences(&self, new: &Self) -> Differences {
        let mut all = Differences::default();
        all.cannot("interface", self.interface != new.interface);
        all.cannot("[modem]", self.source != new.source);
        all.cannot("[metrics]", self.metrics != new.metrics);
        all.cannot("[dashboard]", self.dashboard != new.dashboard);
        all.cannot("[log] format", self.log.json != new.log.json);
        let (old, other) = (&self.queue, &new.queue);
        all.may("mode", old.mode != other.mode);
        all.may("ahead", old.ahead != other.ahead);
        all.may("limit", old.buffer != other.buffer);
        all.may("memory", self.memory != new.memory);
        let (mut old, mut other) = (old.marker, other.marker);
        all.may("rate-fraction", old.rate_fraction != other.rate_fraction);
        for ((key, old), (_, other)) in old.times().into_iter().zip(other.times()) {
            all.may(own(key), old != other);
        }
        all.may("level", self.log.level != new.log.level);
        all
    }
}

fn read(top: &mut Section<'_, '_>) -> Result<Config, ConfigError> {
    top.declare(&["interface", "queue", "modem", "metrics", "dashboard", "log"])?;
    let Some(interface) = top.interface("interface")? else {
        return Err(top.missing("interface", "\"wwan0\", the modem's"));
    };
    let mut table = top.table_or_empty("queue", "[queue]")?;
    let queue = queue(&mut table)?;
    let memory = match table.parsed_at::<Bytes>("memory")? {
        Some((memory, at)) if memory < MIN_MEMORY => {
            let text = format!("memory is {memory}; allowed is {MIN_MEMORY} and more");
            return Err(table.fault_at(at, text));
        }
        given => given.map_or(MEMORY, |(memory, _)| memory),
    };
    table.finish()?;
    let Some(mut table) = top.table("modem", "[modem]")? else {
        return Err(top.fault(format!("no [modem]: {WITHOUT_REPORTS}")));
    };
    let source = source(&mut table)?;
    table.finish()?;
    let mut table = top.table_or_empty("metrics", "[metrics]")?;
    let metrics = table.parsed("listen")?;
    table.finish()?;
    let levels = [("info", Level::INFO), ("debug", Level::DEBUG)];
    Ok(Config {
        interface,
        queue,
        memory,
        source,
        metrics,
        dashboard: DashboardSettings::read(top, metrics.is_some())?,
        log: Log::read(top, &levels)?,
    })
}

/// Why there is no daemon without a source.
const WITHOUT_REPORTS: &str = "without its counters of what waits and what was sent no rate is found, and every packet would pass; \
                               set [modem] source = \"unix:PATH\" or \"stdin\"";

fn source(table: &mut Section<'_, '_>) -> Result<Source, ConfigError> {
    let (text, at) = table.needed_text("source", "\"unix:/run/brimful/modem.sock\"")?;
    let users = table.parsed_list::<u32>("users")?;
    let source = match (text.as_str(), text.strip_prefix("unix:")) {
        ("none", _) => {
            let message = format!("source = \"none\": {WITHOUT_REPORTS}");
            return Err(table.fault_at(at, message));
        }
        ("stdin", _) => Source::Stdin,
        (_, Some(path)) if Path::new(path).is_absolute() => {
            let path = PathBuf::from(path);
            return Ok(Source::Unix { path, users });
        }
        _ => {
            let message = format!(
                "source = {text:?}; expected \"unix:/PATH\", a socket with lines of JSON, or \"stdin\""
            );
            return Err(table.fault_at(at, message));
        }
    };
    match users.is_empty() {
        true => Ok(source),
        false => Err(table.fault("users is of a socket; stdin is of the process that starts this")),
    }
}

/// Mode, window, bound, and the marker's numbers, by the keys of scenario files less what those begin with.
fn queue(table: &mut Section<'_, '_>) -> Result<UplinkConfig, ConfigError> {
    let modes: Vec<(&'static str, UplinkMode)> =
        UplinkMode::NAMES.into_iter().zip(UplinkMode::ALL).collect();
    let mut marker = MarkerConfig {
        // nothing is between this queue and the modem
        transit: Duration::ZERO,
        ..MarkerConfig::default()
    };
    let mode = table.word("mode", &modes)?.unwrap_or(UplinkMode::Queue);
    let ahead = table.parsed("ahead")?.unwrap_or(AHEAD);
    let buffer = table.parsed("limit")?.unwrap_or(LIMIT);
    // what is allowed is checked as a whole
    let any = f64::NEG_INFINITY..=f64::INFINITY;
    if let Some(fraction) = table.number("rate-fraction", any)? {
        marker.rate_fraction = fraction;
    }
    for (key, time) in marker.times() {
        if let Some(given) = table.parsed::<Duration>(own(key))? {
            *time = given;
        }
    }
    let config = UplinkConfig {
        mode,
        marker,
        buffer,
        ahead,
    };
    match config.check() {
        Ok(()) => Ok(config),
        Err(OutOfRange::Range {
            field,
            value,
            expected,
        }) => Err(table.fault(format!("{} is {value}, expected {expected}", own(field)))),
        Err(other) => Err(table.fault(other)),
    }
}

/// A key as it is called here.
fn own(key: &'static str) -> &'static str {
    let of_marker = key.strip_prefix(MARKER);
    of_marker.or(key.strip_prefix(QUEUE)).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "interface = \"wwan0\"\n[modem]\nsource = \"stdin\"\n";

    fn good(text: &str) -> Config {
        Config::parse("ue.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn message(text: &str) -> String {
        let refused = Config::parse("ue.toml", text).expect_err(text);
        refused.to_string()
    }

    #[test]
    fn what_is_left_out_is_as_in_scenarios() {
        let config = good(LEAST);
        assert_eq!(config.source, Source::Stdin);
        assert_eq!(config.queue.mode, UplinkMode::Queue);
        assert_eq!(config.queue.marker.transit, Duration::ZERO);
        let expected = MarkerConfig {
            transit: Duration::ZERO,
            ..MarkerConfig::default()
        };
        assert_eq!(config.queue.marker, expected);
        assert_eq!((config.queue.ahead, config.metrics), (AHEAD, None));
    }

    #[test]
    fn every_key_is_read() {
        let config = good(
            "interface = \"usb0\"\n[queue]\nmode = \"mark\"\nahead = \"20 ms\"\nlimit = \"1 MB\"\nmemory = \"2 MB\"\n\
             rate-fraction = 0.9\nmax-age = \"1 s\"\ntarget = \"25 ms\"\n\
             [modem]\nsource = \"unix:/run/modem.sock\"\nusers = [\"1000\"]\n\
             [metrics]\nlisten = \"127.0.0.1:9468\"\n[log]\nformat = \"json\"\n",
        );
        assert_eq!(config.queue.mode, UplinkMode::Mark);
        assert_eq!(config.queue.ahead, Duration::from_millis(20));
        assert_eq!(config.queue.buffer, Bytes::new(1_000_000));
        assert_eq!(config.memory, Bytes::new(2_000_000));
        assert_eq!(config.queue.marker.rate_fraction, 0.9);
        assert_eq!(config.queue.marker.max_age, Duration::from_secs(1));
        assert_eq!(config.queue.marker.target, Duration::from_millis(25));
        assert_eq!(config.source.to_string(), "unix:/run/modem.sock");
        assert!(matches!(config.source, Source::Unix { users, .. } if users == [1000]));
        assert!(config.log.json && config.metrics.is_some());
    }

    #[test]
    fn every_number_of_the_marker_is_a_key() {
        for (key, time) in MarkerConfig::default().times() {
            let (key, time) = (own(key), *time + Duration::from_micros(500));
            let mut config = good(&format!(
                "interface = \"wwan0\"\n[queue]\n{key} = \"{} ns\"\n[modem]\nsource = \"stdin\"\n",
                time.as_nanos()
            ));
            let times = config.queue.marker.times();
            let read = times.into_iter().find(|(name, _)| own(name) == key);
            assert_eq!(read.map(|(_, time)| *time), Some(time), "{key}");
        }
    }

    #[test]
    fn what_can_change_while_it_runs_is_named_and_so_is_what_cannot() {
        let with = |queue: &str, more: &str| {
            good(&format!(
                "interface = \"wwan0\"\n[queue]\n{queue}\n[modem]\nsource = \"unix:/m\"\n{more}"
            ))
        };
        let old = with("", "");
        let changed = |new: &Config| old.differences(new).check("it");
        assert_eq!(changed(&old), Ok("no change".to_owned()));
        let all = "mode = \"mark\"\nahead = \"20 ms\"\nlimit = \"1 MB\"\nmemory = \"2 MB\"\nrate-fraction = 0.9\n\
                   slack = \"9 ms\"\ncontested-slack = \"99 ms\"\nramp-from = \"7 ms\"\nramp-to = \"17 ms\"\n\
                   wide-ramp-from = \"9 ms\"\nwide-ramp-to = \"27 ms\"\ntarget = \"19 ms\"\nmax-age = \"1 s\"\ntransit = \"1 ms\"";
        let found = changed(&with(all, "[log]\nlevel = \"debug\"\n"));
        let names = "mode, ahead, limit, memory, rate-fraction, slack, contested-slack, ramp-from, ramp-to, \
                     wide-ramp-from, wide-ramp-to, target, max-age, transit, level";
        assert_eq!(found, Ok(names.to_owned()));
        let metrics = "[metrics]\nlisten = \"127.0.0.1:1\"\n[dashboard]\nrate = 1\n[log]\nformat = \"json\"\n";
        let mut new = with("limit = \"1 MB\"", metrics);
        new.interface = "wwan1".to_owned();
        new.source = Source::Stdin;
        let text = "interface, [modem], [metrics], [dashboard], [log] format cannot change while it runs: restart it";
        assert_eq!(changed(&new), Err(text.to_owned()));
    }

    #[test]
    fn without_reports_there_is_no_daemon() {
        let none = message("interface = \"wwan0\"\n[modem]\nsource = \"none\"\n");
        assert!(
            none.starts_with("ue.toml:3:11: [modem]: source = \"none\": without its counters"),
            "{none}"
        );
        let absent = message("interface = \"wwan0\"\n");
        assert!(
            absent.contains("no [modem]: without its counters"),
            "{absent}"
        );
        let missing = message("interface = \"wwan0\"\n[modem]\n");
        assert!(
            missing.contains("no key \"source\"; for example"),
            "{missing}"
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        assert!(message("").contains("no key \"interface\""));
        let with = |text: &str| message(&format!("interface = \"wwan0\"\n{text}"));
        let modem = "[modem]\nsource = \"stdin\"\n";
        let of_queue = |line: &str| with(&format!("[queue]\n{line}\n{modem}"));
        let found = of_queue("mode = \"hold\"");
        assert!(
            found.contains("ue.toml:3:") && found.contains("expected mark, queue"),
            "{found}"
        );
        let found = of_queue("ahead = \"1 s\"");
        assert!(
            found.contains("[queue]: ahead is 1 s, expected 100 us to 500 ms"),
            "{found}"
        );
        let found = of_queue("limit = \"0 B\"");
        assert!(
            found.contains("limit is 0 B, expected more than 0 B"),
            "{found}"
        );
        let found = of_queue("memory = \"10 B\"");
        assert!(
            found.contains("memory is 10 B; allowed is 1 MB and more"),
            "{found}"
        );
        let found = of_queue("ahaed = \"9 ms\"");
        assert!(
            found.contains("unknown key \"ahaed\"") && found.contains("ahead"),
            "{found}"
        );
        let found = with("[modem]\nsource = \"amqp://host\"\n");
        assert!(found.contains("expected \"unix:/PATH\""), "{found}");
        let found = with("[modem]\nsource = \"unix:modem.sock\"\n");
        assert!(found.contains("expected \"unix:/PATH\""), "{found}");
        let found = with("[modem]\nsource = \"stdin\"\nusers = [\"7\"]\n");
        assert!(found.contains("users is of a socket"), "{found}");
        let found = message("interface = \"a b\"\n");
        assert!(found.contains("is no name of an interface"), "{found}");
    }
}
