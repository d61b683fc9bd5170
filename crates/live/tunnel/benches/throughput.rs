//! How fast one path is, and what it costs: TCP through the tunnel, over a wire without limits
//! between two namespaces, beside wireguard-go where it is installed. And what two paths make of two
//! wires of 50 Mbit/s, beside the kernel's MPTCP: goodput of TCP, of UDP and of QUIC, share of the second path, longest time without a byte, also
//! while one wire is cut.
//!
//! As root: `cargo bench -p tunnel --bench throughput [-- --record] [--threads=N] [NAME...]`; N (`1`, `2`, `auto`) is the key
//! `threads` of both daemons of one path. `scripts/setup --bench` installs
//! wireguard-go where Go is; `WIREGUARD_GO` names another.
//! `--record` writes the table into `docs/results/tunnel.md`. The program is also the daemon that it
//! measures.
#![allow(missing_docs, reason = "a bench")]

#[path = "../tests/support/mod.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
mod support;

#[path = "throughput/mptcp.rs"]
mod mptcp;
#[path = "throughput/pairs.rs"]
mod pairs;
#[path = "throughput/quic.rs"]
mod quic_download;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::{Daemon, Hosts, Namespace, SERVER, client_config, one_path, plain, server_config};

/// How long one measurement takes, after a second to get going.
const TIME: Duration = Duration::from_secs(6);
/// Measurements of each.
const REPEATS: usize = 3;

/// Makes another configuration of one.
type Configured = fn(&str) -> String;

/// With encryption and without, as configurations are made of those with it.
const ENCRYPTIONS: [(&str, Configured); 2] =
    [("encrypted", str::to_owned), ("not encrypted", plain)];

/// What one measurement of one path showed.
#[derive(Clone, Copy)]
struct Measured {
    gbps: f64,
    /// CPU time of both daemons, seconds a GB.
    daemons: f64,
    /// CPU time of the whole machine, seconds a GB.
    machine: f64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "daemon") {
        return support::run_daemon(&arguments[1..]);
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: the bench of the tunnel needs root");
        return ExitCode::SUCCESS;
    }
    let is_recorded = arguments.iter().any(|a| a == "--record");
    let machine = match testing::Machine::for_bench(is_recorded) {
        Ok(machine) => machine,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    let threads = arguments.iter().find_map(|a| a.strip_prefix("--threads="));
    let threads = threads.map_or(String::new(), |n| format!("threads = {n:?}\n"));
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let is_selected = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(*f));
    let mut rows = Vec::new();
    for (name, more) in [
        ("brimful, carrier dccp, bbr2", "controller = \"bbr2\"\n"),
        (
            "brimful, carrier dccp, newreno",
            "controller = \"newreno\"\n",
        ),
        ("brimful, carrier tcp, cubic", "carrier = \"tcp\"\n"),
    ] {
        for (encryption, configured) in ENCRYPTIONS {
            let name = format!("{name}, {encryption}");
            if is_selected(&name) {
                rows.push((name, repeat(|| ours(more, &threads, configured))));
            }
        }
    }
    match wireguard_go() {
        _ if !is_selected("wireguard-go") => {}
        Some(program) => rows.push(("wireguard-go".to_owned(), repeat(|| wireguard(&program)))),
        None => eprintln!("without wireguard-go: `scripts/setup --bench` installs it where Go is"),
    }
    let mut pairs = pairs::measure(is_selected);
    pairs.extend(mptcp::measure(is_selected));
    let table = format!("{}\n{}\n{machine}.\n", table(&rows), pairs::table(&pairs));
    print!("{table}");
    if is_recorded {
        let page = testing::Page {
            path: concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../../docs/results/tunnel.md"
            )
            .into(),
            name: "measured",
        };
        if let Err(problem) = page.put(&table) {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn repeat<T>(measure: impl Fn() -> T) -> Vec<T> {
    (0..REPEATS).map(|_| measure()).collect()
}

fn ours(more: &str, threads: &str, configured: Configured) -> Measured {
    let hosts = Hosts::new();
    let controller = more.lines().find(|line| line.starts_with("controller"));
    let server = format!("{threads}{}", controller.unwrap_or_default());
    let server = server_config(&server).replace("debug", "info");
    let client = client_config(threads, &one_path(more)).replace("debug", "info");
    let server = Daemon::start(&hosts.server, "server", &configured(&server));
    let client = Daemon::start(&hosts.client, "client", &configured(&client));
    client.wait_for_paths(1);
    measure(&hosts, SERVER, &[server.child.id(), client.child.id()])
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn wireguard_go() -> Option<PathBuf> {
    let named = std::env::var_os("WIREGUARD_GO").map(PathBuf::from);
    // by scripts/setup, and the distribution's
    let built = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../target/wireguard/wireguard"
    );
    let installed = [built, "/usr/bin/wireguard-go"].map(PathBuf::from);
    named.or_else(|| installed.into_iter().find(|path| path.exists()))
}

/// Keys and addresses of the two ends of a WireGuard tunnel.
fn wireguard(program: &PathBuf) -> Measured {
    let hosts = Hosts::new();
    let mut daemons: Vec<Child> = Vec::new();
    let keys: Vec<(String, String)> = (0..2)
        .map(|_| {
            let key = hosts.server.sh("wg genkey").trim().to_owned();
            let public = hosts.server.sh(&format!("echo {key} | wg pubkey"));
            (key, public.trim().to_owned())
        })
        .collect();
    // names of its devices are those of its control sockets, which all namespaces share and which outlive it
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let names = ["s", "c"].map(|end| format!("wg{end}{}-{run}", std::process::id()));
    for (own, (host, name)) in [(&hosts.server, &names[0]), (&hosts.client, &names[1])]
        .into_iter()
        .enumerate()
    {
        let child = host.enter(|| {
            Command::new(program)
                .args(["-f", name])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        });
        daemons.push(child.expect("wireguard-go can be run"));
        testing::wait_until("the device of wireguard-go", || {
            host.enter(|| {
                let shown = Command::new("wg").args(["show", name]).output();
                shown.is_ok_and(|output| output.status.success())
            })
        });
        let (peer, address) = (&keys[1 - own].1, own + 1);
        let key = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(key.path(), &keys[own].0).expect("written");
        let endpoint = if own == 1 {
            "endpoint 10.1.0.1:51820"
        } else {
            ""
        };
        host.sh(&format!(
            "wg set {name} listen-port 51820 private-key {} peer {peer} allowed-ips 0.0.0.0/0 {endpoint}\n\
             ip address add 10.99.0.{address}/24 dev {name}; ip link set dev {name} mtu 1420 up",
            key.path().display()
        ));
    }
    let pids: Vec<u32> = daemons.iter().map(Child::id).collect();
    let measured = measure(&hosts, SERVER, &pids);
    for mut daemon in daemons {
        let _ = daemon.kill();
        let _ = daemon.wait();
    }
    for name in names {
        let _ = std::fs::remove_file(format!("/run/wireguard/{name}.sock"));
    }
    measured
}

/// One TCP connection from the server to the client, for [`TIME`].
fn measure(hosts: &Hosts, address: &str, daemons: &[u32]) -> Measured {
    let address: SocketAddr = format!("{address}:5001").parse().expect("an address");
    let sender = send_for_ever(&hosts.server, address);
    let (bytes, seconds, used, all) = hosts.client.enter(move || {
        let mut stream = TcpStream::connect(address).expect("connected");
        let mut buffer = vec![0; 1 << 20];
        let mut read = |until: Instant| {
            let mut bytes = 0u64;
            while Instant::now() < until {
                bytes += stream.read(&mut buffer).expect("bytes keep coming") as u64;
            }
            bytes
        };
        read(Instant::now() + Duration::from_secs(1));
        let before = (cpu_of(daemons), cpu_of_machine());
        let began = Instant::now();
        let bytes = read(began + TIME);
        let seconds = began.elapsed().as_secs_f64();
        (
            bytes,
            seconds,
            cpu_of(daemons) - before.0,
            cpu_of_machine() - before.1,
        )
    });
    drop(sender);
    let gigabytes = bytes as f64 / 1e9;
    Measured {
        gbps: gigabytes * 8.0 / seconds,
        daemons: used / gigabytes,
        machine: all / gigabytes,
    }
}

fn send_for_ever(host: &Namespace, address: SocketAddr) -> std::thread::JoinHandle<()> {
    let listener = host.enter(|| TcpListener::bind(address)).expect("bound");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepted");
        let block = vec![7; 1 << 20];
        while stream.write_all(&block).is_ok() {}
    })
}

/// CPU time of processes so far, seconds.
fn cpu_of(processes: &[u32]) -> f64 {
    let of = |pid: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or("").split(' ').collect();
        let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
        ticks(11) + ticks(12)
    };
    processes.iter().map(of).sum::<f64>() / 100.0
}

/// CPU time of the machine so far, seconds, all but idle.
fn cpu_of_machine() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").expect("readable");
    let line = text.lines().next().unwrap_or("");
    let fields = line
        .split_whitespace()
        .skip(1)
        .map(|f| f.parse::<f64>().unwrap_or(0.0));
    // user, nice, system, idle, iowait, irq, softirq, steal
    let used = fields
        .take(7)
        .enumerate()
        .filter(|(i, _)| *i != 3 && *i != 4);
    used.map(|(_, ticks)| ticks).sum::<f64>() / 100.0
}

fn table(rows: &[(String, Vec<Measured>)]) -> String {
    let mut text = String::from(
        "| tunnel, one path | Gbit/s | CPU-s a GB, both daemons | CPU-s a GB, whole machine |\n\
         | --- | --- | --- | --- |\n",
    );
    for (name, measured) in rows {
        let median = |get: fn(&Measured) -> f64| median(measured.iter().map(get).collect());
        text.push_str(&format!(
            "| {name} | {:.2} | {:.2} | {:.2} |\n",
            median(|m| m.gbps),
            median(|m| m.daemons),
            median(|m| m.machine)
        ));
    }
    text
}
