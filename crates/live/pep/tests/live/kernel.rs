//! What the kernel does to the proxy's programs and interfaces: it refuses a program, takes a link down, sends segments that a
//! program does not know, has no place for a connection any more.

use crate::closed::{Downloads, FAST, config, start, start_of};
use crate::lifecycle::{traces, transfer};
use crate::shown::{WIRE, at_interfaces, links, pair, wait_for_actuator};
use crate::support::Hosts;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, report};
use crate::support::traffic::{accept, connect};
use crate::wire::exchange;
use crate::{Test, server_at, split};
use std::sync::atomic::Ordering::Relaxed;

pub const TESTS: &[Test] = &[
    (
        "programs_that_the_verifier_refuses_are_done_without_or_named",
        programs_that_the_verifier_refuses_are_done_without_or_named,
    ),
    (
        "links_that_go_down_and_come_up_lose_no_byte",
        links_that_go_down_and_come_up_lose_no_byte,
    ),
    (
        "a_connection_with_extension_headers_is_clamped_and_counted",
        a_connection_with_extension_headers_is_clamped_and_counted,
    ),
    (
        "a_predecessor_that_is_killed_leaves_one_that_serves_or_nothing",
        a_predecessor_that_is_killed_leaves_one_that_serves_or_nothing,
    ),
];

/// Without `CAP_PERFMON` the verifier refuses what the programs do with pointers, though they may be loaded (`CAP_BPF`).
const REFUSED: [&str; 3] = ["setpriv", "--bounding-set", "-perfmon,-sys_admin"];

fn programs_that_the_verifier_refuses_are_done_without_or_named() {
    let test = "programs_that_the_verifier_refuses_are_done_without_or_named";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    // neither kind of window: both are set as without programs
    let auto = config("[rapid]\nwan-actuator = \"auto\"\n");
    let folder = tempfile::tempdir().expect("a folder");
    let _radio = Radio::start(&folder.path().join("radio"), |n, at| {
        report(&[crate::support::client(false)], n, at, FAST)
    });
    let daemon = Daemon::start_wrapped(&hosts.proxy, folder, &auto, &REFUSED);
    let status = daemon.status();
    let control = &status["control"];
    assert_eq!(control["actuator"], "pacing", "{status}");
    assert!(control["actuator_error"].is_string(), "{status}");
    let windows = &status["server_windows"];
    assert_eq!(windows["actuator"], "clamp", "{status}");
    assert!(windows["actuator_error"].is_string(), "{status}");
    let (near, far) = pair(&hosts, false, 5_691);
    wait_for_actuator(&daemon, "clamp");
    exchange(&near, &far, 3_000_000);
    assert!(links(daemon.child.id()).is_empty());
    drop(daemon);
    // what cannot be done without is named, and nothing is left
    let wire = config(WIRE);
    let marks = format!(
        "{TRANSPARENT}[reports]\nsource = \"unix:{{dir}}/radio\"\n[unsplit]\nmode = \"mark\"\n"
    );
    for (config, named) in [(wire, "wan-actuator"), (marks, "[unsplit] mode = \"mark\"")] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut daemon = Daemon::spawn_wrapped(&hosts.proxy, folder, &config, &REFUSED, &[]);
        assert_eq!(daemon.child.wait().expect("it ends").code(), Some(2));
        assert!(daemon.log().contains(named), "{}", daemon.log());
        assert_eq!(traces(&hosts), "");
    }
    transfer(&hosts, 5_692);
}

fn links_that_go_down_and_come_up_lose_no_byte() {
    let Some(hosts) = Hosts::try_new("links_that_go_down_and_come_up_lose_no_byte") else {
        return;
    };
    let marks = "[unsplit]\nmode = \"mark\"\n";
    let (daemon, _radio, rate) = start(&hosts, &format!("{WIRE}{marks}"));
    rate.store(FAST, Relaxed);
    let before = links(daemon.child.id());
    assert_eq!(before.len(), 2, "one towards servers, one towards UEs");
    let downloads = Downloads::start(&hosts, 5_693);
    for interface in ["wan0", "ran0", "wan0", "ran0"] {
        hosts.proxy.sh(&format!("ip link set {interface} down"));
        hosts.proxy.sh(&format!("ip link set {interface} up"));
        let down = daemon.count("bytes_down");
        daemon.wait_until("data passes", || {
            daemon.count("bytes_down") > down + 1_000_000
        });
    }
    downloads.end();
    assert_eq!(daemon.count("resets"), 0);
    assert_eq!(links(daemon.child.id()), before, "the programs stayed");
    let (near, far) = pair(&hosts, false, 5_694);
    wait_for_actuator(&daemon, "wire");
    exchange(&near, &far, 1_000_000);
}

/// Segments have a routing header: the program does not read them, and what it has not seen it does not set.
fn a_connection_with_extension_headers_is_clamped_and_counted() {
    let test = "a_connection_with_extension_headers_is_clamped_and_counted";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    hosts.server.sh(
        "sysctl -qw net.ipv6.conf.all.seg6_enabled=1 net.ipv6.conf.s0.seg6_enabled=1\n\
         ip -6 addr add fd99::3/64 dev s0 nodad",
    );
    let more = format!("{WIRE}[metrics]\nlisten = \"127.0.0.1:9464\"\n");
    let (daemon, _radio, rate) = start_of(&hosts, &[false, true], &more);
    rate.store(FAST, Relaxed);
    let clamped = || daemon.status()["server_windows"]["clamped"].clone();
    let (near, far) = pair(&hosts, true, 5_695);
    wait_for_actuator(&daemon, "wire");
    exchange(&near, &far, 1_000_000);
    assert_eq!(clamped(), 0);
    drop((near, far));
    daemon.wait_until("it has gone", || daemon.status()["connections"] == 0);
    hosts
        .proxy
        .sh("ip -6 route add fd99::2/128 encap seg6 mode inline segs fd99::3 dev wan0");
    let (near, far) = pair(&hosts, true, 5_696);
    wait_for_actuator(&daemon, "clamp");
    exchange(&near, &far, 3_000_000);
    assert_eq!(clamped(), 1);
    let page = crate::control::get(&hosts, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        page.contains("brimful_pep_wan_clamped_connections_total 1"),
        "{page}"
    );
    drop((near, far));
    daemon.wait_until("it has gone", || daemon.status()["connections"] == 0);
    // without them it is as before
    hosts.proxy.sh("ip -6 route del fd99::2/128");
    let (near, far) = pair(&hosts, true, 5_697);
    wait_for_actuator(&daemon, "wire");
    exchange(&near, &far, 1_000_000);
    assert_eq!(clamped(), 1);
    assert_eq!(daemon.count("resets"), 0);
}

/// Killed while its successor prepares, and once that serves.
fn a_predecessor_that_is_killed_leaves_one_that_serves_or_nothing() {
    let test = "a_predecessor_that_is_killed_leaves_one_that_serves_or_nothing";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    let (address, listener) = server_at(&hosts, 5_698);
    let must_pass = |port: u16| transfer(&hosts, port);
    let kill = |old: &mut Daemon| {
        old.child.kill().expect("killed");
        old.child.wait().expect("dead");
    };
    for is_serving in [false, true] {
        let (mut old, radio, rate) = start(&hosts, WIRE);
        rate.store(FAST, Relaxed);
        let of_old = links(old.child.id());
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| old.path(name).to_str().expect("plain").to_owned();
        let mut config = config(WIRE)
            .replace("{dir}/radio", &at("radio"))
            .replace("{dir}/pep.sock", &at("pep.sock"));
        // a recording that waits for its reader holds the successor up, with the sockets in its hands
        let pipe = folder.path().join("pipe");
        if !is_serving {
            hosts.proxy.sh(&format!("mkfifo {}", pipe.display()));
            config += &format!("[record]\nfile = \"{}\"\n", pipe.display());
        }
        let mut new = Daemon::spawn(&hosts.proxy, folder, &config, &["--upgrade"]);
        if is_serving {
            new.wait_until("it serves", || new.log().contains("accepting"));
        } else {
            new.wait_until("it has the sockets", || new.listens(&hosts.proxy));
        }
        kill(&mut old);
        // what the old one had is reset at both ends
        for end in [&near, &far] {
            let error = crate::support::traffic::receive(end).expect_err("a reset");
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
        testing::wait_until("its programs have gone", || {
            at_interfaces().is_disjoint(&of_old)
        });
        if is_serving {
            let near = connect(&hosts.client, address).expect("connected");
            let (far, _) = accept(&listener);
            exchange(&near, &far, 1_000_000);
            let status = pep::status(&old.path("pep.sock")).expect("it answers");
            assert_eq!(status["pid"], new.child.id());
            assert_eq!(status["counters"]["accepted"], 1);
            assert!(new.stop().success());
        } else {
            drop(std::fs::File::open(&pipe));
            assert!(!new.child.wait().expect("it ends").success());
            // whatever is left lets connections pass, and the next start clears it
            must_pass(5_699);
            drop((old, radio));
            let mut next = Daemon::start(&hosts.proxy, &split(""));
            let near = connect(&hosts.client, address).expect("connected");
            let (far, _) = accept(&listener);
            exchange(&near, &far, 1_000_000);
            assert_eq!(next.count("accepted"), 1);
            assert!(next.stop().success());
        }
        assert_eq!(traces(&hosts), "");
        must_pass(5_700);
    }
}
