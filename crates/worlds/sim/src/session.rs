//! One connection of a flow, end to end: its two hosts and, between them, the proxy's two sides.
//!
//! A session holds what the application does with the connection: the client's request, the object
//! that the data's sender has still to hand over, and what the receiver still expects; or several exchanges at the same time
//! ([`Http`]).

use crate::host::{End, Host};
use crate::http::{Arrived, Http};
use crate::relay::Relay;
use crate::schedule::EntityId;
use crate::tcp::Connection;
use network::app::Request;
use scenario::Direction;
use units::{BitRate, Bytes, Instant};

/// An end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The UE's.
    Client,
    /// The server's.
    Server,
    /// The proxy's, towards the UE.
    ProxyRan,
    /// The proxy's, towards the server.
    ProxyWan,
}

/// A connection's end with its timer: the proxy's, unless another is named.
pub(crate) struct Endpoint<C = Connection> {
    /// The connection.
    pub(crate) connection: C,
    /// Its timer in the schedule.
    pub(crate) timer: EntityId,
}

impl Endpoint<Host> {
    /// A host's end and its timer.
    fn host(&mut self) -> (End<'_>, EntityId) {
        (self.connection.end(), self.timer)
    }
}

impl Endpoint {
    /// An end of the proxy's and its timer.
    fn proxy(&mut self) -> (End<'_>, EntityId) {
        (End::Tcp(&mut self.connection), self.timer)
    }
}

/// Hands an object to the connection no faster than a rate, without making up for pauses.
#[derive(Clone, Copy, Debug)]
struct Release {
    rate: BitRate,
    /// Bytes at a time.
    chunk: Bytes,
    /// When the next chunk may go.
    next_at: Instant,
}

/// What the data's sender has still to do.
#[derive(Clone, Copy, Debug, Default)]
struct Outgoing {
    /// Bytes not yet handed to the connection; `u64::MAX` is without end.
    left: Bytes,
    release: Option<Release>,
    closes_after: bool,
}

/// A connection of a flow.
pub(crate) struct Session {
    /// The flow.
    pub(crate) flow: u32,
    /// Its number among the flow's sessions, from 0.
    pub(crate) number: u32,
    /// Which way its data goes.
    direction: Direction,
    /// The UE's end.
    pub(crate) client: Endpoint<Host>,
    /// The server's end.
    pub(crate) server: Endpoint<Host>,
    /// The proxy between them.
    pub(crate) relay: Option<Box<Relay>>,
    /// Of the request, not yet handed to the client's connection.
    request_unsent: Bytes,
    /// Of the request, not yet read by the server.
    request_unread: Bytes,
    /// The object that answers the request.
    requested: Outgoing,
    outgoing: Outgoing,
    /// Of the object, not yet read by the receiver; `None` without an end.
    expected: Option<Bytes>,
    /// When the object was requested.
    object_began: Instant,
    /// The exchanges of a session that has several at the same time, towards the user.
    http: Option<Box<Http>>,
}

/// An object that is requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectSpec {
    /// Payload of the request.
    pub(crate) request: Bytes,
    /// Bytes; `None` is without end.
    pub(crate) size: Option<Bytes>,
    /// The sender's own limit, with the bytes that it hands over at a time.
    pub(crate) rate: Option<(BitRate, Bytes)>,
    /// The sender closes the connection behind it.
    pub(crate) closes_after: bool,
}

impl Session {
    /// A session whose client has not yet opened.
    pub(crate) fn new(
        flow: u32,
        number: u32,
        direction: Direction,
        client: Endpoint<Host>,
        server: Endpoint<Host>,
    ) -> Self {
        Self {
            flow,
            number,
            direction,
            client,
            server,
            relay: None,
            request_unsent: Bytes::ZERO,
            request_unread: Bytes::ZERO,
            requested: Outgoing::default(),
            outgoing: Outgoing::default(),
            expected: None,
            object_began: Instant::ZERO,
            http: None,
        }
    }

    /// The same, with several exchanges at the same time instead of one object after the other.
    pub(crate) fn with_http(self, http: Http) -> Self {
        Self {
            http: Some(Box::new(http)),
            ..self
        }
    }

    /// The client requests an object beside others.
    pub(crate) fn request(&mut self, request: Request) {
        if let Some(http) = &mut self.http {
            http.request(request);
        }
    }

    /// What the client has seen of objects that it requested beside others.
    pub(crate) fn take_arrived(&mut self) -> Option<Arrived> {
        self.http.as_mut()?.take_arrived()
    }

    /// The client needs the connection no more.
    pub(crate) fn close(&mut self, now: Instant) {
        self.client.connection.close(now);
    }

    /// An end, if it exists, and its timer.
    pub(crate) fn end(&mut self, side: Side) -> Option<(End<'_>, EntityId)> {
        match side {
            Side::Client => Some(self.client.host()),
            Side::Server => Some(self.server.host()),
            Side::ProxyRan => Some(self.relay.as_mut()?.ran.proxy()),
            Side::ProxyWan => Some(self.relay.as_mut()?.wan.proxy()),
        }
    }

    /// The connection of a host.
    fn host(&mut self, side: Side) -> Option<&mut Host> {
        match side {
            Side::Client => Some(&mut self.client.connection),
            Side::Server => Some(&mut self.server.connection),
            Side::ProxyRan | Side::ProxyWan => None,
        }
    }

    /// The host that sends the data.
    pub(crate) fn sender_side(&self) -> Side {
        match self.direction {
            Direction::Down => Side::Server,
            Direction::Up => Side::Client,
        }
    }

    /// The end whose acknowledgements record the round-trip time of the data: the last sender before
    /// its receiver.
    pub(crate) fn rtt_side(&self) -> Side {
        match (self.direction, self.relay.is_some()) {
            (Direction::Down, true) => Side::ProxyRan,
            (Direction::Up, true) => Side::ProxyWan,
            (_, false) => self.sender_side(),
        }
    }

    /// The connection of the host that sends the data.
    pub(crate) fn sender(&mut self) -> &mut Host {
        match self.direction {
            Direction::Down => &mut self.server.connection,
            Direction::Up => &mut self.client.connection,
        }
    }

    /// The connection of the host that receives the data.
    pub(crate) fn receiver(&mut self) -> &mut Host {
        match self.direction {
            Direction::Down => &mut self.client.connection,
            Direction::Up => &mut self.server.connection,
        }
    }

    /// Payload that has come to the receiver of the data, in any order; none at other sides.
    pub(crate) fn received_at(&self, side: Side) -> Option<Bytes> {
        match (side, self.direction) {
            (Side::Client, Direction::Down) => Some(self.client.connection.received()),
            (Side::Server, Direction::Up) => Some(self.server.connection.received()),
            _ => None,
        }
    }

    /// Begins an object: the client requests it (data towards the UE) or hands it over itself.
    pub(crate) fn begin_object(&mut self, now: Instant, object: ObjectSpec) {
        let outgoing = Outgoing {
            left: object.size.unwrap_or(Bytes::MAX),
            release: object.rate.map(|(rate, chunk)| Release {
                rate,
                chunk,
                next_at: now,
            }),
            closes_after: object.closes_after,
        };
        self.object_began = now;
        self.expected = object.size;
        match self.direction {
            Direction::Down => {
                self.requested = outgoing;
                self.request_unsent += object.request;
                self.request_unread += object.request;
            }
            Direction::Up => self.outgoing = outgoing,
        }
    }

    /// When the object in progress was requested.
    pub(crate) fn object_began(&self) -> Instant {
        self.object_began
    }

    /// True while the receiver expects more of an object that has an end.
    pub(crate) fn is_unfinished(&self) -> bool {
        if let Some(http) = &self.http {
            return http.is_unfinished();
        }
        self.expected.is_some_and(|left| !left.is_zero())
    }

    /// The application of one host reads and writes what it can, without data for the receiver.
    pub(crate) fn run_application(&mut self, now: Instant, side: Side) {
        if let Some(http) = &mut self.http {
            match side {
                Side::Client => http.run_client(now, &mut self.client.connection),
                Side::Server => http.run_server(now, &mut self.server.connection),
                Side::ProxyRan | Side::ProxyWan => {}
            }
            return self.answer_close(now, side);
        }
        match (side, self.direction) {
            (Side::Client, Direction::Down) => self.write_request(now),
            (Side::Server, Direction::Down) => {
                self.read_request(now);
                self.hand_over(now);
            }
            (Side::Client, Direction::Up) => self.hand_over(now),
            (Side::Server, Direction::Up) | (Side::ProxyRan | Side::ProxyWan, _) => {}
        }
        self.answer_close(now, side);
    }

    /// The receiver's application reads what has arrived: payload, and when it left the sender.
    pub(crate) fn read_data(&mut self, now: Instant) -> Option<(Bytes, Instant)> {
        if let Some(http) = &mut self.http {
            return http.read(now, &mut self.client.connection);
        }
        let chunk = self.receiver().read(now, Bytes::MAX)?;
        if let Some(left) = &mut self.expected {
            *left = left.saturating_sub(chunk.bytes);
        }
        Some((chunk.bytes, chunk.origin))
    }

    /// True once, when the whole object has been read.
    pub(crate) fn take_object_done(&mut self) -> bool {
        let is_done = self.expected == Some(Bytes::ZERO);
        if is_done {
            self.expected = None;
        }
        is_done
    }

    /// When the sender's own rate allows the next part of the object, or another answer is ready.
    pub(crate) fn next_release(&self) -> Option<Instant> {
        if let Some(http) = &self.http {
            return http.next_ready();
        }
        let release = self.outgoing.release?;
        (!self.outgoing.left.is_zero()).then_some(release.next_at)
    }

    /// True if no end has anything left to do.
    pub(crate) fn is_over(&self) -> bool {
        let relay_is_over = self.relay.as_ref().is_none_or(|relay| {
            relay.ran.connection.is_closed() && relay.wan.connection.is_closed()
        });
        let server = &self.server.connection;
        let server_is_over = server.is_closed() || server.has_no_peer();
        self.client.connection.is_closed() && server_is_over && relay_is_over
    }

    fn write_request(&mut self, now: Instant) {
        if !self.request_unsent.is_zero() {
            let written = self.client.connection.write(now, self.request_unsent);
            self.request_unsent -= written;
        }
    }

    fn read_request(&mut self, now: Instant) {
        if self.request_unread.is_zero() {
            return;
        }
        while let Some(chunk) = self.server.connection.read(now, self.request_unread) {
            self.request_unread = self.request_unread.saturating_sub(chunk.bytes);
            if self.request_unread.is_zero() {
                self.outgoing = self.requested;
                if let Some(release) = &mut self.outgoing.release {
                    release.next_at = now;
                }
                return;
            }
        }
    }

    /// Gives the sender's connection as much of the object as it takes.
    fn hand_over(&mut self, now: Instant) {
        if self.outgoing.left.is_zero() {
            return;
        }
        let mut outgoing = self.outgoing;
        let connection = self.sender();
        while !outgoing.left.is_zero() {
            let allowed = match outgoing.release {
                None => outgoing.left,
                Some(release) if release.next_at <= now => release.chunk.min(outgoing.left),
                Some(_) => break,
            };
            let written = connection.write(now, allowed);
            if written.is_zero() {
                break;
            }
            if outgoing.left != Bytes::MAX {
                outgoing.left -= written;
            }
            if let Some(release) = &mut outgoing.release {
                release.next_at = release.next_at.max(now) + written / release.rate;
            } else if written < allowed {
                break;
            }
        }
        if outgoing.left.is_zero() && outgoing.closes_after {
            connection.close(now);
        }
        self.outgoing = outgoing;
    }

    /// A host whose peer has closed, and which has nothing left to send or read, closes too.
    fn answer_close(&mut self, now: Instant, side: Side) {
        let is_answering = self.http.as_ref().is_some_and(|http| !http.has_answered());
        let has_more = match (side, self.sender_side()) {
            (side, sender) if side == sender && is_answering => true,
            (side, sender) if side == sender => !self.outgoing.left.is_zero(),
            (Side::Client, _) => !self.request_unsent.is_zero(),
            _ => false,
        };
        let Some(connection) = self.host(side) else {
            return;
        };
        if !has_more && connection.peer_closed() && connection.readable().is_zero() {
            connection.close(now);
        }
    }
}
