//! The dashboard at the port of the metrics.

use super::common::{NETWORK, world};
use super::recording::reports;
use dash::{Client, Target, View};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread")]
async fn cells_and_ues_are_shown_as_reports_tell_of_them() {
    let metrics = "[metrics]\nlisten = \"127.0.0.1:0\"\n";
    let mut world = world("", &format!("{NETWORK}{metrics}")).await;
    let address = world.service.metrics_address().expect("it listens");
    let target = Target::parse(&address.to_string()).expect("an address");
    let watching = tokio::task::spawn_blocking(move || {
        let mut client = Client::connect(target, None).expect("a dashboard");
        let is_told = |view: &View| {
            let is_there = |entity, metric| view.value(entity, metric).is_some();
            is_there("cell 1", "capacity_bps")
                && view
                    .value("10.45.0.2", "goodput_bps")
                    .is_some_and(|bps| bps > 0.0)
                && is_there("10.45.0.3", "mcs")
        };
        let view = client.watch(TIMEOUT, is_told).expect("it lives");
        assert!(is_told(&view), "{view:#?}");
        view
    });
    // as many as it takes until the viewer has everything
    for report in reports(30_000) {
        if watching.is_finished() {
            break;
        }
        world.cell.report(&report).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let view = watching.await.expect("it was told");
    let ues = [("10.45.0.2", Some("cell 1")), ("10.45.0.3", Some("cell 1"))];
    assert_eq!(view.entities("ue"), ues.into());
    let used = view.value("cell 1", "utilisation").expect("a share");
    assert!((0.0..=1.0).contains(&used), "{used}");
    // an NR carrier of 51 PRBs, 30 kHz, one layer: at most 14 symbols of 12 subcarriers a PRB and slot, 8 bits
    // each at a code rate of 948/1024
    let most = 51.0 * 14.0 * 12.0 * 8.0 * 948.0 / 1024.0 * 2_000.0;
    let capacity = view.value("cell 1", "capacity_bps").expect("checked");
    assert!(capacity > 0.0 && capacity <= most, "{capacity} of {most}");
    for (metric, most) in [("prb", 51.0), ("cqi", 15.0), ("queue_bytes", 1e6)] {
        let value = view.value("10.45.0.2", metric).expect(metric);
        assert!((0.0..=most).contains(&value), "{metric} {value}");
    }
    world.service.stop().await;
}

#[tokio::test]
async fn a_dashboard_that_is_switched_off_is_not_there() {
    let tables = "[metrics]\nlisten = \"127.0.0.1:0\"\n[dashboard]\nenabled = false\n";
    let world = world("", tables).await;
    let address = world.service.metrics_address().expect("it listens");
    let target = Target::parse(&address.to_string()).expect("an address");
    let refused = tokio::task::spawn_blocking(|| Client::connect(target, None).map(drop)).await;
    let refused = refused.expect("no panic").expect_err("nobody there");
    assert!(refused.to_string().contains("404"), "{refused}");
    world.service.stop().await;
}
