//! What the kernel offers for TUN devices and sockets of frames, and no safe crate does. All `unsafe` code of this crate is
//! here.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Segmentation of UDP over IPv4 and over IPv6 (Linux 6.2, `include/uapi/linux/if_tun.h`).
const TUN_F_USO4: libc::c_uint = 0x20;
const TUN_F_USO6: libc::c_uint = 0x40;

/// include/uapi/linux/sockios.h, which `libc` has for other systems only.
const SIOCSIFTXQLEN: libc::Ioctl = 0x8943;

/// A request about the interface of a name, of which at most 15 bytes count.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(15)) {
        // signed on some machines, and not on others
        *to = from as libc::c_char;
    }
    request
}

/// Turns a descriptor of `/dev/net/tun` into a device of this name, in which `%d` stands for a number of the kernel's choice:
/// IP packets, or Ethernet frames, each behind a `virtio_net_hdr`. Gives its name.
///
/// # Errors
/// The kernel's, e.g. if the name is taken.
pub(crate) fn make_device(fd: impl AsFd, name: &str, is_ethernet: bool) -> io::Result<String> {
    let mut request = request(name);
    let kind = if is_ethernet {
        libc::IFF_TAP
    } else {
        libc::IFF_TUN
    };
    let flags = kind | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the request is a live `ifreq`, as TUNSETIFF expects, and the descriptor is borrowed.
    check(unsafe { libc::ioctl(fd, libc::TUNSETIFF as libc::Ioctl, &raw mut request) })?;
    let name = request.ifr_name.iter().take_while(|byte| **byte != 0);
    let name = name.map(|byte| *byte as u8).collect();
    String::from_utf8(name).map_err(io::Error::other)
}

/// Sets how many packets wait for the reader of a device, and sets it up. Gives the interface's index. Any socket does.
///
/// # Errors
/// The kernel's.
pub(crate) fn set_up(socket: impl AsFd, name: &str, packets: i32) -> io::Result<u32> {
    let fd = socket.as_fd().as_raw_fd();
    let mut request = request(name);
    request.ifr_ifru.ifru_metric = packets;
    // SAFETY: this request reads the name and the number of the live `ifreq`; the descriptor is borrowed.
    check(unsafe { libc::ioctl(fd, SIOCSIFTXQLEN, &raw mut request) })?;
    // SAFETY: this one reads the name and writes the flags.
    check(unsafe { libc::ioctl(fd, libc::SIOCGIFFLAGS as libc::Ioctl, &raw mut request) })?;
    // SAFETY: the kernel has written this member, and each of its bit patterns is a value.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    // SAFETY: this one reads both.
    check(unsafe { libc::ioctl(fd, libc::SIOCSIFFLAGS as libc::Ioctl, &raw mut request) })?;
    // SAFETY: this one reads the name and writes the index.
    check(unsafe { libc::ioctl(fd, libc::SIOCGIFINDEX as libc::Ioctl, &raw mut request) })?;
    // SAFETY: the kernel has written this member, and each of its bit patterns is a value.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex }.cast_unsigned())
}

/// A socket that sends whole frames and receives none.
///
/// # Errors
/// The kernel's: `EPERM` without `CAP_NET_RAW`.
pub(crate) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: it takes numbers alone.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for this process, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A socket that receives packets without their link layer's header, of no interface yet.
///
/// # Errors
/// The kernel's: `EPERM` without `CAP_NET_RAW`.
pub(crate) fn capture_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: it takes numbers alone.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for this process, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An instruction of a socket filter (classic BPF): code, jumps if true and if false, operand.
pub(crate) type Instruction = (u16, u8, u8, u32);

/// Has the kernel hand a socket only what a filter accepts.
///
/// # Errors
/// The kernel's: a filter that it refuses.
pub(crate) fn attach_filter(fd: impl AsFd, filter: &[Instruction]) -> io::Result<()> {
    let instruction = |&(code, jt, jf, k): &Instruction| libc::sock_filter { code, jt, jf, k };
    let mut filter: Vec<libc::sock_filter> = filter.iter().map(instruction).collect();
    let program = libc::sock_fprog {
        len: filter.len() as libc::c_ushort,
        filter: filter.as_mut_ptr(),
    };
    let size = size_of_val(&program) as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel reads the live program, and as many instructions as it says, which live as long.
    check(unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size,
        )
    })
}

/// The index of an interface of the calling thread's network namespace. Any socket does.
///
/// # Errors
/// The kernel's: there is none of this name.
pub(crate) fn interface_index(socket: impl AsFd, name: &str) -> io::Result<u32> {
    let fd = socket.as_fd().as_raw_fd();
    let mut request = request(name);
    // SAFETY: this request reads the name of the live `ifreq` and writes the index.
    check(unsafe { libc::ioctl(fd, libc::SIOCGIFINDEX as libc::Ioctl, &raw mut request) })?;
    // SAFETY: the kernel has written this member, and each of its bit patterns is a value.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex }.cast_unsigned())
}

/// Begins to receive what passes an interface, of all protocols.
///
/// # Errors
/// The kernel's: the interface is down or gone.
pub(crate) fn bind_capture(fd: impl AsFd, interface: u32) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sockaddr_ll`.
    let mut at: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    at.sll_family = libc::AF_PACKET as libc::c_ushort;
    at.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    at.sll_ifindex = interface.cast_signed();
    let size = size_of_val(&at) as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel reads so many bytes of the live address.
    check(unsafe { libc::bind(fd, (&raw const at).cast(), size) })
}

/// Packets that a capture's socket had no room for since this was last read.
///
/// # Errors
/// The kernel's.
pub(crate) fn capture_drops(fd: impl AsFd) -> io::Result<u32> {
    let mut stats = libc::tpacket_stats {
        tp_packets: 0,
        tp_drops: 0,
    };
    let mut size = size_of_val(&stats) as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel writes so many bytes of the live structure at most.
    check(unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &raw mut size,
        )
    })?;
    Ok(stats.tp_drops)
}

/// Sets an option of a socket that is a number.
///
/// # Errors
/// The kernel's.
pub(crate) fn set_option(fd: impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let size = size_of::<i32>() as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel reads so many bytes of the live number.
    check(unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), size) })
}

/// The kernel's number of a socket (`SO_COOKIE`).
///
/// # Errors
/// The kernel's.
pub(crate) fn cookie(fd: impl AsFd) -> io::Result<u64> {
    let (mut cookie, mut size) = (0_u64, size_of::<u64>() as libc::socklen_t);
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel writes so many bytes of the live number at most.
    check(unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut size,
        )
    })?;
    Ok(cookie)
}

/// Sends a frame by an interface.
///
/// # Errors
/// The kernel's.
pub(crate) fn send_frame(
    fd: impl AsFd,
    interface: u32,
    protocol: u16,
    frame: &[u8],
) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sockaddr_ll`.
    let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    to.sll_family = libc::AF_PACKET as libc::c_ushort;
    to.sll_protocol = protocol.to_be();
    to.sll_ifindex = interface.cast_signed();
    let size = size_of_val(&to) as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel reads the live frame and the live address, each so many bytes.
    let sent = unsafe {
        libc::sendto(
            fd,
            frame.as_ptr().cast(),
            frame.len(),
            libc::MSG_DONTWAIT,
            (&raw const to).cast(),
            size,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Has the kernel leave checksums and segmentation to the reader of the device. True if that of UDP
/// too, which `with_udp` requests and which kernels before 6.2 have not.
///
/// # Errors
/// The kernel's.
pub(crate) fn set_offload(fd: impl AsFd, with_udp: bool) -> io::Result<bool> {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    let fd = fd.as_fd().as_raw_fd();
    let set = |flags: libc::c_uint| {
        // SAFETY: TUNSETOFFLOAD takes the flags by value.
        check(unsafe { libc::ioctl(fd, libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) })
    };
    if with_udp && set(tcp | TUN_F_USO4 | TUN_F_USO6).is_ok() {
        return Ok(true);
    }
    set(tcp).map(|()| false)
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
