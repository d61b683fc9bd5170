//! All daemons in their namespaces.

use crate::pace::Stop;
use crate::process::Daemon;
use crate::servers;
use crate::support::radio::{Radio, report};
use crate::support::{CLIENT, Hosts, Namespace};
use crate::usage::Usage;
use rnis::RadioReport;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tempfile::TempDir;
use units::{Bytes, Instant, Prb};

/// Between the proxy's host and the UEs, and on the tunnel's wires.
const RATE_MBPS: u32 = 100;

/// What the radio reports to carry, bit/s: a little less than the UEs' link.
const RADIO: u64 = 95_000_000;

/// A daemon of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Rnis,
    Pep,
    Quic,
    TunnelServer,
    TunnelClient,
}

impl Part {
    /// In the order in which they start.
    pub const ALL: [Self; 5] = [
        Self::Rnis,
        Self::Pep,
        Self::Quic,
        Self::TunnelServer,
        Self::TunnelClient,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Rnis => "radio information service",
            Self::Pep => "proxy",
            Self::Quic => "QUIC server",
            Self::TunnelServer => "tunnel, server",
            Self::TunnelClient => "tunnel, client",
        }
    }

    /// Words of its command line before `--config FILE`, the name of its files, and the line of its log
    /// that shows that it runs.
    fn command(self) -> (&'static [&'static str], &'static str, &'static str) {
        match self {
            Self::Rnis => (&["rnis"], "rnis", "ready"),
            Self::Pep => (&["pep"], "pep", "accepting"),
            Self::Quic => (&["quic", "serve"], "quic", "listening on"),
            Self::TunnelServer => (&["tunnel", "server"], "tunnel-server", "running"),
            Self::TunnelClient => (&["tunnel", "client"], "tunnel-client", "running"),
        }
    }

    /// Descriptors by the configuration.
    pub fn descriptors_allowed(self) -> u64 {
        // the program's, and connections at the metrics and of the dashboard
        let others = 64 + 64 + 256;
        match self {
            // 1,000 connections each of three addresses and two /64, with two sockets and two pipes
            Self::Pep => others + 5 * 1_000 * 6,
            // connections of the REST interface, of readers and of a source
            Self::Rnis => others + 256 + 64 + 16,
            // TCP connections without a path
            Self::TunnelServer => others + 256,
            // files that stay open, and those of its threads
            Self::Quic => others + 256 + 64,
            Self::TunnelClient => others,
        }
    }

    /// Descriptors that may be left beside those at rest: the proxy keeps pipes for the next connections.
    pub fn descriptors_kept(self) -> u64 {
        match self {
            Self::Pep => 4 * 64 * 2 + 64,
            _ => 32,
        }
    }

    /// Sockets that belong to no process and are still sent from: of connections at the metrics, and of processes that
    /// were killed; the proxy closes none before all of it is acknowledged.
    pub fn orphans_allowed(self) -> u64 {
        match self {
            Self::Pep => 100,
            _ => 1_000,
        }
    }

    /// Threads by the configuration: workers, and one for each page of the metrics.
    pub fn threads_allowed(self) -> u64 {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        4 * cores as u64 + 64 + 16
    }

    /// What its configuration lets it take, beside what it takes at rest, bytes.
    pub fn allowed(self) -> u64 {
        match self {
            // `memory`
            Self::Pep | Self::Quic => 256_000_000,
            // 65,536 UEs of some 520 bytes each (docs/results/faults.md); 256 connections with heads of 32 kB and
            // bodies of 64 kB
            Self::Rnis => 65_536 * 520 + 256 * 96_000,
            // packets that wait and that are out of order, with their headers; TCP connections without a path
            // (1 kB each, and what the kernel holds of it), handshakes in progress
            Self::TunnelServer => 2 * 1_500 * 2_048 + 256 * 4_096 + 256 * 1_024,
            Self::TunnelClient => 2 * 1_500 * 2_048,
        }
    }
}

/// What the radio reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    AsTheyAre = 0,
    Late = 1,
    Repeated = 2,
    Absurd = 3,
    ComingAndGoing = 4,
}

/// The hosts and what runs on them.
pub struct World {
    daemons: BTreeMap<Part, Mutex<Daemon>>,
    /// Daemons that were replaced and have connections to serve to their end.
    retiring: Mutex<Vec<Daemon>>,
    pub radio: Radio,
    reports: Arc<AtomicU8>,
    generation: AtomicU64,
    /// Bytes of logs of daemons that have ended.
    logged: AtomicU64,
    pub hosts: Hosts,
    folder: TempDir,
    leftovers: String,
}

/// Servers' addresses.
pub const QUIC: SocketAddr = at([10, 99, 0, 2], 4_433);
pub const TUNNEL: SocketAddr = at([10, 2, 0, 1], 6_511);
pub const INSIDE: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 1);
/// Where the radio information service waits for sources.
pub const BRIDGE: SocketAddr = at([10, 45, 0, 1], 5_700);
pub const REST: SocketAddr = at([127, 0, 0, 1], 8_080);
pub const PEP_METRICS: SocketAddr = at([127, 0, 0, 1], 9_464);
pub const RNIS_METRICS: SocketAddr = at([127, 0, 0, 1], 9_465);
pub const TUNNEL_METRICS: SocketAddr = at([127, 0, 0, 1], 9_466);
pub const QUIC_METRICS: SocketAddr = at([127, 0, 0, 1], 9_467);
/// A UE that attacks, and one that does not answer.
pub const ATTACKER: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);
pub const SILENT: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 4);
/// A user by IPv6 in a /64 of its own, and one in that of the attacker with many addresses.
pub const NEIGHBOUR_V6: Ipv6Addr = Ipv6Addr::new(0xfd46, 0, 0, 0, 0, 0, 0, 2);
pub const SHARING_V6: Ipv6Addr = Ipv6Addr::new(0xfd45, 0, 0, 0, 0, 0, 0, 2);
/// How many addresses of its /64 the attacker has, from `fd45::1000` on.
pub const ADDRESSES: u16 = 100;
/// Bytes of the file that the QUIC server has.
pub const FILE_BYTES: usize = 4_000_000;

const fn at(address: [u8; 4], port: u16) -> SocketAddr {
    SocketAddr::new(
        IpAddr::V4(Ipv4Addr::new(
            address[0], address[1], address[2], address[3],
        )),
        port,
    )
}

impl World {
    /// Starts everything.
    pub fn start() -> Self {
        let hosts = Hosts::new();
        wire(&hosts);
        let folder = tempfile::tempdir().expect("a folder");
        write_files(folder.path());
        let reports = Arc::new(AtomicU8::new(0));
        let kind = Arc::clone(&reports);
        let sent = Sent::towards_ues(&hosts.proxy);
        let radio = Radio::start(&folder.path().join("radio"), move |n, at| {
            radio_report(kind.load(Relaxed), n, at, sent.since_last())
        });
        servers::start(&hosts.server);
        let mut world = Self {
            daemons: BTreeMap::new(),
            retiring: Mutex::new(Vec::new()),
            radio,
            reports,
            generation: AtomicU64::new(0),
            logged: AtomicU64::new(0),
            leftovers: String::new(),
            hosts,
            folder,
        };
        world.leftovers = world.state_of_hosts();
        for part in Part::ALL {
            let daemon = world.spawn(part, &[]);
            world.daemons.insert(part, Mutex::new(daemon));
            world.must_be_ready(part);
        }
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where a daemon runs.
    pub fn host(&self, part: Part) -> &Namespace {
        match part {
            Part::Rnis | Part::Pep => &self.hosts.proxy,
            Part::Quic | Part::TunnelServer => &self.hosts.server,
            Part::TunnelClient => &self.hosts.client,
        }
    }

    /// Runs something on the clients' host.
    pub fn at_client<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        self.hosts.client.enter(run)
    }

    /// Changes what the radio reports.
    pub fn report(&self, kind: Reports) {
        self.reports.store(kind as u8, Relaxed);
    }

    fn daemon(&self, part: Part) -> MutexGuard<'_, Daemon> {
        let daemon = &self.daemons[&part];
        daemon.lock().expect("no thread has panicked with it")
    }

    fn spawn(&self, part: Part, more: &[&str]) -> Daemon {
        let (words, name, _) = part.command();
        let config = self.path(&format!("{name}.toml"));
        let number = self.generation.fetch_add(1, Relaxed);
        let log = self.path(&format!("{name}-{number}.log"));
        let mut all = words.to_vec();
        all.extend(["--config", config.to_str().expect("a plain path")]);
        all.extend(more);
        Daemon::spawn(self.host(part), log, &all)
    }

    fn must_be_ready(&self, part: Part) {
        let mut daemon = self.daemon(part);
        let (_, _, line) = part.command();
        assert!(
            daemon.is_ready(line),
            "{} does not start: {}",
            part.name(),
            daemon.log()
        );
    }

    pub fn usage(&self, part: Part) -> Option<Usage> {
        let pid = self.daemon(part).pid();
        Usage::of(self.host(part), pid)
    }

    /// Ended by itself, which none of them may.
    pub fn has_ended(&self, part: Part) -> Option<String> {
        let mut daemon = self.daemon(part);
        let status = daemon.has_ended()?;
        Some(format!("{} ended: {status}: {}", part.name(), daemon.log()))
    }

    /// SIGKILL, and started again.
    pub fn kill_and_restart(&self, part: Part) {
        let mut daemon = self.daemon(part);
        daemon.kill();
        self.logged.fetch_add(daemon.log_bytes(), Relaxed);
        *daemon = self.spawn(part, &[]);
        drop(daemon);
        self.must_be_ready(part);
    }

    /// The proxy, by a successor. False where that does not serve.
    pub fn upgrade(&self) -> bool {
        let mut successor = self.spawn(Part::Pep, &["--upgrade"]);
        if !successor.is_ready("accepting") {
            eprintln!("an upgrade failed: {}", successor.log());
            return false;
        }
        let mut current = self.daemon(Part::Pep);
        let old = std::mem::replace(&mut *current, successor);
        drop(current);
        self.retiring().push(old);
        self.reap();
        true
    }

    fn retiring(&self) -> MutexGuard<'_, Vec<Daemon>> {
        self.retiring
            .lock()
            .expect("no thread has panicked with it")
    }

    /// Takes out predecessors that have ended, and gives how many have not.
    pub fn reap(&self) -> usize {
        let mut retiring = self.retiring();
        retiring.retain_mut(|daemon| {
            let has_ended = daemon.has_ended().is_some();
            if has_ended {
                self.logged.fetch_add(daemon.log_bytes(), Relaxed);
            }
            !has_ended
        });
        retiring.len()
    }

    /// Bytes of all logs.
    pub fn log_bytes(&self) -> u64 {
        let running: u64 = Part::ALL.iter().map(|p| self.daemon(*p).log_bytes()).sum();
        running + self.logged.load(Relaxed)
    }

    /// Stops everything. Gives, for each that did not end in order, what there is to state.
    pub fn stop(&self) -> Vec<(Part, String)> {
        let mut faults = Vec::new();
        for part in Part::ALL.into_iter().rev() {
            if let Some(text) = self.has_ended(part) {
                faults.push((part, text));
            } else if !self.daemon(part).stop() {
                let text = format!("does not end in order: {}", self.daemon(part).log());
                faults.push((part, text));
            }
        }
        let stop = Stop::default();
        let has_gone = (0..300).any(|_| self.reap() == 0 || !stop.wait(Duration::from_millis(100)));
        if !has_gone {
            faults.push((Part::Pep, "a predecessor goes on after drain".to_owned()));
        }
        let now = self.state_of_hosts();
        if now != self.leftovers {
            let text = format!("left over:\n{now}\nbefore:\n{}", self.leftovers);
            faults.push((Part::Pep, text));
        }
        faults
    }

    /// Rules, routes and devices of all hosts.
    fn state_of_hosts(&self) -> String {
        let hosts = [&self.hosts.client, &self.hosts.proxy, &self.hosts.server];
        let state = "nft --stateless --terse list ruleset; ip rule; ip -6 rule; \
                     ip -o link | cut -d: -f2 | cut -d@ -f1; ip route show table all | grep -v -e fe80 -e ff00 -e linkdown";
        hosts.map(|host| host.sh(state)).join("---\n")
    }
}

/// The tunnel's wires beside the proxy's path, the attackers' addresses, rates.
fn wire(hosts: &Hosts) {
    let rate = format!("tbf rate {RATE_MBPS}mbit burst 32kb limit 300kb");
    hosts.proxy.sh(&format!(
        "tc qdisc replace dev ran0 root {rate}\nip -6 addr add fd46::1/64 dev ran0 nodad"
    ));
    for (name, net) in [("a", 1), ("b", 2)] {
        let peer = hosts.server.pid();
        hosts.client.sh(&format!(
            "ip link add name {name} type veth peer name {name} netns {peer}\n\
             ip addr add 10.{net}.0.2/24 dev {name}; ip link set dev {name} up\n\
             tc qdisc replace dev {name} root {rate}"
        ));
        hosts.server.sh(&format!(
            "ip addr add 10.{net}.0.1/24 dev {name}; ip link set dev {name} up\n\
             tc qdisc replace dev {name} root {rate}"
        ));
    }
    hosts.client.sh(&format!(
        "ip addr add {ATTACKER}/24 dev c0; ip addr add {SILENT}/24 dev c0\n\
         ip -6 addr add {NEIGHBOUR_V6}/64 dev c0 nodad\n\
         nft 'add table ip silent; add chain ip silent i {{ type filter hook input priority 0; }}; \
         add rule ip silent i ip daddr {SILENT} drop'\n\
         for i in $(seq 0 {}); do echo addr add fd45::$((1000 + i))/64 dev c0 nodad; done | ip -6 -batch -",
        ADDRESSES - 1
    ));
}

const KEYS: [(&str, &str); 2] = [
    ("server", "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="),
    ("client", "BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="),
];

/// The daemons' configurations, keys, and the file that is downloaded.
fn write_files(folder: &Path) {
    let dir = folder.to_str().expect("a plain path");
    let publics = KEYS.map(|(name, private)| {
        let key = folder.join(format!("{name}.key"));
        std::fs::write(&key, private).expect("written");
        std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).expect("set");
        let key = tunnel::StaticKey::load(&key).expect("a key");
        (format!("{{{name}}}"), key.public_text())
    });
    for (name, text) in CONFIGURATIONS {
        let mut text = text.replace("{dir}", dir);
        for (place, key) in &publics {
            text = text.replace(place, key);
        }
        std::fs::write(folder.join(name), text).expect("written");
    }
    let root = folder.join("www");
    std::fs::create_dir(&root).expect("a folder");
    let content = testing::pattern(0, FILE_BYTES);
    std::fs::write(root.join("file"), content).expect("written");
}

/// Files of the daemons; `{dir}` becomes the folder. The client's hash is that of `secret`.
const CONFIGURATIONS: [(&str, &str); 5] = [
    (
        "rnis.toml",
        r#"
[[source]]
name = "cell"
kind = "reports"
url = "unix:{dir}/radio"
[[source]]
name = "bridge"
kind = "reports"
url = "tcp:10.45.0.1:5700"
listen = true
first-line-timeout = "5 s"
[[ue]]
ip = "10.45.0.2"
rnti = 1
[unix]
path = "{dir}/rnis.sock"
[http]
listen = "127.0.0.1:8080"
[metrics]
listen = "127.0.0.1:9465"
[[client]]
id = "user"
secret-sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
[[client]]
id = "attacker"
secret-sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
"#,
    ),
    (
        "pep.toml",
        r#"
mode = "transparent"
ue-prefixes = ["10.45.0.0/24", "fd45::/64", "fd46::/64"]
ran-interface = "ran0"
wan-interface = "wan0"
[reports]
source = "unix:{dir}/radio"
[limits]
memory = "256 MB"
half-closed = "10 s"
drain = "5 s"
[admin]
socket = "{dir}/pep.sock"
[metrics]
listen = "127.0.0.1:9464"
"#,
    ),
    (
        "quic.toml",
        r#"
listen = ["10.99.0.2:4433"]
meld = "default"
[certificate]
self-signed = ["localhost"]
[reports]
source = "unix:{dir}/rnis.sock"
[http]
root = "{dir}/www"
[limits]
memory = "256 MB"
[metrics]
listen = "127.0.0.1:9467"
"#,
    ),
    (
        "tunnel-server.toml",
        r#"
private-key-file = "{dir}/server.key"
listen = ["0.0.0.0:6511"]
[tun]
name = "t0"
addresses = ["10.88.0.1/24"]
[[client]]
name = "one"
public-key = "{client}"
addresses = ["10.88.0.2/32"]
[admin]
socket = "{dir}/tunnel-server.sock"
[metrics]
listen = "127.0.0.1:9466"
"#,
    ),
    (
        "tunnel-client.toml",
        r#"
private-key-file = "{dir}/client.key"
server-key = "{server}"
[tun]
name = "t0"
addresses = ["10.88.0.2/24"]
[[path]]
name = "a"
interface = "a"
remote = "10.1.0.1:6511"
[admin]
socket = "{dir}/tunnel-client.sock"
"#,
    ),
];

/// What the link towards the UEs has carried, by the kernel's counters.
struct Sent {
    /// `/proc/net/dev` of the proxy's host, and the bytes at the last reading.
    counters: Mutex<(File, u64)>,
}

impl Sent {
    fn towards_ues(proxy: &Namespace) -> Self {
        // a file of this kind stays with the namespace in which it was opened
        let file = proxy.enter(|| File::open("/proc/thread-self/net/dev"));
        Self {
            counters: Mutex::new((file.expect("there on Linux"), 0)),
        }
    }

    fn since_last(&self) -> u64 {
        let mut counters = self.counters.lock().expect("no panic");
        let (file, last) = &mut *counters;
        let mut text = String::new();
        file.rewind().expect("seekable");
        file.read_to_string(&mut text).expect("readable");
        let line = text.lines().find_map(|l| l.trim().strip_prefix("ran0:"));
        // behind the eight columns of what is received
        let bytes = line.and_then(|line| line.split_whitespace().nth(8));
        let bytes = bytes.and_then(|bytes| bytes.parse().ok());
        let bytes: u64 = bytes.expect("the device is there");
        bytes - std::mem::replace(last, bytes)
    }
}

/// UEs beside the two that are always there.
const PASSERS_BY: u64 = 40;

/// Report number `n` at a time, of a radio that has served so many bytes since the last. All count as the client's: the
/// link's counters do not distinguish UEs, and what the others get is little where anything is measured.
fn radio_report(kind: u8, n: u64, at: Instant, served: u64) -> RadioReport {
    let mut ues: Vec<IpAddr> = vec![CLIENT.into(), ATTACKER.into()];
    let (mut seq, mut at) = (n, at);
    if kind == Reports::Late as u8 {
        at = Instant::from_nanos(at.as_nanos().saturating_sub(5_000_000_000));
    }
    if kind == Reports::Repeated as u8 {
        seq = n / 50 * 50;
    }
    if kind == Reports::ComingAndGoing as u8 {
        // others every tenth of a second
        let first = n / 100 * PASSERS_BY;
        ues.extend((0..PASSERS_BY).map(|i| {
            let last = ((first + i) % 200) as u8 + 20;
            IpAddr::from([10, 45, 0, last])
        }));
    }
    let mut report = report(&ues, seq, at, RADIO);
    let per_slot = RADIO / 8_000;
    let used = u64::from(report.cell.n_prb.get()) * served.min(per_slot) / per_slot;
    report.ues[0].served_bytes = Bytes::new(served);
    report.ues[0].prb_dl = Prb::new(u16::try_from(used).expect("at most all"));
    if kind == Reports::Absurd as u8 {
        match n % 3 {
            0 => report.cell.n_prb = Prb::new(60_000),
            1 => report.ues[0].rlc_queue_bytes = Bytes::new(u64::MAX),
            _ => report.ues[1].rnti = report.ues[0].rnti,
        }
    }
    report
}
