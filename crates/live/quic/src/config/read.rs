//! From the text of a file to a [`Config`].

use super::{Certificate, Config, StatsTarget};
use cc::meld::Variant;
use daemon::Log;
use daemon::config::{ConfigError, Section};
use report_source::{read_addresses, read_source, read_ues};
use std::net::SocketAddr;
use std::path::PathBuf;
use units::Bytes;

/// Minimum and maximum MTU (RFC 9000 14, 18.2).
const MTU: std::ops::RangeInclusive<i64> = 1_200..=65_527;

pub(super) fn config(top: &mut Section<'_, '_>) -> Result<Config, ConfigError> {
    let mut config = Config {
        listen: top.parsed_list::<SocketAddr>("listen")?,
        ..Config::default()
    };
    if config.listen.is_empty() {
        return Err(top.missing("listen", "[\"0.0.0.0:443\"]"));
    }
    controller(top, &mut config)?;
    if let Some(mut table) = top.table("cdbe", "[cdbe]")? {
        if let Some((name, at)) = table.text("mode")? {
            config.cdbe = cc::cdbe::Mode::from_name(&name).ok_or_else(|| {
                let names = cc::cdbe::Mode::NAMES.join(", ");
                table.fault_at(at, format!("mode is {name:?}, expected {names}"))
            })?;
        }
        table.finish()?;
    }
    config.certificate = certificate(top)?;
    if let Some(mut table) = top.table("reports", "[reports]")? {
        config.max_age = table.time("max-age")?.unwrap_or(config.max_age);
        config.reports = Some(read_source(&mut table)?);
        table.finish()?;
    }
    config.ues = read_ues(top)?;
    config.addresses = read_addresses(top)?;
    if let Some(mut table) = top.table("http", "[http]")? {
        config.root = table.parsed::<PathBuf>("root")?;
        config.largest = table.parsed::<Bytes>("largest")?.unwrap_or(config.largest);
        table.finish()?;
    }
    if let Some(mut table) = top.table("transport", "[transport]")? {
        config.mtu = table.whole("mtu", MTU)?;
        table.finish()?;
    }
    observers(top, &mut config)?;
    if let Some(mut table) = top.table("limits", "[limits]")? {
        let connections = table.whole("connections", 1..=10_000_000)?;
        config.connections = connections.unwrap_or(config.connections);
        let per_address = table.whole("connections-per-address", 1..=10_000_000)?;
        config.connections_per_address = per_address.unwrap_or(config.connections_per_address);
        config.streams = table
            .whole("streams", 1..=10_000)?
            .unwrap_or(config.streams);
        let memory = config.min_memory()..=Bytes::new(1 << 50);
        config.memory = bytes(&mut table, "memory", memory)?.unwrap_or(config.memory);
        let window = Config::MIN_WINDOW..=Config::MAX_WINDOW;
        config.window = bytes(&mut table, "window", window)?.unwrap_or(config.window);
        table.finish()?;
    }
    config.log = log(top)?;
    Ok(config)
}

/// A number of bytes in a range.
fn bytes(
    table: &mut Section<'_, '_>,
    key: &'static str,
    allowed: std::ops::RangeInclusive<Bytes>,
) -> Result<Option<Bytes>, ConfigError> {
    match table.parsed_at::<Bytes>(key)? {
        Some((value, at)) if !allowed.contains(&value) => {
            let (min, max) = allowed.into_inner();
            let message = format!("{key} is {value}, expected {min} to {max}");
            Err(table.fault_at(at, message))
        }
        other => Ok(other.map(|(value, _)| value)),
    }
}

fn controller(top: &mut Section<'_, '_>, config: &mut Config) -> Result<(), ConfigError> {
    if let Some((name, at)) = top.text("cc")? {
        let found = cc::named(&name).map_err(|error| top.fault_at(at, format!("cc: {error}")))?;
        found.name.clone_into(&mut config.cc);
    }
    if let Some((name, at)) = top.text("meld")? {
        config.meld = match name.as_str() {
            "off" => None,
            name => Some(Variant::from_name(name).ok_or_else(|| {
                let known = Variant::NAMES.join(", ");
                top.fault_at(at, format!("meld is {name:?}, expected off, {known}"))
            })?),
        };
    }
    Ok(())
}

fn certificate(top: &mut Section<'_, '_>) -> Result<Certificate, ConfigError> {
    let Some(mut table) = top.table("certificate", "[certificate]")? else {
        return Err(top.missing(
            "certificate",
            "{ chain = \"/etc/brimful/chain.pem\", key = \"/etc/brimful/key.pem\" }",
        ));
    };
    let names = table.parsed_list::<String>("self-signed")?;
    let write = table.parsed::<PathBuf>("write")?;
    let chain = table.parsed::<PathBuf>("chain")?;
    let key = table.parsed::<PathBuf>("key")?;
    let certificate = match (chain, key) {
        (Some(chain), Some(key)) if names.is_empty() && write.is_none() => {
            Certificate::Files { chain, key }
        }
        (None, None) if !names.is_empty() => Certificate::SelfSigned { names, write },
        _ => {
            return Err(table.fault(
                "expected chain and key, or for trials self-signed = [\"localhost\"] and perhaps \
                 write = \"FILE\"",
            ));
        }
    };
    table.finish()?;
    Ok(certificate)
}

fn observers(top: &mut Section<'_, '_>, config: &mut Config) -> Result<(), ConfigError> {
    if let Some(mut table) = top.table("qlog", "[qlog]")? {
        config.qlog = Some(table.needed_parsed("folder", "\"/var/log/brimful/qlog\"")?);
        table.finish()?;
    }
    if let Some(mut table) = top.table("metrics", "[metrics]")? {
        config.metrics = Some(table.needed_parsed("listen", "\"127.0.0.1:9465\"")?);
        table.finish()?;
    }
    config.dashboard = dash::Settings::read(top, config.metrics.is_some())?;
    if let Some(mut table) = top.table("stats", "[stats]")? {
        let file: PathBuf = table.needed_parsed("file", "\"/run/brimful/quic.jsonl\"")?;
        config.stats = Some(StatsTarget::File(file));
        let interval = table.time("interval")?;
        config.stats_interval = interval.unwrap_or(config.stats_interval);
        table.finish()?;
    }
    Ok(())
}

fn log(top: &mut Section<'_, '_>) -> Result<Log, ConfigError> {
    let mut log = Config::default().log;
    if let Some(mut table) = top.table("log", "[log]")? {
        log.json = table.truth("json")?.unwrap_or(false);
        log = log.at_debug(table.truth("debug")?.unwrap_or(false));
        table.finish()?;
    }
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use report_source::ReportSource;
    use std::net::IpAddr;
    use units::Duration;

    const GOOD: &str = r#"
listen = ["0.0.0.0:443", "[::]:443"]
cc = "newreno"
meld = "me"
[certificate]
chain = "/etc/brimful/chain.pem"
key = "/etc/brimful/key.pem"
[reports]
source = "unix:/run/brimful/radio.sock"
max-age = "80 ms"
users = ["0", "994"]
[[ue]]
rnti = 17921
ip = "10.45.0.2"
[[address]]
remote = "192.0.2.7"
ue = "10.45.0.2"
[http]
root = "/srv/www"
largest = "100 MB"
[transport]
mtu = 1440
[qlog]
folder = "/var/log/brimful/qlog"
[metrics]
listen = "127.0.0.1:9465"
[dashboard]
rate = 10
[stats]
file = "/tmp/stats"
interval = "50 ms"
[limits]
connections = 500
connections-per-address = 20
memory = "200 MB"
window = "2 MB"
[log]
json = true
"#;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse("quic.toml", text)
    }

    #[test]
    fn a_whole_file() {
        let config = parse(GOOD).expect("valid");
        assert_eq!(config.listen.len(), 2);
        assert_eq!(
            (config.cc.as_str(), config.meld),
            ("newreno", Some(Variant::MixedEnhancement))
        );
        assert_eq!(config.max_age, Duration::from_millis(80));
        assert_eq!(
            (config.mtu, config.connections, config.log.json),
            (Some(1_440), 500, true)
        );
        assert_eq!(config.connections_per_address, 20);
        assert_eq!(config.memory, Bytes::new(200_000_000));
        assert_eq!(config.window, Bytes::new(2_000_000));
        assert_eq!(config.largest, Bytes::new(100_000_000));
        assert_eq!(config.dashboard.rate, 10.0);
        let ue = "10.45.0.2".parse::<IpAddr>().expect("an address");
        assert_eq!(config.ue_of("192.0.2.7".parse().expect("an address")), ue);
        assert_eq!(
            config.ue_of("::ffff:10.45.0.2".parse().expect("an address")),
            ue
        );
        let Some(ReportSource::Unix { users, .. }) = config.reports else {
            panic!("a socket");
        };
        assert_eq!(users, [0, 994]);
    }

    #[test]
    fn faults_name_the_place_the_value_and_what_is_allowed() {
        let fault = |from: &str, to: &str| {
            assert!(GOOD.contains(from), "{from}");
            parse(&GOOD.replace(from, to)).expect_err(to).to_string()
        };
        let text = fault("cc = \"newreno\"", "cc = \"newrenno\"");
        assert!(
            text.starts_with("quic.toml:3:") && text.contains("did you mean \"newreno\""),
            "{text}"
        );
        let text = fault("meld = \"me\"", "meld = \"mee\"");
        assert!(
            text.contains("expected off, de, me, default, yield"),
            "{text}"
        );
        let text = fault("max-age", "max-aeg");
        assert!(text.contains("did you mean \"max-age\""), "{text}");
        assert!(fault("80 ms", "0 ms").contains("max-age is 0"));
        assert!(fault("80 ms", "80").contains("max-age"));
        let text = fault("\"200 MB\"", "\"200 kB\"");
        assert!(
            text.starts_with("quic.toml:")
                && text.contains("memory is")
                && text.contains("expected"),
            "{text}"
        );
        assert!(fault("\"2 MB\"", "\"2 GB\"").contains("window is"));
        assert!(fault("per-address = 20", "per-address = 0").contains("connections-per-address"));
        assert!(fault("1440", "900").contains("1200 to 65527"));
        assert!(fault("key = \"/etc/brimful/key.pem\"", "").contains("expected chain and key"));
        assert!(fault("unix:/run/brimful/radio.sock", "http://x/").contains("expected unix:PATH"));
        assert!(
            fault("users = [\"0\", \"994\"]", "topic = \"t\"").contains("topic is of a broker")
        );
        assert!(
            fault("listen = [\"0.0.0.0:443\", \"[::]:443\"]", "").contains("no key \"listen\"")
        );
        let secret = fault("unix:/run/brimful/radio.sock", "amqp://me:secret@broker/");
        assert!(
            secret.contains("users is of a socket") && !secret.contains("secret"),
            "{secret}"
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "[a-z=\\[\\]\" \n0-9.-]{0,200}") {
            let _ = parse(&text);
        }
    }
}
