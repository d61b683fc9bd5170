//! `/metrics` for Prometheus: its text format 0.0.4 over HTTP/1.1.

use crate::admin::{ServerWindows, overview};
use crate::control::{Snapshot, UeStatus};
use crate::daemon::Core;
use crate::error::PepError;
use crate::unsplit::{QueueStatus, UnsplitStatus};
use daemon::metrics::{Labels, PROMETHEUS, Page, Server, Site, status_of};
use dash::Hosted;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

const METRICS: &str = "/metrics";
/// Between looks whether the address is to be given up.
const POLL: Duration = Duration::from_millis(50);
/// A predecessor needs that long to give its address up.
const BIND_TIMEOUT: Duration = Duration::from_secs(3);

/// Listens; waits a moment for a predecessor to give the address up.
pub(crate) fn open(address: SocketAddr) -> Result<TcpListener, PepError> {
    let began = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error)
                if error.kind() == ErrorKind::AddrInUse && began.elapsed() < BIND_TIMEOUT =>
            {
                std::thread::sleep(POLL);
            }
            Err(error) => {
                let what = format!("cannot listen for metrics at {address}");
                return Err(PepError::system(what, error));
            }
        }
    }
}

/// Serves until the listeners are handed over.
pub(crate) fn serve(core: &Arc<Core>, listener: TcpListener, dashboard: Option<Hosted>) {
    let of = Arc::clone(core);
    let site = Site::new()
        .with_page(METRICS, PROMETHEUS, move || Ok(page(&of)))
        .with_dashboard(dashboard);
    let server = match Server::start(listener, site) {
        Ok(server) => server,
        Err(error) => return tracing::error!(%error, "metrics cannot be served"),
    };
    while !core.shared.is_draining.load(Relaxed) {
        std::thread::sleep(POLL);
    }
    drop(server);
}

/// What is answered to a request with this head, of any bytes.
pub fn metrics_status(head: &[u8]) -> &'static str {
    status_of(head, &[METRICS])
}

fn page(core: &Core) -> String {
    let mut page = Page::new("brimful_pep_");
    let shared = &core.shared;
    let connections = shared.registry.connections();
    page.single("connections", "gauge", "Open connections.", connections);
    let closing = shared.registry.closing.load(Relaxed);
    let help = "Of these, those that have ended in order, and of which not all is acknowledged.";
    page.single("closing_connections", "gauge", help, closing);
    let waiting = shared.registry.waiting.load(Relaxed);
    page.single(
        "waiting_bytes",
        "gauge",
        "Payload that waits in pipes.",
        waiting,
    );
    let held = shared.registry.held.load(Relaxed);
    let help = "Held by flows, in pipes and in the kernel's queues, when last looked at.";
    page.single("held_bytes", "gauge", help, held);
    let name = "events_total";
    page.head(name, "counter", "What the data path has counted, by event.");
    for (event, value) in shared.counters.named() {
        page.value(name, &[("event", &event)], value);
    }
    ue_traffic(core, &mut page);
    let overview = overview(core);
    if let Some(of) = &overview.handover {
        of.write(&mut page);
    }
    if let Some(windows) = &overview.server_windows {
        server_windows(windows, &mut page);
    }
    if let Some(snapshot) = overview.control {
        control(&snapshot, &mut page);
    }
    page.finish()
}

fn ue_traffic(core: &Core, page: &mut Page) {
    let ues = core.shared.registry.ues();
    let mut family = |name: &str, kind: &str, help: &str, get: &dyn Fn(usize) -> u64| {
        page.head(name, kind, help);
        for (i, (ip, _)) in ues.iter().enumerate() {
            page.value(name, &[("ue", ip)], get(i));
        }
    };
    family(
        "ue_connections",
        "gauge",
        "Open connections of a UE.",
        &|i| ues[i].1.connections.load(Relaxed) as u64,
    );
    let help = "Held by a UE's flows, in pipes and in the kernel's queues.";
    family("ue_held_bytes", "gauge", help, &|i| {
        ues[i].1.held.load(Relaxed)
    });
    let help = "Payload sent to a UE.";
    family("ue_bytes_down_total", "counter", help, &|i| {
        ues[i].1.bytes_down.load(Relaxed)
    });
    let help = "Payload received from a UE.";
    family("ue_bytes_up_total", "counter", help, &|i| {
        ues[i].1.bytes_up.load(Relaxed)
    });
    let help = "Connections of a UE that were beyond its bound.";
    family("ue_refused_total", "counter", help, &|i| {
        ues[i].1.refused.load(Relaxed)
    });
}

fn server_windows(windows: &ServerWindows, page: &mut Page) {
    page.head(
        "wan_actuator_info",
        "gauge",
        "How windows towards servers are set: wire, or clamp.",
    );
    page.value("wan_actuator_info", &[("actuator", &windows.actuator)], 1);
    page.single(
        "window_updates_total",
        "counter",
        "Window updates that were sent to servers, at the wire.",
        windows.updates,
    );
    page.single(
        "wan_clamped_connections_total",
        "counter",
        "Connections whose windows are clamped although windows are set at the wire.",
        windows.clamped,
    );
}

fn control(snapshot: &Snapshot, page: &mut Page) {
    page.head(
        "actuator_info",
        "gauge",
        "How windows towards UEs are set: bpf, pacing without the right to load it, or none where none is decided.",
    );
    page.value("actuator_info", &[("actuator", &snapshot.actuator)], 1);
    page.single(
        "reports_connected",
        "gauge",
        "1 if the source of radio reports is connected.",
        u8::from(snapshot.source_connected),
    );
    let counts = &snapshot.reports;
    page.head(
        "reports_total",
        "counter",
        "Radio reports, by what became of them.",
    );
    for (outcome, n) in [
        ("believed", counts.believed),
        ("absurd", counts.absurd),
        ("repeated", counts.repeated),
        ("out_of_order", counts.out_of_order),
        ("old", counts.old),
        ("dropped", counts.dropped),
        ("unreadable", counts.unreadable),
    ] {
        page.value("reports_total", &[("fate", &outcome)], n);
    }
    page.single(
        "reports_superseded_total",
        "counter",
        "Of the reports that were believed: another of the same cell waited behind them, so that nothing was decided with them.",
        counts.superseded,
    );
    page.single(
        "decisions_total",
        "counter",
        "Decisions of the allocator that were carried out.",
        snapshot.decisions,
    );
    page.single(
        "control_busy_seconds_total",
        "counter",
        "CPU time of the control thread.",
        snapshot.busy_seconds,
    );
    cells(snapshot, page);
    ues(&snapshot.ues, page);
    if let Some(of) = &snapshot.unsplit {
        unsplit(of, page);
    }
}

/// Packets that are not split.
fn unsplit(of: &UnsplitStatus, page: &mut Page) {
    page.head(
        "unsplit_info",
        "gauge",
        "What is done to packets that are not split (mark, queue, off), and how the program is attached.",
    );
    let labels: Labels<'_> = &[("mode", &of.mode), ("way", &of.way)];
    page.value("unsplit_info", labels, 1);
    for (name, help, counts, label) in [
        (
            "unsplit_packets_total",
            "Packets that are not split, by what became of them.",
            &of.packets,
            "verdict",
        ),
        (
            "unsplit_unjudged_packets_total",
            "Packets that were forwarded without a verdict, by the reason.",
            &of.unjudged,
            "reason",
        ),
    ] {
        page.head(name, "counter", help);
        for (reason, packets) in counts {
            page.value(name, &[(label, reason)], packets);
        }
    }
    for (name, kind, help, value) in [
        (
            "unsplit_ues",
            "gauge",
            "UEs whose packets are judged by radio reports.",
            of.ues as u64,
        ),
        (
            "unsplit_left_out_total",
            "counter",
            "UEs of reports that got no order, for as many had one as may.",
            of.left_out,
        ),
        (
            "unsplit_orders_total",
            "counter",
            "Orders that were written, one for each UE of a report.",
            of.orders,
        ),
        (
            "unsplit_fragments_total",
            "counter",
            "Of the packets that were judged, fragments.",
            of.fragments,
        ),
        (
            "unsplit_unwritten_marks_total",
            "counter",
            "Marks that the kernel could not write: these packets were forwarded.",
            of.unwritten_marks,
        ),
        (
            "unsplit_redirected_packets_total",
            "counter",
            "Packets that were handed to the queue.",
            of.redirected,
        ),
    ] {
        page.single(name, kind, help, value);
    }
    if let Some(of) = &of.queue {
        queue(of, page);
    }
}

/// What waits of them.
fn queue(of: &QueueStatus, page: &mut Page) {
    let name = "unsplit_queue_dropped_total";
    let help = "Packets that were dropped as they waited, by the reason; super-packets count once.";
    page.head(name, "counter", help);
    for (reason, packets) in &of.dropped {
        page.value(name, &[("reason", reason)], packets);
    }
    for (name, kind, help, value) in [
        (
            "unsplit_held_ues",
            "gauge",
            "UEs whose packets wait here, since their radio is the bottleneck.",
            of.held_ues,
        ),
        (
            "unsplit_holds_total",
            "counter",
            "How often a UE has begun to be held.",
            of.holds,
        ),
        (
            "unsplit_not_held_total",
            "counter",
            "How often a UE was not held, for lack of memory.",
            of.not_held,
        ),
        (
            "unsplit_waiting_bytes",
            "gauge",
            "What waits of packets that are not split.",
            of.waiting_bytes,
        ),
        (
            "unsplit_waiting_memory_bytes",
            "gauge",
            "Memory that it takes.",
            of.memory_bytes,
        ),
        (
            "unsplit_queue_passed_total",
            "counter",
            "Packets that have waited and gone on.",
            of.passed,
        ),
        (
            "unsplit_queue_marked_total",
            "counter",
            "Of those, marked.",
            of.marked,
        ),
        (
            "unsplit_queue_cut_total",
            "counter",
            "Super-packets that were cut, for they would have taken the radio more than 1 ms.",
            of.cut,
        ),
    ] {
        page.single(name, kind, help, value);
    }
}

fn cells(snapshot: &Snapshot, page: &mut Page) {
    page.head(
        "cell_state",
        "gauge",
        "1 for the state that a cell's connections are in.",
    );
    for cell in &snapshot.cells {
        for state in ["following", "decaying", "plain"] {
            let labels: Labels<'_> = &[("cell", &cell.cell), ("state", &state)];
            page.value("cell_state", labels, u8::from(cell.state == state));
        }
    }
    page.head(
        "report_age_seconds",
        "gauge",
        "Since the last accepted report of a cell.",
    );
    for cell in &snapshot.cells {
        if let Some(age) = cell.silence_seconds {
            page.value("report_age_seconds", &[("cell", &cell.cell)], age);
        }
    }
}

/// A gauge of a UE: name, help, value.
type UeGauge = (&'static str, &'static str, fn(&UeStatus) -> Option<f64>);

const UE_GAUGES: [UeGauge; 9] = [
    (
        "ue_capacity_bps",
        "Rate that the UE could have, bit/s.",
        |ue| ue.capacity_bps.map(|bps| bps as f64),
    ),
    ("ue_flows", "Flows under control.", |ue| {
        Some(ue.flows as f64)
    }),
    ("ue_slow_flows", "Flows held for slow.", |ue| {
        Some(ue.slow_flows as f64)
    }),
    (
        "ue_wan_window_bytes",
        "Windows shown to servers, all flows together.",
        |ue| Some(ue.wan_window_bytes as f64),
    ),
    (
        "ue_ran_window_bytes",
        "Windows towards the UE, all flows together.",
        |ue| Some(ue.ran_window_bytes as f64),
    ),
    ("ue_in_flight_bytes", "In flight towards the UE.", |ue| {
        Some(ue.in_flight_bytes as f64)
    }),
    ("ue_buffered_bytes", "Waiting in the proxy.", |ue| {
        Some(ue.buffered_bytes as f64)
    }),
    (
        "ue_ran_rtt_seconds",
        "Smoothed round-trip time towards the UE, mean of its flows.",
        |ue| ue.ran_rtt_seconds,
    ),
    (
        "ue_wan_rtt_seconds",
        "Smoothed round-trip time towards servers, mean of the UE's flows.",
        |ue| ue.wan_rtt_seconds,
    ),
];

fn ues(ues: &[UeStatus], page: &mut Page) {
    for (name, help, value) in UE_GAUGES {
        page.head(name, "gauge", help);
        for ue in ues {
            if let Some(value) = value(ue) {
                page.value(name, &[("ue", &ue.address)], value);
            }
        }
    }
}
