//! A base station in two parts: packets pass on a wire between them, off which `brimful rnis` reads the radio for the proxy.

use crate::capture::{inside, namespace_of, wait_until_it_captures};
use crate::{Running, brimful, has_root, output, scenario, stderr, stdout};
use rnis::codec::decode_json;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use testing::{HANG_LIMIT, Missing, wait_for, wait_until};

const UE: [u8; 4] = [10, 45, 0, 1];
/// Octets of the file.
const SIZE: u64 = 2_000_000;

/// Reads reports of the wire until the UE has been served this much and nothing waits.
fn read_until_served(lab: &Path, bytes: u64) {
    let socket = lab.join("rnis.sock");
    let stream = wait_for("service's socket", || UnixStream::connect(&socket).ok());
    stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
    let mut served = 0;
    for line in BufReader::new(stream).lines() {
        let report = decode_json(line.expect("a report").as_bytes()).expect("a report");
        for ue in report.ues {
            assert_eq!(ue.ip, Some(IpAddr::from(UE)));
            served += ue.served_bytes.get();
            if served >= bytes && ue.rlc_queue_bytes.is_zero() {
                return;
            }
        }
    }
    panic!("the service has ended after {served} bytes");
}

/// Octets of headers of a frame, at least: Ethernet, IPv4, UDP, GTP-U with NR-U, PDCP, and the user's IPv4 and TCP.
const HEADERS: usize = 100;

/// Octets in the capture so far beside headers, of packets of any size.
fn octets(capture: &Path) -> u64 {
    let file = fs::read(capture).unwrap_or_default();
    let Ok(mut file) = gtpu::pcap::Capture::new(&file) else {
        return 0;
    };
    let captured = std::iter::from_fn(|| file.next_packet().ok().flatten());
    let beside_headers = captured.map(|it| it.packet.len().saturating_sub(HEADERS));
    beside_headers.sum::<usize>() as u64
}

/// tshark's view of each frame: the type of NR-U's frame, and what it finds fault with.
fn judge(capture: &Path) -> Option<(usize, usize)> {
    let mut tshark = Command::new("tshark");
    tshark
        .args(["-o", "ip.check_checksum:TRUE", "-r"])
        .arg(capture);
    let fields = ["nrup.pdu_type", "_ws.malformed", "_ws.expert.severity"];
    tshark.args(["-T", "fields"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().ok()?;
    let (mut data, mut statuses) = (0, 0);
    for line in stdout(&output).lines() {
        match line {
            "0\t\t" => data += 1,
            "1\t\t" => statuses += 1,
            other => panic!("tshark finds fault: {other:?}"),
        }
    }
    Some((data, statuses))
}

#[test]
fn the_proxy_reads_the_radio_off_the_wire_between_two_units() {
    let name = "the_proxy_reads_the_radio_off_the_wire_between_two_units";
    if !has_root(name) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (go, done) = (folder.path().join("go"), folder.path().join("done"));
    let script = format!(
        "until [ -e {} ]; do sleep 0.05; done
         curl -sS -o /dev/null http://server/2M
         until [ -e {} ]; do sleep 0.05; done",
        go.display(),
        done.display()
    );
    let mut command = brimful(&["lab", "shell"]);
    command.arg(scenario("oai-fast.toml"));
    let sets = ["--set", "cell.f1-u=true", "--set", "pep=default"];
    command.args(sets).args(["--", "sh", "-c", &script]);
    let running = Running::start(command);
    let (networks, lab) = (running.networks(), running.folder());
    running.proxy();
    let central = namespace_of(&running, &networks, "10.49.0.1/24");
    let file = folder.path().join("f1.pcap");
    let path = file.display().to_string();
    // with room for all, in KiB: on a busy machine it may read late
    let arguments = [
        "tcpdump",
        "-i",
        "f1",
        "-U",
        "-B",
        "32768",
        "-w",
        &path,
        "udp port 2152",
    ];
    let mut dump = inside(&central, &arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tcpdump; scripts/setup installs it");
    wait_until_it_captures(&mut dump);
    let config = fs::read_to_string(lab.join("pep.toml")).expect("the proxy's configuration");
    let source = format!("source = \"unix:{}/rnis.sock\"", lab.display());
    assert!(config.contains(&source), "{config}");
    let reader = std::thread::spawn({
        let lab = lab.clone();
        move || read_until_served(&lab, SIZE)
    });
    fs::write(&go, "").expect("a mark");
    reader.join().expect("every byte is read off the wire");
    wait_until("the proxy to accept a report", || {
        let mut command = brimful(&["pep", "status", "--json", "--socket"]);
        let status = command.arg(lab.join("pep.sock")).output();
        let status = status
            .ok()
            .and_then(|done| serde_json::from_slice(&done.stdout).ok());
        let accepted =
            status.map(|status: Value| status["control"]["reports"]["believed"].as_u64());
        accepted.flatten() > Some(0)
    });
    // what it has not read as its device goes would be lost
    wait_until("the capture to have the file", || octets(&file) > SIZE);
    fs::write(&done, "").expect("a mark");
    let ended = running.wait();
    assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
    drop(central);
    dump.wait().expect("it ends with its device");
    crate::assert_gone(&lab, &networks);
    match judge(&file) {
        // each packet of 1,500 octets, and a status within each 10 ms at least
        Some((data, statuses)) => assert!(
            data as u64 > SIZE / 1_500 && statuses > 0,
            "{data} frames with data, {statuses} statuses"
        ),
        None => testing::skip(name, Missing::Program("tshark")),
    }
}

#[test]
fn every_byte_arrives_over_the_wire_and_the_results_state_what_passed() {
    if !has_root("every_byte_arrives_over_the_wire_and_the_results_state_what_passed") {
        return;
    }
    for pep in ["none", "default"] {
        let mut command = brimful(&["run"]);
        command.arg(scenario("oai-fast.toml"));
        command.args(["--world", "lab", "--json", "--repeats", "1"]);
        let mode = format!("pep={pep}");
        for set in [
            "cell.f1-u=true",
            "flow.cubic.app.size=2 MB",
            "flow.bbr.app.size=2 MB",
            &mode,
        ] {
            command.args(["--set", set]);
        }
        let done = output(command);
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        let summary: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        for flow in summary["flows"].as_array().expect("flows") {
            assert_eq!(flow["delivered_bytes"].as_f64(), Some(2e6), "{pep}");
        }
        let notes = summary["real_time"]["notes"].to_string();
        assert!(notes.contains("F1-U: "), "{notes}");
        assert!(!notes.contains("F1-U: 0 packets"), "{notes}");
    }
}

#[test]
fn what_does_not_go_with_the_wire_is_refused_by_its_name() {
    let refused = |world: &str, file: &str, sets: &[&str]| {
        let mut command = brimful(&["run", "--world", world]);
        command
            .arg(scenario(file))
            .args(["--set", "cell.f1-u=true"]);
        for set in sets {
            command.args(["--set", set]);
        }
        let done = output(command);
        assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
        stderr(&done)
    };
    let text = refused("sim", "oai-fast.toml", &[]);
    assert!(
        text.contains("cell.f1-u") && text.contains("--world lab"),
        "{text}"
    );
    if !has_root("what_does_not_go_with_the_wire_is_refused_by_its_name") {
        return;
    }
    let lossy = ["pep=default", "pep.report-loss=0.1"];
    let text = refused("lab", "oai-fast.toml", &lossy);
    assert!(text.contains("cell.f1-u with report-loss"), "{text}");
}
