//! UEs whose packets are handed to a device.

use super::live::{CLSACT, TCX, network};
use super::*;
use crate::{Hold, Holding};
use tun::{Device, FrameSocket, Kind};

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

/// Or the UE would be taken for gone while its packets wait.
#[test]
fn neighbour_discovery_passes_and_other_icmp_does_not() {
    let Some(marker) = marker("neighbour discovery of a UE that is held", ALL) else {
        return;
    };
    let icmp = Frame {
        protocol: 58,
        ..Frame::udp(0, 24)
    };
    hold(&marker, v6(1), Hold::Held, 0);
    announce(&marker, HELD);
    let mut frame = icmp.v6(1);
    assert_eq!(run(&marker, &frame, 0, 0).1, REDIRECT);
    // its hop limit: from this link
    frame[14 + 7] = 255;
    assert_eq!(run(&marker, &frame, 0, 0).1, NEXT);
    let mut udp = Frame::udp(0, 24).v6(1);
    udp[14 + 7] = 255;
    assert_eq!(run(&marker, &udp, 0, 0).1, REDIRECT);
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

/// A frame of a device that has this at its end.
pub(super) fn handed_over(device: &Device, end: &[u8]) -> Vec<u8> {
    let mut found = None;
    let mut buffer = vec![0; Device::MAX_READ_BYTES];
    testing::wait_until("a frame is handed over", || {
        // the kernel itself sends by the device too
        if let Ok(length) = device.read(&mut buffer) {
            found = Some(buffer[..length].to_vec());
        }
        found.as_ref().is_some_and(|frame| frame.ends_with(end))
    });
    found.unwrap_or_default()
}

fn is_handed_over_and_comes_back(way: &'static [Way]) {
    let Some(network) = network("packets that are handed over", way) else {
        return;
    };
    // the next hop's address is known
    network.sent(4_433, &[1; 50]);
    let marker = network.attach(&ALL, way).expect("attached");
    network.edge.enter(|| {
        let device = Device::of("brimfulq%d", Kind::Ethernet, true).expect("a device");
        assert!(device.name().starts_with("brimfulq"), "{}", device.name());
        let socket = FrameSocket::new().expect("a socket");
        let index = socket.set_up(&device).expect("up");
        let (interface, is_ethernet) = marker.link().expect("it is there");
        assert!(is_ethernet);
        let holding = Holding {
            until: u64::MAX,
            cookie: socket.cookie(),
            device: index,
        };
        marker.set_holding(holding).expect("set");
        marker.hold(v4(2), Hold::Held, 0).expect("held");
        let payload = [9; 300];
        network.send(&payload);
        let frame = handed_over(&device, &payload);
        let sent = socket.send(interface, 0x0800, &frame);
        sent.expect("sent");
        let packet = network.next(28 + payload.len());
        assert!(packet.ends_with(&payload));
        let counts = marker.counts().expect("counts");
        assert_eq!((counts.redirected, counts.returned), (1, 1));
        // nobody says any more that it takes them
        marker
            .set_holding(Holding {
                until: 1,
                ..holding
            })
            .expect("set");
        assert!(network.sent(4_433, &[7; 200]).ends_with(&[7; 200]));
    });
    network.edge.enter(|| drop(marker));
}

#[test]
fn a_packet_that_is_held_is_handed_over_and_comes_back() {
    is_handed_over_and_comes_back(TCX);
}

#[test]
fn a_packet_that_is_held_is_handed_over_by_a_filter_too() {
    is_handed_over_and_comes_back(CLSACT);
}
