//! Windows towards servers at the wire: every byte arrives, what is shown never moves back, updates are sent, and where the
//! kernel cannot do it connections have their windows set as before.

use crate::capture::Capture;
use crate::closed::{Downloads, FAST, FLOWS, SLOW, start, start_of};
use crate::support::daemon::Daemon;
use crate::support::offload::Offload;
use crate::support::traffic::{accept, connect, listen, receive, send};
use crate::support::{Hosts, server};
use crate::wire::exchange;
use crate::{Test, server_at};
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo};
use std::collections::BTreeSet;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::Ordering::Relaxed;

pub const TESTS: &[Test] = &[
    (
        "segments_with_their_windows_set_have_right_checksums",
        segments_with_their_windows_set_have_right_checksums,
    ),
    (
        "windows_that_are_closed_at_the_wire_lose_no_byte",
        windows_that_are_closed_at_the_wire_lose_no_byte,
    ),
    (
        "edges_on_the_wire_never_move_left",
        edges_on_the_wire_never_move_left,
    ),
    (
        "a_radio_that_carries_nothing_leaves_a_trickle_at_the_wire",
        a_radio_that_carries_nothing_leaves_a_trickle_at_the_wire,
    ),
    (
        "a_ue_that_has_ended_its_direction_receives_all",
        a_ue_that_has_ended_its_direction_receives_all,
    ),
    (
        "both_processes_of_an_upgrade_set_windows",
        both_processes_of_an_upgrade_set_windows,
    ),
    (
        "a_killed_proxy_leaves_no_program",
        a_killed_proxy_leaves_no_program,
    ),
    (
        "an_interface_that_comes_back_has_the_program",
        an_interface_that_comes_back_has_the_program,
    ),
    (
        "without_the_right_windows_are_clamped",
        without_the_right_windows_are_clamped,
    ),
    (
        "a_connection_by_another_way_is_clamped",
        a_connection_by_another_way_is_clamped,
    ),
];

/// The kernel's counter of segments in order for which a receive buffer had no room.
pub const DROPPED: &str = "TcpExtTCPRcvQDrop";

pub const WIRE: &str = "[rapid]\nwan-actuator = \"wire\"\n";

fn flow(daemon: &Daemon) -> serde_json::Value {
    let flows = pep::flows(&daemon.path("pep.sock")).expect("it answers");
    flows[0].clone()
}

/// The connection is listed once the server may have accepted it.
pub fn wait_for_actuator(daemon: &Daemon, actuator: &str) {
    daemon.wait_until("its window is set so", || {
        flow(daemon)["wan_actuator"] == actuator
    });
}

pub fn updates(daemon: &Daemon) -> u64 {
    let updates = &daemon.status()["server_windows"]["updates"];
    updates.as_u64().expect("a number")
}

/// A connection through the proxy of a server's port.
pub fn pair(hosts: &Hosts, is_ipv6: bool, port: u16) -> (TcpStream, TcpStream) {
    let address = SocketAddr::new(server(is_ipv6), port);
    let listener = listen(&hosts.server, address);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    (near, far)
}

fn segments_with_their_windows_set_have_right_checksums() {
    let Some(hosts) = Hosts::try_new("segments_with_their_windows_set_have_right_checksums") else {
        return;
    };
    let (daemon, _radio, rate) = start_of(&hosts, &[false, true], WIRE);
    rate.store(200_000_000, Relaxed);
    let mut port = 5_650;
    for offload in Offload::combinations() {
        offload.set(&hosts.proxy, "wan0");
        offload.set(&hosts.server, "s0");
        for is_ipv6 in [false, true] {
            let before = updates(&daemon);
            // one that ends before it comes under control has none
            let what = format!("{offload:?}, IPv6 {is_ipv6}: updates");
            testing::wait_until(&what, || {
                port += 1;
                let (near, far) = pair(&hosts, is_ipv6, port);
                wait_for_actuator(&daemon, "wire");
                exchange(&near, &far, 2_000_000);
                drop((near, far));
                daemon.wait_until("it has gone", || daemon.status()["connections"] == 0);
                updates(&daemon) > before
            });
        }
    }
    assert!(daemon.status()["server_windows"]["actuator_error"].is_null());
    assert_eq!(hosts.server.counter("TcpInCsumErrors"), 0);
    assert_eq!(daemon.count("resets"), 0);
}

fn windows_that_are_closed_at_the_wire_lose_no_byte() {
    let Some(hosts) = Hosts::try_new("windows_that_are_closed_at_the_wire_lose_no_byte") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    let downloads = Downloads::start(&hosts, 5_671);
    daemon.wait_until("windows are opened by updates", || updates(&daemon) >= 100);
    rate.store(FAST, Relaxed);
    rate.store(SLOW, Relaxed);
    let before = updates(&daemon);
    daemon.wait_until("they are opened again", || updates(&daemon) >= before + 100);
    rate.store(FAST, Relaxed);
    downloads.end();
    assert_eq!(daemon.count("resets"), 0);
    assert_eq!(
        daemon.count("windows_shown"),
        0,
        "none is shown as without the program"
    );
}

/// What a server is shown, in the order in which it leaves: by each segment of the proxy, the first byte that may not be sent.
fn edges_on_the_wire_never_move_left() {
    let Some(hosts) = Hosts::try_new("edges_on_the_wire_never_move_left") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    let capture = Capture::start(&hosts);
    let downloads = Downloads::start(&hosts, 5_672);
    for (n, rate_now) in [SLOW, 50_000_000, SLOW, FAST].into_iter().enumerate() {
        rate.store(rate_now, Relaxed);
        let before = updates(&daemon);
        daemon.wait_until("windows follow", || updates(&daemon) >= before + 50);
        assert!(n < 4);
    }
    downloads.end();
    let flows = testing::wait_for("all ends are in the capture", || {
        let edges = capture.edges(5_672);
        (edges.len() == FLOWS && edges.values().all(|of| of.has_ended)).then_some(edges)
    });
    let dropped = hosts.proxy.counter(DROPPED);
    for (port, of) in flows {
        assert!(of.edges.len() > 20, "{port}");
        of.assert_never_left(&port.to_string(), dropped);
    }
}

fn a_radio_that_carries_nothing_leaves_a_trickle_at_the_wire() {
    let test = "a_radio_that_carries_nothing_leaves_a_trickle_at_the_wire";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    let downloads = Downloads::start(&hosts, 5_673);
    daemon.wait_until("data passes", || daemon.count("bytes_down") > 1_000_000);
    rate.store(0, Relaxed);
    let bytes_of_flows = || {
        let flows = pep::flows(&daemon.path("pep.sock")).expect("it answers");
        let flows = flows.as_array().expect("a list");
        let bytes = flows.iter().map(|flow| flow["bytes_down"].as_u64());
        bytes.collect::<Option<Vec<_>>>().expect("numbers")
    };
    daemon.wait_until("nothing is carried", || {
        daemon.status()["control"]["ues"][0]["capacity_bps"] == 0
    });
    // whether a window is closed at a given time depends on what waits then: the rule's own tests hold that
    for _ in 0..3 {
        let before = bytes_of_flows();
        assert_eq!(before.len(), FLOWS);
        daemon.wait_until("each has passed some more", || {
            before.iter().zip(bytes_of_flows()).all(|(b, now)| now > *b)
        });
    }
    rate.store(FAST, Relaxed);
    downloads.end();
}

fn a_ue_that_has_ended_its_direction_receives_all() {
    let Some(hosts) = Hosts::try_new("a_ue_that_has_ended_its_direction_receives_all") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    rate.store(20_000_000, Relaxed);
    let (near, far) = pair(&hosts, false, 5_674);
    near.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(receive(&far).expect("the end"), 0);
    const ALL: usize = 5_000_000;
    let sends = std::thread::spawn(move || {
        send(&far, ALL).expect("sent");
        drop(far);
    });
    assert_eq!(receive(&near).expect("received"), ALL);
    sends.join().expect("sent");
    drop(near);
    daemon.wait_until("it has finished", || daemon.count("finished") == 1);
}

/// The links by which programs of a process are at the egress of interfaces.
pub fn links(pid: u32) -> BTreeSet<u32> {
    let folder = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).expect("its descriptors");
    let ids = folder.filter_map(|entry| {
        let text = std::fs::read_to_string(entry.ok()?.path()).ok()?;
        let line = text.lines().find(|line| line.starts_with("link_id:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    });
    let own: BTreeSet<u32> = ids.collect();
    at_interfaces().intersection(&own).copied().collect()
}

/// All of this machine's.
pub fn at_interfaces() -> BTreeSet<u32> {
    LinkInfoIter::default()
        .filter(|link| matches!(link.info, LinkTypeInfo::Tcx(_)))
        .map(|link| link.id)
        .collect()
}

fn both_processes_of_an_upgrade_set_windows() {
    let Some(hosts) = Hosts::try_new("both_processes_of_an_upgrade_set_windows") else {
        return;
    };
    let (mut old, _radio, rate) = start(&hosts, WIRE);
    rate.store(200_000_000, Relaxed);
    let (first_near, first_far) = pair(&hosts, false, 5_675);
    wait_for_actuator(&old, "wire");
    let own = links(old.child.id());
    assert_eq!(own.len(), 1);
    let folder = tempfile::tempdir().expect("a folder");
    let radio = old.path("radio");
    let socket = old.path("pep.sock");
    let config = crate::closed::config(WIRE)
        .replace("{dir}/radio", radio.to_str().expect("plain"))
        .replace("{dir}/pep.sock", socket.to_str().expect("plain"));
    let mut new = Daemon::spawn(&hosts.proxy, folder, &config, &["--upgrade"]);
    new.wait_until("it serves", || new.log().contains("accepting"));
    // until then a connection may be either's
    old.wait_until("it accepts no more", || !old.listens(&hosts.proxy));
    let (near, far) = pair(&hosts, false, 5_676);
    new.wait_until("its window is set so", || {
        let flows = pep::flows(&socket).expect("it answers");
        flows[0]["wan_actuator"] == "wire"
    });
    assert_eq!(links(new.child.id()).len(), 1);
    assert_eq!(links(old.child.id()), own, "the old one's is still there");
    // both at once
    std::thread::scope(|scope| {
        scope.spawn(|| exchange(&first_near, &first_far, 5_000_000));
        scope.spawn(|| exchange(&near, &far, 5_000_000));
    });
    drop((first_near, first_far, near, far));
    assert!(old.child.wait().expect("an end").success());
    assert!(at_interfaces().is_disjoint(&own));
    let of_new = links(new.child.id());
    assert!(new.stop().success());
    assert!(at_interfaces().is_disjoint(&of_new), "nothing stays behind");
}

fn a_killed_proxy_leaves_no_program() {
    let Some(hosts) = Hosts::try_new("a_killed_proxy_leaves_no_program") else {
        return;
    };
    let (mut daemon, _radio, _rate) = start(&hosts, WIRE);
    let _pair = pair(&hosts, false, 5_677);
    let own = links(daemon.child.id());
    assert_eq!(own.len(), 1);
    daemon.signal(rustix::process::Signal::KILL);
    daemon.child.wait().expect("it ends");
    testing::wait_until("the program has gone", || at_interfaces().is_disjoint(&own));
}

fn an_interface_that_comes_back_has_the_program() {
    let Some(hosts) = Hosts::try_new("an_interface_that_comes_back_has_the_program") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    rate.store(200_000_000, Relaxed);
    let interfaces = || daemon.status()["server_windows"]["interfaces"].clone();
    assert_eq!(interfaces(), serde_json::json!(["wan0"]));
    let own = links(daemon.child.id());
    hosts.proxy.sh("ip link del wan0");
    daemon.wait_until("it has gone", || interfaces().is_null());
    hosts.proxy.sh(&format!(
        "ip link add wan0 type veth peer name s0 netns {}\n\
         ip addr add 10.99.0.1/24 dev wan0; ip link set wan0 up",
        hosts.server.pid()
    ));
    hosts.server.sh(
        "ip link set s0 up; ip addr add 10.99.0.2/24 dev s0; ip route add default via 10.99.0.1",
    );
    daemon.wait_until("the program is there", || {
        interfaces() == serde_json::json!(["wan0"])
    });
    assert_ne!(links(daemon.child.id()), own);
    let (near, far) = pair(&hosts, false, 5_678);
    wait_for_actuator(&daemon, "wire");
    exchange(&near, &far, 4_000_000);
}

fn without_the_right_windows_are_clamped() {
    let Some(hosts) = Hosts::try_new("without_the_right_windows_are_clamped") else {
        return;
    };
    let config = |actuator: &str| {
        crate::closed::config(&format!("[rapid]\nwan-actuator = \"{actuator}\"\n"))
    };
    let folder = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start_without_bpf(&hosts.proxy, folder, &config("auto"));
    let windows = daemon.status()["server_windows"].clone();
    assert_eq!(windows["actuator"], "clamp");
    assert!(windows["actuator_error"].is_string(), "{windows}");
    let (near, far) = pair(&hosts, false, 5_679);
    wait_for_actuator(&daemon, "clamp");
    exchange(&near, &far, 1_000_000);
    drop(daemon);
    // where nothing else will do
    let gone = config("wire").replace("wan-interface = \"wan0\"", "wan-interface = \"gone0\"");
    let folder = tempfile::tempdir().expect("a folder");
    let mut daemon = Daemon::spawn(&hosts.proxy, folder, &gone, &[]);
    assert_eq!(daemon.child.wait().expect("it ends").code(), Some(2));
    assert!(daemon.log().contains("wan-actuator"), "{}", daemon.log());
    // and as ever where nothing is configured
    let (daemon, _radio, _rate) = start(&hosts, "");
    assert_eq!(daemon.status()["server_windows"]["actuator"], "clamp");
    assert!(daemon.status()["server_windows"]["actuator_error"].is_null());
    assert_eq!(links(daemon.child.id()).len(), 0);
}

/// The explicit mode without an interface: the program is where the route leads at the start.
fn a_connection_by_another_way_is_clamped() {
    let Some(hosts) = Hosts::try_new("a_connection_by_another_way_is_clamped") else {
        return;
    };
    let config = "mode = \"explicit\"\n[explicit]\nlisten = \"10.45.0.1:7700\"\n\
                  upstream = \"10.99.0.2:5680\"\nallow = [\"10.45.0.0/24\"]\n\
                  [reports]\nsource = \"unix:{dir}/radio\"\n[rapid]\nwan-actuator = \"wire\"\n\
                  [admin]\nsocket = \"{dir}/pep.sock\"\n";
    let through: SocketAddr = "10.45.0.1:7700".parse().expect("an address");
    let (_, listener) = server_at(&hosts, 5_680);
    for (route, interface, actuator) in [
        ("ip link show wan0", "wan0", "wire"),
        ("ip route add 10.99.0.2 dev ran0", "ran0", "clamp"),
    ] {
        hosts.proxy.sh(route);
        let daemon = Daemon::start(&hosts.proxy, config);
        let interfaces = &daemon.status()["server_windows"]["interfaces"];
        assert_eq!(*interfaces, serde_json::json!([interface]));
        hosts.proxy.sh("ip route del 10.99.0.2 dev ran0 || true");
        let near = connect(&hosts.client, through).expect("connected");
        let (far, _) = accept(&listener);
        daemon.wait_until("the server has answered", || {
            daemon.count("established") == 1
        });
        wait_for_actuator(&daemon, actuator);
        exchange(&near, &far, 1_000_000);
    }
}
