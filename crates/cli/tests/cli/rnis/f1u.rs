//! The radio read off the wire: F1-U of a cell between two hosts, captured by the service.
//!
//! ```text
//!   namespace `central`           namespace `unit`
//!   10.1.0.1 f1 ----- user data ----> f1 10.1.0.2      the cell is the simulator's
//!            |  <---- statuses ------
//!   brimful rnis -> radio.sock
//! ```

use super::Daemon;
use crate::Place;
use f1u::{EmulatedBearer, Progress, SnLength};
use gtpu::nru::{Cause, DeliveryStatus, Frame};
use gtpu::{Extension, Header, NR_RAN_CONTAINER};
use queue::{Capacity, Packet};
use radio::{ConstantChannel, McsTable};
use ran::{BearerConfig, Cell, CellConfig, UeConfig, UeIndex};
use rnis::codec::decode_json;
use rnis::{Rnti, UeReport};
use rustix::process::Signal;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use testing::{HANG_LIMIT, Namespace};
use units::{Bytes, Duration, Instant, Mcs, Prb, Streams};

const CONFIG: &str = r#"[[source]]
name = "f1"
kind = "f1-u"
url = "interface:f1"
distributed-units = ["10.1.0.2"]
[[cell]]
id = 1
prb = 51
scs = "30 kHz"
period = "10 ms"
[unix]
path = "radio.sock"
"#;

const UE: [u8; 4] = [10, 45, 0, 2];
const DOWNLINK: u32 = 11;
const UPLINK: u32 = 12;
/// Octets of each packet for the UE, and how many there are.
const PACKET: usize = 1_400;
const PACKETS: u64 = 400;

struct Length(usize);

impl Packet for Length {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.0 as u64)
    }
}

/// The cell, both ends of its bearer, and their sockets.
struct World {
    cell: Cell<Length>,
    ends: EmulatedBearer,
    central: UdpSocket,
    unit: UdpSocket,
    slot: u64,
    above: VecDeque<Vec<u8>>,
}

impl World {
    fn new(central: UdpSocket, unit: UdpSocket) -> Self {
        let config = CellConfig::nr(1, Prb::new(51));
        let channel = ConstantChannel::mcs(McsTable::NrQam64, Mcs::new(5), 0.0);
        let ue = UeConfig {
            rnti: Rnti(1),
            ip: None,
            channel: Box::new(channel.expect("a channel")),
            uplink: None,
            bearers: vec![BearerConfig::am(config.rat, Capacity::Unlimited)],
        };
        let cell = Cell::new(config, vec![ue], None, &Streams::new(1)).expect("a cell");
        Self {
            cell,
            ends: EmulatedBearer::new(DOWNLINK, UPLINK, SnLength::Bits18, Bytes::new(1_000_000)),
            central,
            unit,
            slot: 0,
            above: VecDeque::new(),
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_micros(self.slot * 500)
    }

    fn progress(&self) -> Progress {
        let stats = &self.cell.stats().ues[0].bearers[0].downlink;
        Progress {
            transmitted: stats.sojourns.packets.get(),
            delivered: stats.delivered.packets.get(),
        }
    }

    /// A slot of the cell, in its time; before it a packet comes for the UE.
    fn run_slot(&mut self, has_packet: bool) {
        let now = self.now();
        let mut out = Vec::new();
        if has_packet {
            let inside = gtpu::outer::packet([192, 0, 2, 1].into(), UE.into(), &[7; PACKET - 28]);
            self.above.push_back(inside.expect("a packet"));
            let packet = Length(PACKET);
            self.cell
                .send_downlink(now, UeIndex(0), 0, packet, &mut out);
        }
        self.cell.on_deadline(now, &mut out);
        let stats = self.cell.stats().ues[0].bearers[0].downlink;
        let entered = stats.received.packets.get() - stats.core.packets.get();
        while self.ends.sent() < entered {
            let inside = self.above.pop_front().expect("it was sent");
            let message = self.ends.user_data(&inside, false).expect("a message");
            let to = ("10.1.0.2", gtpu::PORT);
            self.central.send_to(&message, to).expect("sent");
        }
        if let Some(message) = self.ends.status(now, self.progress()) {
            self.report(&message);
        }
        self.slot += 1;
    }

    fn report(&self, message: &[u8]) {
        let to = ("10.1.0.1", gtpu::PORT);
        self.unit.send_to(message, to).expect("sent");
    }

    /// A status that states what has become of the link.
    fn link(&self, cause: Cause) {
        let progress = self.progress();
        let frame = Frame::DeliveryStatus(DeliveryStatus {
            transmitted: Some((progress.transmitted - 1) as u32),
            cause: Some(cause),
            ..DeliveryStatus::default()
        });
        let content = frame.write();
        let extension = Extension {
            kind: NR_RAN_CONTAINER,
            content: &content,
        };
        let mut message = Vec::new();
        gtpu::write(&Header::g_pdu(UPLINK, &[extension]), &[], &mut message).expect("a message");
        self.report(&message);
    }
}

/// The service's reports.
struct Reports {
    lines: BufReader<UnixStream>,
    served: u64,
}

impl Reports {
    /// Connects, and reads the first, which has no UE.
    fn open(place: &Place) -> Self {
        let stream = UnixStream::connect(place.path("radio.sock")).expect("it listens");
        stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
        let lines = BufReader::new(stream);
        let mut reports = Self { lines, served: 0 };
        assert_eq!(reports.next(), None);
        reports
    }

    /// The UE in the next report.
    fn next(&mut self) -> Option<UeReport> {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a report");
        let mut report = decode_json(line.as_bytes()).expect("a report");
        let ue = report.ues.pop()?;
        self.served += ue.served_bytes.get();
        assert_eq!(ue.ip, Some(IpAddr::from(UE)));
        Some(ue)
    }

    /// Reads until the UE's queue is what it should be, give or take a packet.
    fn until_queue(&mut self, bytes: u64) -> UeReport {
        let deadline = std::time::Instant::now() + HANG_LIMIT;
        let mut last = None;
        while std::time::Instant::now() < deadline {
            let Some(ue) = self.next() else { continue };
            let queue = ue.rlc_queue_bytes.get();
            if queue.abs_diff(bytes) <= PACKET as u64 {
                return ue;
            }
            last = Some(queue);
        }
        panic!("the queue is {bytes} bytes, reported are {last:?}");
    }
}

#[test]
fn the_service_reads_a_cells_queue_off_the_wire() {
    if !testing::has_root("cli: the_service_reads_a_cells_queue_off_the_wire") {
        return;
    }
    let (central, unit) = (Namespace::new(), Namespace::new());
    central.sh(&format!(
        "ip link set lo up; ip link add name f1 type veth peer name f1 netns {}\n\
         ip address add 10.1.0.1/24 dev f1; ip link set f1 up",
        unit.pid()
    ));
    unit.sh("ip link set lo up; ip address add 10.1.0.2/24 dev f1; ip link set f1 up");
    central.sh("ping -c 1 -w 60 10.1.0.2");
    let bind = |address: &'static str| UdpSocket::bind((address, gtpu::PORT)).expect("a port");
    let mut world = World::new(
        central.enter(|| bind("10.1.0.1")),
        unit.enter(|| bind("10.1.0.2")),
    );
    let place = Place::new().with("rnis.toml", CONFIG);
    let start = || Daemon::start(&place, &["rnis", "--config", "rnis.toml"]);
    let service = central.enter(start);
    service.wait_for_line("connected");
    let mut reports = Reports::open(&place);

    for _ in 0..PACKETS {
        world.run_slot(true);
    }
    let backlog = |world: &World| world.cell.stats().ues[0].bearers[0].downlink.backlog.get();
    world.link(Cause::LinkOutage);
    let waiting = backlog(&world);
    assert!(waiting > 100_000, "{waiting} bytes would show nothing");
    let ue = reports.until_queue(waiting);
    assert!(ue.served_bytes.get() + ue.rlc_queue_bytes.get() <= PACKETS * PACKET as u64);

    world.link(Cause::LinkResume);
    while backlog(&world) > 0 || world.progress().delivered < PACKETS {
        world.run_slot(false);
    }
    for _ in 0..40 {
        world.run_slot(false);
    }
    reports.until_queue(0);
    while reports.served < PACKETS * PACKET as u64 {
        reports.next();
    }
    assert_eq!(reports.served, PACKETS * PACKET as u64, "every byte");
    service.signal(Signal::TERM);
    assert_eq!(service.end().0, Some(0));
}

#[test]
fn an_interface_that_there_is_not_is_named_in_the_log() {
    let place = Place::new().with(
        "rnis.toml",
        &CONFIG.replace("interface:f1", "interface:none0"),
    );
    let service = Daemon::start(&place, &["rnis", "--config", "rnis.toml"]);
    let line = service.wait_for_line("interface:none0");
    assert!(line.contains("f1"), "{line}");
    service.signal(Signal::TERM);
    assert_eq!(service.end().0, Some(0));
}
