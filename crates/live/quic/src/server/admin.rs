//! `/metrics` for Prometheus and `/status` as JSON, over HTTP/1.1 on TCP.

use super::Shared;
use crate::QuicError;
use daemon::metrics::{PROMETHEUS, Page, Server, Site, label_text};
use dash::Hosted;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Listens and serves, until the server that it gives is dropped.
pub(super) fn start(
    address: SocketAddr,
    shared: &Arc<Shared>,
    dashboard: Option<Hosted>,
) -> Result<(SocketAddr, Server), QuicError> {
    let fault = |source| QuicError::Socket { address, source };
    let listener = TcpListener::bind(address).map_err(fault)?;
    let at = listener.local_addr().map_err(fault)?;
    let (of_metrics, of_status) = (Arc::clone(shared), Arc::clone(shared));
    let site = Site::new()
        .with_page("/metrics", PROMETHEUS, move || Ok(metrics(&of_metrics)))
        .with_page("/status", "application/json", move || {
            Ok(status(&of_status).to_string())
        })
        .with_dashboard(dashboard);
    let server = Server::start(listener, site).map_err(QuicError::System)?;
    Ok((at, server))
}

/// The answer of `/status`.
pub(super) fn status(shared: &Shared) -> Value {
    let counts = shared.reporter.counts();
    let load = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::Relaxed);
    let config = &shared.config;
    let decisions = shared.counters.decisions();
    let decisions: serde_json::Map<String, Value> = decisions
        .into_iter()
        .map(|(reason, (_, count))| (reason.to_owned(), count.into()))
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "uptime_seconds": shared.began.elapsed().as_secs_f64(),
        "cc": config.cc,
        "meld": config.meld.map_or("off", |variant| variant.name()),
        "source": config.reports.as_ref().map(ToString::to_string),
        "connections": shared.open(),
        "connections_total": load(&shared.counters.connections),
        "refused": shared.counters.refusals().into_iter().collect::<BTreeMap<_, _>>(),
        "memory": {
            "limit_bytes": shared.budget.limit().get(),
            "reserved_bytes": shared.budget.reserved().get(),
            "evicted": shared.budget.evicted(),
        },
        "migrations": load(&shared.counters.migrations),
        "decisions": decisions,
        "qlog_failed": shared.qlog_failures.count(),
        "reports": {
            "connected": counts.connected,
            "believed": counts.gate.accepted,
            "unreadable": counts.gate.unreadable,
            "absurd": counts.gate.absurd,
            "out_of_order": counts.gate.out_of_order(),
            "skewed": counts.gate.skewed,
            "unmapped_ues": counts.gate.unmapped_ues,
            "unconnected_ues": counts.unconnected_ues,
            "delivered": counts.delivered,
            "unbound": counts.unbound,
        },
        "client_reports": {
            "taken": load(&shared.counters.reports_taken),
            "stale": load(&shared.counters.reports_stale),
            "unreadable": load(&shared.counters.reports_unreadable),
            "bounded": load(&shared.counters.reports_bounded),
        },
    })
}

fn metrics(shared: &Shared) -> String {
    let mut page = Page::new("brimful_quic_");
    let mut family = |name: &str, kind: &str, help: &str, lines: &[(String, u64)]| {
        page.head(name, kind, help);
        for (labels, value) in lines {
            page.labelled(name, labels, value);
        }
    };
    let plain = |value: u64| [(String::new(), value)];
    let counters = &shared.counters;
    let load = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::Relaxed);
    family(
        "connections",
        "gauge",
        "Connections now.",
        &plain(shared.open() as u64),
    );
    for (name, help, value) in [
        (
            "connections_total",
            "Connections made.",
            load(&counters.connections),
        ),
        (
            "handshakes_failed_total",
            "Handshakes that came to nothing.",
            load(&counters.failed),
        ),
        (
            "refused_total",
            "Connections above the limit.",
            load(&counters.refused),
        ),
        (
            "migrations_total",
            "Clients that came from another address.",
            load(&counters.migrations),
        ),
        (
            "qlog_failed_total",
            "Connections whose qlog is missing or incomplete.",
            shared.qlog_failures.count(),
        ),
        (
            "sent_bytes_total",
            "UDP payload sent on connections that have ended.",
            load(&counters.sent_bytes),
        ),
        (
            "lost_packets_total",
            "Packets lost on connections that have ended.",
            load(&counters.lost_packets),
        ),
        (
            "congestion_events_total",
            "Recovery episodes on connections that have ended.",
            load(&counters.congestion_events),
        ),
        (
            "silent_losses_total",
            "Losses repeated silently on connections that have ended.",
            load(&counters.silent_losses),
        ),
    ] {
        family(name, "counter", help, &plain(value));
    }
    let refusals = counters
        .refusals()
        .map(|(limit, count)| (label_text([("limit", limit)]), count));
    family(
        "refused_by_limit_total",
        "counter",
        "Connections above a limit, by its key.",
        &refusals,
    );
    let budget = &shared.budget;
    for (name, kind, help, value) in [
        (
            "memory_reserved_bytes",
            "gauge",
            "What connections can make the server hold.",
            budget.reserved().get(),
        ),
        (
            "memory_limit_bytes",
            "gauge",
            "What they may.",
            budget.limit().get(),
        ),
        (
            "evicted_total",
            "counter",
            "Connections without progress that were ended when memory was short.",
            budget.evicted(),
        ),
    ] {
        family(name, kind, help, &plain(value));
    }
    let requests: Vec<_> = counters
        .requests()
        .into_iter()
        .map(|(status, count)| (label_text([("status", status)]), count))
        .collect();
    family(
        "requests_total",
        "counter",
        "Requests by status (499: the client left).",
        &requests,
    );
    // those that have not come yet as well: a rate needs a value before the first
    let counted = counters.decisions();
    let decisions = cc::meld::Reason::ALL.map(|reason| {
        let (name, is_congestion) = (reason.name(), reason.is_congestion());
        let labels: [(_, &dyn Display); 2] = [("reason", &name), ("congestion", &is_congestion)];
        let labels = label_text(labels);
        (labels, counted.get(name).map_or(0, |(_, count)| *count))
    });
    family(
        "loss_decisions_total",
        "counter",
        "Decisions of MELD by reason.",
        &decisions,
    );
    let client_reports = [
        ("taken", load(&counters.reports_taken)),
        ("stale", load(&counters.reports_stale)),
        ("unreadable", load(&counters.reports_unreadable)),
    ]
    .map(|(outcome, count)| (label_text([("outcome", outcome)]), count));
    family(
        "client_reports_total",
        "counter",
        "Datagrams of clients by outcome: bandwidth reports, or none.",
        &client_reports,
    );
    family(
        "client_reports_bounded_total",
        "counter",
        "Bandwidth reports beyond what is accepted, on connections that have ended.",
        &plain(load(&counters.reports_bounded)),
    );
    let counts = shared.reporter.counts();
    family(
        "report_sources",
        "gauge",
        "Sources of reports that are connected.",
        &plain(counts.connected),
    );
    let reports = [
        ("believed", counts.gate.accepted),
        ("unreadable", counts.gate.unreadable),
        ("absurd", counts.gate.absurd),
        ("out-of-order", counts.gate.out_of_order()),
        ("skewed", counts.gate.skewed),
    ]
    .map(|(outcome, count)| (label_text([("outcome", outcome)]), count));
    family(
        "reports_total",
        "counter",
        "Reports by outcome; skewed ones are accepted as well.",
        &reports,
    );
    let states = [
        ("delivered", counts.delivered),
        ("unmapped", counts.gate.unmapped_ues),
        ("unconnected", counts.unconnected_ues),
        ("unbound", counts.unbound),
    ]
    .map(|(outcome, count)| (label_text([("outcome", outcome)]), count));
    family(
        "radio_states_total",
        "counter",
        "UEs in reports by outcome.",
        &states,
    );
    page.finish()
}
