//! Changes of the configuration while both ends run: clients, keys, addresses; what cannot be used is refused whole.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, client_config, download, one_path, plain, serve, server_config,
};
use serde_json::{Value, json};
use testing::wait_until;

pub const TESTS: &[Test] = &[
    (
        "clients_come_and_go_without_a_restart",
        clients_come_and_go_without_a_restart,
    ),
    (
        "keys_are_exchanged_without_a_restart",
        keys_are_exchanged_without_a_restart,
    ),
    (
        "addresses_change_without_a_restart",
        addresses_change_without_a_restart,
    ),
    (
        "a_configuration_that_cannot_be_used_is_refused_whole",
        a_configuration_that_cannot_be_used_is_refused_whole,
    ),
];

const SECOND: &str = "[[client]]\nname = \"two\"\npublic-key = \"{two}\"\n\
                      addresses = [\"10.99.0.3/32\"]\n";

/// Without the first client.
fn without_one(config: &str) -> String {
    config[..config.find("[[client]]").expect("a client")].to_owned()
}

fn second_client() -> String {
    client_config("", &one_path(""))
        .replace("one.key", "two.key")
        .replace("t0", "t1")
        .replace("10.99.0.2/24", "10.99.0.3/32")
        .replace(", \"fd99::2/64\"", "")
}

fn peers(server: &Daemon) -> Vec<String> {
    let status = server.status();
    let all = status["connections"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut names: Vec<String> = all
        .iter()
        .filter(|connection| connection["established"] == true)
        .filter_map(|connection| connection["peer"].as_str().map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn reload(daemon: &Daemon) -> String {
    let done = daemon.request(&json!({ "command": "reload" }));
    let done = done.unwrap_or_else(|error| panic!("{error}: {}", daemon.log()));
    done["done"].as_str().expect("text").to_owned()
}

fn pass(hosts: &Hosts, bytes: usize) {
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, bytes);
    download(&hosts.client, &address, bytes, || {});
}

fn clients_come_and_go_without_a_restart() {
    let Some(hosts) = Hosts::try_new("clients_come_and_go_without_a_restart") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let one = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    one.wait_for_paths(1);
    let two = Daemon::start(&hosts.client, "client", &second_client());
    assert!(reload(&server).ends_with("no change"));
    server.write(&format!("{}{SECOND}", server_config("")));
    assert_eq!(reload(&server), "configuration reloaded: clients: 1 added");
    two.wait_for_paths(1);
    wait_until("both are connected", || peers(&server) == ["one", "two"]);
    pass(&hosts, 1_000_000);
    // the first goes; the second has another place in the file, and goes on
    server.write(&format!("{}{SECOND}", without_one(&server_config(""))));
    assert_eq!(
        reload(&server),
        "configuration reloaded: clients: 1 removed"
    );
    assert_eq!(peers(&server), ["two"]);
    wait_until("the first is notified", || {
        one.status()["connections"][0]["established"] == false
    });
    wait_until("it is refused", || {
        server.status()["refused"]["unknown-client"].as_u64() > Some(0)
    });
    // answers of this host's second client go back by its device
    hosts
        .client
        .sh("ip route add default dev t1 table 9; ip rule add from 10.99.0.3 table 9");
    hosts.server.sh("ping -c 2 -i 0.2 -w 60 10.99.0.3");
    assert!(
        !two.log().contains("a new connection begins"),
        "{}",
        two.log()
    );
    server.reload(&format!("{}{SECOND}", server_config("")));
    one.wait_for_paths(1);
    wait_until("both are connected", || peers(&server) == ["one", "two"]);
    assert_eq!(two.status()["connections"][0]["established"], true);
}

fn keys_are_exchanged_without_a_restart() {
    let Some(hosts) = Hosts::try_new("keys_are_exchanged_without_a_restart") else {
        return;
    };
    for carrier in ["", "carrier = \"tcp\"\n"] {
        let server = Daemon::start(&hosts.server, "server", &server_config(""));
        let config = client_config("", &one_path(carrier));
        let client = Daemon::start(&hosts.client, "client", &config);
        client.wait_for_paths(1);
        // the client's, at the server first: the old one is refused from then on
        server.write(&server_config("").replace("{one}", "{two}"));
        let done = reload(&server);
        assert_eq!(done, "configuration reloaded: clients: 1 with another key");
        assert!(peers(&server).is_empty());
        let config = config.replace("one.key", "two.key");
        client.write(&config);
        assert!(reload(&client).contains("keys"));
        client.wait_for_paths(1);
        // the server's, at the client first
        client.write(&config.replace("{server}", "{one}"));
        assert!(reload(&client).contains("keys"));
        let text = server_config("")
            .replace("{one}", "{two}")
            .replace("server.key", "one.key");
        server.write(&text);
        assert!(reload(&server).contains("private key"));
        client.wait_for_paths(1);
        wait_until("it is connected", || peers(&server) == ["one"]);
        pass(&hosts, 1_000_000);
    }
    // without encryption it is the shared secret, of the same file
    let server = Daemon::start(&hosts.server, "server", &plain(&server_config("")));
    let config = plain(&client_config("", &one_path("")));
    let client = Daemon::start(&hosts.client, "client", &config);
    client.wait_for_paths(1);
    for daemon in [&server, &client] {
        let folder = daemon.folder.path();
        std::fs::copy(folder.join("other"), folder.join("key")).expect("copied");
        assert!(reload(daemon).contains("key"));
    }
    client.wait_for_paths(1);
    wait_until("it is connected", || peers(&server) == ["one"]);
}

fn addresses_change_without_a_restart() {
    let Some(hosts) = Hosts::try_new("addresses_change_without_a_restart") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    let config = server_config("")
        .replace("10.99.0.2/32", "10.99.0.7/32")
        .replace("[tun]\n", "[tun]\nroutes = [\"10.77.0.0/16\"]\n");
    server.write(&config);
    let done = reload(&server);
    assert!(
        done.contains("1 with other addresses; addresses or routes"),
        "{done}"
    );
    let route = hosts.server.sh("ip route get 10.77.1.1");
    assert!(route.contains("dev t0"), "{route}");
    let config = client_config("", &one_path("")).replace("10.99.0.2/24", "10.99.0.7/24");
    client.write(&config);
    assert!(reload(&client).contains("addresses"));
    let addresses = hosts.client.sh("ip -4 -o address show dev t0");
    assert!(
        addresses.contains("10.99.0.7/24") && !addresses.contains("10.99.0.2"),
        "{addresses}"
    );
    hosts.client.sh("ping -c 2 -i 0.2 -w 60 10.99.0.1");
    assert_eq!(client.log().matches("a new connection begins").count(), 0);
    // where it listens
    let listen = "listen = [\"0.0.0.0:6511\", ";
    server.write(&config_of(
        &server,
        &[(listen, "listen = [\"0.0.0.0:6512\", ")],
    ));
    assert!(reload(&server).contains("2 addresses to listen at"));
    client.write(&config.replace("10.1.0.1:6511", "10.1.0.1:6512"));
    assert!(reload(&client).contains("2 changes of paths") || client.log().contains("6512"));
    client.wait_for_paths(1);
    wait_until("by the new socket", || {
        client.path(0)["remote"] == "10.1.0.1:6512"
    });
    pass(&hosts, 1_000_000);
}

/// The file as it is, with changes.
fn config_of(daemon: &Daemon, changes: &[(&str, &str)]) -> String {
    let file = daemon.folder.path().join("tunnel.toml");
    let mut text = std::fs::read_to_string(file).expect("read");
    for (from, to) in changes {
        assert!(text.contains(from), "{from} in {text}");
        text = text.replace(from, to);
    }
    text
}

fn a_configuration_that_cannot_be_used_is_refused_whole() {
    let Some(hosts) = Hosts::try_new("a_configuration_that_cannot_be_used_is_refused_whole") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    let refuse = |daemon: &Daemon, config: &str, part: &str| {
        daemon.write(config);
        let error = daemon.request(&json!({ "command": "reload" }));
        let error = error.expect_err(part).to_string();
        assert!(error.contains(part), "{part:?}: {error}");
        wait_until("it is in the log", || daemon.log().contains(part));
    };
    let good = server_config("");
    let with_two = format!("{good}{SECOND}");
    for (config, part) in [
        (format!("{with_two}nothing = 1\n"), "nothing"),
        (format!("{with_two}{SECOND}"), "there are two clients"),
        (with_two.replace("server.key", "none.key"), "none.key"),
        (
            with_two.replace("\"t0\"", "\"t9\""),
            "[tun] name cannot change",
        ),
        (
            with_two.replace("[\"0.0.0.0:6511\"", "[\"192.0.2.77:6511\""),
            "cannot listen at 192.0.2.77",
        ),
        (
            // of two routes the second cannot be
            with_two.replace(
                "[tun]\n",
                "[tun]\nroutes = [\"10.77.0.0/16\", \"10.78.1.1/16\"]\n",
            ),
            "ip route replace 10.78.1.1/16",
        ),
    ] {
        refuse(&server, &config, part);
    }
    assert_eq!(server.log().matches("not hearing any more").count(), 0);
    let route = hosts.server.sh("ip route show dev t0");
    assert!(!route.contains("10.77"), "{route}");
    let config = client_config("", &one_path(""));
    refuse(
        &client,
        &config.replace("t0", "t9"),
        "[tun] name cannot change",
    );
    let pathless = &config[..config.find("[[path]]").expect("a path")];
    refuse(&client, pathless, "no path");
    // the second client is not there, the first goes on
    let two = Daemon::start(&hosts.client, "client", &second_client());
    wait_until("the second is refused", || {
        server.status()["refused"]["unknown-client"].as_u64() > Some(0)
    });
    drop(two);
    pass(&hosts, 1_000_000);
    let connections = server.status()["connections"].as_array().map(Vec::len);
    assert_eq!(connections, Some(1));
    assert_eq!(client.log().matches("a new connection begins").count(), 0);
    assert_eq!(
        client.status()["connections"][0]["established"],
        Value::Bool(true)
    );
}
