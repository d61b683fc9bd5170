//! The hosts of a lab, and the wires' ends: namespaces, TUN devices, addresses, routes.
//!
//! ```text
//!   [ servers ]            [ edge ]                 [ UE 1 ]
//!     eth0 . . . . . . . wan0    ran0 . . . . . . . radio0      . . . TUN, through this process
//!                                   . . . . . . . . radio0
//!                                                  [ UE 2 ]
//! ```

use crate::Error;
use crate::names::{
    self, MOST_UES, RAN_ADDRESS, RAN_DEVICE, SERVER_ADDRESS, SERVER_DEVICE, SERVER_PREFIX,
    UE_DEVICE, WAN_ADDRESS, WAN_DEVICE,
};
use crate::namespace::Namespace;
use crate::tun::Tun;
use std::collections::BTreeSet;

/// MTU of all interfaces.
const MTU: usize = 1500;
/// Packets (each up to 64 kB) that wait at a host's interface until the lab takes them. They wait
/// for no longer than the lab is late; the wires' own queues are emulated.
const DEVICE_QUEUE: usize = 20_000;
/// Mark (`SO_MARK`) of a client's sockets that ask for ECN, and the routing table that they use.
/// Servers answer as they are asked (`net.ipv4.tcp_ecn` = 2, the kernel's default).
pub(crate) const ECN_MARK: i32 = 46;

/// The hosts.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// All servers.
    pub(crate) servers: Namespace,
    /// The edge, where a proxy would be.
    pub(crate) edge: Namespace,
    /// The UEs, in the scenario's order.
    pub(crate) ues: Vec<Namespace>,
}

impl Hosts {
    /// Numbers by which the kernel knows their namespaces.
    pub(crate) fn inodes(&self) -> BTreeSet<u64> {
        let all = [&self.servers, &self.edge].into_iter().chain(&self.ues);
        all.filter_map(|host| host.inode().ok()).collect()
    }
}

/// The lab's ends of all interfaces.
#[derive(Debug)]
pub(crate) struct Devices {
    /// The servers'.
    pub(crate) server: Tun,
    /// The edge's towards the servers.
    pub(crate) wan: Tun,
    /// The edge's towards the UEs.
    pub(crate) ran: Tun,
    /// The UEs', in the scenario's order.
    pub(crate) ues: Vec<Tun>,
}

/// How the kernel's TCP is set on all routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteOptions {
    /// Initial window, segments.
    pub(crate) initial_window: u32,
    /// Acknowledge every segment at once.
    pub(crate) quick_ack: bool,
    /// UEs have a second route for sockets marked [`ECN_MARK`], over which TCP asks for ECN.
    pub(crate) has_ecn: bool,
}

impl RouteOptions {
    fn text(self) -> String {
        let quick = if self.quick_ack { " quickack 1" } else { "" };
        format!(" initcwnd {}{quick}", self.initial_window)
    }
}

/// Makes the hosts and their interfaces.
pub(crate) fn build(ues: usize, options: RouteOptions) -> Result<(Hosts, Devices), Error> {
    if ues > MOST_UES {
        return Err(Error::Unsupported {
            what: format!("{ues} users"),
            why: format!("a lab has at most {MOST_UES}; take --world sim"),
        });
    }
    let route = options.text();
    let (servers, server) = host(SERVER_DEVICE, &SERVER_ADDRESS.to_string(), &route)?;
    let (edge, wan, ran) = edge(&route)?;
    let mut hosts = Hosts {
        servers,
        edge,
        ues: Vec::with_capacity(ues),
    };
    let mut devices = Devices {
        server,
        wan,
        ran,
        ues: Vec::with_capacity(ues),
    };
    for index in 0..ues {
        let (ue, device) = host(UE_DEVICE, &names::ue_address(index).to_string(), &route)?;
        if options.has_ecn {
            ue.ip(&format!(
                "rule add fwmark {ECN_MARK} table {ECN_MARK}\n\
                 route add default dev {UE_DEVICE} table {ECN_MARK}{route} features ecn\n"
            ))?;
        }
        hosts.ues.push(ue);
        devices.ues.push(device);
    }
    Ok((hosts, devices))
}

/// A host with one interface and a default route over it.
fn host(device: &str, address: &str, route: &str) -> Result<(Namespace, Tun), Error> {
    let host = Namespace::create()?;
    let tun = host.run(|| Tun::create(device))?;
    prepare(&host)?;
    host.ip(&format!(
        "link set lo up\nlink set {device} mtu {MTU} txqueuelen {DEVICE_QUEUE} up\n\
         addr add {address}/32 dev {device}\nroute add default dev {device}{route}\n"
    ))?;
    Ok((host, tun))
}

/// The edge: it forwards between its two interfaces.
fn edge(route: &str) -> Result<(Namespace, Tun, Tun), Error> {
    let edge = Namespace::create()?;
    let wan = edge.run(|| Tun::create(WAN_DEVICE))?;
    let ran = edge.run(|| Tun::create(RAN_DEVICE))?;
    prepare(&edge)?;
    edge.set("net/ipv4/ip_forward", "1")?;
    edge.ip(&format!(
        "link set lo up\n\
         link set {WAN_DEVICE} mtu {MTU} txqueuelen {DEVICE_QUEUE} up\n\
         link set {RAN_DEVICE} mtu {MTU} txqueuelen {DEVICE_QUEUE} up\n\
         addr add {WAN_ADDRESS}/32 dev {WAN_DEVICE}\n\
         addr add {RAN_ADDRESS}/32 dev {RAN_DEVICE}\n\
         route add {} dev {RAN_DEVICE} src {RAN_ADDRESS}{route}\n\
         route add {SERVER_PREFIX} dev {WAN_DEVICE} src {WAN_ADDRESS}{route}\n",
        names::UE_PREFIX
    ))?;
    Ok((edge, wan, ran))
}

/// What all hosts have in common: no IPv6 (whose neighbour messages would cross the radio), no
/// memory of earlier connections (runs do not depend on one another), ECN for those who ask.
fn prepare(host: &Namespace) -> Result<(), Error> {
    let off = ["all", "default"].map(|which| format!("net/ipv6/conf/{which}/disable_ipv6"));
    for parameter in off.iter().filter(|p| host.get(p).is_ok()) {
        host.set(parameter, "1")?;
    }
    for which in ["all", "default"] {
        host.set(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
    }
    host.set("net/ipv4/tcp_ecn", "2")?;
    host.set("net/ipv4/tcp_no_metrics_save", "1")
}
