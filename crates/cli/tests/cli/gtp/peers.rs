//! The programs at both ends: Osmocom's GGSN, and an SGSN that is also its UE's device.

use crate::Place;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testing::{Missing, Namespace, wait_for, wait_until};

/// Where users are sent from, in both families.
pub const SERVERS: [&str; 2] = ["10.99.0.1", "2001:db8:99::1"];
/// The ends of the tunnels: the core's, and those towards the UEs.
pub const CORE: &str = "10.1.0.1";
pub const RADIO: [&str; 2] = ["10.2.0.1", "10.2.0.2"];
/// The devices of the UEs, and those of the core that lead to them.
pub const DEVICES: [&str; 2] = ["ue4", "ue6"];
pub const ACCESS_POINTS: [&str; 2] = ["apn4", "apn6"];

const GGSN: &str = "\
log stderr
 logging filter all 1
 logging color 0
ggsn ggsn0
 gtp state-dir {dir}
 gtp bind-ip 10.1.0.1
 apn four
  gtpu-mode tun
  tun-device apn4
  type-support v4
  ip prefix dynamic 10.46.0.0/24
  ip ifconfig 10.46.0.1/24
  no shutdown
 apn six
  gtpu-mode tun
  tun-device apn6
  type-support v6
  ipv6 prefix dynamic 2001:db8:46::/48
  ipv6 ifconfig 2001:db8:46::/64
  no shutdown
 default-apn four
 no shutdown ggsn
";

/// A program that ends with its value.
pub struct Program(Child);

impl Program {
    pub fn start(at: &Namespace, command: &mut Command) -> Self {
        let child = at.enter(|| command.stdin(Stdio::null()).spawn());
        Self(child.expect("it can be run"))
    }

    /// Has it end by a signal, and waits for that.
    pub fn stop(&mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("it lives");
        self.0.wait().expect("an end");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program of Osmocom's package: as `scripts/setup` unpacks it, with its libraries, or installed.
fn osmocom(name: &str) -> Option<(PathBuf, Option<PathBuf>)> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/osmo-ggsn/usr");
    let program = unpacked.join("bin").join(name);
    if program.is_file() {
        let mut libraries = fs::read_dir(unpacked.join("lib")).ok()?;
        let libraries = libraries.find_map(|entry| {
            let folder = entry.ok()?.path();
            let mut names = fs::read_dir(&folder).ok()?.flatten();
            let has_its = names.any(|of| of.file_name().to_string_lossy().starts_with("libgtp.so"));
            has_its.then_some(folder)
        });
        return Some((program, libraries));
    }
    let installed = Path::new("/usr/bin").join(name);
    installed.is_file().then_some((installed, None))
}

/// Three hosts and what runs on them: the core, the edge between, the radio's side.
pub struct Peers {
    pub core: Namespace,
    pub edge: Namespace,
    pub radio: Namespace,
    /// In both families.
    pub ues: [IpAddr; 2],
    _ends: [Program; 3],
}

impl Peers {
    /// Has both UEs attached. None, with the test recorded as skipped, where that cannot be.
    pub fn start(test: &str, place: &Place) -> Option<Self> {
        if !testing::has_root(test) {
            return None;
        }
        let (Some(ggsn), Some(sgsn)) = (osmocom("osmo-ggsn"), osmocom("sgsnemu")) else {
            testing::skip(test, Missing::Program("osmo-ggsn"));
            return None;
        };
        let [core, edge, radio] = hosts();
        let config = GGSN.replace("{dir}", place.folder.path().to_str().expect("text"));
        fs::write(place.path("ggsn.cfg"), config).expect("written");
        let ggsn = Program::start(
            &core,
            with_log(&ggsn, place, "ggsn").args(["-c", "ggsn.cfg"]),
        );
        wait_until("the GGSN", || core.sh("ss -Hlun").contains("10.1.0.1:2123"));
        let [first, second] = [0, 1].map(|of| {
            let name = DEVICES[of];
            let file = |kind: &str| format!("{name}.{kind}");
            fs::create_dir(place.path(&file("state"))).expect("a folder");
            let mut command = with_log(&sgsn, place, name);
            command.args(["--listen", RADIO[of], "--remote", CORE, "--createif"]);
            command.args(["--tun-device", name, "--statedir", &file("state")]);
            command.args(["--pidfile", &file("pid")]);
            command.args(match of {
                0 => ["--apn", "four", "--pdp-type", "v4"],
                _ => ["--apn", "six", "--pdp-type", "v6"],
            });
            command.args(["--imsi", ["240010123456789", "240010123456790"][of]]);
            Program::start(&radio, &mut command)
        });
        let ues = [0, 1].map(|of| {
            wait_for("a UE's address", || {
                let all = radio.sh("ip -o addr show scope global");
                let mut lines = all.lines().map(str::split_whitespace);
                lines.find_map(|mut words| {
                    let is_its = words.nth(1) == Some(DEVICES[of]);
                    let address = words.nth(1)?.split('/').next()?;
                    is_its.then(|| address.parse().expect("an address"))
                })
            })
        });
        core.sh("ip route add 2001:db8:46::/48 dev apn6");
        radio.sh("ip route add 10.99.0.0/24 dev ue4; ip route add 2001:db8:99::/64 dev ue6");
        for (server, ue) in SERVERS.iter().zip(&ues) {
            radio.sh(&format!("ping -c 1 -w 60 -I {ue} {server}"));
        }
        Some(Self {
            core,
            edge,
            radio,
            ues,
            _ends: [ggsn, first, second],
        })
    }
}

fn with_log(
    (program, libraries): &(PathBuf, Option<PathBuf>),
    place: &Place,
    name: &str,
) -> Command {
    let log = || File::create(place.path(&format!("{name}.log"))).expect("a log");
    let mut command = Command::new(program);
    command.current_dir(place.folder.path());
    command.stdout(log()).stderr(log());
    if let Some(libraries) = libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command
}

fn hosts() -> [Namespace; 3] {
    let [core, edge, radio] = [(); 3].map(|()| Namespace::new());
    for (host, name) in [(&core, "core0"), (&radio, "ran0")] {
        host.sh(&format!(
            "ip link set lo up; ip link add up0 type veth peer name {name} netns {}",
            edge.pid()
        ));
    }
    edge.sh(
        "ip link set lo up; ip addr add 10.1.0.254/24 dev core0; ip addr add 10.2.0.254/24 dev ran0\n\
         ip link set core0 up; ip link set ran0 up; sysctl -qw net.ipv4.ip_forward=1",
    );
    core.sh(
        "ip addr add 10.1.0.1/24 dev up0; ip link set up0 up; ip route add default via 10.1.0.254\n\
         ip addr add 10.99.0.1/32 dev lo; ip addr add 2001:db8:99::1/128 dev lo nodad",
    );
    radio.sh(
        "ip addr add 10.2.0.1/24 dev up0; ip addr add 10.2.0.2/24 dev up0; ip link set up0 up\n\
         ip route add default via 10.2.0.254",
    );
    radio.sh("ping -c 1 -w 60 10.1.0.1");
    [core, edge, radio]
}
