//! Datagrams of tunnels in fragments: the first has the inner header, and is marked for all of them (RFC 3168 5.3).

use super::frames::{Frame, ecn_of, ecn_of_ip};
use super::live::{ANY, network};
use super::tunnel_live::attached;
use super::tunnels::{BOTH, inner_frames, judging};
use super::wrapped::{
    GTPU, OPTIONS, OUTER, Outer, VXLAN, assert_marked_inside, fragments, g_pdu, inner_at, packet,
    reassembled, vxlan,
};
use super::{CE, ECT_0, ECT_1, NEXT, passed, run, v4, v6};
use crate::Unjudged;
use edge::marker::Verdict;

#[test]
fn the_first_fragment_is_marked_and_with_it_the_whole_datagram() {
    let Some(marker) = judging("fragments of tunnels", BOTH) else {
        return;
    };
    let (mut marked, mut later) = (0, 0);
    for inner in inner_frames() {
        passed(&marker, &inner);
        marked += 1;
        let plain = packet(&inner);
        let messages = OPTIONS.map(|options| (GTPU, g_pdu(options, &plain)));
        for (port, message) in messages.into_iter().chain([(VXLAN, vxlan(&inner))]) {
            for choice in 0..12 {
                let outer = Outer {
                    is_v6: choice % 2 == 1,
                    has_checksum: choice / 2 % 2 == 1,
                    ecn: [ECT_1, ECT_0, 0][choice / 4],
                };
                let before = outer.around(port, &message);
                let mut parts = fragments(&before, 200);
                assert_eq!(parts.len(), 2);
                for (number, part) in parts.iter_mut().enumerate() {
                    let (after, returned) = run(&marker, part, 0, 0);
                    assert_eq!(returned, NEXT);
                    if number > 0 {
                        assert_eq!(after, *part, "nothing is written into the second");
                    }
                    *part = after;
                }
                marked += 1;
                later += 1;
                let outside = if outer.ecn == 0 { 0 } else { CE };
                assert_eq!(ecn_of(&parts[0]), outside);
                let after = reassembled(&before, &parts);
                let at = inner_at(&before, plain.len());
                assert_marked_inside(&before, &after, at, outside);
            }
        }
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::MarkL4s), marked);
    assert_eq!(counts.judged.of(Verdict::NoReport), later);
    assert_eq!((counts.fragments, counts.unwritten), (later, 0));
    assert_eq!(counts.unjudged, Unjudged::default());
    // what the user is sent: whole packets, each once
    let total = marker.state(v4(1))[4];
    assert_eq!(total, (10 + marked / 2) * (20 + 8 + 600));
}

#[test]
fn a_datagram_whose_first_fragment_has_no_inner_header_passes() {
    let Some(marker) = judging("short fragments of tunnels", BOTH) else {
        return;
    };
    let [inner, _] = inner_frames();
    let before = OUTER.around(GTPU, &g_pdu(OPTIONS[0], &packet(&inner)));
    // UDP's header alone; GTP-U's; a part of the inner header, and all of it with the ports alone
    let firsts = [8, 16, 24, 32, 40];
    for first in firsts {
        for part in fragments(&before, first) {
            assert_eq!(run(&marker, &part, 0, 0), (part, NEXT));
        }
    }
    // with all of UDP's header
    let [part, _] = &fragments(&before, 48)[..] else {
        panic!("two");
    };
    passed(&marker, &inner);
    assert_eq!(ecn_of(&run(&marker, part, 0, 0).0), CE);
    // one that says that more comes, and is whole
    let mut whole = fragments(&before, 200).remove(0);
    whole[18 + 20 + 4..18 + 20 + 6].copy_from_slice(&200_u16.to_be_bytes());
    assert_eq!(run(&marker, &whole, 0, 0).0, whole);
    let counts = marker.counts().expect("counts");
    assert_eq!((counts.unjudged.malformed, counts.unjudged.not_ip), (5, 1));
    assert_eq!(counts.judged.of(Verdict::NoReport), firsts.len() as u64);
}

#[test]
fn the_kernel_puts_a_marked_datagram_together_with_the_mark() {
    let Some(network) = network("fragments between namespaces", ANY) else {
        return;
    };
    network.edge.sh("ip link set ran0 mtu 600");
    let marker = attached(&network, &BOTH, &[v4(7), v6(7)]);
    let frame = Frame::udp(ECT_1, 1_200);
    for inner in [frame.v4(7), frame.v6(7)] {
        let inner = packet(&inner);
        let message = g_pdu(OPTIONS[2], &inner);
        for number in 0..12 {
            // as the receiver has reassembled it
            let arrived = network.sent(GTPU, &message);
            let (outside, after) = arrived.split_at(arrived.len() - inner.len());
            let expected = if number < 10 { ECT_1 } else { CE };
            assert_eq!(ecn_of_ip(after), expected, "inside");
            assert_eq!(outside[1] & 3, expected, "outside");
        }
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::MarkL4s), 4);
    // 1,252 and 1,272 octets in pieces of 576: two more each
    assert_eq!(counts.fragments, 48);
    assert_eq!((counts.unjudged.malformed, counts.unwritten), (0, 0));
}
