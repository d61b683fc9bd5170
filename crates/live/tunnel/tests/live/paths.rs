//! Several paths: together, cut, added, removed, moved.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, SERVER_V6, client_config, download, one_path, serve, server_config,
    two_paths,
};
use serde_json::json;

pub const TESTS: &[Test] = &[
    (
        "one_path_carries_both_families",
        one_path_carries_both_families,
    ),
    ("two_paths_carry_one_flow", two_paths_carry_one_flow),
    ("a_path_is_cut_in_the_middle", a_path_is_cut_in_the_middle),
    (
        "paths_come_and_go_while_it_runs",
        paths_come_and_go_while_it_runs,
    ),
    ("tcp_carriers", tcp_carriers),
];

fn one_path_carries_both_families() {
    let Some(hosts) = Hosts::try_new("one_path_carries_both_families") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    for address in [format!("{SERVER}:5001"), format!("[{SERVER_V6}]:5001")] {
        let sender = serve(&hosts.server, &address, 20_000_000);
        let got = download(&hosts.client, &address, 20_000_000, || {});
        println!("{address}: {:.0} Mbit/s", got.mbps);
        sender.join().expect("it sent everything");
    }
    assert_eq!(server.status()["connections"][0]["peer"], "one");
    assert_eq!(client.status()["device"]["malformed"], 0);
}

/// 1,424 of 1,500 bytes of each packet are the inner packet's, and 1,372 of those TCP's payload: of
/// two wires of 50 Mbit/s at most 91.5 Mbit/s can arrive.
fn two_paths_carry_one_flow() {
    let Some(hosts) = Hosts::try_new("two_paths_carry_one_flow") else {
        return;
    };
    hosts.shape("a", 50);
    hosts.shape("b", 50);
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &two_paths("")));
    client.wait_for_paths(2);
    let address = format!("{SERVER}:5001");
    let bytes = 80_000_000;
    let _sender = serve(&hosts.server, &address, bytes);
    let got = download(&hosts.client, &address, bytes, || {});
    println!("two paths of 50 Mbit/s: {:.1} Mbit/s", got.mbps);
    assert!((82.0..=92.0).contains(&got.mbps), "{:.1} Mbit/s", got.mbps);
    for index in 0..2 {
        let received = client.path(index)["received_bytes"]
            .as_u64()
            .expect("a number");
        assert!(
            received > bytes as u64 / 3,
            "path {index}: {received} bytes"
        );
    }
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
    let got = download(&hosts.client, &address, bytes, || hosts.cut("a"));
    println!("cut: {:.1} Mbit/s, longest gap {:?}", got.mbps, got.gap);
    assert!(
        got.gap.as_secs_f64() < 1.5,
        "nothing came for {:?}",
        got.gap
    );
    client.wait_until("the path is given up", || client.path(0)["state"] != "up");
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
    client.ask(&add).expect("added");
    client.wait_for_paths(2);
    let again = client.ask(&add).expect_err("there is one").to_string();
    assert!(again.contains("already"), "{again}");
    let raise = json!({ "command": "path-priority", "name": "b", "priority": "7" });
    client.ask(&raise).expect("raised");
    server.wait_until("the server knows", || server.path(1)["priority"] == 7);
    let remove = json!({ "command": "path-remove", "name": "a" });
    client.ask(&remove).expect("removed");
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 5_000_000);
    download(&hosts.client, &address, 5_000_000, || {});
    client.wait_for_paths(1);
    let unknown = client.ask(&remove).expect_err("it is gone").to_string();
    assert!(unknown.contains("there are b"), "{unknown}");
}

fn tcp_carriers() {
    let Some(hosts) = Hosts::try_new("tcp_carriers") else {
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
        let bytes = 30_000_000;
        let _sender = serve(&hosts.server, &address, bytes);
        let got = download(&hosts.client, &address, bytes, || {});
        println!("TCP carriers with {controller}: {:.1} Mbit/s", got.mbps);
        assert!(
            (50.0..=93.0).contains(&got.mbps),
            "{controller}: {:.1} Mbit/s",
            got.mbps
        );
    }
}
