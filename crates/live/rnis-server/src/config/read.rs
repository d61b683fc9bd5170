//! The file as a whole, its sources, topics and interfaces.

use super::network::Tables;
use super::{
    Address, AnswerForm, ClientConfig, Config, ConfigError, Format, HttpConfig, Listening,
    PlatformConfig, SourceConfig, SourceKind, TopicConfig, UnixConfig, network,
};
use daemon::config::Section;
use f1u::SnLength;
use rnis::adapters::CellProfile;
use rnis::identity::UeId;
use rnis::mec012::LinkForm;
use rnis::{CellId, Rnti};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Kinds of sources, and the transports of each.
const KINDS: [(&str, &[&str]); 9] = [
    ("reports", &["unix", "tcp", "amqp", "amqps", "nats", "tls"]),
    ("replay", &["file"]),
    ("srsran", &["ws", "wss"]),
    ("flexric", &["unix", "tcp"]),
    ("flexran", &["http", "https"]),
    ("oai-xapp", &["amqp", "amqps"]),
    ("legacy-csv", &["amqp", "amqps"]),
    ("e2sm-kpm", &["unix", "tcp"]),
    ("f1-u", &["interface", "file"]),
];
const ANSWERS: [(&str, AnswerForm); 2] =
    [("wrapped", AnswerForm::Wrapped), ("bare", AnswerForm::Bare)];
const LINKS: [(&str, LinkForm); 2] = [("lists", LinkForm::Lists), ("object", LinkForm::Object)];
const NAMES: [(&str, bool); 2] = [("title-case", true), ("lower-case", false)];
const AMQP: &[&str] = &["amqp", "amqps"];
const NATS: &[&str] = &["nats", "tls"];
/// Exchange and beginning of the subject, where none is given.
const TOPIC: &str = "brimful.radio";

pub(super) fn config(root: &mut Section<'_, '_>) -> Result<Config, ConfigError> {
    let tables = network::read(root)?;
    let sources = root.tables("source", "[[source]]")?;
    let sources: Result<Vec<_>, _> = sources.into_iter().map(|s| source(s, &tables)).collect();
    let sources = sources?;
    for (i, source) in sources.iter().enumerate() {
        if sources[..i].iter().any(|s| s.name == source.name) {
            return Err(root.fault(format!("two sources are called \"{}\"", source.name)));
        }
    }
    let unix = match root.table("unix", "[unix]")? {
        None => None,
        Some(mut section) => {
            let (path, _) = section.needed_text("path", "\"/run/brimful/radio.sock\"")?;
            let unread_timeout = timeout(&mut section, "unread-timeout")?;
            section.finish()?;
            Some(UnixConfig {
                path: PathBuf::from(path),
                unread_timeout: unread_timeout.unwrap_or(UNREAD_TIMEOUT),
            })
        }
    };
    let amqp = root.table("amqp", "[amqp]")?;
    let amqp = amqp.map(|s| topic(s, "exchange", AMQP)).transpose()?;
    let nats = root.table("nats", "[nats]")?;
    let nats = nats.map(|s| topic(s, "subject", NATS)).transpose()?;
    let clients = root.tables("client", "[[client]]")?;
    let clients: Result<Vec<_>, _> = clients.into_iter().map(client).collect();
    let clients = clients?;
    let http = root.table("http", "[http]")?;
    let http = http.map(|s| interface(s, clients)).transpose()?;
    let platform = root.table("mec-platform", "[mec-platform]")?;
    let platform = platform.map(mec_platform).transpose()?;
    let metrics = match root.table("metrics", "[metrics]")? {
        None => None,
        Some(mut section) => {
            let listen: Option<SocketAddr> = section.parsed("listen")?;
            section.finish()?;
            listen
        }
    };
    let dashboard = dash::Settings::read(root, metrics.is_some())?;
    let max_age = root
        .parsed("max-age")?
        .unwrap_or(units::Duration::from_secs(1));
    let release_after = root
        .parsed("release-after")?
        .unwrap_or(units::Duration::from_secs(2));
    if sources.is_empty() {
        return Err(root.fault("no [[source]]: nothing would ever be reported"));
    }
    if platform.is_some() && amqp.is_none() && nats.is_none() && http.is_none() {
        return Err(
            root.fault("[mec-platform] without [amqp], [nats] or [http]: nothing to announce")
        );
    }
    Ok(Config {
        sources,
        ues: tables.ues,
        network: tables.network,
        unix,
        amqp,
        nats,
        http,
        metrics,
        dashboard,
        platform,
        max_age,
        release_after,
    })
}

fn source(mut section: Section<'_, '_>, tables: &Tables) -> Result<SourceConfig, ConfigError> {
    let (name, _) = section.needed_text("name", "\"lab\"")?;
    let kinds: Vec<&str> = KINDS.iter().map(|k| k.0).collect();
    let (kind, at) = section.needed_text("kind", &format!("one of {}", kinds.join(", ")))?;
    let Some((kind, schemes)) = KINDS.iter().find(|k| k.0 == kind) else {
        let text = format!("unknown kind \"{kind}\"; expected {}", kinds.join(", "));
        return Err(section.fault_at(at, text));
    };
    let (text, at) = section.needed_text("url", "\"unix:/run/brimful/cell.sock\"")?;
    let address: Address = text
        .parse()
        .map_err(|e| section.fault_at(at, format!("url: {e}")))?;
    if !schemes.contains(&address.scheme()) {
        let scheme = address.scheme();
        let allowed = schemes.join(", ");
        let text = format!("{kind} does not come over {scheme}; it comes over {allowed}");
        return Err(section.fault_at(at, text));
    }
    let lines = matches!(address, Address::Unix(_) | Address::Tcp(_));
    let listen = if lines {
        listening(&mut section)?
    } else {
        None
    };
    let kind = match *kind {
        "reports" => SourceKind::Reports {
            topic: text_or(&mut section, "topic", TOPIC)?,
        },
        "replay" => SourceKind::Replay {
            speed: section.number("speed", 0.001..=1e6)?.unwrap_or(1.0),
            repeat: section.truth("repeat")?.unwrap_or(false),
        },
        "srsran" => SourceKind::SrsRan {
            cell: cell(&mut section, tables)?,
            pci: section.whole("pci", 0..=1007)?,
        },
        "flexric" => SourceKind::FlexRic {
            cell: cell(&mut section, tables)?,
        },
        "flexran" => SourceKind::FlexRan {
            cell: cell(&mut section, tables)?,
            bs_id: section.whole("bs-id", 0..=i64::MAX)?,
        },
        "oai-xapp" => SourceKind::OaiXapp {
            cell: cell(&mut section, tables)?,
            queue: text_or(&mut section, "queue", "rnis_xapp")?,
        },
        "legacy-csv" => legacy(&mut section, tables)?,
        "f1-u" => f1u(&mut section, tables)?,
        _ => SourceKind::Kpm {
            cell: cell(&mut section, tables)?,
        },
    };
    section.finish()?;
    Ok(SourceConfig {
        name,
        address,
        listen,
        kind,
    })
}

/// Between these a timeout of a connection can be.
const MIN_TIMEOUT: Duration = Duration::from_millis(10);
const MAX_TIMEOUT: Duration = Duration::from_secs(86_400);
/// That of a reader of the Unix socket, where none is given.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(20);

fn timeout(
    section: &mut Section<'_, '_>,
    key: &'static str,
) -> Result<Option<Duration>, ConfigError> {
    let time: Option<units::Duration> = section.parsed(key)?;
    let time = time.map(|time| Duration::from_nanos(time.as_nanos()));
    match time {
        Some(time) if !(MIN_TIMEOUT..=MAX_TIMEOUT).contains(&time) => {
            Err(section.fault(format!("{key} is 10 ms to 86400 s, not {time:?}")))
        }
        time => Ok(time),
    }
}

fn listening(section: &mut Section<'_, '_>) -> Result<Option<Listening>, ConfigError> {
    let is_listening = section.truth("listen")?.unwrap_or(false);
    let max_connections = section.whole("max-connections", 1..=1_024)?;
    let first_line = timeout(section, "first-line-timeout")?;
    let silence = timeout(section, "silence-timeout")?;
    let is_limited = max_connections.is_some() || first_line.is_some() || silence.is_some();
    if !is_listening {
        let text =
            "max-connections, first-line-timeout and silence-timeout go with listen = true only";
        return match is_limited {
            true => Err(section.fault(text)),
            false => Ok(None),
        };
    }
    let default = Listening::default();
    Ok(Some(Listening {
        max_connections: max_connections.unwrap_or(default.max_connections),
        first_line: first_line.unwrap_or(default.first_line),
        silence: silence.unwrap_or(default.silence),
    }))
}

fn text_or(
    section: &mut Section<'_, '_>,
    key: &'static str,
    default: &str,
) -> Result<String, ConfigError> {
    Ok(section
        .text(key)?
        .map_or(default.to_owned(), |(text, _)| text))
}

fn cell(section: &mut Section<'_, '_>, tables: &Tables) -> Result<CellProfile, ConfigError> {
    let id: Option<u32> = section.whole("cell", 0..=i64::from(u32::MAX))?;
    let found = match id {
        Some(id) => tables
            .cells
            .get(&CellId(id))
            .ok_or(format!("cell {id} has no [[cell]]")),
        None if tables.cells.len() == 1 => tables.cells.values().next().ok_or(String::new()),
        None => Err("cell = ... is needed: the source does not report all of its cell".to_owned()),
    };
    found.cloned().map_err(|text| section.fault(text))
}

fn legacy(section: &mut Section<'_, '_>, tables: &Tables) -> Result<SourceKind, ConfigError> {
    let (text, at) = section.needed_text("ue", "\"10.45.0.2\"")?;
    let ue: IpAddr = text
        .parse()
        .map_err(|_| section.fault_at(at, format!("ue \"{text}\" is no address")))?;
    let configured = tables.ues.ues().iter().find(|known| known.ip == ue);
    let rnti = configured.and_then(|known| {
        known.ids.iter().find_map(|id| match id {
            UeId::Rnti(rnti) => Some(*rnti),
            _ => None,
        })
    });
    Ok(SourceKind::LegacyCsv {
        cell: cell(section, tables)?,
        queue: text_or(section, "queue", "hello")?,
        ue,
        rnti: rnti.unwrap_or(Rnti(1)),
    })
}

/// Bytes of packets that may wait in the kernel, where none are given: 100 ms of 640 Mbit/s.
const CAPTURE_BUFFER: units::Bytes = units::Bytes::new(8_000_000);

fn f1u(section: &mut Section<'_, '_>, tables: &Tables) -> Result<SourceKind, ConfigError> {
    let sn_length = match section.whole::<u8>("pdcp-sn-bits", 12..=18)? {
        None | Some(18) => SnLength::Bits18,
        Some(12) => SnLength::Bits12,
        Some(other) => {
            return Err(section.fault(format!("pdcp-sn-bits is 12 or 18, not {other}")));
        }
    };
    let idle_timeout = timeout(section, "idle-timeout")?.unwrap_or(Duration::from_secs(30));
    let buffer: units::Bytes = section.parsed("capture-buffer")?.unwrap_or(CAPTURE_BUFFER);
    if !(100_000..=1 << 30).contains(&buffer.get()) {
        return Err(section.fault(format!("capture-buffer is 100 kB to 1073 MB, not {buffer}")));
    }
    let status_period: Option<units::Duration> = section.parsed("status-period")?;
    let status_period = status_period.unwrap_or(units::Duration::from_millis(10));
    let (least, most) = (
        units::Duration::from_millis(1),
        units::Duration::from_secs(1),
    );
    if !(least..=most).contains(&status_period) {
        return Err(section.fault(format!("status-period is 1 ms to 1 s, not {status_period}")));
    }
    let monitor = f1u::Config {
        cell: cell(section, tables)?,
        ues: tables.ues.clone(),
        units: section.parsed_list("distributed-units")?,
        sn_length,
        status_period,
        has_sdap: section.truth("sdap")?.unwrap_or(true),
        idle_timeout: units::Duration::from_nanos(
            u64::try_from(idle_timeout.as_nanos()).unwrap_or(u64::MAX),
        ),
    };
    Ok(SourceKind::F1u {
        monitor,
        buffer: usize::try_from(buffer.get()).unwrap_or(usize::MAX),
    })
}

fn topic(
    mut section: Section<'_, '_>,
    key: &'static str,
    schemes: &[&str],
) -> Result<TopicConfig, ConfigError> {
    let (text, at) = section.needed_text("url", &format!("\"{}://127.0.0.1\"", schemes[0]))?;
    let address: Address = text
        .parse()
        .map_err(|e| section.fault_at(at, format!("url: {e}")))?;
    if !schemes.contains(&address.scheme()) {
        return Err(section.fault_at(at, format!("url: expected {}", schemes.join(" or "))));
    }
    let topic = text_or(&mut section, key, TOPIC)?;
    if topic.is_empty() || topic.contains([' ', '*', '>', '#']) {
        return Err(section.fault(format!("{key} is a name without blanks and wildcards")));
    }
    let formats = [("json", Format::Json), ("binary", Format::Binary)];
    let format = section.word("format", &formats)?.unwrap_or(Format::Json);
    section.finish()?;
    Ok(TopicConfig {
        address,
        topic,
        format,
    })
}

fn client(mut section: Section<'_, '_>) -> Result<ClientConfig, ConfigError> {
    let (id, _) = section.needed_text("id", "\"dashboard\"")?;
    let (hex, at) = section.needed_text("secret-sha256", "the output of sha256sum")?;
    let secret_sha256 = parse_hex(&hex)
        .ok_or_else(|| section.fault_at(at, "secret-sha256 is 64 hexadecimal digits"))?;
    let scopes = section.parsed_list::<String>("scope")?;
    if let Some(wrong) = scopes.iter().find(|s| *s != "query" && *s != "subscribe") {
        return Err(section.fault(format!("scope \"{wrong}\" is none of query, subscribe")));
    }
    let all = scopes.is_empty();
    let app_instance = text_or(&mut section, "app-instance-id", &id)?;
    section.finish()?;
    Ok(ClientConfig {
        query: all || scopes.iter().any(|s| s == "query"),
        subscribe: all || scopes.iter().any(|s| s == "subscribe"),
        id,
        secret_sha256,
        app_instance,
    })
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(bytes)
}

fn interface(
    mut section: Section<'_, '_>,
    clients: Vec<ClientConfig>,
) -> Result<HttpConfig, ConfigError> {
    let (text, at) = section.needed_text("listen", "\"127.0.0.1:8443\"")?;
    let listen: SocketAddr = text
        .parse()
        .map_err(|_| section.fault_at(at, format!("listen \"{text}\" is no address and port")))?;
    let certificate = section
        .text("tls-certificate")?
        .map(|(text, _)| text.into());
    let key = section.text("tls-key")?.map(|(text, _)| text.into());
    let tls = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(section.fault("tls-certificate and tls-key come together")),
    };
    if tls.is_none() && !listen.ip().is_loopback() {
        let text = "without tls-certificate and tls-key it listens on loopback only: tokens and \
                    locations of users would be readable on the way";
        return Err(section.fault_at(at, text));
    }
    if clients.is_empty() {
        return Err(section.fault("no [[client]]: no request could be authorized"));
    }
    let scheme = if tls.is_some() { "https" } else { "http" };
    let public_url = text_or(&mut section, "public-url", &format!("{scheme}://{listen}"))?;
    if !public_url.starts_with("https://") && !public_url.starts_with("http://") {
        return Err(section.fault("public-url begins with https:// or http://"));
    }
    let rate = section.number("rate", 0.1..=1e6)?.unwrap_or(50.0);
    let time = |section: &mut Section<'_, '_>, key, default| {
        let time: Option<units::Duration> = section.parsed(key)?;
        Ok(time.map_or(default, |t| Duration::from_nanos(t.as_nanos())))
    };
    let max_body: units::Bytes = section
        .parsed("max-body")?
        .unwrap_or(units::Bytes::new(65_536));
    let http = HttpConfig {
        listen,
        public_url: public_url.trim_end_matches('/').to_owned(),
        tls,
        clients,
        token_lifetime: time(&mut section, "token-lifetime", Duration::from_secs(3600))?,
        rate,
        burst: section
            .number("burst", 1.0..=1e6)?
            .unwrap_or(2.0 * rate.max(1.0)),
        max_body: usize::try_from(max_body.get())
            .unwrap_or(usize::MAX)
            .min(16 << 20),
        max_connections: section
            .whole("max-connections", 1..=100_000)?
            .unwrap_or(256),
        max_subscriptions: section
            .whole("max-subscriptions", 1..=100_000)?
            .unwrap_or(100),
        expiry_notice: time(&mut section, "expiry-notice", Duration::from_secs(30))?,
        answers: section.word("answers", &ANSWERS)?.unwrap_or_default(),
        notification_links: section
            .word("notification-links", &LINKS)?
            .unwrap_or_default(),
        title_case: section.word("header-names", &NAMES)?.unwrap_or(true),
        callback_networks: section.parsed_list("callback-networks")?,
        ca_file: section.text("ca-file")?.map(|(text, _)| text.into()),
    };
    section.finish()?;
    Ok(http)
}

fn mec_platform(mut section: Section<'_, '_>) -> Result<PlatformConfig, ConfigError> {
    let (url, at) = section.needed_text("url", "\"https://mep/mec_service_mgmt/v1\"")?;
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(section.fault_at(at, "url begins with https:// or http://"));
    }
    let (app_instance, _) = section.needed_text("app-instance-id", "\"rnis-1\"")?;
    let token = section.text("token")?.map(|(text, _)| text);
    section.finish()?;
    Ok(PlatformConfig {
        url: url.trim_end_matches('/').to_owned(),
        app_instance,
        token,
    })
}
