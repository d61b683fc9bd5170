//! Addresses that are signalled between the ends (RFC 9897 `MP_ADDADDR`, `MP_REMOVEADDR`).
//!
//! A path's own address is announced as its join begins, and withdrawn when its interface or address is gone and it gets no
//! other socket. With `use-announced` each configured path has another one to each further address of the server: named
//! `NAME+ID`, tried once, and gone with the address or the connection.

use super::Client;
use super::links::LivePath;
use crate::config::PathConfig;
use crate::link::Way;
use multipath::client::{Action, ClientEvent, ClientPathId};
use multipath::packet::AddressId;
use std::io;
use std::net::{IpAddr, SocketAddr};
use units::Instant;

impl Client {
    /// A path has a socket: the server is notified of its address.
    pub(super) fn announce(&mut self, now: Instant, id: ClientPathId) {
        let link = self.paths.get(id).and_then(|path| path.link.as_ref());
        let address = link.and_then(|link| match &link.link.way {
            Way::Udp { socket, .. } => socket.local_ip().ok(),
            // not known before it is connected
            Way::Tcp(_) => None,
        });
        if let Some(address) = address {
            self.core.announce(now, id, address);
        }
    }

    /// A path could not get a socket. Its address is withdrawn if it is gone; a path to an address that the server has
    /// signalled is not tried again (RFC 9897 3.2.8).
    pub(super) fn on_no_socket(
        &mut self,
        now: Instant,
        id: ClientPathId,
        action: Action,
        error: &io::Error,
    ) {
        let is_gone = matches!(
            error.raw_os_error(),
            Some(libc::ENODEV | libc::ENXIO | libc::EADDRNOTAVAIL)
        );
        if is_gone && action == Action::Renew(id) {
            self.core.withdraw(now, id);
        }
        self.drop_announced(now, |of, path| of == id && !is_proven(path));
    }

    pub(super) fn on_address_event(&mut self, now: Instant, event: ClientEvent) {
        match event {
            ClientEvent::AddressAdded { id, address, port }
                if self.end().is_some_and(|end| end.use_announced) =>
            {
                self.add_announced(now, id, address, port);
            }
            ClientEvent::AddressRemoved(id) => {
                let is_there = |(to, _): (AddressId, bool)| to == id;
                self.drop_announced(now, |_, path| path.announced.is_some_and(is_there));
            }
            ClientEvent::PathUp(id) => {
                let path = self.paths.get_mut(id);
                if let Some((_, has_been_up)) = path.and_then(|path| path.announced.as_mut()) {
                    *has_been_up = true;
                }
            }
            ClientEvent::PathClosed(id) => {
                self.drop_announced(now, |of, path| of == id && !is_proven(path));
            }
            // numbers are a connection's: the server signals its addresses again
            ClientEvent::Begun => self.drop_announced(now, |_, _| true),
            _ => {}
        }
    }

    /// Each configured path has another to that address.
    fn add_announced(&mut self, now: Instant, id: AddressId, address: IpAddr, port: Option<u16>) {
        let configured: Vec<PathConfig> = self
            .paths
            .configured()
            .filter(|(_, path)| path.announced.is_none())
            .map(|(_, path)| path.config.clone())
            .collect();
        for of in configured
            .iter()
            .filter(|of| of.remote.is_ipv4() == address.is_ipv4())
        {
            let path = PathConfig {
                name: format!("{}+{}", of.name, id.0),
                remote: SocketAddr::new(address, port.unwrap_or(of.remote.port())),
                ..of.clone()
            };
            let is_same = |other: &PathConfig| {
                (&other.interface, other.local, other.remote)
                    == (&path.interface, path.local, path.remote)
            };
            if configured.iter().any(is_same) {
                continue;
            }
            match self.add(now, &path) {
                Ok(_) => {
                    let added = self.paths.named_mut(&path.name);
                    if let Some(added) = added {
                        added.announced = Some((id, false));
                    }
                }
                Err(error) => tracing::debug!(path = path.name, error, "not opened"),
            }
        }
    }

    fn drop_announced(&mut self, now: Instant, is_over: impl Fn(ClientPathId, &LivePath) -> bool) {
        let over: Vec<(ClientPathId, String)> = self
            .paths
            .configured()
            .filter(|(id, path)| path.announced.is_some() && is_over(*id, path))
            .map(|(id, path)| (id, path.config.name.clone()))
            .collect();
        for (_, name) in over {
            let removed = self.remove(now, &name);
            tracing::debug!(path = name, ?removed, "a path to an announced address");
        }
    }
}

/// True of a path that has been up.
fn is_proven(path: &LivePath) -> bool {
    path.announced.is_none_or(|(_, has_been_up)| has_been_up)
}
