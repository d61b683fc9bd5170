//! Deciding for 2,000 flows of 200 UEs on radio reports of 1 ms.

use crate::Table;
use crate::relays::Kind;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, wide_open};
use crate::support::traffic::{TIMEOUT, accept, listen};
use crate::support::{Hosts, SERVER};
use dash::{Client, Target};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PORT: u16 = 6_200;
const METRICS: &str = "127.0.0.1:9464";
const UES: u8 = 200;
const FLOWS_EACH: usize = 10;
const MEASURE: Duration = Duration::from_secs(5);
/// What the server sends on each flow in a round, and how long a round lasts.
const PIECE: usize = 5_000;
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

/// Measures the control thread's share of a core, and the dashboard's.
pub fn measure(hosts: &Hosts, _kinds: &[Kind], table: &mut Table) {
    let ues: Vec<IpAddr> = (0..UES).map(ue).collect();
    let lines: Vec<String> = ues
        .iter()
        .map(|ip| format!("ip addr add {ip}/24 dev c0"))
        .collect();
    hosts.client.sh(&lines.join("\n"));
    let folder = tempfile::tempdir().expect("a folder");
    let named = ues.clone();
    let radio = Radio::start(&folder.path().join("radio"), move |n, at| {
        wide_open(&named, n, at)
    });
    let config = format!(
        "{}\n[reports]\nsource = \"unix:{{dir}}/radio\"\n[metrics]\nlisten = \"{METRICS}\"\n",
        TRANSPARENT.replace("level = \"debug\"", "level = \"info\"")
    );
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
    let listener = listen(&hosts.server, (SERVER, PORT).into());
    let mut near = Vec::new();
    let mut far = Vec::new();
    for ip in &ues {
        for _ in 0..FLOWS_EACH {
            near.push(connect_from(hosts, *ip));
            far.push(accept(&listener).0);
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    let traffic = traffic(near, far, Arc::clone(&stop));
    std::thread::sleep(Duration::from_secs(1));
    let busy = |status: &serde_json::Value| {
        let control = &status["control"];
        let number = |key: &str| control[key].as_f64().expect("a number");
        let believed = control["reports"]["believed"].as_f64().expect("a number");
        (number("busy_seconds"), believed, number("decisions"))
    };
    let (began, before) = (Instant::now(), busy(&daemon.status()));
    std::thread::sleep(MEASURE);
    let status = daemon.status();
    let (after, seconds) = (busy(&status), began.elapsed().as_secs_f64());
    let shown = watched(hosts, &daemon);
    stop.store(true, Relaxed);
    let rounds = traffic.join().expect("it ends");
    let flows = status["control"]["cells"][0]["flows"].as_u64().unwrap_or(0);
    table.note(format!(
        "Deciding for {flows} flows of {UES} UEs: {:.1} % of a core, with {:.0} reports and {:.0} \
         decisions a second, {:.0} Mbit/s in all ({} reports sent).",
        (after.0 - before.0) / seconds * 100.0,
        (after.1 - before.1) / seconds,
        (after.2 - before.2) / seconds,
        rounds * (PIECE * UES as usize * FLOWS_EACH) as f64 * 8.0 / 1e6,
        radio.sent(),
    ));
    table.note(format!(
        "Showing 200 of them and all UEs to one who watches the dashboard, 20 times a second: {:.1} % \
         of a core, in threads of its own.",
        shown * 100.0
    ));
}

/// The share of a core that the dashboard takes while one watches it.
fn watched(hosts: &Hosts, daemon: &Daemon) -> f64 {
    let target = Target::parse(METRICS).expect("an address");
    let client = hosts.proxy.enter(|| Client::connect(target, None));
    let mut client = client.expect("a dashboard");
    let watching = std::thread::spawn(move || client.watch(MEASURE * 2, |_| false));
    std::thread::sleep(Duration::from_secs(1));
    let (began, before) = (Instant::now(), dash_seconds(daemon.child.id()));
    std::thread::sleep(MEASURE);
    let share = (dash_seconds(daemon.child.id()) - before) / began.elapsed().as_secs_f64();
    let view = watching.join().expect("it ends").expect("it was shown");
    assert_eq!(view.entities("flow").len(), 200, "flows that are shown");
    share
}

/// CPU time of the threads of the dashboard, seconds.
fn dash_seconds(process: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let of_task = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let fields: Vec<f64> = rest.split(' ').filter_map(|f| f.parse().ok()).collect();
        // user and system time, clock ticks of 10 ms: fields 14 and 15 of proc(5), the state is left out
        name.starts_with("dash")
            .then(|| (fields[10] + fields[11]) / 100.0)
    };
    tasks.filter_map(|task| of_task(task.ok()?)).sum()
}

/// Sends on all flows round by round. Gives the rounds a second.
fn traffic(
    mut near: Vec<TcpStream>,
    mut far: Vec<TcpStream>,
    stop: Arc<AtomicBool>,
) -> std::thread::JoinHandle<f64> {
    std::thread::spawn(move || {
        let (piece, mut buffer) = (vec![0; PIECE], vec![0; PIECE]);
        let (began, mut rounds) = (Instant::now(), 0u32);
        while !stop.load(Relaxed) {
            let round = Instant::now();
            for stream in &mut far {
                stream.write_all(&piece).expect("sent");
            }
            for stream in &mut near {
                stream.read_exact(&mut buffer).expect("received");
            }
            rounds += 1;
            std::thread::sleep(ROUND.saturating_sub(round.elapsed()));
        }
        f64::from(rounds) / began.elapsed().as_secs_f64()
    })
}
