//! Connections move between proxies on machines of their own, which show each other that they have their keys.

use crate::Test;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::traffic::{accept, connect, listen};
use crate::support::two::Two;
use crate::support::{client, server};
use keys::StaticKey;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use testing::{assert_pattern, pattern, wait_until};

pub const TESTS: &[Test] = &[
    (
        "connections_move_between_machines",
        connections_move_between_machines,
    ),
    (
        "who_does_not_show_its_key_takes_and_gives_nothing",
        who_does_not_show_its_key_takes_and_gives_nothing,
    ),
];

/// Where the proxy of this number listens.
fn address(i: usize) -> SocketAddr {
    SocketAddr::from(([10, 77, 0, i as u8 + 1], 7_404))
}

/// A proxy with its key, which accepts another's.
fn proxy(two: &Two, i: usize, own: &StaticKey, other: &StaticKey) -> Daemon {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("handover.key");
    own.write(&file).expect("written");
    let config = format!(
        "control = \"split\"\n{TRANSPARENT}\n[handover]\nlisten = \"tcp:{}\"\ntimeout = \"60 s\"\n\
         private-key-file = \"{}\"\n[[handover.peer]]\nname = \"other\"\naddress = \"tcp:{}\"\n\
         public-key = \"{}\"\n",
        address(i),
        file.display(),
        address(1 - i),
        other.public_text()
    );
    Daemon::start_in(&two.proxies[i], folder, &config, &[])
}

fn new_key() -> StaticKey {
    StaticKey::new().expect("randomness")
}

/// Bytes one way.
fn send(from: &TcpStream, to: &TcpStream, bytes: usize) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut from = from;
            from.write_all(&pattern(0, bytes)).expect("no reset");
        });
        let (mut to, mut got) = (to, vec![0; bytes]);
        to.read_exact(&mut got).expect("no reset");
        assert_pattern(0, &got);
    });
}

fn connections_move_between_machines() {
    let Some(two) = Two::try_new("connections_move_between_machines") else {
        return;
    };
    two.join();
    let keys = [new_key(), new_key()];
    let daemons = [0, 1].map(|i| proxy(&two, i, &keys[i], &keys[1 - i]));
    let at = SocketAddr::new(server(false), 5_201);
    let listener = listen(&two.server, at);
    let near = connect(&two.client, at).expect("connected");
    let (far, _) = accept(&listener);
    for n in 0..4 {
        // what waits is longer than a record
        let mut from = &far;
        from.write_all(&pattern(0, 100_000)).expect("sent");
        let socket = daemons[n % 2].path("pep.sock");
        let report = pep::move_connections(&socket, client(false), "other");
        let report = report.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report["moved"], 1, "{report}");
        two.route((n + 1) % 2);
        let (mut to, mut got) = (&near, vec![0; 100_000]);
        to.read_exact(&mut got).expect("no reset");
        assert_pattern(0, &got);
        send(&far, &near, 1_000_000);
        send(&near, &far, 1_000_000);
    }
    for daemon in &daemons {
        let handover = &daemon.status()["handover"];
        assert_eq!(handover["moved"], 2, "{handover}");
        assert_eq!(handover["adopted"], 2, "{handover}");
        assert_eq!(handover["peers_refused"], serde_json::json!({}));
    }
}

fn who_does_not_show_its_key_takes_and_gives_nothing() {
    let name = "who_does_not_show_its_key_takes_and_gives_nothing";
    let Some(two) = Two::try_new(name) else {
        return;
    };
    two.join();
    let (first_key, second_key) = (new_key(), new_key());
    // of which neither is the other's
    let first = proxy(&two, 0, &first_key, &second_key);
    let second = proxy(&two, 1, &second_key, &new_key());
    let at = SocketAddr::new(server(false), 5_201);
    let listener = listen(&two.server, at);
    let near = connect(&two.client, at).expect("connected");
    let (far, _) = accept(&listener);
    let move_it = |from: &Daemon| {
        let socket = from.path("pep.sock");
        let moved = pep::move_connections(&socket, client(false), "other");
        moved.expect_err("refused").to_string()
    };
    let refused = |daemon: &Daemon, why: &str, number: u64| {
        wait_until("it is counted", || {
            daemon.status()["handover"]["peers_refused"][why] == number
        });
    };
    assert!(move_it(&first).contains("tcp:10.77.0.2:7404"));
    refused(&second, "unproven", 1);
    // the first's key is not the one that the second speaks to
    assert!(move_it(&second).contains("tcp:10.77.0.1:7404"));
    refused(&first, "unproven", 1);
    let stranger = || connect(&two.proxies[0], address(1)).expect("connected");
    for (n, bytes) in [&[0, 5, 1, 2, 3, 4, 5][..], &[0xff, 0xff], &[0, 0]]
        .into_iter()
        .enumerate()
    {
        let mut stream = stranger();
        stream.write_all(bytes).expect("sent");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{rest:?}");
        refused(&second, "unproven", 2 + n as u64);
    }
    // who shows nothing has few places
    let silent: Vec<TcpStream> = (0..6).map(|_| stranger()).collect();
    refused(&second, "too_many", 2);
    drop(silent);
    refused(&second, "unproven", 8);
    send(&far, &near, 10_000);
    send(&near, &far, 10_000);
    assert_eq!(second.status()["handover"]["adopted"], 0);
}
