//! PDCP at the receiving side, across a change of cell (TS 38.323 5.1.2, 5.2.2.2, 5.4; TS 36.323 5.2.2.1, 5.3).
//!
//! The RLC of a cell delivers in order, so that there is nothing to be put in order while one cell serves. As a UE leaves it,
//! the receiver has some SDUs that lie behind missing ones. It keeps them, and reports what is missing (the status report);
//! the missing ones come from the target under the same COUNT, a second one is discarded, and all SDUs leave in order.
//!
//! *Deviations*: only SDUs that are missing at a change of cell have a COUNT here, and it counts those and what lies behind
//! them; all others follow from their order. An SDU that a queue of the target drops, or that its RLC gives up, is known to be lost at once, where
//! t-Reordering would have to expire.

use std::collections::VecDeque;

/// The place of an SDU in the order of one bearer and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(u64);

#[derive(Clone, Debug)]
enum Place<P> {
    Missing,
    Lost,
    Received(P),
}

/// The SDUs from the first missing one on.
#[derive(Clone, Debug)]
pub struct Reordering<P> {
    /// RX_DELIV: COUNT of the first place.
    first: u64,
    places: VecDeque<Place<P>>,
}

impl<P> Default for Reordering<P> {
    fn default() -> Self {
        Self {
            first: 0,
            places: VecDeque::new(),
        }
    }
}

impl<P> Reordering<P> {
    /// The next SDU in order is missing; its COUNT.
    pub fn add_missing(&mut self) -> Count {
        let count = Count(self.first + self.places.len() as u64);
        self.places.push_back(Place::Missing);
        count
    }

    /// The next SDU in order has come: it leaves at once, or behind what is missing.
    pub fn add(&mut self, packet: P, deliver: impl FnOnce(P)) {
        if self.places.is_empty() {
            deliver(packet);
        } else {
            self.places.push_back(Place::Received(packet));
        }
    }

    /// A missing SDU has come. False if it had come before, or was lost: it is discarded.
    pub fn fill(&mut self, count: Count, packet: P, deliver: impl FnMut(P)) -> bool {
        self.put(count, Place::Received(packet), deliver)
    }

    /// A missing SDU will not come.
    pub fn skip(&mut self, count: Count, deliver: impl FnMut(P)) {
        self.put(count, Place::Lost, deliver);
    }

    fn put(&mut self, count: Count, with: Place<P>, mut deliver: impl FnMut(P)) -> bool {
        let at = count.0.checked_sub(self.first);
        let at = at.and_then(|at| usize::try_from(at).ok());
        let Some(place @ Place::Missing) = at.and_then(|at| self.places.get_mut(at)) else {
            return false;
        };
        *place = with;
        while let Some(next) = self
            .places
            .pop_front_if(|place| !matches!(place, Place::Missing))
        {
            self.first += 1;
            if let Place::Received(packet) = next {
                deliver(packet);
            }
        }
        true
    }

    /// Whether this is missing: what the status report asks for.
    pub fn is_missing(&self, count: Count) -> bool {
        let at = count.0.checked_sub(self.first);
        let at = at.and_then(|at| usize::try_from(at).ok());
        matches!(at.and_then(|at| self.places.get(at)), Some(Place::Missing))
    }

    /// SDUs that have come and wait.
    pub fn waiting(&self) -> usize {
        let is_received = |place: &&Place<P>| matches!(place, Place::Received(_));
        self.places.iter().filter(is_received).count()
    }
}

#[cfg(test)]
mod tests;
