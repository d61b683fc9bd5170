//! Where connections are accepted.

use crate::config::{Config, Explicit, Interception, Transparent};
use crate::error::PepError;
use crate::relay::{prepare_end, set_keepalive};
use crate::sys;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, ipproto, listen, socket_with,
    sockopt,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// Segment size that is taken for granted before a connection's own is known, bytes.
pub(crate) const USUAL_MSS: u32 = 1_448;
/// Connections that wait to be accepted; the system's limit may be lower.
const BACKLOG: i32 = 4_096;
/// Repetitions of a SYN-ACK: a handshake that is not answered holds its place in the queue for 7 s, not for
/// the system's 63 s, so that UEs at their rate of SYNs do not fill it.
const SYN_ACK_RETRIES: i32 = 2;
/// Tries to find one port that is free for IPv4 and IPv6.
const PORT_TRIES: usize = 20;

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    /// The socket; what it is set to, accepted sockets inherit.
    pub(crate) socket: OwnedFd,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Listener {
    /// A copy of a socket that listens already; it stays as the predecessor has set it.
    pub(crate) fn from_socket(socket: OwnedFd) -> Result<Self, PepError> {
        let system = |error: Errno| PepError::system("a listener that was handed over", error);
        let address = getsockname(&socket).map_err(system)?;
        let address = SocketAddr::try_from(address).map_err(system)?;
        Ok(Self { socket, address })
    }

    /// Has accepted sockets inherit what is configured, now that the socket is this process's alone.
    pub(crate) fn adopt(&self, config: &Config) -> rustix::io::Result<()> {
        prepare(&self.socket, config)
    }

    fn open(address: SocketAddr, config: &Config) -> Result<Self, PepError> {
        let what = || format!("cannot listen at {address}");
        let socket = bound(address, config).map_err(|e| PepError::system(what(), advised(e)))?;
        listen(&socket, BACKLOG).map_err(|e| PepError::system(what(), e))?;
        let bound = getsockname(&socket).map_err(|e| PepError::system(what(), e))?;
        let address = SocketAddr::try_from(bound).map_err(|e| PepError::system(what(), e))?;
        Ok(Self { socket, address })
    }
}

/// A refusal, with what it takes.
fn advised(error: std::io::Error) -> std::io::Error {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => std::io::Error::other(format!(
            "{error}: the proxy needs root, or the capabilities of its systemd unit"
        )),
        _ => error,
    }
}

fn bound(address: SocketAddr, config: &Config) -> std::io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    if config.is_transparent() {
        sys::set_transparent(&socket, address.is_ipv6())?;
    }
    prepare(&socket, config)?;
    bind(&socket, &address)?;
    Ok(socket)
}

/// What accepted sockets inherit. See [`prepare_end`] for how they close.
fn prepare(socket: &OwnedFd, config: &Config) -> rustix::io::Result<()> {
    sockopt::set_tcp_nodelay(socket, true)?;
    set_keepalive(socket, &config.keepalive)?;
    prepare_end(socket)?;
    let unsent = u32::try_from(config.relay.unsent.get()).unwrap_or(u32::MAX);
    sys::set_notsent_lowat(socket, unsent)
        .and_then(|()| {
            socket_options::set_int(socket, libc::SOL_TCP, libc::TCP_SYNCNT, SYN_ACK_RETRIES)
        })
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
}

/// All listeners that a configuration requests.
pub(crate) fn open(config: &Config) -> Result<Vec<Listener>, PepError> {
    match &config.interception {
        Interception::Explicit(explicit) => open_explicit(explicit, config),
        Interception::Transparent(transparent) => open_transparent(transparent, config),
        Interception::Off { .. } => Ok(Vec::new()),
    }
}

fn open_explicit(explicit: &Explicit, config: &Config) -> Result<Vec<Listener>, PepError> {
    Ok(vec![Listener::open(explicit.listen, config)?])
}

/// One for each address family that a prefix is of, all at the same port. Only the rules of
/// the interception reaches them: see there.
fn open_transparent(transparent: &Transparent, config: &Config) -> Result<Vec<Listener>, PepError> {
    let any = |is_ipv6| -> IpAddr {
        if is_ipv6 {
            Ipv6Addr::UNSPECIFIED.into()
        } else {
            Ipv4Addr::UNSPECIFIED.into()
        }
    };
    let has = |is_ipv6| {
        transparent
            .ue_prefixes
            .iter()
            .any(|p| p.is_ipv6() == is_ipv6)
    };
    let families: Vec<bool> = [false, true].into_iter().filter(|f| has(*f)).collect();
    let mut tries = 0;
    loop {
        let mut listeners: Vec<Listener> = Vec::new();
        let result = families.iter().try_for_each(|is_ipv6| {
            let port = listeners
                .first()
                .map_or(transparent.port, |l| l.address.port());
            let address = SocketAddr::new(any(*is_ipv6), port);
            listeners.push(Listener::open(address, config)?);
            Ok(())
        });
        tries += 1;
        match result {
            Ok(()) => return Ok(listeners),
            // the port that was free for the first family may be taken in the second
            Err(_) if transparent.port == 0 && !listeners.is_empty() && tries < PORT_TRIES => {}
            Err(error) => return Err(error),
        }
    }
}
