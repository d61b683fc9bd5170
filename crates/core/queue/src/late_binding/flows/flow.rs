//! One flow: its packets, its turn, and what it may send as a sparse one.

use super::tokens::{Mint, Tokens};
use crate::slab::{Chain, NONE, Slab};
use crate::{Packet, Urgent};
use units::Bytes;

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has nothing waiting.
    Idle,
    /// Among the sparse flows.
    Sparse,
    /// Among the others.
    Busy,
}

/// The order of sparse flows: what waits, then how long it has been one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) waiting: Bytes,
    pub(super) number: u64,
}

/// One flow: what every packet touches, in a cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Flow {
    pub(super) id: u64,
    pub(super) chain: Chain,
    /// The bytes of its packets.
    pub(super) bytes: Bytes,
    /// Of those, what came although there was no room.
    pub(super) beyond: Bytes,
    /// Bytes that it may send before it goes to the end of the busy flows, at most one quantum.
    pub(super) credit: i64,
    /// What it may send as a sparse flow.
    pub(super) tokens: Tokens,
    /// The busy flow behind it.
    pub(super) after: u32,
    pub(super) state: State,
    /// It is in the list of flows to be removed.
    pub(super) is_listed: bool,
}

/// The rest of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extra {
    /// Its order among the sparse flows, while it is one of them.
    pub(super) rank: Rank,
    /// Where it is among them.
    pub(super) place: u32,
    /// The last slot after which something of it was left.
    pub(super) left_after: u64,
}

impl Flow {
    pub(super) fn new(id: u64, mint: Mint) -> Self {
        Self {
            id,
            chain: Chain::EMPTY,
            bytes: Bytes::ZERO,
            beyond: Bytes::ZERO,
            credit: 0,
            state: State::Idle,
            after: NONE,
            tokens: Tokens::full(mint),
            is_listed: false,
        }
    }

    /// Another flow takes its place, of which nothing is known.
    pub(super) fn begin(&mut self, id: u64, mint: Mint) {
        self.id = id;
        self.tokens = Tokens::full(mint);
    }

    /// Its first packet.
    pub(super) fn urgent<P: Packet>(&self, slab: &Slab<P>) -> Option<Urgent> {
        let first = &slab.front(self.chain)?.packet;
        Some(Urgent {
            flow: first.flow(),
            qfi: first.qfi(),
            bytes: first.bytes(),
        })
    }
}
