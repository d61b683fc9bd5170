//! Where a flow is kept, by its number: a hash table without order.
//!
//! Open addressing with linear probing, at most a quarter full, so that the first entry is mostly the one; what is
//! removed leaves no gap. Nothing is allocated for a flow unless there are more of them than ever. The hash is
//! multiplicative (Knuth, The Art of Computer Programming, volume 3, section 6.4): numbers that follow one another lie
//! far apart. It is the same in every run: the order of the table is never seen.

use super::flow::Flow;
use crate::slab::NONE;

/// Entries that there is room for at first.
const FIRST: usize = 32;
/// 2^64 over the golden ratio, to the next odd number.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Places of flows by their numbers, which the flows themselves have.
#[derive(Debug)]
pub(super) struct Index {
    /// A power of two of them; [`NONE`] where one is free.
    entries: Vec<u32>,
    /// 64 less the binary logarithm of their number.
    shift: u32,
    len: usize,
}

impl Index {
    pub(super) fn new() -> Self {
        Self {
            entries: vec![NONE; FIRST],
            shift: 64 - FIRST.ilog2(),
            len: 0,
        }
    }

    #[inline]
    fn mask(&self) -> usize {
        self.entries.len() - 1
    }

    /// Where a number would like to be.
    #[inline]
    fn home(&self, id: u64) -> usize {
        (id.wrapping_mul(GOLDEN) >> self.shift) as usize
    }

    /// The entry of a number, or the free one where it would be.
    #[inline(always)]
    fn slot(&self, id: u64, flows: &[Flow]) -> usize {
        let mut slot = self.home(id);
        while let Some(other) = flows.get(self.entries[slot] as usize)
            && other.id != id
        {
            slot = (slot + 1) & self.mask();
        }
        slot
    }

    #[inline(always)]
    pub(super) fn get(&self, id: u64, flows: &[Flow]) -> Option<usize> {
        let place = self.entries[self.slot(id, flows)];
        (place != NONE).then_some(place as usize)
    }

    /// The flow at `place`, whose number is not there yet.
    pub(super) fn insert(&mut self, id: u64, place: usize, flows: &[Flow]) {
        if 4 * (self.len + 1) > self.entries.len() {
            let larger = vec![NONE; 2 * self.entries.len()];
            let entries = std::mem::replace(&mut self.entries, larger);
            self.shift -= 1;
            for entry in entries.into_iter().filter(|&entry| entry != NONE) {
                let slot = self.slot(flows[entry as usize].id, flows);
                self.entries[slot] = entry;
            }
        }
        let slot = self.slot(id, flows);
        self.len += 1;
        self.entries[slot] = place as u32;
    }

    /// The number of the flow at `place` is removed.
    pub(super) fn remove(&mut self, place: usize, flows: &[Flow]) {
        let mut gap = self.slot(flows[place].id, flows);
        if self.entries[gap] == NONE {
            return;
        }
        self.entries[gap] = NONE;
        self.len -= 1;
        // those behind that would like to be at the gap or before it move up
        let mut slot = gap;
        loop {
            slot = (slot + 1) & self.mask();
            let Some(other) = flows.get(self.entries[slot] as usize) else {
                return;
            };
            let from_home = slot.wrapping_sub(self.home(other.id)) & self.mask();
            let from_gap = slot.wrapping_sub(gap) & self.mask();
            if from_home >= from_gap {
                self.entries[gap] = std::mem::replace(&mut self.entries[slot], NONE);
                gap = slot;
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::Mint;
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, btree_map::Entry};
    use units::Bytes;

    /// Flows of these numbers.
    fn flows(ids: impl Iterator<Item = u64>) -> Vec<Flow> {
        ids.map(|id| Flow::new(id, Mint::new(Bytes::new(1500))))
            .collect()
    }

    proptest! {
        #[test]
        fn it_is_a_map(events in prop::collection::vec((0u64..60, prop::bool::ANY), 1..600)) {
            let (mut index, mut map) = (Index::new(), BTreeMap::new());
            // each comes at two places: what counts is where it came last
            let flows = flows((0..120).map(|place| place % 60));
            for (number, (id, comes)) in events.into_iter().enumerate() {
                let place = id as usize + 60 * (number % 2);
                if !comes {
                    index.remove(id as usize, &flows);
                    map.remove(&id);
                } else if let Entry::Vacant(vacant) = map.entry(id) {
                    index.insert(id, place, &flows);
                    vacant.insert(place);
                }
                prop_assert_eq!(index.len(), map.len());
                for id in 0..60 {
                    prop_assert_eq!(index.get(id, &flows), map.get(&id).copied());
                }
            }
        }
    }

    #[test]
    fn flows_that_come_and_go_need_no_more_room() {
        let mut index = Index::new();
        let flows = flows(0..10_000);
        for id in 0..10_000 {
            index.insert(id as u64, id, &flows);
            if id >= 5 {
                index.remove(id - 5, &flows);
            }
        }
        assert_eq!((index.len(), index.entries.len()), (5, FIRST));
    }
}
