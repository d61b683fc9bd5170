//! A capture of two daemons, read by another program: what it makes of the packets is what our decoder does.
//!
//! Packets are captured in the client's namespace, without encryption. Interfaces compute checksums and cut segments before
//! they send, so that the capture has what a wire would have.

use crate::Test;
use crate::support::{
    Daemon, Hosts, Namespace, SERVER, client_config, plain, server_config, two_paths,
};
use crate::tshark::{Tshark, write_capture};
use multipath::packet::{DccpOption, Kind, MpOption, Packet, decode};
use rustix::process::Signal;
use serde_json::json;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use testing::{Missing, wait_until};

pub const TESTS: &[Test] = &[(
    "another_program_reads_a_live_capture",
    another_program_reads_a_live_capture,
)];

/// A running capture of one interface.
struct Capture(Child);

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts to capture, and waits until it does. None: there is no tcpdump.
fn capture(host: &Namespace, interface: &str, file: &Path) -> Option<Capture> {
    let log = std::fs::File::create(file.with_extension("log")).expect("a log");
    let child = host.enter(|| {
        Command::new("tcpdump")
            .args(["-i", interface, "-U", "-w"])
            .arg(file)
            .args(["udp", "port", "6511"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
    });
    let running = Capture(child.ok()?);
    wait_until("the capture runs", || {
        let log = std::fs::read_to_string(file.with_extension("log"));
        log.is_ok_and(|log| log.contains("listening on"))
    });
    Some(running)
}

/// The interface leaves nothing of checksums and segments to what receives.
fn send_as_wires_do(host: &Namespace, interface: &str) {
    host.sh(&format!(
        "python3 -c '
import array, fcntl, socket, struct
s = socket.socket()
for command in 0x17, 0x1f, 0x24, 0x2c: # TX checksums, TSO, GSO, GRO (linux/ethtool.h)
    words = array.array(\"I\", [command, 0])
    at = words.buffer_info()[0]
    fcntl.ioctl(s, 0x8946, struct.pack(\"16sP16x\", b\"{interface}\", at))
'"
    ));
}

/// What the UDP datagrams of a capture file (link type 1, Ethernet) carry.
fn datagrams(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).unwrap_or_default();
    let mut left = bytes.get(24..).unwrap_or_default();
    let mut found = Vec::new();
    while let Some((head, rest)) = left.split_at_checked(16) {
        let length = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
        let Some((frame, rest)) = rest.split_at_checked(length as usize) else {
            break;
        };
        left = rest;
        let ip = &frame[14..];
        let header = usize::from(ip[0] & 15) * 4;
        let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        found.push(ip[header + 8..total].to_vec());
    }
    found
}

fn is_end(packet: &[u8]) -> bool {
    matches!(
        decode(packet),
        Ok((
            Packet {
                kind: Kind::Reset { .. },
                ..
            },
            _
        ))
    )
}

/// How often tshark finds fault with a capture: what is malformed, or an error to it.
fn faults(file: &Path, options: &[&str]) -> String {
    let mut tshark = Command::new("tshark");
    for option in options {
        tshark.args(["-o", option]);
    }
    // a guess by the first bytes, which are a port of any value, makes RTCP of some
    let output = tshark
        .args(["-d", "udp.port==6511,data", "-r"])
        .arg(file)
        .args(["-Y", "_ws.malformed || _ws.expert.severity == \"Error\""])
        .output();
    String::from_utf8(output.expect("tshark runs").stdout).expect("text")
}

/// Options that version 4.4 reads by an early draft, in which they are shorter: our own (MP_EXP), after which it goes on a
/// byte too early, become Padding; of packets with addresses it is not asked at all.
fn for_that_version(bytes: &mut [u8], packet: &Packet, end: usize) -> bool {
    let fixed = match packet.kind {
        Kind::Data => 16,
        Kind::Request { .. } => 20,
        Kind::Response { .. } | Kind::Reset { .. } => 28,
        _ => 24,
    };
    let mut at = fixed;
    while at + 2 < end {
        let length = match bytes[at] {
            32.. => usize::from(bytes[at + 1]),
            _ => 1,
        };
        if bytes[at] == 46 && bytes[at + 2] == 11 {
            bytes[at..at + length].fill(0);
        }
        at += length;
    }
    let is_address = |option: &DccpOption| match option {
        DccpOption::Multipath(MpOption::Confirm(confirmed)) => confirmed
            .iter()
            .any(|(option, _)| matches!(option, MpOption::AddAddress { .. })),
        DccpOption::Multipath(option) => matches!(option, MpOption::AddAddress { .. }),
        _ => false,
    };
    !packet.options.list.iter().any(is_address)
}

fn another_program_reads_a_live_capture() {
    let name = "another_program_reads_a_live_capture";
    let Some(hosts) = Hosts::try_new(name) else {
        return;
    };
    let Some(tshark) = Tshark::find(name) else {
        return;
    };
    for (host, interface) in [
        (&hosts.client, "a"),
        (&hosts.client, "b"),
        (&hosts.server, "a"),
        (&hosts.server, "b"),
    ] {
        send_as_wires_do(host, interface);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["a", "b"].map(|wire| folder.path().join(format!("{wire}.pcap")));
    let running = ["a", "b"].map(|wire| {
        let file = folder.path().join(format!("{wire}.pcap"));
        capture(&hosts.client, wire, &file)
    });
    if running.iter().any(Option::is_none) {
        testing::skip(name, Missing::Program("tcpdump"));
        return;
    }
    let _server = Daemon::start(&hosts.server, "server", &plain(&server_config("")));
    let mut client = Daemon::start(
        &hosts.client,
        "client",
        &plain(&client_config("", &two_paths(""))),
    );
    client.wait_for_paths(2);
    hosts.client.sh(&format!("ping -c 3 -i 0.2 -w 60 {SERVER}"));
    let request = json!({ "command": "path-priority", "name": "a", "priority": "standby" });
    client.request(&request).expect("its priority is signalled");
    hosts.client.sh(&format!("ping -c 3 -i 0.2 -w 60 {SERVER}"));
    client.signal(Signal::TERM);
    assert!(client.child.wait().expect("it ends").success());
    for file in &files {
        wait_until("the end is captured", || {
            datagrams(file).iter().any(|p| is_end(p))
        });
    }
    drop(running);
    let mut kinds = std::collections::BTreeSet::new();
    for file in &files {
        // on the wire, in UDP: every checksum is right
        assert_eq!(
            faults(file, &["udp.check_checksum:TRUE", "ip.check_checksum:TRUE"]),
            ""
        );
        let mut packets = Vec::new();
        let mut expected = Vec::new();
        for mut bytes in datagrams(file) {
            let (mut packet, header) = decode(&bytes).expect("a packet");
            kinds.insert(packet.kind.code());
            if tshark.knows_multipath && !for_that_version(&mut bytes, &packet, header) {
                continue;
            }
            if tshark.knows_multipath {
                let is_own = |option: &DccpOption| {
                    matches!(option, DccpOption::Multipath(MpOption::Experimental(_)))
                };
                packet.options.list.retain(|option| !is_own(option));
            }
            let mut fields = tshark.expected(&packet, &bytes[header..]);
            fields.insert("dccp.data_offset", (header / 4).to_string());
            expected.push(fields);
            packets.push(bytes);
        }
        let inside = file.with_extension("dccp.pcap");
        write_capture(&inside, &packets);
        // DCCP's own checksum is zero in UDP (RFC 6773 3.1): UDP's stands for both
        assert_eq!(faults(&inside, &["dccp.check_checksum:FALSE"]), "");
        let read = tshark.read(&inside);
        assert_eq!(read.len(), expected.len());
        for (read, expected) in read.iter().zip(&expected) {
            assert_eq!(read, expected);
        }
    }
    // Request, Response, Data or DataAck, Ack, Close, Reset
    for kind in [0, 1, 3, 6, 7] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert!(kinds.contains(&2) || kinds.contains(&4), "{kinds:?}");
}
