//! Bounds, and the data path: `[limits]`, `[keepalive]`, `[relay]`.

use super::unsplit::WITHOUT_CONNECTIONS;
use super::{ConfigError, Interception, Keepalive, Limits, Relay};
use daemon::config::Section;
use units::{Bytes, Duration};

/// Bounds of connections, which are nothing without them.
const OF_CONNECTIONS: [&str; 9] = [
    "connections",
    "connections-per-ue",
    "syn-rate-per-ue",
    "memory",
    "memory-per-ue",
    "handshake",
    "idle",
    "half-closed",
    "drain",
];

/// A size in a range.
pub(super) fn size(
    table: &mut Section<'_, '_>,
    key: &'static str,
    allowed: std::ops::RangeInclusive<u64>,
    default: u64,
) -> Result<Bytes, ConfigError> {
    match table.parsed_at::<Bytes>(key)? {
        None => Ok(Bytes::new(default)),
        Some((size, _)) if allowed.contains(&size.get()) => Ok(size),
        Some((size, at)) => {
            let (least, most) = (Bytes::new(*allowed.start()), Bytes::new(*allowed.end()));
            let text = format!("{key} is {size}; allowed is {least} to {most}");
            Err(table.fault_at(at, text))
        }
    }
}

pub(super) fn limits(
    top: &mut Section<'_, '_>,
    interception: &Interception,
) -> Result<Limits, ConfigError> {
    let mut table = top.table_or_empty("limits", "[limits]")?;
    let is_transparent = matches!(interception, Interception::Transparent(_));
    match interception {
        Interception::Transparent(_) => {}
        Interception::Explicit(_) => table.refuse(
            "syn-rate-per-ue",
            "is for mode = \"transparent\"; this is mode = \"explicit\"",
        )?,
        Interception::Off { .. } => {
            for key in OF_CONNECTIONS {
                table.refuse(key, WITHOUT_CONNECTIONS)?;
            }
        }
    }
    let most = 1..=10_000_000;
    let tera = 1_000_000_000_000;
    let connections: usize = table.whole("connections", most.clone())?.unwrap_or(9_000);
    let limits = Limits {
        connections,
        overflow: if is_transparent {
            connections / 16 + 64
        } else {
            0
        },
        syn_rate_per_ue: table
            .whole("syn-rate-per-ue", 0..=1_000_000)?
            .unwrap_or(200),
        connections_per_ue: table.whole("connections-per-ue", most)?.unwrap_or(1_000),
        memory: size(&mut table, "memory", 1_000_000..=tera, 1_000_000_000)?,
        memory_per_ue: size(&mut table, "memory-per-ue", 100_000..=tera, 64_000_000)?,
        handshake: table.time("handshake")?.unwrap_or(Duration::from_secs(10)),
        idle: table.time("idle")?.unwrap_or(Duration::from_secs(7_200)),
        half_closed: table
            .time("half-closed")?
            .unwrap_or(Duration::from_secs(300)),
        hand_over: table.time("hand-over")?.unwrap_or(Duration::from_secs(30)),
        drain: table.time("drain")?.unwrap_or(Duration::from_secs(600)),
    };
    table.finish()?;
    Ok(limits)
}

pub(super) fn keepalive(top: &mut Section<'_, '_>) -> Result<Keepalive, ConfigError> {
    let mut table = top.table_or_empty("keepalive", "[keepalive]")?;
    let keepalive = Keepalive {
        idle: table.time("idle")?.unwrap_or(Duration::from_secs(300)),
        interval: table.time("interval")?.unwrap_or(Duration::from_secs(30)),
        probes: table.whole("probes", 1..=100)?.unwrap_or(4),
    };
    table.finish()?;
    Ok(keepalive)
}

pub(super) fn relay(top: &mut Section<'_, '_>) -> Result<Relay, ConfigError> {
    let mut table = top.table_or_empty("relay", "[relay]")?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let relay = Relay {
        workers: table.whole("workers", 1..=64)?.unwrap_or(cores.min(4)),
        pipe: size(&mut table, "pipe", 4_096..=1 << 30, 1 << 20)?,
        receive_buffer: size(&mut table, "receive-buffer", 65_536..=1 << 30, 4_000_000)?,
        unsent: size(&mut table, "unsent", 4_096..=1 << 30, 1 << 20)?,
    };
    table.finish()?;
    Ok(relay)
}
