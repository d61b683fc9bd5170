//! Reports that are recorded and watched.

use super::{Daemon, SERVICE, readers_come, recording_to, send};
use crate::{Place, recording};
use rnis::RadioReport;
use rnis::codec::{decode_json, encode_json};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::Path;
use testing::wait_until;

fn lines(path: &Path) -> Vec<RadioReport> {
    let text = std::fs::read_to_string(path).expect("a recording");
    let reports = text.lines().map(|line| decode_json(line.as_bytes()));
    reports.collect::<Result<_, _>>().expect("reports only")
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

/// The same reports as a trace, which a scenario plays.
#[test]
fn a_recording_of_a_user_is_a_trace_that_is_played() {
    let place = Place::new();
    let reports = recording::reports(60);
    let cell = UnixListener::bind(place.path("cell.sock")).expect("a socket");
    let arguments = [
        "trace",
        "record",
        "--socket",
        "cell.sock",
        "--out",
        "drive.csv",
    ];
    let recorder = Daemon::start(&place, &arguments);
    let (mut source, _) = cell.accept().expect("the recorder connects");
    for report in &reports {
        send(&mut source, report);
    }
    // the end of the service ends the recording
    drop(source);
    let line = recorder.wait_for_line("recorded");
    assert!(line.contains("recorded 60 reports"), "{line}");
    assert_eq!(recorder.end().0, Some(0));
    let info = place
        .run(&["trace", "info", "drive.csv", "--json"])
        .succeeded()
        .json();
    assert_eq!(info["content"], "CQI over time", "{info}");
    let cqi = f64::from(reports[0].ues[0].cqi.get());
    assert_eq!(
        info["cqi"]["max"].as_f64().map(|max| max >= cqi),
        Some(true),
        "{info}"
    );
    let scenario = "[path]\nrtt = \"40 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n\
        [ue.phone.channel]\nkind = \"trace\"\nfile = \"drive.csv\"\n\
        [flow.bulk]\napp = { kind = \"bulk\", size = \"100 kB\" }\n";
    let place = place.with("s.toml", scenario);
    let run = place
        .run(&["run", "s.toml", "--json", "--out", "out"])
        .succeeded();
    assert!(run.json()["flows"][0]["completion_s"]["mean"].as_f64() > Some(0.0));
}
