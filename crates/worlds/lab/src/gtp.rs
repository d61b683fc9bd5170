//! Wires between hosts on which GTP-U passes, and the sockets at their ends: what F1-U and N3 have in common.

use crate::namespace::Namespace;
use crate::offload::open_checksum_of;
use crate::packet::Packet;
use crate::{Error, label, sys};
use queue::Ecn;
use rustix::net::sockopt::{set_ip_tos, set_socket_recv_buffer_size_force};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

/// MTU of a wire: packets of 1,500 bytes have up to 80 more of headers on it, and are not to be cut.
const MTU: usize = 9_000;
/// Room for what comes before the lab reads it.
const RECEIVE_BUFFER: usize = 32_000_000;
/// The longest message.
pub(crate) const MAX_MESSAGE: usize = 1 << 16;

/// One end of a wire: a host, the name of the device there, and its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireEnd<'a> {
    pub(crate) host: &'a Namespace,
    pub(crate) device: &'a str,
    pub(crate) address: Ipv4Addr,
}

/// Makes a wire.
///
/// # Errors
/// The kernel's.
pub(crate) fn wire(above: WireEnd<'_>, below: WireEnd<'_>) -> Result<(), Error> {
    // the other namespace has no name: it is this process's descriptor
    let other = format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        below.host.as_fd().as_raw_fd()
    );
    let (device, address) = (above.device, above.address);
    above.host.ip(&format!(
        "link add name {device} mtu {MTU} type veth peer name {} mtu {MTU} netns {other}\n\
         addr add {address}/24 dev {device}\nlink set {device} up\n",
        below.device
    ))?;
    let (device, address) = (below.device, below.address);
    below.host.ip(&format!(
        "addr add {address}/24 dev {device}\nlink set {device} up\n"
    ))
}

/// What has come to a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// Octets of the message.
    pub(crate) length: usize,
    /// From where.
    pub(crate) from: SocketAddrV4,
    /// The ECN field of the packet around it.
    pub(crate) ecn: Ecn,
}

/// The socket at one end of a wire.
#[derive(Debug)]
pub(crate) struct Port {
    socket: UdpSocket,
    /// Where it is.
    pub(crate) address: Ipv4Addr,
    peer: SocketAddrV4,
    /// The ECN field that its packets have.
    ecn: Ecn,
}

impl Port {
    /// That of a host at its address, towards another's.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn open(host: &Namespace, own: Ipv4Addr, other: Ipv4Addr) -> Result<Self, Error> {
        let failed = || Error::system(format!("make the socket of GTP-U at {own}"));
        let socket = host.run(|| UdpSocket::bind((own, gtpu::PORT)).map_err(failed()))?;
        socket.set_nonblocking(true).map_err(failed())?;
        set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER)
            .map_err(|error| failed()(error.into()))?;
        socket_options::set_int(&socket, libc::SOL_IP, libc::IP_RECVTOS, 1).map_err(failed())?;
        Ok(Self {
            socket,
            address: own,
            peer: SocketAddrV4::new(other, gtpu::PORT),
            ecn: Ecn::NotEct,
        })
    }

    /// For polling.
    pub(crate) fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Sends a message to the other end, with this ECN field around it. False if the kernel does not take it.
    pub(crate) fn send(&mut self, message: &[u8], ecn: Ecn) -> bool {
        self.send_to(message, ecn, self.peer)
    }

    /// Sends a message to an address, as [`send`](Self::send).
    pub(crate) fn send_to(&mut self, message: &[u8], ecn: Ecn, to: SocketAddrV4) -> bool {
        if ecn != self.ecn {
            if set_ip_tos(&self.socket, label::bits(ecn)).is_err() {
                return false;
            }
            self.ecn = ecn;
        }
        self.socket.send_to(message, to).is_ok()
    }

    /// A message, if one has come; `failed` counts errors.
    pub(crate) fn receive(&self, buffer: &mut [u8], failed: &mut u64) -> Option<Arrived> {
        loop {
            match sys::receive(&self.socket, buffer) {
                Ok((length, from, tos)) => {
                    return Some(Arrived {
                        length,
                        from,
                        ecn: label::ecn_of(tos),
                    });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // what the other end's kernel has answered is there once
                Err(_) => {
                    *failed += 1;
                    return None;
                }
            }
        }
    }
}

/// The tunnel of a message.
pub(crate) fn teid(message: &[u8]) -> Option<u32> {
    gtpu::Message::read(message)
        .ok()
        .map(|(message, _)| message.teid)
}

/// A packet as it is without what passes no wire.
pub(crate) fn rebuilt(data: &[u8]) -> Packet {
    Packet::new(data.into(), open_checksum_of(data))
}
