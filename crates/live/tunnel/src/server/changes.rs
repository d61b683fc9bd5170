//! What changes of a server's configuration while it runs: its clients, its keys, and where it listens.

use super::{Server, Socket};
use crate::config::{ClientConfig, End};
use crate::link::Way;
use crate::poller::Poller;
use crate::reload::Reload;
use multipath::auth::PreSharedKey;
use multipath::server::ConnectionKey;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use units::Instant;

impl Server {
    /// Applies another configuration. What must be able to fail comes first: then nothing has changed.
    pub(super) fn configure(
        &mut self,
        now: Instant,
        poller: &Poller,
        new: Reload,
    ) -> Result<String, String> {
        let End::Server(end) = &new.config.end else {
            return Err("it is of a client".to_owned());
        };
        let responder = match new.keys.is_of(&self.private) {
            true => None,
            false => new.keys.responder().map_err(|error| error.to_string())?,
        };
        let mut changes = Vec::new();
        changes.extend(self.listen_at(poller, &end.listen)?);
        changes.extend(summary(
            &self.clients,
            &end.clients,
            &self.keys,
            &new.keys.shared,
        ));
        if responder.is_some() {
            changes.push("this end's private key".to_owned());
        }
        self.farewell(now, poller, &new.keys.shared);
        self.renumber(&new.keys.shared, end.clients.len());
        let connections = end.clients.len() * 4 + end.half_open;
        self.core
            .set_keys(now, new.keys.shared.clone(), connections);
        match (responder, &mut self.secrecy) {
            (Some(responder), secrecy) => {
                *secrecy = Some(responder);
                // numbers of links begin anew
                self.links.retain(|_, link| matches!(link.way, Way::Tcp(_)));
            }
            (None, Some(secrecy)) => {
                let (clients, limits) = new.keys.clients();
                secrecy.set_clients(clients, limits);
            }
            (None, None) => {}
        }
        self.clients.clone_from(&end.clients);
        self.keys = new.keys.shared.clone();
        self.private = new.keys.own();
        self.last = 0;
        let old = std::mem::replace(&mut self.config, new.config);
        changes.extend(self.announce_others(now, &old));
        Ok(changes.join("; "))
    }

    /// Connections of keys that are gone end, and their clients are notified.
    fn farewell(&mut self, now: Instant, poller: &Poller, new: &[PreSharedKey]) {
        let is_gone = |client: Option<usize>| {
            let key = client.and_then(|index| self.keys.get(index));
            key.is_none_or(|key| !new.contains(key))
        };
        let gone: Vec<ConnectionKey> = self
            .core
            .connections()
            .filter(|(_, client)| is_gone(*client))
            .map(|(key, _)| key)
            .collect();
        for key in gone {
            if let Some(index) = self.client(key) {
                let name = &self.clients[index].name;
                tracing::info!(client = name, connection = key.0, "ended: its key is gone");
            }
            if let Some(tunnel) = self.core.tunnel(key) {
                tunnel.fast_close(now);
            }
        }
        self.transmit(now, poller);
    }

    /// What is kept of clients goes to their new places.
    fn renumber(&mut self, new: &[PreSharedKey], count: usize) {
        let place = |key: &PreSharedKey| new.iter().position(|other| other == key);
        let (mut current, mut spoofed) = (vec![None; count], vec![0; count]);
        for (old, key) in self.keys.iter().enumerate() {
            if let Some(index) = place(key) {
                current[index] = self.current[old];
                spoofed[index] = self.spoofed[old];
            }
        }
        (self.current, self.spoofed) = (current, spoofed);
    }

    /// Listens at these addresses, and no others.
    fn listen_at(
        &mut self,
        poller: &Poller,
        addresses: &[SocketAddr],
    ) -> Result<Option<String>, String> {
        let old = self.listening.clone();
        let opened: Vec<SocketAddr> = addresses
            .iter()
            .filter(|address| !old.contains_key(address))
            .copied()
            .collect();
        let closed: Vec<SocketAddr> = old
            .keys()
            .filter(|address| !addresses.contains(address))
            .copied()
            .collect();
        for (index, address) in opened.iter().enumerate() {
            if let Err(error) = self.listen(*address, poller) {
                for address in &opened[..index] {
                    self.stop_listening(*address);
                }
                return Err(error.to_string());
            }
        }
        for address in &closed {
            self.stop_listening(*address);
        }
        let change = !(opened.is_empty() && closed.is_empty());
        Ok(change.then(|| format!("{} addresses to listen at", addresses.len())))
    }

    /// Paths whose packets came by that socket have none any more: their clients find another.
    fn stop_listening(&mut self, address: SocketAddr) {
        for token in self.listening.remove(&address).into_iter().flatten() {
            if let Some(Socket::Udp(socket)) = self.sockets.remove(&token.0) {
                self.links.retain(|_, link| match &link.way {
                    Way::Udp { socket: of, .. } => !Arc::ptr_eq(of, &socket),
                    Way::Tcp(_) => true,
                });
            }
        }
        tracing::info!(%address, "not hearing any more");
    }
}

/// What differs between clients.
fn summary(
    old: &[ClientConfig],
    new: &[ClientConfig],
    old_keys: &[PreSharedKey],
    new_keys: &[PreSharedKey],
) -> Option<String> {
    let names = |of: &[ClientConfig]| -> BTreeSet<String> {
        of.iter().map(|client| client.name.clone()).collect()
    };
    let (before, after) = (names(old), names(new));
    let pairs = old.iter().zip(old_keys).filter_map(|(client, key)| {
        let index = new.iter().position(|other| other.name == client.name)?;
        Some(((client, key), (&new[index], new_keys.get(index)?)))
    });
    let (mut keys, mut addresses) = (0, 0);
    for ((client, key), (new_client, new_key)) in pairs {
        keys += usize::from(key != new_key);
        addresses += usize::from(client.addresses != new_client.addresses);
    }
    let mut changes = Vec::new();
    let mut add = |count: usize, what: &str| {
        if count > 0 {
            changes.push(format!("{count} {what}"));
        }
    };
    add(after.difference(&before).count(), "added");
    add(before.difference(&after).count(), "removed");
    add(keys, "with another key");
    add(addresses, "with other addresses");
    (!changes.is_empty()).then(|| format!("clients: {}", changes.join(", ")))
}
