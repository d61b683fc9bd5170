//! Who is connected: numbers of each UE, its bounds, and a way to every flow.

use crate::config::{Config, Limits};
use crate::flow::Flow;
use daemon::source_network;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::Thread;
use units::Bytes;

/// UEs without connections that are kept for their counters.
const MAX_RELEASED: usize = 4_096;

/// What is counted of a UE.
#[derive(Debug, Default)]
pub(crate) struct UeCounters {
    /// Open connections.
    pub(crate) connections: AtomicUsize,
    /// Connections since the UE was first seen.
    pub(crate) accepted: AtomicU64,
    /// Connections beyond its bound.
    pub(crate) refused: AtomicU64,
    /// Payload that waits in pipes, bytes.
    pub(crate) waiting: AtomicU64,
    /// Held by pipes and sockets when last looked at, bytes of kernel memory.
    pub(crate) held: AtomicU64,
    /// Payload sent to it, bytes.
    pub(crate) bytes_down: AtomicU64,
    /// Payload received from it, bytes.
    pub(crate) bytes_up: AtomicU64,
    /// What it shares with all addresses that one host can have.
    pub(crate) source: Arc<SourceCounters>,
}

/// What the limits of a UE bound: of an IPv4 address, or of a /64 of IPv6, of which a UE has all addresses.
#[derive(Debug, Default)]
pub(crate) struct SourceCounters {
    /// Open connections.
    pub(crate) connections: AtomicUsize,
    /// Payload that waits in pipes, bytes.
    pub(crate) waiting: AtomicU64,
    /// Shares of the memory of its connections together, bytes.
    shared: AtomicU64,
    /// Payload that was read since the last look at what is held, bytes.
    unlooked: AtomicU64,
}

/// Why a connection is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// As many as there may be in all.
    Total,
    /// As many as this UE may have.
    Ue,
}

/// All UEs with connections, and all flows.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    ues: Mutex<BTreeMap<IpAddr, Arc<UeCounters>>>,
    flows: Mutex<HashMap<u64, Weak<Flow>>>,
    connections: AtomicUsize,
    /// Of these, those whose both directions have ended, and not all is acknowledged.
    pub(crate) closing: AtomicUsize,
    /// Payload that waits in pipes, all together, bytes.
    pub(crate) waiting: AtomicU64,
    /// Held by pipes and sockets when last looked at, all together, bytes of kernel memory.
    pub(crate) held: AtomicU64,
    /// Shares of the memory of all connections together, bytes.
    shared: AtomicU64,
    /// Payload that was read since the last look at what is held, all together, bytes.
    unlooked: AtomicU64,
    /// The thread that looks.
    governor: OnceLock<Thread>,
    next_id: AtomicU64,
}

/// The least share of the memory that a connection gets, bytes.
pub(crate) const MIN_SHARE: u64 = 65_536;

/// What is held is looked at once this part of what may be held was read since the last look. Held are twice as many
/// bytes of kernel memory at most.
const LOOK_PART: u64 = 16;

/// Bytes whose reading makes a look due, of those that may be held.
pub(crate) fn look_at(memory: Bytes) -> u64 {
    memory.get() / LOOK_PART
}

/// What a panicked thread left is still a map.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Connections now.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Relaxed)
    }

    /// A number for a new flow, and its UE's counters; refused beyond a bound.
    pub(crate) fn enter(
        &self,
        ue: IpAddr,
        limits: &Limits,
    ) -> Result<(u64, Arc<UeCounters>), Full> {
        let counters = self.counters(ue);
        if self.connections.fetch_add(1, Relaxed) >= limits.connections + limits.overflow {
            self.connections.fetch_sub(1, Relaxed);
            counters.refused.fetch_add(1, Relaxed);
            return Err(Full::Total);
        }
        counters.connections.fetch_add(1, Relaxed);
        if counters.source.connections.fetch_add(1, Relaxed) >= limits.connections_per_ue {
            self.leave(&counters);
            counters.refused.fetch_add(1, Relaxed);
            return Err(Full::Ue);
        }
        counters.accepted.fetch_add(1, Relaxed);
        Ok((self.next_id.fetch_add(1, Relaxed), counters))
    }

    fn counters(&self, ue: IpAddr) -> Arc<UeCounters> {
        let ue = ue.to_canonical();
        let mut ues = lock(&self.ues);
        if let Some(counters) = ues.get(&ue) {
            return Arc::clone(counters);
        }
        if ues.len() >= MAX_RELEASED {
            ues.retain(|_, counters| counters.connections.load(Relaxed) > 0);
        }
        let source = source_network(ue);
        let is_same = |other: &IpAddr| source_network(*other) == source;
        // addresses of one network stand together
        let before = ues.range(..ue).next_back().filter(|(ip, _)| is_same(ip));
        let near = before.or_else(|| ues.range(ue..).next().filter(|(ip, _)| is_same(ip)));
        let source = near.map(|(_, counters)| Arc::clone(&counters.source));
        let counters = UeCounters {
            source: source.unwrap_or_default(),
            ..UeCounters::default()
        };
        Arc::clone(ues.entry(ue).or_insert_with(|| Arc::new(counters)))
    }

    /// A connection that entered is gone.
    pub(crate) fn leave(&self, ue: &UeCounters) {
        ue.connections.fetch_sub(1, Relaxed);
        ue.source.connections.fetch_sub(1, Relaxed);
        self.connections.fetch_sub(1, Relaxed);
    }

    /// Makes a flow known to the other threads.
    pub(crate) fn add(&self, flow: &Arc<Flow>) {
        self.share_changed(&flow.ue, 0, flow.window.share());
        lock(&self.flows).insert(flow.id, Arc::downgrade(flow));
    }

    /// A flow ended.
    pub(crate) fn remove(&self, flow: &Flow) {
        lock(&self.flows).remove(&flow.id);
        self.share_changed(&flow.ue, flow.window.end_share(), 0);
        self.leave(&flow.ue);
    }

    /// All flows.
    pub(crate) fn live(&self) -> Vec<Arc<Flow>> {
        lock(&self.flows)
            .values()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// All flows, in the order of their numbers, held weakly.
    pub(crate) fn flows(&self) -> Vec<Weak<Flow>> {
        let flows = lock(&self.flows);
        let mut list: Vec<_> = flows.iter().map(|(id, flow)| (*id, flow.clone())).collect();
        drop(flows);
        list.sort_by_key(|(id, _)| *id);
        list.into_iter().map(|(_, flow)| flow).collect()
    }

    /// Whether a UE has any.
    pub(crate) fn has_connections(&self, ue: IpAddr) -> bool {
        let ues = lock(&self.ues);
        let counters = ues.get(&ue.to_canonical());
        counters.is_some_and(|counters| counters.connections.load(Relaxed) > 0)
    }

    /// All UEs.
    pub(crate) fn ues(&self) -> Vec<(IpAddr, Arc<UeCounters>)> {
        let ues = lock(&self.ues);
        ues.iter().map(|(ip, ue)| (*ip, Arc::clone(ue))).collect()
    }

    /// A new connection's share of the memory, bytes: its receive buffer towards the server and the
    /// window in it. A quarter of what the shares of its UE and of all have left, where all of them
    /// together are a quarter of the memory: the kernel takes about twice what a window states, and the
    /// other half is for what waits in pipes ([`Self::room`]) and to be sent.
    pub(crate) fn share(&self, ue: &UeCounters, config: &Config) -> u32 {
        let left = |memory: Bytes, shared: &AtomicU64| {
            (memory.get() / 4).saturating_sub(shared.load(Relaxed)) / 4
        };
        let share = config
            .relay
            .receive_buffer
            .get()
            .min(left(config.limits.memory_per_ue, &ue.source.shared))
            .min(left(config.limits.memory, &self.shared))
            .max(MIN_SHARE);
        u32::try_from(share).unwrap_or(u32::MAX)
    }

    /// A flow's share of the memory is another.
    pub(crate) fn share_changed(&self, ue: &UeCounters, before: u32, after: u32) {
        for shared in [&ue.source.shared, &self.shared] {
            if after > before {
                shared.fetch_add(u64::from(after - before), Relaxed);
            } else {
                shared.fetch_sub(u64::from(before - after), Relaxed);
            }
        }
    }

    /// Bytes that may be read into a pipe that holds so many already: what a quarter of the
    /// memory leaves, but a pipe that is empty may always be filled a little, so that no flow starves.
    pub(crate) fn room(&self, ue: &UeCounters, limits: &Limits, held: usize) -> usize {
        const ALWAYS: u64 = 65_536;
        let of_ue = limits.memory_per_ue.get() / 4;
        let of_ue = of_ue.saturating_sub(ue.source.waiting.load(Relaxed));
        let in_all = limits.memory.get() / 4;
        let in_all = in_all.saturating_sub(self.waiting.load(Relaxed));
        let room = of_ue.min(in_all);
        let room = if held == 0 { room.max(ALWAYS) } else { room };
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// So many bytes were read. Wakes the thread that bounds memory where more may be held by now than should be
    /// before its next look; true once for each look.
    pub(crate) fn on_read(&self, ue: &UeCounters, limits: &Limits, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let crosses = |unlooked: &AtomicU64, memory: Bytes| {
            let part = look_at(memory);
            let before = unlooked.fetch_add(bytes, Relaxed);
            before < part && before + bytes >= part
        };
        // both count
        let is_due = crosses(&ue.source.unlooked, limits.memory_per_ue)
            | crosses(&self.unlooked, limits.memory);
        if is_due && let Some(governor) = self.governor.get() {
            governor.unpark();
        }
        is_due
    }

    /// This thread bounds memory, and is woken by [`Self::on_read`].
    pub(crate) fn set_governor(&self) {
        // once for each process
        let _ = self.governor.set(std::thread::current());
    }

    /// What is held is looked at from now on: what is read meanwhile counts for the next look.
    pub(crate) fn begin_look(&self) {
        self.unlooked.store(0, Relaxed);
        for ue in lock(&self.ues).values() {
            ue.source.unlooked.store(0, Relaxed);
        }
    }

    /// What waits in a pipe has changed.
    pub(crate) fn account(&self, ue: &UeCounters, before: usize, after: usize) {
        let (before, after) = (before as u64, after as u64);
        for counter in [&ue.waiting, &ue.source.waiting, &self.waiting] {
            if after > before {
                counter.fetch_add(after - before, Relaxed);
            } else if before > after {
                counter.fetch_sub(before - after, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn limits() -> Limits {
        Limits {
            connections: 3,
            overflow: 0,
            connections_per_ue: 2,
            syn_rate_per_ue: 200,
            memory: Bytes::new(1_200_000),
            memory_per_ue: Bytes::new(800_000),
            handshake: Duration::from_secs(1),
            idle: Duration::from_secs(1),
            half_closed: Duration::from_secs(1),
            hand_over: Duration::from_secs(1),
            drain: Duration::from_secs(1),
        }
    }

    #[test]
    fn each_bound_refuses_and_gives_back_what_it_took() {
        let registry = Registry::default();
        let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let first = registry.enter(a, &limits()).expect("first").1;
        registry.enter(a, &limits()).expect("second");
        assert_eq!(registry.enter(a, &limits()).err(), Some(Full::Ue));
        assert_eq!(registry.connections(), 2);
        registry.enter(b, &limits()).expect("third");
        assert_eq!(registry.enter(b, &limits()).err(), Some(Full::Total));
        registry.leave(&first);
        registry.enter(b, &limits()).expect("room again");
        assert_eq!(registry.connections(), 3);
    }

    #[test]
    fn memory_is_bounded_and_no_flow_starves() {
        let registry = Registry::default();
        let ue = UeCounters::default();
        assert_eq!(registry.room(&ue, &limits(), 0), 200_000);
        registry.account(&ue, 0, 190_000);
        assert_eq!(registry.room(&ue, &limits(), 190_000), 10_000);
        assert_eq!(registry.room(&ue, &limits(), 0), 65_536);
        let other = UeCounters::default();
        assert_eq!(registry.room(&other, &limits(), 1), 110_000);
        registry.account(&ue, 190_000, 0);
        assert_eq!(ue.waiting.load(Relaxed) + registry.waiting.load(Relaxed), 0);
    }

    /// Many connections that were at rest begin to download between two looks.
    #[test]
    fn what_is_read_between_looks_is_bounded_for_a_ue_and_in_all() {
        let (registry, limits) = (Registry::default(), limits());
        let enter = |n| {
            registry
                .enter([10, 0, 0, n].into(), &limits)
                .expect("room")
                .1
        };
        let (a, b) = (enter(1), enter(2));
        let read = |ue: &UeCounters, reads: usize| {
            (0..reads)
                .filter(|_| registry.on_read(ue, &limits, 1_000))
                .count()
        };
        // a sixteenth of 800,000 of a UE
        assert_eq!(read(&a, 49), 0);
        assert_eq!(read(&a, 1), 1);
        // and of 1,200,000 in all
        assert_eq!(read(&b, 24), 0);
        assert_eq!(read(&b, 1), 1);
        assert_eq!(read(&a, 100), 0, "once for each look");
        registry.begin_look();
        assert_eq!(read(&a, 49), 0);
        assert_eq!(read(&a, 1), 1);
    }

    /// Hangs where it does not.
    #[test]
    fn a_read_that_makes_a_look_due_wakes_the_thread_that_looks() {
        let registry = Registry::default();
        let ue = UeCounters::default();
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                registry.set_governor();
                ready.send(()).expect("received");
                std::thread::park();
            });
            is_ready.recv().expect("sent");
            assert!(registry.on_read(&ue, &limits(), 50_000));
        });
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_their_limits() {
        let registry = Registry::default();
        let mut limits = limits();
        limits.connections = 100;
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let (first, second) = (ip("2001:db8:0:1::1"), ip("2001:db8:0:1:ffff::1"));
        let (below, above) = (ip("2001:db8::7"), ip("2001:db8:0:2::1"));
        for other in [below, above] {
            registry.enter(other, &limits).expect("of another network");
        }
        let a = registry.enter(first, &limits).expect("first").1;
        let b = registry.enter(second, &limits).expect("second").1;
        let third = registry.enter(ip("2001:db8:0:1::2"), &limits);
        assert_eq!(third.err(), Some(Full::Ue));
        registry.account(&a, 0, 150_000);
        assert_eq!(registry.room(&b, &limits, 1), 50_000);
        assert_eq!(a.connections.load(Relaxed), 1, "counted by address");
        registry.leave(&a);
        registry.enter(first, &limits).expect("room again");
        // IPv4 in IPv6-mapped form is the same UE
        let mapped = [ip("10.0.0.1"), ip("::ffff:10.0.0.1")];
        for address in mapped {
            registry.enter(address, &limits).expect("two in all");
        }
        assert_eq!(registry.enter(mapped[1], &limits).err(), Some(Full::Ue));
        registry.enter(ip("10.0.0.2"), &limits).expect("another UE");
    }
}
