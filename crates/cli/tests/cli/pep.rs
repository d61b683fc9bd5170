//! `brimful pep`: checked, refused, and fed by brokers that die and return.

use super::{Place, Run};
use crate::processes::{Nats, Rabbit};
use rnis::codec::encode_json;
use rnis::{CellId, CellReport, LinkQuality, RadioReport, Rnti, UeReport};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use testing::{Missing, skip, wait_for, wait_until};
use units::{Duration as Span, Instant as Time, Prb, Slot};

/// Report number `n` of one UE, at this time since the first, on a clock of its own.
pub(super) fn report(n: u64, since: Duration) -> RadioReport {
    let since = Span::from_micros(since.as_micros() as u64);
    let ue = UeReport {
        ip: Some([127, 0, 0, 1].into()),
        seq: n,
        ..UeReport::idle(
            Rnti(17_921),
            LinkQuality::Measured {
                full_band_millibytes: 1_000_000,
            },
            Time::ZERO + Span::from_secs(1_000) + since,
        )
    };
    RadioReport {
        cell: CellReport {
            slot: Slot::new(n * 5),
            slots: 5,
            ..CellReport::fdd(CellId(1), Prb::new(100))
        },
        ues: vec![ue],
    }
}

#[test]
fn the_shipped_configuration_is_good() {
    let place = Place::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/pep.toml");
    let run = place.run(&["pep", "--config", file, "--check"]).succeeded();
    assert!(run.stdout.contains("valid"), "{run:?}");
}

#[test]
fn the_shipped_unit_is_hardened() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/systemd/brimful-pep.service"
    );
    // an exposure of at most 2.5 of 10
    let arguments = ["security", "--offline=true", "--threshold=25", file];
    match Command::new("systemd-analyze").args(arguments).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => skip(
            "the_shipped_unit_is_hardened",
            Missing::Data("systemd-analyze"),
        ),
    }
}

#[test]
fn a_faulty_configuration_is_refused_with_its_place() {
    let place = Place::new().with("pep.toml", "mode = \"explicit\"\ncontorl = \"split\"\n");
    let run = place.run(&["pep", "--config", "pep.toml"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("pep.toml:2:1"), "{run:?}");
    assert!(run.stderr.contains("did you mean \"control\""), "{run:?}");
}

#[test]
fn a_configuration_that_neither_splits_nor_marks_is_refused() {
    let alone =
        "ran-interface = \"ran0\"\n[split]\nenabled = false\n[reports]\nsource = \"unix:/radio\"\n";
    let place = Place::new().with("pep.toml", alone);
    let run = place.run(&["pep", "--config", "pep.toml", "--check"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("pep.toml"), "{run:?}");
    assert!(
        run.stderr
            .contains("[split] enabled = false and [unsplit] mode = \"off\""),
        "{run:?}"
    );
    let place = Place::new().with("pep.toml", &format!("{alone}[unsplit]\nmode = \"mark\"\n"));
    place
        .run(&["pep", "--config", "pep.toml", "--check"])
        .succeeded();
}

/// A process that ends with its value.
pub(super) struct Process(Child);

impl Process {
    pub(super) fn start(place: &Place, arguments: &[&str]) -> Self {
        let log = std::fs::File::create(place.path(arguments[0])).expect("a log");
        let child = place
            .command(arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Self(child.expect("the command starts"))
    }

    /// Has it end by SIGTERM. True if it ends without fault.
    pub(super) fn stop(&mut self) -> bool {
        let pid = Pid::from_child(&self.0);
        let is_sent = kill_process(pid, Signal::TERM).is_ok();
        is_sent && self.0.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A cell that reports to the first client that connects, one report after the other, until its value ends.
pub(super) struct Cell(Arc<AtomicBool>);

impl Cell {
    fn start(place: &Place) -> Self {
        Self::reporting(place, report)
    }

    /// The same of other reports: by their number, and the time since the first.
    pub(super) fn reporting(
        place: &Place,
        make: impl Fn(u64, Duration) -> RadioReport + Send + 'static,
    ) -> Self {
        let listener = UnixListener::bind(place.path("cell.sock")).expect("a socket");
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("the service");
            let began = Instant::now();
            for n in 1.. {
                let mut line = encode_json(&make(n, began.elapsed()));
                line.push(b'\n');
                if is_over.load(Relaxed) || stream.write_all(&line).is_err() {
                    return;
                }
                // the interval of reports, whatever it is in the end
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        Self(stop)
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// The state of the proxy's reports, as it prints it.
pub(super) fn control(place: &Place) -> Option<Value> {
    let run: Run = place.run(&["pep", "status", "--socket", "pep.sock", "--json"]);
    let status: Value = serde_json::from_str(&run.stdout).ok()?;
    Some(status["control"].clone())
}

/// Prints the state and the logs of the processes if the test fails.
pub(super) struct Logs<'a>(pub(super) &'a Place);

impl Drop for Logs<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = |name| std::fs::read_to_string(self.0.path(name)).unwrap_or_default();
            eprintln!("{:?}\n{}\n{}", control(self.0), log("pep"), log("rnis"));
        }
    }
}

fn until(place: &Place, what: &str, so: impl Fn(&Value) -> bool) {
    let _logs = Logs(place);
    wait_until(what, || control(place).is_some_and(|control| so(&control)));
}

fn is_following(control: &Value) -> bool {
    control["cells"][0]["state"] == "following" && control["source_connected"] == true
}

/// A cell, the service that publishes its reports, and a proxy that reads them.
fn chain(transport: &str, url: &str) -> (Place, Cell, [Process; 2]) {
    let service = format!(
        "[[source]]\nname = \"cell\"\nkind = \"reports\"\nurl = \"unix:cell.sock\"\n\
         [{transport}]\nurl = \"{url}\"\n"
    );
    let proxy = format!(
        "mode = \"explicit\"\n[explicit]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:9\"\n\
         [reports]\nsource = \"{url}\"\nplain-after = \"500 ms\"\n[admin]\nsocket = \"pep.sock\"\n"
    );
    let place = Place::new()
        .with("rnis.toml", &service)
        .with("pep.toml", &proxy);
    let cell = Cell::start(&place);
    let service = Process::start(&place, &["rnis", "--config", "rnis.toml"]);
    let proxy = Process::start(&place, &["pep", "--config", "pep.toml"]);
    (place, cell, [service, proxy])
}

/// No reports any more; the connections of a proxy whose broker is dead are spliced and no more.
fn is_plain(control: &Value) -> bool {
    control["cells"][0]["state"] == "plain" && control["source_connected"] == false
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

#[test]
fn reports_come_out_of_nats_which_dies_and_returns() {
    let runtime = runtime();
    let Some(mut nats) = Nats::try_new("reports_come_out_of_nats_which_dies_and_returns") else {
        return;
    };
    runtime.block_on(nats.start());
    let (place, _cell, _processes) = chain("nats", &nats.url());
    until(&place, "it follows", is_following);
    nats.kill();
    until(&place, "it is plain", is_plain);
    runtime.block_on(nats.start());
    until(&place, "it follows again", is_following);
}

#[test]
fn reports_come_out_of_rabbitmq_which_dies_and_returns() {
    let runtime = runtime();
    let test = "reports_come_out_of_rabbitmq_which_dies_and_returns";
    let Some(mut rabbit) = Rabbit::try_new(test) else {
        return;
    };
    runtime.block_on(rabbit.start());
    let (place, _cell, _processes) = chain("amqp", &rabbit.url());
    until(&place, "it follows", is_following);
    rabbit.kill();
    until(&place, "it is plain", is_plain);
    runtime.block_on(rabbit.start());
    until(&place, "it follows again", is_following);
}

#[test]
fn a_daemons_dashboard_is_shown_in_the_terminal() {
    let service = "[[source]]\nname = \"cell\"\nkind = \"reports\"\nurl = \"unix:cell.sock\"\n\
                   [metrics]\nlisten = \"127.0.0.1:0\"\n";
    let place = Place::new().with("rnis.toml", service);
    let _cell = Cell::start(&place);
    let _service = Process::start(&place, &["rnis", "--config", "rnis.toml"]);
    let address = wait_for("the address of the metrics", || {
        let log = std::fs::read_to_string(place.path("rnis")).ok()?;
        let (_, rest) = log.split_once("metrics=\"")?;
        Some(rest.split_once('"')?.0.to_owned())
    });
    let run = wait_for("the cell in the table", || {
        let run = place.run(&["top", &address, "--once"]);
        run.stdout.contains("\ncell 1 ").then_some(run)
    })
    .succeeded();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("brimful rnis  live/rnis"), "{run:?}");
    assert!(lines[1].starts_with("cell 1 "), "{run:?}");
    assert!(
        lines[1].contains("Mbit/s") && lines[1].contains("% used"),
        "{run:?}"
    );
    assert!(lines[2].starts_with("UE"), "{run:?}");
    let bad = service.replace("[metrics]", "[dashboard]\nrates = 1\n[metrics]");
    let place = Place::new().with("rnis.toml", &bad);
    let run = place.run(&["rnis", "--config", "rnis.toml", "--check"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("did you mean \"rate\""), "{run:?}");
    let missing = bad.replace("rates = 1", "token-file = \"none\"");
    let place = Place::new().with("rnis.toml", &missing);
    let run = place.run(&["rnis", "--config", "rnis.toml"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("none: cannot be read"), "{run:?}");
}
