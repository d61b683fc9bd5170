//! The least that relays downloads, by each way that the kernel offers: what these ways cost by themselves, without a
//! proxy's windows, bounds and ends.
//!
//! ```text
//!   splice     socket -> pipe -> socket, two system calls, edges of epoll (as in the proxy)
//!   io_uring   the same two as requests of a ring
//!   sockmap    a BPF program redirects what arrives to the other socket, in the kernel
//! ```
//!
//! A process of its own (`PROGRAM relay WAY LISTEN UPSTREAM`), so that its CPU time can be told from the ends'.

mod sockmap;
mod splice;
mod uring;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;

/// A way for payload from socket to socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Splice,
    Uring,
    Sockmap,
}

impl Way {
    pub const ALL: [Self; 3] = [Self::Splice, Self::Uring, Self::Sockmap];

    pub fn name(self) -> &'static str {
        match self {
            Self::Splice => "splice",
            Self::Uring => "io_uring",
            Self::Sockmap => "sockmap",
        }
    }
}

/// A connection's sockets, and what the kernel holds between them.
struct Pair {
    /// Towards the client.
    near: TcpStream,
    /// Towards the server.
    far: TcpStream,
}

/// Relays until it is killed.
pub fn run(arguments: &[String]) -> ExitCode {
    let [way, listen, upstream] = arguments else {
        return ExitCode::FAILURE;
    };
    let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
    let listener = TcpListener::bind(address(listen)).expect("a listener");
    let upstream = address(upstream);
    let pairs = std::iter::from_fn(move || {
        let (near, _) = listener.accept().expect("a connection");
        let far = TcpStream::connect(upstream).expect("connected");
        Some(Pair { near, far })
    });
    match Way::ALL.into_iter().find(|w| w.name() == way) {
        Some(Way::Splice) => splice::relay(pairs),
        Some(Way::Uring) => uring::relay(pairs),
        Some(Way::Sockmap) => sockmap::relay(pairs),
        None => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

/// Capacity of a pipe, bytes, as the proxy's and that of HAProxy tuned.
const PIPE: usize = 1 << 20;

/// A pipe of this capacity.
fn pipe() -> (std::os::fd::OwnedFd, std::os::fd::OwnedFd) {
    let flags = rustix::pipe::PipeFlags::CLOEXEC | rustix::pipe::PipeFlags::NONBLOCK;
    let (out, into) = rustix::pipe::pipe_with(flags).expect("a pipe");
    rustix::pipe::fcntl_setpipe_size(&into, PIPE).expect("made large");
    (out, into)
}
