//! Addresses that the ends signal to each other: MP_ADDADDR and MP_REMOVEADDR.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, client_config, download, serve, server_config, two_paths,
};
use serde_json::{Value, json};
use testing::wait_until;

pub const TESTS: &[Test] = &[
    (
        "paths_lead_to_addresses_that_the_server_announces",
        paths_lead_to_addresses_that_the_server_announces,
    ),
    (
        "an_interface_that_comes_and_goes_is_signalled",
        an_interface_that_comes_and_goes_is_signalled,
    ),
];

fn names(daemon: &Daemon) -> Vec<String> {
    let status = daemon.status();
    let paths = status["connections"][0]["paths"].as_array().cloned();
    let name = |path: &Value| path["name"].as_str().unwrap_or_default().to_owned();
    paths.unwrap_or_default().iter().map(name).collect()
}

/// The path is not bound to an interface: another one leads to the server's other address. It goes with the address.
fn paths_lead_to_addresses_that_the_server_announces() {
    let Some(hosts) = Hosts::try_new("paths_lead_to_addresses_that_the_server_announces") else {
        return;
    };
    let announcing = server_config("announce = [\"10.2.0.1:6511\"]");
    let server = Daemon::start(&hosts.server, "server", &announcing);
    let path = "[[path]]\nname = \"a\"\nremote = \"10.1.0.1:6511\"\n";
    let config = client_config("use-announced = true", path);
    let client = Daemon::start(&hosts.client, "client", &config);
    client.wait_for_paths(2);
    assert_eq!(names(&client), ["a", "a+1"]);
    let addresses = &client.status()["connections"][0]["peer_addresses"];
    assert_eq!(*addresses, json!({ "1": "10.2.0.1" }));
    // what it opened by itself is no change of its file
    client.reload(&config);
    wait_until("its file is read again", || {
        client.log().contains("0 changes of paths")
    });
    hosts.cut("a");
    let address = format!("{SERVER}:5001");
    let sender = serve(&hosts.server, &address, 1_000_000);
    download(&hosts.client, &address, 1_000_000, || {});
    sender.join().expect("it sent everything");
    hosts.mend("a");
    client.wait_for_paths(2);
    server.reload(&server_config(""));
    wait_until("its path is gone with the address", || {
        names(&client) == ["a"]
    });
    client.wait_for_paths(1);
    // a client that is not to use them is notified all the same
    server.reload(&announcing);
    wait_until("the address is there again", || names(&client).len() == 2);
    let idle = client_config("", path);
    drop(client);
    let client = Daemon::start(&hosts.client, "client", &idle);
    wait_until("the address is known", || {
        client.status()["connections"][0]["peer_addresses"] == json!({ "1": "10.2.0.1" })
    });
    assert_eq!(names(&client), ["a"]);
}

/// An interface that appears has its address announced with the path's join; when it is gone the server is notified by
/// the other path, and ends the path at once.
fn an_interface_that_comes_and_goes_is_signalled() {
    let Some(hosts) = Hosts::try_new("an_interface_that_comes_and_goes_is_signalled") else {
        return;
    };
    hosts.client.sh("ip link del dev b");
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &two_paths("")));
    client.wait_for_paths(1);
    let known = || server.status()["connections"][0]["peer_addresses"].clone();
    assert_eq!(known(), json!({}), "that of the first path needs no signal");
    for number in 1..=2 {
        hosts.join("b", 2);
        client.wait_for_paths(2);
        let expected = json!({ (number.to_string()): "10.2.0.2" });
        wait_until("the server knows the address", || known() == expected);
        hosts.client.sh("ip link del dev b");
        wait_until("the server knows that it is gone", || known() == json!({}));
        client.wait_for_paths(1);
        let up = |path: &&Value| path["state"] == "up";
        wait_until("the server has one path", || {
            let status = server.status();
            let paths = status["connections"][0]["paths"].as_array().cloned();
            paths.is_some_and(|paths| paths.iter().filter(up).count() == 1)
        });
    }
    assert_eq!(server.status()["accepted"], 1, "it is the same connection");
}
