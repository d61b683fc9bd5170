//! `/metrics` for Prometheus and `/status` as JSON, over HTTP/1.1 on TCP; what is for the dashboard is
//! handed to it.

use super::Shared;
use crate::QuicError;
use bytes::Bytes;
use dash::Hosted;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::fmt::Write;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Connections served at once.
const AT_ONCE: usize = 16;
/// For a request's head to come in.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Listens, and gives the address and what is to run.
pub(super) async fn listen(
    address: SocketAddr,
    shared: Arc<Shared>,
    dashboard: Option<Hosted>,
) -> Result<(SocketAddr, impl Future<Output = ()> + use<>), QuicError> {
    let fault = |source| QuicError::Socket { address, source };
    let listener = TcpListener::bind(address).await.map_err(fault)?;
    let at = listener.local_addr().map_err(fault)?;
    Ok((at, serve(listener, shared, dashboard.map(Arc::new))))
}

async fn serve(listener: TcpListener, shared: Arc<Shared>, dashboard: Option<Arc<Hosted>>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (shared, dashboard) = (Arc::clone(&shared), dashboard.clone());
        tokio::spawn(async move {
            let mine = match &dashboard {
                Some(dashboard) => dashboard.offer_async(stream, TIMEOUT).await,
                None => Some(stream),
            };
            let Some(stream) = mine else { return };
            let service = service_fn(|request| {
                let answer = answer(&request, &shared);
                async { Ok::<_, Infallible>(answer) }
            });
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(TIMEOUT)
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = serving.await {
                tracing::debug!(%error, "metrics");
            }
            drop(permit);
        });
    }
}

fn answer<B>(request: &Request<B>, shared: &Shared) -> Response<Full<Bytes>> {
    let (status, kind, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => {
            (StatusCode::OK, "text/plain; version=0.0.4", metrics(shared))
        }
        (&Method::GET, "/status") => (
            StatusCode::OK,
            "application/json",
            status(shared).to_string(),
        ),
        (_, "/metrics" | "/status") => (
            StatusCode::METHOD_NOT_ALLOWED,
            "text/plain",
            "GET only\n".to_owned(),
        ),
        _ => (
            StatusCode::NOT_FOUND,
            "text/plain",
            "/metrics or /status\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let kind = http::HeaderValue::from_static(kind);
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, kind);
    response
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
        "migrations": load(&shared.counters.migrations),
        "decisions": decisions,
        "reports": {
            "connected": counts.connected,
            "believed": counts.gate.accepted,
            "unreadable": counts.gate.unreadable,
            "absurd": counts.gate.absurd,
            "out_of_order": counts.gate.out_of_order,
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
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: &[(String, u64)]| {
        // writing to a text cannot fail
        let _ = writeln!(
            text,
            "# HELP brimful_quic_{name} {help}\n# TYPE brimful_quic_{name} {kind}"
        );
        for (labels, value) in lines {
            let _ = writeln!(text, "brimful_quic_{name}{labels} {value}");
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
    let requests: Vec<_> = counters
        .requests()
        .into_iter()
        .map(|(status, count)| (format!("{{status=\"{status}\"}}"), count))
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
        let labels = format!("{{reason=\"{name}\",congestion=\"{is_congestion}\"}}");
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
    .map(|(outcome, count)| (format!("{{outcome=\"{outcome}\"}}"), count));
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
        ("out-of-order", counts.gate.out_of_order),
        ("skewed", counts.gate.skewed),
    ]
    .map(|(outcome, count)| (format!("{{outcome=\"{outcome}\"}}"), count));
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
    .map(|(outcome, count)| (format!("{{outcome=\"{outcome}\"}}"), count));
    family(
        "radio_states_total",
        "counter",
        "UEs in reports by outcome.",
        &states,
    );
    text
}
