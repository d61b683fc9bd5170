//! The hosts of the two units, the wire between them, and their sockets.

use crate::names::{CENTRAL_ADDRESS, F1_DEVICE, UNIT_ADDRESS};
use crate::namespace::Namespace;
use crate::{Error, topology};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

/// MTU of the wire: packets of 1,500 bytes have 40 more of headers on it, and are not to be cut.
const MTU: usize = 9_000;
/// Room for what comes before the lab reads it.
const RECEIVE_BUFFER: usize = 32_000_000;

/// The hosts of the two units.
#[derive(Debug)]
pub(crate) struct Units {
    /// The centralized one, at whose end of the wire the radio is read.
    pub(crate) central: Namespace,
    /// The distributed one.
    pub(crate) unit: Namespace,
}

impl Units {
    /// Makes them, with a wire between them.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn create() -> Result<Self, Error> {
        let (central, unit) = (Namespace::create()?, Namespace::create()?);
        for host in [&central, &unit] {
            topology::prepare(host)?;
        }
        // the other namespace has no name: it is this process's descriptor
        let other = format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            unit.as_fd().as_raw_fd()
        );
        central.ip(&format!(
            "link set lo up\n\
             link add name {F1_DEVICE} mtu {MTU} type veth peer name {F1_DEVICE} mtu {MTU} netns {other}\n\
             addr add {CENTRAL_ADDRESS}/24 dev {F1_DEVICE}\nlink set {F1_DEVICE} up\n"
        ))?;
        unit.ip(&format!(
            "link set lo up\naddr add {UNIT_ADDRESS}/24 dev {F1_DEVICE}\nlink set {F1_DEVICE} up\n"
        ))?;
        Ok(Self { central, unit })
    }

    /// The sockets of the centralized and of the distributed unit, each connected with the other.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn sockets(&self) -> Result<[UdpSocket; 2], Error> {
        let central = self.central.run(|| socket(CENTRAL_ADDRESS, UNIT_ADDRESS))?;
        let unit = self.unit.run(|| socket(UNIT_ADDRESS, CENTRAL_ADDRESS))?;
        Ok([central, unit])
    }
}

fn socket(own: Ipv4Addr, other: Ipv4Addr) -> Result<UdpSocket, Error> {
    let failed = || Error::system(format!("make the socket of F1-U at {own}"));
    let socket = UdpSocket::bind((own, gtpu::PORT)).map_err(failed())?;
    socket.connect((other, gtpu::PORT)).map_err(failed())?;
    socket.set_nonblocking(true).map_err(failed())?;
    set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER)
        .map_err(|error| failed()(error.into()))?;
    Ok(socket)
}
