//! A router with a modem, what is behind it, and the daemon.

use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use testing::{Namespace, wait_for, wait_until};

pub const ROUTER: &str = "10.9.0.1";
pub const BEYOND: &str = "10.9.0.2";
pub const BEYOND_6: &str = "fd09::2";
/// What the modem is reported to send, bytes a second, but where a test states otherwise.
pub const RATE: u64 = 1_000_000;

/// The router, and a host beyond its modem.
pub struct Place {
    pub router: Namespace,
    pub beyond: Namespace,
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let (router, beyond) = (Namespace::new(), Namespace::new());
        router.sh(&format!(
            "ip link add wwan0 type veth peer name net0 netns {}; ip link set lo up; \
             ip addr add {ROUTER}/24 dev wwan0; ip addr add fd09::1/64 dev wwan0 nodad; ip link set wwan0 up",
            beyond.pid()
        ));
        beyond.sh(&format!(
            "ip link set lo up; ip addr add {BEYOND}/24 dev net0; ip addr add {BEYOND_6}/64 dev net0 nodad; ip link set net0 up"
        ));
        let folder = tempfile::tempdir().expect("a folder");
        Self {
            router,
            beyond,
            folder,
        }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("modem.sock")
    }

    /// A modem whose reports can be read.
    pub fn modem(&self) -> Modem {
        self.modem_of(RATE)
    }

    /// One that sends so many bytes a second.
    pub fn modem_of(&self, rate: u64) -> Modem {
        Modem::new(&self.socket(), rate)
    }

    /// A configuration, `queue` being the keys of its table.
    pub fn configure(&self, queue: &str) -> PathBuf {
        self.configure_with(queue, "")
    }

    /// The same with further tables.
    pub fn configure_with(&self, queue: &str, more: &str) -> PathBuf {
        let path = self.folder.path().join("ue.toml");
        // how old a report may be is no matter of this machine's load
        let text = format!(
            "interface = \"wwan0\"\n[queue]\nmax-age = \"1000 s\"\n{queue}\n[modem]\nsource = \"unix:{}\"\n\
             [metrics]\nlisten = \"127.0.0.1:9468\"\n{more}",
            self.socket().display()
        );
        std::fs::write(&path, text).expect("written");
        path
    }

    /// The daemon, once it takes packets.
    pub fn daemon(&self, queue: &str) -> Daemon {
        let daemon = self.start(queue);
        wait_until("packets are taken", || {
            let status = self.try_status();
            status.is_some_and(|of| of["attached"].as_str().is_some_and(|way| !way.is_empty()))
        });
        daemon
    }

    pub fn start(&self, queue: &str) -> Daemon {
        let program = std::env::current_exe().expect("this program");
        let mut command = self.router.command(program.to_str().expect("a path"));
        command.arg("daemon").arg(self.configure(queue));
        let log = self.folder.path().join("ue.log");
        command.stderr(File::create(&log).expect("a file"));
        Daemon {
            child: command.spawn().expect("started"),
            log,
        }
    }

    pub fn try_status(&self) -> Option<Value> {
        let answer = self.router.enter(|| {
            let mut stream = TcpStream::connect("127.0.0.1:9468").ok()?;
            stream
                .write_all(b"GET /status HTTP/1.1\r\nHost: ue\r\n\r\n")
                .ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).ok()?;
            Some(answer)
        })?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        serde_json::from_str(body).ok()
    }

    pub fn status(&self) -> Value {
        wait_for("a status", || self.try_status())
    }

    /// Until a number of the status is as wanted.
    pub fn wait(&self, path: &str, what: impl Fn(u64) -> bool) -> u64 {
        wait_for(path, || {
            let number = self.try_status()?.pointer(path)?.as_u64()?;
            what(number).then_some(number)
        })
    }

    /// Devices of the daemon's in the router.
    pub fn devices(&self) -> usize {
        self.router.sh("ip -o link").matches("brimfulu").count()
    }

    /// A socket of the router's with this ECN field, and one beyond that it is connected to.
    pub fn pair(&self, ecn: i32, is_ipv6: bool) -> (UdpSocket, UdpSocket) {
        let any = if is_ipv6 { "[::]:0" } else { "0.0.0.0:0" };
        let receiver = self.beyond.enter(|| UdpSocket::bind(any).expect("bound"));
        receiver
            .set_read_timeout(Some(testing::HANG_LIMIT))
            .expect("set");
        let port = receiver.local_addr().expect("bound").port();
        let sender = self.router.enter(|| UdpSocket::bind(any).expect("bound"));
        // IPPROTO_IPV6 with IPV6_TCLASS, IPPROTO_IP with IP_TOS
        let (level, name) = if is_ipv6 { (41, 67) } else { (0, 1) };
        socket_options::set_int(&sender, level, name, ecn).expect("set");
        let to = if is_ipv6 { BEYOND_6 } else { BEYOND };
        sender.connect((to, port)).expect("connected");
        (sender, receiver)
    }
}

/// `above daemon FILE`. Dropped, it is killed.
pub struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("sent");
    }

    /// How it ended, and what it printed.
    pub fn wait(mut self) -> (ExitStatus, String) {
        (self.child.wait().expect("waited for"), self.log())
    }

    /// What it has printed.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("text")
    }

    /// Has it read its file again, until it has logged this.
    pub fn reload(&self, expected: &str) {
        self.signal(rustix::process::Signal::HUP);
        wait_until(expected, || self.log().contains(expected));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A modem that always has something to send; what waits in it is stated.
pub struct Modem {
    waits: Arc<AtomicU64>,
    stops: Arc<AtomicBool>,
    reader: Arc<Mutex<Option<UnixStream>>>,
    thread: Option<JoinHandle<()>>,
}

impl Modem {
    fn new(path: &std::path::Path, rate: u64) -> Self {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).expect("a socket");
        listener.set_nonblocking(true).expect("set");
        let mut modem = Self {
            waits: Arc::default(),
            stops: Arc::default(),
            reader: Arc::default(),
            thread: None,
        };
        let (waits, stops) = (Arc::clone(&modem.waits), Arc::clone(&modem.stops));
        let reader = Arc::clone(&modem.reader);
        let report = move || {
            while !stops.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
                let mut reader = reader.lock().expect("whole");
                if let Ok((stream, _)) = listener.accept() {
                    *reader = Some(stream);
                }
                let now = daemon::clock::now().since_start().as_nanos();
                let sent = now / 1_000 * rate / 1_000_000;
                let queue = waits.load(Relaxed);
                let line =
                    format!("{{\"queue_bytes\":{queue},\"sent_bytes\":{sent},\"at_ns\":{now}}}\n");
                let is_written =
                    |stream: &mut UnixStream| stream.write_all(line.as_bytes()).is_ok();
                if reader.as_mut().is_some_and(|stream| !is_written(stream)) {
                    *reader = None;
                }
            }
        };
        modem.thread = Some(std::thread::spawn(report));
        modem
    }

    /// So many bytes wait in it from now on; what is above the window of 14 ms lets no packet go on.
    pub fn set_waits(&self, bytes: u64) {
        self.waits.store(bytes, Relaxed);
    }

    /// Writes something else to who reads.
    pub fn write(&self, bytes: &[u8]) {
        wait_for("a reader", || {
            let mut reader = self.reader.lock().expect("whole");
            reader.as_mut()?.write_all(bytes).ok()
        });
    }
}

impl Drop for Modem {
    fn drop(&mut self) {
        self.stops.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A window that is shut: a second's worth of bytes waits in the modem.
pub const SHUT: u64 = 1_000_000;

impl Place {
    /// Until nothing goes on, by the reports of a modem in which much waits. How many packets wait then.
    pub fn shut(&self, modem: &Modem) -> u64 {
        modem.set_waits(SHUT);
        let (sender, _beyond) = self.pair(0, false);
        wait_until("packets wait", || {
            sender.send(b"probe").expect("sent");
            self.status()["queue"]["packets"].as_u64() > Some(0)
        });
        self.wait("/queue/packets", |_| true)
    }

    /// Until so many more reports have come.
    pub fn next_reports(&self, count: u64) {
        let before = self.wait("/modem/accepted", |_| true);
        self.wait("/modem/accepted", |accepted| accepted >= before + count);
    }
}

/// A program that is run in the router, to its end.
pub fn run_daemon(place: &Place, file: &std::path::Path) -> (Option<i32>, String) {
    let program = std::env::current_exe().expect("this program");
    let mut command: Command = place.router.command(program.to_str().expect("a path"));
    command.arg("daemon").arg(file);
    let output = command.output().expect("run");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), printed)
}
