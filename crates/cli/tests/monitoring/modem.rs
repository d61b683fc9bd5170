//! The queue above a modem, whose counters are reported, and pings through it.

use crate::daemons::{LOAD_LIMIT_S, Process, Target, quiet};
use crate::namespaces::forward;
use crate::prometheus;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testing::{Namespace, wait_for};

/// The daemon with its network.
pub struct Modem {
    // programs end before their networks and files
    _processes: [Process; 2],
    _networks: [Namespace; 2],
    _folder: TempDir,
    address: SocketAddr,
}

impl Modem {
    pub fn start() -> Self {
        let (router, beyond) = (Namespace::new(), Namespace::new());
        router.sh(&format!(
            "ip link set lo up; ip link add wwan0 type veth peer name net0 netns {}\n\
             ip addr add 10.9.0.1/24 dev wwan0; ip link set wwan0 up",
            beyond.pid()
        ));
        beyond.sh("ip addr add 10.9.0.2/24 dev net0; ip link set net0 up");
        let folder = TempDir::new().expect("a folder");
        let socket = folder.path().join("modem.sock");
        let listener = UnixListener::bind(&socket).expect("a socket");
        thread::spawn(move || report(&listener));
        let config = folder.path().join("ue.toml");
        fs::write(
            &config,
            format!(
                "interface = \"wwan0\"\n[modem]\nsource = \"unix:{}\"\n[metrics]\nlisten = \"127.0.0.1:9468\"\n",
                socket.display()
            ),
        )
        .expect("written");
        let mut daemon = router.command(env!("CARGO_BIN_EXE_brimful"));
        daemon.args(["ue", "--config"]).arg(&config);
        let daemon = Process::start(quiet(&mut daemon));
        let mut ping = router.command("ping");
        ping.args(["-q", "-i", "0.01", "-s", "1000"]);
        ping.args(["-w", LOAD_LIMIT_S, "10.9.0.2"]);
        let ping = Process::start(quiet(&mut ping));
        let address = forward(router.pid(), "127.0.0.1:9468".parse().expect("an address"));
        wait_for("the queue above a modem", || {
            let page = prometheus::get(&address.to_string(), "/metrics")?;
            page.contains("brimful_ue_modem_report_age_seconds")
                .then_some(())
        });
        Self {
            _processes: [ping, daemon],
            _networks: [router, beyond],
            _folder: folder,
            address,
        }
    }

    pub fn target(&self) -> Target {
        Target {
            daemon: "ue",
            address: self.address.to_string(),
        }
    }
}

/// A modem that sends 1 MB/s and in which something waits.
fn report(listener: &UnixListener) {
    let since = Instant::now();
    for mut stream in listener.incoming().flatten() {
        loop {
            let sent = since.elapsed().as_micros();
            let line = format!("{{\"queue_bytes\": 3000, \"sent_bytes\": {sent}}}\n");
            if stream.write_all(line.as_bytes()).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}
