//! The reading of messages by another program: Wireshark's dissectors, as `tshark`.
//!
//! It shows nothing of out-of-sequence ranges and of what Release 17 and later add to the uplink's container, so that these are
//! not compared, but none of it may be malformed to it.

use crate::frames::{ASSISTANCE, MESSAGES, octets};
use gtpu::nru::Frame;
use gtpu::outer::packet;
use gtpu::pcap::{write_header, write_packet};
use gtpu::session::Container;
use gtpu::{Message, NR_RAN_CONTAINER, PDU_SESSION_CONTAINER};
use std::process::Command;
use testing::Missing;

const FIELDS: [&str; 7] = [
    "gtp.message",
    "gtp.teid",
    "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
    "nrup.pdu_type",
    "nrup.seq_num",
    "nrup.high_tx_nr_pdcp_sn",
    "nrup.high_success_delivered_nr_pdcp_sn",
];

/// A number as tshark may print it: decimal or hexadecimal.
fn value(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// What our reader makes of a message, in the order of [`FIELDS`].
fn ours(bytes: &[u8]) -> [Option<u64>; FIELDS.len()] {
    let (message, _) = Message::read(bytes).expect("a message");
    let session = message.extension(PDU_SESSION_CONTAINER);
    let session = session.map(|content| Container::read(content).expect("readable"));
    let frame = message.extension(NR_RAN_CONTAINER);
    let frame = frame.map(|content| Frame::read(content).expect("readable"));
    let (mut kind, mut sequence, mut transmitted, mut delivered) = (None, None, None, None);
    match frame {
        Some(Frame::UserData(data)) => (kind, sequence) = (Some(0), Some(data.sequence)),
        Some(Frame::DeliveryStatus(status)) => {
            (kind, transmitted, delivered) = (Some(1), status.transmitted, status.delivered);
        }
        Some(Frame::Assistance(_)) => kind = Some(2),
        None => {}
    }
    [
        Some(message.kind.code().into()),
        Some(message.teid.into()),
        session.map(|container| container.qfi().into()),
        kind,
        sequence.map(u64::from),
        transmitted.map(u64::from),
        delivered.map(u64::from),
    ]
}

#[test]
fn another_program_reads_the_vectors_alike() {
    let name = "gtpu: another_program_reads_the_vectors_alike";
    let known = Command::new("tshark").args(["-G", "fields"]).output();
    let Ok(known) = known else {
        testing::skip(name, Missing::Program("tshark"));
        return;
    };
    let known = String::from_utf8_lossy(&known.stdout);
    for field in FIELDS {
        assert!(known.contains(&format!("\t{field}\t")), "no field {field}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vectors.pcap");
    let vectors: Vec<(&str, Vec<u8>)> = MESSAGES
        .iter()
        .chain(&ASSISTANCE)
        // a payload that is no packet would be malformed inside
        .filter(|(_, digits)| !digits.contains("deadbeef") || digits.starts_with("321a"))
        .map(|(name, digits)| (*name, octets(digits)))
        .collect();
    let mut file = Vec::new();
    write_header(&mut file);
    for (at, (_, bytes)) in vectors.iter().enumerate() {
        let whole = packet([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), bytes).expect("a packet");
        write_packet(at as u64 * 1_000_000, &whole, &mut file);
    }
    std::fs::write(&path, file).expect("written");
    let mut tshark = Command::new("tshark");
    tshark
        .arg("-r")
        .arg(&path)
        .args(["-T", "fields", "-E", "occurrence=f"]);
    for field in FIELDS.iter().chain(&["_ws.malformed"]) {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), vectors.len());
    for (line, (name, bytes)) in text.lines().zip(&vectors) {
        let mut values: Vec<&str> = line.split('\t').collect();
        assert_eq!(values.pop(), Some(""), "{name} is malformed to tshark");
        let read: Vec<Option<u64>> = values.into_iter().map(value).collect();
        assert_eq!(read, ours(bytes), "{name}");
    }
}
