//! Packets that are not split are marked, or dropped early, by what the radio carries; and nothing is where that is not
//! known.

mod marks;
mod queue;
mod queue_faults;
mod takeover;

pub use marks::TESTS as MARKS;
pub use queue::TESTS as HELD;
pub use queue_faults::TESTS as HELD_FAULTS;
pub use takeover::TESTS as TAKEOVER;

use crate::support::daemon::Daemon;
use crate::support::radio::{Radio, report};
use crate::support::{Hosts, client};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;
use units::Bytes;

/// What the radio carries, bit/s; flows of [`Datagrams::heavy`] send some five times of it.
///
/// [`Datagrams::heavy`]: crate::support::datagrams::Datagrams::heavy
const RATE: u64 = 8_000_000;
/// What waits in the base station, bytes: never less than the two packets below which nothing is done.
const QUEUE: u64 = 50_000;

/// The head of a configuration that splits nothing.
const ALONE: &str = "ran-interface = \"ran0\"\n[split]\nenabled = false\n[reports]\nsource = \"unix:{dir}/radio\"\n\
                     [admin]\nsocket = \"{dir}/pep.sock\"\n[log]\nlevel = \"debug\"\n";
/// Each packet of a flow beyond its share is marked that can be; none is dropped.
const MARK: &str = "[unsplit]\nmode = \"mark\"\nramp-from = \"0 s\"\nramp-to = \"1 ms\"\nwide-ramp-from = \"0 s\"\n\
                    wide-ramp-to = \"1 ms\"\ntarget = \"1 s\"\n";

/// A radio of the client's addresses of both families.
fn radio(folder: &Path) -> Radio {
    let ues = [client(false), client(true)];
    Radio::start(&folder.join("radio"), move |n, at| {
        let mut report = report(&ues, n, at, 2 * RATE);
        for ue in &mut report.ues {
            ue.rlc_queue_bytes = Bytes::new(QUEUE);
        }
        report
    })
}

/// A proxy that splits nothing, once it answers.
fn start_alone(hosts: &Hosts, folder: TempDir, config: &str, wrapper: &[&str]) -> Daemon {
    let mut daemon = Daemon::spawn_wrapped(&hosts.proxy, folder, config, wrapper, &[]);
    testing::wait_until("it answers", || {
        let ended = daemon.child.try_wait().expect("its state");
        assert_eq!(ended, None, "{}", daemon.log());
        pep::status(&daemon.path("pep.sock")).is_ok_and(|status| status["state"] == "running")
    });
    daemon
}

/// What it states of packets that are not split.
fn unsplit_at(socket: &Path) -> Value {
    let status = pep::status(socket).expect("it answers");
    status["control"]["unsplit"].clone()
}

fn unsplit(daemon: &Daemon) -> Value {
    unsplit_at(&daemon.path("pep.sock"))
}

/// Packets with this verdict so far.
fn packets(daemon: &Daemon, verdict: &str) -> u64 {
    packets_at(&daemon.path("pep.sock"), verdict)
}

fn packets_at(socket: &Path, verdict: &str) -> u64 {
    let unsplit = unsplit_at(socket);
    let packets = unsplit["packets"][verdict].as_u64();
    packets.unwrap_or_else(|| panic!("no {verdict} in {unsplit}"))
}

/// That packets pass with this verdict, and none is marked any more.
fn must_pass_unmarked(daemon: &Daemon, verdict: &str) {
    let look = || (packets(daemon, verdict), packets(daemon, "marked_l4s"));
    let mut before = look();
    // a report that was on its way may still count
    testing::wait_until("packets pass unmarked", || {
        let now = look();
        let is_unmarked = now.1 == before.1;
        if !is_unmarked {
            before = now;
        }
        is_unmarked && now.0 > before.0 + 100
    });
}

/// The interface towards the UEs, with another index, once it has gone.
fn make_ran0(hosts: &Hosts) {
    hosts.proxy.sh(&format!(
        "ip link add ran0 type veth peer name c0 netns {}\n\
         ip addr add 10.45.0.1/24 dev ran0; ip link set ran0 up",
        hosts.client.pid()
    ));
    hosts.client.sh(
        "ip link set c0 up; ip addr add 10.45.0.2/24 dev c0; ip route add default via 10.45.0.1",
    );
}
