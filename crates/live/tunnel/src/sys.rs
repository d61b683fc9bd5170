//! What the kernel offers and no safe crate does: datagrams in batches with fields of their IP headers.
//! All `unsafe` code of this crate is here.

use bytes::BytesMut;
use std::io::{self, IoSlice};
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

/// Makes a piece of memory whole again, if nothing else holds any of it. It must have been made by
/// `BytesMut::zeroed(length)`.
pub(crate) fn reclaim(piece: &mut BytesMut, length: usize) -> bool {
    piece.clear();
    if !piece.try_reclaim(length) {
        return false;
    }
    // SAFETY: the capacity is at least `length`, and all of it was initialised when it was made.
    unsafe { piece.set_len(length) };
    true
}

/// Datagrams that are sent in one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing<'a> {
    /// To whom; none for a connected socket.
    pub(crate) to: Option<SocketAddr>,
    /// From which of this machine's addresses; none for the kernel's choice.
    pub(crate) from: Option<IpAddr>,
    /// The bytes of all datagrams.
    pub(crate) pieces: &'a [IoSlice<'a>],
    /// Length of each datagram but the last, which may be shorter; none if there is only one.
    pub(crate) segment: Option<u16>,
    /// The field of ECN.
    pub(crate) ecn: u8,
}

/// Datagrams that came in one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    /// Bytes of all of them.
    pub(crate) length: usize,
    /// Length of each but the last, which may be shorter.
    pub(crate) segment: usize,
    /// Who sent them.
    pub(crate) from: SocketAddr,
    /// Which of this machine's addresses they were sent to, if the socket was set to report it.
    pub(crate) to: Option<IpAddr>,
    /// The field of ECN.
    pub(crate) ecn: u8,
}

/// Room for control messages, aligned as the kernel requires.
#[repr(align(8))]
struct Control([u8; 128]);

/// Appends control messages to a buffer that is all zero.
struct Messages<'a> {
    header: &'a mut libc::msghdr,
    used: usize,
}

impl Messages<'_> {
    fn push<T>(&mut self, level: i32, kind: i32, value: T) {
        let size = size_of::<T>() as libc::c_uint;
        // SAFETY: the functions only compute; the buffer is zeroed and 128 bytes long, and all
        // messages together that this module makes take less (24 + 24 + 40 bytes).
        unsafe {
            let space = libc::CMSG_SPACE(size) as usize;
            self.header.msg_controllen = (self.used + space) as _;
            let mut message = libc::CMSG_FIRSTHDR(self.header);
            let mut at = 0;
            while at < self.used {
                let own = (*message).cmsg_len as usize;
                at += libc::CMSG_SPACE((own - libc::CMSG_LEN(0) as usize) as libc::c_uint) as usize;
                message = libc::CMSG_FIRSTHDR(self.header).byte_add(at);
            }
            (*message).cmsg_level = level;
            (*message).cmsg_type = kind;
            (*message).cmsg_len = libc::CMSG_LEN(size) as _;
            libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
            self.used += space;
        }
    }
}

/// Sends datagrams.
///
/// # Errors
/// The kernel's: `WouldBlock`, `EMSGSIZE` for what exceeds the path's MTU, `EIO` and `EINVAL` where
/// segments cannot be made.
pub(crate) fn send(fd: impl AsFd, out: &Outgoing<'_>) -> io::Result<usize> {
    let mut control = Control([0; 128]);
    // SAFETY: all-zero bytes are a valid `msghdr`.
    let mut header: libc::msghdr = unsafe { zeroed() };
    let mut address = out.to.map(RawAddress::from);
    if let Some(address) = &mut address {
        header.msg_name = (&raw mut address.storage).cast();
        header.msg_namelen = address.length;
    }
    header.msg_iov = out.pieces.as_ptr().cast_mut().cast();
    header.msg_iovlen = out.pieces.len() as _;
    header.msg_control = control.0.as_mut_ptr().cast();
    let mut messages = Messages {
        header: &mut header,
        used: 0,
    };
    if let Some(segment) = out.segment {
        messages.push(libc::SOL_UDP, libc::UDP_SEGMENT, segment);
    }
    let is_ipv6 = match (out.to, out.from) {
        (Some(to), _) => to.is_ipv6(),
        (None, Some(from)) => from.is_ipv6(),
        (None, None) => false,
    };
    if out.ecn != 0 {
        if is_ipv6 {
            messages.push(libc::SOL_IPV6, libc::IPV6_TCLASS, i32::from(out.ecn));
        } else {
            messages.push(libc::SOL_IP, libc::IP_TOS, i32::from(out.ecn));
        }
    }
    match out.from {
        Some(IpAddr::V4(from)) if !from.is_unspecified() => {
            let info = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr {
                    s_addr: u32::from_ne_bytes(from.octets()),
                },
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            messages.push(libc::SOL_IP, libc::IP_PKTINFO, info);
        }
        Some(IpAddr::V6(from)) if !from.is_unspecified() => {
            let info = libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr {
                    s6_addr: from.octets(),
                },
                ipi6_ifindex: 0,
            };
            messages.push(libc::SOL_IPV6, libc::IPV6_PKTINFO, info);
        }
        _ => {}
    }
    if messages.used == 0 {
        header.msg_control = std::ptr::null_mut();
    }
    // SAFETY: all that the header points to lives until the call returns.
    let sent = unsafe {
        libc::sendmsg(
            fd.as_fd().as_raw_fd(),
            &raw const header,
            libc::MSG_NOSIGNAL,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives datagrams, several in one piece where the kernel has put them together (`UDP_GRO`).
///
/// # Errors
/// The kernel's; `WouldBlock` if there is none.
pub(crate) fn receive(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<Incoming> {
    let mut control = Control([0; 128]);
    // SAFETY: all-zero bytes are a valid `msghdr` and a valid `sockaddr_storage`.
    let (mut header, mut storage): (libc::msghdr, libc::sockaddr_storage) =
        unsafe { (zeroed(), zeroed()) };
    let mut piece = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    header.msg_name = (&raw mut storage).cast();
    header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: all that the header points to lives until the call returns, with the lengths given.
    let read = unsafe { libc::recvmsg(fd.as_fd().as_raw_fd(), &raw mut header, 0) };
    let length = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    if header.msg_flags & libc::MSG_TRUNC != 0 {
        return Err(io::Error::other("a datagram larger than the buffer"));
    }
    let mut incoming = Incoming {
        length,
        segment: length,
        from: address(&storage)?,
        to: None,
        ecn: 0,
    };
    // SAFETY: the kernel has filled the control messages up to `msg_controllen`.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&raw const header);
        while !message.is_null() {
            let data = libc::CMSG_DATA(message);
            match ((*message).cmsg_level, (*message).cmsg_type) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let segment = data.cast::<i32>().read_unaligned();
                    incoming.segment = usize::try_from(segment).unwrap_or(0);
                }
                (libc::SOL_IP, libc::IP_TOS) => incoming.ecn = data.read() & 3,
                (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                    incoming.ecn = data.cast::<i32>().read_unaligned() as u8 & 3;
                }
                (libc::SOL_IP, libc::IP_PKTINFO) => {
                    let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                    let octets = info.ipi_addr.s_addr.to_ne_bytes();
                    incoming.to = Some(Ipv4Addr::from(octets).into());
                }
                (libc::SOL_IPV6, libc::IPV6_PKTINFO) => {
                    let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    incoming.to = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    if incoming.segment == 0 {
        incoming.segment = length.max(1);
    }
    Ok(incoming)
}

/// A socket address as the kernel writes it.
struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl From<SocketAddr> for RawAddress {
    fn from(address: SocketAddr) -> Self {
        // SAFETY: all-zero bytes are a valid `sockaddr_storage`, which has room and alignment for
        // every kind of address.
        unsafe {
            let mut storage: libc::sockaddr_storage = zeroed();
            let place = &raw mut storage;
            let length = match address {
                SocketAddr::V4(v4) => {
                    place.cast::<libc::sockaddr_in>().write(libc::sockaddr_in {
                        sin_family: libc::AF_INET as libc::sa_family_t,
                        sin_port: v4.port().to_be(),
                        sin_addr: libc::in_addr {
                            s_addr: u32::from_ne_bytes(v4.ip().octets()),
                        },
                        sin_zero: [0; 8],
                    });
                    size_of::<libc::sockaddr_in>()
                }
                SocketAddr::V6(v6) => {
                    place
                        .cast::<libc::sockaddr_in6>()
                        .write(libc::sockaddr_in6 {
                            sin6_family: libc::AF_INET6 as libc::sa_family_t,
                            sin6_port: v6.port().to_be(),
                            sin6_flowinfo: 0,
                            sin6_addr: libc::in6_addr {
                                s6_addr: v6.ip().octets(),
                            },
                            sin6_scope_id: v6.scope_id(),
                        });
                    size_of::<libc::sockaddr_in6>()
                }
            };
            Self {
                storage,
                length: length as libc::socklen_t,
            }
        }
    }
}

fn address(storage: &libc::sockaddr_storage) -> io::Result<SocketAddr> {
    let place: *const libc::sockaddr_storage = storage;
    // SAFETY: the storage has room and alignment for both kinds, and all bits are valid in them.
    unsafe {
        match i32::from(storage.ss_family) {
            libc::AF_INET => {
                let v4 = &*place.cast::<libc::sockaddr_in>();
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                Ok(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                let v6 = &*place.cast::<libc::sockaddr_in6>();
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                Ok(SocketAddrV6::new(ip, port, 0, v6.sin6_scope_id).into())
            }
            _ => Err(io::Error::other("a datagram from no IP address")),
        }
    }
}
