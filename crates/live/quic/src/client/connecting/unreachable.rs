//! ICMP's answers to the datagrams of a handshake: that nobody is there.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Watches a client's socket during its handshake. Anybody on the path can forge such answers, so there are none any
/// more once this is dropped.
#[derive(Debug)]
pub(crate) struct Unreachable(UdpSocket);

impl Unreachable {
    /// Has the kernel report such answers as errors of the socket. In a tokio runtime.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn watch(socket: &std::net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let socket = UdpSocket::from_std(socket.try_clone()?)?;
        report(&socket, true)?;
        Ok(Self(socket))
    }

    /// Waits for an answer: which one it was.
    pub(crate) async fn answer(&self) -> ErrorKind {
        loop {
            if self.0.ready(Interest::ERROR).await.is_err() {
                return pending().await;
            }
            match self.0.take_error() {
                Ok(Some(error)) if is_answer(error.kind()) => return error.kind(),
                // others, such as a router's limit of packets, with which finding the path's MTU copes
                Ok(Some(_)) => {}
                // nothing more: waits for the next one
                Ok(None) | Err(_) => {
                    let _ = self.0.try_io(Interest::ERROR, || {
                        Err::<(), _>(ErrorKind::WouldBlock.into())
                    });
                }
            }
        }
    }
}

impl Drop for Unreachable {
    fn drop(&mut self) {
        // turns it off and drops what is queued; nothing can be done if that fails
        let _ = report(&self.0, false);
        let _ = self.0.take_error();
    }
}

fn report(socket: &UdpSocket, is_on: bool) -> io::Result<()> {
    let (level, name) = match socket.local_addr()? {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVERR),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
    };
    socket_options::set_int(socket, level, name, i32::from(is_on))
}

fn is_answer(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable
    )
}
