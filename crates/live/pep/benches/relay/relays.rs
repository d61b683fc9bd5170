//! What is compared.

use crate::connections::idle_connections;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, wide_open};
use crate::support::{Hosts, SERVER};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Port of HAProxy's frontend.
const FRONTEND: u16 = 7_000;

/// A way for bytes to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Forwarding,
    Haproxy,
    HaproxyTuned,
    HaproxyAsClient,
    Brimful,
}

impl Kind {
    /// Those that this machine has, for a part of the bench.
    pub fn available(part: &str) -> Vec<Self> {
        let mut all = vec![
            Self::Forwarding,
            Self::Haproxy,
            Self::HaproxyTuned,
            Self::Brimful,
        ];
        if Path::new("/usr/sbin/haproxy").exists() {
            if part == "connections" {
                all.insert(3, Self::HaproxyAsClient);
            }
            return all;
        }
        eprintln!("skipped: the columns of HAProxy need the package haproxy");
        vec![Self::Forwarding, Self::Brimful]
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Forwarding => "forwarding",
            Self::Haproxy => "HAProxy as installed",
            Self::HaproxyTuned => "HAProxy tuned",
            Self::HaproxyAsClient => "HAProxy tuned, as the client",
            Self::Brimful => "brimful pep",
        }
    }
}

/// Options of HAProxy tuned: of all connections, and global.
const TUNED: (&str, &str) = (
    "option splice-request\n option splice-response",
    "tune.pipesize 1048576",
);
/// HAProxy connects from the client's address and port.
const AS_CLIENT: &str = "source 0.0.0.0 usesrc client";

/// HAProxy accepts connections.
fn listens(pid: u32) -> bool {
    let sockets = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    let port = format!(":{FRONTEND:04X}");
    sockets.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&port)) && words.nth(1) == Some("0A")
    })
}

/// Rules and routes that bring the server's answers to HAProxy, which connects as the client.
pub struct Rules {
    namespace: u32,
}

impl Rules {
    fn put(hosts: &Hosts) -> Self {
        hosts.proxy.sh(
            "nft 'table inet haproxy {\nchain intercept {\ntype filter hook prerouting priority mangle\n\
             iifname wan0 meta l4proto tcp socket transparent 1 socket wildcard 0 meta mark set 7 accept\n}\n}'\n\
             ip rule add fwmark 7 lookup 7; ip route add local default dev lo table 7",
        );
        Self {
            namespace: hosts.proxy.pid(),
        }
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        let line = "nft delete table inet haproxy; ip rule del fwmark 7; ip route flush table 7";
        let _ = Command::new("nsenter")
            .arg(format!("--net=/proc/{}/ns/net", self.namespace))
            .args(["sh", "-c", line])
            .status();
    }
}

/// A relay that runs.
pub enum Relay {
    Nothing,
    Haproxy {
        child: Child,
        _folder: tempfile::TempDir,
        _rules: Option<Rules>,
    },
    Brimful {
        daemon: Box<Daemon>,
        _radio: Radio,
    },
}

impl Relay {
    /// Starts one that brings connections to a port of the server.
    pub fn start(kind: Kind, hosts: &Hosts, port: u16) -> Self {
        match kind {
            Kind::Forwarding => Self::Nothing,
            Kind::Haproxy => Self::haproxy(hosts, port, "option splice-auto", "", ""),
            Kind::HaproxyTuned => Self::haproxy(hosts, port, TUNED.0, TUNED.1, ""),
            Kind::HaproxyAsClient => Self::haproxy(hosts, port, TUNED.0, TUNED.1, AS_CLIENT),
            Kind::Brimful => {
                let folder = tempfile::tempdir().expect("a folder");
                let ues = vec![IpAddr::V4(crate::support::CLIENT)];
                let radio = Radio::start(&folder.path().join("radio"), move |n, at| {
                    wide_open(&ues, n, at)
                });
                let config = format!(
                    "{}\n[reports]\nsource = \"unix:{{dir}}/radio\"\n[limits]\nconnections = 21000\n\
                     connections-per-ue = 21000\nsyn-rate-per-ue = 0\nmemory-per-ue = \"4 GB\"\nmemory = \"4 GB\"\n",
                    TRANSPARENT.replace("level = \"debug\"", "level = \"info\"")
                );
                let daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
                daemon.wait_until("it follows the radio", || {
                    daemon.status()["control"]["cells"][0]["state"] == "following"
                });
                Self::Brimful {
                    daemon: Box::new(daemon),
                    _radio: radio,
                }
            }
        }
    }

    fn haproxy(hosts: &Hosts, port: u16, options: &str, global: &str, source: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("haproxy.cfg");
        let config = format!(
            "global\n maxconn {}\n maxpipes 400\n {global}\ndefaults\n mode tcp\n {options}\n timeout connect 5s\n \
             timeout client 1h\n timeout server 1h\nlisten l\n \
             bind 10.45.0.1:{FRONTEND}\n {source}\n server s {SERVER}:{port}\n",
            idle_connections() + 100
        );
        std::fs::write(&path, config).expect("written");
        let child = hosts.proxy.enter(|| {
            Command::new("/usr/sbin/haproxy")
                .args(["-db", "-q", "-f"])
                .arg(&path)
                .stderr(Stdio::null())
                .spawn()
        });
        let child = child.expect("haproxy can be run");
        let pid = child.id();
        testing::wait_until("haproxy listens", || listens(pid));
        Self::Haproxy {
            child,
            _folder: folder,
            _rules: (source == AS_CLIENT).then(|| Rules::put(hosts)),
        }
    }

    /// Where the client connects to.
    pub fn target(&self, port: u16) -> SocketAddr {
        match self {
            Self::Haproxy { .. } => (Ipv4Addr::new(10, 45, 0, 1), FRONTEND).into(),
            _ => (SERVER, port).into(),
        }
    }

    /// Its process.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Nothing => None,
            Self::Haproxy { child, .. } => Some(child.id()),
            Self::Brimful { daemon, .. } => Some(daemon.child.id()),
        }
    }

    /// CPU time of its process so far, seconds.
    pub fn cpu_seconds(&self) -> f64 {
        self.pid().map_or(0.0, cpu_seconds)
    }
}

/// CPU time of a process so far, user and system, seconds.
pub fn cpu_seconds(pid: u32) -> f64 {
    try_cpu_seconds(pid).expect("it runs")
}

/// The same, none of a process that has ended.
pub fn try_cpu_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit(')').next()?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks: u64 = fields[11..13]
        .iter()
        .filter_map(|f| f.parse::<u64>().ok())
        .sum();
    // USER_HZ is 100 everywhere
    Some(ticks as f64 / 100.0)
}

/// Counts a process's system calls from now on for so long, if the kernel's event and `perf` can be had.
pub struct SystemCalls(Option<Child>);

impl SystemCalls {
    pub fn count(pid: u32, time: Duration) -> Self {
        let child = Command::new("perf")
            .args(["stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p"])
            .args([&pid.to_string(), "--", "sleep"])
            .arg(time.as_secs_f64().to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        Self(child.ok())
    }

    /// The number; none where they cannot be counted.
    pub fn read(self) -> Option<f64> {
        let output = self.0?.wait_with_output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = text.lines().find(|line| line.contains("sys_enter"))?;
        line.split(',').next()?.parse().ok()
    }
}

/// Resident memory of a process that is its own, bytes.
pub fn own_memory(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    let kib = line.and_then(|l| l.trim().split(' ').next()?.parse::<f64>().ok());
    kib.expect("a number") * 1_024.0
}

/// Open descriptors of a process.
pub fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("it runs")
        .count()
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Self::Haproxy { child, .. } = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
