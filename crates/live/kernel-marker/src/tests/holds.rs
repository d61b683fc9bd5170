//! UEs whose packets are handed to a device.

use super::*;
use crate::{Hold, Holding};

const REDIRECT: u32 = 7;
const HELD: Holding = Holding {
    until: u64::MAX,
    cookie: 0,
    device: 1,
};

fn hold(marker: &Marker, ue: IpAddr, hold: Hold, now: u64) {
    marker.holds().set(ue, hold, now).expect("set");
}

fn announce(marker: &Marker, holding: Holding) {
    marker.holds().set_holding(holding).expect("set");
}

#[test]
fn packets_of_a_ue_that_is_held_are_handed_over_and_no_others() {
    let test = "packets_of_a_ue_that_is_held_are_handed_over_and_no_others";
    let Some(marker) = marker(test, ALL) else {
        return;
    };
    for (held, other) in [
        (Frame::udp(ECT_1, 100).v4(1), Frame::udp(ECT_1, 100).v4(2)),
        (Frame::udp(ECT_1, 100).v6(1), Frame::udp(ECT_1, 100).v6(2)),
    ] {
        let before = marker.counts().expect("counts");
        let ue = if held[14] >> 4 == 4 { v4(1) } else { v6(1) };
        assert_eq!(run(&marker, &held, 0, 0).1, NEXT, "nothing is held");
        hold(&marker, ue, Hold::Held, 0);
        assert_eq!(run(&marker, &held, 0, 0).1, NEXT, "nobody takes it");
        announce(&marker, HELD);
        assert_eq!(run(&marker, &held, 0, 0), (held.clone(), REDIRECT));
        assert_eq!(run(&marker, &other, 0, 0).1, NEXT, "of another UE");
        announce(&marker, Holding { until: 1, ..HELD });
        assert_eq!(
            run(&marker, &held, 0, 0).1,
            NEXT,
            "whoever took it has gone"
        );
        announce(&marker, HELD);
        let at = marker.holds().redirected_at(ue).expect("read");
        assert!(at > Some(0));
        marker.let_go(ue).expect("removed");
        marker.let_go(ue).expect("twice is no fault");
        assert_eq!(marker.holds().redirected_at(ue).expect("read"), None);
        assert_eq!(run(&marker, &held, 0, 0).1, NEXT);
        announce(&marker, Holding::default());
        let after = marker.counts().expect("counts");
        assert_eq!(after.redirected, before.redirected + 1);
        assert_eq!(
            after.judged.of(Verdict::NoReport),
            before.judged.of(Verdict::NoReport) + 5
        );
    }
}

#[test]
fn one_that_ends_passes_once_none_was_handed_over_for_a_while() {
    let test = "one_that_ends_passes_once_none_was_handed_over_for_a_while";
    let Some(marker) = marker(test, ALL) else {
        return;
    };
    announce(&marker, HELD);
    let frame = Frame::udp(ECT_1, 100).v4(1);
    // the last was handed over in the future: not long ago
    hold(&marker, v4(1), Hold::Ending, u64::MAX / 2);
    assert_eq!(run(&marker, &frame, 0, 0).1, REDIRECT);
    hold(&marker, v4(1), Hold::Ending, 0);
    let before = marker.holds().redirected_at(v4(1)).expect("read");
    for _ in 0..3 {
        assert_eq!(run(&marker, &frame, 0, 0).1, NEXT);
    }
    assert_eq!(marker.holds().redirected_at(v4(1)).expect("read"), before);
    hold(&marker, v4(1), Hold::Held, 0);
    assert_eq!(run(&marker, &frame, 0, 0).1, REDIRECT);
}
