//! What the dashboard shows of the server: its connections, and the cells and UEs of radio reports.

use super::Shared;
use super::session::Session;
use crate::QuicError;
use dash::{Hosted, Kind, Metric, Sample, Source};
use quinn::Connection;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Younger connections are not shown: many do not live so long.
const MIN_AGE: Duration = Duration::from_secs(1);

/// The connections that there are.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    all: Mutex<BTreeMap<u64, Entry>>,
}

/// One of them.
#[derive(Clone, Debug)]
struct Entry {
    session: Weak<Session>,
    connection: Connection,
    since: Instant,
}

impl Connections {
    /// One more, until what is given is dropped.
    pub(crate) fn add(&self, session: &Arc<Session>, connection: &Connection) -> Entered<'_> {
        let entry = Entry {
            session: Arc::downgrade(session),
            connection: connection.clone(),
            since: Instant::now(),
        };
        self.lock().insert(session.number(), entry);
        Entered {
            connections: self,
            number: session.number(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Entry>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection is among those that there are.
#[derive(Debug)]
pub(crate) struct Entered<'a> {
    connections: &'a Connections,
    number: u64,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.number);
    }
}

/// Begins to show; none where it is switched off.
pub(super) fn start(shared: &Arc<Shared>) -> Result<Option<Hosted>, QuicError> {
    let prepared = shared
        .config
        .dashboard
        .prepare(Source::Quic, "brimful quic")?;
    let Some(prepared) = prepared else {
        return Ok(None);
    };
    let meter = prepared.meter();
    shared.reporter.show(meter.clone());
    // the server must be free to end
    let server = Arc::downgrade(shared);
    let measure = move |sample: &mut Sample| {
        meter.put(sample, false);
        if let Some(shared) = server.upgrade() {
            put_connections(&shared, sample);
        }
    };
    Ok(Some(prepared.start(measure)?))
}

fn put_connections(shared: &Shared, sample: &mut Sample) {
    let all: Vec<Entry> = shared.shown.lock().values().cloned().collect();
    let grown = all
        .into_iter()
        .filter(|entry| entry.since.elapsed() >= MIN_AGE);
    let with_total = grown.filter_map(|entry| {
        let session = entry.session.upgrade()?;
        let sent = carried(&entry.connection);
        Some((session.number(), sent, (session, entry.connection)))
    });
    let mut by_ue: BTreeMap<IpAddr, f64> = BTreeMap::new();
    for (session, connection) in sample.busiest(with_total.collect()) {
        let ue = shared.config.ue_of(connection.remote_address().ip());
        let rate = put_connection(shared, &session, &connection, ue, sample);
        *by_ue.entry(ue).or_default() += rate.unwrap_or(0.0);
    }
    for (ue, rate) in by_ue {
        sample.put(Kind::Ue, &ue.to_string(), None, Metric::Goodput, rate);
    }
}

/// What has been sent and not lost, bytes of UDP payload.
fn carried(connection: &Connection) -> u64 {
    let stats = connection.stats();
    stats.udp_tx.bytes.saturating_sub(stats.path.lost_bytes)
}

/// Gives its goodput.
fn put_connection(
    shared: &Shared,
    session: &Session,
    connection: &Connection,
    ue: IpAddr,
    sample: &mut Sample,
) -> Option<f64> {
    let entity = format!("{} #{}", connection.remote_address(), session.number());
    let ue = ue.to_string();
    let (stats, path) = (connection.stats(), session.path());
    let total = carried(connection);
    let rate = sample.put_rate(Kind::Flow, &entity, Some(&ue), Metric::Goodput, total);
    let mut put = |metric, value| sample.put(Kind::Flow, &entity, Some(&ue), metric, value);
    if path.rtt_samples > 0 {
        put(Metric::Rtt, path.srtt.as_secs_f64() * 1e3);
    }
    put(Metric::Cwnd, stats.path.cwnd as f64);
    put(Metric::BytesInFlight, path.bytes_in_flight.get() as f64);
    if shared.config.meld.is_some() {
        let losses = session.losses();
        for (metric, counter) in [
            (Metric::LossCongestion, &losses.congestion),
            (Metric::LossRadio, &losses.radio),
            (Metric::LossUnknown, &losses.unknown),
        ] {
            put(metric, counter.load(Ordering::Relaxed) as f64);
        }
    }
    let meld = shared.config.meld.map_or("", |_| "meld ");
    sample.describe(&entity, &format!("{meld}{}", shared.config.cc));
    rate
}
