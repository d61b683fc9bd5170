//! What paths carry, found by probes: routers that report nothing, paths that change, large frames.

use crate::Test;
use crate::narrow::{by_router, pass, routed};
use crate::support::{
    Daemon, Hosts, Namespace, SERVER, client_config, download, one_path, serve, server_config,
    two_paths,
};
use serde_json::Value;
use testing::wait_until;

pub const TESTS: &[Test] = &[
    (
        "a_router_that_reports_nothing_is_found_out",
        a_router_that_reports_nothing_is_found_out,
    ),
    (
        "a_path_that_takes_less_while_a_download_runs_is_followed",
        a_path_that_takes_less_while_a_download_runs_is_followed,
    ),
    (
        "large_frames_are_used_on_all_paths",
        large_frames_are_used_on_all_paths,
    ),
    (
        "the_path_that_takes_least_counts",
        the_path_that_takes_least_counts,
    ),
    ("a_fixed_mtu_is_not_probed", a_fixed_mtu_is_not_probed),
];

/// What a packet inside has around it: MP-DCCP's header, encryption.
const AROUND: u64 = 6 + 21;

/// A router reports nothing of what it drops.
fn silence(router: &Namespace) {
    router.sh(
        "nft 'add table inet silent; add chain inet silent o { type filter hook output priority 0; }; \
         add rule inet silent o icmp type destination-unreachable counter drop; \
         add rule inet silent o icmpv6 type packet-too-big counter drop'",
    );
}

/// The MTU of a path is found.
fn is_found(path: &Value, mtu: u64) -> bool {
    path["path_mtu"] == mtu && path["path_mtu_state"] == "search-complete"
}

fn a_router_that_reports_nothing_is_found_out() {
    let Some(hosts) = Hosts::try_new("a_router_that_reports_nothing_is_found_out") else {
        return;
    };
    let router = routed(&hosts, 1_410);
    silence(&router);
    for (remote, outer, inside) in [
        ("10.3.2.1:6511", 28, ["10.99.0.1:5011", "10.99.0.2:5012"]),
        ("[fd32::1]:6511", 48, ["[fd99::1]:5013", "[fd99::2]:5014"]),
    ] {
        let server = Daemon::start(&hosts.server, "server", &server_config(""));
        let client = client_config("", &by_router(remote));
        let client = Daemon::start(&hosts.client, "client", &client);
        client.wait_for_paths(1);
        // the first download begins before the search is through, in either direction
        let _down = serve(&hosts.server, inside[0], 1_000_000);
        download(&hosts.client, inside[0], 1_000_000, || {});
        let _up = serve(&hosts.client, inside[1], 1_000_000);
        download(&hosts.server, inside[1], 1_000_000, || {});
        for end in [&client, &server] {
            wait_until("the MTU is found", || is_found(&end.path(0), 1_410));
            let path = end.path(0);
            assert!(path["mtu_probes"].as_u64() > Some(3), "{path}");
        }
        wait_until("the device follows", || {
            client.status()["device"]["mtu"] == 1_410 - outer - AROUND
        });
    }
    let silent = router.sh("nft list table inet silent");
    assert!(
        silent.contains("counter packets") && !silent.contains("error"),
        "{silent}"
    );
}

/// The download goes on where the path takes less than what was found, and nothing reports it.
fn a_path_that_takes_less_while_a_download_runs_is_followed() {
    let Some(hosts) = Hosts::try_new("a_path_that_takes_less_while_a_download_runs_is_followed")
    else {
        return;
    };
    let router = routed(&hosts, 1_500);
    silence(&router);
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = client_config("", &by_router("10.3.2.1:6511"));
    let client = Daemon::start(&hosts.client, "client", &client);
    client.wait_for_paths(1);
    wait_until("the MTU is found", || is_found(&server.path(0), 1_500));
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 20_000_000);
    download(&hosts.client, &address, 20_000_000, || pass(&router, 1_390));
    wait_until("the MTU is found again", || {
        is_found(&server.path(0), 1_390)
    });
    assert_eq!(server.path(0)["mtu_black_holes"], 1, "{}", server.path(0));
}

fn large_frames_are_used_on_all_paths() {
    let Some(hosts) = Hosts::try_new("large_frames_are_used_on_all_paths") else {
        return;
    };
    for host in [&hosts.client, &hosts.server] {
        host.sh("ip link set dev a mtu 9000; ip link set dev b mtu 9000");
    }
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &two_paths("")));
    client.wait_for_paths(2);
    for end in [&client, &server] {
        for path in [0, 1] {
            wait_until("the MTU is found", || is_found(&end.path(path), 9_000));
        }
        wait_until("the device follows", || {
            end.status()["device"]["mtu"] == 9_000 - 28 - AROUND
        });
    }
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 20_000_000);
    download(&hosts.client, &address, 20_000_000, || {});
    let packets = |key: &str| server.status()["device"][key].as_f64().expect("a number");
    let mean = packets("read_bytes") / packets("read_packets");
    assert!(mean > 4_000.0, "{mean} bytes a packet");
}

/// One of two paths takes less: packets inside are as it takes them, and go by both.
fn the_path_that_takes_least_counts() {
    let Some(hosts) = Hosts::try_new("the_path_that_takes_least_counts") else {
        return;
    };
    let router = routed(&hosts, 1_420);
    silence(&router);
    // how much goes by the second one is not up to how fast the machine is
    let scheduler = "scheduler = \"rr\"\n";
    let server = Daemon::start(&hosts.server, "server", &server_config(scheduler));
    let second = by_router("10.3.2.1:6511").replace("name = \"a\"", "name = \"mid\"");
    let paths = format!("{}{second}", one_path(""));
    let client = Daemon::start(&hosts.client, "client", &client_config(scheduler, &paths));
    client.wait_for_paths(2);
    for end in [&client, &server] {
        wait_until("both are found", || {
            let all = [end.path(0), end.path(1)];
            all.iter().any(|path| is_found(path, 1_500))
                && all.iter().any(|path| is_found(path, 1_420))
        });
    }
    wait_until("the device follows", || {
        client.status()["device"]["mtu"] == 1_420 - 28 - AROUND
    });
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 20_000_000);
    download(&hosts.client, &address, 20_000_000, || {});
    wait_until("both have carried it", || {
        (0..2).all(|path| client.path(path)["received_bytes"].as_u64() > Some(0))
    });
}

fn a_fixed_mtu_is_not_probed() {
    let Some(hosts) = Hosts::try_new("a_fixed_mtu_is_not_probed") else {
        return;
    };
    let server = server_config("path-mtu = 1400");
    let server = Daemon::start(&hosts.server, "server", &server);
    let path = one_path("path-mtu = 1400\n");
    let client = Daemon::start(&hosts.client, "client", &client_config("", &path));
    client.wait_for_paths(1);
    assert_eq!(client.status()["device"]["mtu"], 1_400 - 28 - AROUND);
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 1_000_000);
    download(&hosts.client, &address, 1_000_000, || {});
    for end in [&client, &server] {
        let path = end.path(0);
        assert_eq!(path["path_mtu"], 1_400, "{path}");
        assert_eq!(path["path_mtu_state"], "fixed", "{path}");
        assert_eq!(path["mtu_probes"], 0, "{path}");
    }
}
