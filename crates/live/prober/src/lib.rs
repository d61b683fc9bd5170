//! Recording a path between a UE and a server: sockets and the clock of `probe`.
//!
//! ```text
//!   UDP socket <-> record -- probe::Client       on the UE
//!   UDP socket <-> serve --- probe::Server       on the server
//! ```
//!
//! Packets have the time at which this program reads them, by the monotonic clock: on a machine that is busy that is later than
//! when they came. The kernel's own times of packets are by a clock that an administrator sets, and are not used.
//!
//! What this crate is *not*: it decides nothing of what is sent or recorded, and writes no file.
#![forbid(unsafe_code)]

use daemon::clock::now;
use probe::{Client, Event, Failure, Recording, Server};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Duration, Instant};

/// Longest datagram that is read.
const MAX_DATAGRAM: usize = 9_216;
/// Datagrams that are read, or sent, before the other is done.
const BATCH: usize = 32;
/// What may wait in the kernel: a tenth of a second at 300 Mbit/s.
const RECEIVE_BUFFER: usize = 4_000_000;
/// A request to stop is seen after this time at the latest.
const GLANCE: Duration = Duration::from_millis(100);

/// A socket at an address of this machine.
///
/// # Errors
/// The kernel's.
pub fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    // more than the system's limit only an administrator may have
    if set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).is_err() {
        set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
    }
    Ok(socket)
}

/// A socket towards a server, and the address there.
///
/// # Errors
/// The kernel's.
pub fn connect(server: SocketAddr) -> io::Result<UdpSocket> {
    let any = match server {
        SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
    };
    let socket = bind(any)?;
    socket.connect(server)?;
    Ok(socket)
}

/// Serves until it is to stop.
///
/// # Errors
/// The socket cannot be read.
pub fn serve(
    socket: &UdpSocket,
    server: &mut Server,
    stop: &AtomicBool,
    mut on_event: impl FnMut(Event),
) -> io::Result<()> {
    let mut buffer = vec![0; MAX_DATAGRAM];
    let mut out = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let mut is_busy = false;
        for _ in 0..BATCH {
            let Some((length, from)) = read(socket.recv_from(&mut buffer))? else {
                break;
            };
            is_busy = true;
            server.receive(now(), from, &buffer[..length]);
        }
        server.expire(now());
        for _ in 0..BATCH {
            let Some(to) = server.poll_transmit(now(), &mut out) else {
                break;
            };
            is_busy = true;
            // what cannot be sent is lost, as on the way: to one UE or to all
            let _ = socket.send_to(&out, to);
        }
        while let Some(event) = server.poll_event() {
            on_event(event);
        }
        if !is_busy {
            wait(socket, server.next_deadline())?;
        }
    }
    Ok(())
}

/// Records until the plan is carried out, or is to stop; `on_begin` is called when the server has accepted.
///
/// # Errors
/// The socket cannot be read, or a packet of that size cannot be sent.
pub fn record(
    socket: &UdpSocket,
    mut client: Client,
    stop: &AtomicBool,
    on_begin: impl FnOnce(),
) -> io::Result<(Recording, Option<Failure>)> {
    let mut buffer = vec![0; MAX_DATAGRAM];
    let mut out = Vec::new();
    let mut on_begin = Some(on_begin);
    let mut is_stopped = false;
    while !client.is_over() {
        if !is_stopped && stop.load(Ordering::Relaxed) {
            is_stopped = true;
            client.stop(now());
        }
        let mut is_busy = false;
        for _ in 0..BATCH {
            let Some(length) = read(socket.recv(&mut buffer))? else {
                break;
            };
            is_busy = true;
            client.receive(now(), &buffer[..length]);
        }
        if client.has_begun()
            && let Some(on_begin) = on_begin.take()
        {
            on_begin();
        }
        for _ in 0..BATCH {
            if !client.poll_transmit(now(), &mut out) {
                break;
            }
            is_busy = true;
            send(socket, &out)?;
        }
        if !is_busy {
            wait(socket, client.next_deadline())?;
        }
    }
    Ok(client.finish())
}

/// What was read; none where there is nothing, or the kernel has an answer of the network (a port that is closed).
fn read<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(read) => Ok(Some(read)),
        Err(error) if is_passing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_passing(error: &io::Error) -> bool {
    let is_full = error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error());
    is_full
        || matches!(
            error.kind(),
            ErrorKind::WouldBlock
                | ErrorKind::Interrupted
                | ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionReset
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::NetworkDown
        )
}

/// Sends a datagram. What the system has no room for is lost, as on the way.
fn send(socket: &UdpSocket, datagram: &[u8]) -> io::Result<()> {
    match socket.send(datagram) {
        Err(error) if !is_passing(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Until something has come or is due.
fn wait(socket: &UdpSocket, deadline: Option<Instant>) -> io::Result<()> {
    let left = deadline.map_or(GLANCE, |deadline| deadline.saturating_since(now()));
    let left = left.min(GLANCE).as_nanos();
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: left.cast_signed(),
    };
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
