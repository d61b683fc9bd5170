//! Handshakes that are not over, bounded by client.

use super::Channel;
use crate::identity::PublicKey;
use crate::session::Session;
use core::net::IpAddr;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// The first packet must have come by then.
pub const HALF_OPEN_TIME: Duration = Duration::from_secs(20);
/// Handshakes of a client at most: as many as it can have paths, and as many again.
pub const MAX_HALF_OPEN: usize = 64;

#[derive(Clone)]
pub(super) struct HalfOpen {
    pub(super) client: usize,
    pub(super) channel: Channel,
    pub(super) from: IpAddr,
    /// What began it, without its authentication codes.
    pub(super) init: Vec<u8>,
    pub(super) ephemeral: PublicKey,
    pub(super) response: Vec<u8>,
    pub(super) session: Session,
    /// The session in whose place this one comes, or 0.
    pub(super) replaces: u32,
    pub(super) until: Instant,
}

/// All of them, by the server's identifiers of their sessions.
#[derive(Clone, Default)]
pub(super) struct Table {
    entries: BTreeMap<u32, HalfOpen>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn contains(&self, id: u32) -> bool {
        self.entries.contains_key(&id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut HalfOpen> {
        self.entries.get_mut(&id)
    }

    pub(super) fn take(&mut self, id: u32) -> Option<HalfOpen> {
        self.entries.remove(&id)
    }

    /// Clients' numbers change; those of clients that have none any more are over.
    pub(super) fn renumber(&mut self, number: impl Fn(usize) -> Option<usize>) {
        self.entries.retain(|_, entry| match number(entry.client) {
            Some(client) => {
                entry.client = client;
                true
            }
            None => false,
        });
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&HalfOpen) -> bool) {
        self.entries.retain(|_, entry| keep(entry));
    }

    /// The one that this very Init began.
    pub(super) fn of_init(&self, ephemeral: PublicKey, init: &[u8]) -> Option<&HalfOpen> {
        let mut entries = self.entries.values();
        entries.find(|entry| entry.ephemeral == ephemeral && entry.init == init)
    }

    #[cfg(test)]
    pub(super) fn ids(&self) -> impl Iterator<Item = &u32> {
        self.entries.keys()
    }

    #[cfg(test)]
    pub(super) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.entries.values().map(|entry| &entry.session)
    }

    /// True if a client has half of what it may have.
    pub(super) fn is_crowded(&self) -> bool {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for entry in self.entries.values() {
            *counts.entry(entry.client).or_default() += 1;
        }
        counts.values().any(|count| *count >= MAX_HALF_OPEN / 2)
    }

    /// One more. Of a client that has as many as it may, the oldest of the address with the most gives way.
    pub(super) fn insert(&mut self, entry: HalfOpen) {
        let own = |of: &&HalfOpen| of.client == entry.client;
        if self.entries.values().filter(own).count() >= MAX_HALF_OPEN {
            let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
            for other in self.entries.values().filter(own) {
                *counts.entry(other.from).or_default() += 1;
            }
            let most = counts.iter().max_by_key(|(_, count)| **count);
            let most = most.map(|(from, _)| *from);
            let oldest = self
                .entries
                .iter()
                .filter(|(_, of)| of.client == entry.client && Some(of.from) == most)
                .min_by_key(|(_, of)| of.until)
                .map(|(id, _)| *id);
            if let Some(oldest) = oldest {
                self.entries.remove(&oldest);
            }
        }
        self.entries.insert(entry.session.id(), entry);
    }
}
