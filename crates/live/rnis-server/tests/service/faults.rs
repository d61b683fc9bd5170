//! Senseless input of every kind, and what is counted of it.

use crate::common::{NETWORK, connect, report, rest, secure_rest, until, usual, world};
use testing::{HANG_LIMIT, free_port};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use units::Streams;

#[tokio::test(flavor = "multi_thread")]
async fn random_bytes_to_every_port_change_nothing() {
    // for the source that listens
    let bridge = std::net::SocketAddr::from(([127, 0, 0, 1], free_port()));
    let tables = format!(
        "[[source]]\nname = \"bridge\"\nkind = \"flexric\"\nurl = \"tcp:{bridge}\"\nlisten = true\n\
         [[cell]]\nid = 1\nprb = 106\n[unix]\npath = \"{{folder}}/radio.sock\"\n\
         [metrics]\nlisten = \"127.0.0.1:0\"\n{NETWORK}{}",
        rest()
    );
    let mut world = world("max-age = \"60 s\"", &tables).await;
    let folder = tempfile::tempdir().expect("a folder");
    let secure = crate::common::world("", &secure_rest(folder.path()).0).await;
    let mut ports = vec![
        secure.service.http_address().expect("an interface"),
        world.service.http_address().expect("an interface"),
        world.service.metrics_address().expect("metrics"),
    ];
    connect(bridge).await;
    ports.push(bridge);
    let mut random = Streams::new(7).stream("bytes");
    for round in 0..60_u64 {
        let mut bytes = Vec::new();
        for _ in 0..=random.below(3_000) {
            bytes.push(random.below(256) as u8);
        }
        if round % 3 == 0 {
            // something that begins well
            bytes.splice(
                0..0,
                *b"GET / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ",
            );
        }
        for port in &ports {
            let mut stream = TcpStream::connect(port).await.expect("still listening");
            // it may close before it has read all
            let _ = stream.write_all(&bytes).await;
            let _ = stream.write_all(b"\n").await;
            let _ = stream.shutdown().await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(
                !answer.contains("10.45") && !answer.contains("200 OK"),
                "{answer}"
            );
        }
        let mut socket = tokio::net::UnixStream::connect(world.path("radio.sock"))
            .await
            .expect("listening");
        let _ = socket.write_all(&bytes).await;
    }
    let refused = [("source", "bridge"), ("reason", "form")];
    until("refusals", || {
        world.counted("brimful_rnis_refused_total", &refused) >= 60.0
    })
    .await;
    world.cell.report(&usual(20)).await;
    world.accepted(1).await;
    let client = world.client("all").await;
    let answer = client.get("/rni/v2/queries/layer2_meas").await;
    assert_eq!(
        answer.json()["L2Meas"]["cellUEInfo"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_that_stop_repeat_jump_or_cannot_be_are_counted() {
    let mut world = world("max-age = \"60 s\"", &format!("{NETWORK}{}", rest())).await;
    let source = ("source", "cell");
    let refused = |world: &crate::common::World, reason: &str| {
        world.counted("brimful_rnis_refused_total", &[source, ("reason", reason)])
    };
    let hour = 7_200_000;
    world.cell.report(&usual(hour)).await;
    world.cell.report(&usual(hour)).await;
    world.cell.report(&usual(hour - 20)).await;
    world.cell.report(&usual(40)).await;
    world.cell.report(&report(1, 60, &[(5, None, 10)])).await;
    let absurd = String::from_utf8(rnis::codec::encode_json(&usual(80))).expect("text");
    for (from, to) in [
        ("\"n_prb\":106", "\"n_prb\":1000000000000000000"),
        ("\"downlink_share\":1.0", "\"downlink_share\":NaN"),
        ("\"downlink_share\":1.0", "\"downlink_share\":null"),
    ] {
        assert!(absurd.contains(from), "{absurd}");
        world.cell.send(absurd.replace(from, to).as_bytes()).await;
    }
    for (from, to) in [
        ("\"cqi\":11", "\"cqi\":99"),
        ("\"prb_dl\":40", "\"prb_dl\":107"),
    ] {
        world.cell.send(absurd.replace(from, to).as_bytes()).await;
    }
    world.cell.send(b"nonsense").await;
    world.cell.send(&vec![b'x'; 5 << 20]).await;
    world.cell.report(&usual(100)).await;
    world.accepted(4).await;
    assert_eq!(refused(&world, "repeated"), 1.0);
    assert_eq!(refused(&world, "late"), 1.0);
    assert_eq!(
        refused(&world, "absurd"),
        1.0,
        "the CQI; too many PRBs are no report at all"
    );
    assert_eq!(refused(&world, "form"), 6.0);
    assert_eq!(world.counted("brimful_rnis_restarts_total", &[source]), 1.0);
    assert_eq!(world.counted("brimful_rnis_unmapped_total", &[source]), 1.0);

    // the source goes, and is found again
    world.cell.hang_up();
    until("the end is detected", || {
        world.counted("brimful_rnis_source_up", &[source]) == 0.0
    })
    .await;
    world.cell.report(&usual(120)).await;
    world.accepted(5).await;
    assert_eq!(
        world.counted("brimful_rnis_source_connects_total", &[source]),
        2.0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_keep_others_out_and_are_closed() {
    let limited = rest().replace("[http]", "[http]\nmax-connections = 40");
    let world = world("", &limited).await;
    let address = world.service.http_address().expect("an interface");
    let mut idle = Vec::new();
    for _ in 0..30 {
        let mut stream = TcpStream::connect(address).await.expect("listening");
        stream.write_all(b"GET / HT").await.expect("written");
        idle.push(stream);
    }
    let client = world.client("all").await;
    assert_eq!(client.get("/rni/v2/subscriptions").await.status, 200);
    // one that sends nothing at all, and one that sends nothing more
    let mut silent = TcpStream::connect(address).await.expect("listening");
    let mut served = TcpStream::connect(address).await.expect("listening");
    let request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    served.write_all(request).await.expect("written");
    // a body that never comes, without any token
    let mut slow = TcpStream::connect(address).await.expect("listening");
    let head = "POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\
                content-type: application/x-www-form-urlencoded\r\n\r\ngrant";
    slow.write_all(head.as_bytes()).await.expect("written");
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 408");
    // and they are closed in the end, not by us
    for stream in [&mut idle[0], &mut silent, &mut served] {
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let ended = tokio::time::timeout(HANG_LIMIT, read).await;
        assert!(ended.is_ok(), "an idle connection is kept for ever");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_its_answers_is_dropped() {
    let limited = rest().replace("[http]", "[http]\nmax-connections = 1");
    let world = world("", &limited).await;
    let address = world.service.http_address().expect("an interface");
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small window");
    let mut stuck = socket.connect(address).await.expect("listening");
    let requests = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_000);
    // answers pile up until the service waits for them to be read, reads no more itself, and gives up
    let dropped = async { while stuck.write_all(&requests).await.is_ok() {} };
    let dropped = tokio::time::timeout(HANG_LIMIT, dropped).await;
    assert!(dropped.is_ok(), "it is kept for ever");
    // the next client gets its place
    let next = tokio::time::timeout(HANG_LIMIT, world.client("all")).await;
    assert!(next.is_ok(), "it keeps others out for ever");
}
