//! Three hosts for tests and benches: a client, the proxy, and a server, as network namespaces.
//!
//! ```text
//!   client 10.45.0.2 --- ran0 [proxy] wan0 --- 10.99.0.2 server
//!          fd45::2                             fd99::2
//! ```
//!
//! A namespace lives as long as a helper process that ends when its stdin does: nothing is left,
//! however the test ends.

pub mod capture;
pub mod daemon;
pub mod datagrams;
pub mod offload;
pub mod radio;
pub mod traffic;
pub mod two;

use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;

pub use testing::Namespace;

/// The client's address.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
/// The server's address.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
/// The same in IPv6.
pub const CLIENT_V6: &str = "fd45::2";
pub const SERVER_V6: &str = "fd99::2";

/// The three hosts.
pub struct Hosts {
    pub client: Namespace,
    pub proxy: Namespace,
    pub server: Namespace,
}

impl Hosts {
    /// Joined by veth; the proxy's host forwards.
    pub fn new() -> Self {
        let hosts = Self {
            client: Namespace::new(),
            proxy: Namespace::new(),
            server: Namespace::new(),
        };
        hosts.proxy.sh(&format!(
            "ip link add ran0 type veth peer name c0 netns {}\n\
             ip link add wan0 type veth peer name s0 netns {}\n\
             sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1\n\
             ip addr add 10.45.0.1/24 dev ran0; ip -6 addr add fd45::1/64 dev ran0 nodad\n\
             ip addr add 10.99.0.1/24 dev wan0; ip -6 addr add fd99::1/64 dev wan0 nodad\n\
             ip link set lo up; ip link set ran0 up; ip link set wan0 up",
            hosts.client.pid(),
            hosts.server.pid()
        ));
        for (namespace, device, net) in [(&hosts.client, "c0", 45), (&hosts.server, "s0", 99)] {
            namespace.sh(&format!(
                "ip link set lo up; ip link set {device} up\n\
                 ip addr add 10.{net}.0.2/24 dev {device}\n\
                 ip -6 addr add fd{net}::2/64 dev {device} nodad\n\
                 ip route add default via 10.{net}.0.1; ip -6 route add default via fd{net}::1"
            ));
        }
        hosts
    }

    /// None, and the test recorded as skipped, where this process may not make any.
    pub fn try_new(test: &str) -> Option<Self> {
        testing::has_root(test).then(Self::new)
    }
}

/// The server's address of a family.
pub fn server(is_ipv6: bool) -> IpAddr {
    if is_ipv6 {
        SERVER_V6.parse().expect("an address")
    } else {
        SERVER.into()
    }
}

/// The client's address of a family.
pub fn client(is_ipv6: bool) -> IpAddr {
    if is_ipv6 {
        CLIENT_V6.parse().expect("an address")
    } else {
        CLIENT.into()
    }
}

/// What this program does as `PROGRAM daemon FILE`: it is the proxy.
pub fn run_daemon(arguments: &[String]) -> ExitCode {
    let start = pep::Start {
        config: arguments[0].clone().into(),
        upgrade: arguments.iter().any(|a| a == "--upgrade"),
    };
    match pep::run(&start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
