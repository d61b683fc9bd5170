//! `brimful quic`, as a process.

use super::Place;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A server that is ended with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves with more options; gives its port.
fn serve(place: &Place, more: &[&str]) -> (Serving, u16) {
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
    // what it says later must have somebody to read it
    std::thread::spawn(move || lines.count());
    (Serving(child), port.expect("it listens"))
}

#[test]
fn the_shipped_configuration_is_good() {
    let place = Place::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/quic.toml");
    let run = place.run(&["quic", "serve", "--config", file, "--check"]);
    assert!(run.succeeded().stdout.contains("valid"));
}

#[test]
fn a_file_goes_over_http3_and_a_download_is_told_as_json() {
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
    let told: serde_json::Value = serde_json::from_str(&got.stdout).expect("JSON");
    assert_eq!(told["bytes"], 2_000_000);
    assert_eq!(told["seen_by"], "server");
    assert!(told["goodput_bps"].as_u64() > Some(0), "{told}");
    let missing = place.run(&[
        "quic",
        "get",
        &format!("https://localhost:{port}/no"),
        "--insecure",
    ]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
}

#[test]
fn what_cannot_be_served_or_fetched_is_said_before_anything_begins() {
    let place = Place::new().with("bad.toml", "listen = [\"0.0.0.0:443\"]\ncc = \"cubik\"\n");
    for (arguments, said) in [
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
        assert!(run.stderr.contains(said), "{arguments:?}: {run:?}");
    }
}
