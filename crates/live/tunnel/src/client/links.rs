//! The client's configured paths with their links.

use super::names::Choice;
use crate::config::PathConfig;
use crate::inner::Inner;
use crate::link::{Link, Way};
use crate::poller::{Poller, Token};
use keys::System;
use multipath::client::{ClientPathId, SendFault};
use multipath::packet::AddressId;
use multipath::tunnel::Transmit;
use secrecy::{Initiator, Local};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use units::Instant;

/// A configured path.
#[derive(Debug)]
pub(super) struct LivePath {
    pub(super) config: PathConfig,
    /// Its socket or TCP connection, if there is one.
    pub(super) link: Option<LiveLink>,
    /// It is logged that the path cannot be opened: once until it can.
    pub(super) is_logged: bool,
    /// The number of the server's address that it leads to, if the server has signalled that; whether it has been up.
    pub(super) announced: Option<(AddressId, bool)>,
    /// It is gone from the configuration, and goes with its link.
    pub(super) is_removed: bool,
    /// What seals its packets; none if they are not sealed, or it was never opened.
    pub(super) secrecy: Option<Initiator>,
    /// Where its socket goes.
    pub(super) choice: Choice,
    /// Packets that wait for its first keys.
    waiting: VecDeque<Transmit<Inner>>,
}

/// Packets that wait for keys at most; of more the oldest are lost.
const MAX_WAITING: usize = 32;
/// Inits without any answer before a warning.
const SILENT_INITS: u32 = 4;

/// A link, and what it is registered under.
#[derive(Debug)]
pub(super) struct LiveLink {
    pub(super) link: Link,
    pub(super) token: Token,
}

impl LivePath {
    pub(super) fn new(config: PathConfig) -> Self {
        Self {
            config,
            link: None,
            is_logged: false,
            announced: None,
            is_removed: false,
            secrecy: None,
            choice: Choice::default(),
            waiting: VecDeque::new(),
        }
    }

    /// A new link: over datagrams, keys outlast it.
    pub(super) fn set_link(&mut self, now: Instant, link: LiveLink, local: Option<&Arc<Local>>) {
        let is_stream = matches!(link.link.way, Way::Tcp(_));
        match (&mut self.secrecy, local) {
            (Some(secrecy), _) if !is_stream => secrecy.on_moved(now),
            (secrecy, local) => {
                *secrecy = local.map(|local| Initiator::new(Arc::clone(local)));
                self.waiting.clear();
            }
        }
        self.link = Some(link);
        self.is_logged = false;
    }

    /// Takes a packet; a path whose link is gone loses what it sends, as on any dead way.
    pub(super) fn push(&mut self, now: Instant, transmit: Transmit<Inner>) {
        let Some(link) = &mut self.link else { return };
        match &mut self.secrecy {
            None => link.link.push(transmit, None),
            Some(secrecy) if secrecy.is_ready(now) => {
                let seal = secrecy.session().map(|session| (session, now));
                link.link.push(transmit, seal);
            }
            Some(_) => {
                if self.waiting.len() == MAX_WAITING {
                    self.waiting.pop_front();
                }
                self.waiting.push_back(transmit);
            }
        }
    }

    /// What the handshake has to send, and what has waited for its keys.
    pub(super) fn push_handshake(&mut self, now: Instant) {
        let (Some(link), Some(secrecy)) = (&mut self.link, &mut self.secrecy) else {
            return;
        };
        while let Some(datagram) = secrecy.poll_transmit(now, &mut System) {
            link.link.push_bytes(&datagram);
            if secrecy.unanswered_inits() == SILENT_INITS {
                tracing::warn!(
                    path = self.config.name,
                    "no answer to the handshake: server-key, the client's public-key there, key-file, \
                     encryption and the version must match"
                );
            }
        }
        if secrecy.is_ready(now) {
            for transmit in std::mem::take(&mut self.waiting) {
                self.push(now, transmit);
            }
        }
    }
}

/// All of them, by their numbers in the core.
#[derive(Debug, Default)]
pub(super) struct LivePaths(Vec<Option<LivePath>>);

impl LivePaths {
    /// One more, or another at a number that is free.
    pub(super) fn insert(&mut self, id: ClientPathId, path: LivePath) {
        if self.0.len() <= id.index() {
            self.0.resize_with(id.index() + 1, || None);
        }
        self.0[id.index()] = Some(path);
    }

    /// A path.
    pub(super) fn get(&self, id: ClientPathId) -> Option<&LivePath> {
        self.0.get(id.index())?.as_ref()
    }

    /// A path.
    pub(super) fn get_mut(&mut self, id: ClientPathId) -> Option<&mut LivePath> {
        self.0.get_mut(id.index())?.as_mut()
    }

    /// Its link is closed; a path that was removed goes with it.
    pub(super) fn close(&mut self, id: ClientPathId) {
        let Some(slot) = self.0.get_mut(id.index()) else {
            return;
        };
        if let Some(path) = slot {
            path.link = None;
            if path.is_removed {
                *slot = None;
            }
        }
    }

    /// Those that are configured.
    pub(super) fn configured(&self) -> impl Iterator<Item = (ClientPathId, &LivePath)> {
        let all = self.0.iter().enumerate();
        let there = all.filter_map(|(index, path)| Some((index, path.as_ref()?)));
        there
            .filter(|(_, path)| !path.is_removed)
            .map(|(index, path)| (ClientPathId(index as u16), path))
    }

    /// The configured path of that name.
    pub(super) fn named_mut(&mut self, name: &str) -> Option<&mut LivePath> {
        let all = self.0.iter_mut().flatten();
        all.filter(|path| !path.is_removed)
            .find(|path| path.config.name == name)
    }

    /// All links, with their paths.
    pub(super) fn links_mut(&mut self) -> impl Iterator<Item = (ClientPathId, &mut LiveLink)> {
        let all = self.0.iter_mut().enumerate();
        all.filter_map(|(index, path)| {
            let link = path.as_mut()?.link.as_mut()?;
            Some((ClientPathId(index as u16), link))
        })
    }

    /// All that are opened.
    pub(super) fn open_mut(&mut self) -> impl Iterator<Item = &mut LivePath> {
        let all = self.0.iter_mut().flatten();
        all.filter(|path| path.link.is_some())
    }

    /// The path whose link is registered under that.
    pub(super) fn of_token(&mut self, token: Token) -> Option<ClientPathId> {
        let mut links = self.links_mut();
        let found = links.find(|(_, link)| link.token == token);
        found.map(|(id, _)| id)
    }

    /// Sends what was pushed. Gives the links' errors.
    pub(super) fn flush(&mut self, poller: &Poller) -> Vec<(ClientPathId, io::Error)> {
        let mut faults = Vec::new();
        for (id, link) in self.links_mut() {
            link.link.flush();
            let fault = link.link.take_fault();
            faults.extend(fault.or(watch(link, poller).err()).map(|error| (id, error)));
        }
        faults
    }
}

/// What an error of sending means to a path over datagrams; nothing of a TCP connection, which ends by itself.
pub(super) fn fault_of(way: &Way, error: &io::Error) -> Option<SendFault> {
    if matches!(way, Way::Tcp(_)) {
        return None;
    }
    match error.raw_os_error()? {
        libc::ENODEV | libc::ENXIO | libc::EADDRNOTAVAIL => Some(SendFault::SocketGone),
        libc::ENETDOWN | libc::ENETUNREACH | libc::EHOSTUNREACH => Some(SendFault::Unreachable),
        libc::ECONNREFUSED => Some(SendFault::Refused),
        _ => None,
    }
}

/// Has the poller notify when a TCP connection can be written, exactly while something waits for it.
fn watch(link: &mut LiveLink, poller: &Poller) -> io::Result<()> {
    let Way::Tcp(stream) = &link.link.way else {
        return Ok(());
    };
    let mut stream = stream.borrow_mut();
    let waits = stream.is_waiting();
    if waits && stream.is_watched {
        // what came in between may have made room
        return stream.flush().map(drop);
    }
    if waits != stream.is_watched {
        poller.change(&*stream, link.token, waits)?;
        stream.is_watched = waits;
    }
    Ok(())
}
