//! A proxy under test: a process of its own, in a namespace.

use super::Namespace;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::TempDir;

/// A running proxy.
pub struct Daemon {
    pub child: Child,
    pub folder: TempDir,
}

/// The head of a configuration of the transparent mode; `{dir}` becomes the test's folder.
pub const TRANSPARENT: &str = r#"
mode = "transparent"
ue-prefixes = ["10.45.0.0/24", "fd45::/64"]
ran-interface = "ran0"
wan-interface = "wan0"
[admin]
socket = "{dir}/pep.sock"
[log]
level = "debug"
"#;

impl Daemon {
    /// Starts this same program as a daemon, and waits until it accepts.
    pub fn start(host: &Namespace, config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::start_in(host, folder, config, &[])
    }

    /// In a folder that may hold a predecessor's admin socket.
    pub fn start_in(host: &Namespace, folder: TempDir, config: &str, more: &[&str]) -> Self {
        let daemon = Self::spawn(host, folder, config, more);
        daemon.wait_until("it accepts", || daemon.log().contains("accepting"));
        daemon
    }

    /// Starts it without waiting.
    pub fn spawn(host: &Namespace, folder: TempDir, config: &str, more: &[&str]) -> Self {
        let path = folder.path().join("pep.toml");
        write_config(&folder, config);
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        Self::spawn_as(host, folder, log, &[], &path, more)
    }

    /// Whether it may accept connections: a socket that listens is open in it.
    pub fn listens(&self, host: &Namespace) -> bool {
        let sockets = host.sh("ss -Hltnp");
        sockets.contains(&format!("pid={},", self.child.id()))
    }

    /// Starts it with a clock of the test's, and waits until it accepts.
    pub fn start_with_clock(host: &Namespace, config: &str, clock: &testing::StepClock) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let set = clock
            .environment()
            .map(|(name, value)| format!("{name}={}", value.display()));
        let [library, file] = &set;
        Self::start_wrapped(host, folder, config, &["env", library, file])
    }

    /// Starts it with a log that takes no line, and waits until it answers.
    pub fn start_on_a_full_disk(host: &Namespace, config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pep.toml");
        write_config(&folder, config);
        let log = std::fs::File::create("/dev/full").expect("a device");
        let daemon = Self::spawn_as(host, folder, log, &[], &path, &[]);
        daemon.wait_until("it answers", || {
            pep::status(&daemon.path("pep.sock")).is_ok_and(|status| status["state"] == "running")
        });
        daemon
    }

    fn spawn_as(
        host: &Namespace,
        folder: TempDir,
        log: std::fs::File,
        wrapper: &[&str],
        path: &Path,
        more: &[&str],
    ) -> Self {
        let program = std::env::current_exe().expect("this program");
        let program = program.to_str().expect("a plain path");
        let words: Vec<&str> = wrapper.iter().chain([&program]).copied().collect();
        let child = host.enter(|| {
            Command::new(words[0])
                .args(&words[1..])
                .arg("daemon")
                .arg(path)
                .args(more)
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

    /// Starts it without the right to load BPF programs.
    pub fn start_without_bpf(host: &Namespace, folder: TempDir, config: &str) -> Self {
        let set = "-bpf,-sys_admin,-perfmon";
        Self::start_wrapped(host, folder, config, &["setpriv", "--bounding-set", set])
    }

    /// Starts it without any capability.
    pub fn start_unprivileged(host: &Namespace, folder: TempDir, config: &str) -> Self {
        let wrapper = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"];
        Self::start_wrapped(host, folder, config, &wrapper)
    }

    /// Starts it by another program, whose last words are those of its own.
    pub fn start_wrapped(
        host: &Namespace,
        folder: TempDir,
        config: &str,
        wrapper: &[&str],
    ) -> Self {
        let daemon = Self::spawn_wrapped(host, folder, config, wrapper, &[]);
        daemon.wait_until("it accepts", || daemon.log().contains("accepting"));
        daemon
    }

    /// The same without waiting.
    pub fn spawn_wrapped(
        host: &Namespace,
        folder: TempDir,
        config: &str,
        wrapper: &[&str],
        more: &[&str],
    ) -> Self {
        let path = folder.path().join("pep.toml");
        write_config(&folder, config);
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        Self::spawn_as(host, folder, log, wrapper, &path, more)
    }

    /// What it has written to its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// A path in its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Its own account of itself.
    pub fn status(&self) -> Value {
        pep::status(&self.path("pep.sock")).expect("it answers")
    }

    /// One of its counters.
    pub fn count(&self, counter: &str) -> u64 {
        self.count_at(&self.path("pep.sock"), counter)
    }

    /// The same at another admin socket than its folder's.
    pub fn count_at(&self, socket: &Path, counter: &str) -> u64 {
        let status = pep::status(socket).expect("it answers");
        status["counters"][counter]
            .as_u64()
            .unwrap_or_else(|| panic!("no counter {counter}"))
    }

    /// Waits for a condition; what the daemon has logged is printed where it does not come about.
    pub fn wait_until(&self, what: &str, condition: impl FnMut() -> bool) {
        testing::wait_until(what, condition);
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// Stops it as an operator would.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        self.child.wait().expect("it ends")
    }
}

/// Writes a configuration where a daemon of this folder reads it.
pub fn write_config(folder: &TempDir, config: &str) {
    let dir = folder.path().to_str().expect("a plain path");
    let text = config.replace("{dir}", dir);
    std::fs::write(folder.path().join("pep.toml"), text).expect("written");
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the proxy\n{}", self.log());
        }
    }
}
