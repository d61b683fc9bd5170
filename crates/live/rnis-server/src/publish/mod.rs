//! Reports going out: a Unix socket, AMQP, NATS.

pub(crate) mod amqp;
pub(crate) mod nats;
pub(crate) mod unix;

use crate::config::Format;
use crate::hub::{Hub, Outgoing, Published, Queued};
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, error::TryRecvError};

/// The reports of one reader, with what it loses counted.
pub(crate) struct Outlet {
    pub(crate) hub: Arc<Hub>,
    pub(crate) transport: &'static str,
    outgoing: Receiver<Queued>,
}

impl Outlet {
    pub(crate) fn new(hub: Arc<Hub>, transport: &'static str) -> Self {
        let outgoing = hub.outgoing();
        Self {
            hub,
            transport,
            outgoing,
        }
    }

    /// The next report; none when the service ends.
    pub(crate) async fn next(&mut self) -> Option<Arc<Published>> {
        loop {
            if let Outgoing::Report(report) = self.next_of_all().await? {
                return Some(report);
            }
        }
    }

    /// The next report or event; none when the service ends.
    pub(crate) async fn next_of_all(&mut self) -> Option<Outgoing> {
        loop {
            match self.outgoing.recv().await {
                Ok(Queued::Report(waiting)) => match waiting.report() {
                    Some(report) => return Some(Outgoing::Report(report)),
                    None => self.lost(1),
                },
                Ok(Queued::Event(event)) => return Some(Outgoing::Event(event)),
                Err(RecvError::Lagged(lost)) => self.lost(lost),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Drops what waits: the broker was away. Counts it.
    pub(crate) fn drop_waiting(&mut self) {
        loop {
            match self.outgoing.try_recv() {
                Ok(Queued::Report(_)) => self.lost(1),
                Ok(Queued::Event(_)) => {}
                Err(TryRecvError::Lagged(lost)) => self.lost(lost),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// Counts reports that reach no reader.
    pub(crate) fn lost(&self, count: u64) {
        let labels = [("transport", self.transport)];
        self.hub
            .metrics()
            .add("brimful_rnis_publish_lost_total", &labels, count);
    }

    pub(crate) fn published(&self) {
        let labels = [("transport", self.transport)];
        self.hub
            .metrics()
            .add("brimful_rnis_published_total", &labels, 1);
    }

    pub(crate) fn up(&self, up: bool) {
        let labels = [("transport", self.transport)];
        self.hub.metrics().set(
            "brimful_rnis_publisher_up",
            &labels,
            f64::from(u8::from(up)),
        );
    }
}

/// A report's bytes in a form, and their media type.
pub(crate) fn body(report: &Published, format: Format) -> (&[u8], &'static str) {
    match format {
        Format::Json => (report.json(), "application/json"),
        Format::Binary => (report.binary(), "application/vnd.brimful.radio-report"),
    }
}
