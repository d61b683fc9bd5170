//! The hosts of a lab, and the wires' ends: namespaces, TUN devices, addresses, routes.
//!
//! ```text
//!   [ servers ]            [ edge ]                 [ UE 1 ]
//!     eth0 . . . . . . . wan0    ran0 . . . . . . . radio0      . . . TUN, through this process
//!                                   . . . . . . . . radio0
//!                                                  [ UE 2 ]
//! ```
//!
//! With a tunnel its UE has a gateway, at which the tunnel's other end runs: the UE is a host behind
//! it, so that what its applications see is measured as without a tunnel.
//!
//! ```text
//!   [ servers ]        [ edge ]              [ gateway ]        [ UE ]
//!     eth0 . . . . . wan0   path0 . . . . . path0    lan0 . . . radio0
//!                           path1 . . . . . path1
//! ```
//!
//! Where cells are of several sites and connections are split, there is an edge at each, all alike.

use crate::Error;
use crate::n3::{Core, N3};
use crate::names::{
    self, LAN_ADDRESS, LAN_DEVICE, MAX_UES, RAN_ADDRESS, RAN_DEVICE, SERVER_ADDRESS, SERVER_DEVICE,
    SERVER_PREFIX, UE_DEVICE, WAN_ADDRESS, WAN_DEVICE,
};
use crate::namespace::Namespace;
use crate::split::{Split, Units};
use crate::tun::Tun;
use scenario::{PepSpec, UeSpec};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// MTU of all interfaces.
const MTU: usize = 1500;
/// Packets (each up to 64 kB) that wait at a host's interface until the lab takes them. They wait
/// for no longer than the lab is late; the wires' own queues are emulated.
const DEVICE_QUEUE: usize = 20_000;
/// Mark (`SO_MARK`) of a client's sockets that request ECN, and the routing table that they use.
/// Servers accept ECN where a client requests it (`net.ipv4.tcp_ecn` = 2, the kernel's default).
pub(crate) const ECN_MARK: i32 = 46;

/// The hosts.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// All servers.
    pub(crate) servers: Namespace,
    /// The edges, where proxies would be: one, or that of each site.
    pub(crate) edges: Vec<Namespace>,
    /// The UEs, in the scenario's order.
    pub(crate) ues: Vec<Namespace>,
    /// The other end of the tunnel, if there is one.
    pub(crate) gateway: Option<Namespace>,
    /// The parts of the base station, if it is in two.
    pub(crate) units: Option<Units>,
    /// The core's user plane and the base stations, if N3 is between them.
    pub(crate) core: Option<Core>,
}

impl Hosts {
    /// The only edge, or the first.
    pub(crate) fn edge(&self) -> &Namespace {
        &self.edges[0]
    }

    /// Where proxies run, each with its interface towards the UEs: at the edges, or at the core's ends of N3.
    pub(crate) fn of_proxies(&self, pep: &PepSpec) -> impl Iterator<Item = (&Namespace, String)> {
        let on_n3 = self.core.iter().filter(|_| pep.marks_on_n3);
        let on_n3 = on_n3.flat_map(|core| {
            let stations = core.stations.len().max(1);
            (0..stations).map(|station| (&core.upf, names::n3_device(station)))
        });
        let edges = self.edges.iter().filter(|_| !pep.marks_on_n3);
        on_n3.chain(edges.map(|edge| (edge, RAN_DEVICE.to_owned())))
    }

    /// Numbers by which the kernel identifies their namespaces.
    pub(crate) fn inodes(&self) -> BTreeSet<u64> {
        let all = [&self.servers].into_iter().chain(&self.edges);
        let units = self.units.iter();
        let units = units.flat_map(|units| [&units.central].into_iter().chain(&units.units));
        let core = self.core.iter();
        let core = core.flat_map(|core| [&core.upf].into_iter().chain(&core.stations));
        let all = all.chain(&self.ues).chain(&self.gateway);
        let all = all.chain(units).chain(core);
        all.filter_map(|host| host.inode().ok()).collect()
    }
}

/// The lab's ends of all interfaces.
#[derive(Debug)]
pub(crate) struct Devices {
    /// The servers'.
    pub(crate) server: Tun,
    /// The edges' towards the servers.
    pub(crate) wan: Vec<Tun>,
    /// The edges' towards the UEs; with a tunnel the one edge's ends of the paths.
    pub(crate) ran: Vec<Tun>,
    /// The UEs', in the scenario's order.
    pub(crate) ues: Vec<Tun>,
    /// With a tunnel, the gateway's.
    pub(crate) gateway: Option<Gateway>,
    /// Where the base station is in two parts, both ends of the wires between them.
    pub(crate) split: Option<Split>,
    /// Where there is N3, both ends of its wires.
    pub(crate) n3: Option<N3>,
}

/// The lab's ends of a gateway's interfaces.
#[derive(Debug)]
pub(crate) struct Gateway {
    /// Towards the UE.
    pub(crate) lan: Tun,
    /// Its ends of the paths.
    pub(crate) paths: Vec<Tun>,
}

/// How the kernel's TCP is set on all routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteOptions {
    /// Initial window, segments.
    pub(crate) initial_window: u32,
    /// Acknowledge every segment at once.
    pub(crate) quick_ack: bool,
    /// UEs have a second route for sockets marked [`ECN_MARK`], over which TCP requests ECN.
    pub(crate) has_ecn: bool,
}

impl RouteOptions {
    fn text(self) -> String {
        let quick = if self.quick_ack { " quickack 1" } else { "" };
        format!(" initcwnd {}{quick}", self.initial_window)
    }
}

impl Hosts {
    /// The base station is in two parts, with a distributed unit for each of `cells`.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn split(
        &mut self,
        devices: &mut Devices,
        cells: usize,
        ues: &[UeSpec],
    ) -> Result<(), Error> {
        let units = Units::create(cells)?;
        devices.split = Some(Split::new(&units, ues)?);
        self.units = Some(units);
        Ok(())
    }

    /// N3 is between the core and so many base stations, or one whose parts there are already.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn add_core(
        &mut self,
        devices: &mut Devices,
        stations: usize,
        ues: usize,
    ) -> Result<(), Error> {
        let units = self.units.as_ref();
        let core = Core::create(stations, units)?;
        devices.n3 = Some(N3::new(&core, units, ues)?);
        self.core = Some(core);
        Ok(())
    }
}

/// Makes the hosts and their interfaces, with the edges of so many sites; with a tunnel of so many paths, unless that
/// is 0.
pub(crate) fn build(
    ues: usize,
    sites: usize,
    paths: usize,
    options: RouteOptions,
) -> Result<(Hosts, Devices), Error> {
    if ues > MAX_UES {
        return Err(Error::Unsupported {
            what: format!("{ues} users"),
            why: format!("a lab has at most {MAX_UES}; take --world sim"),
        });
    }
    let route = options.text();
    let (servers, server) = host(SERVER_DEVICE, &SERVER_ADDRESS.to_string(), &route)?;
    let (mut edges, mut wan, mut ran) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..sites {
        let (host, towards_servers, towards_ues) = edge(&route, paths)?;
        edges.push(host);
        wan.push(towards_servers);
        ran.extend(towards_ues);
    }
    let (gateway, gateway_devices) = match paths {
        0 => (None, None),
        _ => Some(gateway(paths)?).unzip(),
    };
    let mut hosts = Hosts {
        servers,
        edges,
        ues: Vec::with_capacity(ues),
        gateway,
        units: None,
        core: None,
    };
    let mut devices = Devices {
        server,
        wan,
        ran,
        ues: Vec::with_capacity(ues),
        gateway: gateway_devices,
        split: None,
        n3: None,
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

/// The edge: it forwards between its interfaces, of which the tunnel has made one if there is one.
fn edge(route: &str, paths: usize) -> Result<(Namespace, Tun, Vec<Tun>), Error> {
    let edge = Namespace::create()?;
    let wan = edge.run(|| Tun::create(WAN_DEVICE))?;
    prepare(&edge)?;
    edge.set("net/ipv4/ip_forward", "1")?;
    edge.ip(&format!(
        "link set lo up\n\
         link set {WAN_DEVICE} mtu {MTU} txqueuelen {DEVICE_QUEUE} up\n\
         addr add {WAN_ADDRESS}/32 dev {WAN_DEVICE}\n\
         route add {SERVER_PREFIX} dev {WAN_DEVICE} src {WAN_ADDRESS}{route}\n"
    ))?;
    if paths > 0 {
        let ran = path_ends(&edge, paths, names::path_edge, names::path_gateway)?;
        return Ok((edge, wan, ran));
    }
    let ran = edge.run(|| Tun::create(RAN_DEVICE))?;
    edge.ip(&format!(
        "link set {RAN_DEVICE} mtu {MTU} txqueuelen {DEVICE_QUEUE} up\n\
         addr add {RAN_ADDRESS}/32 dev {RAN_DEVICE}\n\
         route add {} dev {RAN_DEVICE} src {RAN_ADDRESS}{route}\n",
        names::UE_PREFIX
    ))?;
    Ok((edge, wan, vec![ran]))
}

/// The gateway of the UE: it forwards between it and the tunnel.
fn gateway(paths: usize) -> Result<(Namespace, Gateway), Error> {
    let host = Namespace::create()?;
    let lan = host.run(|| Tun::create(LAN_DEVICE))?;
    prepare(&host)?;
    host.set("net/ipv4/ip_forward", "1")?;
    host.ip(&format!(
        "link set lo up\n\
         link set {LAN_DEVICE} mtu {MTU} txqueuelen {DEVICE_QUEUE} up\n\
         addr add {LAN_ADDRESS}/32 dev {LAN_DEVICE}\n\
         route add {} dev {LAN_DEVICE} src {LAN_ADDRESS}\n",
        names::UE_PREFIX
    ))?;
    let paths = path_ends(&host, paths, names::path_gateway, names::path_edge)?;
    Ok((host, Gateway { lan, paths }))
}

/// The interfaces of the paths at one end of the tunnel.
fn path_ends(
    host: &Namespace,
    paths: usize,
    own: fn(usize) -> Ipv4Addr,
    other: fn(usize) -> Ipv4Addr,
) -> Result<Vec<Tun>, Error> {
    let ends = (0..paths).map(|path| {
        let (device, own, other) = (names::path_device(path), own(path), other(path));
        let tun = host.run(|| Tun::create(&device))?;
        host.ip(&format!(
            "link set {device} mtu {MTU} txqueuelen {DEVICE_QUEUE} up\n\
             addr add {own}/32 dev {device}\n\
             route add {other}/32 dev {device} src {own}\n"
        ))?;
        Ok(tun)
    });
    ends.collect()
}

/// A host with loopback alone.
///
/// # Errors
/// The kernel's.
pub(crate) fn unconnected() -> Result<Namespace, Error> {
    let host = Namespace::create()?;
    prepare(&host)?;
    host.ip("link set lo up\n")?;
    Ok(host)
}

/// What all hosts have in common: no IPv6 (whose neighbour messages would cross the radio), no
/// memory of earlier connections (runs do not depend on one another), ECN for those that request it.
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
