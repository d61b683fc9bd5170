//! Addresses that a client signals to its server (RFC 9897 3.2.8, 3.2.9).
//!
//! A client takes no paths itself: what it announces has the server know under which number a join comes from which
//! address. What it withdraws ends paths at the server that have no other way to end, by the paths that are left.

use super::{Client, ClientPathId};
use crate::Payload;
use core::net::IpAddr;
use units::Instant;

impl<P: Payload> Client<P> {
    /// A path's packets leave from that address: the server is notified of it, under the number that the path's join has.
    /// Nothing is signalled of the first path of a connection, whose number is 0 for both ends, nor what the server knows.
    pub fn announce(&mut self, now: Instant, id: ClientPathId, address: IpAddr) {
        let Some(path) = self.entry(id).and_then(super::Entry::path) else {
            return;
        };
        if !self.tunnel.takes_joins() {
            return;
        }
        let Some(entry) = self.entry_mut(id) else {
            return;
        };
        if entry.announced == Some((path, address)) {
            return;
        }
        let is_moved = entry
            .announced
            .replace((path, address))
            .is_some_and(|(of, _)| of == path);
        let Some(number) = self.tunnel.address(path).filter(|number| number.0 != 0) else {
            return;
        };
        // a number stays with its address: the path that has moved keeps its number, and is not signalled again
        if !is_moved {
            // a server that confirms nothing will not have this confirmed either
            let _ = self.tunnel.add_address(now, number, address, None);
        }
    }

    /// Nothing can leave from a path's address any more, and there is no other: the other paths notify the server, and
    /// the path is over, to be opened again later. Without another path that is up nothing is done.
    pub fn withdraw(&mut self, now: Instant, id: ClientPathId) {
        let others = self.configured().filter(|(other, _)| *other != id);
        let has_other = others.map(|(_, entry)| entry).any(super::Entry::is_up);
        let path = self.entry(id).and_then(super::Entry::path);
        let number = path.and_then(|path| self.tunnel.address(path));
        let Some(number) = number.filter(|_| has_other) else {
            return;
        };
        if self.tunnel.withdraw_address(now, number).is_ok() {
            self.settle(now);
            self.supervise(now);
        }
    }
}
