//! The flows that pass the proxy, whether under control or not.

use crate::directory::Identity;
use rapid::{FlowId, Learnt};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use units::Instant;

/// A flow, and the UE that it is under control as.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) address: IpAddr,
    /// It is not old enough to be adopted.
    pub(crate) is_young: bool,
    pub(crate) home: Option<Identity>,
    /// Of another proxy, until it is adopted.
    pub(crate) learnt: Option<Learnt>,
}

/// All flows.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    flows: BTreeMap<FlowId, Flow>,
    by_address: BTreeMap<IpAddr, BTreeSet<FlowId>>,
    /// Those that are young, and until when, in this order.
    young: VecDeque<(Instant, FlowId)>,
}

impl Flows {
    /// A flow that is young until then. False if there is one of this number.
    pub(crate) fn insert(&mut self, id: FlowId, address: IpAddr, young_until: Instant) -> bool {
        if self.flows.contains_key(&id) {
            return false;
        }
        let flow = Flow {
            address,
            is_young: true,
            home: None,
            learnt: None,
        };
        self.flows.insert(id, flow);
        self.by_address.entry(address).or_default().insert(id);
        self.young.push_back((young_until, id));
        true
    }

    /// A flow has ended.
    pub(crate) fn remove(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.remove(&id)
            && let Some(ids) = self.by_address.get_mut(&flow.address)
        {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_address.remove(&flow.address);
            }
        }
    }

    /// A flow.
    pub(crate) fn get(&self, id: FlowId) -> Option<&Flow> {
        self.flows.get(&id)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.flows.get_mut(&id)
    }

    /// The flows of a UE.
    pub(crate) fn of(&self, address: IpAddr) -> Vec<FlowId> {
        let ids = self.by_address.get(&address);
        ids.map_or_else(Vec::new, |ids| ids.iter().copied().collect())
    }

    /// All of them.
    pub(crate) fn ids(&self) -> Vec<FlowId> {
        self.flows.keys().copied().collect()
    }

    /// When the next one is no longer young.
    pub(crate) fn next_grown(&self) -> Option<Instant> {
        self.young.front().map(|(at, _)| *at)
    }

    /// The next one that is no longer young; it may have ended.
    pub(crate) fn pop_grown(&mut self, now: Instant) -> Option<FlowId> {
        let (_, id) = self.young.pop_front_if(|(at, _)| *at <= now)?;
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.is_young = false;
        }
        Some(id)
    }

    /// True without flows.
    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }
}
