//! From the text of a file to a [`Config`].

use super::{
    Config, ConfigError, Control, Explicit, Interception, Onward, Prefix, Reports, Transparent,
    UnsplitMode,
};
use super::{handover, limits, rapid, unsplit};
use ::rapid::Mode;
use daemon::Log;
use daemon::config::Section;
use edge::EdgeConfig;
use report_source::{ReportSource, read_source_if_any, read_ue_addresses};
use std::net::SocketAddr;

const TOP: [&str; 27] = [
    "mode",
    "control",
    "ue-prefixes",
    "bypass",
    "ran-interface",
    "wan-interface",
    "port",
    "onward-mark",
    "follow-forward-policy",
    "drop-privileges",
    "user",
    "explicit",
    "reports",
    "ue",
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
    "split",
    "unsplit",
    "handover",
];

pub(super) fn config(top: &mut Section<'_, '_>) -> Result<Config, ConfigError> {
    top.declare(&TOP)?;
    let splits = unsplit::splits(top)?;
    let modes = [("transparent", true), ("explicit", false)];
    let interception = match (top.word("mode", &modes)?, splits) {
        (Some(false), false) => return Err(unsplit::explicit_without_split(top)),
        (_, false) => unsplit::without_split(top)?,
        (None | Some(true), true) => Interception::Transparent(transparent(top)?),
        (Some(false), true) => Interception::Explicit(explicit(top)?),
    };
    let onward = onward(top, &interception)?;
    let mut controls = Mode::ALL
        .map(|mode| (mode.name(), Control::Rapid(mode)))
        .to_vec();
    controls.push(("split", Control::Split));
    let control = match splits {
        true => top.word("control", &controls)?,
        false => Some(Control::Split),
    };
    let control = control.unwrap_or(Control::Rapid(Mode::Default));
    let unsplit = unsplit::unsplit(top, &interception)?;
    let handover = handover::handover(top, &interception)?;
    let mode = unsplit.as_ref().map_or(UnsplitMode::Off, |of| of.mode);
    let reports = reports(top, control, mode)?;
    let decides = rapid::decides(top, control, &reports)?;
    let mut admin = top.table_or_empty("admin", "[admin]")?;
    let socket = admin.parsed("socket")?;
    admin.finish()?;
    let drop_privileges = top.truth("drop-privileges")?.unwrap_or(true);
    let mut metrics = top.table_or_empty("metrics", "[metrics]")?;
    let listen: Option<SocketAddr> = metrics.parsed("listen")?;
    metrics.finish()?;
    let limits = limits::limits(top, &interception)?;
    Ok(Config {
        interception,
        onward,
        control,
        edge: decides.edge,
        actuator: decides.actuator,
        wan_actuator: decides.wan_actuator,
        unsplit,
        handover,
        reports,
        record: rapid::recording(top, control)?,
        ues: read_ue_addresses(top)?,
        admin: socket,
        metrics: listen,
        dashboard: dash::Settings::read(top, listen.is_some())?,
        limits,
        keepalive: limits::keepalive(top)?,
        relay: limits::relay(top)?,
        log: log(top)?,
        drop_privileges,
        user: user(top, drop_privileges)?,
    })
}

/// Whether there is one is found out at the start.
fn user(top: &mut Section<'_, '_>, drops: bool) -> Result<Option<String>, ConfigError> {
    match top.text("user")? {
        Some((name, at)) if name.is_empty() => {
            Err(top.fault_at(at, "user is empty; for example \"brimful\""))
        }
        Some((_, at)) if !drops => Err(top.fault_at(at, "user needs drop-privileges = true")),
        named => Ok(named.map(|(name, _)| name)),
    }
}

fn transparent(top: &mut Section<'_, '_>) -> Result<Transparent, ConfigError> {
    top.refuse(
        "explicit",
        "is for mode = \"explicit\"; this is mode = \"transparent\"",
    )?;
    let ue_prefixes: Vec<Prefix> = top.parsed_list("ue-prefixes")?;
    if ue_prefixes.is_empty() {
        return Err(top.missing(
            "ue-prefixes",
            "[\"10.45.0.0/24\"], whose connections are taken",
        ));
    }
    Ok(Transparent {
        ue_prefixes,
        bypass: top.parsed_list("bypass")?,
        ran_interface: interface(top, "ran-interface", "\"ran0\", towards the UEs")?,
        wan_interface: interface(top, "wan-interface", "\"wan0\", towards the servers")?,
        port: top.whole("port", 0..=65_535)?.unwrap_or(0),
        follow_forward_policy: top.truth("follow-forward-policy")?.unwrap_or(false),
    })
}

/// The upper half of the marks that the interception gives packets.
const OWN_MARKS: u32 = 0x4252;

fn onward(top: &mut Section<'_, '_>, interception: &Interception) -> Result<Onward, ConfigError> {
    let mark: u32 = top
        .whole("onward-mark", 0..=i64::from(u32::MAX))?
        .unwrap_or(0);
    if mark >> 16 == OWN_MARKS {
        return Err(top.fault(format!(
            "onward-mark is {mark:#x}; 0x42520000 to 0x4252ffff are the interception's own"
        )));
    }
    let interface = match interception {
        Interception::Transparent(transparent) => Some(transparent.wan_interface.clone()),
        Interception::Explicit(_) => top.interface("wan-interface")?,
        Interception::Off { .. } => None,
    };
    Ok(Onward { mark, interface })
}

pub(super) fn interface(
    top: &mut Section<'_, '_>,
    key: &'static str,
    example: &str,
) -> Result<String, ConfigError> {
    match top.interface(key)? {
        Some(name) => Ok(name),
        None => Err(top.missing(key, example)),
    }
}

fn explicit(top: &mut Section<'_, '_>) -> Result<Explicit, ConfigError> {
    for key in [
        "ue-prefixes",
        "bypass",
        "ran-interface",
        "port",
        "follow-forward-policy",
    ] {
        top.refuse(
            key,
            "is for mode = \"transparent\"; this is mode = \"explicit\"",
        )?;
    }
    let mut table = top.table_or_empty("explicit", "[explicit]")?;
    let listen = table.needed_parsed::<SocketAddr>("listen", "\"127.0.0.1:8080\"")?;
    let Some((upstream, at)) = table.parsed_at::<SocketAddr>("upstream")? else {
        return Err(table.missing(
            "upstream",
            "\"192.0.2.1:80\", the one server that connections go on to: the proxy is no open relay",
        ));
    };
    if upstream == listen {
        return Err(table.fault_at(at, "upstream is the proxy itself (listen)"));
    }
    let allow = match table.has("allow") {
        true => table.parsed_list("allow")?,
        false => ["127.0.0.0/8", "::1"]
            .iter()
            .filter_map(|prefix| prefix.parse().ok())
            .collect(),
    };
    table.finish()?;
    Ok(Explicit {
        listen,
        upstream,
        allow,
    })
}

fn reports(
    top: &mut Section<'_, '_>,
    control: Control,
    unsplit: UnsplitMode,
) -> Result<Reports, ConfigError> {
    let mut table = top.table_or_empty("reports", "[reports]")?;
    let source = read_source_if_any(&mut table)?;
    if source.is_none() && control == Control::Split && unsplit != UnsplitMode::Off {
        let name = unsplit.name();
        let example = format!(
            "\"unix:/run/brimful/radio.sock\"; [unsplit] mode = \"{name}\" goes by radio reports"
        );
        return Err(table.missing("source", &example));
    }
    if source.is_none() && control != Control::Split {
        return Err(table.missing(
            "source",
            "\"unix:/run/brimful/radio.sock\"; control = \"split\" is a proxy that does not look at \
             the radio",
        ));
    }
    if let Some(source) = &source {
        check_source(&table, source)?;
    }
    let defaults = EdgeConfig::new(Mode::Default);
    let max_age = table.time("max-age")?;
    let same = table.time("report-max-age")?;
    if max_age.is_some() && same.is_some() {
        return Err(table.fault("max-age and report-max-age are one key; give one of them"));
    }
    let max_age = max_age.or(same);
    let max_age = max_age.unwrap_or(defaults.allocator.report_max_age);
    let plain_after = table
        .time("plain-after")?
        .unwrap_or(defaults.plain_after.max(max_age));
    if plain_after < max_age {
        return Err(table.fault(format!(
            "plain-after is {plain_after}, expected no less than max-age ({max_age}), after which \
             windows decay first"
        )));
    }
    table.finish()?;
    Ok(Reports {
        source,
        max_age,
        plain_after,
    })
}

/// A path that does not depend on where the proxy is started, and a topic that AMQP and NATS have both.
fn check_source(table: &Section<'_, '_>, source: &ReportSource) -> Result<(), ConfigError> {
    match source {
        ReportSource::Unix { path, .. } if !path.is_absolute() => {
            let message = format!("source is {source}; expected \"unix:/PATH\"");
            Err(table.fault(message))
        }
        ReportSource::Broker { topic, .. } => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if topic.is_empty() || !topic.chars().all(is_plain) {
                let message = format!("topic = {topic:?}: expected letters, digits and -_.");
                return Err(table.fault(message));
            }
            Ok(())
        }
        ReportSource::Unix { .. } => Ok(()),
    }
}

fn log(top: &mut Section<'_, '_>) -> Result<Log, ConfigError> {
    let levels = [
        ("error", tracing::Level::ERROR),
        ("warn", tracing::Level::WARN),
        ("info", tracing::Level::INFO),
        ("debug", tracing::Level::DEBUG),
    ];
    Ok(Log {
        is_flat: true,
        ..Log::read(top, &levels)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rnis::Rnti;
    use units::Duration;

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
        assert_eq!(config.control, Control::Rapid(Mode::Default));
        assert_eq!(config.reports.max_age, Duration::from_millis(80));
        assert_eq!(config.ues[&Rnti(17921)].to_string(), "10.45.0.2");
        let long = "[[ue]]\nrnti = 17921\nip = \"10.45.0.2\"\n";
        let long = GOOD.replace("[ues]\n17921 = \"10.45.0.2\"\n", long);
        let as_others = Config::parse("pep.toml", &long).expect("valid");
        assert_eq!(as_others.ues, config.ues);
        assert_eq!(config.limits.idle, Duration::from_secs(7_200));
        assert_eq!(config.limits.syn_rate_per_ue, 200);
        assert_eq!(config.record, None);
        let more = "[rapid]\ntarget-queue = \"2 ms\"\nbearer = 2\nwithout = [\"budget\"]\n\
                    [record]\nfile = \"/tmp/decisions\"\n";
        let config = Config::parse("pep.toml", &format!("{GOOD}{more}")).expect("valid");
        let allocator = config.edge.expect("it decides").allocator;
        assert_eq!(allocator.target_queue, Duration::from_millis(2));
        assert_eq!(allocator.report_max_age, Duration::from_millis(80));
        assert_eq!(allocator.bearer, 2);
        assert_eq!(allocator.without, [::rapid::Part::Budget]);
        assert!(config.record.is_some());
    }

    #[test]
    fn faults_name_place_value_and_what_is_allowed() {
        let bad = GOOD.replace("ran-interface", "ran-interfaec");
        let printed = message(&bad);
        assert!(
            printed.starts_with("pep.toml:4:1: unknown key"),
            "{printed}"
        );
        assert!(
            printed.contains("did you mean \"ran-interface\"?"),
            "{printed}"
        );
        let printed = message(&GOOD.replace("80 ms", "80"));
        assert!(printed.starts_with("pep.toml:8:"), "{printed}");
        assert!(printed.contains("no unit"), "{printed}");
        let printed = message(&GOOD.replace("\"transparent\"", "\"transparnt\""));
        assert!(
            printed.contains("did you mean \"transparent\"?"),
            "{printed}"
        );
        let printed = message(&format!("{GOOD}[rapid]\nslow-threshold = 1.5\n"));
        assert!(
            printed.contains("slow-threshold is 1.5, expected above 0"),
            "{printed}"
        );
        let printed = message(&format!("{GOOD}[rapid]\nwithout = [\"budgte\"]\n"));
        assert!(
            printed.contains("expected some of payload, demand"),
            "{printed}"
        );
        let printed = message(&format!("{GOOD}[record]\nlimit = \"1 GB\"\n"));
        assert!(printed.contains("no key \"file\""), "{printed}");
        let printed = message(&format!("onward-mark = 0x42520001\n{GOOD}"));
        assert!(printed.contains("the interception's own"), "{printed}");
        let printed = message(&format!("{GOOD}[limits]\nsyn-rate-per-ue = -1\n"));
        assert!(printed.contains("syn-rate-per-ue"), "{printed}");
        let printed = message(&GOOD.replace("wan0", "wan0; flush ruleset"));
        assert!(printed.contains("no name of an interface"), "{printed}");
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
        assert_eq!(config.onward, Onward::default());
        let text = format!("wan-interface = \"wan0\"\nonward-mark = 0x77\n{text}");
        let bound = Config::parse("pep.toml", &text).expect("valid").onward;
        assert_eq!(
            (bound.mark, bound.interface.as_deref()),
            (0x77, Some("wan0"))
        );
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
        let source = |lines: &str| {
            let config = with(lines).unwrap_or_else(|error| panic!("{error}"));
            config.reports.source.expect("a source")
        };
        let topic = |source: &ReportSource| match source {
            ReportSource::Broker { topic, .. } => topic.clone(),
            ReportSource::Unix { .. } => panic!("{source}"),
        };
        let nats = source("source = \"nats://10.0.0.9:4222\"");
        assert_eq!(topic(&nats), "brimful.radio");
        let amqp = source("source = \"amqp://me:secret@broker/%2f\"\ntopic = \"other\"");
        assert_eq!(topic(&amqp), "other");
        assert_eq!(amqp.to_string(), "amqp://broker/%2f");
        assert!(!format!("{amqp:?}").contains("secret"));
        let users = source("source = \"unix:/radio\"\nusers = [\"0\", \"994\"]");
        let expected = ReportSource::Unix {
            path: "/radio".into(),
            users: vec![0, 994],
        };
        assert_eq!(users, expected);
        for (bad, printed) in [
            ("source = \"http://me:secret@x\"", "expected unix:PATH"),
            ("source = \"nats://\"", "expected unix:PATH"),
            ("source = \"unix:relative\"", "expected \"unix:/PATH\""),
            ("source = \"unix:/x\"\ntopic = \"t\"", "is a broker"),
            ("source = \"nats://x\"\ntopic = \"a b\"", "letters, digits"),
        ] {
            let error = with(bad).expect_err(bad).to_string();
            assert!(
                error.contains(printed) && !error.contains("secret"),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "[a-z=\\[\\]\" \n0-9.-]{0,200}") {
            let _ = Config::parse("f", &text);
        }
    }
}
