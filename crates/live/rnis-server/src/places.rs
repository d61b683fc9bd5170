//! Places for connections: a bounded number. When all are taken, an idle connection gives way to a new
//! one: of those that were never of use, otherwise of all, the one that [`gives_way`] by how long they have been
//! idle. A source is an address, of IPv6 a /64. One that would have more than half of all places
//! gives up one of its own. So strangers keep none out, and take no place of a connection that is of use;
//! and one source takes none of others, whatever it does, while those need no more than half.
//!
//! Connections that were of use have three quarters of the places for sure: where they have more, it is one of them
//! that gives way, so that a newcomer has the time to be of use, however many sources hold together.
//!
//! One that gave way holds its socket until its task has run: of these, too, there are at most so many.

use daemon::{gives_way, source_network};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// Connections that gave way and have not ended yet, at most.
const MAX_LEAVING: usize = 32;

/// All places of a listener.
#[derive(Debug)]
pub(crate) struct Places {
    max: usize,
    taken: Mutex<Taken>,
    /// A place is free, one is idle again, or one that gave way has ended.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    places: BTreeMap<u64, Occupant>,
    /// Have given way and are not dropped yet.
    leaving: usize,
}

#[derive(Debug)]
struct Occupant {
    /// None for all processes of this machine, over a Unix socket.
    source: Option<IpAddr>,
    /// Requests that are being answered.
    busy: usize,
    /// It has done something of use.
    of_use: bool,
    /// When it last did something.
    active: Instant,
    evicted: Arc<Notify>,
}

/// The place of one connection; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    number: u64,
    evicted: Arc<Notify>,
}

/// A request that is being answered: its connection is not idle.
#[derive(Debug)]
pub(crate) struct Busy<'a>(&'a Place);

impl Places {
    /// So many, at least one.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max: max.max(1),
            taken: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.lock().places.len()
    }

    /// A place for a connection from this address: a free one, or that of an idle connection, as this module
    /// describes. None if all are busy, or too many that gave way have not ended.
    pub(crate) fn try_enter(self: &Arc<Self>, now: Instant, from: Option<IpAddr>) -> Option<Place> {
        let source = from.map(source_network);
        let mut taken = self.lock();
        if taken.places.len() >= self.max {
            if taken.leaving >= MAX_LEAVING {
                return None;
            }
            let number = taken.victim(source, self.max)?;
            let evicted = taken.places.remove(&number)?;
            taken.leaving += 1;
            evicted.evicted.notify_one();
        }
        let number = taken.next;
        taken.next += 1;
        let evicted = Arc::new(Notify::new());
        let occupant = Occupant {
            source,
            busy: 0,
            of_use: false,
            active: now,
            evicted: Arc::clone(&evicted),
        };
        taken.places.insert(number, occupant);
        Some(Place {
            places: Arc::clone(self),
            number,
            evicted,
        })
    }

    /// As [`Self::try_enter`]; waits where that gives none.
    pub(crate) async fn enter(self: &Arc<Self>, from: IpAddr) -> Place {
        loop {
            // a change between the attempt and the wait is kept for the wait
            match self.try_enter(Instant::now(), Some(from)) {
                Some(place) => return place,
                None => self.changed.notified().await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // entries are put in and taken out whole
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, number: u64, change: impl FnOnce(&mut Occupant)) {
        // one that gave way is not there any more
        self.lock().places.get_mut(&number).map(change);
    }
}

impl Taken {
    /// The one that gives way to a connection of this source.
    fn victim(&self, source: Option<IpAddr>, max: usize) -> Option<u64> {
        let idle = || self.places.iter().filter(|(_, o)| o.busy == 0);
        let all_of_it = self.places.values().filter(|o| o.source == source);
        if 2 * (all_of_it.count() + 1) > max {
            let its_idle = idle().filter(|(_, o)| o.source == source);
            let oldest = its_idle.min_by_key(|(_, o)| (o.of_use, o.active));
            if let Some((number, _)) = oldest {
                return Some(*number);
            }
        }
        let of_use = match [true, false].map(|was| idle().any(|(_, o)| o.of_use == was)) {
            [true, true] => {
                let all_of_use = self.places.values().filter(|o| o.of_use);
                all_of_use.count() > max - max / 4
            }
            [is_any_of_use, _] => is_any_of_use,
        };
        let mut candidates: Vec<_> = idle().filter(|(_, o)| o.of_use == of_use).collect();
        candidates.sort_by_key(|(_, o)| o.active);
        let mut counts = BTreeMap::new();
        for (_, occupant) in &candidates {
            *counts.entry(occupant.source).or_default() += 1;
        }
        let sources = candidates.iter().map(|(_, o)| o.source);
        gives_way(sources, &counts).map(|index| *candidates[index].0)
    }
}

impl Place {
    /// Completes when this connection is to give way.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// It did something of use now.
    pub(crate) fn touch(&self, now: Instant) {
        self.places.with(self.number, |o| {
            o.of_use = true;
            o.active = now;
        });
    }

    /// A request of use is being answered until the guard is dropped.
    pub(crate) fn serve(&self) -> Busy<'_> {
        self.touch(Instant::now());
        self.busy()
    }

    /// A request is being answered until the guard is dropped.
    pub(crate) fn busy(&self) -> Busy<'_> {
        self.places.with(self.number, |o| o.busy += 1);
        Busy(self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if taken.places.remove(&self.number).is_none() {
            taken.leaving -= 1;
        }
        drop(taken);
        self.places.changed.notify_one();
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        self.0.places.with(self.0.number, |o| {
            o.busy = o.busy.saturating_sub(1);
            o.active = now;
        });
        self.0.places.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::net::Ipv4Addr;
    use std::time::Duration;
    use units::Streams;

    fn is_evicted(place: &Place) -> bool {
        use futures_util::FutureExt;
        place.evicted().now_or_never().is_some()
    }

    #[test]
    fn the_one_that_was_idle_for_longest_gives_way() {
        let places = Places::new(2);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let first = places.try_enter(at(0), None).expect("free");
        let second = places.try_enter(at(0), None).expect("free");
        second.touch(at(1));
        first.touch(at(2));
        let third = places.try_enter(at(3), None).expect("the second's");
        assert!(is_evicted(&second) && !is_evicted(&first));
        assert_eq!(places.taken(), 2);
        drop(second);
        assert_eq!(places.taken(), 2, "its place is another's");
        drop((first, third));
        assert_eq!(places.taken(), 0);
    }

    #[test]
    fn one_that_was_of_use_gives_way_to_no_stranger_while_there_is_another() {
        let places = Places::new(3);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let bridge = places.try_enter(at(0), None).expect("free");
        bridge.touch(at(0));
        let mut strangers = Vec::new();
        for second in 1..20 {
            strangers.push(places.try_enter(at(second), None).expect("a place"));
        }
        assert!(!is_evicted(&bridge));
        assert_eq!(strangers.iter().filter(|s| is_evicted(s)).count(), 17);
    }

    #[test]
    fn those_that_gave_way_are_bounded_until_they_end() {
        let places = Places::new(1);
        let now = Instant::now();
        let mut held: Vec<Place> = (0..=MAX_LEAVING)
            .map(|_| places.try_enter(now, None).expect("a place"))
            .collect();
        assert!(places.try_enter(now, None).is_none(), "none has ended");
        drop(held.remove(0));
        assert!(places.try_enter(now, None).is_some());
        drop(held);
        assert_eq!((places.taken(), places.lock().leaving), (0, 0));
    }

    #[test]
    fn a_busy_one_keeps_its_place() {
        let places = Places::new(1);
        let now = Instant::now();
        let first = places.try_enter(now, None).expect("free");
        let busy = first.busy();
        assert!(places.try_enter(now, None).is_none());
        drop(busy);
        assert!(places.try_enter(now, None).is_some() && is_evicted(&first));
    }

    const A: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const B: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn the_source_with_the_most_gives_way_first() {
        let places = Places::new(4);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let enter = |from: &str, second| {
            let from = from.parse().expect("an address");
            places.try_enter(at(second), Some(from)).expect("a place")
        };
        let of_use = enter("192.0.2.1", 0);
        of_use.touch(at(0));
        let single = enter("192.0.2.2", 1);
        let first = enter("2001:db8:1:2::1", 2);
        let second = enter("2001:db8:1:2::2", 3);
        let third = enter("192.0.2.3", 4);
        assert!(is_evicted(&first), "two of one /64");
        let fourth = enter("192.0.2.4", 5);
        assert!(is_evicted(&single), "of sources with one the oldest");
        for place in [&second, &third, &fourth] {
            place.touch(at(6));
        }
        let _again = enter("2001:db8:1:2::3", 7);
        assert!(is_evicted(&of_use), "all were of use");
    }

    /// Four sources have taken all places by connections of use, and go on opening others.
    #[test]
    fn a_newcomer_has_its_place_until_it_is_of_use_whoever_holds_the_others() {
        let places = Places::new(32);
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let of = |n: u8| Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, n)));
        let mut held = Vec::new();
        for n in 0..32 {
            let place = places.try_enter(at(0), of(n % 4)).expect("free");
            place.touch(at(0));
            held.push(place);
        }
        let newcomer = places.try_enter(at(1), of(9)).expect("another's place");
        for step in 2..200 {
            held.retain(|place| !is_evicted(place));
            let number = (step % 4) as u8;
            let place = places.try_enter(at(step), of(number)).expect("a place");
            // some are of use at once, as clients' are
            if step % 3 == 0 {
                place.touch(at(step));
            }
            held.push(place);
            assert!(!is_evicted(&newcomer), "step {step}");
        }
        newcomer.touch(at(200));
        assert_eq!(places.taken(), 32);
    }

    /// Where all that were of use are busy, one that was not gives way all the same.
    #[test]
    fn what_is_busy_does_not_give_way_where_many_were_of_use() {
        let places = Places::new(4);
        let now = Instant::now();
        let enter = |_| places.try_enter(now, Some(A)).expect("free");
        let all: Vec<Place> = (0..4).map(enter).collect();
        let busy: Vec<_> = all[..3].iter().map(Place::serve).collect();
        assert!(places.try_enter(now, Some(B)).is_some());
        assert!(is_evicted(&all[3]));
        drop(busy);
    }

    /// One source does whatever it may, the other has no more than half of the places.
    #[test]
    fn a_source_takes_no_place_of_another_that_needs_half_of_them() {
        for seed in 0..200 {
            let mut random = Streams::new(seed).stream("connections");
            let max = 2 + random.below(9) as usize;
            let places = Places::new(max);
            let start = Instant::now();
            let (mut strangers, mut kept) = (VecDeque::new(), Vec::new());
            for step in 0..300 {
                let now = start + Duration::from_millis(step);
                match random.below(8) {
                    0 if kept.len() < max / 2 => {
                        kept.push(places.try_enter(now, Some(B)).expect("a place"));
                    }
                    1 if !kept.is_empty() => {
                        kept.swap_remove(random.below(kept.len() as u64) as usize);
                    }
                    2 if !kept.is_empty() => {
                        kept[random.below(kept.len() as u64) as usize].touch(now);
                    }
                    3 => drop(strangers.pop_front()),
                    4 => {
                        if let Some(last) = strangers.back() {
                            Place::touch(last, now);
                        }
                    }
                    _ => {
                        strangers.push_back(places.try_enter(now, Some(A)).expect("a place"));
                        assert!(!kept.iter().any(is_evicted), "seed {seed}, step {step}");
                    }
                }
                // those that gave way end at once
                strangers.retain(|stranger| !is_evicted(stranger));
                kept.retain(|place| !is_evicted(place));
                assert_eq!(places.taken(), strangers.len() + kept.len());
            }
        }
    }
}
