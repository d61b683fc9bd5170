//! Further addresses of a server, as its clients are notified of them (RFC 9897 `MP_ADDADDR`, `MP_REMOVEADDR`).

use super::Server;
use crate::config::{Config, End};
use multipath::server::ConnectionKey;
use std::net::SocketAddr;
use units::Instant;

impl Server {
    fn announced(config: &Config) -> &[SocketAddr] {
        match &config.end {
            End::Server(end) => &end.announce,
            End::Client(_) => &[],
        }
    }

    /// Signals to a client where else it can reach this server.
    pub(super) fn announce(&mut self, now: Instant, key: ConnectionKey) {
        let all = Self::announced(&self.config).to_vec();
        self.signal(now, key, &all);
    }

    fn signal(&mut self, now: Instant, key: ConnectionKey, addresses: &[SocketAddr]) {
        for address in addresses {
            if let Err(error) = self.core.announce(now, key, *address) {
                tracing::warn!(%address, %error, "an address cannot be announced");
            }
        }
    }

    /// Notifies every client of what differs from the addresses of the configuration before.
    pub(super) fn announce_others(&mut self, now: Instant, old: &Config) -> Option<String> {
        let (old, new) = (Self::announced(old), Self::announced(&self.config));
        if old == new {
            return None;
        }
        let is_gone = |address: &&SocketAddr| !new.iter().any(|a| a.ip() == address.ip());
        let gone: Vec<SocketAddr> = old.iter().filter(is_gone).copied().collect();
        let is_new = |address: &&SocketAddr| !old.contains(*address);
        let added: Vec<SocketAddr> = new.iter().filter(is_new).copied().collect();
        let keys: Vec<_> = self.core.connections().map(|(key, _)| key).collect();
        for key in keys {
            for address in &gone {
                if let Err(error) = self.core.withdraw(now, key, address.ip()) {
                    tracing::warn!(%address, %error, "an address cannot be withdrawn");
                }
            }
            self.signal(now, key, &added);
        }
        Some("addresses that are announced".to_owned())
    }
}
