//! Brokers as Debian packages them, each on ports and in a folder of its own.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use testing::{Missing, free_port, skip};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// After this the start of a broker is a hang: a virtual machine of Erlang's and a database take long
/// on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(300);
/// Between attempts to connect.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A process with all that it starts, in a process group that ends with it.
struct Group {
    child: Child,
    log: PathBuf,
}

impl Group {
    /// Starts a command that writes to a log of this name.
    fn start(command: &mut Command, folder: &Path, name: &str) -> Self {
        let log = folder.join(name);
        let file = File::create(&log).expect("a log");
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a log"))
            .stderr(file)
            .process_group(0)
            .spawn();
        Self {
            child: child.expect("it starts"),
            log,
        }
    }

    /// Waits until it listens at a port of this machine.
    async fn listens(&mut self, port: u16) {
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            let ended = self.child.try_wait().expect("a child");
            let is_late = start.elapsed() > START_LIMIT;
            if ended.is_some() || is_late {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                panic!("{} does not listen: {ended:?}\n{log}", self.log.display());
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // it may be dead already
        let _ = pid.map(|pid| kill_process_group(pid, Signal::KILL));
        let _ = self.child.wait();
    }
}

/// Whether programs are there; if not, the test is skipped.
fn are_there(test: &str, name: &str, paths: &[&str]) -> bool {
    let are_there = paths.iter().all(|path| Path::new(path).exists());
    if !are_there {
        skip(test, Missing::Program(name));
    }
    are_there
}

const NATS: &str = "/usr/sbin/nats-server";

/// `nats-server`.
pub struct Nats {
    folder: TempDir,
    port: u16,
    running: Option<Group>,
}

impl Nats {
    /// None, and the skip is recorded, where there is no such program.
    pub fn try_new(test: &str) -> Option<Self> {
        are_there(test, "nats-server", &[NATS]).then(|| Self {
            folder: tempfile::tempdir().expect("a folder"),
            port: free_port(),
            running: None,
        })
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub async fn start(&mut self) {
        let mut command = Command::new(NATS);
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string()]);
        let mut group = Group::start(&mut command, self.folder.path(), "nats.log");
        group.listens(self.port).await;
        self.running = Some(group);
    }

    pub fn kill(&mut self) {
        self.running = None;
    }
}

const RABBIT: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const MAPPER: &str = "/usr/bin/epmd";

/// `rabbitmq-server` with an Erlang port mapper of its own.
pub struct Rabbit {
    folder: TempDir,
    port: u16,
    distribution: u16,
    mapper: u16,
    running: Vec<Group>,
}

impl Rabbit {
    /// None, and the skip is recorded, where there is no such program.
    pub fn try_new(test: &str) -> Option<Self> {
        are_there(test, "rabbitmq-server", &[RABBIT, MAPPER]).then(|| Self {
            folder: tempfile::tempdir().expect("a folder"),
            port: free_port(),
            distribution: free_port(),
            mapper: free_port(),
            running: Vec::new(),
        })
    }

    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.port)
    }

    /// Starts it, and waits until it listens: that is the last thing it does at its start.
    pub async fn start(&mut self) {
        let folder = self.folder.path();
        let mapper = self.mapper.to_string();
        let mut epmd = Command::new(MAPPER);
        epmd.args(["-address", "127.0.0.1", "-port", &mapper]);
        let mut epmd = Group::start(&mut epmd, folder, "epmd.log");
        epmd.listens(self.mapper).await;
        self.running.push(epmd);
        // no plugins: what they listen at would not be ours
        std::fs::write(folder.join("plugins"), "[].").expect("written");
        let mut command = Command::new(RABBIT);
        command
            .env("HOME", folder)
            .env("ERL_EPMD_PORT", &mapper)
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env(
                "RABBITMQ_NODENAME",
                format!("brimful{}@localhost", self.port),
            )
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODE_PORT", self.port.to_string())
            .env("RABBITMQ_DIST_PORT", self.distribution.to_string())
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-kernel inet_dist_use_interface {127,0,0,1}",
            )
            .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
            .env("RABBITMQ_LOG_BASE", folder.join("log"))
            .env("RABBITMQ_CONFIG_FILE", folder.join("none"))
            .env("RABBITMQ_CONF_ENV_FILE", folder.join("none.conf"))
            .env("RABBITMQ_PID_FILE", folder.join("pid"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("plugins"));
        let mut server = Group::start(&mut command, folder, "rabbitmq.log");
        server.listens(self.port).await;
        self.running.push(server);
    }

    /// At once, without a shutdown.
    pub fn kill(&mut self) {
        // the server before its port mapper
        while self.running.pop().is_some() {}
    }
}
