//! What the networks around do: several clients, wrong keys, spoofed sources, changed addresses, small
//! MTUs, marks.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, client_config, download, one_path, serve, server_config,
};
use serde_json::{Value, json};
use std::net::{TcpStream, UdpSocket};

pub const TESTS: &[Test] = &[
    (
        "several_clients_have_addresses_of_their_own",
        several_clients_have_addresses_of_their_own,
    ),
    ("a_wrong_key_is_refused", a_wrong_key_is_refused),
    (
        "bad_configurations_end_with_2",
        bad_configurations_end_with_2,
    ),
    (
        "a_path_without_its_interface_is_logged_once",
        a_path_without_its_interface_is_logged_once,
    ),
    (
        "the_server_follows_a_new_address",
        the_server_follows_a_new_address,
    ),
    ("packets_fit_small_paths", packets_fit_small_paths),
    ("marks_go_through", marks_go_through),
    ("paths_may_be_ipv6", paths_may_be_ipv6),
    ("a_changed_file_is_taken", a_changed_file_is_taken),
    (
        "a_server_that_comes_back_is_found",
        a_server_that_comes_back_is_found,
    ),
];

const SECOND: &str = "[[client]]\nname = \"two\"\nkey-file = \"{dir}/other\"\n\
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
        .replace("{dir}/key", "{dir}/other")
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
    server.wait_until("both are there", || named("one") && named("two"));
    hosts.server.sh("ping -c 2 -i 0.2 -W 60 10.99.0.2");
    // a client's kernel sends some by itself, from link-local addresses
    let before = total(&server.status(), "spoofed_packets");
    // the second client's address through the first one's tunnel, which has the route
    let socket = hosts.client.enter(|| UdpSocket::bind("10.99.0.3:9"));
    let sent = socket.expect("bound").send_to(b"not mine", "10.99.0.1:9");
    sent.expect("sent");
    server.wait_until("it is noticed", || {
        total(&server.status(), "spoofed_packets") > before
    });
}

fn a_wrong_key_is_refused() {
    let Some(hosts) = Hosts::try_new("a_wrong_key_is_refused") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let config = client_config("", &one_path("")).replace("{dir}/key", "{dir}/other");
    let client = Daemon::start(&hosts.client, "client", &config);
    server.wait_until("it is refused", || {
        server.status()["refused"]["handshake"] != 0
    });
    assert_eq!(client.status()["connections"][0]["established"], false);
    assert_eq!(server.status()["connections"], json!([]));
    for daemon in [&server, &client] {
        let said = format!("{}{}", daemon.log(), daemon.status());
        assert!(!said.contains(crate::support::KEY), "a key was printed");
        assert!(
            !said.contains(crate::support::OTHER_KEY),
            "a key was printed"
        );
    }
}

fn bad_configurations_end_with_2() {
    let Some(hosts) = Hosts::try_new("bad_configurations_end_with_2") else {
        return;
    };
    for (config, said) in [
        (
            client_config("scheduler = \"minrtt\"", &one_path("")),
            "known are cpf",
        ),
        (
            client_config("", &one_path("")).replace("{dir}/key", "{dir}/none"),
            "none` makes one",
        ),
        (
            client_config("", &one_path("")).replace("{dir}/key", "/etc/hostname"),
            "chmod 600",
        ),
    ] {
        let mut daemon = Daemon::spawn(&hosts.client, "client", &config);
        let status = daemon.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(2), "{}", daemon.log());
        assert!(daemon.log().contains(said), "{}", daemon.log());
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
    let again = || client.log().matches("path still cannot be opened").count();
    client.wait_until("two further attempts", || again() >= 2);
    let warnings = client.log().matches("path cannot be opened").count();
    assert_eq!(warnings, 1, "{}", client.log());
    assert!(client.log().contains("No such device"), "{}", client.log());
}

/// A NAT on the way forgets, and gives the client's socket another port.
fn the_server_follows_a_new_address() {
    let Some(hosts) = Hosts::try_new("the_server_follows_a_new_address") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    let address = format!("{SERVER}:5001");
    let bytes = 30_000_000;
    hosts.shape("a", 200);
    let _sender = serve(&hosts.server, &address, bytes);
    let before = server.path(0)["remote"].clone();
    let port = before
        .as_str()
        .and_then(|text| text.rsplit(':').next())
        .expect("a port")
        .to_owned();
    // from now on packets of the client's port come from another, and answers go back to the first
    let forget = format!(
        "nft 'add table ip nat; \
         add chain ip nat i {{ type filter hook prerouting priority -300; }}; \
         add rule ip nat i iifname a udp sport {port} udp sport set 45000; \
         add chain ip nat o {{ type filter hook output priority -300; }}; \
         add rule ip nat o oifname a udp dport 45000 udp dport set {port}'"
    );
    download(&hosts.client, &address, bytes, || {
        hosts.server.sh(&forget);
    });
    let after = server.path(0)["remote"].clone();
    assert_ne!(before, after);
    assert!(
        server.status()["moved"].as_u64() >= Some(1),
        "{}",
        server.status()
    );
}

/// A path of MTU 1,400: TCP's segments and the device's MTU follow, larger packets are refused by the
/// kernel with what would fit, and nothing is lost in silence.
fn packets_fit_small_paths() {
    let Some(hosts) = Hosts::try_new("packets_fit_small_paths") else {
        return;
    };
    for host in [&hosts.client, &hosts.server] {
        host.sh("ip link set dev a mtu 1400");
    }
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    assert_eq!(client.status()["device"]["mtu"], 1_400 - 28 - 48);
    let too_big = hosts.client.enter(|| {
        let socket = UdpSocket::bind("10.99.0.2:0").expect("bound");
        socket.send_to(&[0; 60_000], "10.99.0.1:9")
    });
    too_big.expect("the kernel fragments what may be fragmented");
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 5_000_000);
    download(&hosts.client, &address, 5_000_000, || {});
    // the device's MTU shrinks with the path's
    hosts.client.sh("ip link set dev a mtu 1376");
    client.wait_until("the device follows", || {
        client.status()["device"]["mtu"] == 1_376 - 28 - 48
    });
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
         add rule ip seen i iifname t0 ip ecn ce counter'",
    );
    hosts.client.sh("ping -Q 2 -c 3 -i 0.2 -W 60 10.99.0.1");
    testing::wait_until("all three are marked inside too", || {
        let seen = hosts.server.sh("nft list table ip seen");
        seen.contains("packets 3 ")
    });
}

fn paths_may_be_ipv6() {
    let Some(hosts) = Hosts::try_new("paths_may_be_ipv6") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let path = one_path("").replace("10.1.0.1:6511", "[fd01::1]:6511");
    let client = Daemon::start(&hosts.client, "client", &client_config("", &path));
    client.wait_for_paths(1);
    assert_eq!(client.status()["device"]["mtu"], 1_500 - 48 - 48);
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

fn a_changed_file_is_taken() {
    let Some(hosts) = Hosts::try_new("a_changed_file_is_taken") else {
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
    hang_up().expect("told");
    client.wait_for_paths(2);
    std::fs::write(&file, text.replace("t0", "t9")).expect("written");
    hang_up().expect("told");
    client.wait_until("it says so", || {
        client.log().contains("only paths can change")
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
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told");
    client.wait_until("it notices", || {
        client.log().contains("a new connection begins")
    });
    drop(server);
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    client.wait_for_paths(1);
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 1_000_000);
    download(&hosts.client, &address, 1_000_000, || {});
    let tcp = hosts.client.enter(|| {
        let at = "10.1.0.1:6511".parse().expect("an address");
        TcpStream::connect_timeout(&at, testing::HANG_LIMIT)
    });
    assert!(tcp.is_ok(), "TCP carriers are accepted at the same port");
}
