//! The dashboard at the port of the metrics.

use super::common::{NETWORK, world};
use super::recording::reports;
use dash::{Client, Target, View};
use std::time::Duration;
use testing::HANG_LIMIT;

/// Between reports on their way; faster than they were made, so that the view is soon complete.
const PERIOD: Duration = Duration::from_millis(2);

#[tokio::test(flavor = "multi_thread")]
async fn cells_and_ues_are_shown_as_reported() {
    let metrics = "[metrics]\nlisten = \"127.0.0.1:0\"\n";
    let mut world = world("", &format!("{NETWORK}{metrics}")).await;
    let address = world.service.metrics_address().expect("it listens");
    let target = Target::parse(&address.to_string()).expect("an address");
    let watching = tokio::task::spawn_blocking(move || {
        let mut client = Client::connect(target, None).expect("a dashboard");
        let is_complete = |view: &View| {
            let is_there = |entity, metric| view.value(entity, metric).is_some();
            is_there("cell 1", "capacity_bps")
                && view
                    .value("10.45.0.2", "goodput_bps")
                    .is_some_and(|bps| bps > 0.0)
                && is_there("10.45.0.3", "mcs")
        };
        let view = client.watch(HANG_LIMIT, is_complete).expect("it lives");
        assert!(is_complete(&view), "{view:#?}");
        view
    });
    // lap after lap of the same traffic, until the view is complete
    let lap = reports(1_000);
    let slots = lap.last().expect("reports").cell.slot.get();
    let all = (0..).flat_map(|n| lap.iter().map(move |report| (n, report)));
    for (n, report) in all {
        if watching.is_finished() {
            break;
        }
        let mut report = report.clone();
        report.cell.slot = units::Slot::new(report.cell.slot.get() + n * slots);
        report.ues.iter_mut().for_each(|ue| ue.seq += n * slots);
        world.cell.report(&report).await;
        tokio::time::sleep(PERIOD).await;
    }
    let view = watching.await.expect("a complete view");
    let ues = [("10.45.0.2", Some("cell 1")), ("10.45.0.3", Some("cell 1"))];
    assert_eq!(view.entities("ue"), ues.into());
    let used = view.value("cell 1", "utilisation").expect("a share");
    assert!((0.0..=1.0).contains(&used), "a share: {used}");
    // an NR carrier of 51 PRBs of 12 subcarriers and 14 symbols, 2000 slots a second, one layer of at
    // most 8 bits a symbol
    let limit = 51.0 * 12.0 * 14.0 * 2_000.0 * 8.0;
    let capacity = view.value("cell 1", "capacity_bps").expect("checked");
    assert!(capacity > 0.0 && capacity <= limit, "{capacity}");
    for (metric, max) in [("prb", 51.0), ("cqi", 15.0), ("queue_bytes", 1e6)] {
        let value = view.value("10.45.0.2", metric).expect(metric);
        assert!((0.0..=max).contains(&value), "{metric} {value}");
    }
    world.service.stop().await;
}

#[tokio::test]
async fn a_disabled_dashboard_answers_404() {
    let tables = "[metrics]\nlisten = \"127.0.0.1:0\"\n[dashboard]\nenabled = false\n";
    let world = world("", tables).await;
    let address = world.service.metrics_address().expect("it listens");
    let target = Target::parse(&address.to_string()).expect("an address");
    let rejected = tokio::task::spawn_blocking(|| Client::connect(target, None).map(drop)).await;
    let rejected = rejected.expect("no panic").expect_err("no dashboard");
    assert!(rejected.to_string().contains("404"), "{rejected}");
    world.service.stop().await;
}
