//! Where a flow is kept, by its number: a hash table without order.
//!
//! Open addressing with linear probing, at most half full; what is removed leaves no gap. Nothing is allocated
//! for a flow unless there are more of them than ever. The hash is the finaliser of SplitMix64, the same in
//! every run: the order of the table is never seen.

/// Entries that there is room for at first.
const FIRST: usize = 16;

/// Numbers of flows with their places.
#[derive(Debug)]
pub(super) struct Index {
    /// A power of two of them.
    entries: Vec<Option<(u64, usize)>>,
    len: usize,
}

impl Index {
    pub(super) fn new() -> Self {
        Self {
            entries: vec![None; FIRST],
            len: 0,
        }
    }

    fn mask(&self) -> usize {
        self.entries.len() - 1
    }

    /// Where a number would like to be.
    fn home(&self, id: u64) -> usize {
        let mut h = (id ^ (id >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (h ^ (h >> 31)) as usize & self.mask()
    }

    /// The entry of a number, or the free one where it would be.
    fn slot(&self, id: u64) -> usize {
        let mut slot = self.home(id);
        while let Some((other, _)) = self.entries[slot]
            && other != id
        {
            slot = (slot + 1) & self.mask();
        }
        slot
    }

    pub(super) fn get(&self, id: u64) -> Option<usize> {
        self.entries[self.slot(id)].map(|(_, place)| place)
    }

    /// A number that is not there yet.
    pub(super) fn insert(&mut self, id: u64, place: usize) {
        if 2 * (self.len + 1) > self.entries.len() {
            let larger = vec![None; 2 * self.entries.len()];
            let entries = std::mem::replace(&mut self.entries, larger);
            for entry in entries.into_iter().flatten() {
                let slot = self.slot(entry.0);
                self.entries[slot] = Some(entry);
            }
        }
        let slot = self.slot(id);
        self.len += usize::from(self.entries[slot].is_none());
        self.entries[slot] = Some((id, place));
    }

    pub(super) fn remove(&mut self, id: u64) {
        let mut gap = self.slot(id);
        if self.entries[gap].take().is_none() {
            return;
        }
        self.len -= 1;
        // those behind that would like to be at the gap or before it move up
        let mut slot = gap;
        loop {
            slot = (slot + 1) & self.mask();
            let Some((other, _)) = self.entries[slot] else {
                return;
            };
            let from_home = slot.wrapping_sub(self.home(other)) & self.mask();
            let from_gap = slot.wrapping_sub(gap) & self.mask();
            if from_home >= from_gap {
                self.entries[gap] = self.entries[slot].take();
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
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, btree_map::Entry};

    proptest! {
        #[test]
        fn it_is_a_map(events in prop::collection::vec((0u64..60, prop::bool::ANY), 1..600)) {
            let (mut index, mut map) = (Index::new(), BTreeMap::new());
            for (place, (id, comes)) in events.into_iter().enumerate() {
                if !comes {
                    index.remove(id);
                    map.remove(&id);
                } else if let Entry::Vacant(vacant) = map.entry(id) {
                    index.insert(id, place);
                    vacant.insert(place);
                }
                prop_assert_eq!(index.len(), map.len());
                for id in 0..60 {
                    prop_assert_eq!(index.get(id), map.get(&id).copied());
                }
            }
        }
    }

    #[test]
    fn flows_that_come_and_go_need_no_more_room() {
        let mut index = Index::new();
        for id in 0..10_000 {
            index.insert(id, 0);
            if id >= 5 {
                index.remove(id - 5);
            }
        }
        assert_eq!((index.len(), index.entries.len()), (5, FIRST));
    }
}
