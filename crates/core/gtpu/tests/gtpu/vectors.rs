//! Vectors of other projects' tests.

use crate::frames::{ASSISTANCE, MESSAGES, octets};
use gtpu::element::Element;
use gtpu::nru::{
    Assistance, AssistanceItem, Cause, DeliveryStatus, DiscardBlock, Frame, ItemKind, Range,
    UserData,
};
use gtpu::session::{Container, Downlink, Times, Uplink};
use gtpu::{Extension, Header, Message, MessageKind, NR_RAN_CONTAINER, PDU_SESSION_CONTAINER};
use std::net::IpAddr;

fn message(name: &str) -> Vec<u8> {
    let all = MESSAGES.iter().chain(&ASSISTANCE);
    let mut found = all.filter(|(known, _)| *known == name);
    octets(found.next().expect("a vector of this name").1)
}

fn read(bytes: &[u8]) -> Message<'_> {
    let (message, rest) = Message::read(bytes).expect("a message");
    assert_eq!(rest, [], "all of it");
    message
}

fn session(name: &str) -> Container {
    let bytes = message(name);
    let content = read(&bytes).extension(PDU_SESSION_CONTAINER);
    Container::read(content.expect("a container")).expect("readable")
}

fn nru(name: &str) -> Frame {
    let bytes = message(name);
    let content = read(&bytes).extension(NR_RAN_CONTAINER);
    Frame::read(content.expect("a container")).expect("readable")
}

#[test]
fn headers_and_payloads() {
    let bytes = message("GG: no options");
    let plain = read(&bytes);
    assert_eq!(
        (plain.kind, plain.teid, plain.sequence, plain.payload),
        (
            MessageKind::GPdu,
            0xdead_beef,
            None,
            &octets("deadbeef")[..]
        )
    );
    let bytes = message("GG: S");
    let numbered = read(&bytes);
    assert_eq!((numbered.sequence, numbered.n_pdu), (Some(1), None));
    assert_eq!(numbered.payload, octets("deadbeef"));
    for name in ["SRS: downlink, QFI 1", "SRS: two extension headers"] {
        let bytes = message(name);
        let read = read(&bytes);
        let (_, destination) =
            gtpu::inner::ends(read.payload, read.payload_length).expect("a ping");
        let expected: IpAddr = match name {
            "SRS: downlink, QFI 1" => [192, 168, 3, 2].into(),
            _ => [10, 45, 0, 71].into(),
        };
        assert_eq!(destination, expected);
    }
    let bytes = message("SRS: two extension headers");
    let kinds: Vec<u8> = read(&bytes).extensions.map(|of| of.kind).collect();
    assert_eq!(kinds, [0xc0, 0x85]);
}

#[test]
fn containers_of_pdu_sessions() {
    let downlink = |qfi| Downlink {
        qfi,
        ..Downlink::default()
    };
    let uplink = |qfi| Uplink {
        qfi,
        ..Uplink::default()
    };
    assert_eq!(session("GU: uplink, QFI 9"), Container::Uplink(uplink(9)));
    assert_eq!(session("SRS: uplink, QFI 1"), Container::Uplink(uplink(1)));
    assert_eq!(
        session("SC: downlink, QFI 63, paging policy 4"),
        Container::Downlink(Downlink {
            is_reflective: true,
            paging_policy: Some(4),
            ..downlink(63)
        })
    );
    assert_eq!(
        session("SRS: downlink with a time and a number, QFI 24"),
        Container::Downlink(Downlink {
            paging_policy: Some(1),
            sent_at: Some(0xffee_ddcc_bbaa_9988),
            sequence: Some(0x99_6601),
            ..downlink(24)
        })
    );
    let all = Uplink {
        times: Some(Times {
            downlink_sent: 0xe9a1_b2c3_0000_0000,
            downlink_received: 0xe9a1_b2c3_0040_0000,
            uplink_sent: 0xe9a1_b2c3_0080_0000,
        }),
        downlink_delay_ms: Some(5),
        uplink_delay_ms: Some(7),
        sequence: Some(258),
        n3_n9_delay_ms: Some(2),
        d1: Some(1),
        uplink_congestion: Some(3_000),
        downlink_congestion: Some(5_000),
        ..uplink(9)
    };
    assert_eq!(
        session("uplink with everything, QFI 9"),
        Container::Uplink(all)
    );
    // psup_packing_test.cpp of srsRAN
    for (digits, qfi) in [
        ("0017", 23),
        ("0013", 19),
        ("0c94a099eeddccbbaa5588cc6601", 20),
    ] {
        let container = Container::read(&octets(digits)).expect("readable");
        assert_eq!(container.qfi(), qfi);
        assert_eq!(container.write(), octets(digits), "{digits}");
    }
}

#[test]
fn messages_of_paths_and_tunnels() {
    let bytes = message("SRS: echo response");
    let echo = read(&bytes);
    assert_eq!(
        (echo.kind, echo.sequence),
        (MessageKind::EchoResponse, Some(0))
    );
    assert!(matches!(
        echo.elements().next(),
        Some(Ok(Element::Recovery(0)))
    ));
    let bytes = message("end marker with a flow");
    let end = read(&bytes);
    assert_eq!((end.kind, end.teid), (MessageKind::EndMarker, 1));
    let bytes = message("SRS: error indication of Open5GS");
    let error = read(&bytes);
    assert_eq!((error.kind, error.teid), (MessageKind::ErrorIndication, 0));
    let elements: Result<Vec<Element<'_>>, _> = error.elements().collect();
    assert_eq!(
        elements.expect("readable"),
        [
            Element::TeidDataI(0x1267),
            Element::PeerAddress([10, 53, 1, 2].into())
        ]
    );
    assert_eq!(error.extension(gtpu::UDP_PORT_HEADER), Some(&[0, 0][..]));
    let bytes = message("GG: error indication");
    let error = read(&bytes);
    assert_eq!(error.teid, 0x1122_3344);
    assert_eq!(error.elements().filter(Result::is_ok).count(), 2);
    let bytes = message("supported extension headers");
    let supported = read(&bytes);
    assert!(matches!(
        supported.elements().next(),
        Some(Ok(Element::ExtensionTypes([0x85, 0x84])))
    ));
}

#[test]
fn frames_of_the_nr_user_plane() {
    let data = |sequence| UserData {
        sequence,
        ..UserData::default()
    };
    assert_eq!(nru("SRS: user data"), Frame::UserData(data(0x11_2233)));
    let block = |start, size| DiscardBlock { start, size };
    assert_eq!(
        nru("SRS: user data with two blocks to discard"),
        Frame::UserData(UserData {
            discard: vec![block(0x44_5566, 0x77), block(0xaa_bbcc, 0xdd)],
            ..data(0x11_2233)
        })
    );
    assert_eq!(
        nru("delivery status as srsRAN sends it"),
        Frame::DeliveryStatus(DeliveryStatus {
            desired_buffer: 100_000,
            delivered: Some(291),
            transmitted: Some(293),
            ..DeliveryStatus::default()
        })
    );
    let range = |start, end| Range { start, end };
    assert_eq!(
        nru("delivery status with everything"),
        Frame::DeliveryStatus(DeliveryStatus {
            desired_buffer: 65_536,
            desired_rate: Some(10_000_000),
            lost: vec![range(10, 12)],
            delivered: Some(291),
            transmitted: Some(304),
            cause: Some(Cause::LinkOutage),
            delivered_again: Some(64),
            transmitted_again: Some(65),
            out_of_sequence: vec![range(294, 296)],
            is_final: true,
        })
    );
    let item = |kind, value: u8| AssistanceItem {
        kind,
        value: vec![value],
    };
    let everything = Assistance {
        duplication: Some(true),
        items: vec![
            item(ItemKind::Cqi, 12),
            item(ItemKind::HarqFailures, 5),
            item(ItemKind::PowerHeadroom, 38),
        ],
        uplink_delay_ms: Some(7),
        downlink_delay_ms: Some(12),
    };
    assert_eq!(everything.cqi(), Some(12));
    assert_eq!(
        nru("assistance with everything"),
        Frame::Assistance(everything)
    );
    let few = nru("assistance: two items");
    let Frame::Assistance(few) = few else {
        panic!("{few:?}");
    };
    assert_eq!((few.cqi(), few.items.len()), (Some(12), 2));
}

/// nru_packing_test.cpp of srsRAN: the same octets are written.
#[test]
fn frames_are_written_as_srsran_writes_them() {
    let data = UserData {
        sequence: 0x11_2233,
        ..UserData::default()
    };
    let with = |of: fn(&mut UserData)| {
        let mut data = data.clone();
        of(&mut data);
        Frame::UserData(data)
    };
    let status = DeliveryStatus {
        desired_buffer: 0x1122_3344,
        ..DeliveryStatus::default()
    };
    let status_with = |of: fn(&mut DeliveryStatus)| {
        let mut status = status.clone();
        of(&mut status);
        Frame::DeliveryStatus(status)
    };
    let expected = [
        ("000011223300", with(|_| ())),
        (
            "02001122339988770000",
            with(|data| data.discard_to = Some(0x99_8877)),
        ),
        ("010011223300", with(|data| data.polls_status = true)),
        (
            "001011223300",
            with(|data| data.wants_out_of_sequence = true),
        ),
        (
            "0008112233eeddcc0000",
            with(|data| data.report_delivered = Some(0xee_ddcc)),
        ),
        ("000411223300", with(|data| data.has_data = true)),
        ("000211223300", with(|data| data.polls_assistance = true)),
        ("000111223300", with(|data| data.is_retransmission = true)),
        ("100011223344", status_with(|_| ())),
        (
            "100811223344aabbccdd",
            status_with(|status| status.desired_rate = Some(0xaabb_ccdd)),
        ),
        (
            "1100112233440101020311121300",
            status_with(|status| {
                status.lost = vec![Range {
                    start: 0x1_0203,
                    end: 0x11_1213,
                }];
            }),
        ),
        (
            "140011223344caffee00",
            status_with(|status| status.delivered = Some(0xca_ffee)),
        ),
        (
            "180011223344caffee00",
            status_with(|status| status.transmitted = Some(0xca_ffee)),
        ),
        (
            "10011122334499000000",
            status_with(|status| status.cause = Some(Cause::Other(0x99))),
        ),
        (
            "100211223344caffee00",
            status_with(|status| status.delivered_again = Some(0xca_ffee)),
        ),
        (
            "100411223344caffee00",
            status_with(|status| status.transmitted_again = Some(0xca_ffee)),
        ),
    ];
    for (digits, frame) in expected {
        let content = octets(digits);
        assert_eq!(Frame::read(&content).as_ref(), Ok(&frame), "{digits}");
        // as an extension header has it: padded to 4n - 2
        let mut message = Vec::new();
        let written = frame.write();
        let extension = Extension {
            kind: NR_RAN_CONTAINER,
            content: &written,
        };
        gtpu::write(&Header::g_pdu(1, &[extension]), &[], &mut message).expect("written");
        let padded = read(&message).extension(NR_RAN_CONTAINER);
        assert_eq!(padded, Some(&content[..]), "{digits}");
    }
}

#[test]
fn every_message_is_written_as_it_came() {
    for (name, digits) in MESSAGES.iter().chain(&ASSISTANCE) {
        let bytes = octets(digits);
        let read = read(&bytes);
        let extensions: Vec<Extension<'_>> = read.extensions.collect();
        let header = Header {
            kind: read.kind,
            teid: read.teid,
            sequence: read.sequence,
            n_pdu: read.n_pdu,
            extensions: &extensions,
        };
        let mut written = Vec::new();
        gtpu::write(&header, read.payload, &mut written).expect("written");
        // numbers whose flag is not set are not kept: scapy's vector has one, Open5GS sets a flag for 0
        let mut expected = bytes.clone();
        if bytes[0] & 2 == 0 && bytes.len() >= 11 && bytes[0] & 7 != 0 {
            expected[8..11].fill(0);
        }
        assert_eq!(written, expected, "{name}");
    }
}
