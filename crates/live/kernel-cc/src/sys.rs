//! What of the kernel's interfaces no safe crate has. All `unsafe` code of this crate is here.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Has a program run for what leaves an interface, for as long as the descriptor is open (tcx, Linux 6.6).
///
/// # Errors
/// The kernel's.
pub(crate) fn attach_to_egress(program: impl AsFd, interface: u32) -> io::Result<OwnedFd> {
    // include/uapi/linux/bpf.h: the members of `union bpf_attr` for BPF_LINK_CREATE that come first, all others zero
    const BPF_LINK_CREATE: libc::c_long = 28;
    const BPF_TCX_EGRESS: u32 = 47;
    let mut attributes = [0u32; 16];
    attributes[0] = program.as_fd().as_raw_fd().cast_unsigned();
    attributes[1] = interface;
    attributes[2] = BPF_TCX_EGRESS;
    // SAFETY: the kernel reads so many bytes of the live array; both descriptors are borrowed.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            BPF_LINK_CREATE,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel has just opened it for this process, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What packets of an interface of a socket's network namespace begin with: the kernel's number (ARPHRD, as
/// `/sys/class/net/NAME/type`). Any socket does.
///
/// # Errors
/// The kernel's: `ENODEV` if there is no such interface.
pub fn link_type(socket: impl AsFd, interface: &str) -> io::Result<u16> {
    let name = interface.as_bytes();
    if name.len() >= libc::IFNAMSIZ || name.contains(&0) {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    // SAFETY: it consists of integers and arrays of them, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    // SAFETY: this request reads the name and writes the address of the live structure; the descriptor is borrowed.
    let result = unsafe {
        libc::ioctl(
            socket.as_fd().as_raw_fd(),
            libc::SIOCGIFHWADDR,
            &raw mut request,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has written this member of the union, and each of its bit patterns is a value.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}
