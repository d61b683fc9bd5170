//! What passes an interface, and packets of the test's flows in it.

use super::peers::Program;
use crate::Place;
use gtpu::outer::Datagram;
use gtpu::pcap;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use testing::{Namespace, wait_until};

/// The port of the test's flows.
pub const PORT: u16 = 7_001;

/// A capture, as a file of libpcap that grows.
pub struct Capture {
    tcpdump: Program,
    pub file: PathBuf,
}

impl Capture {
    /// Once it captures.
    pub fn start(place: &Place, at: &Namespace, interface: &str, filter: &str) -> Self {
        let file = place.path(&format!("{interface}.pcap"));
        let log = place.path(&format!("{interface}.tcpdump"));
        let mut command = Command::new("tcpdump");
        command.args([
            "-i", interface, "-n", "-U", "-B", "16384", "-Z", "root", "-w",
        ]);
        command.arg(&file).arg(filter);
        command.stdout(Stdio::null());
        command.stderr(fs::File::create(&log).expect("a log"));
        let tcpdump = Program::start(at, &mut command);
        wait_until("a capture", || {
            fs::read_to_string(&log).is_ok_and(|log| log.contains("listening on"))
        });
        Self { tcpdump, file }
    }

    /// The IP packets so far.
    pub fn packets(&self) -> Vec<Vec<u8>> {
        let file = fs::read(&self.file).expect("a file");
        let mut packets = Vec::new();
        let Ok(mut capture) = pcap::Capture::new(&file) else {
            return packets;
        };
        // the last one may be half written
        while let Ok(Some(captured)) = capture.next_packet() {
            packets.push(captured.packet.to_vec());
        }
        packets
    }

    /// Those of the test's flows so far, by number, whatever they are inside of.
    pub fn numbered(&self) -> BTreeMap<u32, Vec<u8>> {
        let packets = self.packets().into_iter();
        packets
            .filter_map(|packet| Some((number_of(&packet)?, packet)))
            .collect()
    }

    pub fn stop(&mut self) {
        self.tcpdump.stop();
    }
}

/// The number of a packet of the test's flows.
pub fn number_of(packet: &[u8]) -> Option<u32> {
    let datagram = Datagram::read(packet).filter(|of| of.destination_port == PORT)?;
    datagram
        .payload
        .first_chunk()
        .copied()
        .map(u32::from_be_bytes)
}

/// The ECN field of an IP packet.
pub fn ecn(packet: &[u8]) -> u8 {
    match packet[0] >> 4 {
        4 => packet[1] & 3,
        _ => packet[1] >> 4 & 3,
    }
}

/// The packet with this ECN field, and with IPv4's checksum computed anew.
pub fn with_ecn(packet: &[u8], ecn: u8) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if packet[0] >> 4 == 6 {
        packet[1] = packet[1] & !0x30 | ecn << 4;
        return packet;
    }
    packet[1] = packet[1] & !3 | ecn;
    packet[10..12].fill(0);
    let (words, _) = packet[..20].as_chunks::<2>();
    let sum: u32 = words
        .iter()
        .map(|word| u32::from(u16::from_be_bytes(*word)))
        .sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}
