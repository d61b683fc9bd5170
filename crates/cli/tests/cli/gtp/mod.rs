//! Marks in GTP-U between ends that others wrote.
//!
//! ```text
//!   namespace `core`                  `edge`                      `radio`
//!   servers -- apn4, apn6 -- osmo-ggsn === core0, ran0 === sgsnemu -- ue4, ue6
//!                      10.1.0.1        brimful pep          10.2.0.1, 10.2.0.2
//! ```
//!
//! The GGSN copies nothing into the outer ECN field, and the SGSN reads nothing of it: rules of the core's host set it.

mod passing;
mod peers;
mod shark;

use crate::Place;
use crate::pep::{Cell, Process, control, report};
use f1u::{Endpoint, TunnelMap};
use gtpu::outer::Datagram;
use gtpu::{Message, MessageKind};
use passing::{Capture, PORT, ecn, number_of, with_ecn};
use peers::{ACCESS_POINTS, CORE, DEVICES, Peers, RADIO, SERVERS};
use rnis::{LinkQuality, Rnti, UeReport};
use rustix::net::sockopt;
use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use testing::{HANG_LIMIT, pattern, wait_until};
use units::{Bytes, Duration, Instant};

const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CE: u8 = 3;
/// As nft calls them.
const FIELDS: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];

/// Each packet of ECT(1) beyond a flow's first ten is marked.
const CONFIG: &str = "ran-interface = \"ran0\"\n[split]\nenabled = false\n\
    [unsplit]\nmode = \"mark\"\ninside = \"gtp-u\"\nramp-from = \"0 s\"\nramp-to = \"1 ms\"\n\
    wide-ramp-from = \"0 s\"\nwide-ramp-to = \"1 ms\"\ntarget = \"1 s\"\n\
    [reports]\nsource = \"unix:{dir}/cell.sock\"\n[admin]\nsocket = \"pep.sock\"\n";
/// What the radio carries, thousandths of a byte in each slot of 1 ms: one packet in 67 ms is more than a fair share.
const RATE: u64 = 10_000;
const QUEUE: u64 = 50_000;
/// Octets of a packet's payload.
const PAYLOAD: usize = 600;
/// Packets that are under way at once.
const BATCH: u32 = 6;

/// Turns off that checksums of what an interface sends are left to it.
const NO_TX_CHECKSUMS: &str = r#"python3 -c '
import array, fcntl, socket, struct
value = array.array("B", struct.pack("II", 0x17, 0))
request = struct.pack("16sP16x", b"up0", value.buffer_info()[0])
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)
'"#;

/// A packet of the test's flows as it was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    outer: u8,
    inner: u8,
    is_complete: bool,
}

/// The test's flows: a sender in the core and a receiver at the UE, of either family.
struct Flows<'a> {
    peers: &'a Peers,
    place: &'a Place,
    ends: [[UdpSocket; 2]; 2],
    sent: BTreeMap<u32, Sent>,
}

impl<'a> Flows<'a> {
    fn new(peers: &'a Peers, place: &'a Place) -> Self {
        let ends = [0, 1].map(|of| {
            let server: IpAddr = SERVERS[of].parse().expect("an address");
            let bound = |at, port| UdpSocket::bind((at, port)).expect("bound");
            let sender = peers.core.enter(|| bound(server, 0));
            let receiver = peers.radio.enter(|| bound(peers.ues[of], PORT));
            receiver.set_read_timeout(Some(HANG_LIMIT)).expect("set");
            sender.connect((peers.ues[of], PORT)).expect("a route");
            [sender, receiver]
        });
        Self {
            peers,
            place,
            ends,
            sent: BTreeMap::new(),
        }
    }

    /// Sends some packets, each of which arrives with the bytes that it was sent with.
    fn pass(&mut self, of: usize, as_sent: Sent) {
        let [sender, receiver] = &self.ends[of];
        match of {
            0 => sockopt::set_ip_tos(sender, as_sent.inner).expect("set"),
            _ => sockopt::set_ipv6_tclass(sender, as_sent.inner.into()).expect("set"),
        }
        let first = self.sent.len() as u32;
        let payload = |number: u32| {
            let mut payload = number.to_be_bytes().to_vec();
            payload.extend(pattern(number as usize, PAYLOAD - 4));
            payload
        };
        for number in first..first + BATCH {
            sender.send(&payload(number)).expect("sent");
            self.sent.insert(number, as_sent);
        }
        for number in first..first + BATCH {
            let mut bytes = vec![0; 2 * PAYLOAD];
            let size = receiver.recv(&mut bytes).expect("it arrives");
            assert_eq!(bytes[..size], payload(number), "{as_sent:?}");
        }
    }

    /// What the proxy has counted, by name.
    fn count(&self, pointer: &str) -> u64 {
        let control = control(self.place).expect("it answers");
        let count = control["unsplit"].pointer(pointer);
        let count = count.and_then(serde_json::Value::as_u64);
        count.unwrap_or_else(|| panic!("no {pointer} in {control}"))
    }

    /// All fields inside, with this one outside, of both families.
    fn pass_all(&mut self, outer: u8, is_complete: bool) {
        let rule = format!(
            "nft flush chain ip m o; nft add rule ip m o udp dport {} ip ecn set {}",
            gtpu::PORT,
            FIELDS[usize::from(outer)]
        );
        self.peers.core.sh(&rule);
        for of in [0, 1] {
            let marked = self.count("/packets/marked_l4s");
            let of_field = |inner| Sent {
                outer,
                inner,
                is_complete,
            };
            wait_until("marks", || {
                self.pass(of, of_field(ECT_1));
                self.count("/packets/marked_l4s") >= marked + u64::from(BATCH)
            });
            for inner in [NOT_ECT, ECT_0, CE] {
                self.pass(of, of_field(inner));
            }
            // and upwards
            let [sender, receiver] = &self.ends[of];
            let sender_at = sender.local_addr().expect("bound");
            sender.set_read_timeout(Some(HANG_LIMIT)).expect("set");
            receiver.send_to(b"up", sender_at).expect("sent");
            let mut bytes = [0; 8];
            assert_eq!(sender.recv(&mut bytes).expect("it arrives"), 2);
        }
    }
}

/// Reports of a cell with these UEs.
fn cell(place: &Place, ues: [IpAddr; 2]) -> Cell {
    Cell::reporting(place, move |n, since| {
        let mut report = report(n, since);
        let at = report.ues[0].timestamp;
        let quality = LinkQuality::Measured {
            full_band_millibytes: RATE,
        };
        report.ues = ues
            .iter()
            .zip(1..)
            .map(|(ip, rnti)| UeReport {
                ip: Some(*ip),
                seq: n,
                rlc_queue_bytes: Bytes::new(QUEUE),
                ..UeReport::idle(Rnti(rnti), quality, at)
            })
            .collect();
        report
    })
}

#[test]
fn marks_in_gtp_u_of_others_arrive_at_the_ue() {
    let place = Place::new();
    let folder = place.folder.path().to_str().expect("text");
    let config = CONFIG.replace("{dir}", folder);
    let place = place.with("pep.toml", &config);
    let test = "cli: marks_in_gtp_u_of_others_arrive_at_the_ue";
    let Some(peers) = Peers::start(test, &place) else {
        return;
    };
    let _cell = cell(&place, peers.ues);
    let edge = &peers.edge;
    let mut proxy = edge.enter(|| Process::start(&place, &["pep", "--config", "pep.toml"]));
    let _logs = crate::pep::Logs(&place);
    wait_until("orders", || {
        control(&place).is_some_and(|control| control["unsplit"]["ues"] == 2)
    });
    peers.core.sh(
        "nft add table ip m; nft add chain ip m o '{ type filter hook output priority -150; }'",
    );
    let tunnels = "udp port 2152";
    let mut between = Capture::start(&place, &peers.edge, "ran0", tunnels);
    let ours = "udp";
    let sent = ACCESS_POINTS.map(|name| Capture::start(&place, &peers.core, name, ours));
    let arrived = DEVICES.map(|name| Capture::start(&place, &peers.radio, name, ours));

    let mut flows = Flows::new(&peers, &place);
    for is_complete in [false, true] {
        if is_complete {
            peers.core.sh(NO_TX_CHECKSUMS);
        }
        for outer in [NOT_ECT, ECT_1, ECT_0, CE] {
            flows.pass_all(outer, is_complete);
        }
    }
    let unsplit = control(&place).expect("it answers")["unsplit"].clone();
    let [marked, dropped] =
        ["/packets/marked_l4s", "/packets/dropped_not_ect"].map(|of| flows.count(of));
    assert_eq!(dropped, 0, "{unsplit}");
    // what is not IP is ARP here
    for count in ["malformed", "bundled", "own_tcp", "signalling"] {
        assert_eq!(unsplit["unjudged"][count], 0, "{unsplit}");
    }
    assert_eq!(
        (&unsplit["unwritten_marks"], &unsplit["fragments"]),
        (&0.into(), &0.into())
    );

    let all = flows.sent;
    let packets = |captures: &[Capture; 2]| -> BTreeMap<u32, Vec<u8>> {
        captures.iter().flat_map(Capture::numbered).collect()
    };
    wait_until("all packets in the captures", || {
        [packets(&sent).len(), packets(&arrived).len()] == [all.len(); 2]
            && wrapped(&between.packets()).len() == all.len()
    });
    between.stop();
    let (sent, arrived) = (packets(&sent), packets(&arrived));
    let mut marks = 0;
    for (number, wrapped) in wrapped(&between.packets()) {
        let of = all[&number];
        let (sent, arrived) = (&sent[&number], &arrived[&number]);
        assert_eq!(ecn(sent), of.inner);
        let is_marked = of.inner == ECT_1 && ecn(arrived) == CE;
        let (inner, outer) = match (is_marked, of.outer) {
            (true, NOT_ECT) => (CE, NOT_ECT),
            (true, _) => (CE, CE),
            (false, outer) => (of.inner, outer),
        };
        assert_eq!(*arrived, with_ecn(sent, inner), "{number} {of:?}");
        assert_eq!(wrapped.inside, *arrived, "{number} {of:?}");
        assert_eq!(
            wrapped.around,
            with_ecn(&wrapped.around, outer),
            "{number} {of:?}"
        );
        marks += u64::from(is_marked);
    }
    assert_eq!(marks, marked, "each mark arrives");
    shark::reads_alike(&between.file, &between.packets(), |number| {
        all[&number].is_complete
    });
    assert_tunnels(&between.packets(), peers.ues);
    assert!(proxy.stop());
}

/// A packet of the test's flows in GTP-U.
struct Wrapped {
    around: Vec<u8>,
    inside: Vec<u8>,
}

fn wrapped(packets: &[Vec<u8>]) -> BTreeMap<u32, Wrapped> {
    let packets = packets.iter();
    packets
        .filter_map(|packet| {
            let datagram = Datagram::read(packet)?;
            let (message, _) = Message::read(datagram.payload).expect("a message");
            let wrapped = Wrapped {
                around: packet.clone(),
                inside: message.payload.to_vec(),
            };
            Some((number_of(message.payload)?, wrapped))
        })
        .collect()
}

/// Each tunnel is found to be the UE's whose packets are in it, in both directions.
fn assert_tunnels(packets: &[Vec<u8>], ues: [IpAddr; 2]) {
    let mut map = TunnelMap::new(100, Duration::from_secs(1));
    let mut ends = BTreeMap::new();
    for packet in packets {
        let datagram = Datagram::read(packet).expect("a datagram");
        let (message, _) = Message::read(datagram.payload).expect("a message");
        assert_eq!(message.kind, MessageKind::GPdu);
        let inside = gtpu::inner::ends(message.payload, message.payload_length);
        let (source, destination) = inside.expect("a packet");
        let end = Endpoint {
            at: datagram.destination,
            teid: message.teid,
        };
        let at = RADIO
            .iter()
            .position(|at| datagram.destination.to_string() == *at);
        let ue = if at.is_some() { destination } else { source };
        map.on_packet(Instant::ZERO, end, ue);
        let from = datagram.source.to_string();
        let of = at.or_else(|| RADIO.iter().position(|at| from == *at));
        ends.insert(end, of.expect("one of the two"));
        assert!(at.is_some() || datagram.destination.to_string() == CORE);
    }
    assert_eq!(
        (ends.len(), map.counts().learnt, map.counts().changed),
        (4, 4, 0)
    );
    for (end, of) in ends {
        assert_eq!(map.address(end), Some(ues[of]), "{end:?}");
    }
}
