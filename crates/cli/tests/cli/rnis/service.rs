//! The service: what it answers, reloads and outlasts.

use super::{Daemon, SERVICE, get, readers_come, recording_to, send, token};
use crate::{Place, recording};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;
use std::sync::mpsc::channel;
use testing::wait_until;

#[test]
fn the_service_answers_reloads_and_ends() {
    let place = Place::new().with("rnis.toml", SERVICE);
    let cell = UnixListener::bind(place.path("cell.sock")).expect("a socket");
    let daemon = Daemon::start(
        &place,
        &["rnis", "--config", "rnis.toml", "--log-json", "--verbose"],
    );
    let ready: Value = serde_json::from_str(&daemon.wait_for_line("\"ready\"")).expect("JSON");
    let address = ready["fields"]["http"].as_str().expect("an address");
    let (mut source, _) = cell.accept().expect("the service connects");

    let path = "/rni/v2/queries/rab_info";
    let (status, body) = get(address, path, "forged");
    assert_eq!(status, 401, "{body}");
    let token = token(address);
    let bearers = || {
        let (status, body) = get(address, path, &token);
        assert_eq!(status, 200, "{body}");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        body["RabInfo"]["cellUserInfo"][0]["ueInfo"].clone()
    };
    let mut report = recording::reports(1).remove(0);
    let mut qci_becomes = |source: &mut UnixStream, qci: u64| {
        wait_until("the bearer", || {
            report.cell.slot = units::Slot::new(report.cell.slot.get() + 20);
            send(source, &report);
            bearers()[0]["erabInfo"][0]["erabQosParameters"]["qci"] == qci
        });
    };
    qci_becomes(&mut source, 9);
    assert_eq!(bearers()[0]["associateId"][0]["value"], "10.45.0.2");

    // another configuration; the source is connected to again
    std::fs::write(
        place.path("rnis.toml"),
        SERVICE.replace("qci = 9", "qci = 7"),
    )
    .expect("written");
    daemon.signal(Signal::HUP);
    daemon.wait_for_line("configuration reloaded");
    let (mut source, _) = cell.accept().expect("the service connects again");
    qci_becomes(&mut source, 7);

    // one with a fault changes nothing
    std::fs::write(
        place.path("rnis.toml"),
        SERVICE.replace("qci = 9", "qci = 0"),
    )
    .expect("written");
    daemon.signal(Signal::HUP);
    let line = daemon.wait_for_line("the configuration is not reloaded");
    assert!(line.contains("rnis.toml:8:"), "{line}");
    qci_becomes(&mut source, 7);

    assert!(place.path("radio.sock").exists());
    daemon.signal(Signal::TERM);
    let (code, stdout) = daemon.end();
    assert_eq!((code, stdout.as_str()), (Some(0), ""));
    assert_eq!(
        place.names(),
        ["cell.sock", "rnis.toml"],
        "its socket is gone"
    );
}

#[test]
fn a_service_that_cannot_listen_fails() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let place = Place::new().with("rnis.toml", &SERVICE.replace("127.0.0.1:0", &address));
    let run = place.run(&["rnis", "--config", "rnis.toml"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains(&address), "{run:?}");
}

/// `/dev/full` takes nothing: a disk without space under the log and under a recording.
#[test]
fn a_service_outlasts_a_full_disk_under_its_log_and_its_recorder() {
    let metrics = format!("127.0.0.1:{}", testing::free_port());
    let text = SERVICE.replace(
        "[metrics]\nlisten = \"127.0.0.1:0\"",
        &format!("[metrics]\nlisten = \"{metrics}\""),
    );
    let place = Place::new().with("rnis.toml", &text);
    let cell = UnixListener::bind(place.path("cell.sock")).expect("a socket");
    let full = || std::fs::File::create("/dev/full").expect("a device");
    let mut child = place
        .command(&["rnis", "--config", "rnis.toml", "--verbose"])
        .stderr(full())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (_, log) = channel();
    let _service = Daemon {
        output: BufReader::new(child.stdout.take().expect("a pipe")),
        child,
        log,
    };
    cell.set_nonblocking(true).expect("a socket");
    let (mut source, _) = testing::wait_for("the service connects", || cell.accept().ok());
    source.set_nonblocking(false).expect("a socket");
    wait_until("metrics", || TcpStream::connect(&metrics).is_ok());
    let recorder = Daemon::start(&place, &recording_to("/dev/full"));
    readers_come(&metrics, 1);
    let reports = recording::reports(40);
    for report in &reports {
        // each line is logged as well
        source.write_all(b"nonsense\n").expect("the service reads");
        send(&mut source, report);
    }
    recorder.wait_for_line("cannot be written");
    assert_eq!(recorder.end().0, Some(1));
    wait_until("all reports", || {
        let (status, text) = get(&metrics, "/metrics", "");
        let is_counted = !text.contains("\nbrimful_rnis_log_lost_total 0\n");
        assert!(status != 200 || is_counted, "{text}");
        status == 200 && text.contains("brimful_rnis_reports_total{source=\"cell\"} 40")
    });
}

/// Tokens, sources and reports are of the other clock: a day forward, a year back.
#[test]
fn steps_of_the_clock_change_neither_tokens_nor_reports() {
    let metrics = format!("127.0.0.1:{}", testing::free_port());
    let text = SERVICE.replace(
        "[metrics]\nlisten = \"127.0.0.1:0\"",
        &format!("[metrics]\nlisten = \"{metrics}\""),
    );
    let place = Place::new().with("rnis.toml", &text);
    let name = "steps_of_the_clock_change_neither_tokens_nor_reports";
    let Some(clock) = testing::StepClock::try_new(name, &place.path("")) else {
        return;
    };
    let cell = UnixListener::bind(place.path("cell.sock")).expect("a socket");
    let mut command = place.command(&["rnis", "--config", "rnis.toml", "--log-json"]);
    let service = Daemon::start_as(command.envs(clock.environment()));
    let ready: Value = serde_json::from_str(&service.wait_for_line("\"ready\"")).expect("JSON");
    let http = ready["fields"]["http"].as_str().expect("an address");
    let (mut source, _) = cell.accept().expect("the service connects");
    let token = token(http);
    let mut sent = 0;
    let reports = recording::reports(60);
    let mut pass = |at: &str| {
        for report in &reports[sent..sent + 20] {
            send(&mut source, report);
        }
        sent += 20;
        let counted = format!("brimful_rnis_reports_total{{source=\"cell\"}} {sent}\n");
        wait_until(at, || {
            let (status, text) = get(&metrics, "/metrics", "");
            status == 200 && text.contains(&counted)
        });
        let (status, body) = get(http, "/rni/v2/queries/rab_info", &token);
        assert_eq!(status, 200, "{at}: {body}");
    };
    pass("reports");
    clock.set(86_400);
    pass("reports after a step forward");
    clock.set(-365 * 86_400);
    pass("reports after a step back");
    // the clock of the log is the one that was set
    service.signal(Signal::TERM);
    let last: Value = serde_json::from_str(&service.wait_for_line("ending")).expect("JSON");
    let year = |line: &Value| line["timestamp"].as_str().map(|text| text[..4].to_owned());
    assert!(year(&last).expect("a time") < year(&ready).expect("a time"));
    assert_eq!(service.end().0, Some(0));
}
