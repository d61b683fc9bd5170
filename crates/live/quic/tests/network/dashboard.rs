//! The dashboard at the port of the metrics.

use super::{config, get, plain, start};
use dash::{Client, Target, View};
use quic::Config;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use testing::HANG_LIMIT;

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_shown_with_melds_decisions_and_their_ue() {
    let (local, ue): (IpAddr, IpAddr) = ([127, 0, 0, 1].into(), [10, 45, 0, 2].into());
    let config = Config {
        meld: cc::meld::Variant::from_name("default"),
        addresses: [(local, ue)].into(),
        metrics: Some(SocketAddr::new(local, 0)),
        ..config()
    };
    let (server, address) = start(config).await;
    let mut inlet = server.reporter().inlet(false);
    let feeding = tokio::spawn(async move {
        for n in 1.. {
            inlet.report(super::radio::report(n, Some(ue), daemon::clock::now()));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let at = server.metrics_address().expect("it listens");
    let target = Target::parse(&at.to_string()).expect("an address");
    let watching = tokio::task::spawn_blocking(move || {
        let mut client = Client::connect(target, None).expect("a dashboard");
        let is_complete = |view: &View| {
            let flows = view.entities("flow");
            let is_there = |metric| {
                flows
                    .iter()
                    .all(|(flow, _)| view.value(flow, metric).is_some())
            };
            !flows.is_empty()
                && is_there("goodput_bps")
                && is_there("rtt_ms")
                && view.value("10.45.0.2", "prb").is_some()
                && view.value("cell 1", "capacity_bps").is_some()
        };
        let view = client.watch(HANG_LIMIT, is_complete).expect("it lives");
        assert!(is_complete(&view), "{view:#?}");
        view
    });
    // a rate, so that it lasts
    let quic::Target::Plain { server: name, .. } = plain(address, 0) else {
        panic!("plain");
    };
    let target = quic::Target::Plain {
        server: name,
        size: units::Bytes::new(1_000_000_000),
        rate: Some(units::BitRate::from_mbps(50)),
    };
    let mut downloading = tokio::spawn(async move { get(&target).await.map(drop) });
    let view = tokio::select! {
        view = watching => view.expect("a complete view"),
        ended = &mut downloading => panic!("the download has ended: {ended:?}"),
    };
    let flows = view.entities("flow");
    let (flow, parent) = flows.first().expect("one flow");
    assert!(
        flow.starts_with("127.0.0.1:") && flow.ends_with(" #0"),
        "{flow}"
    );
    assert_eq!((flows.len(), *parent), (1, Some("10.45.0.2")));
    for metric in [
        "cwnd_bytes",
        "bytes_in_flight",
        "loss_congestion",
        "loss_radio",
        "loss_unknown",
    ] {
        assert!(
            view.value(flow, metric).is_some_and(|value| value >= 0.0),
            "{metric}"
        );
    }
    assert_eq!(view.value("10.45.0.2", "prb"), Some(25.0));
    // 2292 bytes in a slot of 1 ms
    assert_eq!(view.value("cell 1", "capacity_bps"), Some(18.336e6));
    feeding.abort();
    server.close().await;
    downloading.abort();
}
