//! Two proxies between a client and a server, either of which their packets can take.
//!
//! ```text
//!              .--- 10.45.1.1 ran0 [first]  wan0 10.99.1.1 ---.
//!   client 10.45.0.2                                       10.99.0.2 server
//!          fd45::2                                         fd99::2
//!              '--- 10.45.2.1 ran0 [second] wan0 10.99.2.1 ---'
//! ```

use super::Namespace;
use super::daemon::{Daemon, TRANSPARENT};
use std::path::Path;

/// The four hosts.
pub struct Two {
    pub client: Namespace,
    pub proxies: [Namespace; 2],
    pub server: Namespace,
}

impl Two {
    /// None, and the test recorded as skipped, where this process may not make any.
    pub fn try_new(test: &str) -> Option<Self> {
        testing::has_root(test).then(Self::new)
    }

    fn new() -> Self {
        let two = Self {
            client: Namespace::new(),
            proxies: [Namespace::new(), Namespace::new()],
            server: Namespace::new(),
        };
        for (host, net) in [(&two.client, 45), (&two.server, 99)] {
            host.sh(&format!(
                "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0\n\
                 ip link set lo up; ip addr add 10.{net}.0.2/32 dev lo\n\
                 ip -6 addr add fd{net}::2/128 dev lo nodad"
            ));
        }
        for (i, proxy) in two.proxies.iter().enumerate() {
            let n = i + 1;
            proxy.sh(&format!(
                "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0\n\
                 sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1\n\
                 ip link add ran0 type veth peer name e{n} netns {}\n\
                 ip link add wan0 type veth peer name e{n} netns {}\n\
                 ip link set lo up",
                two.client.pid(),
                two.server.pid()
            ));
            for (device, net) in [("ran0", 45), ("wan0", 99)] {
                proxy.sh(&format!(
                    "ip addr add 10.{net}.{n}.1/24 dev {device}\n\
                     ip -6 addr add fd{net}:{n}::1/64 dev {device} nodad\n\
                     ip link set {device} up"
                ));
            }
            for (host, net) in [(&two.client, 45), (&two.server, 99)] {
                host.sh(&format!(
                    "ip addr add 10.{net}.{n}.2/24 dev e{n}\n\
                     ip -6 addr add fd{net}:{n}::2/64 dev e{n} nodad\n\
                     ip link set e{n} up"
                ));
            }
            for (device, net) in [("ran0", 45), ("wan0", 99)] {
                proxy.sh(&format!(
                    "ip route add 10.{net}.0.2/32 via 10.{net}.{n}.2 dev {device}\n\
                     ip -6 route add fd{net}::2/128 via fd{net}:{n}::2 dev {device}"
                ));
            }
        }
        two.route(0);
        two
    }

    /// Joins both proxies: 10.77.0.1 and 10.77.0.2.
    pub fn join(&self) {
        let [first, second] = &self.proxies;
        first.sh(&format!(
            "ip link add peer0 type veth peer name peer0 netns {}\n\
             ip addr add 10.77.0.1/24 dev peer0; ip link set peer0 up",
            second.pid()
        ));
        second.sh("ip addr add 10.77.0.2/24 dev peer0; ip link set peer0 up");
    }

    /// Packets of both ends take this proxy from now on.
    pub fn route(&self, proxy: usize) {
        let n = proxy + 1;
        for (host, net) in [(&self.client, 45), (&self.server, 99)] {
            host.sh(&format!(
                "ip route replace default via 10.{net}.{n}.1 src 10.{net}.0.2\n\
                 ip -6 route replace default via fd{net}:{n}::1 src fd{net}::2"
            ));
        }
    }

    /// Packets of the client's port take this proxy whatever the others do.
    pub fn route_port(&self, port: u16, proxy: usize) {
        let n = proxy + 1;
        for (host, net, end) in [(&self.client, 45, "sport"), (&self.server, 99, "dport")] {
            host.sh(&format!(
                "ip route add default via 10.{net}.{n}.1 table 77\n\
                 ip rule add ipproto tcp {end} {port} lookup 77"
            ));
        }
    }

    /// A proxy that listens at `own` and has the other one at `other`.
    pub fn proxy(&self, i: usize, own: &Path, other: &Path, more: &str) -> Daemon {
        let config = format!(
            "control = \"split\"\n{TRANSPARENT}\n[handover]\nlisten = \"unix:{}\"\n{more}\n\
             [[handover.peer]]\nname = \"other\"\naddress = \"unix:{}\"\n",
            own.display(),
            other.display()
        );
        Daemon::start(&self.proxies[i], &config)
    }
}
