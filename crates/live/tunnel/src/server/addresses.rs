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
        for address in Self::announced(&self.config) {
            if let Err(error) = self.core.announce(now, key, *address) {
                tracing::warn!(%address, %error, "an address cannot be announced");
            }
        }
    }

    /// Whether another configuration differs in these addresses, and in nothing else.
    pub(super) fn differs_in_announce(&self, new: &Config) -> bool {
        let (End::Server(own), End::Server(other)) = (&self.config.end, &new.end) else {
            return false;
        };
        let mut same = new.clone();
        let mut end = other.clone();
        end.announce.clone_from(&own.announce);
        same.end = End::Server(end);
        same == self.config && own.announce != other.announce
    }

    /// Takes those addresses, and notifies every client of what has changed.
    pub(super) fn announce_others(&mut self, now: Instant, new: Config) -> String {
        let old = std::mem::replace(&mut self.config, new);
        let (old, new) = (Self::announced(&old), Self::announced(&self.config));
        let is_gone = |address: &&SocketAddr| !new.iter().any(|a| a.ip() == address.ip());
        let gone: Vec<SocketAddr> = old.iter().filter(is_gone).copied().collect();
        let keys: Vec<_> = self.core.connections().map(|(key, _)| key).collect();
        for key in keys {
            for address in &gone {
                if let Err(error) = self.core.withdraw(now, key, address.ip()) {
                    tracing::warn!(%address, %error, "an address cannot be withdrawn");
                }
            }
            self.announce(now, key);
        }
        "configuration reloaded: addresses that are announced".to_owned()
    }
}
