//! Several paths: together, cut, added, removed, moved.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, SERVER_V6, client_config, download, emulated_or, one_path, serve,
    server_config, two_paths,
};
use serde_json::json;
use testing::wait_until;

pub const TESTS: &[Test] = &[
    (
        "one_path_carries_both_families",
        one_path_carries_both_families,
    ),
    ("two_paths_carry_one_flow", two_paths_carry_one_flow),
    (
        "paths_that_lose_packets_carry_one_flow",
        paths_that_lose_packets_carry_one_flow,
    ),
    ("a_path_is_cut_in_the_middle", a_path_is_cut_in_the_middle),
    (
        "paths_come_and_go_while_it_runs",
        paths_come_and_go_while_it_runs,
    ),
    (
        "tcp_carriers_work_with_each_controller",
        tcp_carriers_work_with_each_controller,
    ),
    (
        "a_path_goes_and_comes_back_with_its_link",
        a_path_goes_and_comes_back_with_its_link,
    ),
];

fn one_path_carries_both_families() {
    let Some(hosts) = Hosts::try_new("one_path_carries_both_families") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    let bytes = emulated_or(1_000_000, 20_000_000);
    for address in [format!("{SERVER}:5001"), format!("[{SERVER_V6}]:5001")] {
        let sender = serve(&hosts.server, &address, bytes);
        download(&hosts.client, &address, bytes, || {});
        sender.join().expect("it sent everything");
    }
    assert_eq!(server.status()["connections"][0]["peer"], "one");
    assert_eq!(client.status()["device"]["malformed"], 0);
}

/// The first wire is slow enough to be filled on any machine: the flow goes on over the second as well.
fn two_paths_carry_one_flow() {
    let Some(hosts) = Hosts::try_new("two_paths_carry_one_flow") else {
        return;
    };
    let rate = emulated_or(1, 10);
    hosts.shape("a", rate);
    hosts.shape("b", rate);
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &two_paths("")));
    client.wait_for_paths(2);
    let address = format!("{SERVER}:5001");
    let bytes = emulated_or(1_000_000, 10_000_000);
    let _sender = serve(&hosts.server, &address, bytes);
    download(&hosts.client, &address, bytes, || {});
    let received = |index: usize| client.path(index)["received_bytes"].as_u64();
    let received = [0, 1].map(|index| received(index).expect("a number"));
    // a path that only keeps itself alive receives some kB
    assert!(received.iter().all(|n| *n > 100_000), "{received:?}");
    assert!(received.iter().sum::<u64>() >= bytes as u64, "{received:?}");
}

/// Packets are lost, doubled and delayed so that they overtake each other: every byte arrives, in order.
fn paths_that_lose_packets_carry_one_flow() {
    let test = "paths_that_lose_packets_carry_one_flow";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    let faults = "netem delay 3ms 2ms loss 2% duplicate 1%";
    for (host, wire) in [
        (&hosts.client, "a"),
        (&hosts.server, "a"),
        (&hosts.server, "b"),
    ] {
        if !host.has_root_qdisc(test, wire, faults) {
            return;
        }
    }
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &two_paths("")));
    client.wait_for_paths(2);
    let address = format!("{SERVER}:5001");
    let bytes = emulated_or(1_000_000, 2_000_000);
    let sender = serve(&hosts.server, &address, bytes);
    download(&hosts.client, &address, bytes, || {});
    sender.join().expect("it sent everything");
    assert_eq!(client.status()["device"]["malformed"], 0);
    // "(dropped 12, overlimits 0 requeues 0)"
    let text = hosts
        .server
        .sh("tc -s qdisc show dev a root; tc -s qdisc show dev b root");
    let dropped = text.split("(dropped ").skip(1);
    let dropped = dropped.filter_map(|rest| rest.split(',').next()?.parse::<u64>().ok());
    assert!(dropped.sum::<u64>() > 0, "{text}");
}

fn a_path_is_cut_in_the_middle() {
    let Some(hosts) = Hosts::try_new("a_path_is_cut_in_the_middle") else {
        return;
    };
    hosts.shape("a", 50);
    hosts.shape("b", 50);
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &two_paths("")));
    client.wait_for_paths(2);
    let address = format!("{SERVER}:5001");
    let bytes = 50_000_000;
    let _sender = serve(&hosts.server, &address, bytes);
    download(&hosts.client, &address, bytes, || hosts.cut("a"));
    wait_until("the path is given up", || client.path(0)["state"] != "up");
    hosts.mend("a");
    client.wait_for_paths(2);
}

fn paths_come_and_go_while_it_runs() {
    let Some(hosts) = Hosts::try_new("paths_come_and_go_while_it_runs") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    let path = "b,interface=b,remote=10.2.0.1:6511,priority=standby";
    let add = json!({ "command": "path-add", "path": path });
    client.request(&add).expect("added");
    client.wait_for_paths(2);
    let again = client.request(&add).expect_err("there is one").to_string();
    assert!(again.contains("already"), "{again}");
    let raise = json!({ "command": "path-priority", "name": "b", "priority": "7" });
    client.request(&raise).expect("raised");
    wait_until("the server has the priority", || {
        server.path(1)["priority"] == 7
    });
    let remove = json!({ "command": "path-remove", "name": "a" });
    client.request(&remove).expect("removed");
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 5_000_000);
    download(&hosts.client, &address, 5_000_000, || {});
    client.wait_for_paths(1);
    let unknown = client.request(&remove).expect_err("it is gone").to_string();
    assert!(unknown.contains("there are b"), "{unknown}");
}

fn tcp_carriers_work_with_each_controller() {
    let Some(hosts) = Hosts::try_new("tcp_carriers_work_with_each_controller") else {
        return;
    };
    hosts.shape("a", 50);
    hosts.shape("b", 50);
    for controller in ["reno", "cubic", "bbr"] {
        let paths = two_paths(&format!(
            "carrier = \"tcp\"\ncontroller = \"{controller}\"\n"
        ));
        let _server = Daemon::start(&hosts.server, "server", &server_config(""));
        let client = Daemon::start(&hosts.client, "client", &client_config("", &paths));
        client.wait_for_paths(2);
        let address = format!("{SERVER}:5001");
        let bytes = emulated_or(1_000_000, 20_000_000);
        let _sender = serve(&hosts.server, &address, bytes);
        download(&hosts.client, &address, bytes, || {});
    }
}

/// Of times after which a socket is renewed none comes in this test: what the kernel notifies of the link alone ends
/// the path and brings it back.
fn a_path_goes_and_comes_back_with_its_link() {
    let Some(hosts) = Hosts::try_new("a_path_goes_and_comes_back_with_its_link") else {
        return;
    };
    let never = "\"3600 s\"";
    let never = format!(
        "[supervision]\nretry-interval = {never}\nrenew-after = {never}\nrenew-interval = {never}\n\
         connection-timeout = {never}\n"
    );
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    for carrier in ["dccp", "tcp"] {
        let paths = two_paths(&format!("carrier = \"{carrier}\"\n"));
        let paths = format!("{paths}{never}");
        let client = Daemon::start(&hosts.client, "client", &client_config("", &paths));
        client.wait_for_paths(2);
        let events = |kind: &str| client.status()["network"][kind].as_u64();
        // of a wire that was just joined addresses may still be notified
        let (down, up) = (events("link-down"), events("link-up"));
        assert_eq!(down, Some(0));
        hosts.client.sh("ip link set dev a down");
        wait_until("the path is given up", || client.path(0)["state"] != "up");
        assert_eq!(events("link-down"), Some(1));
        assert_eq!(client.path(1)["state"], "up", "the other is left alone");
        hosts.client.sh("ip link set dev a up");
        client.wait_for_paths(2);
        // routes are notified before the link, and may have brought the path back
        wait_until("the link is notified", || events("link-up") > up);
        // the next one of its name is another interface, to which no socket from before is bound
        hosts.client.sh("ip link delete dev a");
        wait_until("the path is given up", || client.path(0)["state"] != "up");
        assert_eq!(events("link-down"), Some(2));
        hosts.join("a", 1);
        client.wait_for_paths(2);
    }
}
