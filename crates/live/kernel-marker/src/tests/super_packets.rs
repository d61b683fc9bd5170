//! Super-packets of tunnels.

use super::frames::Frame;
use super::tunnels::BOTH;
use super::wrapped::{GTPU, OPTIONS, OUTER, VXLAN, g_pdu, inner_at, packet, udp_at, vxlan};
use super::{CE, ECT_1, NEXT, full, ip_at, marker, run, v4, v6};
use crate::Unjudged;
use edge::marker::Verdict;

#[test]
fn a_super_packet_of_a_tunnel_counts_by_its_segments_and_is_marked() {
    let Some(marker) = marker("super-packets of tunnels", BOTH) else {
        return;
    };
    let orders = [(v4(1), full()), (v6(1), full())];
    marker.give_all(&orders).expect("orders");
    // 2,900 bytes in three segments of TCP
    let frame = Frame::tcp(ECT_1, 2_900);
    for (address, inner, headers) in [(v4(1), frame.v4(1), 40), (v6(1), frame.v6(1), 60)] {
        let size = packet(&inner).len();
        for (port, message) in [
            (VXLAN, vxlan(&inner)),
            (GTPU, g_pdu(OPTIONS[2], &packet(&inner))),
        ] {
            marker.remove(address).expect("removed");
            marker.give_all(&[(address, full())]).expect("orders");
            // the sum of the addresses, as far as this program is concerned
            let mut before = OUTER.around(port, &message);
            let udp = ip_at(&before) + udp_at(&before[ip_at(&before)..]);
            before[udp + 6..udp + 8].copy_from_slice(&[0x12, 0x34]);
            // the second time the number of segments is not stated
            assert_eq!(run(&marker, &before, 3, 1_000).0, before);
            assert_eq!(run(&marker, &before, 0, 1_000).0, before);
            assert_eq!(marker.state(address)[4], 2 * (2_900 + 3 * headers));
            for _ in 0..2 {
                run(&marker, &before, 3, 1_000);
            }
            let (after, _) = run(&marker, &before, 3, 1_000);
            assert_eq!(after[udp + 6..udp + 8], [0x12, 0x34]);
            let at = inner_at(&before, size);
            assert_eq!(super::frames::ecn_of_ip(&after[at..]), CE);
            assert_eq!(super::ecn_of(&after), CE);
        }
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::Young), 4 * 12);
    assert_eq!(counts.judged.of(Verdict::MarkL4s), 4 * 3);
    assert_eq!(counts.unjudged, Unjudged::default());
}

#[test]
fn a_super_packet_of_several_messages_is_not_judged() {
    let Some(marker) = marker("several messages at once", BOTH) else {
        return;
    };
    marker.give_all(&[(v4(1), full())]).expect("orders");
    let inner = Frame::udp(ECT_1, 600).v4(1);
    for (port, message) in [
        (VXLAN, vxlan(&inner)),
        (GTPU, g_pdu(OPTIONS[2], &packet(&inner))),
    ] {
        let several = OUTER.around(port, &message.repeat(3));
        let size = u32::try_from(message.len()).expect("fits");
        for _ in 0..12 {
            let (after, returned) = run(&marker, &several, 3, size);
            assert_eq!((after, returned), (several.clone(), NEXT));
        }
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.unjudged.bundled, 2 * 12 * 3);
    assert_eq!(counts.judged, edge::marker::Counts::default());
}
