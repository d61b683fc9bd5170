//! Radio reports on their way to the connections of the UEs that they tell of.
//!
//! Every report passes the gate of [`rnis::vet`]; what does not is counted by its reason. What passes
//! goes to the feeds of the connections whose remote address is the UE's.

use crate::source_clock::SourceClock;
use cc::RadioState;
use quinn_cc::RadioFeed;
use rnis::codec::decode;
use rnis::identity::UeMap;
use rnis::vet::{Refusal, Vetter};
use rnis::{DecodeError, RadioReport};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::{Duration, Instant};

/// Between two lines of the log about the same kind of fault.
const QUIET: Duration = Duration::from_secs(10);

/// What has come in, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportCounts {
    /// Reports that were believed.
    pub believed: u64,
    /// Messages that are no report.
    pub unreadable: u64,
    /// Reports with values that no base station can have.
    pub absurd: u64,
    /// Reports older than the last of their cell, or the same.
    pub out_of_order: u64,
    /// Reports of a source on this machine whose time is not that of this machine's clock.
    pub skewed: u64,
    /// UEs in reports whose address nobody knows.
    pub unmapped_ues: u64,
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
    vetter: Vetter,
    /// Feeds by the UE's address, each with its connection's number.
    feeds: BTreeMap<IpAddr, Vec<(u64, RadioFeed)>>,
    counts: ReportCounts,
    told: BTreeMap<&'static str, Told>,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    at: Instant,
    since: u64,
}

impl State {
    /// Says so in the log, unless it did lately.
    fn tell(&mut self, now: Instant, kind: &'static str, what: &dyn std::fmt::Display) {
        match self.told.get_mut(kind) {
            Some(told) if now.saturating_since(told.at) < QUIET => told.since += 1,
            told => {
                let more = told.map_or(0, |told| told.since);
                tracing::warn!(kind, more, "radio reports: {what}");
                self.told.insert(kind, Told { at: now, since: 0 });
            }
        }
    }

    fn report(&mut self, now: Instant, report: RadioReport, clock: &mut SourceClock) {
        let vetted = match self.vetter.vet(report) {
            Ok(vetted) => vetted,
            Err(refusal) => {
                let kind = match refusal {
                    Refusal::Repeated { .. } | Refusal::Late { .. } => {
                        self.counts.out_of_order += 1;
                        "out-of-order"
                    }
                    _ => {
                        self.counts.absurd += 1;
                        "absurd"
                    }
                };
                return self.tell(now, kind, &refusal);
            }
        };
        self.counts.believed += 1;
        self.counts.unmapped_ues += vetted.unknown.len() as u64;
        if let Some(missing) = vetted.unknown.first() {
            self.tell(now, "unmapped", missing);
        }
        let report = vetted.report;
        let Some(said) = report.ues.iter().map(|ue| ue.timestamp).max() else {
            return;
        };
        let placed = clock.place(now, said);
        if placed.is_skewed {
            self.counts.skewed += 1;
            self.tell(
                now,
                "skewed",
                &"its time is not that of this machine's clock",
            );
        }
        for ue in &report.ues {
            let Some(ip) = ue.ip else { continue };
            let Some(feeds) = self.feeds.get(&ip.to_canonical()) else {
                self.counts.unconnected_ues += 1;
                continue;
            };
            let state = RadioState::of(&report, ue, placed.at);
            for (_, feed) in feeds {
                match feed.push(state) {
                    true => self.counts.delivered += 1,
                    false => self.counts.unbound += 1,
                }
            }
        }
    }
}

impl Reporter {
    pub(crate) fn new(ues: UeMap) -> Self {
        Self(Arc::new(Mutex::new(State {
            vetter: Vetter::new(ues),
            feeds: BTreeMap::new(),
            counts: ReportCounts::default(),
            told: BTreeMap::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has come in so far.
    pub fn counts(&self) -> ReportCounts {
        self.state().counts
    }

    /// A way in for one source. A source on another machine has another clock.
    pub fn inlet(&self, is_foreign: bool) -> Inlet {
        Inlet {
            reporter: self.clone(),
            clock: SourceClock::new(is_foreign),
            is_up: false,
        }
    }

    /// A connection is with this UE.
    pub(crate) fn bind(&self, ue: IpAddr, connection: u64, feed: &RadioFeed) {
        let mut state = self.state();
        let feeds = state.feeds.entry(ue).or_default();
        feeds.push((connection, feed.clone()));
        feed.clear();
        feed.bind();
    }

    /// It is so no longer: what waits in its feed is forgotten.
    pub(crate) fn unbind(&self, ue: IpAddr, connection: u64, feed: &RadioFeed) {
        let mut state = self.state();
        if let Some(feeds) = state.feeds.get_mut(&ue) {
            feeds.retain(|(other, _)| *other != connection);
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
    clock: SourceClock,
    is_up: bool,
}

impl Inlet {
    /// A message: a report in JSON or in the binary form, or anything else, which is counted.
    pub fn message(&mut self, bytes: &[u8]) {
        let now = rnis_server::monotonic_now();
        match decode(bytes) {
            Ok(report) => self.take(now, report),
            Err(error) => {
                let mut state = self.reporter.state();
                let kind = match error {
                    DecodeError::Report(_) => {
                        state.counts.absurd += 1;
                        "absurd"
                    }
                    _ => {
                        state.counts.unreadable += 1;
                        "unreadable"
                    }
                };
                state.tell(now, kind, &error);
            }
        }
    }

    /// A report.
    pub fn report(&mut self, report: RadioReport) {
        self.take(rnis_server::monotonic_now(), report);
    }

    fn take(&mut self, now: Instant, report: RadioReport) {
        let Self {
            reporter, clock, ..
        } = self;
        reporter.state().report(now, report, clock);
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

impl rnis_server::Follower for Inlet {
    fn up(&mut self, up: bool) {
        self.connected(up);
    }
    fn message(&mut self, bytes: &[u8]) {
        Self::message(self, bytes);
    }
}
