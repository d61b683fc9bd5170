//! What passes a device on which N3 is: by our reader, and by another's.

use crate::capture::{inside, wait_until_it_captures};
use crate::stdout;
use gtpu::outer::Datagram;
use gtpu::session::Container;
use gtpu::{Message, MessageKind, PDU_SESSION_CONTAINER, PORT, pcap};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testing::Missing;

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Down,
    Up,
}

/// A packet in GTP-U, or an End Marker.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub way: Way,
    pub teid: u32,
    pub qfi: u8,
    pub sequence: u32,
    pub has_times: bool,
    /// As in the last bits of the type of service.
    pub outer_ecn: u8,
    pub inner_ecn: u8,
}

/// A capture of what a device at the core has of GTP-U, which ends with the device.
pub struct Capture {
    tcpdump: Child,
    pub device: String,
    file: PathBuf,
}

impl Capture {
    /// Once it captures.
    pub fn start(core: &OwnedFd, device: &str, folder: &Path) -> Self {
        let file = folder.join(format!("{device}.pcap"));
        let path = file.display().to_string();
        // with room for all, in KiB: on a busy machine it may read late
        let arguments = [
            "tcpdump",
            "-i",
            device,
            "-U",
            "-B",
            "65536",
            "-s",
            "200",
            "-w",
            &path,
            "udp port 2152",
        ];
        let mut tcpdump = inside(core, &arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("tcpdump; scripts/setup installs it");
        wait_until_it_captures(&mut tcpdump);
        Self {
            tcpdump,
            device: device.to_owned(),
            file,
        }
    }

    pub fn wait(&mut self) {
        self.tcpdump.wait().expect("it ends with its device");
    }

    /// Octets in GTP-U so far.
    pub fn octets(&self) -> usize {
        self.each(|datagram, _| datagram.payload_length)
            .into_iter()
            .sum()
    }

    /// End Markers so far, by their tunnels.
    pub fn end_markers(&self) -> Vec<u32> {
        let all = self.messages().into_iter();
        all.filter(|(kind, _)| *kind == MessageKind::EndMarker)
            .map(|(_, packet)| packet.teid)
            .collect()
    }

    /// All that is of sessions of users.
    pub fn messages(&self) -> Vec<(MessageKind, Packet)> {
        let all = self.each(|datagram, outer| {
            let whole = datagram.payload_length;
            let (message, _) = Message::read_cut(datagram.payload, whole).expect("a message");
            if !matches!(message.kind, MessageKind::GPdu | MessageKind::EndMarker) {
                return None;
            }
            let container = message.extension(PDU_SESSION_CONTAINER);
            let container = container.map(|it| Container::read(it).expect("a container"));
            let is_from_core = datagram.source.to_string().ends_with(".1");
            let way = if is_from_core { Way::Down } else { Way::Up };
            let (qfi, sequence, has_times) = match container {
                Some(Container::Downlink(it)) => {
                    assert_eq!(way, Way::Down);
                    (it.qfi, it.sequence, it.sent_at.is_some())
                }
                Some(Container::Uplink(it)) => {
                    assert_eq!(way, Way::Up);
                    (it.qfi, it.sequence, it.times.is_some())
                }
                // what the test itself has sent for no tunnel
                None if message.kind == MessageKind::GPdu => return None,
                None => (0, None, false),
            };
            let packet = Packet {
                way,
                teid: message.teid,
                qfi,
                sequence: sequence.unwrap_or(0),
                has_times,
                outer_ecn: outer[1] & 3,
                inner_ecn: message.payload.get(1).map_or(0, |octet| octet & 3),
            };
            Some((message.kind, packet))
        });
        all.into_iter().flatten().collect()
    }

    /// All packets of users.
    pub fn packets(&self) -> Vec<Packet> {
        let all = self.messages().into_iter();
        all.filter(|(kind, _)| *kind == MessageKind::GPdu)
            .map(|(_, packet)| packet)
            .collect()
    }

    fn each<T>(&self, mut of: impl FnMut(&Datagram<'_>, &[u8]) -> T) -> Vec<T> {
        let file = fs::read(&self.file).unwrap_or_default();
        let Ok(mut capture) = pcap::Capture::new(&file) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        // the last one may be half written
        while let Ok(Some(captured)) = capture.next_packet() {
            let datagram = Datagram::read(captured.packet).expect("a datagram");
            assert!([datagram.source_port, datagram.destination_port].contains(&PORT));
            all.push(of(&datagram, captured.packet));
        }
        all
    }

    /// tshark reads each message as we do, and finds no fault with the headers around packets.
    pub fn judge(&self, test: &str) {
        let mut tshark = Command::new("tshark");
        tshark.args(["-o", "ip.check_checksum:TRUE", "-r"]);
        tshark.arg(&self.file);
        // what is inside has its checksums open, and is cut by the capture
        for inside in ["tcp", "icmp", "data"] {
            tshark.args(["--disable-protocol", inside]);
        }
        tshark.args(["-Y", "gtp.message == 255 or gtp.message == 254"]);
        tshark.args(["-T", "fields"]);
        for field in [
            "gtp.message",
            "gtp.teid",
            "gtp.ext_hdr.pdu_ses_con.pdu_type",
            "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
            "_ws.malformed",
            "_ws.expert.severity",
        ] {
            tshark.args(["-e", field]);
        }
        let Ok(output) = tshark.output() else {
            testing::skip(test, Missing::Program("tshark"));
            return;
        };
        let text = stdout(&output);
        let mut lines = text.lines().filter(|line| !line.contains("0x00007777"));
        for (kind, packet) in self.messages() {
            let line = lines.next().expect("as many messages");
            let teid = format!("0x{:08x}", packet.teid);
            let expected = match (kind, packet.way) {
                (MessageKind::EndMarker, _) => format!("0xfe\t{teid}\t\t\t\t"),
                (_, Way::Down) => format!("0xff\t{teid}\t0\t{}\t\t", packet.qfi),
                (_, Way::Up) => format!("0xff\t{teid}\t1\t{}\t\t", packet.qfi),
            };
            assert_eq!(line, expected);
        }
        assert_eq!(lines.next(), None);
    }
}
