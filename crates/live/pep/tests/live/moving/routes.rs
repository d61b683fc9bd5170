//! What the new proxy does about the network's routes.

use super::{echo, hand_over};
use crate::Test;
use crate::support::server;
use crate::support::traffic::{accept, connect, listen};
use crate::support::two::Two;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use testing::wait_until;

pub const TESTS: &[Test] = &[(
    "both_ends_are_probed_once_their_route_has_changed",
    both_ends_are_probed_once_their_route_has_changed,
)];

/// What they acknowledge before goes to the other proxy.
fn both_ends_are_probed_once_their_route_has_changed() {
    let Some(two) = Two::try_new("both_ends_are_probed_once_their_route_has_changed") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let script = format!(
        "#!/bin/sh\ntouch {}\nuntil [ -e {} ]; do sleep 0.02; done\n",
        path("begun").display(),
        path("routed").display()
    );
    std::fs::write(path("hook"), script).expect("written");
    std::fs::set_permissions(path("hook"), PermissionsExt::from_mode(0o755)).expect("set");
    let first = two.proxy(0, &path("first"), &path("second"), "");
    let hook = format!("route-hook = \"{}\"", path("hook").display());
    let second = two.proxy(1, &path("second"), &path("first"), &hook);
    let address = SocketAddr::new(server(false), 5_201);
    let listener = listen(&two.server, address);
    let mut near = connect(&two.client, address).expect("connected");
    let (mut far, _) = accept(&listener);
    echo(&mut near, &mut far).expect("it works");
    assert_eq!(hand_over(&first, false)["moved"], 1);
    wait_until("the hook runs", || path("begun").exists());
    let probes = || two.proxies[1].counter("TcpExtTCPWinProbe");
    assert_eq!(probes(), 0);
    two.route(1);
    std::fs::write(path("routed"), "").expect("written");
    wait_until("both ends are probed", || probes() == 2);
    echo(&mut near, &mut far).expect("it goes on");
    assert_eq!(second.status()["connections"], 1);
}
