//! `brimful rnis`: checked, run, reloaded, ended; recorded and watched.

use super::Place;
use crate::recording;
use rnis::RadioReport;
use rnis::codec::{decode_json, encode_json};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
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

fn lines(path: &Path) -> Vec<RadioReport> {
    let text = std::fs::read_to_string(path).expect("a recording");
    let reports = text.lines().map(|line| decode_json(line.as_bytes()));
    reports.collect::<Result<_, _>>().expect("reports only")
}

#[test]
fn the_shipped_configuration_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let file = folder.join("rnis.toml");
    let file = file.to_str().expect("a path");
    let place = Place::new();
    let run = place
        .run(&["rnis", "--config", file, "--check"])
        .succeeded();
    assert_eq!(run.stdout, format!("{file}: valid\n"));
    assert!(place.names().is_empty(), "a check makes nothing");
}

#[test]
fn the_shipped_unit_starts_what_there_is_and_gives_it_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let file = folder.join("rnis.toml");
    let unit =
        std::fs::read_to_string(folder.join("systemd/brimful-rnis.service")).expect("a unit");
    let value = |key: &str| {
        let found = unit
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {key}"))
    };
    for (key, expected) in [
        ("CapabilityBoundingSet", ""),
        ("AmbientCapabilities", ""),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"),
        ("User", "brimful"),
    ] {
        assert_eq!(value(key), expected, "{key}");
    }
    // both commands as they are written, with the shipped file in the installed one's place
    let arguments = |key: &str| -> Vec<String> {
        let shipped = file.to_str().expect("a path");
        let words = value(key).split(' ').skip(1);
        words
            .map(|word| word.replace("/etc/brimful/rnis.toml", shipped))
            .collect()
    };
    let check = arguments("ExecStartPre");
    let start = [arguments("ExecStart"), vec!["--check".to_owned()]].concat();
    assert_eq!(check, start);
    let check: Vec<&str> = check.iter().map(String::as_str).collect();
    Place::new().run(&check).succeeded();
}

#[test]
fn a_faulty_configuration_is_refused_with_its_line_and_a_suggestion() {
    let cases = [
        ("url =", "urll =", "rnis.toml:4:1", "did you mean \"url\"?"),
        (
            "\"reports\"",
            "\"report\"",
            "rnis.toml:3:9",
            "expected reports, replay",
        ),
        (
            "\"127.0.0.1:0\"",
            "\"0.0.0.0:0\"",
            "rnis.toml:12:",
            "on loopback only",
        ),
        ("rnti = 17922", "rnti = 0", "rnis.toml:7:8", "1 to 65519"),
        ("[unix]", "[unix", "rnis.toml:9:", "expected"),
    ];
    for (from, to, at, suggestion) in cases {
        assert!(SERVICE.contains(from), "{from}");
        let place = Place::new().with("rnis.toml", &SERVICE.replacen(from, to, 1));
        for check in [&["--check"][..], &[]] {
            let arguments = [&["rnis", "--config", "rnis.toml"], check].concat();
            let run = place.run(&arguments);
            assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
            assert!(run.stderr.contains(at), "{to}: {}", run.stderr);
            assert!(run.stderr.contains(suggestion), "{to}: {}", run.stderr);
        }
        assert_eq!(place.names(), ["rnis.toml"], "nothing was started");
    }
}

#[test]
fn what_cannot_be_used_at_all_is_bad_usage() {
    let place = Place::new().with(
        "tls.toml",
        &SERVICE.replace(
            "[http]\n",
            "[http]\ntls-certificate = \"none.pem\"\ntls-key = \"none.key\"\n",
        ),
    );
    let refused = |arguments: &[&str], words: &str| {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(words), "{run:?}");
    };
    refused(&["rnis"], "--config");
    refused(
        &["rnis", "--config", "none.toml"],
        "none.toml: cannot be read",
    );
    refused(&["rnis", "--config", "tls.toml", "--check"], "none.pem");
    refused(&["rnis", "watch"], "--socket");
    refused(&["rnis", "record", "--socket", "x"], "--out");
    let time = ["--duration", "60"];
    refused(
        &[
            &["rnis", "record", "--socket", "x", "--out", "y"],
            &time[..],
        ]
        .concat(),
        "unit",
    );
}

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
    daemon.wait_for_line("configuration taken again");
    let (mut source, _) = cell.accept().expect("the service connects again");
    qci_becomes(&mut source, 7);

    // one with a fault changes nothing
    std::fs::write(
        place.path("rnis.toml"),
        SERVICE.replace("qci = 9", "qci = 0"),
    )
    .expect("written");
    daemon.signal(Signal::HUP);
    let line = daemon.wait_for_line("configuration kept as it was");
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

/// A cell's reports through a service to a recorder, from the recording through another service to
/// a second recorder: the same reports in the same order, with other times.
#[test]
fn a_recording_of_the_cell_goes_through_services_unchanged() {
    let place = Place::new().with("rnis.toml", SERVICE);
    let reports = recording::reports(60);
    let cell = UnixListener::bind(place.path("cell.sock")).expect("a socket");
    let service = Daemon::start(&place, &["rnis", "--config", "rnis.toml", "--log-json"]);
    let ready: Value = serde_json::from_str(&service.wait_for_line("\"ready\"")).expect("JSON");
    let (mut source, _) = cell.accept().expect("the service connects");
    let recorder = Daemon::start(&place, &recording_to("first.ndjson"));
    let watch = ["rnis", "watch", "--socket", "radio.sock"];
    let mut watcher = Daemon::start(&place, &watch);
    readers_come(ready["fields"]["metrics"].as_str().expect("an address"), 2);
    for report in &reports {
        send(&mut source, report);
    }
    wait_until("the recording", || {
        std::fs::read_to_string(place.path("first.ndjson"))
            .is_ok_and(|text| text.lines().count() == reports.len())
    });
    recorder.signal(Signal::INT);
    let line = recorder.wait_for_line("recorded");
    assert!(line.contains("60 reports of 1 cells"), "{line}");
    assert_eq!(recorder.end().0, Some(0));
    assert_eq!(lines(&place.path("first.ndjson")), reports, "as they were");
    // both users of each report: what the service has not sent yet would be lost with it
    let watched = watcher.wait_for_output(2 * reports.len());
    drop(service);
    watcher.wait_for_line("radio.sock: closed");
    assert_eq!(watcher.end(), (Some(0), String::new()));
    let first = watched.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("cell 1 slot 19: 10.45.0.2 (RNTI 17922)") && first.contains("of 51 PRBs"),
        "{first}"
    );

    // the recording in place of the cell
    let replay = SERVICE
        .replace("\"reports\"", "\"replay\"")
        .replace("unix:cell.sock", "file:first.ndjson")
        .replace(
            "name = \"cell\"",
            "name = \"drive\"\nrepeat = true\nspeed = 10",
        );
    let place = place.with("rnis.toml", &replay);
    // what the first service left does not keep the second from starting
    let service = Daemon::start(&place, &["rnis", "--config", "rnis.toml"]);
    service.wait_for_line("ready");
    // more than a lap
    let recorder = Daemon::start(&place, &recording_to("second.ndjson"));
    wait_until("a recording of more than a lap", || {
        std::fs::read_to_string(place.path("second.ndjson"))
            .is_ok_and(|text| text.lines().count() > 2 * reports.len())
    });
    recorder.signal(Signal::INT);
    recorder.wait_for_line("recorded");
    assert_eq!(recorder.end().0, Some(0));
    let again = lines(&place.path("second.ndjson"));
    let begin = reports
        .iter()
        .position(|report| same_but_for_time(report, &again[0]));
    let begin = begin.expect("one of the first recording's");
    for (i, got) in again.iter().enumerate() {
        let expected = &reports[(begin + i) % reports.len()];
        assert!(
            same_but_for_time(expected, got),
            "{i}: {expected:?} {got:?}"
        );
    }
    for pair in again.windows(2) {
        assert_eq!(pair[1].cell.slot.get() - pair[0].cell.slot.get(), 20);
        assert!(pair[1].ues[0].timestamp > pair[0].ues[0].timestamp);
        assert_eq!(pair[1].ues[0].seq, pair[0].ues[0].seq + 1);
    }
    service.signal(Signal::TERM);
    assert_eq!(service.end().0, Some(0));
}

/// Waits until the service has so many readers.
fn readers_come(metrics: &str, count: usize) {
    let line = format!("\nbrimful_rnis_readers {count}\n");
    wait_until("readers", || {
        get(metrics, "/metrics", "none").1.contains(&line)
    });
}

/// Whether two reports are the same but for their times.
fn same_but_for_time(a: &RadioReport, b: &RadioReport) -> bool {
    let timeless = |report: &RadioReport| {
        let mut report = report.clone();
        report.cell.slot = units::Slot::new(0);
        for ue in &mut report.ues {
            ue.seq = 0;
            ue.timestamp = units::Instant::ZERO;
        }
        report
    };
    timeless(a) == timeless(b)
}

/// The time is over while the service still sends.
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

/// The command that records the service's reports into this file.
fn recording_to(file: &str) -> [&str; 6] {
    ["rnis", "record", "--socket", "radio.sock", "--out", file]
}

/// Events are recorded with the reports.
#[test]
fn a_recording_has_the_sources_events() {
    let place = Place::new().with("rnis.toml", SERVICE);
    let cell = UnixListener::bind(place.path("cell.sock")).expect("a socket");
    let service = Daemon::start(&place, &["rnis", "--config", "rnis.toml", "--log-json"]);
    let ready: Value = serde_json::from_str(&service.wait_for_line("\"ready\"")).expect("JSON");
    let (mut source, _) = cell.accept().expect("the service connects");
    let recorder = Daemon::start(&place, &recording_to("drive.ndjson"));
    readers_come(ready["fields"]["metrics"].as_str().expect("an address"), 1);
    let event = r#"{"cell":1,"ue":"10.45.0.2","event":"timing-advance","steps":7}"#;
    let reports = recording::reports(2_000);
    let mut reports = reports.iter();
    // the first may come before the recorder has requested events
    wait_until("the event", || {
        send(&mut source, reports.next().expect("few are needed"));
        source
            .write_all(format!("{event}\n").as_bytes())
            .expect("the service reads");
        let text = std::fs::read_to_string(place.path("drive.ndjson")).unwrap_or_default();
        text.lines().any(|line| line == event)
    });
    recorder.signal(Signal::INT);
    let line = recorder.wait_for_line("recorded");
    assert!(line.contains(" events"), "{line}");
    assert_eq!(recorder.end().0, Some(0));
}

#[test]
fn a_recording_ends_with_its_duration() {
    let place = Place::new();
    let listener = UnixListener::bind(place.path("radio.sock")).expect("a socket");
    let line = [&encode_json(&recording::reports(1)[0])[..], b"\n"].concat();
    // until the recorder closes the connection
    let service = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the recorder");
        while stream.write_all(&line).is_ok() {}
    });
    let record = recording_to("/dev/null");
    let run = place.run(&[&record[..], &["--duration", "1 s"]].concat());
    // with or without a report in that time
    assert!(run.stderr.contains("recorded"), "{run:?}");
    service.join().expect("it ends");
}

#[test]
fn a_recorder_names_what_is_missing() {
    let place = Place::new().with("old.ndjson", "kept");
    let record = recording_to("old.ndjson");
    let run = place.run(&record);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("radio.sock") && run.stderr.contains("does a service"),
        "{run:?}"
    );

    // one that sends nothing, one that sends nonsense, one that ends too early
    let listener = UnixListener::bind(place.path("radio.sock")).expect("a socket");
    let report = String::from_utf8(encode_json(&recording::reports(1)[0])).expect("text");
    let long = "x".repeat(3 << 20);
    let words = [
        (String::new(), "nothing was recorded"),
        (
            "nonsense\n".to_owned(),
            "nothing was recorded; 1 lines were no reports",
        ),
        (
            format!("{report}\n{long}\n\n{report}\nhalf"),
            "closed before the time was over, after 2 reports of 1 cells; 1 lines",
        ),
    ];
    for (words, expected) in words {
        let arguments = match words.contains("half") {
            true => [&record[..], &["--duration", "60 s"]].concat(),
            false => record.to_vec(),
        };
        let recorder = Daemon::start(&place, &arguments);
        let (mut stream, _) = listener.accept().expect("the recorder");
        stream.write_all(words.as_bytes()).expect("written");
        drop(stream);
        recorder.wait_for_line(expected);
        assert_eq!(recorder.end().0, Some(1));
        let kept = std::fs::read_to_string(place.path("old.ndjson")).expect("a file");
        assert_eq!(kept == "kept", !words.contains("half"), "{kept}");
    }
}
