//! UEs that come and go, their orders, and what is refused.

use super::frames::Frame;
use super::{ALL, ECT_1, assert_marked, full, marker, passed, run, v4};
use crate::{Counts, Marker, MarkerError, Settings};
use edge::marker::{Order, UeMarker, Verdict};
use std::net::IpAddr;

#[test]
fn a_ue_without_an_order_is_counted_and_one_is_forgotten_once_removed() {
    let Some(marker) = marker("UEs that come and go", ALL) else {
        return;
    };
    let frame = Frame::udp(ECT_1, 500).v4(1);
    assert_eq!(passed(&marker, &frame).0, frame);
    let no_report = |marker: &Marker| {
        let counts = marker.counts().expect("counts");
        counts.judged.of(Verdict::NoReport)
    };
    assert_eq!(no_report(&marker), 11);
    marker.give_all(&[(v4(1), full())]).expect("orders");
    assert_marked(&frame, &passed(&marker, &frame).0);
    marker.remove(v4(1)).expect("removed");
    marker.remove(v4(1)).expect("nothing is wrong with it");
    assert_eq!(run(&marker, &frame, 0, 0).0, frame);
    assert_eq!(no_report(&marker), 12);
    marker.give_all(&[(v4(1), full())]).expect("orders");
    assert_eq!(run(&marker, &frame, 0, 0).0, frame, "young");
    // an order that is too old
    let old = Order {
        number: 2,
        valid_until: 1,
        ..full()
    };
    marker.give_all(&[(v4(1), old)]).expect("orders");
    assert_eq!(passed(&marker, &frame).0, frame);
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::Stale), 11);
}

#[test]
fn an_order_changes_no_state_of_packets_and_ten_thousand_ues_have_room() {
    let settings = Settings {
        max_ues: 10_000,
        ..ALL
    };
    let Some(marker) = marker("ten thousand UEs", settings) else {
        return;
    };
    let address = |n: u32| IpAddr::from([10, 1, (n >> 8) as u8, n as u8]);
    let order = |number| Order { number, ..full() };
    let all = |number| -> Vec<_> { (0..10_000).map(|n| (address(n), order(number))).collect() };
    marker.give_all(&all(1)).expect("room");
    marker.give_all(&[(v4(1), full())]).expect_err("no room");
    let one_more: Vec<_> = all(2).into_iter().chain([(v4(1), full())]).collect();
    let error = marker.give_all(&one_more).expect_err("no room");
    assert!(
        matches!(error, MarkerError::Full { left_out: 1, .. }),
        "{error}"
    );
    assert_eq!(marker.order(address(9_999)), order(2).words());
    marker.remove(address(7)).expect("removed");
    marker.give_all(&[(v4(1), full())]).expect("room again");
    let frame = Frame::udp(ECT_1, 500).v4(1);
    for _ in 0..5 {
        run(&marker, &frame, 0, 0);
    }
    let before = marker.state(v4(1));
    assert_ne!(before, [0; UeMarker::WORDS]);
    marker.give_all(&[(v4(1), order(3))]).expect("room");
    assert_eq!(marker.state(v4(1)), before);
    assert_eq!(marker.order(v4(1)), order(3).words());
}

#[test]
fn what_a_packet_would_wait_for_is_the_cores_prediction() {
    let Some(marker) = marker("predictions", ALL) else {
        return;
    };
    const NOW: u64 = 5_000_000;
    let order = Order {
        number: 1,
        valid_until: 100 * NOW,
        drain: 16_777,
        slack: u64::MAX,
        ..Order::default()
    };
    assert_eq!(
        marker.prediction(v4(1), NOW).expect("read"),
        None,
        "no entry"
    );
    let mut state = UeMarker::default();
    let packet = edge::marker::Packet {
        flow: 7,
        bytes: 20_000,
        segments: 14,
        codepoint: edge::marker::Codepoint::NotEct,
    };
    state.decide(&order, NOW, packet);
    marker.put(v4(1), &order, &state.words());
    let predicted = marker.prediction(v4(1), NOW).expect("read");
    assert_eq!(predicted, state.predict(&order, NOW));
    assert!(
        predicted.is_some_and(|of| of.delay.as_millis() > 0),
        "{predicted:?}"
    );
    assert_eq!(
        marker.prediction(v4(1), 200 * NOW).expect("read"),
        None,
        "stale"
    );
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let none = Settings { max_ues: 0, ..ALL };
    let error = Marker::attach("lo", &none).expect_err("no UEs");
    assert!(error.to_string().contains("1 to 1,000,000"), "{error}");
    assert!(error.is_input());
    for name in ["brimful-gone0", "a-name-longer-than-any", ""] {
        let error = Marker::attach(name, &ALL).expect_err("no interface");
        assert!(
            matches!(error, MarkerError::NoInterface { .. }),
            "{name}: {error}"
        );
        assert!(error.is_input());
    }
}

/// Nothing was counted.
#[test]
fn counts_begin_at_zero() {
    let Some(marker) = marker("counts", ALL) else {
        return;
    };
    assert_eq!(marker.counts().expect("counts"), Counts::default());
}
