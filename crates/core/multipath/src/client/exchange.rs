//! What a client and its driver exchange.

use crate::packet::{AddressId, Packet};
use core::net::IpAddr;
use units::{Bytes, Ecn};

/// A path that a client is configured with. The number of one that was removed and has ended is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientPathId(pub u16);

impl ClientPathId {
    /// Its place in a list of all paths.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the driver has to do with the sockets. To be done in order, each after everything that
/// [`super::Client::poll_transmit`] gives has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a socket for the path, or a TCP connection. Answered by [`super::Client::on_opened`] as soon as
    /// it takes packets, or [`super::Client::on_open_failed`].
    Open(ClientPathId),
    /// Open another socket for the path and have it take the place of the present one, which stays if that
    /// fails. Answered as [`Action::Open`] is.
    Renew(ClientPathId),
    /// Close the path's socket, if it has one.
    Close(ClientPathId),
}

/// A change that is reported to the driver, for its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// A connection is established: its first path is up.
    Connected,
    /// A path is up.
    PathUp(ClientPathId),
    /// A path does not answer; the others carry what it carried.
    PathDown(ClientPathId),
    /// A path is over; it is opened again, unless it was removed.
    PathClosed(ClientPathId),
    /// The server does not have the connection: a new one begins.
    ConnectionUnknown,
    /// No path has answered for [`super::Supervision::connection_timeout`]: a new connection begins.
    GivenUp,
    /// A connection begins anew.
    Begun,
    /// The server takes paths at a further address.
    AddressAdded {
        /// Its number.
        id: AddressId,
        /// The address.
        address: IpAddr,
        /// Its port, if not that of the paths there are.
        port: Option<u16>,
    },
    /// An address of the server is gone.
    AddressRemoved(AddressId),
}

/// What is reported of the network below a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// The path's interface can carry packets again.
    LinkUp,
    /// It cannot.
    LinkDown,
    /// The interface's addresses have changed: the socket may send from one that is gone.
    AddressChanged,
    /// Routes have changed.
    RouteChanged,
}

impl NetworkEvent {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::LinkUp,
        Self::LinkDown,
        Self::AddressChanged,
        Self::RouteChanged,
    ];

    /// As logs and counters name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LinkUp => "link-up",
            Self::LinkDown => "link-down",
            Self::AddressChanged => "address-changed",
            Self::RouteChanged => "route-changed",
        }
    }
}

/// Why packets could not be sent on a path's socket, as far as it matters to the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendFault {
    /// The interface or the address that the socket is bound to is gone (ENODEV, EADDRNOTAVAIL): this socket
    /// will not send again.
    SocketGone,
    /// There is no way to the server now (ENETDOWN, ENETUNREACH, EHOSTUNREACH).
    Unreachable,
    /// The server's host has no socket there (ECONNREFUSED): the server may be restarting.
    Refused,
}

/// Where a configured path is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// It has no socket; it is opened again later.
    Closed,
    /// Its socket is being opened.
    Opening,
    /// It has a socket, and waits for the first path of the connection.
    Waiting,
    /// It does not answer, or has not answered yet.
    Down,
    /// Data flows on it, or may.
    Up,
}

/// A packet that is to leave on a path.
#[derive(Clone, Debug)]
pub struct ClientTransmit<P> {
    /// The path, whose socket it takes.
    pub path: ClientPathId,
    /// The packet.
    pub packet: Packet,
    /// What it carries.
    pub payload: Option<P>,
    /// As [`crate::tunnel::Transmit::size`].
    pub size: Option<Bytes>,
    /// The ECN codepoint of its IP header.
    pub ecn: Ecn,
}

/// What a client's supervision has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounters {
    /// Connections begun, the first one included.
    pub connections: u64,
    /// Of those, begun because the server did not have the one before.
    pub unknown: u64,
    /// Of those, begun because no path of the one before answered.
    pub given_up: u64,
    /// Sockets of paths that were to be opened.
    pub opened: u64,
    /// Sockets that were to be renewed.
    pub renewed: u64,
    /// Sockets that could not be opened or renewed.
    pub failed: u64,
}
