//! What the kernel offers for TUN devices and no safe crate does. All `unsafe` code of this crate is
//! here.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Segmentation of UDP over IPv4 and over IPv6 (Linux 6.2, `include/uapi/linux/if_tun.h`).
const TUN_F_USO4: libc::c_uint = 0x20;
const TUN_F_USO6: libc::c_uint = 0x40;

/// Turns a descriptor of `/dev/net/tun` into a TUN device of this name: IP packets, each behind a
/// `virtio_net_hdr`.
///
/// # Errors
/// The kernel's, e.g. if the name is taken.
pub(crate) fn make_tun(fd: impl AsFd, name: &str) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(15)) {
        *to = from.cast_signed();
    }
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the request is a live `ifreq`, as TUNSETIFF expects, and the descriptor is borrowed.
    check(unsafe { libc::ioctl(fd, libc::TUNSETIFF, &raw mut request) })
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
