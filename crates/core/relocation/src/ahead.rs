//! Bytes that are sent while a connection still runs, and what is left for the time that it is frozen.
//!
//! A direction's bytes are numbered from the first that the source had not handed to its socket as it began to copy:
//!
//! ```text
//!     handed over before        0        begin          copied        the end
//!   --[ acknowledged | head ]--[ acknowledged | ahead  ]-[   tail    ]
//!                    '------ in flight ------'- to be handed on -----'
//! ```
//!
//! Ahead has the bytes in their order, without a gap, and so far they are acknowledged, which the target forgets. Rest has
//! head and tail: head only where bytes of before 0 are not acknowledged, which is when nothing behind them is.

use crate::flow::Flow;
use crate::message::Malformed;
use crate::outcome::Outcome;
use crate::pieces::Pieces;
use crate::reader::{Reader, put_address, put_bytes, put_position, put_word};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// What may be learnt of a connection, bytes.
pub const MAX_LEARNT: usize = 256;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Towards the UE.
    Ue,
    /// Towards the server.
    Server,
}

impl Towards {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        match from.byte()? {
            0 => Ok(Self::Ue),
            1 => Ok(Self::Server),
            _ => Err(Malformed::Value),
        }
    }
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The UE's end.
    pub client: SocketAddr,
    /// The server's end.
    pub server: SocketAddr,
    /// Where bytes go: they come from the other end.
    pub towards: Towards,
}

impl Way {
    pub(crate) fn put(self, to: &mut Vec<u8>) {
        put_address(to, self.client);
        put_address(to, self.server);
        to.push(self.towards as u8);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            client: from.address()?,
            server: from.address()?,
            towards: Towards::read(from)?,
        })
    }
}

/// Bytes of one direction of a connection that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Which.
    pub way: Way,
    /// The number of the first of the bytes.
    pub at: u64,
    /// Those below are acknowledged, and not needed.
    pub acknowledged: u64,
    /// The bytes; there may be none.
    pub bytes: Vec<u8>,
}

impl Ahead {
    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        self.way.put(to);
        put_position(to, self.at);
        put_position(to, self.acknowledged);
        put_bytes(to, &self.bytes);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            way: Way::read(from)?,
            at: from.position()?,
            acknowledged: from.position()?,
            bytes: from.bytes()?,
        })
    }
}

/// Of one direction, where bytes that were sent ahead stand among all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The first that is needed of those that were sent ahead.
    pub begin: u64,
    /// The end of those.
    pub copied: u64,
    /// Of all, what is sent and not acknowledged.
    pub in_flight: u32,
}

impl Part {
    fn put(self, to: &mut Vec<u8>) {
        put_position(to, self.begin);
        put_position(to, self.copied);
        put_word(to, self.in_flight);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let part = Self {
            begin: from.position()?,
            copied: from.position()?,
            in_flight: from.word()?,
        };
        (part.begin <= part.copied)
            .then_some(part)
            .ok_or(Malformed::Value)
    }
}

/// A frozen connection of which bytes were sent ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// All but those: what stands as in flight is the head, and as to be handed on the tail.
    pub flow: Flow,
    /// Towards the UE.
    pub down: Part,
    /// Towards the server.
    pub up: Part,
    /// What the source has learnt of it, in a form that is not this crate's; at most [`MAX_LEARNT`] bytes.
    pub learnt: Vec<u8>,
}

impl Rest {
    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        self.flow.put(to);
        self.down.put(to);
        self.up.put(to);
        put_bytes(to, &self.learnt);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let rest = Self {
            flow: Flow::read(from)?,
            down: Part::read(from)?,
            up: Part::read(from)?,
            learnt: from.bytes()?,
        };
        (rest.learnt.len() <= MAX_LEARNT)
            .then_some(rest)
            .ok_or(Malformed::Value)
    }
}

/// What has come ahead of one direction.
#[derive(Debug, Default)]
struct Stream {
    /// The number of the first byte.
    begin: u64,
    bytes: Pieces,
    /// There was no room for some of it.
    is_cut: bool,
}

impl Stream {
    fn end(&self) -> u64 {
        self.begin + self.bytes.len() as u64
    }

    fn forget(&mut self, below: u64) {
        let below = below.clamp(self.begin, self.end());
        self.bytes.give_up((below - self.begin) as usize);
        self.begin = below;
    }

    /// All of it, and how much of that is in flight.
    fn complete(
        mut self,
        head: Vec<u8>,
        part: Part,
        tail: Pieces,
    ) -> Result<(Vec<u8>, Pieces), Outcome> {
        if self.is_cut {
            return Err(Outcome::NoRoom);
        }
        let has_gap = !head.is_empty() && part.begin > 0;
        if part.copied != self.end() || part.begin < self.begin || has_gap {
            return Err(Outcome::NotRestored);
        }
        self.forget(part.begin);
        let mut all = Pieces::from(head);
        all.append(self.bytes);
        all.append(tail);
        let in_flight = part.in_flight as usize;
        if in_flight > all.len() {
            return Err(Outcome::NotRestored);
        }
        let sent = all.copy(0, in_flight);
        all.give_up(in_flight);
        Ok((sent, all))
    }
}

/// What has come ahead of a UE's connections.
#[derive(Debug, Default)]
pub struct Streams {
    of: BTreeMap<(SocketAddr, SocketAddr), [Stream; 2]>,
    held: usize,
}

impl Streams {
    /// Bytes that are held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes what has come, if no more than `most` bytes and `most_flows` connections are held then. What finds no room is
    /// forgotten with its connection, which stays ([`Outcome::NoRoom`]).
    ///
    /// # Errors
    /// It does not follow what came before.
    pub fn take(&mut self, ahead: Ahead, most: usize, most_flows: usize) -> Result<(), Malformed> {
        let ends = (ahead.way.client, ahead.way.server);
        if !self.of.contains_key(&ends) && self.of.len() >= most_flows {
            return Ok(());
        }
        let stream = &mut self.of.entry(ends).or_default()[ahead.way.towards as usize];
        if stream.is_cut {
            return Ok(());
        }
        if ahead.at != stream.end() || ahead.at.checked_add(ahead.bytes.len() as u64).is_none() {
            return Err(Malformed::Value);
        }
        let had = stream.bytes.len();
        stream.bytes.push(ahead.bytes);
        stream.forget(ahead.acknowledged);
        self.held = self.held - had + stream.bytes.len();
        if self.held > most {
            self.held -= stream.bytes.len();
            *stream = Stream {
                is_cut: true,
                ..Stream::default()
            };
        }
        Ok(())
    }

    /// What has come of this connection is of no use.
    pub fn forget(&mut self, client: SocketAddr, server: SocketAddr) {
        if let Some(streams) = self.of.remove(&(client, server)) {
            let held = streams.iter().map(|stream| stream.bytes.len());
            self.held -= held.sum::<usize>();
        }
    }

    /// A connection as a whole.
    ///
    /// # Errors
    /// There was no room for what came ahead, or it is not that.
    pub fn complete(&mut self, rest: Rest) -> Result<Flow, Outcome> {
        let Rest {
            mut flow, down, up, ..
        } = rest;
        let streams = self.of.remove(&(flow.client, flow.server));
        let [to_ue, to_server] = streams.ok_or(Outcome::NoRoom)?;
        self.held -= to_ue.bytes.len() + to_server.bytes.len();
        let head = std::mem::take(&mut flow.ran.in_flight);
        (flow.ran.in_flight, flow.down) =
            to_ue.complete(head, down, std::mem::take(&mut flow.down))?;
        let head = std::mem::take(&mut flow.wan.in_flight);
        (flow.wan.in_flight, flow.up) =
            to_server.complete(head, up, std::mem::take(&mut flow.up))?;
        Ok(flow)
    }
}

#[cfg(test)]
mod tests;
