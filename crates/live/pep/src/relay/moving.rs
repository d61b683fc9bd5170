//! What a worker does as connections are moved to another proxy, or from one.

use super::slab::Key;
use relocation::{Ahead, Flow, Late, Outcome, Rest};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;

/// A command to a worker, of a transfer of connections.
#[derive(Debug)]
pub(crate) enum Moving {
    /// Give what the connections of this UE carry and have not been copied of yet; they go on.
    Copy {
        /// The UE.
        ue: IpAddr,
        /// How far the transfer is.
        phase: Phase,
        /// No more bytes than that, and what one connection's socket has received.
        most: usize,
        /// To whom.
        to: Sender<Copies>,
    },
    /// Nothing of this UE's connections is copied any more: they stay.
    Uncopy(IpAddr),
    /// Freeze the connections of this UE, and give their state.
    Freeze {
        /// The UE.
        ue: IpAddr,
        /// To whom.
        to: Sender<Vec<Frozen>>,
    },
    /// They go on.
    Thaw(Vec<Key>),
    /// They are another's: they end without a packet from now on, and stay until it has confirmed it.
    Silence(Vec<Key>),
    /// Packets to them come to the other: give what has come since they were frozen.
    Flush {
        /// Which.
        keys: Vec<Key>,
        /// To whom.
        to: Sender<Vec<Late>>,
    },
    /// The other has them. The sender is dropped when they are gone.
    Forget(Vec<Key>, Sender<()>),
    /// The other may have them, or not: both ends are to know that they are over.
    Reset(Vec<Key>),
    /// These live here from now on.
    Adopt {
        /// Restored.
        connections: Vec<Adopted>,
        /// Their ends are asked later for what they have: [`Self::Probe`].
        is_probed_later: bool,
        /// Where the number of those that do is sent.
        begun: Sender<usize>,
    },
    /// Packets of this UE's connections come here from now on: both ends are to acknowledge what they have.
    Probe(IpAddr),
}

/// How far copying is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It is the first time.
    First,
    /// Payload goes on.
    Running,
    /// The same; what sockets have sent is waited for no longer.
    Late,
    /// No payload is read any more: what was read goes on.
    Holding,
}

/// What was copied of running connections.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// For the other proxy.
    pub(crate) ahead: Vec<Ahead>,
    /// Of these, payload, bytes.
    pub(crate) bytes: usize,
    /// Not copied: sockets had it before, and it is not acknowledged; bytes.
    pub(crate) before: usize,
    /// Not copied, for it was too much at once.
    pub(crate) has_more: bool,
}

/// The state of a frozen connection.
#[derive(Debug)]
pub(crate) enum State {
    /// All of it.
    Whole(Box<Flow>),
    /// What was not copied while it ran.
    Rest(Box<Rest>),
}

/// A connection that was to be frozen.
#[derive(Debug)]
pub(crate) struct Frozen {
    /// Whose it is, for the commands that follow.
    pub(crate) key: Key,
    /// The UE's end, and the server's.
    pub(crate) ends: (SocketAddr, SocketAddr),
    /// All payload that moves with it, bytes.
    pub(crate) payload: usize,
    /// Its state; if it stays, why.
    pub(crate) state: Result<State, Outcome>,
}

/// A connection that another proxy had, whose sockets are restored.
#[derive(Debug)]
pub(crate) struct Adopted {
    /// As it was sent. What is in flight is with the sockets.
    pub(crate) flow: Box<Flow>,
    /// What the other has learnt of it.
    pub(crate) learnt: Option<edge::Learnt>,
    /// Towards the UE.
    pub(crate) ran: OwnedFd,
    /// Towards the server.
    pub(crate) wan: OwnedFd,
}
