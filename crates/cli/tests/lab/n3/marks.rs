//! Marks that are set on N3: by `brimful pep`, inside and outside, and by a router on the way, outside alone.

use super::capture::{Capture, Way};
use crate::capture::{inside, namespace_of};
use crate::{Running, brimful, has_root, output, scenario, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use testing::{wait_for, wait_until};

const CE: u8 = 3;

/// A counter of the kernel of a host.
fn counter(host: &impl AsFd, group: &str, name: &str) -> u64 {
    let shown = inside(host, &["cat", "/proc/net/netstat"]).output();
    let text = stdout(&shown.expect("cat runs"));
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let at = names.split(' ').position(|it| it == name);
    let value = values.split(' ').nth(at.expect("the counter"));
    value.and_then(|it| it.parse().ok()).expect("a number")
}

/// A user of oai-unsplit without a proxy that splits, whose TCP requests ECN, with N3.
fn shell(sets: &[&str], script: &str) -> Running {
    let mut command = brimful(&["lab", "shell"]);
    command.arg(scenario("oai-unsplit.toml"));
    for set in ["pep=none", "cell.n3=true"].iter().chain(sets) {
        command.args(["--set", set]);
    }
    let script = format!("echo 1 > /proc/sys/net/ipv4/tcp_ecn; {script}");
    command.args(["--", "sh", "-c", &script]);
    Running::start(command)
}

/// A script that does something until there is `done`.
fn until_done(folder: &Path, what: &str) -> String {
    let path = |name: &str| folder.join(name).display().to_string();
    format!(
        "until [ -e {} ]; do sleep 0.05; done; until [ -e {} ]; do {what} || exit 3; done",
        path("go"),
        path("done")
    )
}

#[test]
fn marks_of_a_proxy_on_n3_are_inside_and_outside_and_arrive() {
    if !has_root("marks_of_a_proxy_on_n3_are_inside_and_outside_and_arrive") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let get = "curl -sS -o /dev/null http://server/5M";
    let sets = ["unsplit=mark", "pep.unsplit-inside=gtp-u"];
    let running = shell(&sets, &until_done(folder.path(), get));
    let (networks, lab) = (running.networks(), running.folder());
    running.proxy();
    let config = fs::read_to_string(lab.join("pep.toml")).expect("the proxy's configuration");
    for line in ["ran-interface = \"n3\"", "inside = \"gtp-u\""] {
        assert!(config.contains(line), "{line} in {config}");
    }
    let [core, ue, server] = ["10.50.0.1/24", "10.45.0.1/32", "10.46.0.1/32"]
        .map(|address| namespace_of(&running, &networks, address));
    let mut capture = Capture::start(&core, "n3", folder.path());
    fs::write(folder.path().join("go"), "").expect("a mark");
    wait_until("marks at the user", || {
        counter(&ue, "IpExt:", "InCEPkts") > 0
    });
    wait_until("them in acknowledgements", || {
        counter(&server, "TcpExt:", "TCPDeliveredCE") > 0
    });
    let marked = wait_for("the proxy's count", || {
        let mut command = brimful(&["pep", "status", "--json", "--socket"]);
        command.arg(lab.join("pep.sock"));
        let status: Value = serde_json::from_slice(&output(command).stdout).ok()?;
        let packets = &status["control"]["unsplit"]["packets"];
        packets["marked_classic"]
            .as_u64()
            .filter(|count| *count > 0)
    });
    assert!(marked > 0);
    wait_until("a mark in the capture", || {
        let mut packets = capture.packets().into_iter();
        packets.any(|packet| packet.inner_ecn == CE)
    });
    fs::write(folder.path().join("done"), "").expect("a mark");
    let ended = running.wait();
    assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
    drop((core, ue, server));
    capture.wait();
    crate::assert_gone(&lab, &networks);
    for packet in capture.packets() {
        assert_eq!(packet.outer_ecn, packet.inner_ecn, "{packet:?}");
    }
}

/// RFC 6040 4.2 in both directions: what is ECN-capable has the mark of the packet around it.
#[test]
fn marks_of_a_router_on_n3_arrive_in_both_directions() {
    if !has_root("marks_of_a_router_on_n3_arrive_in_both_directions") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file").display().to_string();
    fs::write(&file, [7; 20_000]).expect("written");
    let both = format!(
        "curl -sS -o /dev/null http://server/20k && curl -sS -o /dev/null -T {file} http://server/"
    );
    let running = shell(&[], &until_done(folder.path(), &both));
    let (networks, lab) = (running.networks(), running.folder());
    let [core, station, ue, server] = [
        "10.50.0.1/24",
        "10.50.0.2/24",
        "10.45.0.1/32",
        "10.46.0.1/32",
    ]
    .map(|address| namespace_of(&running, &networks, address));
    for host in [&core, &station] {
        let rules = "table ip m { chain o { type filter hook output priority -150; \
                     udp dport 2152 ip ecn ect0 ip ecn set ce; }; }";
        let added = inside(host, &["nft", rules]).output().expect("nft runs");
        assert!(added.status.success(), "{}", stderr(&added));
    }
    let capture = Capture::start(&core, "n3", folder.path());
    fs::write(folder.path().join("go"), "").expect("a mark");
    for host in [&ue, &server] {
        wait_until("marks", || counter(host, "IpExt:", "InCEPkts") > 0);
    }
    wait_until("marks outside in the capture", || {
        let packets = capture.packets();
        let marked = |way| {
            let mut of = packets.iter().filter(|it| it.way == way);
            of.any(|it| it.outer_ecn == CE && it.inner_ecn != CE)
        };
        marked(Way::Down) && marked(Way::Up)
    });
    fs::write(folder.path().join("done"), "").expect("a mark");
    let ended = running.wait();
    let printed = stderr(&ended);
    assert_eq!(ended.status.code(), Some(0), "{printed}");
    assert!(
        !printed.contains("; 0 packets marked on the way"),
        "{printed}"
    );
    assert!(
        printed.contains(" marked on the way, 0 dropped"),
        "{printed}"
    );
    drop((core, station, ue, server));
    let mut capture = capture;
    capture.wait();
    crate::assert_gone(&lab, &networks);
}
