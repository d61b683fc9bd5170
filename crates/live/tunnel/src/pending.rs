//! TCP connections that have not shown that they belong to a client: how many, and for how long.
//!
//! ```text
//!   accepted -> pending -> a path opens on it -> no longer counted here
//!                 |-> no path within the timeout            -> closed
//!                 |-> one more of its source than may be    -> the oldest of that source is closed
//!                 '-> one more than may be in all           -> the oldest of the source with the most is closed,
//!                                                        of several the one whose oldest came first
//! ```
//!
//! A newcomer is never refused: otherwise silent connections would keep clients out until their timeout.

use daemon::{gives_way, source_network};
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Duration, Instant};

/// Limits of connections without a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingLimits {
    /// In all.
    pub total: usize,
    /// Of one source: an IPv4 address, or a /64 of IPv6.
    pub per_source: usize,
    /// A path must have opened by then.
    pub timeout: Duration,
}

impl Default for PendingLimits {
    fn default() -> Self {
        Self {
            total: 256,
            per_source: 32,
            timeout: Duration::from_secs(5),
        }
    }
}

/// The connections, by a number that grows from each to the next.
#[derive(Debug)]
pub(crate) struct Pending {
    limits: PendingLimits,
    /// Its source, and its deadline.
    entries: BTreeMap<u64, (IpAddr, Instant)>,
    /// How many of each source.
    sources: BTreeMap<IpAddr, usize>,
}

impl Pending {
    pub(crate) fn new(limits: PendingLimits) -> Self {
        Self {
            limits,
            entries: BTreeMap::new(),
            sources: BTreeMap::new(),
        }
    }

    /// Takes one in; gives back the one that is to be closed for it.
    pub(crate) fn insert(&mut self, now: Instant, number: u64, from: IpAddr) -> Option<u64> {
        let source = source_network(from);
        let count = self.sources.get(&source).copied().unwrap_or(0);
        let evicted = if count >= self.limits.per_source {
            self.oldest_of(source)
        } else if self.entries.len() >= self.limits.total {
            self.oldest()
        } else {
            None
        };
        if let Some(evicted) = evicted {
            self.remove(evicted);
        }
        self.remove(number);
        let deadline = now + self.limits.timeout;
        self.entries.insert(number, (source, deadline));
        *self.sources.entry(source).or_default() += 1;
        evicted
    }

    /// It is closed, or a client's. True if it was there.
    pub(crate) fn remove(&mut self, number: u64) -> bool {
        let Some((source, _)) = self.entries.remove(&number) else {
            return false;
        };
        if let Some(count) = self.sources.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.sources.remove(&source);
            }
        }
        true
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.entries.contains_key(&number)
    }

    /// The oldest one of the source that has the most; of several such sources, of the one whose oldest came first.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let oldest_first = self.entries.values().map(|(source, _)| *source);
        let index = gives_way(oldest_first, &self.sources)?;
        self.entries.keys().nth(index).copied()
    }

    fn oldest_of(&self, source: IpAddr) -> Option<u64> {
        let mut entries = self.entries.iter();
        entries
            .find(|(_, (of, _))| *of == source)
            .map(|(number, _)| *number)
    }

    /// One whose deadline has come.
    pub(crate) fn expired(&self, now: Instant) -> Option<u64> {
        let mut entries = self.entries.iter();
        entries
            .find(|(_, (_, deadline))| *deadline <= now)
            .map(|(number, _)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pending(total: usize, per_source: usize) -> Pending {
        Pending::new(PendingLimits {
            total,
            per_source,
            timeout: Duration::from_secs(5),
        })
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_of_ipv6_is_one_source() {
        let mut pending = pending(10, 2);
        for number in 0..2 {
            let from = address(&format!("2001:db8::{number}"));
            assert_eq!(pending.insert(at(0), number, from), None);
        }
        assert_eq!(pending.insert(at(0), 2, address("2001:db8:0:1::1")), None);
        assert_eq!(pending.insert(at(0), 3, address("2001:db8::77")), Some(0));
        let mapped = address("::ffff:192.0.2.1");
        assert_eq!(pending.insert(at(0), 4, address("192.0.2.1")), None);
        assert_eq!(pending.insert(at(0), 5, mapped), None);
        assert_eq!(pending.insert(at(0), 6, mapped), Some(4), "one of IPv4");
    }

    #[test]
    fn who_has_the_most_gives_way_to_a_newcomer() {
        let mut pending = pending(4, 3);
        let (crowd, single) = (address("192.0.2.1"), address("192.0.2.2"));
        assert_eq!(pending.insert(at(0), 0, single), None);
        for number in 1..4 {
            assert_eq!(pending.insert(at(1), number, crowd), None);
        }
        assert_eq!(pending.insert(at(2), 4, address("192.0.2.3")), Some(1));
        assert!(pending.contains(0) && pending.contains(4) && pending.entries.len() == 4);
    }

    #[test]
    fn of_sources_with_as_many_that_of_the_oldest_gives_way() {
        let mut pending = pending(256, 32);
        let from = |last: u8| IpAddr::from([10, 0, 0, last]);
        for number in 0..=255 {
            assert_eq!(pending.insert(at(0), number.into(), from(number)), None);
        }
        // a client of a greater address than all, and newcomers until its turn would come
        let client = 1_000;
        let greatest = address("192.0.2.1");
        assert_eq!(pending.insert(at(1), client, greatest), Some(0));
        for number in 0..255 {
            let stranger = 2_000 + u64::from(number);
            let evicted = pending.insert(at(1), stranger, from(number));
            assert_eq!(evicted, Some(u64::from(number) + 1), "the oldest");
        }
        assert!(pending.contains(client));
        assert_eq!(pending.oldest(), Some(client));
    }

    #[test]
    fn without_a_path_its_time_is_limited() {
        let mut pending = pending(4, 4);
        pending.insert(at(0), 0, address("192.0.2.1"));
        pending.insert(at(1), 1, address("192.0.2.1"));
        assert!(pending.remove(0), "a path opened on it");
        assert_eq!(pending.expired(at(5)), None);
        assert_eq!(pending.expired(at(6)), Some(1));
    }

    proptest! {
        #[test]
        fn the_limits_hold(all in proptest::collection::vec((0u8..4, any::<bool>()), 1..200)) {
            let mut pending = pending(8, 3);
            for (number, (last, is_removed)) in all.into_iter().enumerate() {
                let number = number as u64;
                pending.insert(at(number), number, IpAddr::from([192, 0, 2, last]));
                prop_assert!(pending.contains(number), "a newcomer is taken");
                if is_removed {
                    pending.remove(number);
                }
                prop_assert!(pending.entries.len() <= 8);
                prop_assert!(pending.sources.values().all(|count| (1..=3).contains(count)));
                prop_assert_eq!(pending.sources.values().sum::<usize>(), pending.entries.len());
            }
        }
    }
}
