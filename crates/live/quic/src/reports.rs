//! Radio reports on their way to the connections of the UEs that they describe.
//!
//! What passes the gate goes to the feeds of the connections whose remote address is the UE's.

use cc::RadioState;
use daemon::clock;
use dash::RadioMeter;
use quinn_cc::RadioFeed;
use report_source::{Follower, Gate};
use rnis::RadioReport;
use rnis::identity::UeMap;
use rnis::intake::IntakeCounts;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use units::Instant;

/// What has come in, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportCounts {
    /// What the gate has let pass and refused.
    pub gate: IntakeCounts,
    /// UEs in reports that no connection is with.
    pub unconnected_ues: u64,
    /// States that reached a connection.
    pub delivered: u64,
    /// States that a connection refused because its client had moved.
    pub unbound: u64,
    /// Times that a source connected.
    pub connects: u64,
    /// Sources that are connected.
    pub connected: u64,
}

/// Distributes reports: a handle, cheap to clone. In a program that makes reports itself,
/// [`Self::inlet`] takes them.
#[derive(Clone, Debug)]
pub struct Reporter(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    gate: Gate,
    /// By the UE's address.
    feeds: BTreeMap<IpAddr, Vec<Bound>>,
    counts: ReportCounts,
    /// Shows reports to those who watch.
    meter: Option<RadioMeter>,
}

/// A connection's feed.
#[derive(Debug)]
struct Bound {
    connection: u64,
    feed: RadioFeed,
    /// Notified of each state that the feed takes.
    taken: Arc<Notify>,
}

impl State {
    /// A report that was made at `made_at`, and is here now.
    fn distribute(&mut self, now: Instant, report: &RadioReport, made_at: Instant) {
        if let Some(meter) = &self.meter {
            meter.on_report(report, |_| None);
        }
        for ue in &report.ues {
            let Some(ip) = ue.ip else { continue };
            let Some(feeds) = self.feeds.get(&ip.to_canonical()) else {
                self.counts.unconnected_ues += 1;
                continue;
            };
            let state = RadioState::of(report, ue, made_at);
            for bound in feeds {
                if bound.feed.push(now, state) {
                    self.counts.delivered += 1;
                    bound.taken.notify_one();
                } else {
                    self.counts.unbound += 1;
                }
            }
        }
    }
}

impl Reporter {
    pub(crate) fn new(ues: UeMap) -> Self {
        Self(Arc::new(Mutex::new(State {
            gate: Gate::new(ues),
            feeds: BTreeMap::new(),
            counts: ReportCounts::default(),
            meter: None,
        })))
    }

    /// Shows all reports from now on to this meter.
    pub(crate) fn show(&self, meter: RadioMeter) {
        self.state().meter = Some(meter);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has come in so far.
    pub fn counts(&self) -> ReportCounts {
        let state = self.state();
        ReportCounts {
            gate: state.gate.counts(),
            ..state.counts
        }
    }

    /// A way in for one source. A source on another machine has another clock.
    pub fn inlet(&self, is_foreign: bool) -> Inlet {
        Inlet {
            reporter: self.clone(),
            is_foreign,
            is_up: false,
        }
    }

    /// A connection is with this UE. `taken` is notified of each state that its feed takes.
    pub(crate) fn bind(&self, ue: IpAddr, connection: u64, feed: &RadioFeed, taken: &Arc<Notify>) {
        let mut state = self.state();
        let feeds = state.feeds.entry(ue).or_default();
        feeds.push(Bound {
            connection,
            feed: feed.clone(),
            taken: Arc::clone(taken),
        });
        feed.clear();
        feed.bind();
    }

    /// It is so no longer: what waits in its feed is dropped.
    pub(crate) fn unbind(&self, ue: IpAddr, connection: u64, feed: &RadioFeed) {
        let mut state = self.state();
        if let Some(feeds) = state.feeds.get_mut(&ue) {
            feeds.retain(|bound| bound.connection != connection);
            if feeds.is_empty() {
                state.feeds.remove(&ue);
            }
        }
        feed.unbind();
    }
}

/// Where the reports of one source come in.
#[derive(Debug)]
pub struct Inlet {
    reporter: Reporter,
    is_foreign: bool,
    is_up: bool,
}

impl Inlet {
    /// A message: a report in JSON or in the binary form, or anything else, which is counted.
    pub fn message(&mut self, bytes: &[u8]) {
        let mut state = self.reporter.state();
        let now = clock::now();
        if let Some((report, made_at)) = state.gate.message(now, bytes, self.is_foreign) {
            state.distribute(now, &report, made_at);
        }
    }

    /// A report.
    pub fn report(&mut self, report: RadioReport) {
        let mut state = self.reporter.state();
        let now = clock::now();
        if let Some((report, made_at)) = state.gate.report(now, report, self.is_foreign) {
            state.distribute(now, &report, made_at);
        }
    }

    /// The source is connected, or no longer.
    pub fn connected(&mut self, is_up: bool) {
        if is_up == self.is_up {
            return;
        }
        self.is_up = is_up;
        let mut state = self.reporter.state();
        if is_up {
            state.counts.connects += 1;
            state.counts.connected += 1;
            tracing::info!("radio reports: connected");
        } else {
            state.counts.connected -= 1;
            tracing::warn!("radio reports: lost");
        }
    }
}

impl Follower for Inlet {
    fn up(&mut self, up: bool) {
        self.connected(up);
    }
    fn message(&mut self, bytes: &[u8]) {
        Self::message(self, bytes);
    }
}
