//! Queues of UEs above their modems (`uplink-queue`): `brimful ue` on the UE's host, as an operator would run it, and the
//! modem's reports that it reads.
//!
//! ```text
//!   UE's host: programs --> radio0 --> [brimful ue] --> radio0 ==> the cell: the modem's buffer
//!                                           ^                         | sent, waiting
//!                                           '--- modem-N.sock --------'
//! ```

use crate::Error;
use crate::child::Daemon;
use crate::cleanup::Folder;
use crate::clock::Clock;
use crate::names::UE_DEVICE;
use crate::namespace::Namespace;
use crate::reports::{Reader, listen};
use crate::topology::Hosts;
use edge::uplink::{Carried, ModemReport, UplinkConfig, UplinkMode};
use scenario::{Experiment, UplinkQueueSpec};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration as StdDuration;
use units::{Bytes, Duration, Instant};

/// Where each daemon serves its state: every UE has a host of its own.
const PAGES: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9468);
/// How long an answer may take.
const TIMEOUT: StdDuration = StdDuration::from_secs(5);

/// That the lab can run the queues.
///
/// # Errors
/// A UE behind a tunnel's gateway has no modem of its own.
pub(crate) fn check(experiment: &Experiment) -> Result<(), Error> {
    let has_queue = experiment.ues.iter().find(|ue| ue.uplink_queue.is_some());
    match (has_queue, &experiment.tunnel) {
        (Some(ue), Some(_)) => Err(Error::Unsupported {
            what: format!("uplink-queue of {:?} with a tunnel", ue.name),
            why: "in the lab the tunnel's gateway is between the UE and the radio; take \"off\", or --world sim"
                .to_owned(),
        }),
        _ => Ok(()),
    }
}

/// What the cell is to model of an experiment: the queues above the modems are the daemons'.
pub(crate) fn without_queues(experiment: &Experiment) -> Experiment {
    let mut modelled = experiment.clone();
    for ue in &mut modelled.ues {
        ue.uplink_queue = None;
    }
    modelled
}

/// The daemons of the UEs that have a queue, by UE.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    daemons: Vec<(usize, Daemon)>,
    modems: Option<Modems>,
}

impl Queues {
    /// Starts them, and waits until they are ready.
    ///
    /// # Errors
    /// One that cannot be started.
    pub(crate) fn start(
        experiment: &Experiment,
        hosts: &Hosts,
        folder: &Folder,
        program: &Path,
    ) -> Result<Self, Error> {
        let (mut daemons, mut modems) = (Vec::new(), Vec::new());
        for (index, ue) in experiment.ues.iter().enumerate() {
            let Some(spec) = &ue.uplink_queue else {
                continue;
            };
            let file =
                |of: &str, ending: &str| folder.path().join(format!("{of}-{}.{ending}", index + 1));
            let (config, socket) = (file("ue", "toml"), file("modem", "sock"));
            let listener = listen(&socket)?;
            let text = configuration(&spec.config, &socket);
            let failed = Error::system(format!("write {}", config.display()));
            fs::write(&config, text).map_err(failed)?;
            let mut command = Command::new(program);
            command.arg("ue").arg("--config").arg(&config);
            let log = format!("ue-{}.log", index + 1);
            let is_ready = |log: &Path| {
                fs::read_to_string(log).is_ok_and(|printed| printed.contains(" ready "))
            };
            let host = &hosts.ues[index];
            let daemon = Daemon::start("brimful ue", command, host, folder, &log, is_ready)?;
            daemons.push((index, daemon));
            modems.push(Modem::new(index, listener, spec));
        }
        Ok(Self {
            daemons,
            modems: Some(Modems(modems)),
        })
    }

    /// What shows the modems, once.
    pub(crate) fn modems(&mut self) -> Modems {
        self.modems.take().unwrap_or_default()
    }

    /// That they still run.
    ///
    /// # Errors
    /// What one printed as it ended.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.daemons.iter_mut().try_for_each(|(_, it)| it.check())
    }

    /// What has become of packets, a line for each.
    pub(crate) fn notes(&self, experiment: &Experiment, hosts: &Hosts) -> Vec<String> {
        let of = |(index, _): &(usize, Daemon)| {
            let status = status(&hosts.ues[*index])?;
            Some(note(&experiment.ues[*index].name, &status))
        };
        self.daemons.iter().filter_map(of).collect()
    }
}

fn note(ue: &str, status: &Value) -> String {
    let packets = &status["packets"];
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let dropped = packets["dropped"].as_object().into_iter().flatten();
    let dropped: u64 = dropped.map(|(_, count)| number(count)).sum();
    format!(
        "the queue above the modem of {ue} was brimful ue, mode {}: {} packets passed, {} of them marked, {dropped} dropped; {} reports of the modem",
        status["mode"].as_str().unwrap_or_default(),
        number(&packets["passed"]),
        number(&packets["marked"]),
        number(&status["modem"]["accepted"]),
    )
}

/// How a daemon stands, if it answers.
fn status(host: &Namespace) -> Option<Value> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&PAGES, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.write_all(b"GET /status HTTP/1.1\r\nHost: ue\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = host.run(|| ask().map_err(Error::system("ask brimful ue")));
    let answer = answer.ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    serde_json::from_str(body).ok()
}

/// The daemon's file, all numbers stated.
fn configuration(config: &UplinkConfig, socket: &Path) -> String {
    let modes = UplinkMode::ALL.iter().zip(UplinkMode::NAMES);
    let mode = modes.filter(|(mode, _)| **mode == config.mode);
    let mode = mode.map(|(_, name)| name).next().unwrap_or_default();
    // the memory is not what bounds here
    let mut text = format!(
        "interface = \"{UE_DEVICE}\"\n[modem]\nsource = \"unix:{}\"\n[metrics]\nlisten = \"{PAGES}\"\n\
         [queue]\nmode = \"{mode}\"\nahead = \"{} ns\"\nlimit = \"{} B\"\nmemory = \"1 GB\"\nrate-fraction = {}\n",
        socket.display(),
        config.ahead.as_nanos(),
        config.buffer.get(),
        config.marker.rate_fraction,
    );
    let mut marker = config.marker;
    for (key, time) in marker.times() {
        let key = key.trim_start_matches("unsplit-");
        text += &format!("{key} = \"{} ns\"\n", time.as_nanos());
    }
    text
}

/// A modem that is shown to its daemon.
struct Modem {
    ue: usize,
    listener: UnixListener,
    reader: Option<Reader>,
    period: Duration,
    next_at: Instant,
}

impl std::fmt::Debug for Modem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Modem")
            .field("ue", &self.ue)
            .finish_non_exhaustive()
    }
}

impl Modem {
    fn new(ue: usize, listener: UnixListener, spec: &UplinkQueueSpec) -> Self {
        Self {
            ue,
            listener,
            reader: None,
            period: spec.status_period,
            next_at: Instant::ZERO + spec.status_period,
        }
    }

    /// A reader that does not keep up loses reports; the newest one connection is served.
    fn show(&mut self, at: u64, (sent, queue): (Bytes, Bytes)) {
        while let Ok((stream, _)) = self.listener.accept() {
            self.reader = Reader::new(stream).or(self.reader.take());
        }
        let report = ModemReport {
            at: Some(Instant::from_nanos(at)),
            carried: Carried::InAll(sent),
            queue,
        };
        let line = report.encode() + "\n";
        self.reader = self.reader.take().and_then(|mut reader| {
            let is_there = reader.send(line.as_bytes());
            is_there.then_some(reader)
        });
    }
}

/// The modems of all UEs that have a queue above.
#[derive(Debug, Default)]
pub(crate) struct Modems(Vec<Modem>);

impl Modems {
    /// When one is to be shown next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.0.iter().map(|modem| modem.next_at).min()
    }

    /// Shows what is due by `now`; `state` has the bytes that a UE's modem has sent, and those that wait in it.
    pub(crate) fn show(
        &mut self,
        now: Instant,
        clock: Clock,
        mut state: impl FnMut(usize) -> Option<(Bytes, Bytes)>,
    ) {
        for modem in &mut self.0 {
            if modem.next_at > now {
                continue;
            }
            while modem.next_at <= now {
                modem.next_at += modem.period;
            }
            if let Some(state) = state(modem.ue) {
                modem.show(clock.monotonic(now), state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edge::marker::MarkerConfig;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_daemons_file_has_every_number() {
        let config = UplinkConfig {
            mode: UplinkMode::Mark,
            marker: MarkerConfig::default(),
            buffer: Bytes::new(1_000),
            ahead: Duration::from_millis(14),
        };
        let text = configuration(&config, Path::new("/lab/modem-1.sock"));
        assert!(
            text.starts_with(
                "interface = \"radio0\"\n[modem]\nsource = \"unix:/lab/modem-1.sock\"\n"
            )
        );
        assert!(text.contains("\nmode = \"mark\"\nahead = \"14000000 ns\"\nlimit = \"1000 B\"\n"));
        for (key, time) in MarkerConfig::default().times() {
            let key = key.strip_prefix("unsplit-").expect("the prefix");
            let line = format!("\n{key} = \"{} ns\"\n", time.as_nanos());
            assert!(text.contains(&line), "{line} in {text}");
        }
    }

    #[test]
    fn what_became_of_packets_is_a_line() {
        let status = serde_json::json!({
            "mode": "queue", "modem": { "accepted": 7 },
            "packets": { "passed": 90, "marked": 4, "dropped": { "law": 1, "limit": 2 } },
        });
        assert_eq!(
            note("phone", &status),
            "the queue above the modem of phone was brimful ue, mode queue: 90 packets passed, 4 of them marked, 3 dropped; 7 reports of the modem"
        );
    }

    #[test]
    fn a_modem_is_shown_each_period_to_who_reads() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("modem.sock");
        let spec = UplinkQueueSpec {
            config: UplinkConfig {
                mode: UplinkMode::Queue,
                marker: MarkerConfig::default(),
                buffer: Bytes::new(1),
                ahead: Duration::from_millis(1),
            },
            status_period: Duration::from_millis(5),
        };
        let modem = Modem::new(3, listen(&path).expect("a socket"), &spec);
        let mut modems = Modems(vec![modem]);
        let clock = Clock::starting_in(Duration::ZERO);
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut shown = Vec::new();
        let mut show = |modems: &mut Modems, ms| {
            modems.show(at(ms), clock, |ue| {
                shown.push((ue, ms));
                Some((Bytes::new(ms * 10), Bytes::new(7)))
            });
        };
        show(&mut modems, 5);
        let reader = UnixStream::connect(&path).expect("it listens");
        show(&mut modems, 9);
        show(&mut modems, 10);
        show(&mut modems, 31);
        assert_eq!(modems.next_deadline(), Some(at(35)));
        assert_eq!(shown, [(3, 5), (3, 10), (3, 31)]);
        let mut lines = BufReader::new(reader).lines();
        for ms in [10, 31] {
            let line = lines.next().expect("a line").expect("read");
            let report = ModemReport::decode(line.as_bytes()).expect("a report");
            assert_eq!(report.carried, Carried::InAll(Bytes::new(ms * 10)));
            let made = clock.monotonic(at(ms));
            assert_eq!(report.at, Some(Instant::from_nanos(made)));
        }
    }
}
