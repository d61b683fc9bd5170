//! What passes on F1-U, from capture files: reports of its cells, and notifications of a UE that moves.

use crate::common::{rest, until_some, world};
use crate::inbox::Inbox;
use f1u::{EmulatedBearer, Progress, SnLength};
use gtpu::outer::packet;
use gtpu::pcap::{write_header, write_packet};
use rnis::codec::decode_json;
use serde_json::json;
use std::net::IpAddr;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use units::{Bytes, Instant};

const CENTRAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 1, 0, 1));
const UE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 45, 0, 2));
/// Octets of each packet for the UE.
const PACKET: usize = 1_000;
/// Packets that wait in a distributed unit all the time.
const WAITING: u64 = 10;

const CELLS: &str = "[unix]\npath = \"{folder}/radio.sock\"\n\
    [[cell]]\nid = 1\nprb = 51\nscs = \"30 kHz\"\nperiod = \"10 ms\"\n\
    [[cell]]\nid = 2\nprb = 51\nscs = \"30 kHz\"\nperiod = \"10 ms\"\n";

/// A capture file as it grows.
struct File {
    bytes: Vec<u8>,
}

impl File {
    fn new() -> Self {
        let mut bytes = Vec::new();
        write_header(&mut bytes);
        Self { bytes }
    }

    fn pass(&mut self, ms: u64, from: IpAddr, to: IpAddr, message: &[u8]) {
        let packet = packet(from, to, message).expect("a packet");
        write_packet(
            1_700_000_000_000_000_000 + ms * 1_000_000,
            &packet,
            &mut self.bytes,
        );
    }

    /// A packet each millisecond for the UE at a distributed unit, in which ten wait; then the tunnel ends.
    fn bearer(&mut self, unit: IpAddr, ms: std::ops::Range<u64>) {
        self.bearer_at(7, unit, ms);
    }

    /// The same with this endpoint at the distributed unit.
    fn bearer_at(&mut self, teid: u32, unit: IpAddr, ms: std::ops::Range<u64>) {
        let mut ends = EmulatedBearer::new(teid, 10 * teid, SnLength::Bits18, Bytes::new(100_000));
        let inside = packet([192, 0, 2, 1].into(), UE, &[0; PACKET - 28]).expect("a packet");
        for at in ms.clone() {
            let message = ends.user_data(&inside, false).expect("a message");
            self.pass(at, CENTRAL, unit, &message);
            let transmitted = ends.sent().saturating_sub(WAITING);
            let progress = Progress {
                transmitted,
                delivered: transmitted,
            };
            if let Some(message) = ends.status(Instant::from_nanos(at * 1_000_000), progress) {
                self.pass(at, unit, CENTRAL, &message);
            }
        }
        let message = ends.end_marker().expect("a message");
        self.pass(ms.end, CENTRAL, unit, &message);
    }
}

fn source(name: &str, cell: u32, unit: &str) -> String {
    format!(
        "[[source]]\nname = \"{name}\"\nkind = \"f1-u\"\nurl = \"file:{{folder}}/drive.pcap\"\n\
         cell = {cell}\ndistributed-units = [\"{unit}\"]\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ue_that_moves_between_units_is_reported_and_announced() {
    let tables = format!("{CELLS}{}", rest());
    let mut world = world("max-age = \"60 s\"", &tables).await;
    let client = world.client("all").await;
    let inbox = Inbox::open().await;
    for (kind, filter) in [
        ("CellChangeSubscription", "filterCriteriaAssocHo"),
        ("RabEstSubscription", "filterCriteriaQci"),
    ] {
        let mut body = json!({
            "subscriptionType": kind,
            "callbackReference": inbox.uri("/"),
        });
        body[filter] = match kind {
            "RabEstSubscription" => json!({ "qci": 9 }),
            _ => json!({}),
        };
        let answer = client.post("/rni/v2/subscriptions", &body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let mut file = File::new();
    file.bearer([10, 1, 0, 2].into(), 0..400);
    file.bearer([10, 1, 0, 3].into(), 410..3_000);
    std::fs::write(world.path("drive.pcap"), &file.bytes).expect("written");
    let stream = UnixStream::connect(world.path("radio.sock")).await;
    let mut lines = BufReader::new(stream.expect("the service listens")).lines();

    // the sources begin now, when there are subscriptions and a reader
    let path = world.folder.path().display().to_string();
    let text = format!(
        "{}{}{tables}",
        source("first", 1, "10.1.0.2"),
        source("second", 2, "10.1.0.3")
    );
    let config = rnis_server::Config::parse("f1u.toml", &text.replace("{folder}", &path));
    world.service.reload(&config.expect("good"));

    let moved = until_some("the cell change", async || {
        inbox.received().into_iter().find(|received| {
            received.body["notificationType"] == "CellChangeNotification"
                && received.body["srcEcgi"]["cellId"] == "0000000000000000000000000001"
        })
    })
    .await;
    let target = &moved.body["trgEcgi"][0]["cellId"];
    assert_eq!(*target, "0000000000000000000000000010");
    assert_eq!(
        moved.body["associateId"][0],
        json!({ "type": 1, "value": "10.45.0.2" })
    );
    let established = until_some("the bearer of a UE that comes", async || {
        let mut received = inbox.received().into_iter();
        received.find(|it| it.body["notificationType"] == "RabEstNotification")
    })
    .await;
    assert_eq!(established.body["erabQosParameters"]["qci"], 9);

    // what waits in the second cell is what the emulated unit holds back
    loop {
        let line = lines
            .next_line()
            .await
            .expect("a line")
            .expect("not the end");
        let report = decode_json(line.as_bytes()).expect("a report");
        let Some(ue) = report.ues.first().filter(|_| report.cell.id.0 == 2) else {
            continue;
        };
        assert_eq!(ue.ip, Some(UE));
        let (waiting, packet) = (ue.rlc_queue_bytes.get(), PACKET as u64);
        // a packet may have been drained by the estimate or have come since, in each millisecond from one status to the next
        if ue.seq > 20 {
            assert!(waiting <= (WAITING + 10) * packet, "{waiting}");
            assert!(waiting >= (WAITING - 2) * packet, "{waiting}");
            break;
        }
    }
    for name in ["first", "second"] {
        let source = ("source", name);
        for (metric, labels) in [
            ("brimful_rnis_refused_total", [source, ("reason", "form")]),
            ("brimful_rnis_problems_total", [source, ("kind", "late")]),
            ("brimful_rnis_problems_total", [source, ("kind", "unsent")]),
        ] {
            assert_eq!(world.counted(metric, &labels), 0.0, "{metric} {labels:?}");
        }
    }
}

/// What a bearer's becoming another, at the same unit and for the same UE, means for bearers in MEC 012: nothing, until the UE leaves.
#[tokio::test(flavor = "multi_thread")]
async fn a_ue_on_another_tunnel_has_neither_left_nor_another_bearer() {
    let tables = format!("{CELLS}{}", rest());
    let mut world = world("max-age = \"60 s\"", &tables).await;
    let client = world.client("all").await;
    let inbox = Inbox::open().await;
    for kind in ["Est", "Mod", "Rel"] {
        let mut filter = json!({ "qci": 9 });
        if kind != "Est" {
            filter["erabId"] = json!([5]);
        }
        let body = json!({
            "subscriptionType": format!("Rab{kind}Subscription"),
            "callbackReference": inbox.uri("/"),
            "filterCriteriaQci": filter,
        });
        let answer = client.post("/rni/v2/subscriptions", &body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let mut file = File::new();
    let unit = [10, 1, 0, 2].into();
    file.bearer_at(7, unit, 0..200);
    file.bearer_at(8, unit, 201..500);
    // the file, and with it the source, goes on without the UE
    file.pass(4_000, CENTRAL, unit, &[]);
    std::fs::write(world.path("drive.pcap"), &file.bytes).expect("written");
    let path = world.folder.path().display().to_string();
    let text = format!("{}{tables}", source("first", 1, "10.1.0.2"));
    let config = rnis_server::Config::parse("f1u.toml", &text.replace("{folder}", &path));
    world.service.reload(&config.expect("good"));

    until_some("the release", async || {
        let mut received = inbox.received().into_iter();
        received.find(|it| it.body["notificationType"] == "RabRelNotification")
    })
    .await;
    let received = inbox.received();
    let of = |kind: &str| {
        let is_of = |it: &&crate::inbox::Received| it.body["notificationType"] == kind;
        received.iter().filter(is_of).count()
    };
    let counts = ["RabEstNotification", "RabModNotification"].map(of);
    assert_eq!(counts, [1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_capture_is_an_error_and_is_tried_again() {
    let tables = format!("{CELLS}{}", source("broken", 1, "10.1.0.2"));
    let world = world("", &tables).await;
    std::fs::write(world.path("drive.pcap"), b"no capture").expect("written");
    assert_eq!(
        world.counted("brimful_rnis_source_up", &[("source", "broken")]),
        0.0
    );
    let mut file = File::new();
    file.bearer([10, 1, 0, 2].into(), 0..100);
    std::fs::write(world.path("drive.pcap"), &file.bytes).expect("written");
    until_some("a report", async || {
        let source = ("source", "broken");
        (world.counted("brimful_rnis_reports_total", &[source]) > 0.0).then_some(())
    })
    .await;
}
