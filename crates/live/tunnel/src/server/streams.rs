//! TCP connections of the server: accepted from any address, a client's once a path opens on them.

use super::datagrams::{Opened, Opener, expand};
use super::{Server, Socket};
use crate::limits;
use crate::link::{Link, Way, read_form};
use crate::poller::{Poller, Token};
use crate::sealing::{is_init, is_mismatch, open_frame};
use crate::stream::Stream;
use multipath::PathId;
use multipath::server::{ConnectionKey, Flow};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, ipproto, listen, socket_with,
    sockopt,
};
use secrecy::Channel;
use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use units::{Ecn, Instant};

/// TCP connections accepted before other sockets are served.
const ACCEPTS: usize = 64;
impl Server {
    pub(super) fn on_connections(&mut self, now: Instant, poller: &Poller, token: Token) {
        for _ in 0..ACCEPTS {
            let Some(Socket::Listener { fd, .. }) = self.sockets.get(&token.0) else {
                return;
            };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(fd, flags) {
                Ok(fd) => {
                    if let Err(error) = self.take_stream(now, poller, fd) {
                        tracing::debug!(%error, "a TCP connection");
                    }
                }
                // the peer was gone before it was accepted
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                Err(Errno::AGAIN) => return,
                // no descriptor, or no memory: the one that has waited longest for nothing gives way
                Err(error) => match self.pending.oldest() {
                    Some(oldest) => self.shed(now, oldest),
                    None => return self.pause(poller, token, error),
                },
            }
        }
    }

    /// Accepts nothing until the next `Outside::on_chores`: the listener would be ready all the time.
    fn pause(&mut self, poller: &Poller, token: Token, error: Errno) {
        if let Some(Socket::Listener { fd, is_paused }) = self.sockets.get_mut(&token.0)
            && poller.pause(&*fd, token).is_ok()
        {
            *is_paused = true;
            if self.accept_pauses == 0 {
                tracing::warn!(%error, "no TCP connection can be accepted");
            }
            self.accept_pauses += 1;
        }
    }

    pub(super) fn resume_listeners(&mut self, poller: &Poller) {
        for (token, socket) in &mut self.sockets {
            if let Socket::Listener { fd, is_paused } = socket
                && *is_paused
            {
                *is_paused = poller.change(&*fd, Token(*token), false).is_err();
            }
        }
    }

    fn take_stream(&mut self, now: Instant, poller: &Poller, fd: OwnedFd) -> io::Result<()> {
        let remote = rustix::net::getpeername(&fd)?.ok_or(io::ErrorKind::NotConnected)?;
        let remote = SocketAddr::try_from(remote)?;
        let stream = Stream::new(fd, limits::STREAM_CONTROLLER)?;
        let token = self.token();
        poller.add(&stream, token, false)?;
        let stream = Rc::new(RefCell::new(stream));
        self.core.add_stream(token.0 as u32);
        let flow = stream_flow(token.0, remote);
        self.links
            .insert(flow, Link::new(Way::Tcp(Rc::clone(&stream)), &self.output));
        let socket = Socket::Tcp { stream, remote };
        self.sockets.insert(token.0, socket);
        if let Some(evicted) = self.pending.insert(now, token.0, remote.ip()) {
            self.shed(now, evicted);
        }
        Ok(())
    }

    /// Closes a TCP connection that carries no path.
    fn shed(&mut self, now: Instant, token: u64) {
        self.shed += 1;
        self.drop_stream(now, token);
    }

    pub(super) fn on_stream(&mut self, now: Instant, token: Token) {
        let Some(Socket::Tcp { stream, remote }) = self.sockets.get(&token.0) else {
            return;
        };
        let flow = stream_flow(token.0, *remote);
        let stream = Rc::clone(stream);
        let (core, unreadable) = (&mut self.core, &mut self.unreadable);
        core.arrived_at(stream.borrow().local_ip().ok());
        let is_sealed = self.secrecy.is_some();
        let mut opener = Opener {
            now,
            secrecy: &mut self.secrecy,
            refusals: &mut self.refusals,
        };
        // frames that are no part of a handshake
        let mut frames = 0;
        let mut answers = Vec::new();
        let flushed = stream.borrow_mut().flush();
        let read = stream.borrow_mut().read(&mut self.arena, |frame| {
            let packet = if is_sealed || is_init(&frame) {
                let channel = Channel::Stream(flow.socket);
                let mut is_refused = true;
                let packet = open_frame(&frame, |data| {
                    let opened = opener.open(channel, flow.remote, data)?;
                    is_refused = opened.packet.is_none() && is_mismatch_of(&opened);
                    answers.extend(opened.answer);
                    Some(opened.packet?.1)
                });
                frames += usize::from(is_refused || packet.is_some());
                packet
            } else {
                frames += 1;
                Some(frame)
            };
            let Some(packet) = packet else { return };
            let got = read_form(&packet, is_sealed, Ecn::NotEct);
            let got = got.and_then(|got| Some((expand(core, flow, got.packet)?, got.payload)));
            match got {
                Some((packet, payload)) => {
                    core.receive(now, flow, &packet, payload, Ecn::NotEct);
                }
                None => *unreadable += 1,
            }
        });
        if let Some(link) = self.links.get_mut(&flow) {
            for answer in answers {
                link.push_bytes(&answer);
                link.flush();
            }
        }
        if stream.borrow().needs_watching() {
            self.mark_busy(flow);
        }
        if !matches!((flushed, read), (Ok(_), Ok(false))) {
            return self.close_stream(now, token.0);
        }
        if frames > 0 && self.pending.contains(token.0) {
            match self.core.path_of(flow).is_some() {
                true => stream.borrow_mut().accept_any_length(),
                // its first frame was no Request that is accepted: it gets the answer, and no other chance
                false => {
                    self.send_answers(now);
                    self.shed(now, token.0);
                }
            }
        }
    }

    /// A TCP connection is over.
    fn close_stream(&mut self, now: Instant, token: u64) {
        match self.pending.contains(token) {
            true => self.shed(now, token),
            false => self.drop_stream(now, token),
        }
    }

    fn drop_stream(&mut self, now: Instant, token: u64) {
        self.pending.remove(token);
        if let Some(Socket::Tcp { remote, .. }) = self.sockets.remove(&token) {
            let flow = stream_flow(token, remote);
            self.links.remove(&flow);
            self.streams.remove(&flow);
        }
        self.core.remove_stream(now, token as u32);
        if let Some(secrecy) = &mut self.secrecy {
            secrecy.remove_stream(token as u32);
        }
    }

    /// A path has opened: if a TCP connection carries it, that is a client's.
    pub(super) fn on_path_up(&mut self, key: ConnectionKey, path: PathId) {
        let Some(flow) = self.core.flow(key, path) else {
            return;
        };
        let token = u64::from(flow.socket);
        if matches!(self.sockets.get(&token), Some(Socket::Tcp { .. })) {
            self.pending.remove(token);
            self.streams.insert(flow);
        }
    }

    /// TCP connections whose path is over have to open another in time; those that never had one are closed.
    pub(super) fn look_after_streams(&mut self, now: Instant) {
        let core = &self.core;
        let over: Vec<Flow> = self
            .streams
            .iter()
            .filter(|flow| core.path_of(**flow).is_none())
            .copied()
            .collect();
        for flow in over {
            self.streams.remove(&flow);
            let evicted = self
                .pending
                .insert(now, u64::from(flow.socket), flow.remote.ip());
            if let Some(evicted) = evicted {
                self.shed(now, evicted);
            }
        }
        while let Some(expired) = self.pending.expired(now) {
            self.shed(now, expired);
        }
    }

    /// The core reckons with the state of TCP connections when it has something to send on them.
    pub(super) fn report_streams(&mut self, now: Instant) {
        for flow in &self.streams {
            let Some((key, path)) = self.core.path_of(*flow) else {
                continue;
            };
            let tunnel = self.core.tunnel(key).filter(|tunnel| tunnel.has_waiting());
            if let Some(tunnel) = tunnel
                && let Some(Link {
                    way: Way::Tcp(stream),
                    ..
                }) = self.links.get(flow)
                && let Ok(state) = stream.borrow().state()
            {
                tunnel.on_stream(now, path, state);
            }
        }
    }

    /// As [`Self::report_streams`], of all: for their round-trip times.
    pub(super) fn refresh_streams(&mut self, now: Instant) {
        for flow in &self.streams {
            if let Some((key, path)) = self.core.path_of(*flow)
                && let Some(Link {
                    way: Way::Tcp(stream),
                    ..
                }) = self.links.get(flow)
                && let Ok(state) = stream.borrow().state()
                && let Some(tunnel) = self.core.tunnel(key)
            {
                tunnel.on_stream(now, path, state);
            }
        }
    }
}

/// True if it is answered only by the statement that this end differs in whether it encrypts.
fn is_mismatch_of(opened: &Opened) -> bool {
    opened.answer.as_deref().is_some_and(is_mismatch)
}

/// The flow of a TCP connection.
fn stream_flow(token: u64, remote: SocketAddr) -> Flow {
    Flow {
        socket: token as u32,
        remote,
    }
}

/// Listens for TCP connections.
pub(super) fn listener(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv6() {
        AddressFamily::INET6
    } else {
        AddressFamily::INET
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&fd, true)?;
    }
    bind(&fd, &address)?;
    listen(&fd, 128)?;
    Ok(fd)
}
