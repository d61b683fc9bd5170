//! The addresses of a server within a connection: their numbers, and which are signalled (RFC 9897 3.2.8, 3.2.9).

use super::{ConnectionKey, Server};
use crate::Payload;
use crate::packet::AddressId;
use crate::signal::OutboxError;
use core::net::{IpAddr, SocketAddr};
use units::Instant;

/// Addresses by their numbers; one that is gone leaves its number unused.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses(Vec<Option<IpAddr>>);

impl Addresses {
    /// That of the first path has number 0, whether it is known or not.
    pub(super) fn of_first(address: Option<IpAddr>) -> Self {
        Self(vec![address])
    }

    /// The number of an address, a new one if it has none; none if all are used.
    pub(super) fn id_of(&mut self, address: IpAddr) -> Option<AddressId> {
        if let Some(id) = self.known(address) {
            return Some(id);
        }
        let id = u8::try_from(self.0.len()).ok()?;
        self.0.push(Some(address));
        Some(AddressId(id))
    }

    fn known(&self, address: IpAddr) -> Option<AddressId> {
        let place = self.0.iter().position(|known| *known == Some(address))?;
        u8::try_from(place).ok().map(AddressId)
    }

    fn forget(&mut self, address: IpAddr) -> Option<AddressId> {
        let id = self.known(address)?;
        self.0[usize::from(id.0)] = None;
        Some(id)
    }
}

impl<P: Payload> Server<P> {
    /// The packets that are handed in from now on came in at that address of this host.
    pub fn arrived_at(&mut self, address: Option<IpAddr>) {
        self.arrived_at = address;
    }

    /// Signals to a client that this server takes paths there too, also where one has been joined: that path may be
    /// about to end. The address of the connection's first path is not signalled.
    ///
    /// # Errors
    /// [`OutboxError`] if too much waits to be confirmed.
    pub fn announce(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        address: SocketAddr,
    ) -> Result<(), OutboxError> {
        let Some(state) = self.connections.get_mut(&key) else {
            return Ok(());
        };
        let id = state.addresses.id_of(address.ip());
        let Some(id) = id.filter(|id| id.0 > 0) else {
            return Ok(());
        };
        let port = Some(address.port());
        state.tunnel.add_address(now, id, address.ip(), port)
    }

    /// Signals to a client that an address of this server is gone: paths that use it end.
    ///
    /// # Errors
    /// [`OutboxError`] if too much waits to be confirmed.
    pub fn withdraw(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        address: IpAddr,
    ) -> Result<(), OutboxError> {
        let Some(state) = self.connections.get_mut(&key) else {
            return Ok(());
        };
        let sent = match state.addresses.forget(address) {
            Some(id) => state.tunnel.remove_address(now, id),
            None => Ok(()),
        };
        self.after(now, key);
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_number_and_a_number_one_address() {
        let address = |last| IpAddr::from([192, 0, 2, last]);
        let mut addresses = Addresses::of_first(Some(address(1)));
        assert_eq!(addresses.id_of(address(1)), Some(AddressId(0)));
        assert_eq!(addresses.id_of(address(2)), Some(AddressId(1)));
        assert_eq!(addresses.id_of(address(2)), Some(AddressId(1)));
        assert_eq!(addresses.forget(address(2)), Some(AddressId(1)));
        assert_eq!(addresses.forget(address(2)), None);
        // the number is not used again: who missed the removal would take one address for the other
        assert_eq!(addresses.id_of(address(2)), Some(AddressId(2)));
        for _ in 0..400 {
            addresses.id_of(address(3));
        }
        for more in 0..=255u8 {
            addresses.id_of(IpAddr::from([198, 51, 100, more]));
        }
        assert_eq!(addresses.id_of(IpAddr::from([203, 0, 113, 1])), None);
    }
}
