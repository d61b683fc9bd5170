//! What flows hold, in pipes and in the kernel's queues, is bounded for each UE and in all.
//!
//! Windows and buffers bound what a flow can come to hold: see [`crate::registry::Registry::share`]. Where that
//! is still too much, because what has been offered cannot be taken back, flows are reset, first those
//! that would take longest to drain: a reader that has stalled before one that is slow, and that before
//! one that keeps up.

use crate::config::Limits;
use crate::flow::Flow;
use crate::registry::MIN_SHARE;
use crate::relay::WorkerHandle;
use crate::shared::Shared;
use crate::sys;
use daemon::clock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;
use units::Bytes;

/// Between looks while little is held, and little is read ([`crate::registry::Registry::on_read`]).
const PERIOD: Duration = Duration::from_millis(500);
/// Between looks while a UE, or all, hold more than half of what they may.
const PERIOD_UNDER_PRESSURE: Duration = Duration::from_millis(50);
/// Between looks at least, however much is read.
const MIN_PERIOD: Duration = Duration::from_millis(5);
/// Between messages of flows that were reset.
const LOG_PERIOD: units::Duration = units::Duration::from_secs(1);

/// A flow's part in what is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holding<U> {
    flow: u64,
    ue: U,
    /// Held, bytes.
    held: u64,
    /// Handed on since the last look, or as much less is held, bytes.
    drained: u64,
}

impl<U> Holding<U> {
    /// Looks that it takes to drain what is held, as fast as since the last one; in parts of 1,024.
    fn time_to_drain(&self) -> u64 {
        self.held.saturating_mul(1_024) / self.drained.max(1)
    }
}

/// Flows that are to be reset so that no UE holds more than `per_ue`, nor all more than `in_all`.
fn resets<U: Copy + Eq + std::hash::Hash + Ord>(
    mut holdings: Vec<Holding<U>>,
    per_ue: u64,
    in_all: u64,
) -> Vec<u64> {
    let mut held: HashMap<U, u64> = HashMap::new();
    for holding in &holdings {
        *held.entry(holding.ue).or_default() += holding.held;
    }
    let mut total: u64 = held.values().sum();
    if total <= in_all && held.values().all(|held| *held <= per_ue) {
        return Vec::new();
    }
    // the slowest to drain last, where they are taken from
    holdings.retain(|holding| holding.held > 0);
    holdings.sort_by_key(|h| (h.time_to_drain(), h.held, h.flow));
    let mut of_ue: HashMap<U, Vec<Holding<U>>> = HashMap::new();
    for holding in holdings {
        of_ue.entry(holding.ue).or_default().push(holding);
    }
    let mut reset = Vec::new();
    for (ue, flows) in &mut of_ue {
        let held = held.entry(*ue).or_default();
        while *held > per_ue
            && let Some(worst) = flows.pop()
        {
            *held -= worst.held;
            total -= worst.held;
            reset.push(worst.flow);
        }
    }
    while total > in_all {
        let most = of_ue
            .iter_mut()
            .filter(|(_, flows)| !flows.is_empty())
            .max_by_key(|(ue, _)| (held.get(ue).copied(), **ue));
        let Some((ue, worst)) = most.and_then(|(ue, flows)| Some((*ue, flows.pop()?))) else {
            break;
        };
        *held.entry(ue).or_default() -= worst.held;
        total -= worst.held;
        reset.push(worst.flow);
    }
    reset.sort_unstable();
    reset
}

/// Bounds the memory of all by what the kernel gives TCP before it comes under pressure
/// (`net.ipv4.tcp_mem`, first value): beyond that every connection of the machine would suffer.
pub(crate) fn fit(limits: &mut Limits) {
    const FILE: &str = "/proc/sys/net/ipv4/tcp_mem";
    let text = std::fs::read_to_string(FILE).unwrap_or_default();
    if let Some(low) = low_mark(&text, rustix::param::page_size())
        && limits.memory > low
    {
        tracing::warn!(
            configured = %limits.memory,
            possible = %low,
            "less memory than configured: the first value of net.ipv4.tcp_mem bounds it"
        );
        limits.memory = low;
    }
    limits.memory_per_ue = limits.memory_per_ue.min(limits.memory);
    tracing::info!(all = %limits.memory, ue = %limits.memory_per_ue, "memory of flows is bounded");
}

/// The first of three numbers of pages, in bytes.
fn low_mark(text: &str, page: usize) -> Option<Bytes> {
    let pages: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(Bytes::new(pages.saturating_mul(page as u64)))
}

/// Looks at what is held, adjusts the shares, and has flows reset, until the other end of `stop` is
/// dropped.
pub(crate) fn run(shared: &Shared, workers: &[WorkerHandle], stop: &Receiver<()>) {
    shared.registry.set_governor();
    let mut period = PERIOD;
    let (mut unlogged, mut logged_at) = (0, None);
    loop {
        std::thread::sleep(MIN_PERIOD);
        std::thread::park_timeout(period.saturating_sub(MIN_PERIOD));
        if stop.try_recv() != Err(TryRecvError::Empty) {
            return;
        }
        shared.refresh_wire();
        let look = look(shared);
        period = if look.is_pressed {
            PERIOD_UNDER_PRESSURE
        } else {
            PERIOD
        };
        unlogged += look.resets.len();
        if unlogged > 0
            && logged_at.is_none_or(|at| clock::now().saturating_since(at) >= LOG_PERIOD)
        {
            tracing::warn!(
                flows = unlogged,
                held = shared.registry.held.load(Relaxed),
                "more held than there may be: flows that would take longest to drain are reset"
            );
            (unlogged, logged_at) = (0, Some(clock::now()));
        }
        if !look.resets.is_empty() {
            let resets: Arc<[u64]> = look.resets.into();
            for worker in workers {
                worker.reset(Arc::clone(&resets));
            }
        }
    }
}

/// What a look found.
struct Look {
    resets: Vec<u64>,
    is_pressed: bool,
}

/// Bytes that a flow has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    read: u64,
    written: u64,
}

/// The same, when last looked at.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    read: AtomicU64,
    written: AtomicU64,
}

impl Looked {
    /// As it was then; it is `progress` from now on.
    fn replace(&self, progress: Progress) -> Progress {
        Progress {
            read: self.read.swap(progress.read, Relaxed),
            written: self.written.swap(progress.written, Relaxed),
        }
    }
}

impl Progress {
    fn of(flow: &Flow) -> Self {
        let meters = &flow.meters;
        Self {
            read: meters.wan_read.load(Relaxed) + meters.ran_read.load(Relaxed),
            written: meters.ran_written.load(Relaxed) + meters.wan_written.load(Relaxed),
        }
    }
}

/// What flows hold together, and how many of them hold or move anything.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    held: u64,
    flows: u64,
    active: u64,
}

impl Sum {
    fn add(&mut self, held: u64, is_active: bool) {
        self.held += held;
        self.flows += 1;
        self.active += u64::from(is_active);
    }

    /// An active flow's share of what is left, or one's at rest, bytes: half of what a new one's would be,
    /// so that new ones find some, and all of what the others do not use.
    fn share(&self, memory: Bytes, is_active: bool) -> u64 {
        let flows = if is_active { self.active } else { self.flows };
        memory.get().saturating_sub(self.held) / 8 / flows.max(1)
    }
}

/// Looks at what each flow holds, and adjusts the shares.
fn look(shared: &Shared) -> Look {
    let (config, registry) = (shared.config(), &shared.registry);
    let limits = &config.limits;
    registry.begin_look();
    let flows = registry.live();
    let mut all = Sum::default();
    let mut ues: HashMap<usize, Sum> = HashMap::new();
    let mut of_address: HashMap<usize, u64> = HashMap::new();
    let mut holdings = Vec::new();
    let mut activity = Vec::with_capacity(flows.len());
    for flow in &flows {
        let progress = Progress::of(flow);
        let before = flow.looked.replace(progress);
        let has_moved = progress != before;
        // one that held nothing and has moved nothing since is not worth system calls, unless nothing
        // has ever been read of it: its server may not have answered yet
        let is_new = progress == Progress::default();
        let held = if has_moved || is_new || flow.held.load(Relaxed) > 0 {
            held_by(flow, progress)
        } else {
            0
        };
        let held_before = flow.held.swap(held, Relaxed);
        let is_active = has_moved || held > 0;
        let ue = key(&flow.ue.source);
        *of_address.entry(key(&flow.ue)).or_default() += held;
        all.add(held, is_active);
        ues.entry(ue).or_default().add(held, is_active);
        activity.push(is_active);
        if held > 0 {
            holdings.push(Holding {
                flow: flow.id,
                ue,
                held,
                // what a connection that closes has sent is handed on no more, but acknowledged
                drained: progress
                    .written
                    .saturating_sub(before.written)
                    .max(held_before.saturating_sub(held)),
            });
        }
    }
    registry.held.store(all.held, Relaxed);
    for (_, ue) in registry.ues() {
        let held = of_address.get(&key(&ue)).copied();
        ue.held.store(held.unwrap_or(0), Relaxed);
    }
    for (flow, is_active) in flows.iter().zip(activity) {
        let of_ue = ues.get(&key(&flow.ue.source)).copied().unwrap_or_default();
        let share = of_ue
            .share(limits.memory_per_ue, is_active)
            .min(all.share(limits.memory, is_active))
            .min(config.relay.receive_buffer.get())
            .max(MIN_SHARE);
        flow.set_share(registry, u32::try_from(share).unwrap_or(u32::MAX));
    }
    let (per_ue, in_all) = (limits.memory_per_ue.get(), limits.memory.get());
    Look {
        resets: resets(holdings, per_ue, in_all),
        is_pressed: all.held > in_all / 2 || ues.values().any(|sum| sum.held > per_ue / 2),
    }
}

/// The key of counters while they live.
fn key<T>(counters: &Arc<T>) -> usize {
    Arc::as_ptr(counters) as usize
}

/// What a flow's pipes and sockets hold, bytes.
fn held_by(flow: &Flow, progress: Progress) -> u64 {
    let in_pipes = progress.read.saturating_sub(progress.written);
    // a socket that has just been closed holds nothing
    let of = |socket| sys::socket_memory(socket).unwrap_or(0);
    in_pipes + of(&flow.ran) + of(&flow.wan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holding(flow: u64, ue: u8, held: u64, drained: u64) -> Holding<u8> {
        Holding {
            flow,
            ue,
            held,
            drained,
        }
    }

    #[test]
    fn a_stalled_flow_goes_before_a_slow_one_and_that_before_a_fast_one() {
        let all = [
            holding(1, 0, 500, 10_000),
            holding(2, 0, 400, 10),
            holding(3, 0, 300, 0),
            holding(4, 1, 900, 0),
        ];
        assert!(resets(all.to_vec(), 1_200, 10_000).is_empty());
        assert_eq!(resets(all.to_vec(), 1_000, 10_000), [3]);
        assert_eq!(resets(all.to_vec(), 899, 10_000), [2, 3, 4]);
    }

    #[test]
    fn beyond_the_whole_budget_the_ue_that_holds_most_gives_way() {
        let all = [
            holding(1, 0, 100, 0),
            holding(2, 1, 60, 5),
            holding(3, 1, 60, 0),
        ];
        assert_eq!(resets(all.to_vec(), 1_000, 200), [3]);
        assert_eq!(resets(all.to_vec(), 1_000, 150), [1, 3]);
    }

    #[test]
    fn the_low_mark_is_in_pages() {
        assert_eq!(
            low_mark("287901\t383868\t575802\n", 4_096),
            Some(Bytes::new(1_179_242_496))
        );
        assert_eq!(low_mark("", 4_096), None);
        assert_eq!(low_mark("x y z", 4_096), None);
    }

    proptest! {
        #[test]
        fn the_bounds_hold_and_no_flow_is_reset_needlessly(
            flows in proptest::collection::vec((0u8..4, 0u64..1_000, 0u64..1_000), 0..40),
            per_ue in 0u64..4_000,
            in_all in 0u64..8_000,
        ) {
            let all: Vec<Holding<u8>> = flows
                .iter()
                .enumerate()
                .map(|(i, (ue, held, drained))| holding(i as u64, *ue, *held, *drained))
                .collect();
            let reset = resets(all.clone(), per_ue, in_all);
            let left = |without: &[u64], ue: Option<u8>| -> u64 {
                all.iter()
                    .filter(|h| !without.contains(&h.flow) && ue.is_none_or(|ue| ue == h.ue))
                    .map(|h| h.held)
                    .sum()
            };
            for ue in 0..4 {
                prop_assert!(left(&reset, Some(ue)) <= per_ue);
            }
            prop_assert!(left(&reset, None) <= in_all);
            for h in all.iter().filter(|h| h.held > 0 && !reset.contains(&h.flow)) {
                for worse in reset.iter().map(|flow| all[*flow as usize]) {
                    prop_assert!(worse.ue != h.ue || worse.time_to_drain() >= h.time_to_drain());
                }
            }
            let was_within = left(&[], None) <= in_all
                && (0..4).all(|ue| left(&[], Some(ue)) <= per_ue);
            prop_assert!(!was_within || reset.is_empty());
        }
    }
}
