//! `brimful quic`, as a process.

use super::Place;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use testing::wait_until;

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
    let mut child = place
        .command(&arguments)
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
            "expected off, de, me, default",
        ),
        (
            &["quic", "serve", "--reports", "http://x/"],
            "expected unix:PATH",
        ),
        (&["quic", "serve", "--root", "none"], "none"),
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
