//! Reports coming in: connect, read messages, hand them over; connect again when that ends.

mod capture;
mod http;
mod lines;
mod replay;
mod serve;
mod websocket;

use crate::Fault;
use crate::clock;
use crate::config::{Address, Config, SourceConfig, SourceKind};
use crate::hub::Hub;
use daemon::Backoff;
use report_source::{Follower, broker};
use rnis::RadioReport;
use rnis::adapters::{Adapter, CellProfile, FlexRan, FlexRic, Kpm, LegacyCsv, OaiXapp, SrsRan};
use rnis::codec::decode;
use rnis::event::RadioEvent;
use rnis::identity::UeMap;
use std::sync::Arc;
use tokio::task::JoinSet;
use units::{Bytes, Prb};

pub use replay::recording_times;

/// Starts every source.
pub(crate) fn start(config: &Config, hub: &Arc<Hub>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for source in &config.sources {
        let feed = Feed::new(source, &config.ues, Arc::clone(hub));
        tasks.spawn(run(source.clone(), feed));
    }
    tasks
}

async fn run(source: SourceConfig, mut feed: Feed) {
    let mut backoff = Backoff::new();
    loop {
        let received = feed.received;
        let ended = once(&source, &mut feed).await;
        feed.up(false);
        match ended {
            Ok(()) if matches!(source.address, Address::File(_)) => {
                tracing::info!(source = source.name, "the recording has ended");
                return;
            }
            Ok(()) => tracing::warn!(source = source.name, "closed the connection"),
            Err(error) => {
                tracing::warn!(source = source.name, address = %source.address, "{error}");
            }
        }
        if feed.received > received {
            backoff.reset();
        }
        backoff.wait().await;
    }
}

/// One connection, to its end.
async fn once(source: &SourceConfig, feed: &mut Feed) -> Result<(), Fault> {
    match (&source.kind, &source.address) {
        (SourceKind::Replay { speed, repeat }, Address::File(path)) => {
            replay::play(path, *speed, *repeat, feed).await
        }
        (SourceKind::F1u { monitor, .. }, Address::File(path)) => {
            capture::play(path, monitor, feed).await
        }
        (SourceKind::F1u { monitor, buffer }, Address::Interface(name)) => {
            capture::read(name, monitor, *buffer, feed).await
        }
        (SourceKind::SrsRan { .. }, Address::Url { url, .. }) => {
            websocket::read(url, SrsRan::SUBSCRIBE, feed).await
        }
        (SourceKind::FlexRan { cell, .. }, Address::Url { url, .. }) => {
            http::poll(url, cell.period, feed).await
        }
        (SourceKind::OaiXapp { queue, .. } | SourceKind::LegacyCsv { queue, .. }, address) => {
            broker::queue(address, queue, feed).await
        }
        (SourceKind::Reports { topic }, Address::Url { scheme, .. }) => match *scheme {
            "nats" | "tls" => broker::subject(&source.address, topic, feed).await,
            _ => broker::exchange(&source.address, topic, feed).await,
        },
        (_, Address::Unix(_) | Address::Tcp(_)) => match source.listen {
            Some(listening) => serve::serve(&source.address, listening, feed).await,
            None => lines::read(&source.address, feed).await,
        },
        _ => Err("this kind of source does not come over this transport".into()),
    }
}

impl Follower for Feed {
    fn message(&mut self, bytes: &[u8]) {
        Self::message(self, bytes);
    }
    fn up(&mut self, up: bool) {
        Self::up(self, up);
    }
}

/// What one source's messages go through.
pub(crate) struct Feed {
    name: String,
    hub: Arc<Hub>,
    reader: Reader,
    /// Its reports are of another clock: they get the time of their arrival.
    foreign_clock: bool,
    received: u64,
}

enum Reader {
    Own,
    Adapter(Box<dyn Adapter>),
}

impl Feed {
    fn new(source: &SourceConfig, ues: &UeMap, hub: Arc<Hub>) -> Self {
        let reader = adapter(&source.kind, ues).map_or(Reader::Own, Reader::Adapter);
        if let Reader::Adapter(adapter) = &reader {
            let unknown = adapter.unavailable_fields().join("; ");
            let kind = adapter.name();
            tracing::info!(
                source = source.name,
                kind,
                "not reported by this source: {unknown}"
            );
        }
        Self {
            name: source.name.clone(),
            hub,
            reader,
            foreign_clock: !matches!(source.address, Address::Unix(_)),
            received: 0,
        }
    }

    /// One message.
    pub(crate) fn message(&mut self, bytes: &[u8]) {
        self.take(bytes);
    }

    /// One message: whether it is of this source's form.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> bool {
        self.received += 1;
        let labels = [("source", self.name.as_str())];
        self.hub
            .metrics()
            .add("brimful_rnis_messages_total", &labels, 1);
        match &mut self.reader {
            Reader::Adapter(adapter) => match adapter.on_message(clock::now(), bytes) {
                Ok(adapted) => self.hub.on_adapted(&self.name, adapted),
                Err(error) => {
                    self.refuse(&error);
                    return false;
                }
            },
            Reader::Own => match decode(bytes) {
                Ok(report) => self.report(report),
                Err(error) => match RadioEvent::from_json(bytes) {
                    Ok(event) => self.hub.send_events(&self.name, vec![event]),
                    Err(event) if RadioEvent::is_meant(bytes) => {
                        self.hub.refuse(&self.name, "event", &event);
                        return false;
                    }
                    Err(_) => {
                        self.refuse(&error);
                        return false;
                    }
                },
            },
        }
        true
    }

    /// A report of the project's own form.
    fn report(&mut self, mut report: RadioReport) {
        if self.foreign_clock {
            let now = clock::now();
            for ue in &mut report.ues {
                ue.timestamp = now;
            }
        }
        self.hub.on_report(&self.name, report);
    }

    /// Something that is no message: too long, not text, of another form.
    pub(crate) fn refuse(&self, error: &dyn std::fmt::Display) {
        self.hub.refuse(&self.name, "form", error);
    }

    pub(crate) fn up(&self, up: bool) {
        let labels = [("source", self.name.as_str())];
        let metrics = self.hub.metrics();
        metrics.set("brimful_rnis_source_up", &labels, f64::from(u8::from(up)));
        if up {
            metrics.add("brimful_rnis_source_connects_total", &labels, 1);
            tracing::info!(source = self.name, "connected");
        }
    }
}

fn adapter(kind: &SourceKind, ues: &UeMap) -> Option<Box<dyn Adapter>> {
    let ues = ues.clone();
    Some(match kind.clone() {
        SourceKind::Reports { .. } | SourceKind::Replay { .. } | SourceKind::F1u { .. } => {
            return None;
        }
        SourceKind::SrsRan { cell, pci } => Box::new(SrsRan::new(cell, ues, pci, block_bytes)),
        SourceKind::FlexRic { cell } => Box::new(FlexRic::new(cell, ues)),
        SourceKind::FlexRan { cell, bs_id } => Box::new(FlexRan::new(cell, ues, bs_id)),
        SourceKind::OaiXapp { cell, .. } => Box::new(OaiXapp::new(cell, ues, block_bytes)),
        SourceKind::LegacyCsv { cell, ue, rnti, .. } => Box::new(LegacyCsv::new(cell, rnti, ue)),
        SourceKind::Kpm { cell } => Box::new(Kpm::new(cell, ues)),
    })
}

/// The transport block tables, for adapters.
fn block_bytes(quality: rnis::LinkQuality, prb: Prb, n_prb: Prb) -> Option<Bytes> {
    radio::transport_block_bytes(quality, prb, n_prb).ok()
}

/// Whether a cell's MCS table and carrier go together, for `--check`.
pub(crate) fn check_cell(cell: &CellProfile) -> Result<(), String> {
    let quality = rnis::LinkQuality::Mcs {
        mcs: units::Mcs::new(0),
        table: cell.table,
        layers: cell.layers,
        data_re_per_prb: cell.data_re_per_prb,
    };
    radio::transport_block_bytes(quality, cell.n_prb, cell.n_prb)
        .map(|_| ())
        .map_err(|error| format!("cell {}: {error}", cell.id.0))
}
