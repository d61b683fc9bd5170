//! `/metrics` for Prometheus, and `/status` as JSON.

use crate::counts::{About, Counts, Status};
use daemon::clock;
use daemon::metrics::{PROMETHEUS, Page, Server, Site};
use dash::Hosted;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

/// Serves until what it gives is dropped.
///
/// # Errors
/// The system gives no threads.
pub(crate) fn serve(
    listener: TcpListener,
    about: &About,
    counts: &Arc<Counts>,
    dashboard: Option<Hosted>,
) -> io::Result<Server> {
    let status = || {
        let (about, counts) = (about.clone(), Arc::clone(counts));
        move || counts.status(&about, clock::now(), tun::refused)
    };
    let (of_metrics, of_status) = (status(), status());
    let site = Site::new()
        .with_dashboard(dashboard)
        .with_page("/metrics", PROMETHEUS, move || Ok(page(&of_metrics())))
        .with_page("/status", "application/json", move || {
            serde_json::to_string(&of_status()).map_err(|_| "the state cannot be written")
        });
    Server::start(listener, site)
}

fn page(status: &Status) -> String {
    let mut page = Page::new("brimful_ue_");
    let Status {
        modem,
        queue,
        packets,
        ..
    } = status;
    let number = u8::from;
    page.head(
        "info",
        "gauge",
        "The modem's interface, the device that packets come by, the mode.",
    );
    let labels: [(&str, &dyn std::fmt::Display); 4] = [
        ("interface", &status.interface),
        ("device", &status.device),
        ("mode", &status.mode),
        ("attached", &status.attached),
    ];
    page.value("info", &labels, 1);
    let is_taking = status.error.is_none();
    page.single(
        "taking",
        "gauge",
        "1 while packets are taken.",
        number(is_taking),
    );
    page.single(
        "modem_connected",
        "gauge",
        "1 while the source of reports is there.",
        number(modem.is_connected),
    );
    page.single(
        "modem_reports_total",
        "counter",
        "Reports that counted.",
        modem.accepted,
    );
    page.head(
        "modem_reports_refused_total",
        "counter",
        "Lines that did not count, by the reason.",
    );
    for (reason, count) in &modem.refused {
        page.value("modem_reports_refused_total", &[("reason", reason)], count);
    }
    if let Some(age) = modem.age_s {
        page.single(
            "modem_report_age_seconds",
            "gauge",
            "Since the last report that counted was made.",
            age,
        );
    }
    if let Some(bytes) = modem.queue_bytes {
        page.single(
            "modem_queue_bytes",
            "gauge",
            "Bytes that waited in the modem, as the last report that counted has it.",
            bytes,
        );
    }
    let rate = modem.rate_bps.unwrap_or_default();
    page.single(
        "rate_bps",
        "gauge",
        "What the radio takes; 0: not known.",
        rate,
    );
    page.single(
        "waiting_packets",
        "gauge",
        "Packets that wait.",
        queue.packets,
    );
    page.single(
        "waiting_bytes",
        "gauge",
        "Bytes on the wire that wait.",
        queue.bytes,
    );
    page.single(
        "memory_bytes",
        "gauge",
        "Memory of packets in the daemon.",
        queue.memory_bytes,
    );
    page.single(
        "packets_passed_total",
        "counter",
        "Packets that went on.",
        packets.passed,
    );
    page.single(
        "passed_bytes_total",
        "counter",
        "Bytes on the wire that went on.",
        packets.passed_bytes,
    );
    page.single(
        "packets_marked_total",
        "counter",
        "Of those, marked here.",
        packets.marked,
    );
    page.single(
        "packets_cut_total",
        "counter",
        "Super-packets that were cut.",
        packets.cut,
    );
    page.single(
        "packets_not_taken_total",
        "counter",
        "Packets that passed in the kernel.",
        packets.not_taken,
    );
    page.head(
        "packets_dropped_total",
        "counter",
        "Packets dropped here, by the reason.",
    );
    for (reason, count) in &packets.dropped {
        page.value("packets_dropped_total", &[("reason", reason)], count);
    }
    page.finish()
}
