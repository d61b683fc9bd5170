//! Sources over their real transports: WebSocket, HTTP, lines over TCP, recordings.

use crate::common::{NETWORK, rest, until, until_some, usual, world};
use crate::inbox::Inbox;
use axum::response::IntoResponse;
use futures_util::{SinkExt, StreamExt};
use rnis::codec::{decode_json, encode_json};
use std::fmt::Write;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, UnixStream};
use tokio_tungstenite::tungstenite::Message;

const SRSRAN: &str = include_str!("../../../../core/rnis/tests/rnis/recorded/srsran.ndjson");
const FLEXRIC: &str = include_str!("../../../../core/rnis/tests/rnis/recorded/flexric.ndjson");
const FLEXRAN: &str = include_str!("../../../../core/rnis/tests/rnis/recorded/flexran.json");
const KPM: &str = include_str!("../../../../core/rnis/tests/rnis/recorded/kpm.ndjson");

const TABLES: &str = "[unix]\npath = \"{folder}/radio.sock\"\n\
    [[cell]]\nid = 4\nprb = 106\nscs = \"30 kHz\"\nmcs-table = \"nr-qam256\"\nperiod = \"5 ms\"\n";

async fn reader(world: &crate::common::World) -> Lines<BufReader<UnixStream>> {
    let stream = UnixStream::connect(world.path("radio.sock"))
        .await
        .expect("the service listens");
    BufReader::new(stream).lines()
}

async fn next(lines: &mut Lines<BufReader<UnixStream>>) -> rnis::RadioReport {
    let line = lines
        .next_line()
        .await
        .expect("a line")
        .expect("not the end");
    decode_json(line.as_bytes()).expect("a report")
}

#[tokio::test(flavor = "multi_thread")]
async fn srsran_over_websocket_and_again_after_it_broke() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let source =
        format!("[[source]]\nname = \"gnb\"\nkind = \"srsran\"\nurl = \"ws://{address}\"\n");
    let world = world("", &format!("{source}{TABLES}{NETWORK}")).await;
    let mut lines = reader(&world).await;
    until("the reader", || {
        world.counted("brimful_rnis_readers", &[]) == 1.0
    })
    .await;
    for round in 0..2 {
        let (stream, _) = listener.accept().await.expect("the service");
        let mut socket = tokio_tungstenite::accept_async(stream)
            .await
            .expect("a WebSocket");
        let command = socket.next().await.expect("a command").expect("no fault");
        assert_eq!(
            command.into_text().expect("text").as_str(),
            r#"{"cmd":"metrics_subscribe"}"#
        );
        for line in SRSRAN.lines() {
            // the second connection goes on where the first ended
            let line = line.replace("175690000", &format!("17569{round}000"));
            socket.send(Message::text(line)).await.expect("sent");
        }
        for _ in 0..2 {
            let report = next(&mut lines).await;
            assert_eq!((report.cell.id.0, report.ues.len()), (4, 2));
            assert!(
                report.ues[0].prb_dl.get() > 0,
                "by the real transport block tables"
            );
        }
    }
    let gnb = ("source", "gnb");
    assert_eq!(
        world.counted("brimful_rnis_source_connects_total", &[gnb]),
        2.0
    );
    assert_eq!(
        world.counted("brimful_rnis_problems_total", &[gnb, ("kind", "unmapped")]),
        0.0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn flexran_is_polled_and_its_unknown_ues_are_counted() {
    let server = Inbox::answering(|_| FLEXRAN.into_response()).await;
    let source = format!(
        "[[source]]\nname = \"enb\"\nkind = \"flexran\"\nurl = \"{}\"\nbs-id = 10000\n",
        server.uri("/stats")
    );
    let world = world("", &format!("{source}{TABLES}{NETWORK}")).await;
    let enb = ("source", "enb");
    until("a report", || {
        world.counted("brimful_rnis_reports_total", &[enb]) == 1.0
    })
    .await;
    until("repeats", || {
        world.counted("brimful_rnis_problems_total", &[enb, ("kind", "repeated")]) >= 3.0
    })
    .await;
    assert_eq!(
        world.counted("brimful_rnis_problems_total", &[enb, ("kind", "unmapped")]),
        1.0
    );
    assert!(
        server
            .received()
            .iter()
            .all(|r| r.path == "/stats" && r.method == "GET")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bridges_send_lines_whether_they_connect_or_are_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let sources = format!(
        "[[source]]\nname = \"ric\"\nkind = \"flexric\"\nurl = \"tcp:{address}\"\n\
         [[source]]\nname = \"kpm\"\nkind = \"e2sm-kpm\"\nurl = \"unix:{{folder}}/kpm.sock\"\nlisten = true\ncell = 5\n\
         [[cell]]\nid = 5\nprb = 106\n"
    )
    .replace("kind = \"flexric\"\n", "kind = \"flexric\"\ncell = 4\n");
    let world = world("", &format!("{sources}{TABLES}{NETWORK}")).await;
    let mut lines = reader(&world).await;
    until("the reader", || {
        world.counted("brimful_rnis_readers", &[]) == 1.0
    })
    .await;
    let (mut stream, _) = listener.accept().await.expect("the service");
    stream.write_all(FLEXRIC.as_bytes()).await.expect("sent");
    for _ in 0..2 {
        let report = next(&mut lines).await;
        assert_eq!(
            (report.cell.id.0, report.ues[0].rlc_queue_bytes.get()),
            (4, 84_120)
        );
    }
    // each bridge that comes is read
    for _ in 0..2 {
        let mut bridge = until_some("a listener for bridges", async || {
            UnixStream::connect(world.path("kpm.sock")).await.ok()
        })
        .await;
        let first = KPM
            .lines()
            .next()
            .expect("a line")
            .replace("\"amf_ue_ngap_id\"", "\"rnti\"");
        let fresh = first.replace("1700000000000", &format!("17{:011}", std::process::id()));
        bridge
            .write_all(format!("{fresh}\n").as_bytes())
            .await
            .expect("sent");
    }
    let report = next(&mut lines).await;
    assert_eq!((report.cell.id.0, report.ues.len()), (5, 2));
    let kpm = ("source", "kpm");
    until("the second bridge's is a repeat", || {
        world.counted("brimful_rnis_problems_total", &[kpm, ("kind", "repeated")]) == 1.0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_is_played_with_its_times_and_goes_on_when_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("drive.ndjson");
    let mut text = String::new();
    for slot in 1..=5 {
        let line = String::from_utf8(encode_json(&usual(20 * slot))).expect("text");
        writeln!(text, "{line}").expect("text grows");
    }
    text.push_str("damaged\n\n");
    std::fs::write(&file, text).expect("written");
    let source = format!(
        "[[source]]\nname = \"drive\"\nkind = \"replay\"\nurl = \"file:{}\"\nspeed = 2\nrepeat = true\n",
        file.display()
    );
    let world = world("", &format!("{source}{TABLES}{NETWORK}")).await;
    let drive = ("source", "drive");
    let mut lines = reader(&world).await;
    let mut reports = Vec::new();
    for _ in 0..12 {
        reports.push(next(&mut lines).await);
    }
    for pair in reports.windows(2) {
        assert_eq!(
            pair[1].cell.slot.get() - pair[0].cell.slot.get(),
            20,
            "also over a lap's end"
        );
        assert!(pair[1].ues[0].seq > pair[0].ues[0].seq);
        // the times are those of now
        assert!(pair[1].ues[0].timestamp > pair[0].ues[0].timestamp);
    }
    assert!(world.counted("brimful_rnis_refused_total", &[drive, ("reason", "form")]) >= 1.0);
    assert_eq!(world.counted("brimful_rnis_restarts_total", &[drive]), 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_configuration_changes_mappings_and_notifies_of_modified_bearers() {
    let mut world = world("max-age = \"60 s\"", &format!("{NETWORK}{}", rest())).await;
    world.cell.report(&usual(20)).await;
    world.accepted(1).await;
    let client = world.client("all").await;
    let inbox = Inbox::open().await;
    let body = serde_json::json!({
        "subscriptionType": "RabModSubscription",
        "filterCriteriaQci": { "qci": 8, "erabId": 5 },
        "callbackReference": inbox.uri("/"),
    });
    assert_eq!(
        client.post("/rni/v2/subscriptions", &body).await.status,
        201
    );
    let path = world.path("cell.sock");
    let text = format!(
        "[[source]]\nname = \"cell\"\nkind = \"reports\"\nurl = \"unix:{}\"\n{}{}",
        path.display(),
        NETWORK
            .replace("qci = 9", "qci = 8")
            .replace("17922", "999"),
        rest()
    );
    let config = rnis_server::Config::parse("again", &text).expect("good");
    world.service.reload(&config);
    until("the modified bearer", || inbox.received().len() == 1).await;
    assert_eq!(inbox.received()[0].body["erabQosParameters"]["qci"], 8);
    world.cell.hang_up();
    world.cell.report(&usual(40)).await;
    world.accepted(2).await;
    assert_eq!(
        world.counted("brimful_rnis_unmapped_total", &[("source", "cell")]),
        1.0
    );
}
