//! What the kernel offers and no safe crate does: a few socket options, and memory shared with BPF
//! maps. All `unsafe` code of this crate is here.

use rustix::mm::{MapFlags, ProtFlags};
use socket_options::{get_bytes, set_bytes, set_int};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::AtomicU64;

fn check(result: i32) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Lets a socket be bound to, and accept for, addresses that are not this machine's.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN` or `CAP_NET_RAW`.
pub fn set_transparent(fd: impl AsFd, is_ipv6: bool) -> io::Result<()> {
    if is_ipv6 {
        set_int(fd, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, 1)
    } else {
        set_int(fd, libc::SOL_IP, libc::IP_TRANSPARENT, 1)
    }
}

/// Leaves the choice of a port to `connect`, which has the far end as well.
///
/// # Errors
/// The kernel's.
pub fn set_bind_address_no_port(fd: impl AsFd) -> io::Result<()> {
    set_int(fd, libc::SOL_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// Gives a socket's packets a mark.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN` or `CAP_NET_RAW`.
pub fn set_mark(fd: impl AsFd, mark: u32) -> io::Result<()> {
    set_bytes(fd, libc::SOL_SOCKET, libc::SO_MARK, &mark.to_ne_bytes())
}

/// Has a socket send and receive through one interface only.
///
/// # Errors
/// `ENODEV` where there is no such interface.
pub fn bind_to_device(fd: impl AsFd, interface: &str) -> io::Result<()> {
    set_bytes(
        fd,
        libc::SOL_SOCKET,
        libc::SO_BINDTODEVICE,
        interface.as_bytes(),
    )
}

/// Bounds the window that the far end is shown, in bytes.
///
/// # Errors
/// The kernel's.
pub fn set_window_clamp(fd: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set_int(fd, libc::SOL_TCP, libc::TCP_WINDOW_CLAMP, bytes)
}

/// Puts a connection into repair mode, in which its windows can be set, or ends that without a packet.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN`.
pub fn set_repair(fd: impl AsFd, is_on: bool) -> io::Result<()> {
    // include/uapi/linux/tcp.h: TCP_REPAIR_ON, TCP_REPAIR_OFF_NO_WP
    let value = if is_on { 1 } else { -1 };
    set_int(fd, libc::SOL_TCP, libc::TCP_REPAIR, value)
}

/// `struct tcp_repair_window`: both windows of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairWindow {
    /// What the peer has shown: sequence number of its last window, that window, and its largest, bytes.
    pub send: [u32; 3],
    /// The window that the peer was shown last, bytes.
    pub rcv_wnd: u32,
    /// Sequence number that the peer was shown it with.
    pub rcv_wup: u32,
}

/// Reads the windows of a connection in repair mode.
///
/// # Errors
/// `EPERM` outside repair mode.
pub fn repair_window(fd: impl AsFd) -> io::Result<RepairWindow> {
    let mut bytes = [0; 20];
    get_bytes(fd, libc::SOL_TCP, TCP_REPAIR_WINDOW, &mut bytes)?;
    Ok(RepairWindow {
        send: [0, 4, 8].map(|at| word(&bytes, at)),
        rcv_wnd: word(&bytes, 12),
        rcv_wup: word(&bytes, 16),
    })
}

/// Sets them.
///
/// # Errors
/// `EPERM` outside repair mode, `EINVAL` if they contradict what has been received.
pub fn set_repair_window(fd: impl AsFd, window: RepairWindow) -> io::Result<()> {
    let [wl1, wnd, max] = window.send;
    let words = [wl1, wnd, max, window.rcv_wnd, window.rcv_wup];
    let mut bytes = [0; 20];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    set_bytes(fd, libc::SOL_TCP, TCP_REPAIR_WINDOW, &bytes)
}

/// Has a connection send a segment without data, whose number its peer has acknowledged: as the end of repair mode
/// does (`tcp_send_window_probe`), also of one that is not in it. Nothing is sent where one of both directions has
/// ended. It clears `SO_REUSEADDR`.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN`.
pub fn send_window_probe(fd: impl AsFd) -> io::Result<()> {
    // include/uapi/linux/tcp.h: TCP_REPAIR_OFF
    set_int(fd, libc::SOL_TCP, libc::TCP_REPAIR, 0)
}

/// include/uapi/linux/tcp.h
const TCP_REPAIR_WINDOW: libc::c_int = 29;

/// Bounds what the socket takes beyond what has been sent, in bytes.
///
/// # Errors
/// The kernel's.
pub fn set_notsent_lowat(fd: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set_int(fd, libc::SOL_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Whether the next byte to be read is the one that the peer marked as urgent (RFC 6093).
///
/// # Errors
/// The kernel's.
pub fn is_at_mark(fd: impl AsFd) -> io::Result<bool> {
    const SIOCATMARK: libc::Ioctl = 0x8905;
    let mut is_at_mark: libc::c_int = 0;
    // SAFETY: this request writes one C `int`, which lives until it returns; the descriptor is borrowed.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), SIOCATMARK, &raw mut is_at_mark) })?;
    Ok(is_at_mark != 0)
}

/// What a connection has sent and its peer has not acknowledged, or what it has not sent yet, bytes; its end counts as
/// one.
///
/// # Errors
/// The kernel's.
pub fn unacknowledged(fd: impl AsFd) -> io::Result<usize> {
    // include/uapi/linux/sockios.h: SIOCOUTQ
    let mut bytes: libc::c_int = 0;
    // SAFETY: this request writes one C `int`, which lives until it returns; the descriptor is borrowed.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// What a connection was given to send and has not sent once, bytes.
///
/// # Errors
/// The kernel's.
pub fn unsent(fd: impl AsFd) -> io::Result<u64> {
    const SIOCOUTQNSD: libc::Ioctl = 0x894b;
    let mut bytes: libc::c_int = 0;
    // SAFETY: this request writes one C `int`, which lives until it returns; the descriptor is borrowed.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), SIOCOUTQNSD, &raw mut bytes) })?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Kernel memory that a socket's queues take, bytes: packets received and not read, and packets not
/// acknowledged, each with what the kernel needs to keep it (`SO_MEMINFO`).
///
/// # Errors
/// The kernel's.
pub fn socket_memory(fd: impl AsFd) -> io::Result<u64> {
    let word = memory_words(fd)?;
    Ok(word(libc::SK_MEMINFO_RMEM_ALLOC) + word(libc::SK_MEMINFO_WMEM_QUEUED))
}

/// Kernel memory that packets received and not read take, and what they may take, bytes.
///
/// # Errors
/// The kernel's.
pub fn receive_memory(fd: impl AsFd) -> io::Result<(u64, u64)> {
    let word = memory_words(fd)?;
    let taken = word(libc::SK_MEMINFO_RMEM_ALLOC) + word(libc::SK_MEMINFO_BACKLOG);
    Ok((taken, word(libc::SK_MEMINFO_RCVBUF)))
}

/// `SO_MEMINFO`, by the kernel's numbers of its words.
fn memory_words(fd: impl AsFd) -> io::Result<impl Fn(libc::c_int) -> u64> {
    const WORDS: usize = 9;
    // include/uapi/asm-generic/socket.h
    const SO_MEMINFO: libc::c_int = 55;
    let mut bytes = [0; WORDS * 4];
    get_bytes(fd, libc::SOL_SOCKET, SO_MEMINFO, &mut bytes)?;
    Ok(move |index: libc::c_int| u64::from(word(&bytes, index as usize * 4)))
}

/// Has the kernel choose the sizes of a socket's buffers itself again, from those that they have now.
///
/// # Errors
/// `ENOPROTOOPT` before Linux 5.14.
pub fn unlock_buffers(fd: impl AsFd) -> io::Result<()> {
    // include/uapi/asm-generic/socket.h
    const SO_BUF_LOCK: libc::c_int = 72;
    set_int(fd, libc::SOL_SOCKET, SO_BUF_LOCK, 0)
}

/// Bounds the pace of sending, in byte/s; `u64::MAX` for no bound.
///
/// # Errors
/// The kernel's.
pub fn set_max_pacing_rate(fd: impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    set_bytes(
        fd,
        libc::SOL_SOCKET,
        libc::SO_MAX_PACING_RATE,
        &bytes_per_second.to_ne_bytes(),
    )
}

/// The word at an offset.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}

/// The words of a BPF array map, shared with the kernel.
#[derive(Debug)]
pub struct SharedWords {
    start: *mut AtomicU64,
    words: usize,
}

// SAFETY: the memory is only ever reached as atomics, and stays mapped for as long as the value lives.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps an array map (`BPF_F_MMAPABLE`) of so many 8-byte words.
    ///
    /// # Errors
    /// The kernel's.
    pub fn map(fd: impl AsFd, words: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice; nothing else refers to it.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                words * 8,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd,
                0,
            )
        }?;
        Ok(Self {
            start: start.cast(),
            words,
        })
    }

    /// All words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has this many words, is aligned to a page, and lives as long as `self`;
        // the kernel writes whole words too.
        unsafe { std::slice::from_raw_parts(self.start, self.words) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: this is the mapping of `map`, and no borrow of it outlives `self`.
        let unmapped = unsafe { rustix::mm::munmap(self.start.cast(), self.words * 8) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours can be unmapped");
    }
}
