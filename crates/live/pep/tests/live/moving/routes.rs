//! What the new proxy does about the network's routes, and what becomes of packets that come before they have changed.

use super::{UNHURRIED, echo, hand_over};
use crate::Test;
use crate::support::traffic::{accept, connect, listen};
use crate::support::two::Two;
use crate::support::{Namespace, server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use testing::{assert_pattern, pattern, wait_until};

pub const TESTS: &[Test] = &[
    (
        "both_ends_are_probed_once_their_route_has_changed",
        both_ends_are_probed_once_their_route_has_changed,
    ),
    (
        "what_comes_before_the_route_has_changed_goes_along",
        what_comes_before_the_route_has_changed_goes_along,
    ),
];

/// A hook that ends when there is a file `routed` in this folder, and makes a file `begun` as it starts.
fn hook(folder: &Path) -> PathBuf {
    let path = |name: &str| folder.join(name);
    let script = format!(
        "#!/bin/sh\ntouch {}\nuntil [ -e {} ]; do sleep 0.02; done\n",
        path("begun").display(),
        path("routed").display()
    );
    std::fs::write(path("hook"), script).expect("written");
    std::fs::set_permissions(path("hook"), PermissionsExt::from_mode(0o755)).expect("set");
    path("hook")
}

/// A hook that takes longer than a message may. What both ends acknowledge before goes to the other proxy.
fn both_ends_are_probed_once_their_route_has_changed() {
    let Some(two) = Two::try_new("both_ends_are_probed_once_their_route_has_changed") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let first = two.proxy(0, &path("first"), &path("second"), "");
    let hook = format!("route-hook = \"{}\"", hook(folder.path()).display());
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

fn send_all(ends: [(&mut TcpStream, usize); 2]) {
    for (end, number) in ends {
        end.write_all(&pattern(5, number)).expect("sent");
    }
}

fn read_all(ends: [(&mut TcpStream, usize); 2]) {
    for (end, number) in ends {
        let mut got = vec![0; number];
        end.read_exact(&mut got).expect("no reset");
        assert_pattern(5, &got);
    }
}

/// Received by all sockets of a host and not read, bytes.
fn unread(host: &Namespace) -> usize {
    let sockets = host.sh("ss -Htn state established");
    let queues = sockets
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    queues.filter_map(|queue| queue.parse::<usize>().ok()).sum()
}

/// Neither end is to send again what the old proxy has received.
fn what_comes_before_the_route_has_changed_goes_along() {
    let Some(two) = Two::try_new("what_comes_before_the_route_has_changed_goes_along") else {
        return;
    };
    for more in ["", "ahead = \"none\""] {
        two.route(0);
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let more = format!("{UNHURRIED}\n{more}");
        let first = two.proxy(0, &path("first"), &path("second"), &more);
        let hook = format!("{more}\nroute-hook = \"{}\"", hook(folder.path()).display());
        let _second = two.proxy(1, &path("second"), &path("first"), &hook);
        let address = SocketAddr::new(server(false), 5_201);
        let listener = listen(&two.server, address);
        let mut near = connect(&two.client, address).expect("connected");
        let (mut far, _) = accept(&listener);
        echo(&mut near, &mut far).expect("it works");
        let report = std::thread::scope(|scope| {
            let moving = scope.spawn(|| hand_over(&first, false));
            wait_until("the hook runs", || path("begun").exists());
            // within the first windows, which need no acknowledgement
            send_all([(&mut near, 5_000), (&mut far, 7_000)]);
            wait_until("the first proxy has received it", || {
                unread(&two.proxies[0]) == 12_000
            });
            two.route(1);
            std::fs::write(path("routed"), "").expect("written");
            moving.join().expect("no panic")
        });
        assert_eq!(report["moved"], 1, "{report}");
        assert_eq!(report["late_bytes"], 12_000, "{report}");
        read_all([(&mut far, 5_000), (&mut near, 7_000)]);
        echo(&mut near, &mut far).expect("it goes on");
    }
}
