//! `/metrics` for Prometheus: its text format 0.0.4 over HTTP/1.1, and `/status` as JSON.

use crate::daemon::Handle;
use crate::error::TunnelError;
use crate::status::{PathStatus, Status};
use daemon::metrics::{Labels, PROMETHEUS, Page, Server, Site, status_of};
use std::net::{SocketAddr, TcpListener};

const METRICS: &str = "/metrics";
const STATUS: &str = "/status";
/// The reason for an answer without a page.
const SILENT: &str = "the tunnel does not answer";

/// Listens.
pub(crate) fn open(address: SocketAddr) -> Result<TcpListener, TunnelError> {
    TcpListener::bind(address).map_err(|error| {
        TunnelError::system(format!("cannot listen for metrics at {address}"), error)
    })
}

/// Serves until what it gives is dropped; `more` adds to the site.
pub(crate) fn serve(
    handle: &Handle,
    listener: TcpListener,
    more: impl FnOnce(Site) -> Site,
) -> Result<Server, TunnelError> {
    let (of_metrics, of_status) = (handle.clone(), handle.clone());
    let site = Site::new()
        .with_page(METRICS, PROMETHEUS, move || {
            of_metrics.status().map(|all| page(&all)).ok_or(SILENT)
        })
        .with_page(STATUS, "application/json", move || {
            let all = of_status.status().ok_or(SILENT)?;
            serde_json::to_string(&all).map_err(|_| "the state cannot be written")
        });
    Server::start(listener, more(site))
        .map_err(|error| TunnelError::system("cannot serve metrics", error))
}

/// What is answered to a request with this head, of any bytes.
pub fn metrics_status(head: &[u8]) -> &'static str {
    status_of(head, &[METRICS, STATUS])
}

/// A metric of a path: name, type, help, value.
type PathMetric = (
    &'static str,
    &'static str,
    &'static str,
    fn(&PathStatus) -> Option<f64>,
);

const PATHS: [PathMetric; 23] = [
    ("path_up", "gauge", "1 while the path answers.", |p| {
        Some(f64::from(u8::from(p.state == "up")))
    }),
    ("path_priority", "gauge", "Priority, 0 to 15.", |p| {
        Some(f64::from(p.priority))
    }),
    ("path_cwnd_packets", "gauge", "Congestion window.", |p| {
        Some(p.cwnd_packets as f64)
    }),
    (
        "path_in_flight_packets",
        "gauge",
        "Packets in flight.",
        |p| Some(p.in_flight_packets as f64),
    ),
    (
        "path_rtt_seconds",
        "gauge",
        "Smoothed round-trip time.",
        |p| p.rtt_seconds,
    ),
    (
        "path_min_rtt_seconds",
        "gauge",
        "Least round-trip time.",
        |p| p.min_rtt_seconds,
    ),
    (
        "path_delivery_rate_bps",
        "gauge",
        "Rate of delivery, bit/s.",
        |p| p.delivery_rate_bps.map(|rate| rate as f64),
    ),
    (
        "path_radio_rate_bps",
        "gauge",
        "What the radio can carry by a fresh report, bit/s.",
        |p| p.radio_rate_bps.map(|rate| rate as f64),
    ),
    (
        "path_sent_packets_total",
        "counter",
        "Data packets sent.",
        |p| Some(p.sent_packets as f64),
    ),
    (
        "path_sent_bytes_total",
        "counter",
        "Bytes of packets inside sent.",
        |p| Some(p.sent_bytes as f64),
    ),
    (
        "path_repeated_packets_total",
        "counter",
        "Data packets sent again.",
        |p| Some(p.repeated_packets as f64),
    ),
    (
        "path_lost_packets_total",
        "counter",
        "Data packets found lost.",
        |p| Some(p.lost_packets as f64),
    ),
    (
        "path_received_bytes_total",
        "counter",
        "Bytes of packets inside received.",
        |p| Some(p.received_bytes as f64),
    ),
    (
        "path_invalid_packets_total",
        "counter",
        "Packets outside the sequence windows.",
        |p| Some(p.invalid_packets as f64),
    ),
    (
        "path_refused_packets_total",
        "counter",
        "Packets that the kernel did not take.",
        |p| Some(p.socket.refused as f64),
    ),
    (
        "path_mtu_bytes",
        "gauge",
        "Largest IP packet that it carries.",
        |p| p.path_mtu.map(|mtu| mtu as f64),
    ),
    (
        "path_mtu_probes_total",
        "counter",
        "Probes of its MTU.",
        |p| Some(p.mtu_probes as f64),
    ),
    (
        "path_mtu_black_holes_total",
        "counter",
        "Times that it carried less than had been found.",
        |p| Some(p.mtu_black_holes as f64),
    ),
    (
        "path_encrypted",
        "gauge",
        "1 while its packets are encrypted.",
        |p| Some(f64::from(u8::from(p.cipher.is_some()))),
    ),
    (
        "path_leg_active",
        "gauge",
        "1 while latency-sensitive packets take the path.",
        |p| p.leg.map(|leg| f64::from(u8::from(leg == "active"))),
    ),
    (
        "path_departures_total",
        "counter",
        "Times that latency-sensitive packets left the path.",
        |p| p.leg.map(|_| p.departures as f64),
    ),
    (
        "path_returns_total",
        "counter",
        "Times that they were back.",
        |p| p.leg.map(|_| p.returns as f64),
    ),
    (
        "path_sessions_total",
        "counter",
        "Keys that were agreed on, one after the other; of a client.",
        |p| Some(p.sessions as f64),
    ),
];

fn page(status: &Status) -> String {
    let mut page = Page::new("brimful_tunnel_");
    let c = &status.device.counters;
    for (name, help, value) in [
        (
            "device_read_packets_total",
            "Packets out of the device.",
            c.read_packets,
        ),
        ("device_read_bytes_total", "Their bytes.", c.read_bytes),
        (
            "device_written_packets_total",
            "Packets into the device.",
            c.written_packets,
        ),
        (
            "device_written_bytes_total",
            "Their bytes.",
            c.written_bytes,
        ),
        (
            "device_too_big_total",
            "Packets larger than the paths take.",
            c.too_big,
        ),
        (
            "device_failed_writes_total",
            "Writes that failed.",
            c.failed_writes,
        ),
        (
            "handed_over_total",
            "Calls of the kernel's that the second packet thread did for the first.",
            status.packets.handed_over,
        ),
        (
            "handover_waits_total",
            "Times that the first packet thread waited for the second.",
            status.packets.waits,
        ),
        ("accepted_total", "Connections accepted.", status.accepted),
        (
            "moved_total",
            "Paths that moved to another address.",
            status.moved,
        ),
        (
            "sessions_total",
            "Sessions whose keys were used; of a server.",
            status.sessions,
        ),
        (
            "cookies_total",
            "Handshakes that had to show under load that they receive at their address.",
            status.cookies,
        ),
    ] {
        page.single(name, "counter", help, value);
    }
    let threads = status.packets.threads;
    page.single(
        "packet_threads",
        "gauge",
        "Threads that move packets.",
        threads,
    );
    let mtu = status.device.mtu;
    page.single("mtu_bytes", "gauge", "MTU of the device.", mtu);
    page.head(
        "refused_total",
        "counter",
        "What belonged to no connection, by reason.",
    );
    for (reason, count) in &status.refused {
        page.value("refused_total", &[("reason", reason)], count);
    }
    if !status.network.is_empty() {
        let help = "Changes of the network that concerned a path, by kind.";
        page.head("network_events_total", "counter", help);
        for (event, count) in &status.network {
            page.value("network_events_total", &[("event", event)], count);
        }
    }
    if let Some(is_connected) = status.reports_connected {
        let help = "1 while the source of radio reports is connected.";
        page.single("reports_connected", "gauge", help, u8::from(is_connected));
        let help = "Radio reports, and UEs in them (unmapped, told, unconnected), by outcome.";
        page.head("reports_total", "counter", help);
        for (outcome, count) in &status.reports {
            page.value("reports_total", &[("outcome", outcome)], count);
        }
    }
    connections(status, &mut page);
    for (name, kind, help, get) in PATHS {
        page.head(name, kind, help);
        for connection in &status.connections {
            for path in &connection.paths {
                if let Some(value) = get(path) {
                    let labels: Labels<'_> = &[("peer", &connection.peer), ("path", &path.name)];
                    page.value(name, labels, value);
                }
            }
        }
    }
    page.finish()
}

fn connections(status: &Status, page: &mut Page) {
    page.head(
        "connected",
        "gauge",
        "1 while a path of the connection is open.",
    );
    for connection in &status.connections {
        let is_connected = u8::from(connection.established);
        page.value("connected", &[("peer", &connection.peer)], is_connected);
    }
    page.head(
        "packets_total",
        "counter",
        "Packets of a connection, by what became of them.",
    );
    for connection in &status.connections {
        for (outcome, count) in [
            ("refused", connection.refused_packets),
            ("dropped", connection.dropped_packets),
            ("late", connection.late_packets),
            ("lost", connection.lost_packets),
            ("duplicate", connection.duplicate_packets),
            ("marked-drop", connection.marked_drops),
            ("spoofed", connection.spoofed_packets),
        ] {
            let labels: Labels<'_> = &[("peer", &connection.peer), ("fate", &outcome)];
            page.value("packets_total", labels, count);
        }
    }
    page.head(
        "class_packets_total",
        "counter",
        "Packets that this end sends, by class and what became of them.",
    );
    for connection in &status.connections {
        for (class, counters) in &connection.classes {
            for (fate, count) in counters.fates() {
                let labels: Labels<'_> = &[
                    ("peer", &connection.peer),
                    ("class", class),
                    ("fate", &fate),
                ];
                page.value("class_packets_total", labels, count);
            }
        }
    }
}
