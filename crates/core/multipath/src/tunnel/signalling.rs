//! Control options of a connection: addresses and priorities, repeated until they are confirmed.

use super::path::Phase;
use super::{Event, Tunnel};
use crate::packet::{AddressId, Options, Packet, PathPriority};
use crate::signal::{OutboxError, Signal};
use crate::{PathId, Payload};
use core::net::IpAddr;
use units::Instant;

/// Bytes that control options may take on an Ack: all of its header is at most 1,020 bytes
/// (RFC 4340 5.1), of which an Ack Vector may need a quarter.
const ROOM: usize = 500;

impl<P: Payload> Tunnel<P> {
    /// This end's priority of a path; it is signalled to the peer.
    ///
    /// # Errors
    /// [`OutboxError`] if the peer confirms nothing for too long.
    pub fn set_priority(
        &mut self,
        now: Instant,
        path: PathId,
        priority: PathPriority,
    ) -> Result<(), OutboxError> {
        if let Some(state) = self.path_mut(path) {
            state.config.priority = priority;
            self.send_signal(now, Signal::Priority { path, priority })?;
        }
        Ok(())
    }

    /// Signals a further address of this end to the peer, at which it takes joins.
    ///
    /// # Errors
    /// [`OutboxError`] if too much waits to be confirmed, or the number is not free yet.
    pub fn add_address(
        &mut self,
        now: Instant,
        id: AddressId,
        address: IpAddr,
        port: Option<u16>,
    ) -> Result<(), OutboxError> {
        self.send_signal(now, Signal::AddAddress { id, address, port })
    }

    /// Signals to the peer that an address of this end is gone; paths that use it are closed.
    ///
    /// # Errors
    /// [`OutboxError`] if too much waits to be confirmed.
    pub fn remove_address(&mut self, now: Instant, id: AddressId) -> Result<(), OutboxError> {
        self.send_signal(now, Signal::RemoveAddress { id })?;
        self.close_paths(now, |path| path.config.address == id);
        Ok(())
    }

    /// As [`Self::remove_address`], of an address from which nothing can leave any more: the other paths carry the
    /// signal, and what used it is over at once, since no Close of its own could leave.
    ///
    /// # Errors
    /// [`OutboxError`] if too much waits to be confirmed.
    pub fn withdraw_address(&mut self, now: Instant, id: AddressId) -> Result<(), OutboxError> {
        self.send_signal(now, Signal::RemoveAddress { id })?;
        for index in 0..self.paths.len() {
            if self.paths[index].config.address == id {
                self.end_path(index);
            }
        }
        Ok(())
    }

    /// The peer's addresses as it has signalled them, by their numbers.
    pub fn remote_addresses(&self) -> impl Iterator<Item = (AddressId, IpAddr)> + '_ {
        self.inbox.addresses()
    }

    pub(super) fn send_signal(&mut self, now: Instant, signal: Signal) -> Result<(), OutboxError> {
        let nonce = self.secrets.next_u64() as u32;
        self.outbox.push(now, signal, nonce)
    }

    /// A signal waits to be sent on that path.
    pub(super) fn has_signals(&self, now: Instant, index: usize) -> bool {
        let path = &self.paths[index];
        path.phase == Phase::Open
            && self.identity.keys.is_some()
            && (self.inbox.needs_packet() || self.outbox.needs_packet(now, path.id))
    }

    /// Puts what waits on a packet without data.
    pub(super) fn attach_signals(&mut self, now: Instant, index: usize, options: &mut Options) {
        let path = self.paths[index].id;
        let Some(keys) = self.identity.keys.as_ref() else {
            return;
        };
        let seq = self.next_mp_seq;
        let added = self.outbox.attach(now, path, seq, ROOM, keys, options);
        if added > 0 {
            self.next_mp_seq = seq.next();
        }
        self.inbox.attach(ROOM / 2, options);
    }

    /// Control options of a valid packet.
    pub(super) fn on_signals(&mut self, now: Instant, index: usize, packet: &Packet) {
        let path = self.paths[index].id;
        let Some(keys) = self.identity.keys.as_ref() else {
            return;
        };
        self.outbox.on_packet(&packet.options);
        for signal in self.inbox.on_packet(path, &packet.options, keys) {
            match signal {
                Signal::Priority { path, priority } => {
                    if let Some(state) = self.path_mut(path) {
                        state.remote_priority = priority;
                    }
                }
                Signal::AddAddress { id, address, port } => {
                    let event = Event::AddressAdded { id, address, port };
                    self.events.push_back(event);
                }
                Signal::RemoveAddress { id } => {
                    self.close_paths(now, |path| path.remote_address == id);
                    self.events.push_back(Event::AddressRemoved { id });
                }
            }
        }
    }

    fn close_paths(&mut self, now: Instant, is_gone: impl Fn(&super::Path<P>) -> bool) {
        for index in 0..self.paths.len() {
            if is_gone(&self.paths[index]) {
                self.close_path(now, PathId(index as u8));
            }
        }
    }
}
