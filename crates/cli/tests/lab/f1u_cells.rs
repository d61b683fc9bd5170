//! Several cells, each with a distributed unit on a wire of its own: a user who changes cells is seen on the wires, by a real service.

use crate::capture::{inside, namespace_of};
use crate::moving::{curl, shell_with, until_one_moved};
use crate::{Running, has_root, stderr};
use rnis::codec::decode_json;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use testing::{HANG_LIMIT, wait_for};

/// The user.
const UE: [u8; 4] = [10, 45, 0, 1];
/// Where the service listens, within the centralized unit's namespace.
const SERVICE: &str = "127.0.0.1:8443";
/// Digits of a cell's identity in notifications.
const CELL_DIGITS: usize = 28;

/// Both wires, each with its cell, and MEC 012 on loopback. A user of whom nothing is reported for long has not left, however slow the
/// machine is.
const CONFIG: &str = r#"release-after = "600 s"
max-age = "600 s"
[[source]]
name = "west"
kind = "f1-u"
url = "interface:f1"
cell = 1
distributed-units = ["10.49.0.2"]
[[source]]
name = "east"
kind = "f1-u"
url = "interface:f1-2"
cell = 2
distributed-units = ["10.49.1.2"]
[[cell]]
id = 1
prb = 51
scs = "30 kHz"
period = "10 ms"
[[cell]]
id = 2
prb = 51
scs = "30 kHz"
period = "10 ms"
[[ue]]
ip = "10.45.0.1"
[http]
listen = "127.0.0.1:8443"
callback-networks = ["127.0.0.0/8"]
[[client]]
id = "app"
secret-sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
"#;

/// Base stations in two parts, in each cell.
const IN_TWO_PARTS: [&str; 2] = ["cell.0.f1-u=true", "cell.1.f1-u=true"];

/// Runs something in a network.
pub(crate) fn within<T: Send>(network: &OwnedFd, run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("a namespace of ours can be entered");
            run()
        });
        inside.join().expect("no panic inside")
    })
}

/// A program that is killed at the end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Status and body of an answer of the service.
fn exchange(network: &OwnedFd, request: &str) -> Option<(u16, Value)> {
    let answer = within(network, || {
        let mut stream = TcpStream::connect(SERVICE).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    })?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).ok()?))
}

fn post(path: &str, headers: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What a listener is notified of, each with an answer.
fn notifications(listener: TcpListener) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            if notification(stream).is_some_and(|body| sender.send(body).is_err()) {
                return;
            }
        }
    });
    receiver
}

fn notification(mut stream: TcpStream) -> Option<Value> {
    stream.set_read_timeout(Some(HANG_LIMIT)).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
    stream.write_all(answer).ok()?;
    serde_json::from_slice(&body).ok()
}

/// The cells of a notification: which it was, and which it is.
fn cells(notification: &Value) -> [u32; 2] {
    let number = |cell: &Value| {
        let digits = cell["cellId"].as_str().expect("a cell");
        assert_eq!(digits.len(), CELL_DIGITS, "{notification}");
        u32::from_str_radix(digits, 2).expect("binary")
    };
    [&notification["srcEcgi"], &notification["trgEcgi"][0]].map(number)
}

/// Reads reports of the lab's service until the user was in each of the cells.
fn read_until_in_both(lab: &Path) {
    let socket = lab.join("rnis.sock");
    let stream = wait_for("service's socket", || UnixStream::connect(&socket).ok());
    stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
    let mut seen = BTreeSet::new();
    for line in BufReader::new(stream).lines() {
        let report = decode_json(line.expect("a report").as_bytes()).expect("a report");
        for ue in report.ues.iter().filter(|ue| !ue.served_bytes.is_zero()) {
            assert_eq!(ue.ip, Some(IpAddr::from(UE)));
            seen.insert(report.cell.id.0);
        }
        if seen.len() == 2 {
            return;
        }
    }
    panic!("the service has ended; the user was in {seen:?}");
}

#[test]
fn a_service_on_the_wires_announces_each_change_of_cell() {
    if !has_root("a_service_on_the_wires_announces_each_change_of_cell") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (go, done) = (folder.path().join("go"), folder.path().join("done"));
    let script = format!(
        "until [ -e {} ]; do sleep 0.05; done
         until [ -e {} ]; do curl -sS -o /dev/null --limit-rate 3M http://server/20M || exit 3; done",
        go.display(),
        done.display()
    );
    let command = shell_with(folder.path(), "none", 900, &IN_TWO_PARTS, &script);
    let running = Running::start(command);
    let (networks, lab) = (running.networks(), running.folder());
    let central = wait_for("the lab's service", || {
        lab.join("rnis.sock")
            .exists()
            .then(|| namespace_of(&running, &networks, "10.49.1.1/24"))
    });
    let config = folder.path().join("rnis.toml");
    fs::write(&config, CONFIG).expect("written");
    let path = config.display().to_string();
    let arguments = [env!("CARGO_BIN_EXE_brimful"), "rnis", "--config", &path];
    let mut service = inside(&central, &arguments);
    let log = fs::File::create(folder.path().join("log")).expect("a log");
    let service = service.stdout(Stdio::null()).stderr(log).spawn();
    let service = Killed(service.expect("it starts"));

    let form = "grant_type=client_credentials&client_id=app&client_secret=secret";
    let kind = "content-type: application/x-www-form-urlencoded\r\n";
    let (code, token) = wait_for("the service", || {
        exchange(&central, &post("/oauth2/token", kind, form))
    });
    assert_eq!(code, 200, "{token}");
    let token = token["access_token"].as_str().expect("a token");
    let listener = within(&central, || {
        TcpListener::bind("127.0.0.1:0").expect("a port")
    });
    let address = listener.local_addr().expect("its address");
    let notified = notifications(listener);
    let body = json!({
        "subscriptionType": "CellChangeSubscription",
        "callbackReference": format!("http://{address}/"),
        "filterCriteriaAssocHo": {},
    });
    let headers = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
    let request = post("/rni/v2/subscriptions", &headers, &body.to_string());
    let (code, answer) = exchange(&central, &request).expect("an answer");
    assert_eq!(code, 201, "{answer}");

    let reader = std::thread::spawn(move || read_until_in_both(&lab));
    fs::write(&go, "").expect("a mark");
    // to and fro
    let mut seen = BTreeSet::new();
    while seen.len() < 2 {
        let notification = notified.recv_timeout(HANG_LIMIT);
        let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        let notification = notification.unwrap_or_else(|_| panic!("{seen:?}; {}", log()));
        if notification["notificationType"] != "CellChangeNotification" {
            continue;
        }
        let ue = json!({ "type": 1, "value": "10.45.0.1" });
        assert_eq!(notification["associateId"][0], ue, "{notification}");
        seen.insert(cells(&notification));
    }
    assert_eq!(seen, BTreeSet::from([[1, 2], [2, 1]]));
    reader.join().expect("the lab's service reports it in both");
    drop(service);
    fs::write(&done, "").expect("a mark");
    let lab = running.folder();
    let ended = running.wait();
    assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
    drop(central);
    crate::assert_gone(&lab, &networks);
}

#[test]
fn connections_follow_a_user_whom_the_wires_show_in_another_cell() {
    if !has_root("connections_follow_a_user_whom_the_wires_show_in_another_cell") {
        return;
    }
    until_one_moved(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let (both, _) = curl(folder.path(), |script| {
            shell_with(folder.path(), "default", 10, &IN_TWO_PARTS, script)
        });
        both
    });
}
