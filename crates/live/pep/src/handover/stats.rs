//! What is counted of connections that move.

use super::secure::Keys;
use crate::registry::lock;
use daemon::metrics::Page;
use relocation::Outcome;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Upper bounds of the histogram of frozen times, seconds.
pub(crate) const BOUNDS: [f64; 8] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 1.0];

/// Counters of transfers.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    moved: AtomicU64,
    adopted: AtomicU64,
    aborted: AtomicU64,
    reset: AtomicU64,
    refused: Mutex<BTreeMap<Outcome, u64>>,
    peers_refused: Mutex<BTreeMap<&'static str, u64>>,
    /// For conversations with other machines.
    keys: OnceLock<Keys>,
    frozen: Mutex<Frozen>,
    /// UEs whose connections are on their way, from or to here.
    under_way: Mutex<BTreeSet<IpAddr>>,
    /// To whom it is given that a UE is in another proxy's cell.
    arrivals: OnceLock<SyncSender<(IpAddr, u32)>>,
}

/// Frozen times of transfers.
#[derive(Clone, Copy, Debug, Default)]
struct Frozen {
    /// By bound, not summed up; the last has none.
    counts: [u64; BOUNDS.len() + 1],
    seconds: f64,
    last: f64,
    max: f64,
}

/// What status has of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HandoverStatus {
    /// Connections that another proxy has now.
    pub(crate) moved: u64,
    /// Connections that came from another proxy.
    pub(crate) adopted: u64,
    /// Transfers that were given up; their connections stayed.
    pub(crate) aborted: u64,
    /// Connections that were reset, for nobody knew whose they were.
    pub(crate) reset: u64,
    /// Connections that stayed, by reason.
    pub(crate) refused: BTreeMap<&'static str, u64>,
    /// Conversations with other proxies that were not begun, by reason.
    pub(crate) peers_refused: BTreeMap<&'static str, u64>,
    /// Transfers that were frozen for at most so many seconds, each with all below it; the last has no bound.
    #[serde(skip)]
    pub(crate) frozen: Vec<u64>,
    /// All frozen times together.
    pub(crate) frozen_seconds: f64,
    /// That of the last transfer.
    pub(crate) last_frozen_seconds: f64,
    /// The longest.
    pub(crate) max_frozen_seconds: f64,
}

/// A UE's connections are on their way.
#[derive(Debug)]
pub(crate) struct UnderWay<'a> {
    stats: &'a Stats,
    ue: IpAddr,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(&self.stats.under_way).remove(&self.ue);
    }
}

impl Stats {
    /// For conversations with other machines.
    pub(crate) fn set_keys(&self, keys: Keys) {
        // once for each process
        let _ = self.keys.set(keys);
    }

    /// The same.
    pub(super) fn keys(&self) -> Option<&Keys> {
        self.keys.get()
    }

    /// A conversation was not begun.
    pub(super) fn on_peer_refused(&self, why: &'static str) {
        *lock(&self.peers_refused).entry(why).or_default() += 1;
    }

    /// UEs in cells of other proxies are given there.
    pub(super) fn give_arrivals(&self, to: SyncSender<(IpAddr, u32)>) {
        // once for each process
        let _ = self.arrivals.set(to);
    }

    /// A UE with connections is in a cell of another proxy. The next report repeats what finds no room.
    pub(super) fn on_arrival(&self, ue: IpAddr, cell: u32) {
        if let Some(to) = self.arrivals.get() {
            let _ = to.try_send((ue, cell));
        }
    }

    /// None if they are already.
    pub(super) fn begin(&self, ue: IpAddr) -> Option<UnderWay<'_>> {
        let is_first = lock(&self.under_way).insert(ue);
        is_first.then_some(UnderWay { stats: self, ue })
    }

    /// So many connections are another proxy's, frozen for so long.
    pub(super) fn on_moved(&self, connections: usize, frozen: Duration) {
        self.moved.fetch_add(connections as u64, Relaxed);
        let seconds = frozen.as_secs_f64();
        let mut all = lock(&self.frozen);
        let at = BOUNDS.iter().position(|bound| seconds <= *bound);
        all.counts[at.unwrap_or(BOUNDS.len())] += 1;
        all.seconds += seconds;
        all.last = seconds;
        all.max = all.max.max(seconds);
    }

    pub(super) fn on_adopted(&self, connections: usize) {
        self.adopted.fetch_add(connections as u64, Relaxed);
    }

    pub(super) fn on_aborted(&self) {
        self.aborted.fetch_add(1, Relaxed);
    }

    pub(super) fn on_reset(&self, connections: usize) {
        self.reset.fetch_add(connections as u64, Relaxed);
    }

    pub(super) fn on_refused(&self, why: Outcome) {
        *lock(&self.refused).entry(why).or_default() += 1;
    }

    /// As of now.
    pub(crate) fn status(&self) -> HandoverStatus {
        let frozen = *lock(&self.frozen);
        let refused = lock(&self.refused);
        HandoverStatus {
            moved: self.moved.load(Relaxed),
            adopted: self.adopted.load(Relaxed),
            aborted: self.aborted.load(Relaxed),
            reset: self.reset.load(Relaxed),
            refused: refused.iter().map(|(why, n)| (why.name(), *n)).collect(),
            peers_refused: lock(&self.peers_refused).clone(),
            frozen: frozen
                .counts
                .iter()
                .scan(0, |sum, count| {
                    *sum += count;
                    Some(*sum)
                })
                .collect(),
            frozen_seconds: frozen.seconds,
            last_frozen_seconds: frozen.last,
            max_frozen_seconds: frozen.max,
        }
    }
}

impl HandoverStatus {
    /// As metrics.
    pub(crate) fn write(&self, page: &mut Page) {
        let name = "handover_connections_total";
        let help =
            "Connections that moved to other proxies, came from them, or were reset on their way.";
        page.head(name, "counter", help);
        for (fate, value) in [
            ("moved", self.moved),
            ("adopted", self.adopted),
            ("reset", self.reset),
        ] {
            page.value(name, &[("fate", &fate)], value);
        }
        let name = "handover_refused_total";
        page.head(name, "counter", "Connections that stayed, by reason.");
        for (reason, value) in &self.refused {
            page.value(name, &[("reason", reason)], *value);
        }
        let name = "handover_peers_refused_total";
        page.head(
            name,
            "counter",
            "Conversations with proxies that were not begun, by reason.",
        );
        for (reason, value) in &self.peers_refused {
            page.value(name, &[("reason", reason)], *value);
        }
        let help = "Transfers that were given up.";
        page.single("handover_aborted_total", "counter", help, self.aborted);
        let name = "handover_frozen_seconds";
        page.head(
            name,
            "histogram",
            "From a transfer's last packet here to the word that it lives there.",
        );
        let bounds = BOUNDS.iter().map(f64::to_string);
        let bounds = bounds.chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&self.frozen) {
            page.value("handover_frozen_seconds_bucket", &[("le", &bound)], *count);
        }
        page.value("handover_frozen_seconds_sum", &[], self.frozen_seconds);
        let all = self.frozen.last().copied().unwrap_or(0);
        page.value("handover_frozen_seconds_count", &[], all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ue_moves_once_at_a_time_and_times_are_counted_below_their_bounds() {
        let stats = Stats::default();
        let ue = IpAddr::from([10, 45, 0, 2]);
        let first = stats.begin(ue).expect("none is under way");
        assert!(stats.begin(ue).is_none());
        drop(first);
        assert!(stats.begin(ue).is_some());
        for millis in [1, 3, 2_000] {
            stats.on_moved(2, Duration::from_millis(millis));
        }
        stats.on_refused(Outcome::Urgent);
        let status = stats.status();
        assert_eq!(status.moved, 6);
        assert_eq!(status.frozen, [1, 1, 2, 2, 2, 2, 2, 2, 3]);
        assert_eq!(status.refused["urgent"], 1);
        assert!((status.max_frozen_seconds - 2.0).abs() < 1e-9);
    }
}
