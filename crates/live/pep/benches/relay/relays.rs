//! What is compared.

use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, wide_open};
use crate::support::{Hosts, SERVER};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Port of HAProxy's frontend.
const FRONTEND: u16 = 7_000;

/// A way for bytes to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Forwarding,
    Haproxy,
    HaproxyTuned,
    Brimful,
}

impl Kind {
    /// Those that this machine has.
    pub fn available() -> Vec<Self> {
        let all = [
            Self::Forwarding,
            Self::Haproxy,
            Self::HaproxyTuned,
            Self::Brimful,
        ];
        if Path::new("/usr/sbin/haproxy").exists() {
            return all.to_vec();
        }
        eprintln!("skipped: the columns of HAProxy need the package haproxy");
        vec![Self::Forwarding, Self::Brimful]
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Forwarding => "forwarding",
            Self::Haproxy => "HAProxy as installed",
            Self::HaproxyTuned => "HAProxy tuned",
            Self::Brimful => "brimful pep",
        }
    }
}

/// A relay that runs.
pub enum Relay {
    Nothing,
    Haproxy {
        child: Child,
        _folder: tempfile::TempDir,
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
            Kind::Haproxy => Self::haproxy(hosts, port, "option splice-auto", ""),
            Kind::HaproxyTuned => Self::haproxy(
                hosts,
                port,
                "option splice-request\n option splice-response",
                "tune.pipesize 1048576",
            ),
            Kind::Brimful => {
                let folder = tempfile::tempdir().expect("a folder");
                let ues = vec![IpAddr::V4(crate::support::CLIENT)];
                let radio = Radio::start(&folder.path().join("radio"), move |n, at| {
                    wide_open(&ues, n, at)
                });
                let config = format!(
                    "{}\n[reports]\nsource = \"unix:{{dir}}/radio\"\n[limits]\n\
                     connections-per-ue = 9000\nsyn-rate-per-ue = 0\nmemory-per-ue = \"4 GB\"\nmemory = \"4 GB\"\n",
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

    fn haproxy(hosts: &Hosts, port: u16, options: &str, global: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("haproxy.cfg");
        let config = format!(
            "global\n maxconn 9000\n maxpipes 400\n {global}\ndefaults\n mode tcp\n {options}\n timeout connect 5s\n \
             timeout client 1h\n timeout server 1h\n\
             listen l\n bind 10.45.0.1:{FRONTEND}\n server s {SERVER}:{port}\n"
        );
        std::fs::write(&path, config).expect("written");
        let child = hosts.proxy.enter(|| {
            Command::new("/usr/sbin/haproxy")
                .args(["-db", "-q", "-f"])
                .arg(&path)
                .stderr(Stdio::null())
                .spawn()
        });
        let relay = Self::Haproxy {
            child: child.expect("haproxy can be run"),
            _folder: folder,
        };
        let until = Instant::now() + Duration::from_secs(10);
        let to = relay.target(port);
        while hosts
            .client
            .enter(|| std::net::TcpStream::connect(to))
            .is_err()
        {
            assert!(Instant::now() < until, "haproxy does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        relay
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
