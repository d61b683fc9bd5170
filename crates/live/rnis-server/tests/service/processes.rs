//! Brokers as Debian packages them, each on a port and in a folder of its own.

use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use testing::free_port;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

const TIMEOUT: Duration = Duration::from_secs(120);

/// A process with all that it starts, in a process group that ends with it.
struct Group(Child);

impl Group {
    fn start(command: &mut Command) -> Self {
        let program = command.get_program().to_owned();
        assert!(
            Path::new(&program).exists(),
            "{} is missing: scripts/setup installs it",
            program.display()
        );
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        Self(child.expect("it starts"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        // it may be dead already
        let _ = pid.map(|pid| kill_process_group(pid, Signal::KILL));
        let _ = self.0.wait();
    }
}

async fn answers(port: u16) {
    let deadline = Instant::now() + TIMEOUT;
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(Instant::now() < deadline, "nothing answers at port {port}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// `nats-server`.
pub struct Nats {
    port: u16,
    running: Option<Group>,
}

impl Nats {
    pub fn new() -> Self {
        Self {
            port: free_port(),
            running: None,
        }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub async fn start(&mut self) {
        let mut command = Command::new("/usr/sbin/nats-server");
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string()]);
        self.running = Some(Group::start(&mut command));
        answers(self.port).await;
    }

    pub fn kill(&mut self) {
        self.running = None;
    }
}

/// `rabbitmq-server` with an Erlang port mapper of its own.
pub struct Rabbit {
    folder: TempDir,
    port: u16,
    distribution: u16,
    mapper: u16,
    running: Vec<Group>,
}

impl Rabbit {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            port: free_port(),
            distribution: free_port(),
            mapper: free_port(),
            running: Vec::new(),
        }
    }

    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.port)
    }

    pub async fn start(&mut self) {
        let folder = self.folder.path();
        let mapper = self.mapper.to_string();
        let mut epmd = Command::new("/usr/bin/epmd");
        epmd.args(["-address", "127.0.0.1", "-port", &mapper]);
        self.running.push(Group::start(&mut epmd));
        answers(self.mapper).await;
        // no plugins: what they listen at would not be ours
        std::fs::write(folder.join("plugins"), "[].").expect("written");
        let mut command = Command::new("/usr/lib/rabbitmq/bin/rabbitmq-server");
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
            .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
            .env("RABBITMQ_LOG_BASE", folder.join("log"))
            .env("RABBITMQ_CONFIG_FILE", folder.join("none"))
            .env("RABBITMQ_CONF_ENV_FILE", folder.join("none.conf"))
            .env("RABBITMQ_PID_FILE", folder.join("pid"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("plugins"));
        self.running.push(Group::start(&mut command));
        answers(self.port).await;
    }

    /// At once, without a farewell.
    pub fn kill(&mut self) {
        self.running.clear();
    }
}
