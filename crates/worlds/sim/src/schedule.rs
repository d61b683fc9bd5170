//! The event schedule: one pending time for each entity, earliest first.
//!
//! An entity (a link, a cell, one end of a connection, an application ...) has at most one entry:
//! it names the next time at which it is to run, and moves that time when something changes.
//! The schedule is therefore as large as the topology, not as the number of packets in flight.
//!
//! **Total order.** Events run by time, then by entity number (numbers are given in the order in
//! which [`crate::world`] builds the entities: reports, cell, path, access, hosts, flows; sampling
//! is last). Within an entity and an instant, its own first-in first-out order holds. Nothing
//! depends on addresses, hashing or threads.
//!
//! An indexed 4-ary heap: moving an entry costs about log4(entities) comparisons, and no memory.

use units::Instant;

/// An entity, as the schedule numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EntityId(pub(crate) u32);

const ARITY: usize = 4;
/// Position of an entity that has no entry.
const ABSENT: u32 = u32::MAX;

/// A time and an entity as one number, which orders as the pair does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry(u128);

impl Entry {
    fn new(at: Instant, entity: EntityId) -> Self {
        Self(u128::from(at.as_nanos()) << 32 | u128::from(entity.0))
    }
    fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 32) as u64)
    }
    fn entity(self) -> EntityId {
        EntityId(self.0 as u32)
    }
}

/// Pending times of all entities.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    heap: Vec<Entry>,
    /// Where each entity is in `heap`, or [`ABSENT`].
    position: Vec<u32>,
}

impl Schedule {
    /// A new entity, without an entry.
    pub(crate) fn add_entity(&mut self) -> EntityId {
        let id = u32::try_from(self.position.len()).expect("fewer than 2^32 entities");
        self.position.push(ABSENT);
        EntityId(id)
    }

    /// The earliest entry.
    pub(crate) fn first(&self) -> Option<(Instant, EntityId)> {
        self.heap.first().map(|entry| (entry.at(), entry.entity()))
    }

    /// When `entity` is due, if it has an entry.
    pub(crate) fn due(&self, entity: EntityId) -> Option<Instant> {
        let at = self.position[entity.0 as usize];
        (at != ABSENT).then(|| self.heap[at as usize].at())
    }

    /// Moves `entity` to a time, or takes it out.
    pub(crate) fn set(&mut self, entity: EntityId, at: Option<Instant>) {
        let position = self.position[entity.0 as usize];
        match (at, position) {
            (None, ABSENT) => {}
            (None, p) => self.remove(p as usize),
            (Some(at), ABSENT) => {
                let entry = Entry::new(at, entity);
                self.heap.push(entry);
                self.sift_up(self.heap.len() - 1, entry);
            }
            (Some(at), p) => {
                let (p, entry) = (p as usize, Entry::new(at, entity));
                let before = self.heap[p];
                if entry < before {
                    self.sift_up(p, entry);
                } else if entry > before {
                    self.sift_down(p, entry);
                }
            }
        }
    }

    /// Moves `entity` to `at` unless it is due before that: enough for a timer whose deadline is
    /// checked again when it fires.
    pub(crate) fn set_no_later(&mut self, entity: EntityId, at: Option<Instant>) {
        if let Some(at) = at
            && self.due(entity).is_none_or(|due| at < due)
        {
            self.set(entity, Some(at));
        }
    }

    fn remove(&mut self, p: usize) {
        let removed = self.heap.swap_remove(p);
        self.position[removed.entity().0 as usize] = ABSENT;
        if let Some(&moved) = self.heap.get(p) {
            if moved < removed {
                self.sift_up(p, moved);
            } else {
                self.sift_down(p, moved);
            }
        }
    }

    /// Puts `entry` at `p` or above.
    fn sift_up(&mut self, mut p: usize, entry: Entry) {
        while p > 0 {
            let parent = (p - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.place(p, self.heap[parent]);
            p = parent;
        }
        self.place(p, entry);
    }

    /// Puts `entry` at `p` or below.
    fn sift_down(&mut self, mut p: usize, entry: Entry) {
        loop {
            let first = p * ARITY + 1;
            let last = (first + ARITY).min(self.heap.len());
            let children = first..last;
            let Some(min) = children.min_by_key(|&child| self.heap[child]) else {
                break;
            };
            if entry <= self.heap[min] {
                break;
            }
            self.place(p, self.heap[min]);
            p = min;
        }
        self.place(p, entry);
    }

    fn place(&mut self, p: usize, entry: Entry) {
        self.heap[p] = entry;
        self.position[entry.entity().0 as usize] = p as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn simultaneous_events_run_by_entity_number() {
        let mut schedule = Schedule::default();
        let ids: Vec<_> = (0..9).map(|_| schedule.add_entity()).collect();
        for &id in ids.iter().rev() {
            schedule.set(id, Some(Instant::from_nanos(7)));
        }
        for &id in &ids {
            assert_eq!(schedule.first(), Some((Instant::from_nanos(7), id)));
            schedule.set(id, None);
        }
        assert_eq!(schedule.first(), None);
    }

    #[test]
    fn a_lazy_timer_only_moves_forward() {
        let mut schedule = Schedule::default();
        let id = schedule.add_entity();
        schedule.set_no_later(id, Some(Instant::from_nanos(9)));
        schedule.set_no_later(id, Some(Instant::from_nanos(12)));
        assert_eq!(schedule.due(id), Some(Instant::from_nanos(9)));
        schedule.set_no_later(id, Some(Instant::from_nanos(3)));
        schedule.set_no_later(id, None);
        assert_eq!(schedule.due(id), Some(Instant::from_nanos(3)));
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_of_all(
            moves in prop::collection::vec((0u32..40, prop::option::of(0u64..100)), 1..400),
        ) {
            let mut schedule = Schedule::default();
            let ids: Vec<_> = (0..40).map(|_| schedule.add_entity()).collect();
            let mut model = vec![None; 40];
            for (entity, at) in moves {
                let at = at.map(Instant::from_nanos);
                schedule.set(ids[entity as usize], at);
                model[entity as usize] = at;
                let min = model.iter().enumerate()
                    .filter_map(|(i, at)| at.map(|at| (at, EntityId(i as u32))))
                    .min();
                prop_assert_eq!(schedule.first(), min);
            }
        }
    }
}
