//! From the text of a file to a [`Config`].

use super::reader::{Reader, Text};
use super::{
    Broker, Config, ConfigError, Control, Explicit, Interception, Keepalive, Limits, Log,
    LogFormat, Prefix, Relay, Reports, Source, Transparent,
};
use super::{dashboard, rapid};
use rnis::Rnti;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use toml_span::Span;
use toml_span::value::ValueInner;
use units::{Bytes, Duration};

const TOP: &[&str] = &[
    "mode",
    "control",
    "ue-prefixes",
    "bypass",
    "ran-interface",
    "wan-interface",
    "port",
    "drop-privileges",
    "explicit",
    "reports",
    "ues",
    "admin",
    "metrics",
    "dashboard",
    "limits",
    "keepalive",
    "relay",
    "log",
    "rapid",
    "record",
];

/// The longest name of an interface (`IFNAMSIZ` less its end).
const INTERFACE_NAME: usize = 15;

pub(super) fn read(name: &str, text: &str) -> Result<Config, ConfigError> {
    let source = Text { name, text };
    let root = toml_span::parse(text)
        .map_err(|error| source.fault(Some(error.span), format!("not TOML: {error}")))?;
    let mut top = Reader::new(&source, "", TOP, Some(root))?;
    let is_transparent = top.word("mode", &[("transparent", true), ("explicit", false)], true)?;
    let interception = if is_transparent {
        Interception::Transparent(transparent(&mut top)?)
    } else {
        Interception::Explicit(explicit(&mut top)?)
    };
    let control = top.word(
        "control",
        &[
            ("default", Control::Default),
            ("paper", Control::Paper),
            ("split", Control::Split),
        ],
        Control::Default,
    )?;
    let mut admin = top.table("admin", "[admin]", &["socket"])?;
    let reports = reports(&mut top, control)?;
    let mut metrics = top.table("metrics", "[metrics]", &["listen"])?;
    let metrics: Option<SocketAddr> = metrics.parsed("listen")?.map(|(address, _)| address);
    Ok(Config {
        interception,
        control,
        allocator: rapid::allocator(&mut top, control, reports.max_age)?,
        reports,
        record: rapid::recording(&mut top, control)?,
        ues: ues(&mut top)?,
        admin: admin.parsed("socket")?.map(|(path, _)| path),
        metrics,
        dashboard: dashboard::read(&mut top, metrics.is_some())?,
        limits: limits(&mut top)?,
        keepalive: keepalive(&mut top)?,
        relay: relay(&mut top)?,
        log: log(&mut top)?,
        drop_privileges: top.flag("drop-privileges", true)?,
    })
}

fn transparent(top: &mut Reader<'_, '_>) -> Result<Transparent, ConfigError> {
    if let Some(value) = top.take("explicit") {
        return Err(top.source.fault(
            Some(value.span),
            "[explicit] is for mode = \"explicit\"; this is mode = \"transparent\"",
        ));
    }
    let ue_prefixes: Vec<Prefix> = top.list("ue-prefixes")?.unwrap_or_default();
    if ue_prefixes.is_empty() {
        return Err(top.missing(
            "ue-prefixes",
            "say whose connections are taken, for example ue-prefixes = [\"10.45.0.0/24\"]",
        ));
    }
    Ok(Transparent {
        ue_prefixes,
        bypass: top.list("bypass")?.unwrap_or_default(),
        ran_interface: interface(top, "ran-interface", "the interface towards the UEs")?,
        wan_interface: interface(top, "wan-interface", "the interface towards the servers")?,
        port: top.count("port", 0..=65_535, 0)? as u16,
    })
}

fn interface(
    top: &mut Reader<'_, '_>,
    key: &'static str,
    what: &str,
) -> Result<String, ConfigError> {
    let Some((name, span)) = top.parsed::<String>(key)? else {
        return Err(top.missing(key, &format!("it names {what}")));
    };
    // what an interface may be called, and nothing that means something in a rule
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    if name.is_empty() || name.len() > INTERFACE_NAME || !name.chars().all(is_plain) {
        return Err(top.source.fault(
            Some(span),
            format!(
                "\"{key}\" = \"{name}\" is no name of an interface; expected 1 to \
                 {INTERFACE_NAME} letters, digits, and any of -_.@"
            ),
        ));
    }
    Ok(name)
}

fn explicit(top: &mut Reader<'_, '_>) -> Result<Explicit, ConfigError> {
    for key in [
        "ue-prefixes",
        "bypass",
        "ran-interface",
        "wan-interface",
        "port",
    ] {
        if let Some(value) = top.take(key) {
            return Err(top.source.fault(
                Some(value.span),
                format!("\"{key}\" is for mode = \"transparent\"; this is mode = \"explicit\""),
            ));
        }
    }
    let mut table = top.table("explicit", "[explicit]", &["listen", "upstream", "allow"])?;
    let Some((listen, _)) = table.parsed::<SocketAddr>("listen")? else {
        return Err(table.missing("listen", "for example listen = \"127.0.0.1:8080\""));
    };
    let Some((upstream, span)) = table.parsed::<SocketAddr>("upstream")? else {
        return Err(table.missing(
            "upstream",
            "the proxy is no open relay: say the one server that connections go on to",
        ));
    };
    if upstream == listen {
        let message = "\"upstream\" is the proxy itself (\"listen\")";
        return Err(table.source.fault(Some(span), message));
    }
    let loopback = || ["127.0.0.0/8", "::1"].iter().filter_map(|p| p.parse().ok());
    let allow = table.list("allow")?;
    Ok(Explicit {
        listen,
        upstream,
        allow: allow.unwrap_or_else(|| loopback().collect()),
    })
}

/// What URLs of brokers begin with.
const SCHEMES: [&str; 4] = ["amqp://", "amqps://", "nats://", "tls://"];
/// Exchange or subject of `brimful rnis`.
const TOPIC: &str = "brimful.radio";

fn reports(top: &mut Reader<'_, '_>, control: Control) -> Result<Reports, ConfigError> {
    let keys = &["source", "topic", "max-age", "plain-after"];
    let mut table = top.table("reports", "[reports]", keys)?;
    let topic = table.parsed::<String>("topic")?;
    let source = match table.parsed::<String>("source")? {
        None if control == Control::Split => None,
        None => {
            return Err(table.missing(
                "source",
                "for example source = \"unix:/run/brimful/radio.sock\", or control = \"split\" \
                 for a proxy that does not look at the radio",
            ));
        }
        Some((text, span)) => Some(source_of(&table, &text, span, topic.as_ref())?),
    };
    if let (Some((_, span)), None | Some(Source::Unix(_))) = (&topic, &source) {
        let message = "\"topic\" is for a source that is a broker (amqp:// or nats://)";
        return Err(table.source.fault(Some(*span), message));
    }
    let max_age = duration(&mut table, "max-age", Duration::from_millis(100))?;
    let plain_after = duration(&mut table, "plain-after", Duration::from_secs(2))?;
    if plain_after < max_age {
        return Err(table.missing(
            "plain-after",
            "it must not be less than max-age, after which windows decay first",
        ));
    }
    Ok(Reports {
        source,
        max_age,
        plain_after,
    })
}

fn source_of(
    table: &Reader<'_, '_>,
    text: &str,
    span: Span,
    topic: Option<&(String, Span)>,
) -> Result<Source, ConfigError> {
    if let Some(path) = text.strip_prefix("unix:").filter(|p| p.starts_with('/')) {
        return Ok(Source::Unix(PathBuf::from(path)));
    }
    let host = SCHEMES.iter().find_map(|s| text.strip_prefix(s));
    if host.is_none_or(str::is_empty) {
        // what it is may hold a password
        let message = "\"source\" is not known; expected \"unix:/PATH\", \"amqp://HOST:PORT/VHOST\" \
                       or \"nats://HOST:PORT\"";
        return Err(table.source.fault(Some(span), message));
    }
    let topic = match topic {
        None => TOPIC.to_owned(),
        Some((topic, span)) => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if topic.is_empty() || !topic.chars().all(is_plain) {
                let message = format!("\"topic\" = \"{topic}\": expected letters, digits and -_.");
                return Err(table.source.fault(Some(*span), message));
            }
            topic.clone()
        }
    };
    let url = text.to_owned();
    Ok(Source::Broker(Broker { url, topic }))
}

/// A time above zero.
fn duration(
    table: &mut Reader<'_, '_>,
    key: &'static str,
    default: Duration,
) -> Result<Duration, ConfigError> {
    match table.parsed::<Duration>(key)? {
        None => Ok(default),
        Some((time, _)) if !time.is_zero() => Ok(time),
        Some((_, span)) => Err(table
            .source
            .fault(Some(span), format!("\"{key}\" must be more than 0 s"))),
    }
}

/// A size in a range.
fn size(
    table: &mut Reader<'_, '_>,
    key: &'static str,
    least: u64,
    most: u64,
    default: u64,
) -> Result<Bytes, ConfigError> {
    match table.parsed::<Bytes>(key)? {
        None => Ok(Bytes::new(default)),
        Some((size, _)) if (least..=most).contains(&size.get()) => Ok(size),
        Some((_, span)) => Err(table.source.fault(
            Some(span),
            format!(
                "\"{key}\" is out of range; allowed is {} to {}",
                Bytes::new(least),
                Bytes::new(most)
            ),
        )),
    }
}

fn ues(top: &mut Reader<'_, '_>) -> Result<BTreeMap<Rnti, IpAddr>, ConfigError> {
    let mut ues = BTreeMap::new();
    let Some(mut value) = top.take("ues") else {
        return Ok(ues);
    };
    let span = value.span;
    let ValueInner::Table(table) = value.take() else {
        return Err(top.source.fault(
            Some(span),
            "[ues] maps RNTIs to addresses, for example 17921 = \"10.45.0.2\"",
        ));
    };
    for (key, value) in table {
        let rnti = key
            .name
            .parse::<u16>()
            .ok()
            .filter(|n| (1..=65_519).contains(n));
        let Some(rnti) = rnti else {
            let message = format!("\"{}\" is no RNTI; allowed is 1 to 65519", key.name);
            return Err(top.source.fault(Some(key.span), message));
        };
        let Some(address) = value.as_str().and_then(|text| text.parse().ok()) else {
            let message = format!("RNTI {rnti}: expected an address, for example \"10.45.0.2\"");
            return Err(top.source.fault(Some(value.span), message));
        };
        ues.insert(Rnti(rnti), address);
    }
    Ok(ues)
}

fn limits(top: &mut Reader<'_, '_>) -> Result<Limits, ConfigError> {
    let keys = &[
        "connections",
        "connections-per-ue",
        "memory",
        "memory-per-ue",
        "handshake",
        "idle",
        "half-closed",
        "drain",
    ];
    let mut table = top.table("limits", "[limits]", keys)?;
    let tera = 1_000_000_000_000;
    Ok(Limits {
        connections: table.count("connections", 1..=10_000_000, 9_000)? as usize,
        connections_per_ue: table.count("connections-per-ue", 1..=10_000_000, 1_000)? as usize,
        memory: size(&mut table, "memory", 1_000_000, tera, 1_000_000_000)?,
        memory_per_ue: size(&mut table, "memory-per-ue", 100_000, tera, 64_000_000)?,
        handshake: duration(&mut table, "handshake", Duration::from_secs(10))?,
        idle: duration(&mut table, "idle", Duration::from_secs(7_200))?,
        half_closed: duration(&mut table, "half-closed", Duration::from_secs(300))?,
        drain: duration(&mut table, "drain", Duration::from_secs(600))?,
    })
}

fn keepalive(top: &mut Reader<'_, '_>) -> Result<Keepalive, ConfigError> {
    let mut table = top.table("keepalive", "[keepalive]", &["idle", "interval", "probes"])?;
    Ok(Keepalive {
        idle: duration(&mut table, "idle", Duration::from_secs(300))?,
        interval: duration(&mut table, "interval", Duration::from_secs(30))?,
        probes: table.count("probes", 1..=100, 4)? as u32,
    })
}

fn relay(top: &mut Reader<'_, '_>) -> Result<Relay, ConfigError> {
    let keys = &["workers", "pipe", "receive-buffer", "unsent"];
    let mut table = top.table("relay", "[relay]", keys)?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Relay {
        workers: table.count("workers", 1..=64, cores.min(4) as u64)? as usize,
        pipe: size(&mut table, "pipe", 4_096, 1 << 30, 1 << 20)?,
        receive_buffer: size(&mut table, "receive-buffer", 65_536, 1 << 30, 4_000_000)?,
        unsent: size(&mut table, "unsent", 4_096, 1 << 30, 1 << 20)?,
    })
}

fn log(top: &mut Reader<'_, '_>) -> Result<Log, ConfigError> {
    let mut table = top.table("log", "[log]", &["format", "level"])?;
    Ok(Log {
        format: table.word(
            "format",
            &[("text", LogFormat::Text), ("json", LogFormat::Json)],
            LogFormat::Text,
        )?,
        level: table.word(
            "level",
            &[
                ("error", tracing::Level::ERROR),
                ("warn", tracing::Level::WARN),
                ("info", tracing::Level::INFO),
                ("debug", tracing::Level::DEBUG),
            ],
            tracing::Level::INFO,
        )?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = r#"
mode = "transparent"
ue-prefixes = ["10.45.0.0/24", "2001:db8:45::/64"]
ran-interface = "ran0"
wan-interface = "wan0"
[reports]
source = "unix:/run/brimful/radio.sock"
max-age = "80 ms"
[ues]
17921 = "10.45.0.2"
[admin]
socket = "/run/brimful/pep.sock"
[metrics]
listen = "127.0.0.1:9464"
"#;

    fn message(text: &str) -> String {
        Config::parse("pep.toml", text)
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn a_whole_file() {
        let config = Config::parse("pep.toml", GOOD).expect("valid");
        let Interception::Transparent(transparent) = &config.interception else {
            panic!("transparent");
        };
        assert_eq!(transparent.ue_prefixes.len(), 2);
        assert_eq!(config.control, Control::Default);
        assert_eq!(config.reports.max_age, Duration::from_millis(80));
        assert_eq!(config.ues[&Rnti(17921)].to_string(), "10.45.0.2");
        assert_eq!(config.limits.idle, Duration::from_secs(7_200));
        assert_eq!(config.record, None);
        let more = "[rapid]\ntarget-queue = \"2 ms\"\nwithout = [\"budget\"]\n\
                    [record]\nfile = \"/tmp/decisions\"\n";
        let config = Config::parse("pep.toml", &format!("{GOOD}{more}")).expect("valid");
        let allocator = config.allocator.expect("it decides");
        assert_eq!(allocator.target_queue, Duration::from_millis(2));
        assert_eq!(allocator.report_max_age, Duration::from_millis(80));
        assert_eq!(allocator.without, [::rapid::Part::Budget]);
        assert!(config.record.is_some());
    }

    #[test]
    fn faults_say_where_what_and_what_is_allowed() {
        let bad = GOOD.replace("ran-interface", "ran-interfaec");
        let said = message(&bad);
        assert!(said.starts_with("pep.toml:4:1: unknown key"), "{said}");
        assert!(said.contains("did you mean \"ran-interface\"?"), "{said}");
        let said = message(&GOOD.replace("80 ms", "80"));
        assert!(said.starts_with("pep.toml:8:"), "{said}");
        assert!(said.contains("no unit"), "{said}");
        let said = message(&GOOD.replace("\"transparent\"", "\"transparnt\""));
        assert!(said.contains("did you mean \"transparent\"?"), "{said}");
        let said = message(&format!("{GOOD}[rapid]\nslow-threshold = 1.5\n"));
        assert!(
            said.contains("slow-threshold is 1.5, expected above 0"),
            "{said}"
        );
        let said = message(&format!("{GOOD}[rapid]\nwithout = [\"budgte\"]\n"));
        assert!(said.contains("expected some of payload, demand"), "{said}");
        let said = message(&format!("{GOOD}[record]\nlimit = \"1 GB\"\n"));
        assert!(said.contains("has no key \"file\""), "{said}");
        let said = message(&GOOD.replace("wan0", "wan0; flush ruleset"));
        assert!(said.contains("no name of an interface"), "{said}");
        assert!(message("mode = \"explicit\"\ncontrol = \"split\"\n").contains("listen"));
    }

    #[test]
    fn the_explicit_mode_is_no_open_relay() {
        let text =
            "mode = \"explicit\"\ncontrol = \"split\"\n[explicit]\nlisten = \"0.0.0.0:80\"\n";
        assert!(message(text).contains("no open relay"));
        let text = format!("{text}upstream = \"192.0.2.1:80\"\n");
        let config = Config::parse("pep.toml", &text).expect("valid");
        let Interception::Explicit(explicit) = config.interception else {
            panic!("explicit");
        };
        let may = |a: &str| {
            let address = a.parse().expect("an address");
            explicit.allow.iter().any(|p| p.contains(address))
        };
        assert!(may("127.0.0.1") && may("::1") && !may("192.0.2.77"));
    }

    #[test]
    fn reports_come_from_a_socket_or_a_broker() {
        let with = |lines: &str| {
            let text = GOOD.replace("source = \"unix:/run/brimful/radio.sock\"", lines);
            Config::parse("pep.toml", &text)
        };
        let broker = |lines: &str| match with(lines).map(|c| c.reports.source) {
            Ok(Some(Source::Broker(broker))) => broker,
            other => panic!("{other:?}"),
        };
        let nats = broker("source = \"nats://10.0.0.9:4222\"");
        assert_eq!(nats.topic, "brimful.radio");
        let amqp = broker("source = \"amqp://me:secret@broker/%2f\"\ntopic = \"other\"");
        assert_eq!(amqp.topic, "other");
        assert_eq!(amqp.to_string(), "amqp://broker/%2f");
        assert!(!format!("{amqp:?}").contains("secret"));
        for (bad, said) in [
            ("source = \"http://me:secret@x\"", "expected \"unix:/PATH\""),
            ("source = \"nats://\"", "expected \"unix:/PATH\""),
            ("source = \"unix:relative\"", "expected \"unix:/PATH\""),
            ("source = \"unix:/x\"\ntopic = \"t\"", "is a broker"),
            ("source = \"nats://x\"\ntopic = \"a b\"", "letters, digits"),
        ] {
            let error = with(bad).expect_err(bad).to_string();
            assert!(error.contains(said) && !error.contains("secret"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "[a-z=\\[\\]\" \n0-9.-]{0,200}") {
            let _ = Config::parse("f", &text);
        }
    }
}
