//! Another program's reading of what passed: Wireshark's dissectors, as `tshark`.

use super::passing::{ecn, number_of};
use gtpu::Message;
use gtpu::outer::Datagram;
use std::path::Path;
use std::process::Command;

const FIELDS: [&str; 6] = [
    "gtp.message",
    "gtp.teid",
    "ip.dsfield.ecn",
    "ip.checksum.status",
    "udp.checksum.status",
    "_ws.malformed",
];
/// A checksum that is right, as `tshark` has it.
const GOOD: &str = "1";

/// A number as it may be printed: decimal or hexadecimal.
fn value(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Fails unless it reads the packets of a capture as we do, with right checksums: UDP's around only of those whose interface had not
/// been left to complete it.
pub fn reads_alike(file: &Path, packets: &[Vec<u8>], is_complete: impl Fn(u32) -> bool) {
    let mut tshark = Command::new("tshark");
    tshark.args([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
        "-r",
    ]);
    tshark.arg(file).args(["-T", "fields"]);
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), packets.len());
    for (line, packet) in text.lines().zip(packets) {
        let values: Vec<Vec<&str>> = line.split('\t').map(|of| of.split(',').collect()).collect();
        let datagram = Datagram::read(packet).expect("a datagram");
        let (message, _) = Message::read(datagram.payload).expect("a message");
        let read = [values[0][0], values[1][0], values[2][0]].map(value);
        let ours: [u64; 3] = [
            message.kind.code().into(),
            message.teid.into(),
            ecn(packet).into(),
        ];
        assert_eq!(read, ours.map(Some), "{line}");
        assert!(values[3].iter().all(|status| *status == GOOD), "{line}");
        assert_eq!(values[5], [""], "{line}");
        let Some(number) = number_of(message.payload) else {
            continue;
        };
        assert_eq!(values[4].len(), 2, "{line}");
        assert_eq!(values[4][1], GOOD, "{line}");
        assert!(!is_complete(number) || values[4][0] == GOOD, "{line}");
        if message.payload[0] >> 4 == 4 {
            assert_eq!(
                value(values[2][1]),
                Some(ecn(message.payload).into()),
                "{line}"
            );
        }
    }
}
