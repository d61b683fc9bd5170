//! What is set up around the device: default routes inside, rules, hooks; and names of servers.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, SERVER_V6, client_config, download, one_path, serve, server_config,
};
use rustix::process::Signal;
use serde_json::Value;
use testing::wait_until;

pub const TESTS: &[Test] = &[
    (
        "a_default_route_inside_does_not_take_the_tunnels_own_packets",
        a_default_route_inside_does_not_take_the_tunnels_own_packets,
    ),
    (
        "what_was_set_up_is_undone_where_a_hook_fails",
        what_was_set_up_is_undone_where_a_hook_fails,
    ),
    (
        "names_of_servers_are_resolved",
        names_of_servers_are_resolved,
    ),
    (
        "a_client_goes_on_at_a_new_address",
        a_client_goes_on_at_a_new_address,
    ),
    (
        "each_carrier_takes_both_families_inside_and_outside",
        each_carrier_takes_both_families_inside_and_outside,
    ),
];

fn rules(hosts: &Hosts) -> usize {
    let all = format!(
        "{}{}",
        hosts.client.sh("ip -4 rule"),
        hosts.client.sh("ip -6 rule")
    );
    all.lines().filter(|line| line.starts_with("3270")).count()
}

/// The server is where the default route leads; everything else goes inside.
fn a_default_route_inside_does_not_take_the_tunnels_own_packets() {
    let Some(hosts) =
        Hosts::try_new("a_default_route_inside_does_not_take_the_tunnels_own_packets")
    else {
        return;
    };
    hosts
        .server
        .sh("ip address add 192.0.2.1/32 dev lo; ip address add 2001:db8::1/128 dev lo nodad");
    hosts
        .client
        .sh("ip route add default via 10.1.0.1; ip -6 route add default via fd01::1");
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    let inside =
        "[tun]\nroutes = [\"0.0.0.0/0\", \"::/0\"]\npre-down = [\"ip rule > {dir}/rules\"]\n";
    for remote in ["192.0.2.1:6511", "[2001:db8::1]:6511"] {
        for carrier in ["dccp", "tcp"] {
            let path =
                format!("[[path]]\nname = \"a\"\nremote = \"{remote}\"\ncarrier = \"{carrier}\"\n");
            let config = client_config("", &path).replace("[tun]\n", inside);
            let killed = Daemon::start(&hosts.client, "client", &config);
            killed.wait_for_paths(1);
            killed.signal(Signal::KILL);
            drop(killed);
            assert_eq!(rules(&hosts), 4, "nothing removes what was left");
            let mut client = Daemon::start(&hosts.client, "client", &config);
            client.wait_for_paths(1);
            assert_eq!(rules(&hosts), 4);
            for elsewhere in ["198.51.100.9", "2001:db8:9::9"] {
                let route = hosts.client.sh(&format!("ip route get {elsewhere}"));
                assert!(route.contains("dev t0"), "{route}");
                let route = hosts
                    .client
                    .sh(&format!("ip route get {elsewhere} mark 6511"));
                assert!(route.contains("dev a"), "{route}");
            }
            let address = format!("{SERVER}:5001");
            let _sender = serve(&hosts.server, &address, 1_000_000);
            download(&hosts.client, &address, 1_000_000, || {});
            client.signal(Signal::TERM);
            assert!(client.child.wait().expect("it ends").success());
            assert_eq!(rules(&hosts), 0, "{}", client.log());
            // the hook was run before the rules went
            let seen = std::fs::read_to_string(client.folder.path().join("rules"));
            assert!(seen.expect("written").contains("32700"));
            let route = hosts.client.sh("ip route get 198.51.100.9");
            assert!(route.contains("dev a"), "{route}");
        }
    }
}

fn what_was_set_up_is_undone_where_a_hook_fails() {
    let Some(hosts) = Hosts::try_new("what_was_set_up_is_undone_where_a_hook_fails") else {
        return;
    };
    let inside = "[tun]\nroutes = [\"0.0.0.0/0\"]\npost-up = [\"echo %i > {dir}/up\", \"exit 3\"]\n\
                  pre-down = [\"echo %i > {dir}/down\"]\n";
    let config = client_config("", &one_path("")).replace("[tun]\n", inside);
    let mut client = Daemon::spawn(&hosts.client, "client", &config);
    let status = client.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1), "{}", client.log());
    assert!(
        client
            .log()
            .contains("sh -c 'exit 3' failed: exit status: 3"),
        "{}",
        client.log()
    );
    let written = |name: &str| std::fs::read_to_string(client.folder.path().join(name));
    assert_eq!(written("up").expect("run"), "t0\n");
    assert_eq!(written("down").expect("undone"), "t0\n");
    assert_eq!(rules(&hosts), 0);
    let left = hosts.client.sh("ip -o link");
    assert!(!left.contains("t0"), "{left}");
}

/// A name has an address where nothing is, one that works, and later another one.
fn names_of_servers_are_resolved() {
    let Some(hosts) = Hosts::try_new("names_of_servers_are_resolved") else {
        return;
    };
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    let of = |name: &str, carrier: &str| {
        let path =
            format!("[[path]]\nname = \"a\"\nremote = \"{name}:6511\"\ncarrier = \"{carrier}\"\n");
        client_config("", &path)
    };
    for carrier in ["dccp", "tcp"] {
        // IPv6 is preferred, and nobody is there
        let names = "fd01::77 server.test\n10.1.0.1 server.test\n";
        let config = of("no-such-name.invalid", carrier);
        let client = Daemon::start_with_names(&hosts.client, "client", &config, names);
        wait_until("it is logged", || {
            client
                .log()
                .contains("no-such-name.invalid cannot be resolved")
        });
        assert_eq!(client.path(0)["remote"], "no-such-name.invalid:6511");
        client.reload(&of("server.test", carrier));
        client.wait_for_paths(1);
        assert_eq!(client.path(0)["remote"], "10.1.0.1:6511");
        // the server moves: the name is resolved again when its path is dead
        client.set_names("10.2.0.1 server.test\n");
        hosts.cut("a");
        wait_until("the path leads to the new address", || {
            let path = client.path(0);
            path["state"] == "up" && path["remote"] == "10.2.0.1:6511"
        });
        hosts.mend("a");
    }
}

/// The interface gets another address, and loses the first: the server follows.
fn a_client_goes_on_at_a_new_address() {
    let Some(hosts) = Hosts::try_new("a_client_goes_on_at_a_new_address") else {
        return;
    };
    hosts.shape("a", 100);
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    for (remote, old, new) in [
        ("10.1.0.1:6511", "10.1.0.2", "10.1.0.9"),
        ("[fd01::1]:6511", "fd01::2", "fd01::9"),
    ] {
        for carrier in ["dccp", "tcp"] {
            let path =
                one_path(&format!("carrier = \"{carrier}\"\n")).replace("10.1.0.1:6511", remote);
            let client = Daemon::start(&hosts.client, "client", &client_config("", &path));
            client.wait_for_paths(1);
            let length = if old.contains(':') { 64 } else { 24 };
            let exchange = |from: &str, to: &str| {
                let nodad = if length == 64 { "nodad" } else { "" };
                hosts.client.sh(&format!(
                    "ip address add {to}/{length} dev a {nodad}; ip address del {from}/{length} dev a; \
                     ip address replace {to}/{length} dev a {nodad}"
                ));
            };
            let address = format!("{SERVER}:5001");
            let bytes = 10_000_000;
            let _sender = serve(&hosts.server, &address, bytes);
            download(&hosts.client, &address, bytes, || exchange(old, new));
            // a TCP connection of before may be in the list a while longer
            let has_new = |status: Value| status["connections"].to_string().contains(new);
            wait_until("the server has the new address", || {
                has_new(server.status())
            });
            assert_eq!(client.log().matches("a new connection begins").count(), 0);
            drop(client);
            exchange(new, old);
        }
    }
}

fn each_carrier_takes_both_families_inside_and_outside() {
    let Some(hosts) = Hosts::try_new("each_carrier_takes_both_families_inside_and_outside") else {
        return;
    };
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    for remote in ["10.1.0.1:6511", "[fd01::1]:6511"] {
        for carrier in ["dccp", "tcp"] {
            let path =
                one_path(&format!("carrier = \"{carrier}\"\n")).replace("10.1.0.1:6511", remote);
            let client = Daemon::start(&hosts.client, "client", &client_config("", &path));
            client.wait_for_paths(1);
            for address in [format!("{SERVER}:5001"), format!("[{SERVER_V6}]:5001")] {
                let _sender = serve(&hosts.server, &address, 1_000_000);
                download(&hosts.client, &address, 1_000_000, || {});
            }
        }
    }
}
