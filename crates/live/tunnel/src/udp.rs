//! UDP sockets of the tunnel: many datagrams a call, the field of ECN both ways, and the address that
//! a datagram was sent to.

use crate::sys;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, getsockname};
use rustix::net::{ipproto, socket_with};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use crate::sys::{Incoming, Outgoing};

/// Maximum number of datagrams that the kernel cuts out of one call (`UDP_MAX_SEGMENTS` before Linux 6.9).
pub(crate) const MAX_SEGMENTS: usize = 64;
/// Maximum bytes of one call: the largest UDP payload over IPv4.
pub(crate) const MAX_BYTES: usize = 65_507;
/// What a socket may hold: bursts of the size of a large window. The kernel's own limit
/// (`net.core.rmem_max`, `wmem_max`) is passed with `CAP_NET_ADMIN`.
const BUFFER: i32 = 8 << 20;

/// The address that a connected socket sends from.
///
/// # Errors
/// The kernel's.
pub(crate) fn local_ip(fd: impl AsFd) -> io::Result<IpAddr> {
    let address = SocketAddr::try_from(getsockname(fd)?)?;
    Ok(address.ip())
}

/// Through which interface and from which address a socket sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// Interface.
    pub(crate) interface: Option<String>,
    /// Own address.
    pub(crate) local: Option<IpAddr>,
    /// The mark of its packets, for policy routing.
    pub(crate) mark: Option<u32>,
}

impl Way {
    /// Has a socket go this way; to be bound to [`Self::local`] afterwards.
    ///
    /// # Errors
    /// The kernel's: no such interface, no permission.
    pub(crate) fn apply(&self, fd: impl AsFd + Copy) -> io::Result<()> {
        if let Some(mark) = self.mark {
            socket_options::set_int(fd, libc::SOL_SOCKET, libc::SO_MARK, mark.cast_signed())?;
        }
        match &self.interface {
            Some(name) => bind_to_device(fd, name),
            None => Ok(()),
        }
    }
}

/// A socket for datagrams.
#[derive(Debug)]
pub(crate) struct UdpSocket {
    fd: OwnedFd,
    /// False once the kernel has refused to cut datagrams for it.
    cuts: AtomicBool,
    is_ipv6: bool,
    is_connected: bool,
}

impl UdpSocket {
    /// A socket of a client: it receives only from `remote`.
    ///
    /// # Errors
    /// The kernel's: no such interface or address, no route.
    pub(crate) fn connected(way: &Way, remote: SocketAddr) -> io::Result<Self> {
        let mut socket = Self::open(remote.is_ipv6())?;
        way.apply(&socket.fd)?;
        let local = way.local.unwrap_or_else(|| any(remote.is_ipv6()));
        bind(&socket.fd, &SocketAddr::new(local, 0))?;
        connect(&socket.fd, &remote)?;
        socket.is_connected = true;
        Ok(socket)
    }

    /// A socket of a server, which receives from any address and answers from the address that was addressed.
    ///
    /// # Errors
    /// The kernel's: the address is not this machine's, or taken.
    pub(crate) fn listening(address: SocketAddr) -> io::Result<Self> {
        let socket = Self::open(address.is_ipv6())?;
        if address.is_ipv6() {
            sockopt::set_ipv6_v6only(&socket.fd, true)?;
            socket_options::set_int(&socket.fd, libc::SOL_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
        } else {
            socket_options::set_int(&socket.fd, libc::SOL_IP, libc::IP_PKTINFO, 1)?;
        }
        bind(&socket.fd, &address)?;
        Ok(socket)
    }

    /// Routers do not fragment what it sends (DF), and the kernel refuses nothing that the interface takes: what the path
    /// takes is found by probes.
    fn open(is_ipv6: bool) -> io::Result<Self> {
        let family = if is_ipv6 {
            AddressFamily::INET6
        } else {
            AddressFamily::INET
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
        if is_ipv6 {
            socket_options::set_int(&fd, libc::SOL_IPV6, libc::IPV6_RECVTCLASS, 1)?;
            socket_options::set_int(
                &fd,
                libc::SOL_IPV6,
                libc::IPV6_MTU_DISCOVER,
                libc::IPV6_PMTUDISC_PROBE,
            )?;
        } else {
            socket_options::set_int(&fd, libc::SOL_IP, libc::IP_RECVTOS, 1)?;
            socket_options::set_int(
                &fd,
                libc::SOL_IP,
                libc::IP_MTU_DISCOVER,
                libc::IP_PMTUDISC_PROBE,
            )?;
        }
        // kernels before 5.0 hand over one datagram a call
        let _ = socket_options::set_int(&fd, libc::SOL_UDP, libc::UDP_GRO, 1);
        for (forced, bounded) in [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
        ] {
            if socket_options::set_int(&fd, libc::SOL_SOCKET, forced, BUFFER).is_err() {
                socket_options::set_int(&fd, libc::SOL_SOCKET, bounded, BUFFER)?;
            }
        }
        Ok(Self {
            fd,
            cuts: AtomicBool::new(true),
            is_ipv6,
            is_connected: false,
        })
    }

    /// The address that it sends from; of a connected socket.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn local_ip(&self) -> io::Result<IpAddr> {
        local_ip(&self.fd)
    }

    /// The largest IP packet that the way to the peer takes by its interface, its route and what routers have reported; of a
    /// connected socket.
    ///
    /// # Errors
    /// The kernel's, e.g. if the way is gone.
    pub(crate) fn path_mtu(&self) -> io::Result<usize> {
        let mtu = if self.is_ipv6 {
            socket_options::get_int(&self.fd, libc::SOL_IPV6, libc::IPV6_MTU)?
        } else {
            socket_options::get_int(&self.fd, libc::SOL_IP, libc::IP_MTU)?
        };
        Ok(usize::try_from(mtu).unwrap_or(0))
    }

    /// It speaks IPv6.
    pub(crate) fn is_ipv6(&self) -> bool {
        self.is_ipv6
    }

    /// True if several datagrams can be sent at once.
    pub(crate) fn cuts(&self) -> bool {
        self.cuts.load(Ordering::Relaxed)
    }

    /// The kernel does not cut for this socket: one datagram a call from now on.
    pub(crate) fn stop_cutting(&self) {
        self.cuts.store(false, Ordering::Relaxed);
    }

    /// Sends datagrams. `out.to` is ignored by a connected socket.
    ///
    /// # Errors
    /// The kernel's, see [`sys::send`].
    pub(crate) fn send(&self, out: &Outgoing<'_>) -> io::Result<usize> {
        let mut out = *out;
        if self.is_connected {
            out.to = None;
            out.from = Some(any(self.is_ipv6));
        }
        sys::send(&self.fd, &out)
    }

    /// Receives datagrams; `buffer` should have [`MAX_BYTES`].
    ///
    /// # Errors
    /// The kernel's; `WouldBlock` if there is none.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Incoming> {
        sys::receive(&self.fd, buffer)
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Has a socket use this interface only.
///
/// # Errors
/// `ENODEV` if there is none of that name.
pub(crate) fn bind_to_device(fd: impl AsFd, name: &str) -> io::Result<()> {
    socket_options::set_bytes(fd, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, name.as_bytes())
}

/// The unspecified address.
pub(crate) fn any(is_ipv6: bool) -> IpAddr {
    if is_ipv6 {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSlice;

    fn local(socket: &UdpSocket) -> SocketAddr {
        let address = getsockname(socket).expect("bound");
        SocketAddr::try_from(address).expect("an IP address")
    }

    fn wait(socket: &UdpSocket, buffer: &mut [u8]) -> Incoming {
        for _ in 0..2_000 {
            match socket.receive(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                other => return other.expect("datagrams"),
            }
        }
        panic!("nothing came");
    }

    /// A batch arrives whole, with its mark, from where it was sent, and the answer comes from the
    /// address that was called.
    #[test]
    fn batches_with_marks_there_and_back() {
        for (any, called) in [("0.0.0.0:0", "127.0.0.2"), ("[::]:0", "::1")] {
            let Ok(server) = UdpSocket::listening(any.parse().expect("an address")) else {
                testing::skip(
                    "batches_with_marks_there_and_back",
                    testing::Missing::Kernel(any),
                );
                continue;
            };
            let port = local(&server).port();
            let called: IpAddr = called.parse().expect("an address");
            let client = UdpSocket::connected(&Way::default(), SocketAddr::new(called, port))
                .expect("connected");
            let payload: Vec<u8> = (0..3_500u32).map(|i| (i / 1_000) as u8).collect();
            let out = Outgoing {
                to: None,
                from: None,
                pieces: &[IoSlice::new(&payload[..700]), IoSlice::new(&payload[700..])],
                segment: Some(1_000),
                ecn: 2,
            };
            assert_eq!(client.send(&out).expect("sent"), 3_500);
            let mut buffer = vec![0; MAX_BYTES];
            let mut got = Vec::new();
            let mut last = None;
            while got.len() < payload.len() {
                let incoming = wait(&server, &mut buffer);
                assert!(incoming.segment == 1_000 || incoming.length <= 1_000);
                got.extend_from_slice(&buffer[..incoming.length]);
                last = Some(incoming);
            }
            assert_eq!(got, payload);
            let last = last.expect("something came");
            assert_eq!((last.ecn, last.to), (2, Some(called)));
            assert_eq!(last.from, local(&client));
            let answer = Outgoing {
                to: Some(last.from),
                from: last.to,
                pieces: &[IoSlice::new(b"yes")],
                segment: None,
                ecn: 3,
            };
            server.send(&answer).expect("sent");
            let incoming = wait(&client, &mut buffer);
            assert_eq!((&buffer[..incoming.length], incoming.ecn), (&b"yes"[..], 3));
            assert!(client.path_mtu().expect("an MTU") >= 1_280);
        }
    }

    #[test]
    fn no_such_interface_is_an_error() {
        let way = Way {
            mark: None,
            interface: Some("none-such0".to_owned()),
            local: None,
        };
        let remote = "127.0.0.1:9".parse().expect("an address");
        assert!(UdpSocket::connected(&way, remote).is_err());
    }
}
