//! Tunnels of GTP-U and the UEs that they are of, by what has passed in them.
//!
//! ```text
//!   downwards: (receiver's address, TEID) + destination inside  --.
//!   upwards:   (receiver's address, TEID) + source inside       --+--> [ TunnelMap ] --> a UE's address
//!   End Marker, silence                                         --'
//! ```
//!
//! Two packets in a row with one address name a tunnel's UE, and two with another one rename it: an identifier that is given out
//! again. What passes is proved by nothing (TS 29.281 has no authentication), so that a mapping is no more than what those who can
//! send there have shown, and serves to name what is reported of a tunnel, nothing else.
//!
//! Bounded: beyond [`TunnelMap::limit`] tunnels the one whose last packet is oldest is forgotten.

use crate::owner::{Owner, Shown};
use core::net::IpAddr;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// An end of a tunnel: who receives, and has given out the identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Endpoint {
    /// Where the tunnel's packets are sent to.
    pub at: IpAddr,
    /// The tunnel endpoint identifier.
    pub teid: u32,
}

/// What has become of tunnels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelCounts {
    /// Tunnels whose UE was found.
    pub learnt: u64,
    /// Of these, such that were another UE's before.
    pub changed: u64,
    /// Tunnels with a UE that ended with an End Marker.
    pub ended: u64,
    /// Tunnels with a UE in which nothing has passed for too long.
    pub aged: u64,
    /// Tunnels with a UE that were forgotten for others, of which there were too many.
    pub evicted: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    owner: Owner,
    seen: Instant,
    /// Number of its last packet.
    used: u64,
}

/// From tunnels to UEs.
#[derive(Clone, Debug)]
pub struct TunnelMap {
    limit: usize,
    max_age: Duration,
    tunnels: BTreeMap<Endpoint, Entry>,
    /// By the number of the last packet: the longest unused first.
    by_use: BTreeMap<u64, Endpoint>,
    packets: u64,
    counts: TunnelCounts,
}

impl TunnelMap {
    /// Without tunnels. Of more than `limit` (1 at least) the longest unused are forgotten, and all in which nothing has passed for `max_age`.
    pub fn new(limit: usize, max_age: Duration) -> Self {
        Self {
            limit: limit.max(1),
            max_age,
            tunnels: BTreeMap::new(),
            by_use: BTreeMap::new(),
            packets: 0,
            counts: TunnelCounts::default(),
        }
    }

    /// Tunnels at most.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Tunnels that are followed, of which the UE is known or will be by the next packet.
    pub fn len(&self) -> usize {
        self.tunnels.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tunnels.is_empty()
    }

    /// What has become of tunnels so far.
    pub fn counts(&self) -> TunnelCounts {
        self.counts
    }

    /// The address of the UE that a tunnel is of, if that is known.
    pub fn address(&self, end: Endpoint) -> Option<IpAddr> {
        self.tunnels.get(&end)?.owner.address()
    }

    /// Whether a tunnel is of the UE with this address, of either family; of IPv6 any within its /64.
    pub fn is_of(&self, end: Endpoint, address: IpAddr) -> bool {
        let entry = self.tunnels.get(&end);
        entry.is_some_and(|entry| entry.owner.has(address))
    }

    /// A packet passes in a tunnel; the UE's address is its destination on the way down, its source on the way up. True if
    /// the tunnel was another UE's until now. Addresses of a link alone and of many, which router discovery has in tunnels of IPv6,
    /// show nothing.
    pub fn on_packet(&mut self, now: Instant, end: Endpoint, address: IpAddr) -> bool {
        if !is_global(address) {
            self.touch(now, end);
            return false;
        }
        let shown = self.used(now, end).owner.on_packet(now, address);
        self.count(shown)
    }

    /// A packet passes that cannot be read, and is by its length that of the UE with this address. True if
    /// the tunnel was another UE's until now.
    pub(crate) fn on_match(&mut self, now: Instant, end: Endpoint, address: IpAddr) -> bool {
        let shown = self.used(now, end).owner.on_match(now, address);
        self.count(shown)
    }

    /// Something passes in a tunnel that shows nothing of its UE.
    pub(crate) fn touch(&mut self, now: Instant, end: Endpoint) {
        if self.tunnels.contains_key(&end) {
            self.used(now, end);
        }
    }

    /// No packet comes in a tunnel any more (End Marker).
    pub fn on_end(&mut self, end: Endpoint) {
        if self.remove(end) {
            self.counts.ended += 1;
        }
    }

    /// Forgets tunnels in which nothing has passed for too long.
    pub fn forget(&mut self, now: Instant) {
        while let Some(end) = self.oldest(|seen| now.saturating_since(seen) >= self.max_age) {
            if self.remove(end) {
                self.counts.aged += 1;
            }
        }
    }

    /// The longest unused tunnel, if its last packet is such.
    fn oldest(&self, is_such: impl Fn(Instant) -> bool) -> Option<Endpoint> {
        let (_, end) = self.by_use.first_key_value()?;
        let entry = self.tunnels.get(end)?;
        is_such(entry.seen).then_some(*end)
    }

    /// The entry of a tunnel that is used now; there is room for it.
    fn used(&mut self, now: Instant, end: Endpoint) -> &mut Entry {
        if !self.tunnels.contains_key(&end)
            && self.tunnels.len() >= self.limit
            && let Some(oldest) = self.oldest(|_| true)
            && self.remove(oldest)
        {
            self.counts.evicted += 1;
        }
        self.packets += 1;
        let used = self.packets;
        let entry = self.tunnels.entry(end).or_insert(Entry {
            owner: Owner::default(),
            seen: now,
            used,
        });
        self.by_use.remove(&entry.used);
        self.by_use.insert(used, end);
        entry.seen = now.max(entry.seen);
        entry.used = used;
        entry
    }

    fn count(&mut self, shown: Shown) -> bool {
        let is_others = shown == Shown::Other;
        self.counts.learnt += u64::from(shown != Shown::Nothing);
        self.counts.changed += u64::from(is_others);
        is_others
    }

    /// True if there was one whose UE was known.
    fn remove(&mut self, end: Endpoint) -> bool {
        let Some(entry) = self.tunnels.remove(&end) else {
            return false;
        };
        self.by_use.remove(&entry.used);
        entry.owner.address().is_some()
    }
}

/// Whether an address names one host beyond its link.
fn is_global(address: IpAddr) -> bool {
    let is_of_a_link = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(is_of_a_link || address.is_multicast() || address.is_unspecified() || address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ue(last: u8) -> IpAddr {
        IpAddr::from([10, 45, 0, last])
    }

    fn end(teid: u32) -> Endpoint {
        Endpoint {
            at: IpAddr::from([10, 1, 0, 2]),
            teid,
        }
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn map(limit: usize) -> TunnelMap {
        TunnelMap::new(limit, Duration::from_secs(30))
    }

    fn learn(map: &mut TunnelMap, now: Instant, teid: u32, last: u8) -> bool {
        let first = map.on_packet(now, end(teid), ue(last));
        assert!(!first, "one packet shows nothing");
        map.on_packet(now, end(teid), ue(last))
    }

    #[test]
    fn an_identifier_is_of_the_receiver_that_has_given_it_out() {
        let mut map = map(8);
        assert!(!learn(&mut map, at(0), 1, 2));
        let other = Endpoint {
            at: ue(99),
            ..end(1)
        };
        for _ in 0..2 {
            assert!(!map.on_packet(at(0), other, ue(3)));
        }
        assert_eq!(map.address(end(1)), Some(ue(2)));
        assert_eq!(map.address(other), Some(ue(3)));
        assert_eq!(map.address(end(2)), None);
        assert!(map.is_of(other, ue(3)) && !map.is_of(other, ue(2)));
    }

    #[test]
    fn one_that_is_given_out_again_is_anothers() {
        let mut map = map(8);
        learn(&mut map, at(0), 1, 2);
        assert!(learn(&mut map, at(1), 1, 3), "it was another's");
        assert_eq!(map.address(end(1)), Some(ue(3)));
        let expected = TunnelCounts {
            learnt: 2,
            changed: 1,
            ..TunnelCounts::default()
        };
        assert_eq!(map.counts(), expected);
    }

    #[test]
    fn addresses_of_a_link_alone_show_nothing() {
        let mut map = map(8);
        for address in [
            "fe80::7",
            "ff02::1",
            "::",
            "169.254.1.2",
            "224.0.0.1",
            "0.0.0.0",
        ] {
            for _ in 0..3 {
                assert!(!map.on_packet(at(0), end(1), address.parse().expect("an address")));
            }
        }
        assert!(map.is_empty());
        learn(&mut map, at(0), 1, 2);
        for seconds in (0..100).step_by(10) {
            map.on_packet(at(seconds), end(1), IpAddr::from([224, 0, 0, 1]));
            map.forget(at(seconds));
        }
        assert_eq!(map.address(end(1)), Some(ue(2)), "it is in use");
    }

    #[test]
    fn an_end_marker_ends_a_mapping_and_the_next_packets_begin_one() {
        let mut map = map(8);
        map.on_end(end(1));
        learn(&mut map, at(0), 1, 2);
        map.on_end(end(1));
        assert_eq!((map.address(end(1)), map.len()), (None, 0));
        assert!(!learn(&mut map, at(0), 1, 3), "a new one");
        let expected = TunnelCounts {
            learnt: 2,
            ended: 1,
            ..TunnelCounts::default()
        };
        assert_eq!(map.counts(), expected);
    }

    #[test]
    fn silence_ends_one() {
        let mut map = map(8);
        learn(&mut map, at(0), 1, 2);
        learn(&mut map, at(0), 2, 3);
        map.on_packet(at(20), end(1), ue(2));
        map.on_packet(at(20), end(3), ue(4));
        map.forget(at(29));
        assert_eq!(map.len(), 3);
        map.forget(at(30));
        assert_eq!((map.address(end(2)), map.len()), (None, 2));
        map.forget(at(50));
        assert!(map.is_empty());
        assert_eq!(map.counts().aged, 2, "the third had no UE yet");
    }

    #[test]
    fn of_too_many_the_longest_unused_goes() {
        let mut map = map(3);
        for teid in 1..4 {
            learn(&mut map, at(0), teid, teid as u8);
        }
        map.on_packet(at(1), end(1), ue(1));
        learn(&mut map, at(1), 4, 4);
        let known: Vec<u32> = (1..5)
            .filter(|teid| map.address(end(*teid)).is_some())
            .collect();
        assert_eq!(known, [1, 3, 4]);
        assert_eq!((map.len(), map.counts().evicted), (3, 1));
    }

    proptest! {
        /// Whatever passes: no more than the limit is kept, a UE is one of the last that passed in its tunnel, and both
        /// orders hold the same tunnels.
        #[test]
        fn a_mapping_is_of_what_passed(
            steps in proptest::collection::vec((0..6_u32, 0..3_u8, 0..9_u8, 0..9_u64), 0..300),
            limit in 1..5_usize,
        ) {
            let mut map = map(limit);
            let mut passed: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            let mut now = at(0);
            for (teid, last, kind, seconds) in steps {
                now += Duration::from_secs(seconds);
                match kind {
                    0 => {
                        map.on_end(end(teid));
                        passed.remove(&teid);
                        prop_assert_eq!(map.address(end(teid)), None);
                    }
                    1 => map.forget(now),
                    _ => {
                        map.on_packet(now, end(teid), ue(last));
                        passed.entry(teid).or_default().push(last);
                    }
                }
                prop_assert!(map.len() <= limit);
                prop_assert_eq!(map.by_use.len(), map.len());
                for (teid, passed) in &passed {
                    let Some(address) = map.address(end(*teid)) else { continue };
                    let mut pairs = passed.windows(2).rev();
                    let agreed = pairs.find(|pair| pair[0] == pair[1]);
                    prop_assert_eq!(agreed.map(|pair| ue(pair[0])), Some(address));
                }
            }
        }
    }
}
