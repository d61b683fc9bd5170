//! Counters and gauges, and their text for Prometheus.

use daemon::metrics::{Page, label_text};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Every metric: name, type, what it counts.
const FAMILIES: [(&str, &str, &str); 28] = [
    (
        "brimful_rnis_reports_total",
        "counter",
        "Reports accepted, by source.",
    ),
    (
        "brimful_rnis_messages_total",
        "counter",
        "Messages received, by source.",
    ),
    (
        "brimful_rnis_refused_total",
        "counter",
        "Messages and reports refused, by source and reason.",
    ),
    (
        "brimful_rnis_problems_total",
        "counter",
        "Parts of messages that could not be used, by source and kind.",
    ),
    (
        "brimful_rnis_unmapped_total",
        "counter",
        "UEs without a mapping to an address, by source.",
    ),
    (
        "brimful_rnis_restarts_total",
        "counter",
        "Sources whose time jumped back, by source.",
    ),
    ("brimful_rnis_events_total", "counter", "Events by source."),
    (
        "brimful_rnis_source_up",
        "gauge",
        "1 while a source is connected.",
    ),
    (
        "brimful_rnis_source_connects_total",
        "counter",
        "Connections to a source.",
    ),
    (
        "brimful_rnis_source_connections",
        "gauge",
        "Connections of a source that is waited for.",
    ),
    (
        "brimful_rnis_source_closed_total",
        "counter",
        "Connections of a source that is waited for that have ended, by reason.",
    ),
    (
        "brimful_rnis_f1u_bearers",
        "gauge",
        "Bearers on F1-U, by source: followed, and paired, of which the queue is known.",
    ),
    (
        "brimful_rnis_f1u_sojourn_seconds",
        "gauge",
        "Mean time of packets in the queues of F1-U's bearers in the last report's period, by source.",
    ),
    (
        "brimful_rnis_gtpu_tunnels",
        "gauge",
        "Tunnels in a capture whose UE is known or will be by the next packet, by source.",
    ),
    (
        "brimful_rnis_capture_lost_total",
        "counter",
        "Packets that a capture had no room for, by source.",
    ),
    (
        "brimful_rnis_accept_errors_total",
        "counter",
        "Connections that could not be accepted, by listener.",
    ),
    (
        "brimful_rnis_published_total",
        "counter",
        "Reports published, by transport.",
    ),
    (
        "brimful_rnis_publish_lost_total",
        "counter",
        "Reports lost to a transport: broker away, or reader too slow.",
    ),
    (
        "brimful_rnis_publisher_up",
        "gauge",
        "1 while a broker is connected.",
    ),
    (
        "brimful_rnis_readers",
        "gauge",
        "Readers of the Unix socket.",
    ),
    (
        "brimful_rnis_cells_silent",
        "gauge",
        "Cells whose reports have stopped.",
    ),
    ("brimful_rnis_cells", "gauge", "Cells with a recent report."),
    (
        "brimful_rnis_http_requests_total",
        "counter",
        "Requests by status.",
    ),
    (
        "brimful_rnis_http_connections_total",
        "counter",
        "Connections, by outcome.",
    ),
    (
        "brimful_rnis_log_lost_total",
        "counter",
        "Lines of the log that could not be written.",
    ),
    ("brimful_rnis_subscriptions", "gauge", "Subscriptions."),
    (
        "brimful_rnis_notifications_total",
        "counter",
        "Notifications by outcome.",
    ),
    (
        "brimful_rnis_registered",
        "gauge",
        "Services registered at the MEC platform.",
    ),
];

/// All metrics of the service.
#[derive(Debug, Default)]
pub struct Metrics {
    values: Mutex<BTreeMap<(&'static str, String), f64>>,
}

/// Labels with their values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Metrics {
    /// Counts.
    pub fn add(&self, name: &'static str, labels: Labels<'_>, count: u64) {
        if count > 0 {
            *self.lock().entry((name, text(labels))).or_insert(0.0) += count as f64;
        }
    }

    /// Sets a gauge.
    pub fn set(&self, name: &'static str, labels: Labels<'_>, value: f64) {
        self.lock().insert((name, text(labels)), value);
    }

    /// Changes a gauge, which begins at 0.
    pub fn change(&self, name: &'static str, labels: Labels<'_>, by: f64) {
        *self.lock().entry((name, text(labels))).or_insert(0.0) += by;
    }

    /// A value, 0 if nothing was counted. For tests and the status.
    pub fn get(&self, name: &'static str, labels: Labels<'_>) -> f64 {
        self.lock()
            .get(&(name, text(labels)))
            .copied()
            .unwrap_or(0.0)
    }

    /// The text form of Prometheus, version 0.0.4.
    pub fn render(&self) -> String {
        let values = self.lock();
        let mut page = Page::new("");
        for (name, kind, help) in FAMILIES {
            page.head(name, kind, help);
            let family = values.range((name, String::new())..);
            for ((_, labels), value) in family.take_while(|((n, _), _)| *n == name) {
                page.labelled(name, labels, value);
            }
        }
        page.finish()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(&'static str, String), f64>> {
        // counts are good even if a thread panicked while it held them
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text(labels: Labels<'_>) -> String {
    label_text(labels.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_types_labels_and_values() {
        let metrics = Metrics::default();
        metrics.add("brimful_rnis_reports_total", &[("source", "a\"b")], 2);
        metrics.add("brimful_rnis_reports_total", &[("source", "a\"b")], 3);
        metrics.set("brimful_rnis_cells", &[], 1.0);
        let text = metrics.render();
        assert!(text.contains("# TYPE brimful_rnis_reports_total counter\n"));
        assert!(
            text.contains("brimful_rnis_reports_total{source=\"a\\\"b\"} 5\n"),
            "{text}"
        );
        assert!(text.contains("\nbrimful_rnis_cells 1\n"));
        assert!(!text.contains("\nbrimful_rnis_readers "));
    }
}
