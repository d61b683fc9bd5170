//! N3 as a wire between core and base station: what passes on it, read by another program, and marks that are set there.

mod capture;
mod marks;

use crate::capture::namespace_of;
use crate::f1u_cells::within;
use crate::moving::{FILE, assert_whole, shell_with};
use crate::{Running, brimful, has_root, output, scenario, stderr};
use capture::{Capture, Way};
use gtpu::element::Element;
use gtpu::{Message, MessageKind, PORT};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::Path;
use testing::{HANG_LIMIT, pattern, wait_until};

/// Another address of the base station's host, and the core's.
const BESIDE: Ipv4Addr = Ipv4Addr::new(10, 50, 0, 9);
const CORE: Ipv4Addr = Ipv4Addr::new(10, 50, 0, 1);
/// Octets of the file.
const SIZE: usize = 2_000_000;
/// Both cells have N3.
const ON_N3: [&str; 2] = ["cell.0.n3=true", "cell.1.n3=true"];

/// Whether there are numbers, each one more than the one before.
fn follow_each_other(numbers: &[u32]) -> bool {
    let mut pairs = numbers.windows(2);
    !numbers.is_empty() && pairs.all(|pair| pair[0] + 1 == pair[1])
}

/// A script that waits for `go`, has curl get the server's file as `got`, and waits for `done`.
fn script(folder: &Path) -> String {
    let path = |name: &str| folder.join(name).display().to_string();
    format!(
        "until [ -e {} ]; do sleep 0.05; done
         curl -sS -m 400 --limit-rate 3M -o {} http://server/file || exit 3
         touch {}
         until [ -e {} ]; do sleep 0.05; done",
        path("go"),
        path("got"),
        path("fetched"),
        path("done")
    )
}

/// The answer of the core to a message from another address of the base station's host.
fn answer(socket: &UdpSocket, message: &[u8]) -> Vec<u8> {
    socket.send_to(message, (CORE, PORT)).expect("sent");
    let mut bytes = vec![0; 2_000];
    let (length, from) = socket.recv_from(&mut bytes).expect("an answer");
    assert_eq!(from.ip(), IpAddr::from(CORE));
    bytes.truncate(length);
    bytes
}

/// An Echo Request and a packet for a tunnel that there is not.
fn assert_answers(station: &OwnedFd) {
    let mut add =
        crate::capture::inside(station, &["ip", "addr", "add", "10.50.0.9/24", "dev", "n3"]);
    assert!(add.status().expect("ip runs").success());
    let socket = within(station, || UdpSocket::bind((BESIDE, PORT)).expect("bound"));
    socket.set_read_timeout(Some(HANG_LIMIT)).expect("set");
    let echo = answer(&socket, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0x12, 0x34, 0, 0]);
    assert_eq!(echo, [0x32, 2, 0, 6, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 14, 0]);
    let indication = answer(&socket, &[0x30, 255, 0, 1, 0, 0, 0x77, 0x77, 0x45]);
    let (read, _) = Message::read(&indication).expect("a message");
    assert_eq!(read.kind, MessageKind::ErrorIndication);
    let elements: Result<Vec<_>, _> = read.elements().collect();
    let expected = [
        Element::TeidDataI(0x7777),
        Element::PeerAddress(CORE.into()),
    ];
    assert_eq!(elements.expect("read"), expected);
}

#[test]
fn curl_gets_every_byte_over_n3_and_another_program_reads_the_wire() {
    let name = "curl_gets_every_byte_over_n3_and_another_program_reads_the_wire";
    if !has_root(name) {
        return;
    }
    // alone, and with F1-U behind it
    for (sets, pep) in [
        (&["cell.n3=true"][..], "default"),
        (&["cell.n3=true", "cell.f1-u=true"], "split"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let files = folder.path().join("files");
        fs::create_dir(&files).expect("a folder");
        fs::write(files.join("file"), pattern(0, SIZE)).expect("written");
        let mut command = brimful(&["lab", "shell"]);
        command.arg(scenario("oai-fast.toml"));
        command.arg("--server").arg(&files);
        let pep = format!("pep={pep}");
        for set in sets.iter().chain([&pep.as_str()]) {
            command.args(["--set", set]);
        }
        command.args(["--", "sh", "-c", &script(folder.path())]);
        let running = Running::start(command);
        let (networks, lab) = (running.networks(), running.folder());
        running.proxy();
        let core = namespace_of(&running, &networks, "10.50.0.1/24");
        let station = namespace_of(&running, &networks, "10.50.0.2/24");
        let mut capture = Capture::start(&core, "n3", folder.path());
        assert_answers(&station);
        fs::write(folder.path().join("go"), "").expect("a mark");
        wait_until("the file", || folder.path().join("fetched").exists());
        wait_until("the capture to have the file", || capture.octets() > SIZE);
        fs::write(folder.path().join("done"), "").expect("a mark");
        let ended = running.wait();
        let printed = stderr(&ended);
        assert_eq!(ended.status.code(), Some(0), "{printed}");
        drop((core, station));
        capture.wait();
        crate::assert_gone(&lab, &networks);
        assert!(printed.contains("N3 (n3): "), "{printed}");
        assert_eq!(printed.contains("F1-U: "), sets.len() > 1, "{printed}");
        let got = fs::read(folder.path().join("got")).expect("a file");
        assert!(got == pattern(0, SIZE), "{} bytes, or others", got.len());

        let packets = capture.packets();
        for way in [Way::Down, Way::Up] {
            let mut numbers: Vec<u32> = packets
                .iter()
                .filter(|packet| packet.way == way)
                .map(|packet| packet.sequence)
                .collect();
            // two processors may have them at the other end in another order
            numbers.sort_unstable();
            assert!(follow_each_other(&numbers), "{way:?}: {numbers:?}");
        }
        assert!(packets.iter().all(|packet| packet.qfi == 1));
        assert!(
            packets
                .iter()
                .all(|packet| packet.outer_ecn == packet.inner_ecn)
        );
        let teids: BTreeSet<(Way, u32)> = packets.iter().map(|it| (it.way, it.teid)).collect();
        assert_eq!(teids.len(), 2, "a user has a tunnel each way: {teids:?}");
        let measures = |way| packets.iter().any(|it| it.way == way && it.has_times);
        assert!(measures(Way::Down) && measures(Way::Up));
        capture.judge(name);
    }
}

#[test]
fn a_handover_ends_the_tunnel_before_and_begins_another() {
    let name = "a_handover_ends_the_tunnel_before_and_begins_another";
    if !has_root(name) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let command = shell_with(folder.path(), "none", 900, &ON_N3, &script(folder.path()));
    let running = Running::start(command);
    let (networks, lab) = (running.networks(), running.folder());
    let core = namespace_of(&running, &networks, "10.50.1.1/24");
    let captures = ["n3", "n3-2"].map(|device| Capture::start(&core, device, folder.path()));
    fs::write(folder.path().join("go"), "").expect("a mark");
    wait_until("the file", || folder.path().join("fetched").exists());
    // what tcpdump has not read as its device goes would be lost
    wait_until("an End Marker on each wire, and each number once", || {
        let octets: usize = captures.iter().map(Capture::octets).sum();
        octets > FILE && captures.iter().all(|it| !it.end_markers().is_empty()) && {
            let all = captures.iter().flat_map(Capture::packets);
            let down = all.filter(|packet| packet.way == Way::Down);
            let mut numbers: Vec<u32> = down.map(|packet| packet.sequence).collect();
            numbers.sort_unstable();
            follow_each_other(&numbers)
        }
    });
    fs::write(folder.path().join("done"), "").expect("a mark");
    let ended = running.wait();
    let printed = stderr(&ended);
    assert_eq!(ended.status.code(), Some(0), "{printed}");
    drop(core);
    let captures = captures.map(|mut capture| {
        capture.wait();
        capture
    });
    crate::assert_gone(&lab, &networks);
    assert!(printed.contains("N3 (n3, n3-2): "), "{printed}");
    assert_whole(folder.path());
    let mut teids = BTreeSet::new();
    let mut up = BTreeSet::new();
    for capture in &captures {
        let mut ended = BTreeSet::new();
        for (message, packet) in capture.messages() {
            match (message, packet) {
                (MessageKind::EndMarker, packet) => {
                    assert!(ended.insert(packet.teid), "one End Marker of a tunnel");
                }
                (_, packet) if packet.way == Way::Down => {
                    assert!(!ended.contains(&packet.teid), "behind its End Marker");
                    teids.insert((capture.device.clone(), packet.teid));
                }
                (_, packet) => {
                    up.insert(packet.teid);
                }
            }
        }
        capture.judge(name);
    }
    let distinct: BTreeSet<u32> = teids.iter().map(|(_, teid)| *teid).collect();
    assert_eq!(distinct.len(), teids.len(), "no tunnel is on two wires");
    assert!(distinct.len() > 2, "{teids:?}");
    assert_eq!(up.len(), 1, "the tunnel upwards stays: {up:?}");
}

#[test]
fn the_results_state_what_passed_on_n3_where_a_base_station_of_two_parts_has_several_cells() {
    let name =
        "the_results_state_what_passed_on_n3_where_a_base_station_of_two_parts_has_several_cells";
    if !has_root(name) {
        return;
    }
    let mut command = brimful(&["run"]);
    command.arg(crate::scenario_of("mobility", "to-and-fro.toml"));
    command.args(["--world", "lab", "--json", "--repeats", "1"]);
    let both = ["cell.0.f1-u=true", "cell.1.f1-u=true"];
    for set in ["duration=5 s", "pep=none"]
        .iter()
        .chain(&both)
        .chain(&ON_N3)
    {
        command.args(["--set", set]);
    }
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let summary: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let delivered = summary["flows"][0]["delivered_bytes"].as_f64();
    assert!(delivered > Some(0.0), "{summary}");
    let notes = summary["real_time"]["notes"].to_string();
    // within one base station no path is switched
    assert!(
        notes.contains("in 1 tunnels down; 0 End Markers"),
        "{notes}"
    );
    assert!(notes.contains("F1-U: "), "{notes}");
}

#[test]
fn what_does_not_go_with_n3_is_refused_by_its_name() {
    let refused = |world: &str, file: &Path, sets: &[&str]| {
        let mut command = brimful(&["run", "--world", world]);
        command.arg(file);
        for set in sets {
            command.args(["--set", set]);
        }
        let done = output(command);
        assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
        stderr(&done)
    };
    let fast = scenario("oai-fast.toml");
    let text = refused("sim", &fast, &["cell.n3=true"]);
    assert!(
        text.contains("cell.n3") && text.contains("--world lab"),
        "{text}"
    );
    let unsplit = scenario("oai-unsplit.toml");
    let marks = ["unsplit=mark", "pep.unsplit-inside=gtp-u"];
    let text = refused("lab", &unsplit, &marks);
    assert!(text.contains("it needs n3 = true of the cell"), "{text}");
}
