//! Clients that come, go, and change their keys while the server runs.

use super::budget::Budget;
use super::{CLIENT_BURST, CLIENT_INTERVAL, ConnectionKey, Server};
use crate::Payload;
use crate::auth::PreSharedKey;
use units::Instant;

impl<P: Payload> Server<P> {
    /// From now on the clients are those with these pre-shared keys, by their places in the list, and there may be so
    /// many connections. Connections of a key that stays go on; those of a key that is gone are over, without a
    /// farewell: [`crate::tunnel::Tunnel::fast_close`] and [`Self::poll_transmit`] before send one.
    pub fn set_keys(&mut self, now: Instant, keys: Vec<PreSharedKey>, connections: usize) {
        let place = |old: &PreSharedKey| keys.iter().position(|key| key == old);
        let places: Vec<Option<usize>> = self.proofs.keys().iter().map(place).collect();
        let place = |client: usize| places.get(client).copied().flatten();
        let all = self.connections.iter_mut();
        let gone: Vec<ConnectionKey> = all
            .filter_map(|(key, state)| {
                let old = state.client;
                state.client = old.and_then(place);
                // of a server without keys, to which keys come, nobody has shown one
                (state.client.is_none() && !keys.is_empty()).then_some(*key)
            })
            .collect();
        for key in gone {
            self.half_open.take(now, &key);
            self.remove(key);
        }
        for client in self.half_open.values_mut() {
            *client = client.and_then(place);
        }
        let mut budgets = vec![Budget::new(CLIENT_BURST, CLIENT_INTERVAL); keys.len()];
        for (old, budget) in self.clients.iter().enumerate() {
            if let Some(budgets) = place(old).and_then(|new| budgets.get_mut(new)) {
                *budgets = *budget;
            }
        }
        self.clients = budgets;
        self.config.connections = connections;
        self.proofs.set_keys(keys);
    }
}
