//! How much memory connections may take, in all and by where they come from.
//!
//! ```text
//!   accept --admit(source)--> Ticket: base reserved     refused: connections of the source, memory
//!   watch  --grow(window)---> more of the send window   denied: the window stays; the largest that has
//!                                                       long made no progress is to end
//!   drop   ---------------->  all of it given back
//! ```
//!
//! What is reserved is what a connection can make the server hold, not what it holds now: buffers are
//! smaller than their windows, so the sum of all is never above the limit.

use super::pieces::{PIECE, PIECES, SMALL_PIECE};
use daemon::source_network;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use units::Bytes;

/// Sent ahead of a client's acknowledgements at first, bytes: ten times the initial window.
pub(crate) const FIRST_WINDOW: u64 = 128_000;
/// Received of a client and not read yet, bytes.
pub(super) const RECEIVE_WINDOW: u32 = 64_000;
/// Heads of requests that a connection can have in the making at once.
pub(super) const HEADS: usize = 2;
/// Longest head of a request, and longest frame but those of data, bytes.
pub(super) const MAX_HEAD_BYTES: u64 = 32_768;
/// State of a connection beside its buffers: quinn's, TLS', the controller's, tasks.
const STATE: u64 = 64_000;
/// A request: its piece of a file, and its state (the task that answers it, quinn's, HTTP/3's).
const STREAM: u64 = SMALL_PIECE + 5_000;

/// What each connection takes that can have so many concurrent requests, bytes.
pub(crate) const fn base(streams: u32) -> u64 {
    FIRST_WINDOW
        + RECEIVE_WINDOW as u64
        + HEADS as u64 * MAX_HEAD_BYTES
        + PIECES as u64 * PIECE
        + STATE
        + streams as u64 * STREAM
}

/// A source gets at most one part in so many of the memory above what each connection takes.
const PARTS: u64 = 4;
/// Without progress for so long, a connection can be ended for others that need its memory.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Refusal {
    /// As many connections as there may be.
    Connections,
    /// As many connections as there may be of this source.
    Source,
    /// The memory is given out.
    Memory,
}

impl Refusal {
    pub(crate) const ALL: [Self; 3] = [Self::Connections, Self::Source, Self::Memory];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Source => "connections-per-address",
            Self::Memory => "memory",
        }
    }
}

/// The limits, as configured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) memory: Bytes,
    pub(crate) connections: usize,
    pub(crate) per_source: usize,
    /// Concurrent requests of a connection.
    pub(crate) streams: u32,
}

/// The memory of all connections.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    /// What each connection takes, bytes.
    base: u64,
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    reserved: u64,
    next: u64,
    evicted: u64,
    entries: BTreeMap<u64, Entry>,
    sources: BTreeMap<IpAddr, Share>,
}

#[derive(Debug)]
struct Entry {
    source: IpAddr,
    reserved: u64,
    progress_at: Instant,
    evicted: Arc<Notify>,
    is_evicted: bool,
}

/// What a source has.
#[derive(Debug, Default)]
struct Share {
    connections: usize,
    /// Above what each connection takes.
    grown: u64,
}

/// The place of a connection, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    budget: Arc<Budget>,
    number: u64,
    evicted: Arc<Notify>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            base: base(limits.streams),
            limits,
            ledger: Mutex::default(),
        })
    }

    /// Whether a client is to show that it receives at its address before it takes more: the source or the
    /// memory is half given out, and forged addresses are to lock out none.
    pub(crate) fn requires_proof(&self, from: IpAddr) -> bool {
        let ledger = self.lock();
        let share = ledger.sources.get(&source_network(from));
        let connections = share.map_or(0, |share| share.connections);
        2 * connections >= self.limits.per_source || 2 * ledger.reserved >= self.limits.memory.get()
    }

    /// Takes what each connection takes.
    pub(crate) fn admit(self: &Arc<Self>, from: IpAddr, now: Instant) -> Result<Ticket, Refusal> {
        let mut ledger = self.lock();
        if ledger.entries.len() >= self.limits.connections {
            return Err(Refusal::Connections);
        }
        let source = source_network(from);
        let share = ledger.sources.get(&source);
        if share.map_or(0, |share| share.connections) >= self.limits.per_source {
            return Err(Refusal::Source);
        }
        if ledger.reserved + self.base > self.limits.memory.get() {
            ledger.evict(now);
            return Err(Refusal::Memory);
        }
        ledger.reserved += self.base;
        ledger.sources.entry(source).or_default().connections += 1;
        let number = ledger.next;
        ledger.next += 1;
        let evicted = Arc::new(Notify::new());
        let entry = Entry {
            source,
            reserved: self.base,
            progress_at: now,
            evicted: Arc::clone(&evicted),
            is_evicted: false,
        };
        ledger.entries.insert(number, entry);
        Ok(Ticket {
            budget: Arc::clone(self),
            number,
            evicted,
        })
    }

    /// Connections that were ended for others.
    pub(crate) fn evicted(&self) -> u64 {
        self.lock().evicted
    }

    /// What is reserved.
    pub(crate) fn reserved(&self) -> Bytes {
        Bytes::new(self.lock().reserved)
    }

    /// What may be reserved.
    pub(crate) fn limit(&self) -> Bytes {
        self.limits.memory
    }

    /// Connections that have a place.
    pub(crate) fn connections(&self) -> usize {
        self.lock().entries.len()
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        // every change is complete at once: a thread that panicked left it whole
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// Ends the connection that has the most of those that have made no progress for long; one at a time.
    fn evict(&mut self, now: Instant) {
        if self.entries.values().any(|entry| entry.is_evicted) {
            return;
        }
        let stalled = self.entries.values_mut().filter(|entry| {
            let silence = now.saturating_duration_since(entry.progress_at);
            silence >= STALL_TIMEOUT
        });
        if let Some(largest) = stalled.max_by_key(|entry| entry.reserved) {
            largest.is_evicted = true;
            self.evicted += 1;
            largest.evicted.notify_one();
        }
    }
}

impl Ticket {
    /// The number of the connection since the start.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Takes what a send window of this many bytes needs, if it is to be had: then true.
    pub(crate) fn grow(&self, window: u64, now: Instant) -> bool {
        let limit = self.budget.limits.memory.get();
        let mut guard = self.budget.lock();
        let ledger = &mut *guard;
        let Some(entry) = ledger.entries.get_mut(&self.number) else {
            return false;
        };
        let wanted = self.budget.base + window.saturating_sub(FIRST_WINDOW);
        let more = wanted.saturating_sub(entry.reserved);
        let share = ledger.sources.entry(entry.source).or_default();
        if share.grown + more > limit / PARTS {
            return false;
        }
        if ledger.reserved + more > limit {
            ledger.evict(now);
            return false;
        }
        share.grown += more;
        entry.reserved += more;
        ledger.reserved += more;
        true
    }

    /// Its client takes what is sent.
    pub(crate) fn progress(&self, now: Instant) {
        if let Some(entry) = self.budget.lock().entries.get_mut(&self.number) {
            entry.progress_at = now;
        }
    }

    /// Completes when the connection is to end for others.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut guard = self.budget.lock();
        let ledger = &mut *guard;
        let Some(entry) = ledger.entries.remove(&self.number) else {
            return;
        };
        ledger.reserved -= entry.reserved;
        if let Some(share) = ledger.sources.get_mut(&entry.source) {
            share.connections -= 1;
            share.grown -= entry.reserved - self.budget.base;
            if share.connections == 0 {
                ledger.sources.remove(&entry.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STREAMS: u32 = 100;
    const BASE: u64 = base(STREAMS);

    fn budget(memory: u64, per_source: usize) -> Arc<Budget> {
        Budget::new(Limits {
            memory: Bytes::new(memory),
            connections: 1_000,
            per_source,
            streams: STREAMS,
        })
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn is_evicted(ticket: &Ticket) -> bool {
        ticket.budget.lock().entries[&ticket.number].is_evicted
    }

    #[test]
    fn a_source_has_its_connections_and_a_network_of_ipv6_is_one_source() {
        let (budget, now) = (budget(100 * BASE, 2), Instant::now());
        let first = budget.admit(ip("2001:db8::1"), now).expect("room");
        assert!(
            budget.requires_proof(ip("2001:db8::9")) && !budget.requires_proof(ip("192.0.2.1"))
        );
        let second = budget.admit(ip("2001:db8::2"), now).expect("room");
        let third = budget.admit(ip("2001:db8::3"), now).map(drop);
        assert_eq!(third, Err(Refusal::Source));
        budget.admit(ip("2001:db8:0:1::1"), now).expect("another");
        drop(first);
        budget.admit(ip("2001:db8::3"), now).expect("room again");
        drop(second);
        assert_eq!((budget.reserved(), budget.connections()), (Bytes::ZERO, 0));
        assert!(budget.lock().sources.is_empty());
    }

    #[test]
    fn memory_is_given_out_and_given_back() {
        let (budget, now) = (budget(10 * BASE, 100), Instant::now());
        let a = budget.admit(ip("192.0.2.1"), now).expect("room");
        assert!(a.grow(FIRST_WINDOW + 2 * BASE, now), "a quarter");
        assert!(
            !a.grow(FIRST_WINDOW + 3 * BASE, now),
            "not more for one source"
        );
        assert!(a.grow(FIRST_WINDOW, now), "it has that");
        let others: Vec<Ticket> = (0..7)
            .map(|_| budget.admit(ip("192.0.2.2"), now).expect("room"))
            .collect();
        assert_eq!(budget.reserved().get(), 10 * BASE);
        let full = budget.admit(ip("192.0.2.3"), now).map(drop);
        assert_eq!(full, Err(Refusal::Memory));
        assert!(!others[0].grow(FIRST_WINDOW + 1, now));
        drop(a);
        assert!(others[0].grow(FIRST_WINDOW + 1, now));
        drop(others);
        assert_eq!(budget.reserved(), Bytes::ZERO);
    }

    #[test]
    fn of_the_stalled_the_largest_gives_way() {
        let (budget, start) = (budget(10 * BASE, 100), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let from = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(ip);
        let [a, b, c] = from.map(|from| budget.admit(from, start).expect("room"));
        assert!(a.grow(FIRST_WINDOW + 2 * BASE, start));
        assert!(b.grow(FIRST_WINDOW + BASE, start));
        let rest: Vec<Ticket> = (0..4)
            .map(|_| budget.admit(ip("192.0.2.4"), at(15)).expect("room"))
            .collect();
        a.progress(at(15));
        assert_eq!(budget.admit(from[2], at(9)).map(drop), Err(Refusal::Memory));
        assert!(!is_evicted(&b), "not for long yet");
        assert!(!c.grow(FIRST_WINDOW + BASE, at(16)));
        assert!(is_evicted(&b) && !is_evicted(&a) && !is_evicted(&c));
        assert!(
            !c.grow(FIRST_WINDOW + BASE, at(16)) && !is_evicted(&c),
            "one at a time"
        );
        drop(b);
        assert!(c.grow(FIRST_WINDOW + BASE, at(16)));
        drop((a, c, rest));
    }

    proptest! {
        #[test]
        fn never_more_than_the_limit_and_all_of_it_comes_back(
            memory in BASE..20 * BASE,
            steps in proptest::collection::vec((0_u8..4, 0_u8..4, 0_u64..2_000_000), 0..100),
        ) {
            let (budget, now) = (budget(memory, 5), Instant::now());
            let mut tickets: Vec<Ticket> = Vec::new();
            for (step, place, window) in steps {
                let index = usize::from(place).min(tickets.len().saturating_sub(1));
                match (step, tickets.get(index)) {
                    (0 | 1, _) => tickets.extend(budget.admit([192, 0, 2, place].into(), now)),
                    (2, Some(ticket)) => { ticket.grow(window, now); }
                    (3, Some(_)) => drop(tickets.swap_remove(index)),
                    _ => {}
                }
                prop_assert!(budget.reserved().get() <= memory);
                prop_assert!(budget.reserved().get() >= BASE * tickets.len() as u64);
            }
            tickets.clear();
            prop_assert_eq!(budget.reserved(), Bytes::ZERO);
            prop_assert!(budget.lock().sources.is_empty());
        }
    }
}
