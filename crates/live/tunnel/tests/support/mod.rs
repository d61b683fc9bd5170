//! Two hosts for tests and benches, joined by two wires, as network namespaces.
//!
//! ```text
//!   client  a 10.1.0.2, fd01::2 ======== a 10.1.0.1, fd01::1  server
//!           b 10.2.0.2, fd02::2 ======== b 10.2.0.1, fd02::1
//!   inside  10.99.0.2, fd99::2                10.99.0.1, fd99::1
//! ```
//!
//! A namespace lives as long as a helper process that ends when its stdin does: nothing is left,
//! however the test ends.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use testing::{HANG_LIMIT, StepClock, assert_pattern, pattern, wait_for, wait_until};
use tunnel::{Config, Role, Start, TunnelError};

pub use testing::Namespace;

/// Inside, the server.
pub const SERVER: &str = "10.99.0.1";
/// The same in IPv6.
pub const SERVER_V6: &str = "fd99::1";

/// The two hosts.
pub struct Hosts {
    pub client: Namespace,
    pub server: Namespace,
}

impl Hosts {
    /// Joined by two wires without limits.
    pub fn new() -> Self {
        let hosts = Self {
            client: Namespace::new(),
            server: Namespace::new(),
        };
        hosts.server.sh("ip link set lo up");
        hosts.client.sh("ip link set lo up");
        hosts.join("a", 1);
        hosts.join("b", 2);
        hosts
    }

    /// Joins them by a wire.
    pub fn join(&self, wire: &str, net: u8) {
        self.client.sh(&format!(
            "ip link add name {wire} type veth peer name {wire} netns {}\n\
             ip link set dev {wire} up; ip address add 10.{net}.0.2/24 dev {wire}\n\
             ip address add fd0{net}::2/64 dev {wire} nodad",
            self.server.pid()
        ));
        self.server.sh(&format!(
            "ip link set dev {wire} up; ip address add 10.{net}.0.1/24 dev {wire}\n\
             ip address add fd0{net}::1/64 dev {wire} nodad"
        ));
    }

    /// None, and the skip is recorded, where this process may not make any.
    pub fn try_new(test: &str) -> Option<Self> {
        testing::has_root(test).then(Self::new)
    }

    /// Gives both directions of a wire a rate in Mbit/s.
    pub fn shape(&self, wire: &str, mbps: u32) {
        for host in [&self.client, &self.server] {
            host.sh(&format!(
                "tc qdisc replace dev {wire} root tbf rate {mbps}mbit burst 16kb limit 300kb"
            ));
        }
    }

    /// Cuts a wire silently: nothing arrives any more.
    pub fn cut(&self, wire: &str) {
        for host in [&self.client, &self.server] {
            host.sh(&format!(
                "nft 'add table inet cut_{wire}; \
                 add chain inet cut_{wire} i {{ type filter hook input priority 0; }}; \
                 add rule inet cut_{wire} i iifname {wire} drop'"
            ));
        }
    }

    /// Mends it.
    pub fn mend(&self, wire: &str) {
        for host in [&self.client, &self.server] {
            host.sh(&format!("nft delete table inet cut_{wire}"));
        }
    }
}

/// A running end of a tunnel: a process of its own, in a namespace.
pub struct Daemon {
    pub child: Child,
    pub folder: TempDir,
}

/// Writes a key, the same for every test of this process.
fn write_key(folder: &TempDir, name: &str, text: &str) {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("set");
}

/// A key of 32 bytes, in base64.
pub const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
/// Another.
pub const OTHER_KEY: &str = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";

/// Private keys of the server and of two clients, and their public keys.
pub const SERVER_PRIVATE: &str = "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=";
pub const ONE_PRIVATE: &str = "BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=";
pub const TWO_PRIVATE: &str = "BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=";

/// The public key of a private one.
pub fn public_key(folder: &Path, name: &str) -> String {
    let key = tunnel::StaticKey::load(&folder.join(name)).expect("a key");
    key.public_text()
}

impl Daemon {
    /// Starts this same program as a daemon, and waits until it runs; `{dir}` becomes its folder.
    pub fn start(host: &Namespace, role: &str, config: &str) -> Self {
        let daemon = Self::spawn(host, role, config);
        wait_until("the daemon runs", || daemon.log().contains("running"));
        daemon
    }

    /// Starts it without waiting.
    pub fn spawn(host: &Namespace, role: &str, config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = File::create(folder.path().join("log")).expect("a log");
        Self::spawn_as(host, role, config, folder, log, &[])
    }

    /// Starts it with a log that takes no line, and waits until it answers.
    pub fn start_on_a_full_disk(host: &Namespace, role: &str, config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = File::create("/dev/full").expect("a device");
        let daemon = Self::spawn_as(host, role, config, folder, log, &[]);
        daemon.status();
        daemon
    }

    /// Starts it with a clock of the test's, and waits until it runs.
    pub fn start_with_clock(host: &Namespace, role: &str, config: &str, clock: &StepClock) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = File::create(folder.path().join("log")).expect("a log");
        let daemon = Self::spawn_as(host, role, config, folder, log, &clock.environment());
        wait_until("the daemon runs", || daemon.log().contains("running"));
        daemon
    }

    /// Starts it with a file `hosts` of its own in the place of the system's, and waits until it runs.
    pub fn start_with_names(host: &Namespace, role: &str, config: &str, names: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("hosts"), names).expect("written");
        let log = File::create(folder.path().join("log")).expect("a log");
        let daemon = Self::spawn_by(host, role, config, (folder, log), &[], |folder| {
            let mut command = Command::new("unshare");
            let line = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
            command
                .args(["--mount", "sh", "-ec", line])
                .arg(folder.join("hosts"));
            command
        });
        wait_until("the daemon runs", || daemon.log().contains("running"));
        daemon
    }

    /// Replaces what is in its file `hosts`.
    pub fn set_names(&self, names: &str) {
        std::fs::write(self.folder.path().join("hosts"), names).expect("written");
    }

    fn spawn_as(
        host: &Namespace,
        role: &str,
        config: &str,
        folder: TempDir,
        log: File,
        environment: &[(&str, &Path)],
    ) -> Self {
        Self::spawn_by(host, role, config, (folder, log), environment, |_| {
            Command::new("env")
        })
    }

    /// With a program that is given this one, and runs it in its own place.
    fn spawn_by(
        host: &Namespace,
        role: &str,
        config: &str,
        (folder, log): (TempDir, File),
        environment: &[(&str, &Path)],
        by: impl FnOnce(&Path) -> Command,
    ) -> Self {
        write_key(&folder, "key", KEY);
        write_key(&folder, "other", OTHER_KEY);
        write_key(&folder, "server.key", SERVER_PRIVATE);
        write_key(&folder, "one.key", ONE_PRIVATE);
        write_key(&folder, "two.key", TWO_PRIVATE);
        let text = filled(folder.path(), config);
        let path = folder.path().join("tunnel.toml");
        std::fs::write(&path, text).expect("written");
        let program = std::env::current_exe().expect("this program");
        let mut command = by(folder.path());
        let child = host.enter(|| {
            command
                .arg(program)
                .args(["daemon", role])
                .arg(&path)
                .envs(environment.iter().copied())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()
        });
        Self {
            child: child.expect("it can be run"),
            folder,
        }
    }

    /// What it has written to its log; nothing where that is on a full disk.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Replaces its configuration.
    pub fn write(&self, config: &str) {
        let text = filled(self.folder.path(), config);
        std::fs::write(self.folder.path().join("tunnel.toml"), text).expect("written");
    }

    /// Replaces its configuration, and has it read again.
    pub fn reload(&self, config: &str) {
        self.write(config);
        self.signal(Signal::HUP);
    }

    /// Sends a request to its admin socket.
    pub fn request(&self, request: &Value) -> Result<Value, TunnelError> {
        tunnel::request(&self.folder.path().join("sock"), request)
    }

    pub fn status(&self) -> Value {
        let request = json!({ "command": "status" });
        wait_for("an answer of the daemon", || self.request(&request).ok())
    }

    /// A path's status, by its index.
    pub fn path(&self, index: usize) -> Value {
        self.status()["connections"][0]["paths"][index].clone()
    }

    /// Waits until so many paths of its first connection are up.
    pub fn wait_for_paths(&self, count: usize) {
        wait_until(&format!("{count} paths are up"), || {
            let status = self.status();
            let paths = status["connections"][0]["paths"].as_array().cloned();
            let up = |path: &&Value| path["state"] == "up";
            paths.is_some_and(|paths| paths.iter().filter(up).count() == count)
        });
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of a daemon ---\n{}", self.log());
        }
    }
}

/// A configuration with the folder and the public keys; with the threads that `TUNNEL_THREADS` names, if the test does not
/// state them.
fn filled(folder: &Path, config: &str) -> String {
    let mut text = config.replace("{dir}", folder.to_str().expect("a plain path"));
    if let Ok(threads) = std::env::var("TUNNEL_THREADS")
        && !text.contains("threads = ")
    {
        text = format!("threads = {threads}\n{text}");
    }
    for name in ["server", "one", "two"] {
        let key = public_key(folder, &format!("{name}.key"));
        text = text.replace(&format!("{{{name}}}"), &key);
    }
    text
}

/// The same without encryption: of either end.
pub fn plain(config: &str) -> String {
    let lines = config.lines().filter(|line| {
        let has = |key: &str| line.starts_with(key);
        !(has("private-key-file") || has("server-key") || has("public-key"))
    });
    let mut text = "encryption = \"none\"\n".to_owned();
    for line in lines {
        if line.starts_with("addresses = [\"10.99.0.2/32") || line.starts_with("# client") {
            text += "key-file = \"{dir}/key\"\n";
        }
        text += line;
        text += "\n";
    }
    text
}

/// A server that listens at both wires, in IPv4 and IPv6.
pub fn server_config(more: &str) -> String {
    format!(
        "private-key-file = \"{{dir}}/server.key\"\nlisten = [\"0.0.0.0:6511\", \"[::]:6511\"]\n{more}\n\
         [admin]\nsocket = \"{{dir}}/sock\"\n[log]\nlevel = \"debug\"\n\
         [tun]\nname = \"t0\"\naddresses = [\"10.99.0.1/24\", \"fd99::1/64\"]\n\
         [[client]]\nname = \"one\"\npublic-key = \"{{one}}\"\n\
         addresses = [\"10.99.0.2/32\", \"fd99::2/128\"]\n"
    )
}

/// A client with these paths (`[[path]]` tables).
pub fn client_config(more: &str, paths: &str) -> String {
    format!(
        "# client\nprivate-key-file = \"{{dir}}/one.key\"\nserver-key = \"{{server}}\"\n{more}\n\
         [admin]\nsocket = \"{{dir}}/sock\"\n[log]\nlevel = \"debug\"\n\
         [tun]\nname = \"t0\"\naddresses = [\"10.99.0.2/24\", \"fd99::2/64\"]\n{paths}"
    )
}

/// Paths over both wires.
pub fn two_paths(more: &str) -> String {
    format!(
        "[[path]]\nname = \"a\"\ninterface = \"a\"\nremote = \"10.1.0.1:6511\"\n{more}\
         [[path]]\nname = \"b\"\ninterface = \"b\"\nremote = \"10.2.0.1:6511\"\n\
         priority = \"secondary\"\n{more}"
    )
}

/// One path over the first wire.
pub fn one_path(more: &str) -> String {
    format!("[[path]]\nname = \"a\"\ninterface = \"a\"\nremote = \"10.1.0.1:6511\"\n{more}")
}

/// What is done on an emulated processor is less.
pub fn emulated_or<T>(emulated: T, usual: T) -> T {
    if testing::is_slow_machine() {
        emulated
    } else {
        usual
    }
}

/// A TCP server that sends so many bytes to the first client that connects.
pub fn serve(host: &Namespace, address: &str, bytes: usize) -> std::thread::JoinHandle<()> {
    let address: SocketAddr = address.parse().expect("an address");
    let listener = host.enter(|| TcpListener::bind(address)).expect("bound");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepted");
        let mut sent = 0;
        while sent < bytes {
            let n = (bytes - sent).min(65_536);
            if stream.write_all(&pattern(sent, n)).is_err() {
                return;
            }
            sent += n;
        }
    })
}

/// Downloads so many bytes and compares each; `at` is called once when half has come.
pub fn download(host: &Namespace, address: &str, bytes: usize, at: impl FnOnce() + Send) {
    let address: SocketAddr = address.parse().expect("an address");
    host.enter(move || {
        let mut stream = connect(address);
        stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
        let (mut got, mut half) = (0, Some(at));
        let mut buffer = vec![0; 65_536];
        while got < bytes {
            let n = stream.read(&mut buffer).expect("bytes keep coming");
            assert!(n > 0, "it ended after {got} of {bytes} bytes");
            assert_pattern(got, &buffer[..n]);
            got += n;
            if got > bytes / 2
                && let Some(at) = half.take()
            {
                at();
            }
        }
    });
}

/// Connects, as often as it takes.
pub fn connect(address: SocketAddr) -> TcpStream {
    wait_for(&format!("a connection to {address}"), || {
        TcpStream::connect_timeout(&address, Duration::from_secs(3)).ok()
    })
}

/// What this program does as `PROGRAM daemon ROLE FILE`: it is an end of the tunnel.
pub fn run_daemon(arguments: &[String]) -> ExitCode {
    let role = match arguments[0].as_str() {
        "client" => Role::Client,
        _ => Role::Server,
    };
    let file = std::path::PathBuf::from(&arguments[1]);
    let config = match Config::load(&file, role) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let start = Start {
        config,
        file: Some(file),
    };
    match tunnel::run(&start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if matches!(error, TunnelError::Key(_)) {
                2
            } else {
                1
            })
        }
    }
}
