//! Encryption between real ends: what is on the wire, and what an attacker on the path can do with it.

use crate::Test;
use crate::support::{
    Daemon, Hosts, Namespace, SERVER, client_config, download, one_path, plain, serve,
    server_config, two_paths,
};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testing::wait_until;

pub const TESTS: &[Test] = &[
    ("packets_are_encrypted", packets_are_encrypted),
    (
        "what_an_attacker_on_the_path_makes_is_refused",
        what_an_attacker_on_the_path_makes_is_refused,
    ),
    ("keys_change_under_traffic", keys_change_under_traffic),
    (
        "encryption_is_the_same_at_both_ends_or_refused",
        encryption_is_the_same_at_both_ends_or_refused,
    ),
    (
        "a_shared_secret_that_differs_is_refused",
        a_shared_secret_that_differs_is_refused,
    ),
    (
        "an_encrypted_server_that_was_killed_is_found",
        an_encrypted_server_that_was_killed_is_found,
    ),
];

/// A host on the path: it passes datagrams on, and keeps them.
struct Middle {
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
    to_server: UdpSocket,
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

const MIDDLE: &str = "127.0.0.1:7000";
const PORT: &str = "10.1.0.1:6511";

impl Middle {
    fn new(host: &Namespace) -> Self {
        let (to_client, to_server) = host.enter(|| {
            let bind = |at: &str| UdpSocket::bind(at).expect("bound");
            (bind(MIDDLE), bind("10.1.0.2:0"))
        });
        for socket in [&to_client, &to_server] {
            let timeout = Some(Duration::from_millis(1));
            socket.set_read_timeout(timeout).expect("set");
        }
        to_server.connect(PORT).expect("connected");
        let kept = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (keeps, ends) = (Arc::clone(&kept), Arc::clone(&is_over));
        let server = to_server.try_clone().expect("a socket");
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            let mut client: Option<SocketAddr> = None;
            while !ends.load(Ordering::Relaxed) {
                while let Ok((n, from)) = to_client.recv_from(&mut buffer) {
                    client = Some(from);
                    keeps.lock().expect("whole").push(buffer[..n].to_vec());
                    // lost where nothing listens
                    let _ = server.send(&buffer[..n]);
                }
                while let Ok(n) = server.recv(&mut buffer) {
                    keeps.lock().expect("whole").push(buffer[..n].to_vec());
                    if let Some(client) = client {
                        let _ = to_client.send_to(&buffer[..n], client);
                    }
                }
            }
        });
        Self {
            kept,
            to_server,
            is_over,
            thread: Some(thread),
        }
    }

    fn kept(&self) -> Vec<Vec<u8>> {
        self.kept.lock().expect("whole").clone()
    }
}

impl Drop for Middle {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A client whose path leads through the middle.
fn through_the_middle() -> String {
    let path = format!("[[path]]\nname = \"a\"\nremote = \"{MIDDLE}\"\n");
    client_config("", &path).replace("[tun]\n", "[tun]\nmtu = 1300\n")
}

fn refused(daemon: &Daemon, reason: &str) -> u64 {
    let status = daemon.status();
    let count = status["refused"].get(reason).and_then(Value::as_u64);
    count.unwrap_or_else(|| panic!("no {reason:?} in {status}"))
}

/// Sends datagrams inside until the middle has seen so many.
fn send_inside(host: &Namespace, middle: &Middle, text: &[u8]) {
    let socket = host.enter(|| UdpSocket::bind("10.99.0.2:0").expect("bound"));
    let before = middle.kept().len();
    wait_until("packets pass", || {
        let _ = socket.send_to(text, format!("{SERVER}:9"));
        middle.kept().len() > before + 20
    });
}

fn packets_are_encrypted() {
    let Some(hosts) = Hosts::try_new("packets_are_encrypted") else {
        return;
    };
    let text = b"nobody but the two ends reads this";
    let is_there = |datagram: &Vec<u8>| datagram.windows(text.len()).any(|part| part == text);
    for (is_plain, server, client) in [
        (false, server_config(""), through_the_middle()),
        (
            true,
            plain(&server_config("")),
            plain(&through_the_middle()),
        ),
    ] {
        let server = Daemon::start(&hosts.server, "server", &server);
        let middle = Middle::new(&hosts.client);
        let client = Daemon::start(&hosts.client, "client", &client);
        client.wait_for_paths(1);
        send_inside(&hosts.client, &middle, text);
        assert_eq!(middle.kept().iter().any(is_there), is_plain);
        assert_eq!(client.path(0)["cipher"].is_string(), !is_plain);
        assert_eq!(server.path(0)["cipher"].is_string(), !is_plain);
    }
}

fn what_an_attacker_on_the_path_makes_is_refused() {
    let Some(hosts) = Hosts::try_new("what_an_attacker_on_the_path_makes_is_refused") else {
        return;
    };
    let metrics = "[metrics]\nlisten = \"127.0.0.1:9466\"\n";
    let config = format!("{}{metrics}", server_config(""));
    let server = Daemon::start(&hosts.server, "server", &config);
    let middle = Middle::new(&hosts.client);
    let client = Daemon::start(&hosts.client, "client", &through_the_middle());
    client.wait_for_paths(1);
    send_inside(&hosts.client, &middle, b"some packet");
    let kept = middle.kept();
    let init = kept.iter().find(|one| one[0] == 1).expect("an Init");
    // of the present session: on a busy machine there may be another by now
    let packet = || {
        send_inside(&hosts.client, &middle, b"some packet");
        let kept = middle.kept();
        let data = kept
            .iter()
            .rev()
            .find(|one| one[0] & 0x80 != 0 && one.len() > 60);
        data.expect("a packet").clone()
    };
    let attack = |reason: &str, datagram: &dyn Fn() -> Vec<u8>| {
        let before = refused(&server, reason);
        wait_until(reason, || {
            middle.to_server.send(&datagram()).expect("sent");
            refused(&server, reason) > before
        });
    };
    let changed = |of: &[u8], at: usize, bits: u8| {
        let mut changed = of.to_vec();
        changed[at] ^= bits;
        changed
    };
    attack("replayed", &|| init.clone());
    // another number
    attack("forged", &|| changed(&changed(&packet(), 4, 0x80), 3, 0x10));
    attack("malformed", &|| packet()[..20].to_vec());
    attack("unknown-session", &|| changed(&packet(), 1, 0x55));
    attack("version", &|| changed(init, 1, init[1] ^ 1));
    assert!(!client.log().contains("path down"), "{}", client.log());
    assert_eq!(
        server.status()["connections"].as_array().map(Vec::len),
        Some(1)
    );
    // the same in what Prometheus reads
    let mut page = String::new();
    hosts.server.enter(|| {
        let mut stream = TcpStream::connect("127.0.0.1:9466").expect("connected");
        let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
        stream.write_all(request).expect("sent");
        stream.read_to_string(&mut page).expect("an answer");
    });
    for reason in [
        "replayed",
        "forged",
        "malformed",
        "unknown-session",
        "version",
    ] {
        let name = format!("brimful_tunnel_refused_total{{reason=\"{reason}\"}} ");
        let count = page.lines().find_map(|line| line.strip_prefix(&name));
        let count: u64 = count.expect("it is counted").parse().expect("a number");
        assert!(count > 0, "{reason}");
    }
}

/// New keys every second or so, on a path of UDP and one of TCP: every byte arrives.
fn keys_change_under_traffic() {
    let Some(hosts) = Hosts::try_new("keys_change_under_traffic") else {
        return;
    };
    let more = "rekey-after = \"1 s\"";
    let _server = Daemon::start(&hosts.server, "server", &server_config(more));
    let paths = two_paths("").replace(
        "priority = \"secondary\"\n",
        "priority = \"secondary\"\ncarrier = \"tcp\"\n",
    );
    let client = Daemon::start(&hosts.client, "client", &client_config(more, &paths));
    client.wait_for_paths(2);
    let sessions = |index: usize| client.path(index)["sessions"].as_u64().unwrap_or(0);
    let address = format!("{SERVER}:5001");
    let mut count = 0;
    while sessions(0) < 3 || sessions(1) < 3 {
        let _sender = serve(&hosts.server, &address, 2_000_000);
        download(&hosts.client, &address, 2_000_000, || {});
        count += 1;
        assert!(count < 10_000, "keys do not change");
    }
    assert!(!client.log().contains("path down"), "{}", client.log());
}

fn encryption_is_the_same_at_both_ends_or_refused() {
    let Some(hosts) = Hosts::try_new("encryption_is_the_same_at_both_ends_or_refused") else {
        return;
    };
    let tcp = one_path("carrier = \"tcp\"\n");
    for paths in [one_path(""), tcp] {
        let client = client_config("", &paths);
        for (server, client, at_server, at_client) in [
            (
                server_config(""),
                plain(&client),
                "does not encrypt, and this end does",
                "does not take packets that are not encrypted",
            ),
            (
                plain(&server_config("")),
                client.clone(),
                "encrypts, and this end does not",
                "states that it does not encrypt",
            ),
        ] {
            let server = Daemon::start(&hosts.server, "server", &server);
            let client = Daemon::start(&hosts.client, "client", &client);
            wait_until(at_server, || server.log().contains(at_server));
            wait_until(at_client, || client.log().contains(at_client));
            assert_eq!(client.status()["connections"][0]["established"], false);
        }
    }
}

fn a_shared_secret_that_differs_is_refused() {
    let Some(hosts) = Hosts::try_new("a_shared_secret_that_differs_is_refused") else {
        return;
    };
    let with = |config: &str, key: &str| {
        let line = format!("key-file = \"{{dir}}/{key}\"\n");
        config
            .replace("public-key", &format!("{line}public-key"))
            .replace("# client\n", &line)
    };
    let server = with(&server_config(""), "key");
    let _server = Daemon::start(&hosts.server, "server", &server);
    let client = client_config("", &one_path(""));
    let wrong = Daemon::start(&hosts.client, "client", &with(&client, "other"));
    wait_until("the answer does not verify", || {
        refused(&wrong, "forged") > 0
    });
    assert_eq!(wrong.status()["connections"][0]["established"], false);
    drop(wrong);
    let right = Daemon::start(&hosts.client, "client", &with(&client, "key"));
    right.wait_for_paths(1);
}

fn an_encrypted_server_that_was_killed_is_found() {
    let Some(hosts) = Hosts::try_new("an_encrypted_server_that_was_killed_is_found") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &two_paths("")));
    client.wait_for_paths(2);
    server.signal(rustix::process::Signal::KILL);
    drop(server);
    let _server = Daemon::start(&hosts.server, "server", &server_config(""));
    wait_until("new keys", || {
        client.path(0)["sessions"].as_u64().is_some_and(|n| n >= 2)
    });
    client.wait_for_paths(2);
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 1_000_000);
    download(&hosts.client, &address, 1_000_000, || {});
}
