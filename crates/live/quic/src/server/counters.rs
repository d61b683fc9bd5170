//! What the server counts beside reports.

use super::budget::Refusal;
use cc::meld::{Culprit, LossDecision, Reason};
use quinn_cc::ReportOutcome;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Connections that were made.
    pub(crate) connections: AtomicU64,
    /// Handshakes that came to nothing.
    pub(crate) failed: AtomicU64,
    /// Connections above the limit.
    pub(crate) refused: AtomicU64,
    /// The same by the limit.
    refusals: Mutex<BTreeMap<Refusal, u64>>,
    /// Connections whose client came from another address.
    pub(crate) migrations: AtomicU64,
    /// Requests by their outcome, a status of HTTP or one of its like.
    requests: Mutex<BTreeMap<u16, u64>>,
    /// Decisions of MELD by their reason.
    decisions: Mutex<BTreeMap<&'static str, (bool, u64)>>,
    /// Bandwidth reports of clients that controllers were notified of.
    pub(crate) reports_taken: AtomicU64,
    /// Those that a newer one had overtaken.
    pub(crate) reports_stale: AtomicU64,
    /// Datagrams of clients that were none.
    pub(crate) reports_unreadable: AtomicU64,
    /// Reports beyond what is accepted of one, on connections that have ended.
    pub(crate) reports_bounded: AtomicU64,
    /// Of connections that have ended.
    pub(crate) sent_bytes: AtomicU64,
    /// The same.
    pub(crate) lost_packets: AtomicU64,
    /// The same.
    pub(crate) congestion_events: AtomicU64,
    /// The same.
    pub(crate) silent_losses: AtomicU64,
}

impl Counters {
    pub(crate) fn request(&self, status: u16) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry(status).or_default() += 1;
    }

    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        *refusals.entry(refusal).or_default() += 1;
    }

    /// Refused connections by the limit, each of them.
    pub(crate) fn refusals(&self) -> [(&'static str, u64); 3] {
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        Refusal::ALL.map(|limit| (limit.name(), refusals.get(&limit).copied().unwrap_or(0)))
    }

    pub(crate) fn report(&self, outcome: ReportOutcome) {
        let counter = match outcome {
            ReportOutcome::Taken => &self.reports_taken,
            ReportOutcome::Stale => &self.reports_stale,
            ReportOutcome::Unreadable(_) => &self.reports_unreadable,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn decision(&self, decision: &LossDecision) {
        let mut decisions = self
            .decisions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_congestion = decision.reason.is_congestion();
        decisions
            .entry(decision.reason.name())
            .or_insert((is_congestion, 0))
            .1 += 1;
    }

    pub(crate) fn requests(&self) -> BTreeMap<u16, u64> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Decisions by reason: whether they meant congestion, and how many.
    pub(crate) fn decisions(&self) -> BTreeMap<&'static str, (bool, u64)> {
        let decisions = self.decisions.lock();
        decisions.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What MELD has decided of the losses of one connection.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// The radio did it.
    pub(crate) radio: AtomicU64,
    /// Congestion, according to reports.
    pub(crate) congestion: AtomicU64,
    /// Taken for congestion, for there was no fresh report.
    pub(crate) unknown: AtomicU64,
}

impl Losses {
    pub(crate) fn count(&self, reason: Reason) {
        let counter = match reason.culprit() {
            Culprit::Congestion => &self.congestion,
            Culprit::Radio => &self.radio,
            Culprit::Unknown => &self.unknown,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_counted_once_and_unknown_ones_separately() {
        let losses = Losses::default();
        Reason::ALL
            .into_iter()
            .for_each(|reason| losses.count(reason));
        let all = [&losses.radio, &losses.congestion, &losses.unknown];
        let counts = all.map(|counter| counter.load(Ordering::Relaxed));
        assert_eq!(counts, [3, 4, 2]);
    }
}
