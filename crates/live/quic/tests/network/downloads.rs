//! Both protocols, what they reject, and what is recorded of a connection.

use super::{client, config, get, plain, start, until, url};
use quic::{
    Certificate, Client, ClientOptions, Config, QuicError, SeenBy, StatsTarget, Target, Trust,
    download_while,
};
use serde_json::Value;
use units::{BitRate, Bytes};

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_download_is_whole_and_carries_what_the_server_measured() {
    for cc in cc::names() {
        let config = Config {
            cc: (*cc).to_owned(),
            ..config()
        };
        let (server, address) = start(config).await;
        let (download, body) = get(&plain(address, 3_000_000)).await.expect(cc);
        assert_eq!(body.len(), 3_000_000, "{cc}");
        assert_eq!(download.bytes, Bytes::new(3_000_000));
        assert_eq!(download.seen_by, SeenBy::Server);
        let rtt = download.rtt.expect("samples");
        assert!(rtt.samples > 0 && rtt.min <= rtt.mean, "{rtt:?}");
        assert!(download.handshake <= download.first_byte);
        assert!(download.first_byte <= download.took);
        server.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_with_a_rate_is_whole() {
    let (server, address) = start(config()).await;
    let target = Target::Plain {
        server: address.to_string(),
        size: Bytes::new(500_000),
        rate: Some(BitRate::from_mbps(10)),
    };
    let (download, body) = get(&target).await.expect("a download");
    assert_eq!((download.bytes, body.len()), (Bytes::new(500_000), 500_000));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_the_server_gives_is_rejected_by_both_protocols() {
    let config = Config {
        largest: Bytes::new(1_000_000),
        ..config()
    };
    let (server, address) = start(config).await;
    let error = get(&plain(address, 1_000_001)).await.expect_err("refused");
    assert!(
        error.to_string().contains("more than the server gives"),
        "{error}"
    );
    let (download, _) = get(&url(address, "/bytes/1000001"))
        .await
        .expect("an answer");
    assert_eq!(download.status, Some(403));
    let (download, body) = get(&url(address, "/bytes/1000000"))
        .await
        .expect("an answer");
    assert_eq!((download.status, body.len()), (Some(200), 1_000_000));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http3_serves_files_below_its_folder_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = folder.path().join("secret");
    std::fs::write(&outside, "secret").expect("written");
    let root = folder.path().join("www");
    std::fs::create_dir_all(root.join("sub")).expect("made");
    let big: Vec<u8> = (0..300_000u32).map(|i| (i * 7 % 251) as u8).collect();
    std::fs::write(root.join("index.html"), "<p>hello").expect("written");
    std::fs::write(root.join("sub/big file"), &big).expect("written");
    std::os::unix::fs::symlink(&outside, root.join("link")).expect("linked");
    let config = Config {
        root: Some(root),
        ..config()
    };
    let (server, address) = start(config).await;
    let answer = async |path: &str| {
        let (download, body) = get(&url(address, path)).await.expect(path);
        (download.status.expect("a status"), body)
    };
    assert_eq!(answer("/").await, (200, b"<p>hello".to_vec()));
    assert_eq!(answer("/sub/big%20file").await, (200, big));
    for nothing in [
        "/none",
        "/../secret",
        "/%2e%2e/secret",
        "/link",
        "/sub",
        "/bytes/x",
    ] {
        assert_eq!(answer(nothing).await, (404, Vec::new()), "{nothing}");
    }
    let counted = server.status();
    assert_eq!(counted["connections_total"], 8, "{counted}");
    server.close().await;
}

/// At a port that was free a moment ago: the kernel's ICMP ends the attempt, by either kind of address.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_port_is_reported_as_such() {
    for any in ["127.0.0.1:0", "[::1]:0"] {
        let free = std::net::UdpSocket::bind(any).and_then(|socket| socket.local_addr());
        let target = plain(free.expect("an address"), 1_000);
        let error = get(&target).await.expect_err("nothing listens");
        assert!(error.to_string().contains("nothing listens"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_trusted_by_its_file_and_by_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("server.pem");
    let config = Config {
        certificate: Certificate::SelfSigned {
            names: vec!["127.0.0.1".to_owned()],
            write: Some(file.clone()),
        },
        ..config()
    };
    let (server, address) = start(config).await;
    let with = |trust| {
        Client::new(ClientOptions {
            trust,
            ..ClientOptions::default()
        })
    };
    let target = plain(address, 1_000);
    let good = with(Trust::File(file)).get(&target, &mut |_| Ok(())).await;
    assert_eq!(good.expect("trusted").bytes, Bytes::new(1_000));
    let error = with(Trust::System)
        .get(&target, &mut |_| Ok(()))
        .await
        .expect_err("not trusted");
    assert!(matches!(error, QuicError::Untrusted { .. }), "{error:?}");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_and_qlog_record_the_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let stats = folder.path().join("stats.jsonl");
    let config = Config {
        stats: Some(StatsTarget::File(stats.clone())),
        qlog: Some(folder.path().to_owned()),
        ..config()
    };
    let (server, address) = start(config).await;
    get(&plain(address, 2_000_000)).await.expect("a download");
    server.close().await;
    // the last line is written when the connection has ended
    let lines = || std::fs::read_to_string(&stats).expect("the samples");
    until("the last line", || lines().contains("\"closed\"")).await;
    let last: Value = lines()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .find(|line: &Value| line["event"] == "closed")
        .expect("the end");
    assert_eq!(last["ue"], "127.0.0.1");
    assert!(last["sent_bytes"].as_u64() > Some(2_000_000), "{last}");
    assert!(last["rtt_samples"].as_u64() > Some(0), "{last}");
    let qlog = std::fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|e| e == "sqlog"))
        .expect("a qlog");
    let text = std::fs::read_to_string(qlog).expect("the qlog");
    let mut names = std::collections::BTreeSet::new();
    for record in text.split('\u{1e}').filter(|record| !record.is_empty()) {
        let event: Value = serde_json::from_str(record).expect("JSON");
        names.extend(event["name"].as_str().map(str::to_owned));
    }
    assert!(
        names.iter().any(|name| name.contains("metrics_updated")),
        "{names:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_that_takes_no_more_ends_the_download() {
    let (server, address) = start(config()).await;
    let full = client()
        .get(&plain(address, 1_000_000), &mut |_| {
            Err(std::io::Error::other("full"))
        })
        .await;
    assert!(full.expect_err("full").to_string().contains("full"));
    server.close().await;
}

#[test]
fn a_download_that_is_not_to_go_on_ends_where_nothing_answers() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("its address");
    let looks = std::cell::Cell::new(0);
    let goes_on = || looks.replace(looks.get() + 1) < 2;
    let client = Client::new(ClientOptions {
        trust: Trust::Any,
        ..ClientOptions::default()
    });
    let target = plain(address, 1_000_000);
    let ended = download_while(&client, &target, &mut |_| Ok(()), goes_on);
    let error = ended.expect_err("nothing answers");
    assert!(matches!(error, QuicError::Sink(_)), "{error}");
    assert_eq!(looks.get(), 3);
}
