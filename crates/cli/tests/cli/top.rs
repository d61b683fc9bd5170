//! `brimful top`, on a real server's values.

use super::Place;
use dash::{About, Access, Dash, Feed, Kind, Server, Source, World};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use testing::{HANG_LIMIT, wait_until};

/// A served flow of a UE, and what keeps it there.
fn serve() -> (Feed, SocketAddr) {
    let feed = Feed::new(About {
        title: "a drive".into(),
        world: World::Sim,
        source: Source::Run,
    });
    let dash = Dash::live(feed.clone(), Access::new(None, Vec::new()));
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Server::bind(any, dash).expect("a port");
    let address = server.address();
    server.spawn().expect("a thread");
    let mut round = feed.round(1.5);
    round.describe("bulk", "cubic");
    let phone = Some("phone");
    round.put(Kind::Flow, "bulk", phone, "goodput_bps", 12.34e6);
    round.put(Kind::Flow, "bulk", phone, "rtt_ms", 45.6);
    round.put(Kind::Cell, "cell", None, "capacity_bps", 75e6);
    round.finish();
    (feed, address)
}

#[test]
fn once_prints_one_table() {
    let (_feed, address) = serve();
    let place = Place::new();
    let url = format!("http://{address}/dash/");
    let run = place.run(&["top", &url, "--once"]).succeeded();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], "a drive  sim/run  1.5 s");
    assert_eq!(lines[1], "cell 75.0 Mbit/s");
    assert!(lines[2].starts_with("flow"), "{run:?}");
    for word in ["bulk", "phone", "cubic", "12.3 Mbit/s", "45.6 ms"] {
        assert!(lines[3].contains(word), "no {word}: {run:?}");
    }
    assert_eq!((lines.len(), run.stderr.as_str()), (4, ""), "{run:?}");
}

#[test]
fn what_cannot_be_shown_is_named() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let unused = listener.local_addr().expect("an address").to_string();
    drop(listener);
    for (arguments, code, message) in [
        (&["top", &unused, "--once"][..], 1, unused.as_str()),
        (&["top", "https://lab7", "--once"], 2, "ssh -L"),
        (&["top", &unused], 2, "needs a terminal"),
        (
            &["top", &unused, "--once", "--token-file", "none"],
            2,
            "none: cannot be read",
        ),
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(code), "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {run:?}");
        assert_eq!(run.stdout, "");
    }
}

/// What a program writes, as it comes.
fn written(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = vec![0; 4_096];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            if sender.send(bytes[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

#[test]
fn a_key_ends_it_and_the_terminal_is_as_it_was() {
    let (_feed, address) = serve();
    let program = env!("CARGO_BIN_EXE_brimful");
    for key in ["q", "\u{3}"] {
        let command = format!("stty cols 80 rows 24; exec '{program}' top {address}");
        let mut terminal = Command::new("script")
            .args(["-q", "-e", "-c", &command, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script, of the package bsdutils");
        let mut keys = terminal.stdin.take().expect("a pipe");
        let output = written(terminal.stdout.take().expect("a pipe"));
        let (mut screen, mut is_pressed) = (String::new(), false);
        let until = Instant::now() + HANG_LIMIT;
        while let Ok(bytes) = output.recv_timeout(until.saturating_duration_since(Instant::now())) {
            screen.push_str(&String::from_utf8_lossy(&bytes));
            if screen.contains("bulk") && !is_pressed {
                is_pressed = true;
                keys.write_all(key.as_bytes()).expect("it listens");
            }
        }
        assert!(is_pressed, "no flow in {HANG_LIMIT:?}: {screen:?}");
        if terminal.try_wait().expect("a child").is_none() && Instant::now() >= until {
            let _ = terminal.kill();
        }
        let code = terminal.wait().expect("an end").code();
        assert_eq!(code, Some(0), "{screen:?}");
        let begun = screen.find("\u{1b}[?1049h").expect("another screen");
        let ended = screen.rfind("\u{1b}[?1049l").expect("the screen as it was");
        assert!(begun < ended, "{screen:?}");
    }
}

/// Kills a process, which may have ended already.
struct KillAtEnd<'a>(&'a str);

impl Drop for KillAtEnd<'_> {
    fn drop(&mut self) {
        if Path::new("/proc").join(self.0).join("exe").exists() {
            let _ = Command::new("kill").args(["-9", self.0]).status();
        }
    }
}

/// As a lost ssh session leaves it: the terminal hangs up, and reads from it give nothing for ever.
#[test]
fn it_ends_with_its_terminal() {
    let (_feed, address) = serve();
    let place = Place::new();
    let note = place.path("pid");
    let program = env!("CARGO_BIN_EXE_brimful");
    let command = format!(
        "stty cols 80 rows 24; echo $$ >'{}'; exec '{program}' top {address}",
        note.display()
    );
    let mut terminal = Command::new("script")
        .args(["-q", "-c", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script, of the package bsdutils");
    let output = written(terminal.stdout.take().expect("a pipe"));
    let (mut screen, until) = (String::new(), Instant::now() + HANG_LIMIT);
    while !screen.contains("bulk") {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(bytes) = output.recv_timeout(left) else {
            break;
        };
        screen.push_str(&String::from_utf8_lossy(&bytes));
    }
    let pid = std::fs::read_to_string(&note).expect("its number");
    let process = Path::new("/proc").join(pid.trim());
    terminal.kill().expect("a terminal that hangs up");
    terminal.wait().expect("an end");
    assert!(
        screen.contains("bulk"),
        "no flow in {HANG_LIMIT:?}: {screen:?}"
    );
    let _end = KillAtEnd(pid.trim());
    wait_until("its end without a terminal", || {
        !process.join("exe").exists()
    });
}
