//! How connections begin: they are accepted, their servers are connected to, and they have their windows.

use super::{ACCEPT_BATCH, REST, TOKEN_LISTENER, Worker, token};
use crate::config::Interception;
use crate::flow::{Ends, Flow, Window};
use crate::registry::Full;
use crate::relay::command::Waker;
use crate::relay::connection::{Connection, Next, ResetReason, Side};
use crate::relay::slab::Key;
use crate::relay::upstream::{Opened, UNSPECIFIED, canonical};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, getsockname};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

impl Worker {
    pub(super) fn listen(&mut self) {
        for (i, listener) in self.listeners.iter().enumerate() {
            let token = EventData::new_u64(TOKEN_LISTENER + i as u64);
            let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
            if let Err(error) = epoll::add(&self.epoll, &listener.socket, token, flags) {
                tracing::error!(%error, "a worker cannot listen");
            }
        }
        self.is_accepting = true;
        self.resume_at = None;
    }

    pub(super) fn unlisten(&mut self) {
        if core::mem::take(&mut self.is_accepting) {
            for listener in self.listeners.iter() {
                let _ = epoll::delete(&self.epoll, &listener.socket);
            }
        }
    }

    pub(super) fn accept(&mut self, index: usize) {
        let listeners = Arc::clone(&self.listeners);
        let Some(listener) = listeners.get(index) else {
            return;
        };
        for _ in 0..ACCEPT_BATCH {
            if !self.is_accepting {
                return;
            }
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match acceptfrom_with(&listener.socket, flags) {
                Ok((socket, address)) => {
                    self.shared.counters.accepted.one();
                    let address = address.and_then(|a| SocketAddr::try_from(a).ok());
                    if let Some(client) = address {
                        self.take(socket, canonical(client));
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    self.rest();
                    return;
                }
                // the client has already gone, or its packets were refused: the next one may do
                Err(_) => {}
            }
        }
    }

    /// Stops accepting for a moment.
    fn rest(&mut self) {
        self.shared.counters.accept_pauses.one();
        self.unlisten();
        self.resume_at = Some(self.now + REST);
    }

    /// A client has connected: connects onward for it.
    fn take(&mut self, socket: OwnedFd, client: SocketAddr) {
        let counters = &self.shared.counters;
        let server = match &self.config.interception {
            Interception::Transparent(_) => {
                let address = getsockname(&socket).ok();
                let address = address.and_then(|a| SocketAddr::try_from(a).ok());
                address.map_or(UNSPECIFIED, canonical)
            }
            Interception::Explicit(explicit) => {
                if !explicit.allow.iter().any(|p| p.contains(client.ip())) {
                    counters.refused_client.one();
                    return;
                }
                explicit.upstream
            }
            // there is no listener
            Interception::Off { .. } => return,
        };
        let entered = self.shared.registry.enter(client.ip(), &self.config.limits);
        let (id, ue) = match entered {
            Ok(entered) => entered,
            Err(full) => {
                match full {
                    Full::Total => counters.refused_total.one(),
                    Full::Ue => counters.refused_ue.one(),
                }
                return;
            }
        };
        if self.shared.registry.connections() >= self.config.limits.connections {
            self.shared.overflow.wake();
        }
        let share = self.shared.registry.share(&ue, &self.config);
        let young = self.young_window(share);
        let opened = match self.upstream.open(client, server, share, young) {
            Ok(opened) => opened,
            Err(error) => {
                tracing::debug!(%client, %server, %error, "no connection onward");
                counters.upstream_failed.one();
                self.shared.registry.leave(&ue);
                return;
            }
        };
        if opened.has_other_port {
            counters.port_changed.one();
        }
        let ends = Ends {
            id,
            client,
            server,
            opened_at: self.now,
            ue,
            most_unsent: u32::try_from(self.config.relay.unsent.get()).unwrap_or(u32::MAX),
        };
        self.begin(ends, socket, opened, share);
    }

    fn begin(&mut self, ends: Ends, ran: OwnedFd, opened: Opened, share: u32) {
        let window = self.initial_window(&opened, share);
        let sockets = (ran, opened.socket);
        let flow = Arc::new(Flow::new(ends, sockets, window, opened.wire));
        flow.set_unsent();
        let connection = Connection::new(flow, self.now);
        self.watch(connection);
    }

    /// A connection lives from here on, and its sockets are watched; none if that cannot be, and it has ended.
    pub(super) fn watch(&mut self, connection: Connection) -> Option<Key> {
        let flow = Arc::clone(&connection.flow);
        self.shared.registry.add(&flow);
        let key = self.connections.insert(connection);
        flow.set_waker(Waker::new(Arc::clone(&self.handle), key));
        let flags =
            EventFlags::IN | EventFlags::PRI | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        for (side, socket) in [(Side::Ran, &flow.ran), (Side::Wan, &flow.wan)] {
            let token = EventData::new_u64(token(key, side));
            if let Err(error) = epoll::add(&self.epoll, socket, token, flags) {
                self.end(key, Next::Reset(ResetReason::Broken(error)));
                return None;
            }
        }
        Some(key)
    }

    /// How windows are decided, if they are.
    pub(super) fn decides(&self) -> Option<&edge::EdgeConfig> {
        self.config.edge.as_ref().filter(|_| self.notices.is_some())
    }

    /// The receive window that a server is shown until one is decided, of this share of the memory.
    fn young_window(&self, share: u32) -> u32 {
        self.decides().map_or(share, |decides| {
            u32::try_from(decides.young_window.get())
                .unwrap_or(u32::MAX)
                .min(share)
        })
    }

    /// The receive window towards the server, whose share of the memory is known.
    fn initial_window(&self, opened: &Opened, share: u32) -> Window {
        let young = self.young_window(share);
        if opened.is_locked && opened.wire.is_none() {
            // a socket that has failed already may refuse
            let _ = crate::sys::set_window_clamp(&opened.socket, young);
        }
        let mut rule = self
            .decides()
            .map_or_else(edge::ShownWindow::default, |decides| decides.shown);
        rule.closed_windows &= opened.is_locked && self.shared.can_show_windows_at_once;
        Window::new(share, young, opened.is_locked, rule)
    }
}
