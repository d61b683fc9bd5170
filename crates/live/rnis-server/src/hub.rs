//! Where reports meet: sources hand them in, the gate looks at them, all others read them.
//!
//! ```text
//!   sources -> [ Intake -> RadioView ] -> broadcast of reports -> unix, amqp, nats
//!                               '-------> broadcast of events  -> subscriptions
//! ```
//! A reader that does not keep up loses the oldest reports and their number is reported; no source waits. What waits is
//! bounded in number and in bytes.

use crate::backlog::{Backlog, Waiting};
use crate::clock;
use crate::metrics::Metrics;
use dash::RadioMeter;
use rnis::adapters::{Adapted, Problem};
use rnis::codec::{encode_binary, encode_json};
use rnis::event::RadioEvent;
use rnis::identity::UeMap;
use rnis::intake::{CheckedReport, Intake};
use rnis::mec012::{Cells, NetworkProfile, RadioView};
use rnis::{CellId, RadioReport};
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::broadcast;

/// Reports that wait for a slow reader, before it loses some.
const WAITING: usize = 1024;
/// Bytes of reports that wait for slow readers, all together, before those lose some: one can have 2 MB.
const WAITING_BYTES: usize = 16_000_000;

/// A report on its way out, encoded once for all.
#[derive(Debug)]
pub struct Published {
    cell: CellId,
    /// One line of JSON with its end.
    line: Vec<u8>,
    report: CheckedReport,
    binary: OnceLock<Vec<u8>>,
}

impl Published {
    /// The cell, for topics.
    pub fn cell(&self) -> CellId {
        self.cell
    }

    fn new(report: CheckedReport) -> Self {
        let mut line = encode_json(&report);
        line.push(b'\n');
        Self {
            cell: report.cell.id,
            line,
            report,
            binary: OnceLock::new(),
        }
    }

    /// As JSON.
    pub fn json(&self) -> &[u8] {
        self.line.strip_suffix(b"\n").unwrap_or_default()
    }

    /// As one line of JSON, with its end.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// In the compact binary form.
    pub fn binary(&self) -> &[u8] {
        self.binary.get_or_init(|| encode_binary(&self.report))
    }

    /// Bytes of memory that it takes, about: the line, the report, and the binary form, which is no longer than that.
    pub(crate) fn bytes(&self) -> usize {
        let ues = self.report.ues.iter();
        let bearers: usize = ues.map(|ue| size_of_val(ue.bearers.as_slice())).sum();
        self.line.len() + 2 * (size_of_val(self.report.ues.as_slice()) + bearers)
    }
}

/// What waits for readers, in its order.
#[derive(Clone, Debug)]
pub(crate) enum Queued {
    /// A report, which may be given up while it waits.
    Report(Arc<Waiting>),
    /// An event, as in [`Outgoing`]: less than 1 kB.
    Event(Arc<[u8]>),
}

/// What goes out, in its order.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// A report.
    Report(Arc<Published>),
    /// An event that no reader could derive from the reports, as a line of JSON without its end.
    Event(Arc<[u8]>),
}

#[derive(Debug)]
struct Radio {
    intake: Intake,
    view: RadioView,
    network: Arc<NetworkProfile>,
}

/// Where reports meet.
#[derive(Debug)]
pub struct Hub {
    radio: Mutex<Radio>,
    backlog: Backlog,
    outgoing: broadcast::Sender<Queued>,
    events: broadcast::Sender<Arc<RadioEvent>>,
    metrics: Arc<Metrics>,
    /// Shows reports to viewers of the dashboard.
    meter: OnceLock<RadioMeter>,
}

impl Hub {
    /// An empty one.
    pub fn new(
        ues: UeMap,
        network: NetworkProfile,
        view: RadioView,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            radio: Mutex::new(Radio {
                intake: Intake::new(ues, None),
                view,
                network: Arc::new(network),
            }),
            backlog: Backlog::new(WAITING_BYTES),
            outgoing: broadcast::channel(WAITING).0,
            events: broadcast::channel(WAITING).0,
            metrics,
            meter: OnceLock::new(),
        }
    }

    /// Shows all reports from now on to this meter; the first that is given stays.
    pub fn show(&self, meter: RadioMeter) {
        // a service has one dashboard
        let _ = self.meter.set(meter);
    }

    /// The service's metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Reports and sources' events from now on.
    pub(crate) fn outgoing(&self) -> broadcast::Receiver<Queued> {
        self.outgoing.subscribe()
    }

    /// The events from now on.
    pub fn events(&self) -> broadcast::Receiver<Arc<RadioEvent>> {
        self.events.subscribe()
    }

    /// The network as configured now.
    pub fn network(&self) -> Arc<NetworkProfile> {
        Arc::clone(&self.radio().network)
    }

    /// The radio as it is. Sources do not wait while it is looked at.
    pub fn snapshot(&self) -> (Cells, Arc<NetworkProfile>) {
        let radio = self.radio();
        (radio.view.cells().clone(), Arc::clone(&radio.network))
    }

    /// Applies another mapping and network; sends events of the bearers that changed.
    pub fn reconfigure(&self, ues: UeMap, network: NetworkProfile) {
        let events = {
            let mut radio = self.radio();
            let events = radio.network.modified(&radio.view, &network);
            radio.intake.configure(ues, None);
            radio.network = Arc::new(network);
            events
        };
        self.send_events("configuration", events);
    }

    /// A report of a source.
    pub fn on_report(&self, source: &str, report: RadioReport) {
        let now = clock::now();
        let (accepted, events) = {
            let mut radio = self.radio();
            // the sources have put its times on this machine's clock; readers do so on theirs
            let accepted = match radio.intake.report(now, report, false) {
                Ok(accepted) => accepted,
                Err(refusal) => {
                    drop(radio);
                    return self.refuse(source, refusal.name(), &refusal);
                }
            };
            let network = Arc::clone(&radio.network);
            let events = radio.view.on_report(now, &accepted.report, &network);
            (accepted, events)
        };
        let labels = [("source", source)];
        self.metrics.add("brimful_rnis_reports_total", &labels, 1);
        let unknown = accepted.unknown.len() as u64;
        self.metrics
            .add("brimful_rnis_unmapped_total", &labels, unknown);
        for missing in &accepted.unknown {
            tracing::debug!(source, "{missing}");
        }
        if accepted.restarted {
            self.metrics.add("brimful_rnis_restarts_total", &labels, 1);
            tracing::warn!(
                source,
                cell = accepted.report.cell.id.0,
                "its time jumped back"
            );
        }
        self.notify(source, events);
        if let Some(meter) = self.meter.get() {
            meter.on_report(&accepted.report, |_| None);
        }
        let waiting = self.backlog.push(Published::new(accepted.report));
        // there may be no reader
        let _ = self.outgoing.send(Queued::Report(waiting));
    }

    /// What an adapter made of a message.
    pub fn on_adapted(&self, source: &str, adapted: Adapted) {
        for problem in &adapted.problems {
            let labels = [("source", source), ("kind", kind(problem))];
            self.metrics.add("brimful_rnis_problems_total", &labels, 1);
            tracing::debug!(source, "{problem}");
        }
        self.send_events(source, adapted.events);
        for report in adapted.reports {
            self.on_report(source, report);
        }
    }

    /// Events of a source: for subscriptions, and for recordings.
    pub fn send_events(&self, source: &str, events: Vec<RadioEvent>) {
        for event in &events {
            // there may be no reader
            let _ = self.outgoing.send(Queued::Event(event.to_json().into()));
        }
        self.notify(source, events);
    }

    /// Events for subscriptions. Those that follow from reports go nowhere else: they follow again from
    /// a recording of the reports.
    fn notify(&self, source: &str, events: Vec<RadioEvent>) {
        let labels = [("source", source)];
        self.metrics
            .add("brimful_rnis_events_total", &labels, events.len() as u64);
        for event in events {
            let _ = self.events.send(Arc::new(event));
        }
    }

    /// A message that could not be used.
    pub fn refuse(&self, source: &str, reason: &str, error: &dyn Display) {
        let labels = [("source", source), ("reason", reason)];
        self.metrics.add("brimful_rnis_refused_total", &labels, 1);
        tracing::debug!(source, reason, "refused: {error}");
    }

    fn radio(&self) -> MutexGuard<'_, Radio> {
        // the view is whole between calls, even if one of them panicked
        self.radio.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kind(problem: &Problem) -> &'static str {
    match problem {
        Problem::Unmapped(_) => "unmapped",
        Problem::Absurd { .. } => "absurd",
        Problem::Missing { .. } => "missing",
        Problem::Repeated => "repeated",
        Problem::Late => "late",
        Problem::Restarted => "restarted",
        Problem::CounterReset { .. } => "counter-reset",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::Outlet;
    use futures_util::FutureExt;
    use rnis::codec::decode_json;
    use rnis::{Rnti, UeReport};
    use units::Slot;

    /// A report of one UE.
    const SMALL: &[u8] = br#"{"cell":{"id":1,"n_prb":106,"scs":30000,"slot_duration":500000,
        "downlink_share":1.0,"slot":1,"slots":1,"prb_background":0},"ues":[{"rnti":1,"ip":"10.45.0.2","prb_dl":0,
        "quality":{"kind":"mcs","mcs":20,"table":"nr-qam256","layers":1,"data_re_per_prb":132},"cqi":11,
        "tbs_bytes":9480,"served_bytes":9000,"rlc_queue_bytes":1000000000,"harq_processes":3,"harq_retx":1,
        "seq":1000000041,"timestamp":5000000123}]}"#;

    #[test]
    fn what_waits_for_a_reader_is_bounded_in_bytes_and_the_rest_is_counted() {
        let mut report = decode_json(SMALL).expect("a report");
        let ue = report.ues.remove(0);
        report.ues = (1..=3_500)
            .map(|rnti| UeReport {
                rnti: Rnti(rnti),
                ..ue.clone()
            })
            .collect();
        let hub = Arc::clone(&crate::http::tests::api("").hub);
        // neither of them reads meanwhile
        let mut readers = ["unix", "amqp"].map(|name| Outlet::new(Arc::clone(&hub), name));
        let (count, mut sent) = (40_u32, 0);
        for slot in 1..=count {
            report.cell.slot = Slot::new(slot.into());
            sent += encode_json(&report).len();
            hub.on_report("x", report.clone());
        }
        let name = "brimful_rnis_reports_total";
        let accepted = hub.metrics().get(name, &[("source", "x")]);
        assert_eq!(accepted, f64::from(count));
        assert!(sent > 32_000_000, "{sent} bytes were enough to test it");
        for outlet in &mut readers {
            let (mut got, mut bytes, mut last) = (0.0, 0, None);
            while let Some(Some(read)) = outlet.next().now_or_never() {
                got += 1.0;
                bytes += read.json().len();
                last = Some(read);
            }
            assert!(bytes <= 16_000_000, "{bytes} bytes had waited");
            let last = decode_json(last.expect("the newest").json()).expect("a report");
            assert_eq!(last.cell.slot.get(), u64::from(count));
            let labels = [("transport", outlet.transport)];
            let name = "brimful_rnis_publish_lost_total";
            let lost = hub.metrics().get(name, &labels);
            assert_eq!(lost + got, f64::from(count));
        }
    }
}
