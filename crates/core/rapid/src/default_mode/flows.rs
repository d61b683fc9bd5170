//! The flows of a UE, in the order of their numbers and one behind the other in memory: with each report all of them are
//! gone over. A flow that opens has most often the largest number so far.

use super::flow::Flow;
use crate::FlowId;

/// Flows by number.
#[derive(Debug, Default)]
pub(super) struct Flows(Vec<(FlowId, Flow)>);

impl Flows {
    fn place(&self, id: FlowId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |(id, _)| *id)
    }

    /// Adds a flow, or puts it in the place of one with its number.
    pub(super) fn insert(&mut self, id: FlowId, flow: Flow) {
        match self.place(id) {
            Ok(at) => self.0[at].1 = flow,
            Err(at) => self.0.insert(at, (id, flow)),
        }
    }

    /// Takes a flow away.
    pub(super) fn remove(&mut self, id: FlowId) -> Option<Flow> {
        let at = self.place(id).ok()?;
        Some(self.0.remove(at).1)
    }

    /// One of them.
    pub(super) fn get(&self, id: FlowId) -> Option<&Flow> {
        let at = self.place(id).ok()?;
        Some(&self.0[at].1)
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        let at = self.place(id).ok()?;
        Some(&mut self.0[at].1)
    }

    /// All of them with their numbers.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut (FlowId, Flow)> {
        self.0.iter_mut()
    }

    /// All of them.
    pub(super) fn values(&self) -> impl Iterator<Item = &Flow> {
        self.0.iter().map(|(_, flow)| flow)
    }

    /// All of them, to be changed.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.0.iter_mut().map(|(_, flow)| flow)
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
impl FromIterator<(FlowId, Flow)> for Flows {
    fn from_iter<I: IntoIterator<Item = (FlowId, Flow)>>(flows: I) -> Self {
        let mut all = Self::default();
        for (id, flow) in flows {
            all.insert(id, flow);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowOpened;
    use rnis::Rnti;
    use units::{Bytes, Instant};

    #[test]
    fn flows_are_in_the_order_of_their_numbers_however_they_come() {
        let flow = |mss| {
            let (ue, mss) = (Rnti(1), Bytes::new(mss));
            Flow::new(Instant::ZERO, FlowOpened { ue, mss, place: 0 })
        };
        let all = |flows: &Flows| -> Vec<u64> { flows.values().map(|f| f.mss.get()).collect() };
        let order = [5, 9, 2, 7].map(|n| (FlowId(n), flow(n)));
        let mut flows = Flows::from_iter(order);
        assert_eq!(all(&flows), [2, 5, 7, 9]);
        flows.insert(FlowId(7), flow(70));
        assert!(flows.remove(FlowId(5)).is_some() && flows.remove(FlowId(6)).is_none());
        assert_eq!((all(&flows), flows.len()), (vec![2, 70, 9], 3));
        assert!(flows.get_mut(FlowId(9)).is_some() && flows.get_mut(FlowId(5)).is_none());
    }
}
