//! Paths whose packets come from another address: whether it is their client's.

use super::{FlowKey, Server};
use crate::packet::{Kind, Packet};
use crate::tunnel::Refusal;
use crate::{PathId, Payload, SeqNo};
use units::{Duration, Ecn, Instant};

/// An address that has not answered is queried again by the next valid packet after so long.
const QUESTION_AGAIN: Duration = Duration::from_millis(200);
/// Syncs of a connection that answers are awaited of, at most.
const MAX_MOVES: usize = 16;
/// An address that was sent a Sync, to confirm that a path has moved there.
pub(super) struct Move {
    path: PathId,
    to: FlowKey,
    /// Number of the Sync, and when it was sent.
    sync: SeqNo,
    asked_at: Instant,
}

impl<P: Payload> Server<P> {
    /// A packet of no known flow: perhaps a path's that has moved.
    pub(super) fn on_stranger(&mut self, now: Instant, key: FlowKey, packet: &Packet) {
        if self.has_moved(now, key, packet) {
            return;
        }
        let candidate = self.flows.iter().find_map(|(known, &(connection, path))| {
            let is_like = known.ports == key.ports && known.flow.socket == key.flow.socket;
            let state = self.connections.get(&connection).filter(|_| is_like)?;
            state
                .tunnel
                .is_valid(path, packet)
                .then_some((connection, path))
        });
        let Some((connection, path)) = candidate else {
            self.counters.strangers += 1;
            return self.reset(now, key.flow, packet, Refusal::NotARequest);
        };
        let Some(state) = self.connections.get_mut(&connection) else {
            return;
        };
        let is_asked = state.moves.iter().any(|pending| {
            pending.to == key && now.saturating_since(pending.asked_at) < QUESTION_AGAIN
        });
        if is_asked || !state.questions.take(now) {
            return;
        }
        if let Some(sync) = state.tunnel.sync_packet(now, path, packet.seq) {
            if state.moves.len() == MAX_MOVES {
                state.moves.pop_front();
            }
            state.moves.push_back(Move {
                path,
                to: key,
                sync: sync.seq,
                asked_at: now,
            });
            self.outbox.push_back((key.flow, sync));
        }
    }

    /// The answer to a Sync that was sent there.
    fn has_moved(&mut self, now: Instant, key: FlowKey, packet: &Packet) -> bool {
        let Kind::SyncAck { ack } = packet.kind else {
            return false;
        };
        let is_it = |pending: &Move| pending.to == key && pending.sync == ack;
        let found = self.connections.iter_mut().find_map(|(key, state)| {
            let path = state.moves.iter().find(|pending| is_it(pending))?.path;
            Some((*key, state, path))
        });
        let Some((connection, state, path)) = found else {
            return false;
        };
        if !state.tunnel.is_valid(path, packet) {
            return false;
        }
        state.moves.retain(|pending| pending.path != path);
        if let Some(old) = state.flows[usize::from(path.0)].replace(key) {
            self.flows.remove(&old);
        }
        self.flows.insert(key, (connection, path));
        self.counters.moved += 1;
        state.tunnel.on_path_moved(now, path);
        state.tunnel.receive(now, path, packet, None, Ecn::NotEct);
        true
    }
}
