//! The sender's half: which packets a parity is made of.

use super::{Group, MAX_WAIT, MEMBERS};
use crate::seq::MpSeq;
use crate::{PathId, Payload};
use units::Instant;

/// A group that is closed.
#[derive(Debug)]
pub(crate) struct Finished<P> {
    pub(crate) of: Made<P>,
    /// The path of its last packet.
    pub(crate) path: PathId,
}

/// What protects its packets.
#[derive(Debug)]
pub(crate) enum Made<P> {
    Parity(Group, P),
    /// There was one alone: a copy of it.
    Copy(MpSeq, P),
}

/// Packets of which no parity was made yet.
#[derive(Debug)]
pub(crate) struct Encoder<P> {
    members: Vec<(MpSeq, P)>,
    /// When the first of them left, and where the last one did.
    since: Instant,
    path: PathId,
}

impl<P: Payload> Encoder<P> {
    pub(crate) fn new() -> Self {
        Self {
            members: Vec::with_capacity(MEMBERS),
            since: Instant::ZERO,
            path: PathId(0),
        }
    }

    /// A packet left for that path.
    pub(crate) fn push(&mut self, now: Instant, number: MpSeq, payload: P, path: PathId) {
        if self.members.is_empty() {
            self.since = now;
        }
        self.path = path;
        self.members.push((number, payload));
    }

    /// When the group is to be closed.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.members.is_empty()).then(|| self.since + MAX_WAIT)
    }

    /// The group, if it is full or has waited long enough. Packets of which no parity can be made have none.
    pub(crate) fn finish(&mut self, now: Instant) -> Option<Finished<P>> {
        let is_full = self.members.len() >= MEMBERS;
        if !is_full && self.due().is_none_or(|due| now < due) {
            return None;
        }
        let (numbers, payloads): (Vec<_>, Vec<_>) = self.members.drain(..).unzip();
        let of = match (&numbers[..], &payloads[..]) {
            ([number], [payload]) => Made::Copy(*number, payload.clone()),
            _ => Made::Parity(Group::of(&numbers)?, P::parity(&payloads)?),
        };
        Some(Finished {
            of,
            path: self.path,
        })
    }
}
