//! Transfers that are refused, and proxies that die in one.

use super::echo;
use crate::Test;
use crate::support::daemon::Daemon;
use crate::support::traffic::{accept, connect, listen};
use crate::support::two::Two;
use crate::support::{client, server};
use relocation::{Ahead, Message, Outcome, Towards, Way};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use testing::wait_until;

pub const TESTS: &[Test] = &[
    (
        "a_proxy_that_dies_in_a_transfer_leaves_no_connection_hanging",
        a_proxy_that_dies_in_a_transfer_leaves_no_connection_hanging,
    ),
    (
        "a_transfer_that_is_refused_changes_nothing",
        a_transfer_that_is_refused_changes_nothing,
    ),
];

/// The messages of a transfer of one connection on which nothing waits, by whether they go to the target.
const MESSAGES: [(&str, bool); 13] = [
    ("Offer", true),
    ("Accept", false),
    // of each direction one as it runs, and one as nothing is read any more
    ("Ahead", true),
    ("Ahead", true),
    ("Ahead", true),
    ("Ahead", true),
    ("Rest", true),
    ("End", true),
    ("Ready", false),
    ("Commit", true),
    ("Routed", false),
    // nothing has come late
    ("Over", true),
    ("Done", false),
];
const COMMIT: usize = 9;
const DONE: usize = 12;

/// A message as it comes.
fn take(from: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    from.read_exact(&mut bytes)?;
    let length = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    bytes.resize(4 + length, 0);
    from.read_exact(&mut bytes[4..])?;
    Ok(bytes)
}

/// Passes messages between both proxies on until that of this number has been sent, which `at` is given with.
fn pass(between: &Path, target: &Path, number: usize, at: impl FnOnce(&mut UnixStream, &[u8])) {
    let listener = UnixListener::bind(between).expect("a socket");
    let (mut source, _) = listener.accept().expect("a transfer");
    let mut target = UnixStream::connect(target).expect("it listens");
    for (n, (name, is_to_target)) in MESSAGES.iter().enumerate() {
        let (from, to) = match is_to_target {
            true => (&mut source, &mut target),
            false => (&mut target, &mut source),
        };
        let message = take(from).expect("a message");
        let decoded = Message::decode(&message[4..]).expect("a message");
        assert!(format!("{decoded:?}").starts_with(name), "{decoded:?}");
        if n == number {
            at(to, &message);
            return;
        }
        to.write_all(&message).expect("passed on");
    }
}

/// Of which both ends see that it is over.
fn assert_reset(streams: [&mut TcpStream; 2]) {
    for stream in streams {
        let read = stream.read(&mut [0]);
        let error = read.expect_err("a reset");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    }
}

/// Of which both ends see that it is over, also if they have read why.
fn assert_over(streams: [&mut TcpStream; 2]) {
    for stream in streams {
        let mut rest = Vec::new();
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
        }
    }
}

fn a_proxy_that_dies_in_a_transfer_leaves_no_connection_hanging() {
    let name = "a_proxy_that_dies_in_a_transfer_leaves_no_connection_hanging";
    let Some(two) = Two::try_new(name) else {
        return;
    };
    for (number, (message, is_to_target)) in MESSAGES.iter().enumerate() {
        for dies in 0..2 {
            eprintln!("proxy {dies} dies as {message} is on its way");
            two.route(0);
            let folder = tempfile::tempdir().expect("a folder");
            let path = |name: &str| folder.path().join(name);
            let first = two.proxy(0, &path("first"), &path("between"), "");
            let second = two.proxy(1, &path("second"), &path("first"), "");
            let address = SocketAddr::new(server(false), 5_201);
            let listener = listen(&two.server, address);
            let mut near = connect(&two.client, address).expect("connected");
            let (mut far, _) = accept(&listener);
            echo(&mut near, &mut far).expect("it works");
            let socket = first.path("pep.sock");
            let (between, second_at) = (path("between"), path("second"));
            let kills = [&first, &second];
            std::thread::scope(|scope| {
                let passing = scope.spawn(move || {
                    pass(&between, &second_at, number, |to, bytes| {
                        kills[dies].signal(Signal::KILL);
                        wait_for_death(kills[dies]);
                        // what a process has sent arrives although it is dead
                        if *is_to_target && dies == 0 || !is_to_target && dies == 1 {
                            let _ = to.write_all(bytes);
                        }
                    });
                });
                wait_until("the transfer can begin", || path("between").exists());
                let moved = pep::move_connections(&socket, client(false), "other");
                passing.join().expect("no panic");
                let is_through = number == DONE && dies == 1;
                assert_eq!(moved.is_ok(), is_through, "{moved:?}");
            });
            // a proxy that has got Ready cannot know how far the other has come
            let is_committed = number >= COMMIT - dies;
            match (dies, is_committed) {
                // the second has it; or the kernel of the first, whose sockets were not silent yet, has reset it
                (0, true) => {
                    two.route(1);
                    if echo(&mut near, &mut far).is_err() {
                        assert_over([&mut near, &mut far]);
                    }
                }
                (0, false) | (_, true) => assert_reset([&mut near, &mut far]),
                (_, false) => echo(&mut near, &mut far).expect("it stays"),
            }
        }
    }
}

fn wait_for_death(daemon: &Daemon) {
    let stat = format!("/proc/{}/stat", daemon.child.id());
    wait_until("it is dead", || {
        let text = std::fs::read_to_string(&stat).unwrap_or_default();
        text.is_empty() || text.contains(") Z ")
    });
}

/// A conversation that begins with these messages, and the first answer. The place of the one before is given back a moment after
/// its end was sent: until then the proxy is busy.
fn offered(at: &Path, messages: &[Message]) -> (UnixStream, Message) {
    let sent: Vec<u8> = messages.iter().flat_map(Message::encode).collect();
    loop {
        let mut stream = UnixStream::connect(at).expect("it listens");
        // a proxy that is busy closes without reading it all
        let _ = stream.write_all(&sent);
        let answer = take(&mut stream).expect("an answer");
        match Message::decode(&answer[4..]).expect("a message") {
            Message::Refuse(Outcome::Busy) => {}
            answer => return (stream, answer),
        }
    }
}

fn a_transfer_that_is_refused_changes_nothing() {
    let Some(two) = Two::try_new("a_transfer_that_is_refused_changes_nothing") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = [folder.path().join("first"), folder.path().join("second")];
    let first = two.proxy(0, &at[0], &at[1], "");
    let address = SocketAddr::new(server(false), 5_201);
    let listener = listen(&two.server, address);
    let mut near = connect(&two.client, address).expect("connected");
    let (mut far, _) = accept(&listener);
    let socket = first.path("pep.sock");
    let error = |to: &str| {
        let moved = pep::move_connections(&socket, client(false), to);
        moved.expect_err("refused").to_string()
    };
    assert!(error("nobody").contains("no peer \"nobody\", but other"));
    assert!(error("other").contains("second"), "no proxy listens there");
    let more = "[limits]\nconnections = 1000\nconnections-per-ue = 1\n";
    let second = two.proxy(1, &at[1], &at[0], more);
    let mut more = connect(&two.client, address).expect("connected");
    let (mut more_far, _) = accept(&listener);
    echo(&mut more, &mut more_far).expect("it is relayed");
    assert!(error("other").contains("no_room"));
    // what is no message ends a conversation and nothing else
    let mut garbage = UnixStream::connect(&at[1]).expect("it listens");
    garbage.write_all(&[0, 0, 0, 1, 77]).expect("sent");
    assert_eq!(garbage.read(&mut [0]).expect("the end"), 0);
    let later = relocation::VERSION + 1;
    for (version, why) in [
        (relocation::OLDEST, Outcome::ForeignUe),
        (relocation::VERSION, Outcome::ForeignUe),
        (later, Outcome::Version),
    ] {
        let offer = Message::Offer {
            version,
            ue: [192, 0, 2, 1].into(),
            flows: 1,
        };
        assert_eq!(offered(&at[1], &[offer]).1, Message::Refuse(why));
    }
    // what comes ahead and does not follow ends the conversation
    let ends = [client(false), server(false)].map(|ip| SocketAddr::new(ip, 5));
    let messages = [
        Message::Offer {
            version: relocation::VERSION,
            ue: client(false),
            flows: 1,
        },
        Message::Ahead(Box::new(Ahead {
            way: Way {
                client: ends[0],
                server: ends[1],
                towards: Towards::Ue,
            },
            at: 1,
            acknowledged: 0,
            bytes: vec![1; 10],
        })),
    ];
    let (mut ahead, accepted) = offered(&at[1], &messages);
    assert_eq!(accepted, Message::Accept);
    let answer = take(&mut ahead).expect("an answer");
    assert_eq!(Message::decode(&answer[4..]), Ok(Message::Abort));
    echo(&mut near, &mut far).expect("it goes on");
    echo(&mut more, &mut more_far).expect("it goes on");
    assert_eq!(second.status()["handover"]["adopted"], 0);
}
