//! The connection onward to the server.

use crate::config::{Config, Control, Keepalive, Onward};
use crate::error::PepError;
use crate::sys;
use crate::wire::{Wire, WireSlot};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket, socket_with,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// How sockets towards servers are made.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    /// The client's address is shown to the server.
    is_transparent: bool,
    /// There is no allocator.
    is_split: bool,
    keepalive: Keepalive,
    onward: Onward,
    /// Where windows can be set at the wire.
    wire: Option<Arc<Wire>>,
}

/// A socket that is connecting.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The socket.
    pub(crate) socket: OwnedFd,
    /// The client's port was not free towards this server, so another is used.
    pub(crate) has_other_port: bool,
    /// The receive buffer is locked, so that the window is ours to set.
    pub(crate) is_locked: bool,
    /// Where windows are set at the wire.
    pub(crate) wire: Option<Box<WireSlot>>,
}

/// A young connection's buffer has room for so many times what it is offered: with each packet the kernel keeps
/// more than its payload.
const ROOM: u32 = 2;

impl Upstream {
    /// As configured.
    pub(crate) fn new(config: &Config, wire: Option<Arc<Wire>>) -> Self {
        Self {
            is_transparent: config.is_transparent(),
            is_split: config.control == Control::Split,
            keepalive: config.keepalive,
            onward: config.onward.clone(),
            wire,
        }
    }

    /// Whether this process may make such sockets.
    ///
    /// # Errors
    /// The mark may not be set.
    pub(crate) fn check(config: &Config) -> Result<(), PepError> {
        if config.onward.mark == 0 {
            return Ok(());
        }
        socket(AddressFamily::INET, SocketType::STREAM, None)
            .map_err(io::Error::from)
            .and_then(|socket| sys::set_mark(&socket, config.onward.mark))
            .map_err(|error| {
                PepError::system("onward-mark cannot be set, it needs CAP_NET_ADMIN", error)
            })
    }

    /// Begins to connect `client` to `server`, with a receive buffer that will be `buffer` and begins with `young`,
    /// bytes. See [`crate::flow::Flow::widen_buffer`].
    ///
    /// # Errors
    /// The kernel's: no route, no descriptor, no address.
    pub(crate) fn open(
        &self,
        client: SocketAddr,
        server: SocketAddr,
        buffer: u32,
        young: u32,
    ) -> io::Result<Opened> {
        if !self.is_transparent {
            let socket = self.socket(server)?;
            let wire = self.at_wire(&socket, young);
            let young = wire.as_ref().map_or(young, |_| buffer);
            let is_locked = self.begin(&socket, server, buffer, young)?;
            return Ok(Opened {
                socket,
                has_other_port: false,
                is_locked,
                wire,
            });
        }
        let mut other = client;
        other.set_port(0);
        for (from, has_other_port) in [(client, false), (other, true)] {
            let socket = self.socket(server)?;
            sys::set_transparent(&socket, server.is_ipv6())?;
            if has_other_port {
                sys::set_bind_address_no_port(&socket)?;
            } else {
                sockopt::set_socket_reuseaddr(&socket, true)?;
            }
            let wire = self.at_wire(&socket, young);
            let young = wire.as_ref().map_or(young, |_| buffer);
            let result =
                bind(&socket, &from).and_then(|()| self.begin(&socket, server, buffer, young));
            match result {
                Ok(is_locked) => {
                    return Ok(Opened {
                        socket,
                        has_other_port,
                        is_locked,
                        wire,
                    });
                }
                // an older connection of this port to this server has not expired yet
                Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) if !has_other_port => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::ADDRINUSE.into())
    }

    /// Has a socket send keepalive probes: not before its connection has lasted, for many do not.
    pub(super) fn keep_alive(&self, socket: &OwnedFd) {
        // a socket that has just been closed by its peer may refuse: it needs none
        let _ = set_keepalive(socket, &self.keepalive);
    }

    /// A place for a socket whose windows are set at the wire; without one they are set as where that cannot be.
    fn at_wire(&self, socket: &OwnedFd, young: u32) -> Option<Box<WireSlot>> {
        let taken = self.wire.as_ref()?.take(socket, young);
        taken
            .inspect_err(|error| tracing::debug!(%error, "no window at the wire"))
            .map(Box::new)
            .ok()
    }

    /// Begins to connect. The receive buffer is locked only then: a locked one would be offered to
    /// the server as a whole with the handshake, and what has been offered cannot be taken back.
    /// True if it could be locked.
    ///
    /// The clamp before it bounds the scale of windows (RFC 7323), which the kernel would choose for the
    /// largest buffer that the system allows: with 32 MB windows are multiples of 1,024 bytes. And the handshake
    /// offers no more than there will be room for: 64 kB otherwise, of which the kernel drops what a young connection's
    /// buffer cannot take, and the server waits for its retransmission timer.
    fn begin(
        &self,
        socket: &OwnedFd,
        server: SocketAddr,
        buffer: u32,
        young: u32,
    ) -> rustix::io::Result<bool> {
        if !self.is_split {
            if young < buffer {
                // rounded down to whole segments by the kernel
                let offered = young.saturating_add(crate::listener::USUAL_MSS);
                set_receive_buffer(socket, offered)?;
                // where that cannot be, the scale is that of the small buffer: windows are no larger than 64 kB
                let _ = sys::unlock_buffers(socket);
            }
            // without it windows are coarser
            let _ = sys::set_window_clamp(socket, buffer);
        }
        match connect(socket, &server) {
            Ok(()) | Err(Errno::INPROGRESS) => {
                self.lock_receive_buffer(socket, young.saturating_mul(ROOM).min(buffer))
            }
            Err(error) => Err(error),
        }
    }

    /// Where windows are ours to decide, whatever the system's limit if we may, else within it; where
    /// not, and we may not, the kernel's own tuning can do better.
    fn lock_receive_buffer(&self, socket: &OwnedFd, buffer: u32) -> rustix::io::Result<bool> {
        match sockopt::set_socket_recv_buffer_size_force(socket, buffer as usize) {
            Err(Errno::PERM) if self.is_split => Ok(false),
            Err(Errno::PERM) => {
                sockopt::set_socket_recv_buffer_size(socket, buffer as usize)?;
                Ok(true)
            }
            result => result.map(|()| true),
        }
    }

    fn socket(&self, server: SocketAddr) -> io::Result<OwnedFd> {
        let family = if server.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        prepare_end(&socket)?;
        if self.onward.mark != 0 {
            sys::set_mark(&socket, self.onward.mark)?;
        }
        if let Some(interface) = &self.onward.interface {
            sys::bind_to_device(&socket, interface)?;
        }
        Ok(socket)
    }
}

/// Changes a locked receive buffer, bytes: beyond the system's limit if we may.
pub(crate) fn set_receive_buffer(socket: &OwnedFd, buffer: u32) -> rustix::io::Result<()> {
    match sockopt::set_socket_recv_buffer_size_force(socket, buffer as usize) {
        Err(Errno::PERM) => sockopt::set_socket_recv_buffer_size(socket, buffer as usize),
        result => result,
    }
}

/// Has a socket end by a reset however it is closed, this process's death included: only the orderly
/// end of a connection ([`allow_orderly_end`]) lets its peer see the end of the data. Urgent data is
/// read in its place.
pub(crate) fn prepare_end(socket: &OwnedFd) -> rustix::io::Result<()> {
    sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO))?;
    sockopt::set_socket_oobinline(socket, true)
}

/// Both directions have ended in order: what is still to be sent is, after the socket has been closed.
pub(super) fn allow_orderly_end(socket: &OwnedFd) {
    // a socket whose connection has already gone may refuse
    let _ = sockopt::set_socket_linger(socket, None);
}

/// It is to end by a reset all the same.
pub(super) fn forbid_orderly_end(socket: &OwnedFd) {
    // a socket whose connection has already gone may refuse
    let _ = sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO));
}

/// Sets keepalive probes. Whole seconds, at least one.
pub(crate) fn set_keepalive(socket: &OwnedFd, keepalive: &Keepalive) -> rustix::io::Result<()> {
    let seconds = |time: units::Duration| {
        let seconds = (time.as_millis().div_ceil(1_000)).clamp(1, 32_767);
        std::time::Duration::from_secs(seconds)
    };
    sockopt::set_tcp_keepidle(socket, seconds(keepalive.idle))?;
    sockopt::set_tcp_keepintvl(socket, seconds(keepalive.interval))?;
    sockopt::set_tcp_keepcnt(socket, keepalive.probes)?;
    sockopt::set_socket_keepalive(socket, true)
}

/// An address in its plain form: IPv4 addresses that IPv6 sockets show are IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// No address.
pub(crate) const UNSPECIFIED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const YOUNG: u32 = 10 * crate::listener::USUAL_MSS;
    const BUFFER: u32 = 1 << 20;

    /// What does not fit is dropped by the kernel, and sent again after the server's retransmission timer only.
    #[test]
    fn a_handshake_offers_a_server_no_more_than_a_young_connection_takes() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        // as over a network
        socket_options::set_int(&listener, libc::SOL_TCP, libc::TCP_MAXSEG, 1_460).expect("set");
        let server = listener.local_addr().expect("bound");
        let seconds = units::Duration::from_secs(60);
        let upstream = Upstream {
            is_transparent: false,
            is_split: false,
            keepalive: Keepalive {
                idle: seconds,
                interval: seconds,
                probes: 3,
            },
            onward: Onward::default(),
            wire: None,
        };
        let client = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let opened = upstream.open(client, server, BUFFER, YOUNG);
        let near = opened.expect("connecting").socket;
        let (far, _) = listener.accept().expect("connected");
        let info = socket_options::tcp_info(&far).expect("of a connection");
        // in units of the window's scale
        let offered = YOUNG + crate::listener::USUAL_MSS + 256;
        assert!(
            (YOUNG / 2..=offered).contains(&info.snd_wnd),
            "{} bytes",
            info.snd_wnd
        );
        // the scale of windows is that of the buffer that there will be
        let info = socket_options::tcp_info(&near).expect("of a connection");
        assert!((1..=8).contains(&info.rcv_wscale), "{}", info.rcv_wscale);
    }
}
