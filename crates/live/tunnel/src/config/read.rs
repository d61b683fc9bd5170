//! From the text of a file to a [`Config`].

mod keys;
mod tun;

use super::{
    ClientConfig, ClientEnd, Config, Encryption, End, PathConfig, Remote, Role, ServerConfig,
    Threads,
};
use daemon::Log;
use daemon::config::{ConfigError, Section, Span};
use multipath::client::{Supervision, SupervisionError};
use multipath::packet::PathPriority;
use multipath::parity::Fec;
use multipath::reorder::{Late, ReorderConfig, WaitRule};
use multipath::scheduler;
use multipath::tunnel::{self, BufferQueue, Carrier, Key, NEVER, Setting, TunnelConfig};
use recovery::Validation;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use tracing::Level;
use units::{Duration, Packets};

/// Minimum and maximum MTU of the device: IPv6 needs the minimum.
pub(crate) const MTU: std::ops::RangeInclusive<i64> = 1_280..=65_000;
/// Minimum and maximum size of an IP packet outside: IPv6 needs the minimum, no IP packet is larger than the maximum.
const PATH_MTU: std::ops::RangeInclusive<i64> = 1_280..=65_535;
/// Minimum and maximum packets of a buffer.
const BUFFER: std::ops::RangeInclusive<i64> = 1..=100_000;
/// Maximum number of paths of a connection (RFC 9897's address identifiers, and our scheduler's sets).
const MAX_PATHS: usize = 32;
/// Minimum and maximum time of a TCP connection without a path.
const PENDING_TIMEOUT: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(60);
/// Minimum and maximum silence of a path before it is queried; a server removes one after 120 s.
const KEEPALIVE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(60);
/// Priorities by name (RFC 9897 3.2.10).
const PRIORITIES: [(&str, u8); 4] = [
    ("never", 0),
    ("standby", 1),
    ("secondary", 2),
    ("primary", 3),
];

/// Which end a file is of.
pub(super) fn role_of(top: &mut Section<'_, '_>) -> Result<Role, ConfigError> {
    let roles = [Role::Client, Role::Server].map(|role| (role.name(), role));
    let given = top.word("role", &roles)?;
    Ok(given.unwrap_or(match top.has("listen") {
        true => Role::Server,
        false => Role::Client,
    }))
}

pub(super) fn config(top: &mut Section<'_, '_>, role: Role) -> Result<Config, ConfigError> {
    if let Some((given, at)) = top.text("role")?
        && given != role.name()
    {
        let text = format!(
            "role = {given:?}, but this is \"brimful tunnel {}\"",
            role.name()
        );
        return Err(top.fault_at(at, text));
    }
    let keys = keys::read(top)?;
    let end = match role {
        Role::Client => End::Client(client(top, keys.encryption)?),
        Role::Server => End::Server(server(top, keys.encryption)?),
    };
    let mut config = Config::new(end);
    keys.apply(&mut config);
    tun(top, &mut config)?;
    shared(top, &mut config)?;
    Ok(config)
}

fn tun(top: &mut Section<'_, '_>, config: &mut Config) -> Result<(), ConfigError> {
    let Some(mut table) = top.table("tun", "[tun]")? else {
        return Ok(());
    };
    if let Some(name) = table.interface("name")? {
        config.tun.name = name;
    }
    config.tun.addresses = table.parsed_list("addresses")?;
    config.tun.mtu = table.whole("mtu", MTU)?;
    config.tun.routes = table.parsed_list("routes")?;
    tun::system(&mut table, &mut config.tun)?;
    table.finish()
}

fn shared(top: &mut Section<'_, '_>, config: &mut Config) -> Result<(), ConfigError> {
    set(
        &mut config.threads,
        top.number_or_word("threads", &Threads::NAMES)?,
    );
    if let Some((name, at)) = top.text("scheduler")? {
        scheduler::build(&name).map_err(|error| top.fault_at(at, error))?;
        config.scheduler = name;
    }
    if let Some(mut table) = top.table("reorder", "[reorder]")? {
        config.connection.reorder = ReorderConfig::new(wait_rule(&mut table)?);
        settings(&mut table, &mut config.connection, |key| key.in_reorder)?;
        table.finish()?;
    }
    settings(top, &mut config.connection, |key| {
        key.in_reorder.is_none().then_some(key.name)
    })?;
    if let Some(mut table) = top.table("admin", "[admin]")? {
        config.admin = Some(
            table
                .needed_text("socket", "\"/run/brimful/tunnel.sock\"")?
                .0
                .into(),
        );
        table.finish()?;
    }
    if let Some(mut table) = top.table("metrics", "[metrics]")? {
        let text = "\"127.0.0.1:9466\"";
        config.metrics = Some(table.needed_parsed::<SocketAddr>("listen", text)?);
        table.finish()?;
    }
    #[cfg(feature = "edge")]
    {
        config.dashboard = dash::Settings::read(top, config.metrics.is_some())?;
    }
    #[cfg(not(feature = "edge"))]
    for (key, what) in [("dashboard", "dashboard"), ("reports", "radio reports")] {
        if top.has(key) {
            return Err(top.fault(format!("[{key}]: this build has no {what}")));
        }
    }
    config.log = Log::read(top, &[("info", Level::INFO), ("debug", Level::DEBUG)])?;
    Ok(())
}

fn wait_rule(table: &mut Section<'_, '_>) -> Result<WaitRule, ConfigError> {
    let rule = table
        .parsed::<WaitRule>("mode")?
        .unwrap_or(WaitRule::Adaptive);
    match (rule, table.parsed::<Duration>("wait")?) {
        (WaitRule::Fixed(_), Some(wait)) => Ok(WaitRule::Fixed(wait)),
        (_, Some(_)) => Err(table.fault("wait is for mode = \"fixed\"")),
        (rule, None) => Ok(rule),
    }
}

/// The settings that have a name here.
fn settings(
    section: &mut Section<'_, '_>,
    connection: &mut TunnelConfig,
    name: impl Fn(Key) -> Option<&'static str>,
) -> Result<(), ConfigError> {
    for (key, setting) in connection.settings() {
        let Some(name) = name(key) else { continue };
        match setting {
            // all others depend on it
            Setting::Rule(_) => {}
            Setting::Packets(packets) => {
                let given = section.whole::<u32>(name, BUFFER)?;
                set(packets, given.map(|count| Packets::new(count.into())));
            }
            Setting::Duration(time) => set(time, section.parsed(name)?),
            Setting::Optional(time) => {
                let given = optional(section, name, key.older)?;
                set(time, given.map(|given| given.0));
            }
            Setting::Flag(flag) => set(flag, section.truth(name)?),
            Setting::Late(late) => set(late, section.word(name, &Late::NAMES)?),
            Setting::Validation(validation) => {
                let all = Validation::ALL.map(|each| (each.name(), each));
                set(validation, section.word(name, &all)?);
            }
            Setting::Fec(fec) => {
                let all = Fec::ALL.map(|each| (each.name(), each));
                set(fec, section.word(name, &all)?);
            }
            Setting::Queue(queue) => {
                let all = BufferQueue::ALL.map(|each| (each.name(), each));
                set(queue, section.word(name, &all)?);
            }
        }
    }
    Ok(())
}

fn set<T>(to: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *to = given;
    }
}

/// A time, or never.
struct OrNever(Option<Duration>);

impl FromStr for OrNever {
    type Err = <Duration as FromStr>::Err;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            NEVER => Ok(Self(None)),
            text => text.parse().map(|time| Self(Some(time))),
        }
    }
}

/// A time by its name, or by the name that files of before have.
fn optional(
    section: &mut Section<'_, '_>,
    name: &'static str,
    older: Option<&'static str>,
) -> Result<Option<OrNever>, ConfigError> {
    let given = section.parsed_at::<OrNever>(name)?;
    let Some(older) = older else {
        return match given {
            Some((OrNever(Some(time)), at))
                if name == "keepalive" && !KEEPALIVE.contains(&time) =>
            {
                let text =
                    format!("keepalive = {time}; expected \"100 ms\" to \"60 s\", or \"never\"");
                Err(section.fault_at(at, text))
            }
            given => Ok(given.map(|(time, _)| time)),
        };
    };
    match (given, section.parsed_at::<OrNever>(older)?) {
        (Some(_), Some((_, at))) => {
            let text =
                format!("{older} is the name of {name} in older files; expected one of them");
            Err(section.fault_at(at, text))
        }
        (given, before) => Ok(given.or(before).map(|(time, _)| time)),
    }
}

fn client(top: &mut Section<'_, '_>, encryption: Encryption) -> Result<ClientEnd, ConfigError> {
    let (server_key, key_file) = keys::peer(top, "server-key", encryption)?;
    let remote = top.parsed::<Remote>("remote")?;
    let path_mtu = top.whole("path-mtu", PATH_MTU)?;
    let mut paths: Vec<PathConfig> = Vec::new();
    for mut table in top.tables("path", "[[path]]")? {
        let (mut path, at) = path(&mut table, remote.as_ref())?;
        if path.carrier == Carrier::Dccp {
            path.path_mtu = path.path_mtu.or(path_mtu);
        }
        if paths.iter().any(|other| other.name == path.name) {
            return Err(table.fault_at(at, format!("there are two paths {:?}", path.name)));
        }
        table.finish()?;
        paths.push(path);
    }
    match paths.len() {
        0 => {
            Err(top
                .fault("no path; for example [[path]] with name = \"wifi\", interface = \"wlan0\""))
        }
        n if n > MAX_PATHS => Err(top.fault(format!("{n} paths; allowed are {MAX_PATHS}"))),
        _ => Ok(ClientEnd {
            server_key,
            key_file,
            paths,
            use_announced: top.truth("use-announced")?.unwrap_or(false),
            supervision: supervision(top)?,
        }),
    }
}

/// When paths are opened again, and connections begun anew.
fn supervision(top: &mut Section<'_, '_>) -> Result<Supervision, ConfigError> {
    let mut supervision = Supervision::default();
    let Some(mut table) = top.table("supervision", "[supervision]")? else {
        return Ok(supervision);
    };
    for (key, value) in supervision.keys() {
        if let Some((given, at)) = table.parsed_at::<Duration>(key)? {
            let error = SupervisionError { key, value: given };
            *value = Supervision::allowed(given).ok_or_else(|| table.fault_at(at, error))?;
        }
    }
    table.finish()?;
    Ok(supervision)
}

fn path(
    table: &mut Section<'_, '_>,
    remote: Option<&Remote>,
) -> Result<(PathConfig, Span), ConfigError> {
    let (name, at) = table.needed_text("name", "\"wifi\"")?;
    check_label(table, &name, at)?;
    let interface = table.interface("interface")?;
    let local = table.parsed::<IpAddr>("local")?;
    let remote = match (table.parsed::<Remote>("remote")?, remote) {
        (Some(own), _) => own,
        (None, Some(all)) => all.clone(),
        (None, None) => return Err(table.missing("remote", "\"192.0.2.1:6511\"")),
    };
    let address = remote.address();
    if let (Some(local), Some(address)) = (local, address)
        && local.is_ipv4() != address.is_ipv4()
    {
        return Err(table.fault("local and remote must be of one address family"));
    }
    let carrier = table
        .word("carrier", &Carrier::NAMES)?
        .unwrap_or(Carrier::Dccp);
    let path_mtu = table.whole("path-mtu", PATH_MTU)?;
    if carrier == Carrier::Stream && path_mtu.is_some() {
        return Err(table.fault("path-mtu is of no use with carrier = \"tcp\""));
    }
    let config = PathConfig {
        name,
        interface,
        local,
        remote,
        priority: priority(table)?,
        carrier,
        controller: controller(table, carrier)?,
        path_mtu,
    };
    Ok((config, at))
}

/// Names are labels of metrics and words of commands.
fn check_label(table: &Section<'_, '_>, name: &str, at: Span) -> Result<(), ConfigError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 32 || !name.chars().all(is_plain) {
        let text = format!("{name:?} is no name; expected 1 to 32 letters, digits, and any of -_.");
        return Err(table.fault_at(at, text));
    }
    Ok(())
}

/// By name, or by number as the option has it.
pub(crate) fn parse_priority(text: &str) -> Result<PathPriority, String> {
    let number = match PRIORITIES.iter().find(|(name, _)| *name == text) {
        Some((_, number)) => Some(*number),
        None => text.parse().ok().filter(|number| *number <= 15),
    };
    number.map(PathPriority::from_bits).ok_or_else(|| {
        let names: Vec<&str> = PRIORITIES.iter().map(|(name, _)| *name).collect();
        format!("expected {}, or \"0\" to \"15\"", names.join(", "))
    })
}

fn priority(table: &mut Section<'_, '_>) -> Result<PathPriority, ConfigError> {
    match table.text("priority")? {
        None => Ok(tunnel::PathConfig::default().priority),
        Some((text, at)) => parse_priority(&text)
            .map_err(|error| table.fault_at(at, format!("priority = {text:?}: {error}"))),
    }
}

fn controller(table: &mut Section<'_, '_>, carrier: Carrier) -> Result<String, ConfigError> {
    let all = carrier.controllers();
    match table.text("controller")? {
        None => Ok(all[0].to_owned()),
        Some((name, _)) if all.contains(&name.as_str()) => Ok(name),
        Some((name, at)) => {
            let (carrier, all) = (carrier.name(), all.join(", "));
            let text = format!("controller = {name:?}; carrier \"{carrier}\" has {all}");
            Err(table.fault_at(at, text))
        }
    }
}

fn server(top: &mut Section<'_, '_>, encryption: Encryption) -> Result<ServerConfig, ConfigError> {
    let listen = top.parsed_list::<SocketAddr>("listen")?;
    if listen.is_empty() {
        return Err(top.missing("listen", "[\"0.0.0.0:6511\", \"[::]:6511\"]"));
    }
    let announce = top.parsed_list::<SocketAddr>("announce")?;
    if let Some(address) = announce.iter().find(|a| !is_announceable(a)) {
        let text = format!("announce: {address} is no address and port of one host");
        return Err(top.fault(text));
    }
    let controller = controller(top, Carrier::Dccp)?;
    let path_mtu = top.whole("path-mtu", PATH_MTU)?;
    let mut clients: Vec<ClientConfig> = Vec::new();
    for mut table in top.tables("client", "[[client]]")? {
        let (name, at) = table.needed_text("name", "\"car\"")?;
        check_label(&table, &name, at)?;
        let (public_key, key_file) = keys::peer(&mut table, "public-key", encryption)?;
        let client = ClientConfig {
            name,
            public_key,
            key_file,
            addresses: table.parsed_list("addresses")?,
        };
        if client.addresses.is_empty() {
            return Err(table.missing("addresses", "[\"10.99.0.2/32\", \"fd00:99::2/128\"]"));
        }
        for other in &clients {
            if other.name == client.name {
                return Err(table.fault_at(at, format!("there are two clients {:?}", client.name)));
            }
            if client.public_key.is_some() && other.public_key == client.public_key {
                let text = format!("public-key is that of the client {:?} too", other.name);
                return Err(table.fault(text));
            }
            let shared = |a| other.addresses.iter().any(|b| b.overlaps(a));
            if let Some(address) = client.addresses.iter().find(|a| shared(a)) {
                let text = format!("{address} is of the client {:?} too", other.name);
                return Err(table.fault(text));
            }
        }
        table.finish()?;
        clients.push(client);
    }
    if clients.is_empty() {
        return Err(top.fault(
            "no client; for example [[client]] with name = \"car\", public-key = \"...\", \
             addresses = [\"10.99.0.2/32\"]",
        ));
    }
    let ServerConfig {
        mut half_open,
        mut pending,
        ..
    } = ServerConfig::default();
    if let Some(mut table) = top.table("limits", "[limits]")? {
        half_open = table.whole("half-open", 1..=65_536)?.unwrap_or(half_open);
        read_pending(&mut table, &mut pending)?;
        table.finish()?;
    }
    #[cfg(feature = "edge")]
    let reports = reports(top)?;
    Ok(ServerConfig {
        listen,
        announce,
        #[cfg(feature = "edge")]
        reports,
        clients,
        controller,
        path_mtu,
        half_open,
        pending,
    })
}

fn is_announceable(address: &SocketAddr) -> bool {
    let ip = address.ip();
    let is_of_all = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    !(ip.is_unspecified() || ip.is_multicast() || is_of_all || address.port() == 0)
}

/// Where radio reports come from.
#[cfg(feature = "edge")]
fn reports(top: &mut Section<'_, '_>) -> Result<Option<crate::ReportsConfig>, ConfigError> {
    use report_source::{read_addresses, read_source, read_ues};
    let Some(mut table) = top.table("reports", "[reports]")? else {
        return Ok(None);
    };
    let source = read_source(&mut table)?;
    table.finish()?;
    Ok(Some(crate::ReportsConfig {
        source,
        ues: read_ues(top)?,
        addresses: read_addresses(top)?,
    }))
}

/// Limits of TCP connections without a path.
fn read_pending(
    table: &mut Section<'_, '_>,
    pending: &mut crate::PendingLimits,
) -> Result<(), ConfigError> {
    if let Some(total) = table.whole("tcp-pending", 1..=65_536)? {
        pending.total = total;
    }
    if let Some(of_source) = table.whole("tcp-pending-per-source", 1..=65_536)? {
        pending.per_source = of_source;
    }
    if let Some((text, at)) = table.text("tcp-pending-timeout")? {
        let key = "tcp-pending-timeout";
        let timeout: Option<Duration> = text.parse().ok();
        pending.timeout = timeout
            .filter(|time| PENDING_TIMEOUT.contains(time))
            .ok_or_else(|| {
                let error = format!("{key} = {text:?}; expected \"100 ms\" to \"60 s\"");
                table.fault_at(at, error)
            })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
