//! The daemons that are scraped, each under load.

use crate::namespaces::forward;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testing::Namespace;
use testing::{HANG_LIMIT, wait_for, wait_until};

/// Seconds after which the load of a daemon ends if the test did not end it: above all hang limits together.
pub const LOAD_LIMIT_S: &str = "900";

/// A program that ends with the test.
pub struct Process {
    child: Child,
}

impl Process {
    pub fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).spawn();
        Self {
            child: child.expect("it starts"),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let pid = i32::try_from(self.pid()).ok();
        let pid = pid.and_then(rustix::process::Pid::from_raw);
        let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
        let since = Instant::now();
        while since.elapsed() < HANG_LIMIT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A daemon that Prometheus scrapes.
pub struct Target {
    pub daemon: &'static str,
    pub address: String,
}

pub use testing::free_port;

fn brimful() -> Command {
    Command::new(env!("CARGO_BIN_EXE_brimful"))
}

pub fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

/// A cell, its proxy, and downloads by curl and pings on its UE.
pub struct Lab {
    _process: Process,
    folder: PathBuf,
    address: SocketAddr,
}

impl Lab {
    pub fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut command = brimful();
        command
            .args(["lab", "shell", "--quiet", "--set", "pep=default"])
            .args(["--set", "unsplit=mark"])
            .arg(root.join("scenarios/rapid/oai-fast.toml"))
            .args(["--", "timeout", LOAD_LIMIT_S, "sh", "-c"])
            // TCP that is split, and packets that are not
            .arg(
                "ping -q -i 0.2 server > /dev/null & \
                 while :; do curl -s -m 60 -o /dev/null http://server/4M; done",
            );
        let process = Process::start(quiet(&mut command));
        let prefix = format!("lab-{}-", process.pid());
        let folder = wait_for("lab", || {
            let mut entries = fs::read_dir("/run/brimful").ok()?.flatten();
            let entry = entries.find(|e| e.file_name().to_string_lossy().starts_with(&prefix))?;
            entry.path().join("pep.sock").exists().then(|| entry.path())
        });
        let proxy = wait_for("proxy", || child_named(process.pid(), "pep"));
        let address = forward(proxy, "127.0.0.1:9464".parse().expect("an address"));
        Self {
            _process: process,
            folder,
            address,
        }
    }

    pub fn target(&self) -> Target {
        Target {
            daemon: "pep",
            address: self.address.to_string(),
        }
    }
}

/// The child of a process that has this word in its command line.
fn child_named(parent: u32, word: &str) -> Option<u32> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_child = stat
            .rsplit_once(')')
            .and_then(|(_, after)| after.split_whitespace().nth(1)?.parse().ok())
            == Some(parent);
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        is_child
            && line
                .split(|&byte| byte == 0)
                .any(|part| part == word.as_bytes())
    })
}

/// Both ends of a tunnel of two paths, and pings through it.
pub struct Tunnel {
    // programs end before their networks and files
    _processes: [Process; 3],
    _networks: [Namespace; 2],
    _folder: TempDir,
    address: SocketAddr,
}

impl Tunnel {
    pub fn start() -> Self {
        let (client, server) = (Namespace::new(), Namespace::new());
        server.sh("ip link set lo up");
        client.sh("ip link set lo up");
        for (wire, net) in [("wifi", 1), ("lte", 2)] {
            let peer = server.pid();
            client.sh(&format!(
                "ip link add {wire} type veth peer name {wire} netns {peer}\n\
                 ip addr add 10.{net}.0.2/24 dev {wire}; ip link set {wire} up"
            ));
            server.sh(&format!(
                "ip addr add 10.{net}.0.1/24 dev {wire}; ip link set {wire} up"
            ));
        }
        let folder = TempDir::new().expect("a folder");
        let [at_server_key, at_client_key] = ["server.key", "client.key"].map(|name| {
            let key = folder.path().join(name);
            let made = quiet(brimful().args(["tunnel", "key"]).arg(&key)).status();
            assert!(made.expect("it starts").success());
            let public = brimful()
                .args(["tunnel", "key", "--public"])
                .arg(&key)
                .output();
            let public = String::from_utf8(public.expect("it starts").stdout).expect("text");
            (key, public.trim().to_owned())
        });
        let program = env!("CARGO_BIN_EXE_brimful");
        let mut at_server = server.command(program);
        at_server
            .args(["tunnel", "server", "--listen", "0.0.0.0:6511"])
            .args(["--client-key", &at_client_key.1, "--private-key-file"])
            .arg(&at_server_key.0)
            .args(["--tun", "tun0", "--address", "10.99.0.1/24"])
            .args(["--client-addresses", "10.99.0.2/32"]);
        let at_server = Process::start(quiet(&mut at_server));
        let config = folder.path().join("client.toml");
        let (key, server_key) = (&at_client_key.0, &at_server_key.1);
        fs::write(
            &config,
            format!(
                "private-key-file = {key:?}\nserver-key = {server_key:?}\nscheduler = \"rr\"\n[tun]\nname = \"tun0\"\naddresses = [\"10.99.0.2/24\"]\n\
                 [[path]]\nname = \"wifi\"\ninterface = \"wifi\"\nremote = \"10.1.0.1:6511\"\n\
                 [[path]]\nname = \"lte\"\ninterface = \"lte\"\nremote = \"10.2.0.1:6511\"\n\
                 [metrics]\nlisten = \"127.0.0.1:9466\"\n"
            ),
        )
        .expect("written");
        let mut at_client = client.command(program);
        at_client
            .args(["tunnel", "client", "--config"])
            .arg(&config);
        let at_client = Process::start(quiet(&mut at_client));
        wait_until("way through the tunnel", || {
            let mut ping = client.command("ping");
            let ping = quiet(ping.args(["-c1", "-W1", "10.99.0.1"])).status();
            ping.is_ok_and(|status| status.success())
        });
        let mut ping = client.command("ping");
        ping.args(["-q", "-i", "0.01", "-s", "1000"]);
        ping.args(["-w", LOAD_LIMIT_S, "10.99.0.1"]);
        let ping = Process::start(quiet(&mut ping));
        let address = forward(client.pid(), "127.0.0.1:9466".parse().expect("an address"));
        Self {
            _processes: [ping, at_client, at_server],
            _networks: [client, server],
            _folder: folder,
            address,
        }
    }

    pub fn target(&self) -> Target {
        Target {
            daemon: "tunnel",
            address: self.address.to_string(),
        }
    }
}

/// The radio information service, and a QUIC server that reads its reports, with downloads of a client whose
/// packets get lost now and then.
pub struct Services {
    _processes: Vec<Process>,
    _folder: TempDir,
    rnis: u16,
    quic: u16,
}

impl Services {
    /// The reports are the lab's, or a recording's where there is no lab.
    pub fn start(lab: Option<&Lab>) -> Self {
        let folder = TempDir::new().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let (rnis, quic) = (free_port(), free_port());
        let source = match lab {
            Some(lab) => {
                let socket = lab.folder.join("radio.sock");
                format!("kind = \"reports\"\nurl = \"unix:{}\"", socket.display())
            }
            None => {
                let recording = path("recording.ndjson");
                fs::write(&recording, recorded()).expect("written");
                let url = format!("file:{}", recording.display());
                format!("kind = \"replay\"\nurl = {url:?}\nrepeat = true")
            }
        };
        let socket = path("radio.sock");
        fs::write(
            path("rnis.toml"),
            format!(
                "[[source]]\nname = \"gnb\"\n{source}\n[unix]\npath = {socket:?}\n\
                 [metrics]\nlisten = \"127.0.0.1:{rnis}\"\n"
            ),
        )
        .expect("written");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let listen = udp.local_addr().expect("its address");
        drop(udp);
        fs::write(
            path("quic.toml"),
            format!(
                "listen = [\"{listen}\"]\nmeld = \"default\"\n\
                 [certificate]\nself-signed = [\"localhost\"]\n\
                 [reports]\nsource = \"unix:{}\"\n[metrics]\nlisten = \"127.0.0.1:{quic}\"\n",
                socket.display()
            ),
        )
        .expect("written");
        let mut processes = Vec::new();
        for (words, file) in [
            (&["rnis"][..], "rnis.toml"),
            (&["quic", "serve"], "quic.toml"),
        ] {
            let mut command = brimful();
            command.args(words).arg("--config").arg(path(file));
            processes.push(Process::start(quiet(&mut command)));
        }
        let lossy = lossy_way(listen);
        let mut downloads = Command::new("timeout");
        let get = format!(
            "while :; do '{}' quic get {lossy} --size '2 MB' --insecure; done",
            env!("CARGO_BIN_EXE_brimful")
        );
        downloads.args([LOAD_LIMIT_S, "sh", "-c"]).arg(get);
        let services = Self {
            rnis,
            quic,
            _processes: processes,
            _folder: folder,
        };
        for target in services.targets() {
            wait_for(target.daemon, || {
                crate::prometheus::get(&target.address, "/metrics")
            });
        }
        let mut services = services;
        services
            ._processes
            .push(Process::start(quiet(&mut downloads)));
        services
    }

    pub fn targets(&self) -> Vec<Target> {
        let target = |daemon, port: u16| Target {
            daemon,
            address: format!("127.0.0.1:{port}"),
        };
        vec![target("rnis", self.rnis), target("quic", self.quic)]
    }
}

/// Reports of a second, one each 10 ms.
fn recorded() -> String {
    let line = |n: u64| {
        let (slot, at) = (n * 10, 5_000_000_000 + n * 10_000_000);
        format!(
            "{{\"cell\":{{\"id\":1,\"n_prb\":106,\"scs\":30000,\"slot_duration\":500000,\
             \"downlink_share\":1.0,\"slot\":{slot},\"slots\":10,\"prb_background\":2}},\"ues\":[{{\
             \"rnti\":17921,\"ip\":\"10.45.0.2\",\"prb_dl\":40,\"quality\":{{\"kind\":\"mcs\",\"mcs\":20,\
             \"table\":\"nr-qam256\",\"layers\":1,\"data_re_per_prb\":132}},\"cqi\":11,\
             \"tbs_bytes\":9480,\"served_bytes\":9000,\"rlc_queue_bytes\":120000,\
             \"harq_processes\":3,\"harq_retx\":1,\"seq\":{n},\"timestamp\":{at}}}]}}\n"
        )
    };
    (1..=100).map(line).collect()
}

/// An address from where UDP goes to the server and back, but for each fiftieth packet of the server.
fn lossy_way(server: SocketAddr) -> SocketAddr {
    let near = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let at = near.local_addr().expect("its address");
    thread::spawn(move || {
        // each client has a socket of its own towards the server
        let mut clients: Vec<(SocketAddr, UdpSocket)> = Vec::new();
        let mut packet = [0; 65_536];
        while let Ok((length, client)) = near.recv_from(&mut packet) {
            let index = clients.iter().position(|(address, _)| *address == client);
            let index = index.unwrap_or_else(|| {
                let far = UdpSocket::bind("127.0.0.1:0").expect("a port");
                far.connect(server).expect("an address");
                let (from, back) = (
                    far.try_clone().expect("a copy"),
                    near.try_clone().expect("a copy"),
                );
                thread::spawn(move || answer(&from, &back, client));
                clients.push((client, far));
                clients.len() - 1
            });
            let _ = clients[index].1.send(&packet[..length]);
        }
    });
    at
}

fn answer(from: &UdpSocket, back: &UdpSocket, client: SocketAddr) {
    let mut packet = [0; 65_536];
    for n in 1_u64.. {
        let Ok(length) = from.recv(&mut packet) else {
            return;
        };
        if n % 50 != 0 {
            let _ = back.send_to(&packet[..length], client);
        }
    }
}
