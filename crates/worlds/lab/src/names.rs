//! Names and addresses within a lab. Each lab has namespaces of its own, so they are the same in all.
//!
//! ```text
//!   servers            edge                         UE number i
//!   eth0 ====wan==== wan0   ran0 ====access==== radio0
//!   10.46.0.1                                   10.45.0.1 + i
//! ```
//!
//! With a tunnel, whose device is `tunnel0` at the edge and at the gateway:
//!
//! ```text
//!   edge                              gateway              UE
//!   path0 ==the first path's access== path0   lan0 ======= radio0
//!   path1 ==the second's============= path1
//!   10.47.n.1                         10.47.n.2
//! ```

pub(crate) use network::ue_address;
use std::net::Ipv4Addr;

/// The servers' interface.
pub(crate) const SERVER_DEVICE: &str = "eth0";
/// The edge's interface towards the servers.
pub(crate) const WAN_DEVICE: &str = "wan0";
/// The edge's interface towards the UEs.
pub(crate) const RAN_DEVICE: &str = "ran0";
/// A UE's interface.
pub(crate) const UE_DEVICE: &str = "radio0";

/// Where the UEs are, as `ue-prefixes` of a proxy's configuration states it.
pub(crate) const UE_PREFIX: &str = "10.45.0.0/16";
/// The edge's address towards the UEs.
pub(crate) const RAN_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 45, 255, 254);
/// Where the servers are.
pub(crate) const SERVER_PREFIX: &str = "10.46.0.0/16";
/// The servers' address.
pub(crate) const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 46, 0, 1);
/// The edge's address towards the servers.
pub(crate) const WAN_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 46, 255, 254);

/// The gateway's interface towards its UE.
pub(crate) const LAN_DEVICE: &str = "lan0";
/// The gateway's address towards its UE.
pub(crate) const LAN_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 45, 255, 253);
/// The tunnel's own device at both its ends.
pub(crate) const TUNNEL_DEVICE: &str = "tunnel0";
/// Its address at the edge.
pub(crate) const TUNNEL_EDGE: Ipv4Addr = Ipv4Addr::new(10, 48, 0, 1);
/// Its address at the gateway.
pub(crate) const TUNNEL_GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 48, 0, 2);

/// What there are several of, from 0: the first has the name alone, the second is `name-2`.
pub(crate) fn numbered(name: &str, number: usize) -> String {
    match number {
        0 => name.to_owned(),
        number => format!("{name}-{}", number + 1),
    }
}

/// The wire to the distributed unit of a cell, at the centralized one. At the other end all are named as the first.
pub(crate) fn f1_device(cell: usize) -> String {
    numbered("f1", cell)
}

/// The centralized unit's address on it.
pub(crate) fn central_address(cell: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 49, cell as u8, 1)
}

/// The distributed unit's.
pub(crate) fn unit_address(cell: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 49, cell as u8, 2)
}

/// The wire of N3 to a base station, at the core. At the other end all are named as the first.
pub(crate) fn n3_device(station: usize) -> String {
    numbered("n3", station)
}

/// The core's address on it.
pub(crate) fn upf_address(station: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 50, station as u8, 1)
}

/// The base station's.
pub(crate) fn station_address(station: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 50, station as u8, 2)
}

/// A tunnel's path at the edge and at the gateway.
pub(crate) fn path_device(path: usize) -> String {
    format!("path{path}")
}

/// Address of a path's end at the edge.
pub(crate) fn path_edge(path: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 47, path as u8, 1)
}

/// Address of a path's end at the gateway.
pub(crate) fn path_gateway(path: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 47, path as u8, 2)
}

/// Most UEs of a lab.
pub(crate) const MAX_UES: usize = 250;
/// Most flows of a lab.
pub(crate) const MAX_FLOWS: usize = 1_000;
/// The server of flow number n listens at this port + n.
const FIRST_PORT: u16 = 20_000;

/// The UE of an address.
pub(crate) fn ue_of(address: Ipv4Addr) -> Option<usize> {
    let first = u32::from(ue_address(0));
    let index = u32::from(address).checked_sub(first)? as usize;
    (index < MAX_UES).then_some(index)
}

/// Port of the server of a flow.
pub(crate) fn flow_port(flow: usize) -> u16 {
    FIRST_PORT + flow as u16
}

/// The flow of a server's port.
pub(crate) fn flow_of(port: u16) -> Option<usize> {
    let flow = usize::from(port.checked_sub(FIRST_PORT)?);
    (flow < MAX_FLOWS).then_some(flow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports_lead_back() {
        assert_eq!(ue_address(0).to_string(), "10.45.0.1");
        for n in [0, 1, MAX_UES - 1] {
            assert_eq!(ue_of(ue_address(n)), Some(n));
        }
        assert_eq!(ue_of(RAN_ADDRESS), None);
        assert_eq!(ue_of(SERVER_ADDRESS), None);
        assert_eq!(flow_of(flow_port(7)), Some(7));
        assert_eq!(flow_of(80), None);
    }
}
