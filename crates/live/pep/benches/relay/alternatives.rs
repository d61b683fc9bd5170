//! The least that relays downloads by each way of the kernel's, beside HAProxy tuned and the proxy: rate, CPU time of all
//! that takes part, and what a server can send while the client reads nothing.

use crate::minimal::Way;
use crate::relays::{Kind, Relay, cpu_seconds, try_cpu_seconds};
use crate::streams::{pour, stream};
use crate::support::traffic::{connect, listen};
use crate::support::{Hosts, SERVER};
use crate::{Table, median};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PORT: u16 = 6_300;
/// The minimal relay's.
const FRONTEND: u16 = 7_100;
const REPEATS: usize = 3;
const FLOWS: [usize; 3] = [1, 8, 64];
/// How long a client reads nothing, and the maximum that is sent meanwhile, bytes.
const STALL: Duration = Duration::from_secs(2);
const MAX_SENT: u64 = 2_000_000_000;

/// What is compared.
#[derive(Clone, Copy)]
enum Column {
    Minimal(Way),
    Whole(Kind),
}

impl Column {
    fn available(kinds: &[Kind]) -> Vec<Self> {
        let whole = [Kind::HaproxyTuned, Kind::Brimful].into_iter();
        let whole = whole.filter(|kind| kinds.contains(kind)).map(Self::Whole);
        Way::ALL
            .into_iter()
            .map(Self::Minimal)
            .chain(whole)
            .collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Minimal(way) => way.name(),
            Self::Whole(kind) => kind.name(),
        }
    }

    fn start(self, hosts: &Hosts) -> Running {
        match self {
            Self::Whole(kind) => Running::Whole(Relay::start(kind, hosts, PORT)),
            Self::Minimal(way) => Running::Minimal(minimal(hosts, way)),
        }
    }
}

enum Running {
    Minimal(Child),
    Whole(Relay),
}

fn minimal(hosts: &Hosts, way: Way) -> Child {
    let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, FRONTEND)).to_string();
    let upstream = SocketAddr::from((SERVER, PORT)).to_string();
    let program = std::env::current_exe().expect("this program");
    let child = hosts.proxy.enter(|| {
        Command::new(program)
            .args(["relay", way.name(), &listen, &upstream])
            .spawn()
    });
    let mut child = child.expect("it can be run");
    let until = Instant::now() + Duration::from_secs(20);
    while hosts
        .client
        .enter(|| std::net::TcpStream::connect((Ipv4Addr::new(10, 45, 0, 1), FRONTEND)))
        .is_err()
    {
        let has_ended = child.try_wait().expect("a child").is_some();
        assert!(
            !has_ended && Instant::now() < until,
            "{way:?} does not listen"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

impl Running {
    fn target(&self) -> SocketAddr {
        match self {
            Self::Minimal(_) => (Ipv4Addr::new(10, 45, 0, 1), FRONTEND).into(),
            Self::Whole(relay) => relay.target(PORT),
        }
    }

    /// CPU time of the relay and of the kernel's workers so far, seconds.
    fn cpu_seconds(&self, workers: &KernelWorkers) -> f64 {
        let own = match self {
            Self::Minimal(child) => cpu_seconds(child.id()),
            Self::Whole(relay) => relay.cpu_seconds(),
        };
        own + workers.cpu_seconds()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Minimal(child) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The kernel's workers, which do a redirect's sending, by their ids: CPU time of each when last seen, seconds. Some end
/// meanwhile.
#[derive(Default)]
struct KernelWorkers(RefCell<BTreeMap<u32, f64>>);

impl KernelWorkers {
    /// CPU time of all so far, seconds.
    fn cpu_seconds(&self) -> f64 {
        let mut seen = self.0.borrow_mut();
        let processes = std::fs::read_dir("/proc").expect("there").flatten();
        for id in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
            let name = std::fs::read_to_string(format!("/proc/{id}/comm"));
            if name.is_ok_and(|name| name.starts_with("kworker"))
                && let Some(seconds) = try_cpu_seconds(id)
            {
                seen.insert(id, seconds);
            }
        }
        seen.values().sum()
    }
}

/// What the server hands its kernel while the client reads nothing, MB.
fn stalled(hosts: &Hosts, running: &Running, sent: &AtomicU64) -> f64 {
    let before = sent.load(Relaxed);
    let client = connect(&hosts.client, running.target()).expect("connected");
    let until = Instant::now() + STALL;
    while Instant::now() < until && sent.load(Relaxed) - before < MAX_SENT {
        std::thread::sleep(Duration::from_millis(10));
    }
    let taken = sent.load(Relaxed) - before;
    drop(client);
    taken as f64 / 1e6
}

/// The rows of each number of flows, and of a client that reads nothing.
pub fn measure(hosts: &Hosts, kinds: &[Kind], table: &mut Table) {
    let columns = Column::available(kinds);
    table.columns(columns.iter().map(|column| column.name()).collect());
    let (stop, sent) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let listener = listen(&hosts.server, (SERVER, PORT).into());
    let (of_server, counted) = (Arc::clone(&stop), Arc::clone(&sent));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (stop, sent) = (Arc::clone(&of_server), Arc::clone(&counted));
            std::thread::spawn(move || pour(&stream, &stop, &sent));
        }
    });
    for flows in FLOWS {
        let mut values = vec![[const { Vec::new() }; 3]; columns.len()];
        for _ in 0..REPEATS {
            for (column, values) in columns.iter().zip(&mut values) {
                let running = column.start(hosts);
                let (us, workers) = (std::process::id(), KernelWorkers::default());
                let measured = stream(hosts, running.target(), flows, || {
                    [running.cpu_seconds(&workers), cpu_seconds(us)]
                });
                let [relay, ends] = measured.costs;
                for (list, value) in values.iter_mut().zip([measured.rate, relay, relay + ends]) {
                    list.push(value);
                }
            }
        }
        let names = [
            "Gbit/s",
            "CPU seconds a GB, relay and the kernel's workers",
            "CPU seconds a GB, with the client and the server",
        ];
        for (i, name) in names.into_iter().enumerate() {
            let of = |values: &[Vec<f64>; 3]| median(values[i].clone());
            table.row(
                format!("{flows} flows, {name}"),
                values.iter().map(of).collect(),
            );
        }
    }
    let taken = columns.iter().map(|column| {
        let running = column.start(hosts);
        Some(stalled(hosts, &running, &sent))
    });
    let taken = taken.collect();
    table.row("sent to a client that reads nothing, MB", taken);
    table.note(
        "splice, io_uring and sockmap: the least that relays downloads, of one thread, without windows, bounds or counts \
         (sockmap counts bytes). What a packet costs is charged to whom it finds running, so that the sum of both ends and \
         the relay is what compares; on a machine that does other work the rates do not."
            .to_owned(),
    );
    table.note(format!(
        "A client that reads nothing: what the server could send within {} s, at most {} MB.",
        STALL.as_secs(),
        MAX_SENT / 1_000_000
    ));
    stop.store(true, Relaxed);
}
