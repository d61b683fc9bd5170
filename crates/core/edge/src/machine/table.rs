//! The flows of a cell by number: a small index to find one in, and what is held of them beside one another.

use rapid::FlowId;
use std::collections::BTreeMap;

/// Flows, and what is held of each.
#[derive(Debug)]
pub(super) struct FlowTable<T> {
    places: BTreeMap<FlowId, u32>,
    held: Vec<Option<(FlowId, T)>>,
    free: Vec<u32>,
}

impl<T> Default for FlowTable<T> {
    fn default() -> Self {
        Self {
            places: BTreeMap::new(),
            held: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> FlowTable<T> {
    /// Adds a flow, or puts another value in its place. Gives the place, by which [`Self::at`] finds it.
    pub(super) fn insert(&mut self, id: FlowId, value: T) -> u32 {
        self.remove(id);
        let value = Some((id, value));
        let place = match self.free.pop() {
            Some(place) => {
                self.held[place as usize] = value;
                place
            }
            None => {
                self.held.push(value);
                // there are fewer flows than that
                (self.held.len() - 1) as u32
            }
        };
        self.places.insert(id, place);
        place
    }

    /// Takes a flow away.
    pub(super) fn remove(&mut self, id: FlowId) -> Option<T> {
        let place = self.places.remove(&id)?;
        self.free.push(place);
        self.held[place as usize].take().map(|(_, value)| value)
    }

    /// One of them.
    pub(super) fn get_mut(&mut self, id: FlowId) -> Option<&mut T> {
        let place = *self.places.get(&id)?;
        self.at(place, id)
    }

    /// The same by its place; none if it is another's by now.
    pub(super) fn at(&mut self, place: u32, id: FlowId) -> Option<&mut T> {
        let (of, value) = self.held.get_mut(place as usize)?.as_mut()?;
        (*of == id).then_some(value)
    }

    /// All of them, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (FlowId, &T)> {
        let held = move |place: &u32| self.held[*place as usize].as_ref();
        let held = self.places.values().filter_map(held);
        held.map(|(id, value)| (*id, value))
    }

    /// Their numbers, in order.
    pub(super) fn ids(&self) -> Vec<FlowId> {
        self.places.keys().copied().collect()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_in_the_order_of_their_numbers_and_places_are_used_again() {
        let mut table = FlowTable::default();
        for (id, value) in [(5, 'a'), (2, 'b'), (9, 'c')] {
            table.insert(FlowId(id), value);
        }
        assert_eq!(table.remove(FlowId(2)), Some('b'));
        assert_eq!(table.remove(FlowId(2)), None);
        let place = table.insert(FlowId(7), 'd');
        assert_eq!(table.at(place, FlowId(7)), Some(&mut 'd'));
        assert_eq!(table.at(place, FlowId(2)), None);
        table.insert(FlowId(5), 'e');
        let all: Vec<_> = table.iter().map(|(id, value)| (id.0, *value)).collect();
        assert_eq!(all, [(5, 'e'), (7, 'd'), (9, 'c')]);
        assert_eq!((table.len(), table.held.len()), (3, 3));
        assert_eq!(table.ids(), [FlowId(5), FlowId(7), FlowId(9)]);
        assert_eq!(table.get_mut(FlowId(9)), Some(&mut 'c'));
    }
}
