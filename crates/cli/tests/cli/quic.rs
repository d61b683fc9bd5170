//! `brimful quic`, as a process.

use super::Place;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use testing::{StepClock, wait_until};

/// A server that is ended with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves with more options; gives its port, and the lines of its log from then on.
fn serve_with_log(place: &Place, more: &[&str]) -> (Serving, u16, Receiver<String>) {
    let mut arguments = vec!["quic", "serve", "--listen", "127.0.0.1:0"];
    arguments.extend_from_slice(more);
    serve_as(&mut place.command(&arguments))
}

/// The same of a command.
fn serve_as(command: &mut Command) -> (Serving, u16, Receiver<String>) {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let port = lines.find_map(|line| {
        let line = line.expect("text");
        let rest = line.split_once("listening on 127.0.0.1:")?.1;
        rest.split(' ').next()?.parse().ok()
    });
    // its pipe has to be read
    let (sender, log) = channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            // the test may have ended
            let _ = sender.send(line);
        }
    });
    (Serving(child), port.expect("it listens"), log)
}

/// Serves with more options; gives its port.
fn serve(place: &Place, more: &[&str]) -> (Serving, u16) {
    let (serving, port, _) = serve_with_log(place, more);
    (serving, port)
}

/// What the server counts.
fn status(address: &str) -> serde_json::Value {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let begin = answer.find('{').expect("JSON");
    let end = answer.rfind('}').expect("JSON");
    serde_json::from_str(&answer[begin..=end]).expect("JSON")
}

#[test]
fn the_connection_of_a_rejected_client_ends() {
    let place = Place::new();
    let (_serving, port, log) = serve_with_log(&place, &["--metrics", "127.0.0.1:0"]);
    let line = log.recv().expect("the address of the metrics");
    let (_, rest) = line.split_once("http://").expect("an address");
    let metrics = rest.split('/').next().expect("an address");
    let server = format!("localhost:{port}");
    let got = place.run(&["quic", "get", &server, "--size", "1 TB", "--insecure"]);
    assert_eq!(got.code, Some(1), "{got:?}");
    assert!(got.stderr.contains("more than the server gives"), "{got:?}");
    assert_eq!(status(metrics)["connections_total"], 1);
    wait_until("no connection", || status(metrics)["connections"] == 0);
}

#[test]
fn the_shipped_configuration_is_good() {
    let place = Place::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/quic.toml");
    let run = place.run(&["quic", "serve", "--config", file, "--check"]);
    assert!(run.succeeded().stdout.contains("valid"));
}

#[test]
fn a_file_goes_over_http3_and_a_download_is_reported_as_json() {
    let place = Place::new().with("page.html", "<p>hello");
    let certificate = place.path("server.pem");
    let certificate = certificate.to_str().expect("a name");
    let root = place.path("");
    let root = root.to_str().expect("a name");
    let options = ["--root", root, "--write-certificate", certificate];
    let (_serving, port) = serve(&place, &options);
    let url = format!("https://localhost:{port}/page.html");
    let got = place.run(&["quic", "get", &url, "--ca", certificate, "--out", "-"]);
    assert_eq!(got.succeeded().stdout, "<p>hello");
    let server = format!("localhost:{port}");
    let arguments = [
        "quic",
        "get",
        &server,
        "--size",
        "2 MB",
        "--ca",
        certificate,
        "--json",
    ];
    let got = place.run(&arguments).succeeded();
    let report: serde_json::Value = serde_json::from_str(&got.stdout).expect("JSON");
    assert_eq!(report["bytes"], 2_000_000);
    assert_eq!(report["seen_by"], "server");
    assert!(report["goodput_bps"].as_u64() > Some(0), "{report}");
    let missing = place.run(&[
        "quic",
        "get",
        &format!("https://localhost:{port}/no"),
        "--insecure",
    ]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    let untrusted = place.run(&["quic", "get", &server]);
    assert_eq!(untrusted.code, Some(1), "{untrusted:?}");
    assert!(
        untrusted.stderr.contains("--write-certificate"),
        "{untrusted:?}"
    );
}

#[test]
fn what_cannot_be_served_or_fetched_is_rejected_before_anything_begins() {
    let place = Place::new().with("bad.toml", "listen = [\"0.0.0.0:443\"]\ncc = \"cubik\"\n");
    for (arguments, message) in [
        (
            &["quic", "serve", "--config", "bad.toml"][..],
            "did you mean \"cubic\"",
        ),
        (&["quic", "serve", "--cc", "renoo"], "did you mean"),
        (
            &["quic", "serve", "--meld", "on"],
            "expected off, de, me, default, yield",
        ),
        (
            &["quic", "serve", "--reports", "http://x/"],
            "expected unix:PATH",
        ),
        (&["quic", "serve", "--root", "none"], "root: none: "),
        (&["quic", "serve", "--qlog", "none"], "qlog: none: "),
        (&["quic", "serve", "--listen", "4433"], "0.0.0.0:4433"),
        (
            &["quic", "serve", "--listen", "here:1"],
            "for example 192.0.2.1:4433",
        ),
        (&["quic", "get", "nowhere"], "expected HOST:PORT"),
        (&["quic", "get", "http://a/"], "expected https://"),
        (
            &["quic", "get", "https://a/", "--size", "1 MB"],
            "of the plain protocol",
        ),
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {run:?}");
    }
}

/// A path to a server, whose clock is set an hour ahead while the first Retry (RFC 9000 17.2.5) is on its way.
fn path_with_a_step(server: u16, clock: StepClock) -> (u16, Receiver<()>) {
    let near = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a port"));
    let far = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a port"));
    far.connect(("127.0.0.1", server)).expect("an address");
    let port = near.local_addr().expect("its address").port();
    let (client, clients) = channel();
    let (stepped, steps) = channel();
    let (up, to) = (Arc::clone(&near), Arc::clone(&far));
    std::thread::spawn(move || {
        let mut packet = [0; 65_536];
        while let Ok((length, from)) = up.recv_from(&mut packet) {
            // who it was sent from last
            let _ = client.send(from);
            let _ = to.send(&packet[..length]);
        }
    });
    std::thread::spawn(move || {
        let (mut packet, mut from) = ([0; 65_536], None);
        while let Ok(length) = far.recv(&mut packet) {
            from = clients.try_iter().last().or(from);
            let is_retry = packet[0] & 0xb0 == 0xb0;
            if is_retry {
                clock.set(3_600);
                let _ = stepped.send(());
            }
            if let Some(from) = from {
                let _ = near.send_to(&packet[..length], from);
            }
        }
    });
    (port, steps)
}

/// What a client is to prove about its address does not grow old by a step.
#[test]
fn a_step_of_the_clock_within_a_handshake_ends_none() {
    let config = "listen = [\"127.0.0.1:0\"]\n[certificate]\nself-signed = [\"localhost\"]\n\
                  [limits]\nconnections-per-address = 2\n";
    let place = Place::new().with("quic.toml", config);
    let name = "a_step_of_the_clock_within_a_handshake_ends_none";
    let Some(clock) = StepClock::try_new(name, &place.path("")) else {
        return;
    };
    let arguments = [
        "quic",
        "serve",
        "--config",
        "quic.toml",
        "--metrics",
        "127.0.0.1:0",
    ];
    let mut command = place.command(&arguments);
    let (_serving, port, log) = serve_as(command.envs(clock.environment()));
    let line = log.recv().expect("the address of the metrics");
    let (_, rest) = line.split_once("http://").expect("an address");
    let metrics = rest.split('/').next().expect("an address");
    // with one connection of two, the next must show that it receives at its address
    let server = format!("localhost:{port}");
    let slow = [
        "quic", "get", &server, "--size", "1 GB", "--rate", "8 kbit/s",
    ];
    let slow = [&slow[..], &["--insecure"]].concat();
    let slow = place.command(&slow).stderr(Stdio::null()).spawn();
    let _slow = Serving(slow.expect("the command starts"));
    wait_until("a connection", || status(metrics)["connections"] == 1);
    let (port, steps) = path_with_a_step(port, clock);
    let server = format!("localhost:{port}");
    let got = place.run(&["quic", "get", &server, "--size", "1 MB", "--insecure"]);
    got.succeeded();
    assert!(steps.try_recv().is_ok(), "no Retry came");
}

#[test]
fn a_download_ends_after_its_time_with_what_has_come() {
    let place = Place::new();
    let (_serving, port) = serve(&place, &[]);
    let server = format!("localhost:{port}");
    let options = ["--size", "1 GB", "--rate", "80 kbit/s", "--for", "1 s"];
    let arguments = ["quic", "get", &server, "--insecure", "--json"];
    let got = place.run(&[&arguments[..], &options].concat()).succeeded();
    let result: serde_json::Value = serde_json::from_str(&got.stdout).expect("JSON");
    assert!(result["status"].is_null(), "{result}");
    let bytes = result["bytes"].as_u64().expect("a number");
    assert!(0 < bytes && bytes < 1_000_000_000, "{result}");
}

/// At a log, samples and a folder of qlog that take nothing.
#[test]
fn a_server_outlasts_a_full_disk() {
    let place = Place::new();
    let full = || std::fs::File::create("/dev/full").expect("a device");
    let metrics = format!("127.0.0.1:{}", testing::free_port());
    let port = {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.local_addr().expect("its address").port()
    };
    let listen = format!("127.0.0.1:{port}");
    let arguments = ["quic", "serve", "--listen", &listen, "--metrics", &metrics];
    let arguments = [&arguments[..], &["--verbose", "--stats", "/dev/full"]].concat();
    let mut command = place.command(&arguments);
    let child = command.stdout(full()).stderr(full()).spawn();
    let _serving = Serving(child.expect("the command starts"));
    wait_until("metrics", || TcpStream::connect(&metrics).is_ok());
    for _ in 0..3 {
        let server = format!("localhost:{port}");
        let got = place.run(&["quic", "get", &server, "--size", "1 MB", "--insecure"]);
        got.succeeded();
    }
    assert_eq!(status(&metrics)["connections_total"], 3);
}
