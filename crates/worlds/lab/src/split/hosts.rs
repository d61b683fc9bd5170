//! The hosts of the units, the wires between them, and their sockets.

use crate::namespace::Namespace;
use crate::{Error, names, topology};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

/// MTU of the wire: packets of 1,500 bytes have 40 more of headers on it, and are not to be cut.
const MTU: usize = 9_000;
/// Room for what comes before the lab reads it.
const RECEIVE_BUFFER: usize = 32_000_000;

/// The hosts of the units.
#[derive(Debug)]
pub(crate) struct Units {
    /// The centralized one, at whose ends of the wires the radio is read.
    pub(crate) central: Namespace,
    /// The distributed ones, by cell.
    pub(crate) units: Vec<Namespace>,
}

impl Units {
    /// Makes them, with a wire from the centralized unit to each of `cells` distributed ones.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn create(cells: usize) -> Result<Self, Error> {
        let central = Namespace::create()?;
        topology::prepare(&central)?;
        central.ip("link set lo up\n")?;
        let units = (0..cells).map(|cell| unit(&central, cell));
        let units = units.collect::<Result<_, Error>>()?;
        Ok(Self { central, units })
    }

    /// By cell, the sockets of the centralized and of the distributed unit, each connected with the other.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn sockets(&self) -> Result<Vec<[UdpSocket; 2]>, Error> {
        let units = self.units.iter().enumerate();
        let pairs = units.map(|(cell, unit)| {
            let (above, below) = (names::central_address(cell), names::unit_address(cell));
            let central = self.central.run(|| socket(above, below))?;
            let unit = unit.run(|| socket(below, above))?;
            Ok([central, unit])
        });
        pairs.collect()
    }
}

/// The distributed unit of a cell, with its wire.
fn unit(central: &Namespace, cell: usize) -> Result<Namespace, Error> {
    let unit = Namespace::create()?;
    topology::prepare(&unit)?;
    // the other namespace has no name: it is this process's descriptor
    let other = format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        unit.as_fd().as_raw_fd()
    );
    let (above, below) = (names::f1_device(cell), names::f1_device(0));
    let (central_address, unit_address) = (names::central_address(cell), names::unit_address(cell));
    central.ip(&format!(
        "link add name {above} mtu {MTU} type veth peer name {below} mtu {MTU} netns {other}\n\
         addr add {central_address}/24 dev {above}\nlink set {above} up\n"
    ))?;
    unit.ip(&format!(
        "link set lo up\naddr add {unit_address}/24 dev {below}\nlink set {below} up\n"
    ))?;
    Ok(unit)
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
