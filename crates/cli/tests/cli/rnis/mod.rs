//! `brimful rnis`: checked, run, reloaded, ended; recorded and watched.

mod configuration;
mod f1u;
mod recorder;
mod service;

use super::Place;
use rnis::RadioReport;
use rnis::codec::encode_json;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use testing::{HANG_LIMIT, wait_until};

const SERVICE: &str = r#"[[source]]
name = "cell"
kind = "reports"
url = "unix:cell.sock"
[[ue]]
ip = "10.45.0.2"
rnti = 17922
bearers = [{ erab-id = 5, qci = 9 }]
[unix]
path = "radio.sock"
[http]
listen = "127.0.0.1:0"
[metrics]
listen = "127.0.0.1:0"
[[client]]
id = "dashboard"
secret-sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
"#;

/// A command that runs until a signal ends it.
struct Daemon {
    child: Child,
    log: Receiver<String>,
    output: BufReader<ChildStdout>,
}

impl Daemon {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::start_as(&mut place.command(arguments))
    }

    fn start_as(command: &mut std::process::Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let (sender, log) = channel();
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, log, output }
    }

    /// Waits for the next lines that it prints.
    fn wait_for_output(&mut self, lines: usize) -> String {
        let mut text = String::new();
        for _ in 0..lines {
            self.output.read_line(&mut text).expect("text");
        }
        text
    }

    /// The next line of the log that holds `text`.
    fn wait_for_line(&self, text: &str) -> String {
        let deadline = Instant::now() + HANG_LIMIT;
        let mut before = String::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.log.recv_timeout(left) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => writeln!(before, "{line}").expect("text grows"),
                Err(_) => panic!("no line with {text:?}: {before}"),
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), signal).expect("it lives");
    }

    /// Waits for its end; gives its exit code and what it printed, but for what was waited for.
    fn end(mut self) -> (Option<i32>, String) {
        let mut stdout = String::new();
        self.output.read_to_string(&mut stdout).expect("text");
        (self.child.wait().expect("an end").code(), stdout)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Status and body of an answer.
fn exchange(address: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("the service listens");
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
    (status.expect("a status"), body.to_owned())
}

fn get(address: &str, path: &str, token: &str) -> (u16, String) {
    let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
    exchange(
        address,
        &format!("{head}authorization: Bearer {token}\r\n\r\n"),
    )
}

fn token(address: &str) -> String {
    let form = "grant_type=client_credentials&client_id=dashboard&client_secret=secret";
    let request = format!(
        "POST /oauth2/token HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\
         content-type: application/x-www-form-urlencoded\r\n\r\n{form}",
        form.len()
    );
    let (status, body) = exchange(address, &request);
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    body["access_token"].as_str().expect("a token").to_owned()
}

fn send(stream: &mut UnixStream, report: &RadioReport) {
    let line = [&encode_json(report)[..], b"\n"].concat();
    stream.write_all(&line).expect("the service reads");
}

/// Waits until the service has so many readers.
fn readers_come(metrics: &str, count: usize) {
    let line = format!("\nbrimful_rnis_readers {count}\n");
    wait_until("readers", || {
        get(metrics, "/metrics", "none").1.contains(&line)
    });
}

/// The command that records the service's reports into this file.
fn recording_to(file: &str) -> [&str; 6] {
    ["rnis", "record", "--socket", "radio.sock", "--out", file]
}
