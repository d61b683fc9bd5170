//! The flows of a class: the sparse ones, then the busy ones in turn.

use super::flow::{Extra, Flow, Rank, State};
use super::index::Index;
use super::sparse::Sparse;
use super::tokens::{Together, counted};
use super::{Arrival, Departure, Now};
use crate::late_binding::SparseRule;
use crate::slab::{Chain, NONE, Slab};
use crate::{Packet, Urgent};
use std::collections::VecDeque;
use units::Bytes;

/// The flows of a class. Their packets are in the slab of all classes.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) flows: Vec<Flow>,
    /// The rest of each.
    extra: Vec<Extra>,
    /// For each, what is still to pass before it is sent a congestion signal again; it is up to the owner.
    pub(super) quiet: Vec<Bytes>,
    /// Places in `flows` that are free.
    free: Vec<u32>,
    pub(super) by_id: Index,
    sparse: Sparse,
    /// What they may send together while others wait.
    together: Together,
    /// The busy flows, chained by [`Flow::after`].
    busy: Chain,
    /// Number of the next flow that becomes sparse.
    next_number: u64,
    /// A slot has passed, and busy flows may have become sparse.
    is_to_be_promoted: bool,
    /// Flows that have become idle, each once; some are not idle any more.
    idle: VecDeque<u32>,
    packets: usize,
}

impl Class {
    pub(super) fn new() -> Self {
        Self {
            flows: Vec::new(),
            extra: Vec::new(),
            quiet: Vec::new(),
            free: Vec::new(),
            by_id: Index::new(),
            sparse: Sparse::default(),
            together: Together::unbounded(),
            busy: Chain::EMPTY,
            next_number: 0,
            is_to_be_promoted: false,
            idle: VecDeque::new(),
            packets: 0,
        }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// What waits of a flow.
    pub(super) fn waiting(&self, id: u64) -> Bytes {
        let index = self.by_id.get(id, &self.flows);
        index.map_or(Bytes::ZERO, |index| self.flows[index].bytes)
    }

    #[inline(always)]
    pub(super) fn push<P: Packet>(&mut self, slab: &mut Slab<P>, arrival: Arrival, now: Now) {
        let index = match self.by_id.get(arrival.flow, &self.flows) {
            Some(index) => index,
            None => self.begin(arrival.flow, now),
        };
        let flow = &mut self.flows[index];
        flow.bytes += arrival.bytes;
        flow.beyond += arrival.beyond;
        slab.append(&mut flow.chain, arrival.node);
        self.packets += 1;
        match flow.state {
            State::Busy => {}
            State::Sparse => self.rank(index, now),
            State::Idle => {
                if self.is_sparse(index, now) {
                    self.set_sparse(index, now);
                } else {
                    self.join_busy(index);
                }
            }
        }
    }

    /// Whether a flow is sparse as its first packet comes.
    fn is_sparse(&self, index: usize, now: Now) -> bool {
        let was_empty = match now.rule {
            SparseRule::Tokens => true,
            SparseRule::Idle => self.extra[index].left_after + 1 < now.slot,
        };
        was_empty && self.flows[index].tokens.count(now.mint) > 0
    }

    /// Whether no more waits of a flow than it can have tokens. Of several sparse flows, one of which much waits
    /// would come after all others, for ever.
    fn has_little(&self, index: usize, now: Now) -> bool {
        counted(self.flows[index].bytes) <= now.mint.limit()
    }

    /// Sparse flows of which much is left after a slot are busy.
    fn demote(&mut self, now: Now) {
        // from the last place on: what takes the place of one that leaves has been looked at, or is looked at there
        for place in (0..self.sparse.len()).rev() {
            while let Some(index) = self.sparse.at(place)
                && !self.has_little(index, now)
            {
                self.set_busy(index);
            }
        }
    }

    /// A flow that is not known has sent nothing for long.
    #[cold]
    fn begin(&mut self, id: u64, now: Now) -> usize {
        let index = self
            .free
            .pop()
            .map_or(self.flows.len(), |free| free as usize);
        if index == self.flows.len() {
            self.flows.push(Flow::new(id, now.mint));
            self.extra.push(Extra::default());
            self.quiet.push(Bytes::ZERO);
        }
        self.flows[index].begin(id, now.mint);
        self.extra[index].left_after = 0;
        self.quiet[index] = Bytes::ZERO;
        self.by_id.insert(id, index, &self.flows);
        index
    }

    /// To the end of the busy flows.
    #[inline(always)]
    fn join_busy(&mut self, index: usize) {
        let node = index as u32;
        let flow = &mut self.flows[index];
        (flow.state, flow.after) = (State::Busy, NONE);
        if self.busy.is_empty() {
            self.busy.first = node;
        } else {
            self.flows[self.busy.last as usize].after = node;
        }
        self.busy.last = node;
    }

    /// The first of the busy flows leaves them.
    #[inline(always)]
    fn leave_busy(&mut self) -> Option<usize> {
        let first = self.first_busy()?;
        self.busy.first = self.flows[first].after;
        Some(first)
    }

    #[inline(always)]
    fn first_busy(&self) -> Option<usize> {
        (!self.busy.is_empty()).then_some(self.busy.first as usize)
    }

    /// A flow that is not in any list is sparse from now on.
    fn set_sparse(&mut self, index: usize, now: Now) {
        let flow = &mut self.flows[index];
        flow.state = State::Sparse;
        flow.credit = now.mint.quantum();
        self.extra[index].rank = Rank {
            waiting: match now.rule {
                SparseRule::Tokens => flow.bytes,
                SparseRule::Idle => Bytes::ZERO,
            },
            number: self.next_number,
        };
        self.next_number += 1;
        self.sparse.insert(&mut self.extra, index);
    }

    /// What waits of a sparse flow has changed.
    fn rank(&mut self, index: usize, now: Now) {
        if now.rule == SparseRule::Idle {
            return;
        }
        self.extra[index].rank.waiting = self.flows[index].bytes;
        self.sparse.is_ranked(&mut self.extra, index);
    }

    /// A sparse flow that has packets is not sparse any more.
    fn set_busy(&mut self, index: usize) {
        self.sparse.remove(&mut self.extra, index);
        self.join_busy(index);
    }

    pub(super) fn next_slot(&mut self, now: Now, capacity: Bytes) {
        self.together.next_slot(now.mint, capacity);
        self.is_to_be_promoted = now.rule == SparseRule::Tokens;
        if now.rule == SparseRule::Idle {
            // a slot has passed and left them waiting
            while let Some(index) = self.sparse.first() {
                self.set_busy(index);
            }
            let mut next = self.busy.first;
            while let Some(flow) = self.flows.get(next as usize) {
                self.extra[next as usize].left_after = now.slot - 1;
                next = flow.after;
            }
        } else {
            self.demote(now);
        }
        self.remove_idle(now);
    }

    pub(super) fn promote<P: Packet>(
        &mut self,
        slab: &Slab<P>,
        now: Now,
        admits: &mut impl FnMut(Urgent) -> bool,
    ) {
        if !core::mem::replace(&mut self.is_to_be_promoted, false) {
            return;
        }
        let last = self.busy.last;
        while let Some(index) = self.leave_busy() {
            let flow = &self.flows[index];
            let is_sparse = flow.tokens.count(now.mint) > 0 && self.has_little(index, now);
            if is_sparse && flow.urgent(slab).is_some_and(&mut *admits) {
                self.set_sparse(index, now);
            } else {
                self.join_busy(index);
            }
            if index as u32 == last {
                return;
            }
        }
    }

    /// Whether sparse flows have had their part, and others wait.
    #[inline(always)]
    fn is_others_turn(&self, now: Now) -> bool {
        now.rule == SparseRule::Tokens && self.together.is_spent() && !self.busy.is_empty()
    }

    /// Whether there is a sparse flow that is admitted, and whose turn it is; those before it that are not are busy.
    pub(super) fn first_sparse<P: Packet>(
        &mut self,
        slab: &Slab<P>,
        now: Now,
        admits: &mut dyn FnMut(Urgent) -> bool,
    ) -> bool {
        if self.is_others_turn(now) {
            return false;
        }
        while let Some(index) = self.sparse.first() {
            if self.flows[index].urgent(slab).is_some_and(&mut *admits) {
                return true;
            }
            self.set_busy(index);
        }
        false
    }

    /// The flow whose turn it is; a busy one has credit. All that are listed have a packet.
    #[inline(always)]
    fn next(&mut self, now: Now) -> Option<usize> {
        if let Some(index) = self.sparse.first()
            && !self.is_others_turn(now)
        {
            return Some(index);
        }
        loop {
            let index = self.first_busy()?;
            let flow = &mut self.flows[index];
            if flow.credit > 0 {
                return Some(index);
            }
            flow.credit += now.mint.quantum();
            if self.busy.first != self.busy.last {
                self.busy.first = flow.after;
                self.join_busy(index);
            }
        }
    }

    /// The next packet leaves its flow, if it fits into `budget`. Its entry stays in the slab.
    #[inline(always)]
    pub(super) fn pop<P: Packet>(
        &mut self,
        slab: &mut Slab<P>,
        now: Now,
        budget: Bytes,
    ) -> Option<Departure> {
        let index = self.next(now)?;
        let flow = &mut self.flows[index];
        let bytes = slab.front(flow.chain)?.packet.bytes();
        if bytes > budget {
            return None;
        }
        let beyond = flow.beyond.min(bytes);
        flow.beyond -= beyond;
        flow.bytes -= bytes;
        flow.credit -= counted(bytes);
        flow.tokens.take(now.mint, bytes);
        if flow.state == State::Sparse {
            self.together.take(bytes);
        }
        let departure = Departure {
            node: slab.detach(&mut flow.chain),
            index,
            bytes,
            behind: flow.bytes,
            beyond,
        };
        let next = if flow.credit > 0 {
            index
        } else {
            flow.after as usize
        };
        if let Some(next) = self.flows.get(next) {
            slab.read_ahead(next.chain);
        }
        self.packets -= 1;
        self.settle(index, now);
        Some(departure)
    }

    /// A packet of this flow, whose turn it was, has left.
    #[inline(always)]
    fn settle(&mut self, index: usize, now: Now) {
        let flow = &mut self.flows[index];
        if flow.chain.is_empty() {
            let is_sparse = flow.state == State::Sparse;
            flow.state = State::Idle;
            if !core::mem::replace(&mut flow.is_listed, true) {
                self.idle.push_back(index as u32);
            }
            if is_sparse {
                self.sparse.remove(&mut self.extra, index);
            } else {
                self.leave_busy();
            }
            return;
        }
        if flow.state != State::Sparse {
            return;
        }
        let stays = match now.rule {
            SparseRule::Tokens => flow.tokens.count(now.mint) > 0,
            SparseRule::Idle => flow.credit > 0,
        };
        if stays {
            self.rank(index, now);
        } else {
            self.set_busy(index);
        }
    }

    /// Flows that have been idle for so long that they are as new ones are removed.
    fn remove_idle(&mut self, now: Now) {
        while let Some(&index) = self.idle.front() {
            let index = index as usize;
            let flow = &mut self.flows[index];
            if flow.state == State::Idle {
                if !flow.tokens.is_full(now.mint) {
                    return;
                }
                self.by_id.remove(index, &self.flows);
                self.free.push(index as u32);
            }
            self.flows[index].is_listed = false;
            self.idle.pop_front();
        }
    }
}
