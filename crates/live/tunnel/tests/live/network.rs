//! What the networks around do: several clients, wrong keys, spoofed sources, changed addresses, small
//! MTUs, marks.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, client_config, connect, download, one_path, plain, serve, server_config,
};
use serde_json::{Value, json};
use std::net::UdpSocket;
use testing::wait_until;

pub const TESTS: &[Test] = &[
    (
        "several_clients_have_addresses_of_their_own",
        several_clients_have_addresses_of_their_own,
    ),
    ("a_wrong_key_is_rejected", a_wrong_key_is_rejected),
    (
        "bad_configurations_end_with_2",
        bad_configurations_end_with_2,
    ),
    (
        "a_path_without_its_interface_is_logged_once",
        a_path_without_its_interface_is_logged_once,
    ),
    (
        "the_server_follows_a_client_to_a_new_address",
        the_server_follows_a_client_to_a_new_address,
    ),
    ("packets_fit_small_paths", packets_fit_small_paths),
    ("marks_go_through", marks_go_through),
    ("paths_may_be_ipv6", paths_may_be_ipv6),
    ("a_changed_file_is_applied", a_changed_file_is_applied),
    (
        "a_server_that_comes_back_is_found",
        a_server_that_comes_back_is_found,
    ),
];

const SECOND: &str = "[[client]]\nname = \"two\"\npublic-key = \"{two}\"\n\
                      addresses = [\"10.99.0.3/32\"]\n";

fn total(status: &Value, key: &str) -> u64 {
    let all = status["connections"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    all.iter()
        .filter_map(|connection| connection[key].as_u64())
        .sum()
}

fn several_clients_have_addresses_of_their_own() {
    let Some(hosts) = Hosts::try_new("several_clients_have_addresses_of_their_own") else {
        return;
    };
    let server = Daemon::start(
        &hosts.server,
        "server",
        &format!("{}{SECOND}", server_config("")),
    );
    let one = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    let config = client_config("", &one_path(""))
        .replace("one.key", "two.key")
        .replace("t0", "t1")
        .replace("10.99.0.2/24", "10.99.0.3/32")
        .replace(", \"fd99::2/64\"", "");
    let two = Daemon::start(&hosts.client, "client", &config);
    one.wait_for_paths(1);
    two.wait_for_paths(1);
    let named = |name: &str| {
        let status = server.status();
        let all = status["connections"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        all.iter().any(|connection| connection["peer"] == name)
    };
    wait_until("both are there", || named("one") && named("two"));
    hosts.server.sh("ping -c 2 -i 0.2 -w 60 10.99.0.2");
    // a client's kernel sends some by itself, from link-local addresses
    let before = total(&server.status(), "spoofed_packets");
    // the second client's address through the first one's tunnel, which has the route
    let socket = hosts.client.enter(|| UdpSocket::bind("10.99.0.3:9"));
    let socket = socket.expect("bound");
    wait_until("a spoofed packet is counted", || {
        socket.send_to(b"not mine", "10.99.0.1:9").expect("sent");
        total(&server.status(), "spoofed_packets") > before
    });
}

fn a_wrong_key_is_rejected() {
    let Some(hosts) = Hosts::try_new("a_wrong_key_is_rejected") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let config = client_config("", &one_path("")).replace("one.key", "two.key");
    let client = Daemon::start(&hosts.client, "client", &config);
    wait_until("the handshake is rejected", || {
        server.status()["refused"]["unknown-client"] != 0
    });
    assert_eq!(client.status()["connections"][0]["established"], false);
    assert_eq!(server.status()["connections"], json!([]));
    for daemon in [&server, &client] {
        let output = format!("{}{}", daemon.log(), daemon.status());
        for key in [crate::support::SERVER_PRIVATE, crate::support::TWO_PRIVATE] {
            assert!(!output.contains(key), "a key is printed");
        }
    }
}

fn bad_configurations_end_with_2() {
    let Some(hosts) = Hosts::try_new("bad_configurations_end_with_2") else {
        return;
    };
    for (config, text) in [
        (
            client_config("scheduler = \"minrtt\"", &one_path("")),
            "known are cpf",
        ),
        (
            client_config("", &one_path("")).replace("one.key", "none"),
            "none` makes one",
        ),
        (
            client_config("", &one_path("")).replace("{dir}/one.key", "/etc/hostname"),
            "chmod 600",
        ),
    ] {
        let mut daemon = Daemon::spawn(&hosts.client, "client", &config);
        let status = daemon.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(2), "{}", daemon.log());
        assert!(daemon.log().contains(text), "{}", daemon.log());
    }
    let left = hosts.client.sh("ip -o link");
    assert!(!left.contains("t0"), "nothing was changed: {left}");
}

fn a_path_without_its_interface_is_logged_once() {
    let Some(hosts) = Hosts::try_new("a_path_without_its_interface_is_logged_once") else {
        return;
    };
    let config = client_config("", &one_path("")).replace("\"a\"\nremote", "\"a9\"\nremote");
    let client = Daemon::start(&hosts.client, "client", &config);
    let logged = |text: &str| client.log().matches(text).count();
    wait_until("two further attempts", || {
        logged("path still cannot be opened") >= 2
    });
    assert_eq!(logged("path cannot be opened"), 1, "{}", client.log());
    assert!(client.log().contains("No such device"), "{}", client.log());
}

/// A NAT on the way drops its mapping, and gives the client's socket another port.
fn the_server_follows_a_client_to_a_new_address() {
    let Some(hosts) = Hosts::try_new("the_server_follows_a_client_to_a_new_address") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    let address = format!("{SERVER}:5001");
    let bytes = 40_000_000;
    hosts.shape("a", 100);
    let _sender = serve(&hosts.server, &address, bytes);
    let before = server.path(0)["remote"].clone();
    let port = before
        .as_str()
        .and_then(|text| text.rsplit(':').next())
        .expect("a port")
        .to_owned();
    // from now on packets of the client's port come from another, and answers go back to the first
    let remap = format!(
        "nft 'add table ip nat; \
         add chain ip nat i {{ type filter hook prerouting priority -300; }}; \
         add rule ip nat i iifname a udp sport {port} udp sport set 45000; \
         add chain ip nat o {{ type filter hook output priority -300; }}; \
         add rule ip nat o oifname a udp dport 45000 udp dport set {port}'"
    );
    download(&hosts.client, &address, bytes, || {
        hosts.server.sh(&remap);
    });
    let after = server.path(0)["remote"].clone();
    assert_ne!(before, after);
    assert!(
        server.status()["moved"].as_u64() >= Some(1),
        "{}",
        server.status()
    );
}

/// Makes another configuration of one.
type Configured = fn(&str) -> String;

/// What a packet inside has around it on a path, but for UDP and IP: with encryption and without.
const AROUND: [(Configured, u64); 2] = [(str::to_owned, 6 + 21), (plain, 48)];

/// A path of MTU 1,400: TCP's segments and the device's MTU follow, larger packets are refused by the
/// kernel with what would fit, and nothing is lost in silence.
fn packets_fit_small_paths() {
    let Some(hosts) = Hosts::try_new("packets_fit_small_paths") else {
        return;
    };
    for (configured, around) in AROUND {
        for host in [&hosts.client, &hosts.server] {
            host.sh("ip link set dev a mtu 1400");
        }
        let server = configured(&server_config(""));
        let _server = Daemon::start(&hosts.server, "server", &server);
        let client = configured(&client_config("", &one_path("")));
        let client = Daemon::start(&hosts.client, "client", &client);
        client.wait_for_paths(1);
        assert_eq!(client.status()["device"]["mtu"], 1_400 - 28 - around);
        let too_big = hosts.client.enter(|| {
            let socket = UdpSocket::bind("10.99.0.2:0").expect("bound");
            socket.send_to(&[0; 60_000], "10.99.0.1:9")
        });
        too_big.expect("the kernel fragments what may be fragmented");
        let address = format!("{SERVER}:5001");
        let _sender = serve(&hosts.server, &address, 5_000_000);
        download(&hosts.client, &address, 5_000_000, || {});
        // the device's MTU shrinks with the path's
        hosts.client.sh("ip link set dev a mtu 1388");
        wait_until("the device follows", || {
            client.status()["device"]["mtu"] == 1_388 - 28 - around
        });
    }
}

fn marks_go_through() {
    let Some(hosts) = Hosts::try_new("marks_go_through") else {
        return;
    };
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    // every packet outside that may be marked is marked on the way
    hosts.server.sh(
        "nft 'add table ip marks; add chain ip marks i { type filter hook prerouting priority 0; }; \
         add rule ip marks i iifname a ip ecn ect0 ip ecn set ce'",
    );
    hosts.server.sh(
        "nft 'add table ip seen; add chain ip seen i { type filter hook input priority 0; }; \
         add rule ip seen i iifname t0 ip ecn ce counter; \
         add rule ip seen i iifname t0 ip ecn ect0 counter'",
    );
    // three answers: at least three requests came, and each that came is marked
    hosts.client.sh("ping -Q 2 -c 3 -i 0.2 -w 60 10.99.0.1");
    let seen = hosts.server.sh("nft list table ip seen");
    let packets: Vec<u64> = seen
        .split("packets ")
        .skip(1)
        .map(|rest| rest.split(' ').next().and_then(|n| n.parse().ok()))
        .map(|number| number.expect("a number"))
        .collect();
    assert!(packets[0] >= 3 && packets[1] == 0, "{seen}");
}

fn paths_may_be_ipv6() {
    let Some(hosts) = Hosts::try_new("paths_may_be_ipv6") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let path = one_path("").replace("10.1.0.1:6511", "[fd01::1]:6511");
    let client = Daemon::start(&hosts.client, "client", &client_config("", &path));
    client.wait_for_paths(1);
    assert_eq!(client.status()["device"]["mtu"], 1_500 - 48 - 6 - 21);
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 5_000_000);
    download(&hosts.client, &address, 5_000_000, || {});
    let remote = server.path(0)["remote"].clone();
    assert!(
        remote
            .as_str()
            .expect("an address")
            .starts_with("[fd01::2]"),
        "{remote}"
    );
}

fn a_changed_file_is_applied() {
    let Some(hosts) = Hosts::try_new("a_changed_file_is_applied") else {
        return;
    };
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    let file = client.folder.path().join("tunnel.toml");
    let text = std::fs::read_to_string(&file).expect("read");
    let more = "[[path]]\nname = \"b\"\ninterface = \"b\"\nremote = \"10.2.0.1:6511\"\n";
    std::fs::write(&file, format!("{text}{more}")).expect("written");
    let pid = rustix::process::Pid::from_child(&client.child);
    let hang_up = || rustix::process::kill_process(pid, rustix::process::Signal::HUP);
    hang_up().expect("sent");
    client.wait_for_paths(2);
    std::fs::write(&file, text.replace("t0", "t9")).expect("written");
    hang_up().expect("sent");
    wait_until("the rejection is logged", || {
        client.log().contains("[tun] name cannot change")
    });
    client.wait_for_paths(2);
}

fn a_server_that_comes_back_is_found() {
    let Some(hosts) = Hosts::try_new("a_server_that_comes_back_is_found") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    let pid = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("sent");
    wait_until("the client detects it", || {
        client.log().contains("a new connection begins")
    });
    drop(server);
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    client.wait_for_paths(1);
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 1_000_000);
    download(&hosts.client, &address, 1_000_000, || {});
    // TCP carriers are accepted at the same port
    hosts
        .client
        .enter(|| drop(connect("10.1.0.1:6511".parse().expect("an address"))));
}
