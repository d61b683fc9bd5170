//! Clients that report their bandwidth to a server that paces by it.

use super::stranger::stranger;
use crate::*;
use cc::cdbe::{Mode, estimator};

/// Some ten milliseconds of loopback.
const SIZE: u64 = 5_000_000;
/// What a hostile client fetches, in 0.4 s: the server answers to reports while it sends.
const LITTLE: u64 = 1_000_000;

fn reporting(mode: Mode) -> Client {
    Client::new(ClientOptions {
        trust: Trust::Any,
        report: Some(estimator::Config::new(mode)),
        ..ClientOptions::default()
    })
}

fn cdbe() -> Config {
    Config {
        cc: "cdbe".to_owned(),
        ..config()
    }
}

/// What the server counts once the connections have ended.
async fn counted(server: &Server) -> serde_json::Value {
    until("the end of all connections", || {
        server.status()["connections"] == 0
    })
    .await;
    server.status()["client_reports"].clone()
}

async fn fetch(client: &Client, target: &Target) -> Download {
    client.get(target, &mut |_| Ok(())).await.expect("it comes")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_reach_the_controller_by_either_protocol() {
    for mode in [Mode::Paper, Mode::Default] {
        let mut config = cdbe();
        config.cdbe = mode;
        let (server, address) = start(config).await;
        let client = reporting(mode);
        let mut count = 0;
        let path = format!("/bytes/{SIZE}");
        for target in [plain(address, SIZE), url(address, &path)] {
            // a download may be over before a report is due
            until_some("a report", async || {
                let download = fetch(&client, &target).await;
                assert_eq!(download.bytes, units::Bytes::new(SIZE));
                let reported = download.reported.expect("it was to report");
                count += reported.count;
                (reported.count > 0).then_some(())
            })
            .await;
        }
        let counted = counted(&server).await;
        let taken = counted["taken"].as_u64().expect("a number");
        assert!(taken > 0 && taken <= count, "{counted}, {count} were sent");
        assert_eq!(counted["unreadable"], 0);
        server.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_reports_are_sent_to_a_server_that_takes_none() {
    let (server, address) = start(config()).await;
    let client = reporting(Mode::Default);
    for target in [plain(address, 1_000_000), url(address, "/bytes/1000000")] {
        let download = fetch(&client, &target).await;
        assert_eq!(download.reported, Some(quic::Reported::default()));
    }
    assert_eq!(counted(&server).await["taken"], 0);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_reports_is_served_by_the_fallback() {
    let (server, address) = start(cdbe()).await;
    for target in [plain(address, SIZE), url(address, "/bytes/5000000")] {
        let (download, body) = get(&target).await.expect("it comes");
        assert_eq!((download.reported, body.len() as u64), (None, SIZE));
    }
    let counted = counted(&server).await;
    assert_eq!(
        (&counted["taken"], &counted["bounded"]),
        (&0.into(), &0.into())
    );
    server.close().await;
}

/// A client that answers with any datagrams, while it downloads.
async fn hostile(address: SocketAddr, datagram: impl Fn(u32) -> Vec<u8>) {
    let endpoint = stranger(quic::ALPN, quinn::TransportConfig::default());
    let connecting = endpoint.connect(address, "localhost");
    let connection = connecting.expect("fit").await.expect("a connection");
    let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
    send.write_all(format!("get {LITTLE} at 20000000\n").as_bytes())
        .await
        .expect("requested");
    send.finish().expect("not finished yet");
    let (mut received, mut turn) = (0, 0);
    while let Some(chunk) = receive.read_chunk(usize::MAX, true).await.expect("data") {
        received += chunk.bytes.len() as u64;
        let payload = datagram(turn);
        turn += 1;
        connection
            .send_datagram(payload.into())
            .expect("it is taken");
    }
    assert!(received > LITTLE);
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_datagrams_are_bounded_and_counted() {
    let report = |rate: u32, clock: u32| {
        quinn_cc::Report {
            rate: cc::RateReport::new(rate),
            clock,
        }
        .encode()
        .to_vec()
    };
    let (server, address) = start(cdbe()).await;
    // each as often as it takes: the server reads a datagram while it sends, or not at all
    let until_counted = async |key: &str, datagram: &dyn Fn(u32) -> Vec<u8>| {
        until_some(key, async || {
            hostile(address, datagram).await;
            (counted(&server).await[key].as_u64() > Some(0)).then_some(())
        })
        .await;
    };
    until_counted("bounded", &|turn| report(u32::MAX, turn)).await;
    // nothing at all, jumps by 10^6, clocks that run backwards, and what is no report
    hostile(address, |turn| report(0, turn)).await;
    hostile(address, |turn| {
        report([1, 1_000_001][turn as usize % 2], turn)
    })
    .await;
    until_counted("stale", &|turn| report(5_000_000, u32::MAX - turn)).await;
    until_counted("unreadable", &|turn| vec![turn as u8; turn as usize % 40]).await;
    server.close().await;
}
