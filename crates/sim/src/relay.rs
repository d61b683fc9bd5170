//! The proxy's part in a session: two connections, and the bytes that pass between them.
//!
//! ```text
//!   server <== wan connection ==[ proxy ]== ran connection ==> UE
//! ```
//!
//! Flow control is real on both sides. The proxy reads from one connection only as much as the
//! other's send buffer has room for; what it does not read fills its receive buffer, and the
//! receive window that the far sender sees closes. Half of the proxy's buffer for a flow and
//! direction is receive buffer, half is send buffer, so that their sum is never exceeded.
//!
//! An end of data passes on behind the data (half-close), a reset at once.

use crate::session::Endpoint;
use crate::tcp::{CloseReason, Connection};
use scenario::Direction;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// What waits in the proxy of one direction, to know how long.
#[derive(Debug, Default)]
struct Waiting {
    /// (in-order payload that had arrived, when), in order.
    arrivals: VecDeque<(Bytes, Instant)>,
    /// Payload arrived so far.
    arrived: Bytes,
}

impl Waiting {
    fn on_arrived(&mut self, now: Instant, arrived: Bytes) {
        if arrived > self.arrived {
            self.arrived = arrived;
            self.arrivals.push_back((arrived, now));
        }
    }

    /// The wait of the next part of the payload that has been sent on.
    fn pop_sent(&mut self, now: Instant, sent: Bytes) -> Option<Duration> {
        let &(until, at) = self.arrivals.front()?;
        if until > sent {
            return None;
        }
        self.arrivals.pop_front();
        Some(now.saturating_since(at))
    }
}

/// One direction of a relay.
#[derive(Debug, Default)]
struct Pipe {
    /// Payload read from one side and written to the other.
    passed: Bytes,
    is_closed: bool,
    waiting: Waiting,
}

impl Pipe {
    /// Passes on what fits, and the end behind it. True if anything moved.
    fn pass(&mut self, now: Instant, from: &mut Connection, to: &mut Connection) -> bool {
        let passed_before = self.passed;
        self.waiting.on_arrived(now, self.passed + from.readable());
        loop {
            let room = to.send_space();
            if room.is_zero() {
                break;
            }
            let Some(chunk) = from.read(now, room) else {
                break;
            };
            to.write(now, chunk.bytes, Some(chunk.origin));
            self.passed += chunk.bytes;
        }
        let ends = !self.is_closed && from.peer_closed() && from.readable().is_zero();
        if ends {
            self.is_closed = true;
            to.close(now);
        }
        ends || self.passed > passed_before
    }
}

/// The proxy's two connections of a session.
pub(crate) struct Relay {
    /// Towards the UE.
    pub(crate) ran: Endpoint,
    /// Towards the server.
    pub(crate) wan: Endpoint,
    down: Pipe,
    up: Pipe,
    is_reset: bool,
    was_finished: bool,
    /// Least round-trip sample towards the UE since it was last asked for.
    recent_ran_rtt: Option<Duration>,
    /// The allocator's last decision.
    pub(crate) decision: Option<rapid::Decision>,
}

impl Relay {
    /// Between two connections that have just been made.
    pub(crate) fn new(ran: Endpoint, wan: Endpoint) -> Self {
        Self {
            ran,
            wan,
            down: Pipe::default(),
            up: Pipe::default(),
            is_reset: false,
            was_finished: false,
            recent_ran_rtt: None,
            decision: None,
        }
    }

    /// Passes on what fits, both ways.
    pub(crate) fn run(&mut self, now: Instant) {
        let (ran, wan) = (&mut self.ran.connection, &mut self.wan.connection);
        self.down.pass(now, wan, ran);
        self.up.pass(now, ran, wan);
        if !self.is_reset && (is_broken(ran) || is_broken(wan)) {
            self.is_reset = true;
            ran.abort();
            wan.abort();
        }
    }

    /// True once, when both directions have ended and their ends have been passed on.
    pub(crate) fn take_finished(&mut self) -> bool {
        let is_finished = self.is_reset || (self.down.is_closed && self.up.is_closed);
        is_finished && !core::mem::replace(&mut self.was_finished, true)
    }

    /// A round-trip sample towards the UE.
    pub(crate) fn on_ran_rtt(&mut self, rtt: Duration) {
        let least = self.recent_ran_rtt.map_or(rtt, |least| least.min(rtt));
        self.recent_ran_rtt = Some(least);
    }

    /// The least of the samples since the last call.
    pub(crate) fn take_recent_ran_rtt(&mut self) -> Option<Duration> {
        self.recent_ran_rtt.take()
    }

    /// Payload that arrived from the server in order.
    pub(crate) fn wan_arrived(&self) -> Bytes {
        self.down.passed + self.wan.connection.readable()
    }

    /// Payload that has arrived and has not yet been sent on, in the direction of the data.
    pub(crate) fn buffered(&self, direction: Direction) -> Bytes {
        let (_, from, to) = self.pipe(direction);
        to.unsent() + from.readable()
    }

    /// The wait in the proxy of the next part of the data that has been sent on.
    pub(crate) fn pop_wait(&mut self, now: Instant, direction: Direction) -> Option<Duration> {
        let (pipe, _, to) = self.pipe(direction);
        let sent = pipe.passed - to.unsent();
        match direction {
            Direction::Down => self.down.waiting.pop_sent(now, sent),
            Direction::Up => self.up.waiting.pop_sent(now, sent),
        }
    }

    fn pipe(&self, direction: Direction) -> (&Pipe, &Connection, &Connection) {
        let (ran, wan) = (&self.ran.connection, &self.wan.connection);
        match direction {
            Direction::Down => (&self.down, wan, ran),
            Direction::Up => (&self.up, ran, wan),
        }
    }
}

/// True if a connection ended otherwise than by both sides closing it.
fn is_broken(connection: &Connection) -> bool {
    connection
        .close_reason()
        .is_some_and(|reason| reason != CloseReason::Finished)
}
