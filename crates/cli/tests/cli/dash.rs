//! `brimful dash` and `brimful run --dash`: what they serve, how they end, what they refuse.

use super::{CELL, Place, Run, WIRE, names};
use dash::{Client, Event, Target};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use testing::{HANG_LIMIT, wait_for};

/// A command with a dashboard, until it ends.
struct Served {
    child: Child,
    /// Where it is served.
    address: String,
}

impl Served {
    /// The dashboard of a path.
    fn dash(place: &Place, path: &str, more: &[&str]) -> Self {
        let mut arguments = vec!["dash", path, "--open", "no", "--listen", "127.0.0.1:0"];
        arguments.extend(more);
        let mut command = place.command(&arguments);
        let mut child = started(command.stdout(Stdio::piped()));
        let address = address_in(child.stdout.take().expect("a pipe"));
        Self { child, address }
    }

    /// A run that is shown.
    fn run(place: &Place, more: &[&str]) -> Self {
        let mut arguments = vec!["run", "s.toml", "--json", "--dash=127.0.0.1:0"];
        arguments.extend(more);
        let mut command = place.command(&arguments);
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = started(command);
        let address = address_in(child.stderr.take().expect("a pipe"));
        Self { child, address }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), signal).expect("it lives");
    }

    /// Waits for its end; gives its exit code.
    fn end(mut self) -> Option<i32> {
        wait_for("its end", || self.child.try_wait().expect("a child")).code()
    }

    /// Status and body of an answer.
    fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("the dashboard listens");
        stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
        let address = &self.address;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        (status.expect("a status"), body.to_owned())
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// The events that a viewer receives, until this holds for one.
    fn watch(&self, mut is_enough: impl FnMut(&Event) -> bool) -> Vec<Event> {
        let target = Target::parse(&self.address).expect("an address");
        let mut client = Client::connect(target, None).expect("a connection");
        let deadline = Instant::now() + HANG_LIMIT;
        let mut events = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let event = client.next(left).expect("it lives").expect("in time");
            let enough = is_enough(&event);
            events.push(event);
            if enough {
                return events;
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn started(command: &mut Command) -> Child {
    command.spawn().expect("the command starts")
}

/// The address in the output of a command; later output is read and dropped.
fn address_in(pipe: impl Read + Send + 'static) -> String {
    let mut lines = BufReader::new(pipe).lines();
    let mut before = Vec::new();
    let address = loop {
        let line = lines.next().and_then(Result::ok);
        let line = line.unwrap_or_else(|| panic!("no address is printed: {before:?}"));
        if let Some((_, rest)) = line.split_once("http://") {
            let address = rest.split('/').next().unwrap_or_default();
            break address.to_owned();
        }
        before.push(line);
    };
    std::thread::spawn(move || lines.for_each(drop));
    address
}

fn goodput(event: &Event) -> bool {
    matches!(event, Event::Table(flows) if flows.iter().any(|flow| {
        flow.get("goodput_bps").and_then(Value::as_f64).is_some_and(|bps| bps > 0.0)
    }))
}

#[test]
fn results_are_served_with_their_series_and_broken_ones_with_the_reason() {
    let place = Place::new().with("s.toml", WIRE);
    let run = ["run", "s.toml", "--out", "results/one", "--repeats", "2"];
    place.run(&run).succeeded();
    for (folder, file, text) in [
        ("torn", "manifest.json", "{"),
        ("bad", "samples.parquet", "PAR1"),
    ] {
        let path = place.path("results").join(folder);
        std::fs::create_dir(&path).expect("a folder");
        for name in super::folder::CONTENTS {
            let from = place.path("results/one").join(name);
            std::fs::copy(from, path.join(name)).expect("copied");
        }
        std::fs::write(path.join(file), text).expect("written");
    }
    let dash = Served::dash(&place, "results", &[]);
    let info = dash.json("/dash/api/info");
    assert_eq!(info["mode"], "results", "{info}");
    assert_eq!(info["title"], "results", "{info}");
    let (status, page) = dash.get("/dash/");
    assert!(
        status == 200 && page.starts_with("<!doctype html>"),
        "{page}"
    );

    let list = dash.json("/dash/api/results");
    let ids: Vec<&str> = list["results"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|r| r["id"].as_str())
        .collect();
    assert_eq!(ids, ["bad", "one", "torn"]);
    assert_eq!(list["results"][1]["scenario"], "wire");
    assert_eq!(list["results"][1]["repeats"], 2);
    let torn = list["results"][2]["error"].as_str().unwrap_or_default();
    assert!(torn.contains("manifest.json"), "{torn}");

    let point = dash.json("/dash/api/results/one/points/0");
    assert_eq!(point["seeds"], serde_json::json!([7, 8]), "{point}");
    let written = std::fs::read(place.path("results/one/summary.json")).expect("a file");
    let written: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(point["summary"], written);

    let path = "/dash/api/results/one/points/0/series?seed=8&from=1&to=2&width=50";
    let series = dash.json(path);
    let all = series["series"].as_array().expect("series");
    let rtt = all
        .iter()
        .find(|s| s["entity"] == "bulk" && s["metric"] == "rtt_ms");
    let rtt = rtt.expect("the RTT of a flow");
    let times = rtt["t"].as_array().expect("times");
    let within = |t: &Value| t.as_f64().is_some_and(|t| (1.0..=2.0).contains(&t));
    assert!(!times.is_empty() && times.len() <= 100, "{}", times.len());
    assert!(times.iter().all(within), "{times:?}");
    assert_eq!(rtt["kind"], "flow");

    for (path, status, message) in [
        ("one/points/1", 404, "point 1"),
        ("one/points/0/series?seed=9", 404, "seed 9"),
        ("none/points/0", 404, "none"),
        ("torn/points/0", 422, "manifest.json"),
        ("bad/points/0/series", 422, "samples.parquet"),
    ] {
        let (found, body) = dash.get(&format!("/dash/api/results/{path}"));
        assert_eq!(found, status, "{path}: {body}");
        assert!(body.contains(message), "{path}: {body}");
    }
    assert_eq!(dash.get("/dash/live").0, 404);
    dash.signal(Signal::INT);
    assert_eq!(dash.end(), Some(0));
}

#[test]
fn a_scenario_is_run_and_shown_to_its_end() {
    let place = Place::new().with("s.toml", CELL);
    let dash = Served::dash(&place, "s.toml", &["--speed", "max"]);
    let info = dash.json("/dash/api/info");
    assert_eq!(info["mode"], "live", "{info}");
    assert_eq!(info["world"], "sim", "{info}");
    let events = dash.watch(|event| matches!(event, Event::End(_)));
    let is_session =
        |event: &Event| matches!(event, Event::Hello { source, .. } if source == "run");
    assert!(is_session(&events[0]), "{:?}", events[0]);
    let series: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Series(series) => Some(series),
            _ => None,
        })
        .flatten()
        .collect();
    for (kind, entity, metric) in [("flow", "bulk", "rtt_ms"), ("ue", "phone", "goodput_bps")] {
        let found = series
            .iter()
            .any(|s| (&*s.kind, &*s.entity, &*s.metric) == (kind, entity, metric));
        assert!(found, "{kind} {entity} {metric}: {series:?}");
    }
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Frame { .. }))
    );
    assert!(events.iter().any(goodput), "no table of flows");
    assert_eq!(
        events.last(),
        Some(&Event::End("the run has ended".to_owned()))
    );
    // it stays to be looked at
    assert_eq!(dash.json("/dash/api/info")["mode"], "live");
    assert_eq!(place.names(), ["s.toml"], "nothing is written");
    dash.signal(Signal::TERM);
    assert_eq!(dash.end(), Some(0));
}

#[test]
fn a_scenario_is_shown_no_faster_than_the_given_speed() {
    let place = Place::new().with("s.toml", CELL);
    let start = Instant::now();
    let dash = Served::dash(&place, "s.toml", &["--speed", "0.05"]);
    // 0.1 s of the scenario are 2 s of the clock, or more on a busy machine
    let events = dash.watch(|event| matches!(event, Event::Frame { t, .. } if *t >= 0.1));
    let Some(Event::Frame { t, .. }) = events.last() else {
        panic!("{events:?}");
    };
    let clock = start.elapsed().as_secs_f64();
    assert!(t / clock <= 0.05, "{t} s after {clock} s");
    assert!(!events.iter().any(|event| matches!(event, Event::End(_))));
    dash.signal(Signal::INT);
    assert_eq!(dash.end(), Some(0));
}

#[test]
fn what_cannot_be_shown_is_refused_before_anything_is_served() {
    let sweep = format!(
        "{WIRE}
[sweep]
rtt = [\"10 ms\", \"40 ms\"]
"
    );
    let place = Place::new()
        .with("s.toml", CELL)
        .with("sweep.toml", &sweep)
        .with("bad.toml", "x");
    std::fs::create_dir(place.path("empty")).expect("a folder");
    for (arguments, message) in [
        (&["none"] as &[&str], "none"),
        (&["empty"], "holds no results"),
        (&["bad.toml"], "bad.toml"),
        (&["sweep.toml"], "sweep"),
        (&["empty", "--seed", "1"], "for a scenario file"),
        (&["s.toml", "--speed", "0"], "--speed"),
        (&["s.toml", "--set", "nothing=1"], "nothing"),
        (&["s.toml", "--listen", "0.0.0.0:0"], "token"),
        (&["s.toml", "--token-file", "none"], "none"),
    ] {
        let mut all = vec!["dash", "--open", "no"];
        if !arguments.contains(&"--listen") {
            all.extend(["--listen", "127.0.0.1:0"]);
        }
        all.extend(arguments);
        let run = place.run(&all);
        assert_eq!(run.code, Some(2), "{arguments:?}: {run:?}");
        assert!(run.stderr.starts_with("error: "), "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {run:?}");
        assert_eq!(run.stdout, "", "{arguments:?}");
    }
}

#[test]
fn an_address_in_use_is_an_error_and_nothing_is_written() {
    let place = Place::new().with("s.toml", WIRE);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let refused = |run: &Run| {
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(
            run.stderr.contains(&format!("cannot listen at {address}")),
            "{run:?}"
        );
        assert!(run.stderr.contains("another port"), "{run:?}");
    };
    refused(&place.run(&["dash", "s.toml", "--open", "no", "--listen", &address]));
    let shown = format!("--dash={address}");
    refused(&place.run(&["run", "s.toml", "--out", "o", &shown]));
    assert_eq!(place.names(), ["s.toml"]);
}

#[test]
fn a_run_that_is_shown_ends_and_leaves_its_results() {
    let long = CELL.replace("\"2 s\"", "\"300 s\"");
    let place = Place::new().with("s.toml", &long);
    let run = Served::run(&place, &["--out", "o"]);
    // a viewer watches until it ends, which may be before the viewer connects
    let target = Target::parse(&run.address).expect("an address");
    if let Ok(mut client) = Client::connect(target, None) {
        while let Ok(Some(_)) = client.next(HANG_LIMIT) {}
    }
    assert_eq!(run.end(), Some(0));
    assert_eq!(names(&place.path("o")), super::folder::CONTENTS);
}

#[test]
fn a_run_that_is_shown_and_interrupted_leaves_nothing() {
    let long = CELL.replace("\"2 s\"", "\"36000 s\"");
    let place = Place::new().with("s.toml", &long);
    let run = Served::run(&place, &["--out", "o"]);
    run.watch(goodput);
    run.signal(Signal::INT);
    assert_eq!(run.end(), Some(130));
    assert_eq!(place.names(), ["s.toml"]);
}

/// The disk that the results are on is full, and so is that of its stderr: what is there is shown, a run that does
/// not fit leaves nothing, and one that was shown as it failed has ended for its viewers too.
#[test]
fn results_are_shown_while_the_disk_under_them_is_full() {
    if !testing::has_root("results_are_shown_while_the_disk_under_them_is_full") {
        return;
    }
    let place = Place::new().with("s.toml", WIRE);
    let disk = place.path("disk");
    let _mount = super::folder::Mount::new(&disk, "2m");
    place
        .run(&["run", "s.toml", "--out", "disk/one"])
        .succeeded();
    let full = || std::fs::File::create("/dev/full").expect("a device");
    let arguments = ["dash", "disk", "--open", "no", "--listen", "127.0.0.1:0"];
    let mut command = place.command(&arguments);
    let mut child = started(command.stdout(Stdio::piped()).stderr(full()));
    let address = address_in(child.stdout.take().expect("a pipe"));
    let dash = Served { child, address };
    // the rest of the disk
    let mut rest = std::fs::File::create(disk.join("rest")).expect("a file");
    while rest.write_all(&[0; 4_096]).is_ok() {}
    let failed = place.run(&["run", "s.toml", "--out", "disk/two"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let list = dash.json("/dash/api/results");
    assert_eq!(list["results"].as_array().map(Vec::len), Some(1), "{list}");
    let series = dash.json("/dash/api/results/one/points/0/series");
    assert!(series["series"].as_array().is_some_and(|s| !s.is_empty()));
    dash.signal(Signal::INT);
    assert_eq!(dash.end(), Some(0));

    let long = WIRE.replace("\"4 s\"", "\"300 s\"");
    std::fs::write(place.path("long.toml"), long).expect("written");
    let mut command = place.command(&[
        "run",
        "long.toml",
        "--out",
        "disk/two",
        "--dash=127.0.0.1:0",
    ]);
    let mut child = started(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let address = address_in(child.stderr.take().expect("a pipe"));
    let run = Served { child, address };
    if let Ok(mut client) = Client::connect(Target::parse(&run.address).expect("an address"), None)
    {
        while let Ok(Some(_)) = client.next(HANG_LIMIT) {}
    }
    assert_eq!(run.end(), Some(1));
    assert_eq!(names(&disk), ["one", "rest"]);
}

/// A run is shown with no line about it to be had: the address alone has to be printed.
#[test]
fn a_full_disk_under_stderr_ends_no_dashboard() {
    let place = Place::new().with("s.toml", CELL);
    let full = || std::fs::File::create("/dev/full").expect("a device");
    let mut arguments = vec!["dash", "s.toml", "--open", "no", "--listen", "127.0.0.1:0"];
    arguments.extend(["--speed", "max"]);
    let mut child = started(
        place
            .command(&arguments)
            .stdout(Stdio::piped())
            .stderr(full()),
    );
    let address = address_in(child.stdout.take().expect("a pipe"));
    let dash = Served { child, address };
    // its end is printed too
    dash.watch(|event| matches!(event, Event::End(_)));
    assert_eq!(dash.json("/dash/api/info")["mode"], "live");
    dash.signal(Signal::INT);
    assert_eq!(dash.end(), Some(0));
    let run = place.command(&arguments).stdout(full()).output();
    let run = Run::from(run.expect("the command starts"));
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("the output cannot be written"),
        "{run:?}"
    );
}

/// Frames come on, in order, a day forward and a year back.
#[test]
fn steps_of_the_clock_do_not_stop_a_dashboard() {
    let place = Place::new().with("s.toml", &CELL.replace("\"2 s\"", "\"36000 s\""));
    let name = "steps_of_the_clock_do_not_stop_a_dashboard";
    let Some(clock) = testing::StepClock::try_new(name, &place.path("")) else {
        return;
    };
    let arguments = ["dash", "s.toml", "--open", "no", "--listen", "127.0.0.1:0"];
    let mut command = place.command(&arguments);
    command.envs(clock.environment());
    let mut child = started(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let address = address_in(child.stdout.take().expect("a pipe"));
    let dash = Served { child, address };
    let (mut last, mut frames) = (0.0, 0);
    dash.watch(|event| {
        if let Event::Frame { t, .. } = event {
            assert!(*t >= last, "{t} s after {last} s");
            (last, frames) = (*t, frames + 1);
        }
        match frames {
            3 => clock.set(86_400),
            6 => clock.set(-365 * 86_400),
            _ => {}
        }
        frames == 9
    });
    dash.signal(Signal::INT);
    assert_eq!(dash.end(), Some(0));
}
