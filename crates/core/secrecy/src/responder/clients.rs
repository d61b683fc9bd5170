//! Clients that come, go, and change their keys while the server runs.

use super::{Client, Responder};
use crate::session::Limits;
use std::collections::VecDeque;

impl Responder {
    /// From now on the clients are these, by their places in the list, and new sessions have these limits. Links of a
    /// client that has the same key and secret as before go on; all that others have is over.
    pub fn set_clients(&mut self, clients: Vec<Client>, limits: Limits) {
        let old = &self.config.clients;
        let place = |of: &Client| clients.iter().position(|client| client == of);
        let places: Vec<Option<usize>> = old.iter().map(place).collect();
        let place = |client: usize| places.get(client).copied().flatten();
        self.half_open.renumber(place);
        self.links.retain(|_, link| match place(link.client) {
            Some(client) => {
                link.client = client;
                true
            }
            None => false,
        });
        let links = &self.links;
        self.by_id.retain(|_, of| links.contains_key(of));
        let mut remembered = vec![VecDeque::new(); clients.len()];
        for (old, keys) in self.remembered.drain(..).enumerate() {
            if let Some(new) = place(old).and_then(|new| remembered.get_mut(new)) {
                *new = keys;
            }
        }
        self.remembered = remembered;
        self.by_key = clients.iter().map(|client| client.key).zip(0..).collect();
        self.config.clients = clients;
        self.config.limits = limits;
    }
}
