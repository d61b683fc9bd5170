//! Paths that may not answer any more: what the client's supervision can do about them.

use super::Tunnel;
use super::path::Phase;
use crate::{PathId, Payload};
use units::Instant;

impl<P: Payload> Tunnel<P> {
    /// A path is queried by a Sync, unless it is already: it is down if no answer comes in time.
    pub fn query(&mut self, now: Instant, path: PathId) {
        if let Some(path) = self.path_mut(path)
            && path.is_usable()
            && path.queried_at.is_none()
        {
            path.query_or_probe(now);
        }
    }

    /// A path is down until it answers, and is probed; what waits on it goes elsewhere.
    pub fn suspect(&mut self, now: Instant, path: PathId) {
        if let Some(state) = self.path_mut(path)
            && state.is_usable()
        {
            state.begin_probing(now);
            self.note_changes(usize::from(path.0));
        }
    }

    /// A packet leaves on a path at once, so that the peer follows to where it comes from: a Sync, or what the
    /// handshake repeats.
    pub fn nudge(&mut self, path: PathId) {
        let Some(path) = self.path_mut(path) else {
            return;
        };
        match path.phase {
            Phase::Open => path.sync = path.numbers.greatest_received(),
            Phase::Request | Phase::PartOpen => path.must_send = path.retry.is_some(),
            Phase::Respond | Phase::Closing | Phase::Closed => {}
        }
    }

    /// True once a first path has been open: further ones join.
    pub fn takes_joins(&self) -> bool {
        self.identity.is_established
    }
}
