//! What a worker does as connections are moved to another proxy, or from one.

use super::slab::Key;
use relocation::{Flow, Outcome};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;

/// A command to a worker, of a transfer of connections.
#[derive(Debug)]
pub(crate) enum Moving {
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
    /// The other has them.
    Forget(Vec<Key>),
    /// The other may have them, or not: both ends are to know that they are over.
    Reset(Vec<Key>),
    /// These live here from now on.
    Adopt(Vec<Adopted>),
}

/// A connection that was to be frozen.
#[derive(Debug)]
pub(crate) struct Frozen {
    /// Whose it is, for the commands that follow.
    pub(crate) key: Key,
    /// The UE's end, and the server's.
    pub(crate) ends: (SocketAddr, SocketAddr),
    /// Its state; if it stays, why.
    pub(crate) state: Result<Box<Flow>, Outcome>,
}

/// A connection that another proxy had, whose sockets live.
#[derive(Debug)]
pub(crate) struct Adopted {
    /// As it was sent. What is in flight is with the sockets.
    pub(crate) flow: Box<Flow>,
    /// Towards the UE.
    pub(crate) ran: OwnedFd,
    /// Towards the server.
    pub(crate) wan: OwnedFd,
}
