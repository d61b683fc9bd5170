//! Whose a bearer is, by what passes in its tunnels.

use crate::common::{CENTRAL, UNIT, at_ms, ip_packet, ue_address};
use crate::hand::{Hand, waiting};
use f1u::{SnLength, TunnelCounts};
use gtpu::nru::{DeliveryStatus, Frame, UserData};
use gtpu::outer::packet;
use gtpu::session::{Container, Downlink, Uplink};
use gtpu::{Extension, Header, MessageKind, PDU_SESSION_CONTAINER, write};
use std::net::IpAddr;
use units::Instant;

const CORE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 2, 0, 9));

/// The address of the only bearer.
fn address(hand: &Hand, now: Instant) -> Option<IpAddr> {
    hand.monitor.estimates(now).next().and_then(|of| of.1)
}

/// A PDU with this number that holds a packet.
fn pdu(number: u32, inside: &[u8]) -> Vec<u8> {
    let mut pdu = Vec::new();
    gtpu::pdcp::write_header(number, SnLength::Bits18, &mut pdu);
    pdu.push(1);
    pdu.extend(inside);
    pdu
}

fn user_data(number: u32) -> Frame {
    Frame::UserData(UserData {
        sequence: number,
        ..UserData::default()
    })
}

/// An address of IPv6 within the /64 of this number.
fn v6(prefix: u16, last: u16) -> IpAddr {
    IpAddr::from([0x2001, 0xdb8, 0x46, prefix, 0, 0, 0, last])
}

#[test]
fn a_tunnel_that_is_used_again_is_another_ues() {
    // by its packets, whatever their numbers; by its numbers, whatever is in the packets
    for (ue, from) in [(1, 20), (0, 0)] {
        let mut hand = Hand::new(SnLength::Bits18);
        hand.begin(0);
        for number in from..from + 10 {
            hand.data(at_ms(25), number, ue);
        }
        let counts = hand.monitor.counts();
        assert_eq!(counts.reused, 1, "{ue} {from}");
        assert_eq!(
            hand.monitor.followed(),
            (1, 0),
            "its statuses have to fit anew"
        );
        hand.status(at_ms(30), from + 4);
        hand.status(at_ms(40), from + 6);
        assert_eq!(
            hand.queue(at_ms(40)),
            waiting(3),
            "what the other left is not in it"
        );
        let (_, ip, _) = hand
            .monitor
            .estimates(at_ms(40))
            .next()
            .expect("the bearer");
        assert_eq!(ip, Some(ue_address(ue)));
    }
}

#[test]
fn a_session_of_both_families_is_one_ues() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    for number in 20..60 {
        // two of each family in turns, as two downloads have it
        let inside = match number / 2 % 2 {
            0 => packet(v6(9, 1), v6(7, number as u16), &[0; 952]).expect("a packet"),
            _ => ip_packet(0, 1_000),
        };
        hand.frame(at_ms(20), &user_data(number), &pdu(number, &inside));
    }
    hand.status(at_ms(20), 49);
    assert_eq!(hand.monitor.counts().reused, 0);
    assert_eq!(hand.queue(at_ms(20)), waiting(10), "nothing began anew");
    assert_eq!(address(&hand, at_ms(20)), Some(ue_address(0)));
}

#[test]
fn what_goes_up_names_a_bearer_that_nothing_downwards_does() {
    for is_known in [false, true] {
        let mut hand = Hand::new(SnLength::Bits18);
        for number in 0..20 {
            let inside = match is_known {
                true => ip_packet(1, 1_000),
                false => vec![0x5a; 1_000],
            };
            hand.frame(at_ms(0), &user_data(number), &pdu(number, &inside));
        }
        hand.status(at_ms(10), 4);
        hand.status(at_ms(20), 9);
        assert_eq!(hand.monitor.followed(), (1, 1));
        let claimed = packet(ue_address(0), CORE, &[0; 100]).expect("a packet");
        // with a status, and without
        let status = Frame::DeliveryStatus(DeliveryStatus {
            transmitted: Some(9),
            ..DeliveryStatus::default()
        });
        hand.frame(at_ms(20), &status, &pdu(0, &claimed));
        assert_eq!(address(&hand, at_ms(20)), is_known.then(|| ue_address(1)));
        let mut message = Vec::new();
        let header = Header::g_pdu(hand.uplink, &[]);
        write(&header, &pdu(1, &claimed), &mut message).expect("a message");
        let outside = packet(UNIT, CENTRAL, &message).expect("a packet");
        hand.monitor.on_packet(at_ms(20), &outside);
        // a UE can send any source: what comes from the core for it counts first
        let expected = ue_address(usize::from(is_known));
        assert_eq!(address(&hand, at_ms(20)), Some(expected));
    }
}

#[test]
fn a_bearer_keeps_its_ue_while_anything_passes() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    for second in 1..100 {
        let now = at_ms(second * 1_000);
        let number = 20 + second as u32 / 2;
        match second % 2 {
            0 => hand.status(now, 9),
            _ => hand.frame(now, &user_data(number), &pdu(number, &[0x5a; 90])),
        }
        hand.monitor.report(now);
        assert_eq!(address(&hand, now), Some(ue_address(0)), "{second}");
    }
    hand.monitor.report(at_ms(140_000));
    assert_eq!(hand.monitor.tunnels().0, 0);
    assert_eq!(hand.monitor.tunnels().1.aged, 1);
}

#[test]
fn tunnels_of_n3_are_of_the_ue_at_their_containers_end() {
    let mut hand = Hand::new(SnLength::Bits18);
    let down = Container::Downlink(Downlink::default()).write();
    let up = Container::Uplink(Uplink::default()).write();
    let ways = [(&down, CORE, CENTRAL, 5), (&up, CENTRAL, CORE, 6)];
    for (content, from, to, teid) in ways.into_iter().cycle().take(6) {
        let container = Extension {
            kind: PDU_SESSION_CONTAINER,
            content,
        };
        let (source, destination) = match from == CORE {
            true => (CORE, ue_address(3)),
            false => (ue_address(3), CORE),
        };
        let inside = packet(source, destination, &[0; 50]).expect("a packet");
        let mut message = Vec::new();
        write(&Header::g_pdu(teid, &[container]), &inside, &mut message).expect("a message");
        let outside = packet(from, to, &message).expect("a packet");
        hand.monitor.on_packet(at_ms(1), &outside);
    }
    let learnt = TunnelCounts {
        learnt: 2,
        ..TunnelCounts::default()
    };
    assert_eq!(hand.monitor.tunnels(), (2, learnt));
    for (teid, to) in [(5, CENTRAL), (6, CENTRAL), (6, CORE)] {
        let header = Header {
            kind: MessageKind::EndMarker,
            ..Header::g_pdu(teid, &[])
        };
        let mut message = Vec::new();
        write(&header, &[], &mut message).expect("a message");
        let outside = packet(CORE, to, &message).expect("a packet");
        hand.monitor.on_packet(at_ms(2), &outside);
    }
    let ended = TunnelCounts { ended: 2, ..learnt };
    assert_eq!(hand.monitor.tunnels(), (0, ended));
}

#[test]
fn a_ciphered_bearer_is_of_the_ue_whose_packets_came_from_the_core() {
    let mut hand = Hand::new(SnLength::Bits18);
    let qfi = Container::Downlink(Downlink {
        qfi: 1,
        ..Downlink::default()
    });
    let content = qfi.write();
    let container = Extension {
        kind: PDU_SESSION_CONTAINER,
        content: &content,
    };
    for number in 0..40_u64 {
        let now = at_ms(number);
        // both UEs get full packets; other lengths are of one alone
        for (ue, bytes) in [(0, 1_400), (1, 1_400), (0, 100 + number as usize)] {
            let mut message = Vec::new();
            let inside = ip_packet(ue, bytes);
            write(&Header::g_pdu(5, &[container]), &inside, &mut message).expect("a message");
            let packet = packet(CORE, CENTRAL, &message).expect("a packet");
            hand.monitor.on_packet(now, &packet);
        }
        for (step, bytes) in [1_400, 100 + number as usize].into_iter().enumerate() {
            let sn = 2 * number + step as u64;
            let mut pdu = Vec::new();
            gtpu::pdcp::write_header(sn as u32, SnLength::Bits18, &mut pdu);
            pdu.push(1);
            // ciphered, and with an integrity code
            pdu.extend(ip_packet(0, bytes).iter().map(|octet| octet ^ 0x5a));
            pdu.extend([0x77; 4]);
            let frame = Frame::UserData(UserData {
                sequence: sn as u32,
                ..UserData::default()
            });
            hand.frame(now, &frame, &pdu);
        }
        let is_known = number >= 7;
        assert_eq!(
            address(&hand, now),
            is_known.then(|| ue_address(0)),
            "{number}"
        );
    }
    assert_eq!(hand.monitor.counts().reused, 0);
}
