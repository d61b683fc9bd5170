//! The connection onward to the server.

use crate::config::{Config, Keepalive};
use crate::sys;
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// How sockets towards servers are made.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    /// The client's address is shown to the server.
    is_transparent: bool,
    /// Receive buffer, bytes; `None`: as the kernel tunes it.
    receive_buffer: Option<usize>,
    keepalive: Keepalive,
}

/// A socket that is connecting.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The socket.
    pub(crate) socket: OwnedFd,
    /// The client's port was not free towards this server, so another is used.
    pub(crate) has_other_port: bool,
}

impl Upstream {
    /// As configured.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            is_transparent: config.is_transparent(),
            receive_buffer: Some(config.relay.receive_buffer.get() as usize),
            keepalive: config.keepalive,
        }
    }

    /// Begins to connect `client` to `server`.
    ///
    /// # Errors
    /// The kernel's: no route, no descriptor, no address.
    pub(crate) fn open(&self, client: SocketAddr, server: SocketAddr) -> io::Result<Opened> {
        if !self.is_transparent {
            let socket = self.socket(server)?;
            begin(&socket, server)?;
            return Ok(Opened {
                socket,
                has_other_port: false,
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
            let result = bind(&socket, &from).and_then(|()| begin(&socket, server));
            match result {
                Ok(()) => {
                    return Ok(Opened {
                        socket,
                        has_other_port,
                    });
                }
                // an older connection of this port to this server is not yet forgotten
                Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) if !has_other_port => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::ADDRINUSE.into())
    }

    fn socket(&self, server: SocketAddr) -> io::Result<OwnedFd> {
        let family = if server.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        if let Some(bytes) = self.receive_buffer {
            set_receive_buffer(&socket, bytes)?;
        }
        sockopt::set_tcp_nodelay(&socket, true)?;
        set_keepalive(&socket, &self.keepalive)?;
        Ok(socket)
    }
}

/// Begins to connect.
fn begin(socket: &OwnedFd, server: SocketAddr) -> rustix::io::Result<()> {
    match connect(socket, &server) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Locks the receive buffer at a size, whatever the system's limit if we may.
pub(crate) fn set_receive_buffer(socket: &OwnedFd, bytes: usize) -> rustix::io::Result<()> {
    match sockopt::set_socket_recv_buffer_size_force(socket, bytes) {
        Err(Errno::PERM) => sockopt::set_socket_recv_buffer_size(socket, bytes),
        result => result,
    }
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
