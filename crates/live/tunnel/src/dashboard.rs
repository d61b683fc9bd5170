//! What the dashboard shows of the tunnel: its paths and peers, and at a server the cells and UEs of
//! radio reports.

use crate::config::Config;
use crate::daemon::Handle;
use crate::error::TunnelError;
use crate::status::{ConnectionStatus, PathStatus, Status};
use dash::{Hosted, Kind, Metric, Prepared, Sample, Source};
use std::collections::BTreeMap;

/// In so long, seconds, half of what a path has carried no longer counts for its share.
const HALF_LIFE: f64 = 1.0;

/// Gets the dashboard ready; none where there is no server for it, or where it is switched off.
pub(crate) fn prepare(config: &Config) -> Result<Option<Prepared>, TunnelError> {
    if config.metrics.is_none() {
        return Ok(None);
    }
    let title = format!("brimful tunnel {}", config.role().name());
    Ok(config.dashboard.prepare(Source::Tunnel, title)?)
}

/// Begins to show.
pub(crate) fn start(prepared: Prepared, handle: &Handle) -> Result<Hosted, TunnelError> {
    let (handle, meter) = (handle.clone(), prepared.meter());
    let mut shares = Shares::default();
    let measure = move |sample: &mut Sample| {
        meter.put(sample, true);
        if let Some(status) = handle.status() {
            put(&status, &mut shares, sample);
        }
    };
    Ok(prepared.start(measure)?)
}

/// What each path has carried of late, bytes, by its name.
type Shares = BTreeMap<String, f64>;

fn put(status: &Status, shares: &mut Shares, sample: &mut Sample) {
    // windows and queues are counted in packets; taken as full ones
    let packet = status.device.mtu as f64;
    let mut seen = Shares::new();
    for connection in &status.connections {
        put_connection(connection, sample);
        let names: Vec<String> = connection
            .paths
            .iter()
            .map(|path| name(status, connection, path))
            .collect();
        for (path, name) in connection.paths.iter().zip(&names) {
            put_path(path, name, &connection.peer, packet, sample);
            let lately = shares.get(name).copied().unwrap_or(0.0);
            let lately = match sample.grown(name, Metric::PathShare, carried(path)) {
                Some((bytes, time)) => {
                    lately * 0.5_f64.powf(time.as_secs_f64() / HALF_LIFE) + bytes as f64
                }
                None => 0.0,
            };
            seen.insert(name.clone(), lately);
        }
        let of = |name: &String| seen.get(name).copied().unwrap_or(0.0);
        let all: f64 = names.iter().map(of).sum();
        for name in &names {
            // while nothing is carried there are no shares: no number is left out
            let share = of(name) / all;
            sample.put(
                Kind::Path,
                name,
                Some(&connection.peer),
                Metric::PathShare,
                share,
            );
        }
    }
    *shares = seen;
}

/// A path as it is called: at a server, paths have no names of their own.
fn name(status: &Status, connection: &ConnectionStatus, path: &PathStatus) -> String {
    match status.role {
        "client" => path.name.clone(),
        _ => format!("{} {}", connection.peer, path.remote),
    }
}

/// Bytes of packets inside, in both directions.
fn carried(path: &PathStatus) -> u64 {
    path.sent_bytes + path.received_bytes
}

fn put_connection(connection: &ConnectionStatus, sample: &mut Sample) {
    let total = connection.paths.iter().map(carried).sum();
    sample.put_rate(Kind::Flow, &connection.peer, None, Metric::Goodput, total);
}

fn put_path(path: &PathStatus, name: &str, peer: &str, packet: f64, sample: &mut Sample) {
    let total = carried(path);
    sample.put_rate(Kind::Path, name, Some(peer), Metric::PathRate, total);
    let mut put = |metric, value| sample.put(Kind::Path, name, Some(peer), metric, value);
    put(Metric::PathCwnd, path.cwnd_packets as f64 * packet);
    put(
        Metric::BytesInFlight,
        path.in_flight_packets as f64 * packet,
    );
    put(Metric::QueueBytes, path.queued_packets as f64 * packet);
    if let Some(rtt) = path.rtt_seconds {
        put(Metric::Rtt, rtt * 1e3);
    }
    if let Some(rate) = path.radio_rate_bps {
        put(Metric::Capacity, rate as f64);
    }
}
