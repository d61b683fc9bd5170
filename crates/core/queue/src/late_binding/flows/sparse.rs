//! The sparse flows of a class, the one of which the least waits first: a binary heap in which each flow
//! holds its place. Nothing is allocated unless there are more of them than ever.

use super::flow::{Extra, Rank};

/// Their indices among the flows of the class.
#[derive(Debug, Default)]
pub(super) struct Sparse(Vec<u32>);

impl Sparse {
    /// The one whose rank is the least.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        self.0.first().map(|&index| index as usize)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The one at a place of the heap.
    pub(super) fn at(&self, place: usize) -> Option<usize> {
        self.0.get(place).map(|&index| index as usize)
    }

    /// A flow that is not one of them joins, by its rank.
    pub(super) fn insert(&mut self, flows: &mut [Extra], index: usize) {
        let place = self.0.len();
        self.0.push(index as u32);
        flows[index].place = place as u32;
        self.rise(flows, place);
    }

    /// One of them leaves.
    pub(super) fn remove(&mut self, flows: &mut [Extra], index: usize) {
        let place = flows[index].place as usize;
        let Some(last) = self.0.pop() else {
            return;
        };
        if last as usize != index {
            self.0[place] = last;
            flows[last as usize].place = place as u32;
            self.settle(flows, place);
        }
    }

    /// The rank of one of them has changed.
    pub(super) fn is_ranked(&mut self, flows: &mut [Extra], index: usize) {
        self.settle(flows, flows[index].place as usize);
    }

    fn settle(&mut self, flows: &mut [Extra], place: usize) {
        let place = self.rise(flows, place);
        self.sink(flows, place);
    }

    fn rank(&self, flows: &[Extra], place: usize) -> Rank {
        flows[self.0[place] as usize].rank
    }

    fn swap(&mut self, flows: &mut [Extra], a: usize, b: usize) {
        self.0.swap(a, b);
        for place in [a, b] {
            flows[self.0[place] as usize].place = place as u32;
        }
    }

    /// Goes before those above it that have a greater rank; its place then.
    fn rise(&mut self, flows: &mut [Extra], mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.rank(flows, parent) < self.rank(flows, place) {
                break;
            }
            self.swap(flows, parent, place);
            place = parent;
        }
        place
    }

    /// Goes behind those below it that have a lesser rank.
    fn sink(&mut self, flows: &mut [Extra], mut place: usize) {
        loop {
            let children = (2 * place + 1)..(2 * place + 3).min(self.0.len());
            let Some(least) = children.min_by_key(|&child| self.rank(flows, child)) else {
                return;
            };
            if self.rank(flows, place) < self.rank(flows, least) {
                return;
            }
            self.swap(flows, place, least);
            place = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rank;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use units::Bytes;

    proptest! {
        #[test]
        fn it_is_an_ordered_set(events in prop::collection::vec((0usize..20, 0u64..9), 1..400)) {
            let mut flows = [Extra::default(); 20];
            let (mut sparse, mut set) = (Sparse::default(), BTreeSet::new());
            for (number, (index, waiting)) in events.into_iter().enumerate() {
                let old = (flows[index].rank, index);
                let is_in = set.remove(&old);
                if is_in && waiting == 0 {
                    sparse.remove(&mut flows, index);
                } else {
                    let number = if is_in { old.0.number } else { number as u64 };
                    flows[index].rank = Rank { waiting: Bytes::new(waiting), number };
                    set.insert((flows[index].rank, index));
                    if is_in {
                        sparse.is_ranked(&mut flows, index);
                    } else {
                        sparse.insert(&mut flows, index);
                    }
                }
                prop_assert_eq!(sparse.first(), set.first().map(|&(_, index)| index));
            }
            while let Some((_, index)) = set.pop_first() {
                prop_assert_eq!(sparse.first(), Some(index));
                sparse.remove(&mut flows, index);
            }
            prop_assert_eq!(sparse.first(), None);
        }
    }
}
