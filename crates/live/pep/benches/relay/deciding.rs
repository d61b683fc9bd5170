//! Deciding for 2,000 and for 20,000 flows of 200 UEs on radio reports of 1 ms.

use crate::Table;
use crate::relays::Kind;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, wide_open};
use crate::support::traffic::{TIMEOUT, accept, listen};
use crate::support::{Hosts, SERVER};
use dash::{Client, Target};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PORT: u16 = 6_400;
const METRICS: &str = "127.0.0.1:9464";
const UES: u8 = 200;
/// That there may be, and descriptors for them.
const CONNECTIONS: usize = 21_000;
const DESCRIPTORS: u64 = 200_000;
/// What a connection may take of the proxy's, reserves included (its sizing); both ends, which are here, are fewer.
const DESCRIPTORS_EACH: u64 = 7;
const MEASURE: Duration = Duration::from_secs(5);
/// What the server sends on each flow of a round, how many these are, and how long it lasts.
const PIECE: usize = 5_000;
const ROUND_FLOWS: usize = 2_000;
const ROUND: Duration = Duration::from_millis(50);

fn ue(n: u8) -> IpAddr {
    Ipv4Addr::new(10, 45, 0, 20 + n).into()
}

/// Connects from an address of its own.
fn connect_from(hosts: &Hosts, from: IpAddr) -> TcpStream {
    let socket = hosts.client.enter(|| {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        bind(&socket, &SocketAddr::new(from, 0))?;
        connect(&socket, &SocketAddr::new(SERVER.into(), PORT))?;
        Ok::<_, rustix::io::Errno>(socket)
    });
    let stream = TcpStream::from(socket.expect("connected"));
    stream.set_read_timeout(Some(TIMEOUT)).expect("set");
    stream
}

/// Connections of a case, all UEs together.
struct Case {
    near: Vec<TcpStream>,
    far: Vec<TcpStream>,
}

/// What has been counted so far.
struct Counts {
    at: Instant,
    control_seconds: f64,
    reader_seconds: f64,
    taken: f64,
    superseded: f64,
    dropped: f64,
    decisions: f64,
    sent: f64,
    unsent: f64,
}

impl Counts {
    fn now(daemon: &Daemon, radio: &Radio) -> Self {
        let status = daemon.status();
        let control = &status["control"];
        let of = |value: &serde_json::Value| value.as_f64().expect("a number");
        let reports = &control["reports"];
        Self {
            at: Instant::now(),
            control_seconds: of(&control["busy_seconds"]),
            reader_seconds: thread_seconds(daemon.child.id(), "reports"),
            taken: of(&reports["believed"]),
            superseded: of(&reports["superseded"]),
            dropped: of(&reports["dropped"]),
            decisions: of(&control["decisions"]),
            sent: radio.sent() as f64,
            unsent: radio.unsent() as f64,
        }
    }
}

/// Measures the control thread's share of a core, and the dashboard's.
pub fn measure(hosts: &Hosts, kinds: &[Kind], table: &mut Table) {
    let ues: Vec<IpAddr> = (0..UES).map(ue).collect();
    let lines: Vec<String> = ues
        .iter()
        .map(|ip| format!("ip addr add {ip}/24 dev c0"))
        .collect();
    hosts.client.sh(&lines.join("\n"));
    let available = descriptors();
    for flows_each in [10, 100] {
        let flows = ues.len() * flows_each;
        if flows as u64 * DESCRIPTORS_EACH > available {
            table.note(format!(
                "{flows} flows: not measured, for {available} descriptors do not suffice."
            ));
            continue;
        }
        measure_case(hosts, kinds, table, &ues, flows_each);
    }
}

/// As many descriptors as this process, and those that it starts, may have.
fn descriptors() -> u64 {
    let wanted = Rlimit {
        current: Some(DESCRIPTORS),
        maximum: Some(DESCRIPTORS),
    };
    if setrlimit(Resource::Nofile, wanted).is_ok() {
        return DESCRIPTORS;
    }
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, current).expect("up to the maximum");
    maximum.unwrap_or(DESCRIPTORS)
}

fn measure_case(
    hosts: &Hosts,
    kinds: &[Kind],
    table: &mut Table,
    ues: &[IpAddr],
    flows_each: usize,
) {
    let flows = ues.len() * flows_each;
    let folder = tempfile::tempdir().expect("a folder");
    let named = ues.to_vec();
    let radio = Radio::start(&folder.path().join("radio"), move |n, at| {
        wide_open(&named, n, at)
    });
    let config = format!(
        "{}\n[reports]\nsource = \"unix:{{dir}}/radio\"\n[metrics]\nlisten = \"{METRICS}\"\n\
         [limits]\nconnections = {CONNECTIONS}\n",
        TRANSPARENT.replace("level = \"debug\"", "level = \"info\"")
    );
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
    let listener = listen(&hosts.server, (SERVER, PORT).into());
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for ip in ues {
        for _ in 0..flows_each {
            near.push(connect_from(hosts, *ip));
            far.push(accept(&listener).0);
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    let traffic = traffic(Case { near, far }, Arc::clone(&stop));
    daemon.wait_until("all are under control", || {
        daemon.status()["control"]["cells"][0]["flows"].as_u64() == Some(flows as u64)
    });
    std::thread::sleep(Duration::from_secs(1));
    let before = Counts::now(&daemon, &radio);
    std::thread::sleep(MEASURE);
    let after = Counts::now(&daemon, &radio);
    let seconds = (after.at - before.at).as_secs_f64();
    let of = |count: fn(&Counts) -> f64| (count(&after) - count(&before)) / seconds;
    for (what, value) in [
        ("reports sent a second", of(|c| c.sent)),
        ("of those, without room in the socket", of(|c| c.unsent)),
        ("reports taken a second", of(|c| c.taken)),
        ("of those, superseded", of(|c| c.superseded)),
        ("reports dropped a second", of(|c| c.dropped)),
        ("decisions a second", of(|c| c.decisions)),
        ("deciding, % of a core", 100.0 * of(|c| c.control_seconds)),
        (
            "reading reports, % of a core",
            100.0 * of(|c| c.reader_seconds),
        ),
    ] {
        let values = kinds
            .iter()
            .map(|kind| (*kind == Kind::Brimful).then_some(value));
        table.row(format!("{flows} flows: {what}"), values.collect());
    }
    let shown = (flows_each == 10).then(|| watched(hosts, &daemon));
    stop.store(true, Relaxed);
    let rate = traffic.join().expect("it ends");
    table.note(format!(
        "{flows} flows of {UES} UEs, {:.0} Mbit/s in all.",
        rate * 8.0 / 1e6
    ));
    if let Some(shown) = shown {
        table.note(format!(
            "Showing 200 of them and all UEs to one who watches the dashboard, 20 times a second: {:.1} % \
             of a core, in threads of its own.",
            shown * 100.0
        ));
    }
}

/// The share of a core that the dashboard takes while one watches it.
fn watched(hosts: &Hosts, daemon: &Daemon) -> f64 {
    let target = Target::parse(METRICS).expect("an address");
    let client = hosts.proxy.enter(|| Client::connect(target, None));
    let mut client = client.expect("a dashboard");
    let watching = std::thread::spawn(move || client.watch(MEASURE * 2, |_| false));
    std::thread::sleep(Duration::from_secs(1));
    let (began, before) = (Instant::now(), thread_seconds(daemon.child.id(), "dash"));
    std::thread::sleep(MEASURE);
    let after = thread_seconds(daemon.child.id(), "dash");
    let share = (after - before) / began.elapsed().as_secs_f64();
    let view = watching.join().expect("it ends").expect("it was shown");
    assert_eq!(view.entities("flow").len(), 200, "flows that are shown");
    share
}

/// CPU time of the threads whose names begin so, seconds.
fn thread_seconds(process: u32, with: &str) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let of_task = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let fields: Vec<f64> = rest.split(' ').filter_map(|f| f.parse().ok()).collect();
        // user and system time, clock ticks of 10 ms: fields 14 and 15 of proc(5), the state is left out
        name.starts_with(with)
            .then(|| (fields[10] + fields[11]) / 100.0)
    };
    tasks.filter_map(|task| of_task(task.ok()?)).sum()
}

/// Sends on all flows, so many in a round. Gives the rate, byte/s.
fn traffic(mut case: Case, stop: Arc<AtomicBool>) -> std::thread::JoinHandle<f64> {
    std::thread::spawn(move || {
        let (piece, mut buffer) = (vec![0; PIECE], vec![0; PIECE]);
        let (began, mut sent) = (Instant::now(), 0);
        while !stop.load(Relaxed) {
            let far = case.far.chunks_mut(ROUND_FLOWS);
            for (far, near) in far.zip(case.near.chunks_mut(ROUND_FLOWS)) {
                let round = Instant::now();
                for stream in &mut *far {
                    stream.write_all(&piece).expect("sent");
                }
                for stream in &mut *near {
                    stream.read_exact(&mut buffer).expect("received");
                }
                sent += far.len() * PIECE;
                std::thread::sleep(ROUND.saturating_sub(round.elapsed()));
            }
        }
        sent as f64 / began.elapsed().as_secs_f64()
    })
}
