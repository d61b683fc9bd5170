//! Reports over the Unix socket.

use crate::common::{NETWORK, World, report, rest, until, until_some, usual, world};
use crate::inbox::Inbox;
use crate::recording;
use rnis::codec::decode_json;
use std::os::unix::fs::PermissionsExt;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// In a folder that is not there yet, as `/run/brimful` is not.
const SOCKET: &str = "[unix]\npath = \"{folder}/run/radio.sock\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn every_reader_gets_every_report_with_addresses() {
    let mut world = world("", &format!("{SOCKET}{NETWORK}")).await;
    let path = world.path("run/radio.sock");
    let mut readers = Vec::new();
    for _ in 0..2 {
        let stream = UnixStream::connect(&path)
            .await
            .expect("the service listens");
        readers.push(BufReader::new(stream).lines());
    }
    until("readers", || {
        world.counted("brimful_rnis_readers", &[]) == 2.0
    })
    .await;
    for slot in 1..=3 {
        world.cell.report(&usual(20 * slot)).await;
    }
    for reader in &mut readers {
        for slot in 1..=3 {
            let line = reader
                .next_line()
                .await
                .expect("a line")
                .expect("not the end");
            let report = decode_json(line.as_bytes()).expect("a report");
            assert_eq!(report.cell.slot.get(), 20 * slot);
            assert_eq!(
                report.ues[1].ip,
                Some([10, 45, 0, 3].into()),
                "by the mapping"
            );
            // the cell is on this machine: its clock is ours
            assert_eq!(report.ues[0].timestamp.as_nanos(), 20 * slot * 500_000);
        }
    }
    let mode = std::fs::metadata(&path).expect("a socket").permissions();
    assert_eq!(mode.mode() & 0o777, 0o660, "for its user and group only");
    drop(readers);
    until("readers gone", || {
        world.counted("brimful_rnis_readers", &[]) == 0.0
    })
    .await;
    world.service.stop().await;
    assert!(!path.exists(), "the socket's file goes with the service");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cells_reports_pass_unchanged_and_in_order() {
    let mut world = world("", SOCKET).await;
    let stream = UnixStream::connect(world.path("run/radio.sock"))
        .await
        .expect("the service listens");
    until("the reader", || {
        world.counted("brimful_rnis_readers", &[]) == 1.0
    })
    .await;
    let sent = recording::reports(300);
    assert!(sent.iter().any(|report| report.ues[0].harq_retx > 0));
    let mut lines = BufReader::new(stream).lines();
    for report in &sent {
        world.cell.report(report).await;
    }
    for report in &sent {
        let line = lines
            .next_line()
            .await
            .expect("a line")
            .expect("not the end");
        assert_eq!(decode_json(line.as_bytes()).as_ref(), Ok(report));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_does_not_read_loses_reports_and_delays_no_other() {
    // it stays for as long as the test takes
    let keys = "unread-timeout = \"86400 s\"\n";
    let mut world = world("", &format!("{SOCKET}{keys}{NETWORK}")).await;
    let idle = UnixStream::connect(world.path("run/radio.sock"))
        .await
        .expect("the service listens");
    until("the reader", || {
        world.counted("brimful_rnis_readers", &[]) == 1.0
    })
    .await;
    let count = 4_000;
    for slot in 1..=count {
        world.cell.report(&usual(20 * slot)).await;
    }
    world.accepted(u32::try_from(count).expect("few")).await;
    // it reads again: what it lost is counted, and the last report is not among it
    let mut lines = BufReader::new(idle).lines();
    let mut got: u64 = 0;
    loop {
        let line = lines
            .next_line()
            .await
            .expect("a line")
            .expect("not the end");
        got += 1;
        if decode_json(line.as_bytes())
            .expect("a report")
            .cell
            .slot
            .get()
            == 20 * count
        {
            break;
        }
    }
    assert!(got < count, "{got}");
    let lost = world.counted("brimful_rnis_publish_lost_total", &[("transport", "unix")]);
    assert_eq!(lost + got as f64, count as f64);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_do_not_read_hold_no_place_for_ever() {
    let keys = "unread-timeout = \"200 ms\"\n";
    let mut world = world("", &format!("{SOCKET}{keys}{NETWORK}")).await;
    let path = world.path("run/radio.sock");
    let readers = |world: &World| world.counted("brimful_rnis_readers", &[]);
    let mut idle = Vec::new();
    for n in 1..=64 {
        idle.push(UnixStream::connect(&path).await.expect("listening"));
        until("the reader", || readers(&world) == f64::from(n)).await;
    }
    let ues: Vec<_> = (1..=500).map(|rnti| (rnti, None, 0)).collect();
    let mut slot = 0;
    until_some("all are closed", async || {
        slot += 20;
        world.cell.report(&report(1, slot, &ues)).await;
        (readers(&world) == 0.0).then_some(())
    })
    .await;
    let stream = UnixStream::connect(&path).await.expect("listening");
    until("one that reads", || readers(&world) == 1.0).await;
    world.cell.report(&usual(slot + 20)).await;
    let mut lines = BufReader::new(stream).lines();
    loop {
        let line = lines.next_line().await.expect("a line");
        let line = line.expect("not the end");
        let report = decode_json(line.as_bytes()).expect("a report");
        if report.cell.slot.get() == slot + 20 {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_is_counted_gets_the_next_report() {
    let mut world = world("", &format!("{SOCKET}{NETWORK}")).await;
    let path = world.path("run/radio.sock");
    let mut earlier = Vec::new();
    for n in 1..=40 {
        let stream = UnixStream::connect(&path).await.expect("listening");
        until("the reader", || {
            world.counted("brimful_rnis_readers", &[]) == n as f64
        })
        .await;
        world.cell.report(&usual(20 * n)).await;
        let mut lines = BufReader::new(stream).lines();
        let line = tokio::time::timeout(testing::HANG_LIMIT, lines.next_line()).await;
        let line = line.expect("a line in time").expect("a line");
        let report = decode_json(line.expect("not the end").as_bytes()).expect("a report");
        assert_eq!(report.cell.slot.get(), 20 * n);
        earlier.push(lines);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_a_dead_service_is_replaced_and_that_of_a_living_one_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("radio.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    assert!(path.exists());
    let tables = format!("[unix]\npath = \"{}\"\n", path.display());
    let first = world("", &tables).await;
    assert!(UnixStream::connect(&path).await.is_ok());

    let text =
        format!("[[source]]\nname = \"x\"\nkind = \"reports\"\nurl = \"unix:/nowhere\"\n{tables}");
    let config = rnis_server::Config::parse("second", &text).expect("good");
    let second = rnis_server::Service::start(config).await;
    let error = second.err().expect("the path is taken").to_string();
    assert!(error.contains("another process listens there"), "{error}");
    assert!(
        UnixStream::connect(&path).await.is_ok(),
        "the first one's is still there"
    );
    first.service.stop().await;
}

/// One line of a source that is an event, and one of a UE that appears: an event that follows from it.
#[tokio::test(flavor = "multi_thread")]
async fn a_recording_carries_a_sources_events_and_a_replay_notifies_of_them() {
    let mut world = world("", &format!("{SOCKET}{NETWORK}")).await;
    let path = world.path("run/radio.sock");
    let mut plain = UnixStream::connect(&path).await.expect("listening");
    let mut recorder = UnixStream::connect(&path).await.expect("listening");
    recorder.write_all(b"events\n").await.expect("written");
    until("readers", || {
        world.counted("brimful_rnis_readers", &[]) == 2.0
    })
    .await;
    let event: &[u8] =
        br#"{"cell":1,"ue":"10.45.0.2","event":"measurement","rsrp":72,"rsrq":24,"trigger":12}"#;
    // the request for events may be read after the first of them
    let mut recorded = Vec::new();
    let mut lines = BufReader::new(recorder).lines();
    for slot in 1..=1_000 {
        world.cell.report(&usual(20 * slot)).await;
        world.cell.send(event).await;
        world.cell.report(&usual(20 * slot + 10)).await;
        loop {
            let line = lines
                .next_line()
                .await
                .expect("a line")
                .expect("not the end");
            let report = decode_json(line.as_bytes());
            recorded.push(line);
            if report.is_ok_and(|report| report.cell.slot.get() == 20 * slot + 10) {
                break;
            }
        }
        if recorded.iter().any(|line| line.as_bytes() == event) {
            break;
        }
    }
    let others = recorded
        .iter()
        .filter(|line| decode_json(line.as_bytes()).is_err());
    assert_eq!(
        others.count(),
        1,
        "no event that follows from reports: {recorded:?}"
    );
    let (mut buffer, mut read) = (vec![0; 1 << 16], Vec::new());
    while read.iter().filter(|byte| **byte == b'\n').count() + 1 < recorded.len() {
        let length = plain.read(&mut buffer).await.expect("lines");
        read.extend_from_slice(&buffer[..length]);
    }
    let read = String::from_utf8(read).expect("text");
    assert!(
        !read.contains("\"event\""),
        "a reader that did not request events"
    );

    // the recording in place of the cell, and a subscriber
    let file = world.path("drive.ndjson");
    let mut text = recorded.join("\n");
    text.push('\n');
    std::fs::write(&file, text).expect("written");
    let replay = format!(
        "[[source]]\nname = \"drive\"\nkind = \"replay\"\nrepeat = true\nspeed = 0.1\n\
         url = \"file:{}\"\n{NETWORK}{}",
        file.display(),
        rest()
    );
    let second = crate::common::world("", &replay).await;
    let client = second.client("all").await;
    let inbox = Inbox::open().await;
    let body = serde_json::json!({
        "subscriptionType": "MeasRepUeSubscription",
        "callbackReference": inbox.uri("/"),
        "filterCriteriaAssocTri": {},
    });
    assert_eq!(
        client.post("/rni/v2/subscriptions", &body).await.status,
        201
    );
    until("the replayed event", || !inbox.received().is_empty()).await;
    assert_eq!(inbox.received()[0].body["rsrp"], 72);
    let refused = second.counted(
        "brimful_rnis_refused_total",
        &[("source", "drive"), ("reason", "form")],
    );
    assert_eq!(refused, 0.0);
}
