//! What a client decides about its paths and its connection, and when.

use super::exchange::{Action, ClientEvent, ClientPathId, NetworkEvent, SendFault};
use super::path::{Entry, State};
use super::{Client, addressed, new_tunnel};
use crate::packet::AddressId;
use crate::tunnel::{Event, PathConfig};
use crate::{PathId, Payload};
use units::Instant;

impl<P: Payload> Client<P> {
    /// A path's socket takes packets: the path makes the connection if no other does, joins one that is
    /// established, or waits. After [`Action::Renew`]: the path goes on with the new socket.
    pub fn on_opened(&mut self, now: Instant, id: ClientPathId) {
        match self.entry_mut(id).map(|entry| &mut entry.state) {
            Some(state @ State::Opening { .. }) => *state = State::Waiting,
            // the server follows to the new socket by what comes from there
            Some(State::Open { path, .. }) => {
                let path = *path;
                self.tunnel.nudge(path);
                self.tunnel.on_path_moved(now, path);
            }
            _ => {}
        }
        self.begin_paths(now);
        self.settle(now);
    }

    /// A path's socket could not be opened; after [`Action::Renew`] the one before is still there.
    pub fn on_open_failed(&mut self, now: Instant, id: ClientPathId) {
        let times = self.config.supervision;
        self.counters.failed += 1;
        if let Some(entry) = self.entry_mut(id)
            && matches!(entry.state, State::Opening { .. })
        {
            entry.close(now, &times);
        }
    }

    /// The TCP connection under a path has ended, and been closed: what was in it is gone, and its order with
    /// it.
    pub fn on_socket_lost(&mut self, now: Instant, id: ClientPathId) {
        let times = self.config.supervision;
        let Some(entry) = self.entry_mut(id) else {
            return;
        };
        let path = entry.path();
        entry.close(now, &times);
        if let Some(path) = path {
            self.detach(path);
            self.tunnel.close_path(now, path);
            self.events.push_back(ClientEvent::PathClosed(id));
        }
        if self.entry(id).is_some_and(|entry| entry.is_removed) {
            self.paths[id.index()] = None;
        }
        self.settle(now);
        self.supervise(now);
    }

    /// The server has questioned where a path's packets come from, and been answered: a Sync behind that
    /// answer shows the path to work, without waiting for its next probe.
    pub(super) fn on_question(&mut self, id: ClientPathId) {
        if let Some(entry) = self.entry_mut(id)
            && let State::Open {
                path, is_up: false, ..
            } = entry.state
            && core::mem::take(&mut entry.may_nudge)
        {
            self.tunnel.nudge(path);
        }
    }

    /// What is reported of the network below a path.
    pub fn on_network(&mut self, now: Instant, id: ClientPathId, event: NetworkEvent) {
        let times = self.config.supervision;
        let Some(entry) = self.entry_mut(id) else {
            return;
        };
        let earliest = entry.earliest(now, &times);
        let path = entry.path();
        match (event, path) {
            // whether packets come back decides: a link may have been down for an instant only
            (NetworkEvent::LinkDown, Some(path)) => self.tunnel.suspect(now, path),
            (NetworkEvent::LinkDown, None) => {}
            (NetworkEvent::LinkUp, _) => entry.hasten(earliest, false),
            (NetworkEvent::AddressChanged, _) => entry.hasten(earliest, true),
            (NetworkEvent::RouteChanged, Some(path)) => {
                entry.hasten(earliest, false);
                self.tunnel.nudge(path);
            }
            (NetworkEvent::RouteChanged, None) => entry.hasten(earliest, false),
        }
        self.settle(now);
        self.supervise(now);
    }

    /// Packets could not be sent on a path's socket.
    pub fn on_send_fault(&mut self, now: Instant, id: ClientPathId, fault: SendFault) {
        let times = self.config.supervision;
        let Some(entry) = self.entry_mut(id) else {
            return;
        };
        let Some(path) = entry.path() else { return };
        match fault {
            SendFault::SocketGone => {
                // the attempts after the first one keep their interval
                if matches!(entry.state, State::Open { renew_at: None, .. }) {
                    entry.hasten(entry.earliest(now, &times), true);
                }
                self.tunnel.suspect(now, path);
            }
            SendFault::Unreachable | SendFault::Refused => self.tunnel.query(now, path),
        }
        self.settle(now);
        self.supervise(now);
    }

    /// When supervision is to look again.
    pub(super) fn supervision_deadline(&self) -> Option<Instant> {
        if self.is_ending {
            return None;
        }
        let paths = self.configured();
        let paths = paths.filter_map(|(_, entry)| entry.next_deadline()).min();
        [paths, self.lost_at()].into_iter().flatten().min()
    }

    /// When the connection is given up.
    fn lost_at(&self) -> Option<Instant> {
        self.configured().next()?;
        Some(self.silent_since? + self.config.supervision.connection_timeout)
    }

    /// Does what is due.
    pub(super) fn supervise(&mut self, now: Instant) {
        if self.is_ending {
            return;
        }
        if self.lost_at().is_some_and(|at| at <= now) {
            self.give_up(now);
        }
        for index in 0..self.paths.len() {
            let id = ClientPathId(index as u16);
            let due = self.entry(id).filter(|entry| !entry.is_removed);
            let due = due.filter(|entry| entry.next_deadline().is_some_and(|at| at <= now));
            match due.map(|entry| entry.state) {
                Some(State::Opening { .. }) => {
                    self.actions.push_back(Action::Close(id));
                    self.open(now, id);
                }
                Some(State::Closed { .. }) => self.open(now, id),
                Some(State::Open { path, .. }) => self.renew(now, id, path),
                Some(State::Waiting) | None => {}
            }
        }
    }

    fn open(&mut self, now: Instant, id: ClientPathId) {
        let times = self.config.supervision;
        if let Some(entry) = self.entry_mut(id) {
            entry.open(now, &times);
            self.counters.opened += 1;
            self.actions.push_back(Action::Open(id));
        }
    }

    /// A path that does not answer gets another socket. One in a TCP connection ends with it.
    fn renew(&mut self, now: Instant, id: ClientPathId, path: PathId) {
        let times = self.config.supervision;
        let Some(entry) = self.entry_mut(id) else {
            return;
        };
        if entry.is_stream() {
            self.events.push_back(ClientEvent::PathClosed(id));
            self.detach(path);
            self.actions.push_back(Action::Close(id));
            self.open(now, id);
            self.tunnel.close_path(now, path);
            return self.settle(now);
        }
        entry.socket_at = Some(now);
        entry.may_nudge = true;
        if let State::Open { renew_at, .. } = &mut entry.state {
            *renew_at = Some(now + times.renew_interval);
        }
        self.counters.renewed += 1;
        self.actions.push_back(Action::Renew(id));
    }

    /// The connection is of no use any more, and the server is notified of that if a path should work.
    fn give_up(&mut self, now: Instant) {
        self.tunnel.fast_close(now);
        self.flush(now);
        self.counters.given_up += 1;
        self.events.push_back(ClientEvent::GivenUp);
        self.begin_again(now);
    }

    /// What may leave now is to leave before the sockets are closed.
    pub(super) fn flush(&mut self, now: Instant) {
        while let Some(transmit) = self.tunnel.poll_transmit(now) {
            self.outbox.extend(addressed(&self.by_path, transmit));
        }
    }

    /// A new connection, with all paths.
    pub(super) fn begin_again(&mut self, now: Instant) {
        if self.is_ending {
            return;
        }
        self.tunnel = new_tunnel(&self.config, &mut *self.provision);
        self.by_path.clear();
        self.silent_since = Some(now);
        let try_at = now.max(self.began_at + self.config.supervision.connection_interval);
        self.began_at = try_at;
        for index in 0..self.paths.len() {
            let Some(entry) = &mut self.paths[index] else {
                continue;
            };
            if entry.has_socket() {
                let id = ClientPathId(index as u16);
                self.actions.push_back(Action::Close(id));
            }
            entry.state = State::Closed { try_at };
            if entry.is_removed {
                self.paths[index] = None;
            }
        }
        self.counters.connections += 1;
        self.events.push_back(ClientEvent::Begun);
    }

    /// After anything happened in the tunnel: its events, and what is to be done because of them.
    pub(super) fn settle(&mut self, now: Instant) {
        let mut has_changed = false;
        while let Some(event) = self.tunnel.poll_event() {
            has_changed = true;
            self.on_event(now, &event);
        }
        if !has_changed {
            return;
        }
        let is_up = self.paths.iter().flatten().any(Entry::is_up);
        match is_up {
            true => self.silent_since = None,
            false => {
                self.silent_since.get_or_insert(now);
            }
        }
        self.begin_paths(now);
        self.supervise(now);
    }

    fn on_event(&mut self, now: Instant, event: &Event) {
        let times = self.config.supervision;
        match *event {
            Event::Established => self.events.push_back(ClientEvent::Connected),
            Event::PathUp(path) => {
                if let Some((id, entry)) = self.of_path(path) {
                    entry.was_up = true;
                    entry.state = State::Open {
                        path,
                        is_up: true,
                        renew_at: None,
                    };
                    self.events.push_back(ClientEvent::PathUp(id));
                }
            }
            Event::PathDown(path) => {
                if let Some((id, entry)) = self.of_path(path) {
                    let wait = match entry.is_stream() {
                        true => times.renew_interval,
                        false => times.renew_after,
                    };
                    let renew_at = entry.next_deadline().unwrap_or(now + wait);
                    entry.may_nudge = true;
                    entry.state = State::Open {
                        path,
                        is_up: false,
                        renew_at: Some(renew_at),
                    };
                    self.events.push_back(ClientEvent::PathDown(id));
                }
            }
            Event::PathClosed(path) => self.on_path_closed(now, path),
            Event::ConnectionUnknown => {
                self.counters.unknown += 1;
                self.events.push_back(ClientEvent::ConnectionUnknown);
                self.begin_again(now);
            }
            Event::Closed => self.begin_again(now),
            // the driver decides whether paths lead there
            Event::AddressAdded { id, address, port } => {
                let added = ClientEvent::AddressAdded { id, address, port };
                self.events.push_back(added);
            }
            Event::AddressRemoved { id } => self.events.push_back(ClientEvent::AddressRemoved(id)),
        }
    }

    fn on_path_closed(&mut self, now: Instant, path: PathId) {
        let times = self.config.supervision;
        let is_ending = self.is_ending;
        // until the server has answered the Close, or does not
        let is_closing = self.tunnel.is_closing(path);
        self.flush(now);
        let Some((id, entry)) = self.of_path(path) else {
            return;
        };
        if is_closing && (entry.is_removed || is_ending) {
            if let State::Open {
                is_up, renew_at, ..
            } = &mut entry.state
            {
                (*is_up, *renew_at) = (false, None);
            }
            return;
        }
        entry.close(now, &times);
        let is_removed = entry.is_removed;
        self.events.push_back(ClientEvent::PathClosed(id));
        self.detach(path);
        self.actions.push_back(Action::Close(id));
        if is_removed {
            self.paths[id.index()] = None;
        }
    }

    /// Requests what can be requested: one path at first, then all others.
    fn begin_paths(&mut self, now: Instant) {
        if self.is_ending {
            return;
        }
        let paths = self.paths.len();
        let turn = match self.tunnel.takes_joins() {
            true => 0,
            false => self.turn,
        };
        for offset in 0..paths {
            let index = (turn + offset) % paths;
            let is_first = self.by_path.iter().flatten().next().is_none();
            if !is_first && !self.tunnel.takes_joins() {
                return;
            }
            let id = ClientPathId(index as u16);
            let waits = |entry: &&Entry| entry.state == State::Waiting && !entry.is_removed;
            let Some(entry) = self.entry(id).filter(waits) else {
                continue;
            };
            let config = PathConfig {
                address: AddressId(self.next_address),
                ..entry.config.clone()
            };
            let port = entry.port;
            if !self.tunnel.takes_joins() {
                self.turn = index + 1;
            }
            self.begin_path(now, id, config, port);
        }
    }

    fn begin_path(&mut self, now: Instant, id: ClientPathId, config: PathConfig, remote: u16) {
        let times = self.config.supervision;
        let ports = (self.next_port.max(1), remote);
        let opened = self.tunnel.open_path(now, config, ports);
        let Some(entry) = self.entry_mut(id) else {
            return;
        };
        let Ok(path) = opened else {
            entry.close(now, &times);
            self.counters.failed += 1;
            return self.actions.push_back(Action::Close(id));
        };
        let opened_at = entry.opened_at.unwrap_or(now);
        entry.announced = None;
        entry.state = State::Open {
            path,
            is_up: false,
            renew_at: Some(now.max(opened_at) + times.renew_interval),
        };
        let place = usize::from(path.0);
        if self.by_path.len() <= place {
            self.by_path.resize(place + 1, None);
        }
        self.by_path[place] = Some(id);
        self.next_port = ports.0.wrapping_add(1);
        self.next_address = self.next_address.wrapping_add(1);
    }

    /// The configured path that a path of the connection is.
    fn of_path(&mut self, path: PathId) -> Option<(ClientPathId, &mut Entry)> {
        let id = self.by_path.get(usize::from(path.0)).copied().flatten()?;
        Some((id, self.paths.get_mut(id.index())?.as_mut()?))
    }

    fn detach(&mut self, path: PathId) {
        if let Some(place) = self.by_path.get_mut(usize::from(path.0)) {
            *place = None;
        }
    }

    /// A path without a path of the connection is removed.
    pub(super) fn free(&mut self, id: ClientPathId) {
        if self.entry(id).is_some_and(Entry::has_socket) {
            self.actions.push_back(Action::Close(id));
        }
        self.paths[id.index()] = None;
    }
}
