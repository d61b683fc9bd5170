//! Who is let in: Requests that make a connection or join one, and what is answered to packets of none.

use super::addresses::Addresses;
use super::budget::Budget;
use super::proofs::is_first;
use super::{
    Connection, ConnectionKey, Flow, FlowKey, MIN_HALF_OPEN_SHARE, QUESTION_BURST,
    QUESTION_INTERVAL, Server,
};
use crate::join::JoinOffer;
use crate::packet::Packet;
use crate::tunnel::{Refusal, ServerEnd, Tunnel, first_refusal, reset_for};
use crate::{PathId, Payload};
use std::collections::VecDeque;
use units::Instant;

impl<P: Payload> Server<P> {
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        key: FlowKey,
        packet: &Packet,
    ) -> Option<(ConnectionKey, PathId)> {
        let result = match JoinOffer::among(&packet.options) {
            Some(offer) => self.join(now, key, packet, offer).map(Some),
            None if self.needs_cookies() => {
                self.answer_with_cookie(now, key, packet);
                return None;
            }
            None => self.accept(now, key, packet),
        };
        match result {
            Ok(None) => None,
            Ok(Some((connection, path))) => {
                if let Some(state) = self.connections.get_mut(&connection) {
                    let index = usize::from(path.0);
                    if state.flows.len() <= index {
                        state.flows.resize(index + 1, None);
                    }
                    if let Some(old) = state.flows[index].replace(key).filter(|old| *old != key) {
                        self.flows.remove(&old);
                    }
                }
                self.flows.insert(key, (connection, path));
                Some((connection, path))
            }
            Err(refusal) => {
                self.counters.refused += 1;
                // joins of a connection that is closing are ignored (RFC 9897 3.2.11)
                if refusal != Refusal::Closing {
                    self.reset(now, key.flow, packet, refusal);
                }
                None
            }
        }
    }

    /// None: it was not answered, and nothing is kept of it.
    fn accept(
        &mut self,
        now: Instant,
        from: FlowKey,
        packet: &Packet,
    ) -> Result<Option<(ConnectionKey, PathId)>, Refusal> {
        self.expire_half_open(now);
        let (mut tunnel, client) = self.make_tunnel(now, from, packet, None)?;
        if !self.answers_at_once(now, from, packet, &mut tunnel) {
            return Ok(None);
        }
        self.make_room(now, client);
        let key = self.insert(from, tunnel, client, self.request_len(packet));
        if let Some((oldest, _)) = self.half_open.insert(now, key, client) {
            self.counters.expired += 1;
            self.remove(oldest);
        }
        Ok(Some((key, PathId(0))))
    }

    /// A connection's end from its Request, and whose it is. `seed`: not a new one.
    pub(super) fn make_tunnel(
        &mut self,
        now: Instant,
        from: FlowKey,
        packet: &Packet,
        seed: Option<u64>,
    ) -> Result<(Tunnel<P>, Option<usize>), Refusal> {
        self.has_room()?;
        // nothing is made for a Request before it has proved a key
        let service = self.config.tunnel.service;
        let client = self.proofs.client_of(now, packet);
        if client.is_none() && !self.proofs.keys().is_empty() {
            return Err(first_refusal(packet, service));
        }
        let end = ServerEnd {
            config: self.config.tunnel.clone(),
            scheduler: self.provision.scheduler(),
            path: self.path_config(from.flow),
            seed: seed.unwrap_or_else(|| self.provision.seed()),
        };
        let shared = client.map(|client| self.proofs.keys()[client].clone());
        let tunnel = Tunnel::accept_proved(now, packet, shared, end)?;
        // the Request of an established connection, seen by an observer and sent once more
        let is_seen = |state: &Connection<P>| {
            state.is_established && state.tunnel.peer_offer() == tunnel.peer_offer()
        };
        if client.is_some() && self.connections.values().any(is_seen) {
            return Err(Refusal::Replayed);
        }
        Ok((tunnel, client))
    }

    /// A connection whose first path comes from there.
    pub(super) fn insert(
        &mut self,
        from: FlowKey,
        tunnel: Tunnel<P>,
        client: Option<usize>,
        request_len: usize,
    ) -> ConnectionKey {
        let key = ConnectionKey(self.next_key);
        self.next_key += 1;
        self.counters.accepted += 1;
        let connection = Connection {
            tunnel,
            client,
            is_established: false,
            request_len,
            flows: vec![Some(from)],
            moves: VecDeque::new(),
            questions: Budget::new(QUESTION_BURST, QUESTION_INTERVAL),
            addresses: Addresses::of_first(self.arrived_at),
        };
        self.connections.insert(key, connection);
        self.flows.insert(from, (key, PathId(0)));
        key
    }

    /// Of a client that has its share of unfinished handshakes the oldest is removed: an observer that sends
    /// its Requests once more takes no other client's places.
    fn make_room(&mut self, now: Instant, client: Option<usize>) {
        let clients = self.proofs.keys().len().max(1);
        let share = (self.config.half_open / clients).max(MIN_HALF_OPEN_SHARE);
        let (oldest, count) = self.half_open.oldest_of(|of| *of == client);
        if let Some(oldest) = oldest.filter(|_| count >= share) {
            self.half_open.take(now, &oldest);
            self.counters.expired += 1;
            self.remove(oldest);
        }
    }

    fn join(
        &mut self,
        now: Instant,
        from: FlowKey,
        packet: &Packet,
        offer: JoinOffer,
    ) -> Result<(ConnectionKey, PathId), Refusal> {
        let mut path = self.path_config(from.flow);
        let (&connection, state) = self
            .connections
            .iter_mut()
            .find(|(_, state)| state.tunnel.connection_id() == offer.connection)
            .ok_or(Refusal::UnknownConnection(offer.connection.0))?;
        if let Some(at) = self.arrived_at {
            path.address = state.addresses.id_of(at).unwrap_or(path.address);
        }
        let path = state.tunnel.accept_join(now, path, packet)?;
        self.counters.joined += 1;
        Ok((connection, path))
    }

    pub(super) fn reset(&mut self, now: Instant, to: Flow, packet: &Packet, refusal: Refusal) {
        let reset = reset_for(packet, refusal.reset_code());
        let Some(reset) = reset.filter(|_| self.may_answer(packet, self.payload_len)) else {
            return;
        };
        // strangers' packets are answered by a budget, so that no attacker can have a flood sent elsewhere
        // what a first Request proves is checked before, and shows no packet's
        let client = match is_first(packet) {
            true => None,
            false => self.proofs.client_of(now, packet),
        };
        let budget = match client.and_then(|client| self.clients.get_mut(client)) {
            Some(budget) => budget,
            None => &mut self.strangers,
        };
        if budget.take(now) {
            self.outbox.push_back((to, reset));
        }
    }

    pub(super) fn expire_half_open(&mut self, now: Instant) {
        let before = self.half_open.len();
        self.half_open.expire(now);
        if self.half_open.len() < before {
            let half_open = &mut self.half_open;
            let over: Vec<_> = self
                .connections
                .iter()
                .filter(|(key, state)| !state.is_established && half_open.get(now, key).is_none())
                .map(|(&key, _)| key)
                .collect();
            self.counters.expired += over.len() as u64;
            over.into_iter().for_each(|key| self.remove(key));
        }
    }
}
