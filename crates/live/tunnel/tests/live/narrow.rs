//! A router between both ends whose links take smaller packets than the ends' own.

use crate::Test;
use crate::support::{
    Daemon, Hosts, Namespace, client_config, download, one_path, serve, server_config,
};

pub const TESTS: &[Test] = &[(
    "a_narrow_middle_is_learned_by_both_ends",
    a_narrow_middle_is_learned_by_both_ends,
)];

/// ```text
///   client n 10.3.1.2 --- 10.3.1.1 rc [router] rs 10.3.2.2 --- 10.3.2.1 n server
///            fd31::2       fd31::1              fd32::2        fd32::1
/// ```
/// What the router passes on has at most so many bytes, whatever its links would take.
pub fn routed(hosts: &Hosts, mtu: u32) -> Namespace {
    let router = Namespace::new();
    router.sh(&format!(
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; ip link set lo up\n\
         ip link add rc type veth peer name mid netns {}\n\
         ip link add rs type veth peer name mid netns {}\n\
         ip addr add 10.3.1.1/24 dev rc; ip -6 addr add fd31::1/64 dev rc nodad\n\
         ip addr add 10.3.2.2/24 dev rs; ip -6 addr add fd32::2/64 dev rs nodad\n\
         ip link set rc up; ip link set rs up",
        hosts.client.pid(),
        hosts.server.pid()
    ));
    pass(&router, mtu);
    hosts.client.sh(
        "ip addr add 10.3.1.2/24 dev mid; ip -6 addr add fd31::2/64 dev mid nodad; ip link set mid up\n\
         ip route add 10.3.2.0/24 via 10.3.1.1; ip -6 route add fd32::/64 via fd31::1",
    );
    hosts.server.sh(
        "ip addr add 10.3.2.1/24 dev mid; ip -6 addr add fd32::1/64 dev mid nodad; ip link set mid up\n\
         ip route add 10.3.1.0/24 via 10.3.2.2; ip -6 route add fd31::/64 via fd32::2",
    );
    router
}

/// Has a router pass on packets of at most so many bytes.
pub fn pass(router: &Namespace, mtu: u32) {
    router.sh(&format!(
        "ip route replace 10.3.1.2 dev rc mtu {mtu}; ip -6 route replace fd31::2 dev rc mtu {mtu}\n\
         ip route replace 10.3.2.1 dev rs mtu {mtu}; ip -6 route replace fd32::1 dev rs mtu {mtu}"
    ));
}

/// A client's path through the router, to one of the server's addresses there.
pub fn by_router(remote: &str) -> String {
    one_path("")
        .replace("interface = \"a\"", "interface = \"mid\"")
        .replace("10.1.0.1:6511", remote)
}

/// The first download comes while the client, which sends small packets only, has learned nothing.
fn a_narrow_middle_is_learned_by_both_ends() {
    let Some(hosts) = Hosts::try_new("a_narrow_middle_is_learned_by_both_ends") else {
        return;
    };
    let _router = routed(&hosts, 1_410);
    for (remote, inside) in [
        ("10.3.2.1:6511", ["10.99.0.1:5011", "10.99.0.2:5012"]),
        ("[fd32::1]:6511", ["[fd99::1]:5013", "[fd99::2]:5014"]),
    ] {
        let _server = Daemon::start(&hosts.server, "server", &server_config(""));
        let path = by_router(remote);
        let client = Daemon::start(&hosts.client, "client", &client_config("", &path));
        client.wait_for_paths(1);
        let _down = serve(&hosts.server, inside[0], 3_000_000);
        download(&hosts.client, inside[0], 3_000_000, || {});
        let _up = serve(&hosts.client, inside[1], 3_000_000);
        download(&hosts.server, inside[1], 3_000_000, || {});
    }
}
