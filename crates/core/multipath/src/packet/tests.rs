//! The wire format against bytes written out from the layouts of RFC 4340 and RFC 9897, and there
//! and back for any packet.

use super::*;
use crate::seq::MpSeq;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use proptest::collection::vec;
use proptest::prelude::*;
use units::Duration;

const SEQ: u64 = 0x0102_0304_0506;
const ACK: u64 = 0xA1A2_A3A4_A5A6;

fn packet(kind: Kind) -> Packet {
    Packet {
        source: 6511,
        destination: 0xC001,
        ccval: 0,
        seq: SeqNo::new(SEQ),
        kind,
        options: Options::default(),
    }
}

fn with(kind: Kind, list: Vec<DccpOption>) -> Packet {
    Packet {
        options: Options {
            list,
            ..Options::default()
        },
        ..packet(kind)
    }
}

fn ack() -> Kind {
    Kind::Ack {
        ack: SeqNo::new(ACK),
    }
}

fn bytes(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    let written = encode(packet, &mut out).expect("it has a form");
    assert_eq!(written, out.len());
    assert_eq!(written, encoded_len(packet));
    out
}

/// Those bytes are that packet, both ways.
#[track_caller]
fn same(packet: &Packet, wire: &[u8]) {
    assert_eq!(bytes(packet), wire, "written");
    assert_eq!(decode(wire), Ok((packet.clone(), wire.len())), "read");
}

/// The generic header of RFC 4340 5.1, ports 6511 and 49153, the sequence number above.
const fn generic(words: u8, type_and_x: u8) -> [u8; 16] {
    [
        0x19, 0x6F, 0xC0, 0x01, words, 0x00, 0x00, 0x00, type_and_x, 0x00, 1, 2, 3, 4, 5, 6,
    ]
}

/// The acknowledgement number above: 16 bits reserved, 48 bits.
const ACK_BYTES: [u8; 8] = [0, 0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6];

#[test]
fn section_5_1_generic_header_of_each_type() {
    let ack_number = SeqNo::new(ACK);
    let service: u32 = 0x4252_464C;
    let reset = [7, 32, 10, 0];
    let word = service.to_be_bytes();
    let cases: [(Kind, u8, u8, Vec<u8>); 10] = [
        (Kind::Request { service }, 5, 0x01, word.to_vec()),
        (
            Kind::Response {
                ack: ack_number,
                service,
            },
            7,
            0x03,
            [&ACK_BYTES[..], &word].concat(),
        ),
        (Kind::Data, 4, 0x05, vec![]),
        (ack(), 6, 0x07, ACK_BYTES.to_vec()),
        (
            Kind::DataAck { ack: ack_number },
            6,
            0x09,
            ACK_BYTES.to_vec(),
        ),
        (
            Kind::CloseReq { ack: ack_number },
            6,
            0x0B,
            ACK_BYTES.to_vec(),
        ),
        (Kind::Close { ack: ack_number }, 6, 0x0D, ACK_BYTES.to_vec()),
        (
            Kind::Reset {
                ack: ack_number,
                code: ResetCode::CONNECTION_REFUSED,
                data: [32, 10, 0],
            },
            7,
            0x0F,
            [&ACK_BYTES[..], &reset].concat(),
        ),
        (Kind::Sync { ack: ack_number }, 6, 0x11, ACK_BYTES.to_vec()),
        (
            Kind::SyncAck { ack: ack_number },
            6,
            0x13,
            ACK_BYTES.to_vec(),
        ),
    ];
    for (kind, words, type_and_x, rest) in cases {
        same(
            &packet(kind),
            &[&generic(words, type_and_x)[..], &rest].concat(),
        );
    }
}

/// RFC 4340 5.1: CCVal is the upper half of its byte; the sequence number has all 48 bits.
#[test]
fn section_5_1_ccval_and_the_greatest_number() {
    let mut packet = packet(Kind::Data);
    packet.ccval = 0xB;
    packet.seq = SeqNo::new((1 << 48) - 1);
    let mut wire = generic(4, 0x05);
    wire[5] = 0xB0;
    wire[10..].fill(0xFF);
    same(&packet, &wire);
}

/// RFC 9897 3.2.5: a data packet with `MP_SEQ`, padded to words; the application data follow.
#[test]
fn mp_seq_on_a_data_packet() {
    let mut packet = packet(Kind::Data);
    packet.options.mp_seq = Some(MpSeq::new(0xF0E0_D0C0_B0A0));
    let mut wire = generic(7, 0x05).to_vec();
    wire.extend([46, 9, 4, 0xF0, 0xE0, 0xD0, 0xC0, 0xB0, 0xA0, 0, 0, 0]);
    same(&packet, &wire);
    wire.extend(b"payload");
    let (read, header) = decode(&wire).expect("a packet");
    assert_eq!(read, packet);
    assert_eq!(&wire[header..], b"payload");
}

/// The options of an Ack packet whose other bytes are as above.
#[track_caller]
fn ack_with(list: Vec<DccpOption>, options: &[u8]) {
    let mut wire = generic(6, 0x07).to_vec();
    wire.extend(ACK_BYTES);
    wire.extend(options);
    wire.resize(wire.len().next_multiple_of(4), 0);
    wire[4] = (wire.len() / 4) as u8;
    same(&with(ack(), list), &wire);
}

#[test]
fn sections_6_1_and_6_2_feature_options() {
    use FeatureOptionKind::{ChangeL, ChangeR, ConfirmL, ConfirmR};
    let option = |kind, feature, value: &[u8]| {
        DccpOption::Feature(FeatureOption {
            kind,
            feature,
            value: value.to_vec(),
        })
    };
    // 6.5: "Change R(CCID, 2 3 1)", 34,6,1,2,3,1 and "Confirm L(CCID, 2, 2 1)"
    ack_with(
        vec![
            option(ChangeR, Feature::CCID, &[2, 3, 1]),
            option(ConfirmL, Feature::CCID, &[2, 2, 1]),
        ],
        &[34, 6, 1, 2, 3, 1, 33, 6, 1, 2, 2, 1],
    );
    // 6.5: "Change L(Sequence Window, 1024)" = 32,9,3,0,0,0,0,4,0 and an empty Confirm R of 3 bytes
    ack_with(
        vec![
            option(ChangeL, Feature::SEQUENCE_WINDOW, &[0, 0, 0, 0, 4, 0]),
            option(ConfirmR, Feature::ACK_RATIO, &[]),
        ],
        &[32, 9, 3, 0, 0, 0, 0, 4, 0, 35, 3, 5],
    );
}

#[test]
fn sections_5_8_7_7_8_1_4_11_and_13_other_options() {
    ack_with(
        vec![DccpOption::Mandatory, DccpOption::SlowReceiver],
        &[1, 2],
    );
    ack_with(
        vec![DccpOption::InitCookie(vec![9, 8, 7])],
        &[36, 5, 9, 8, 7],
    );
    ack_with(vec![DccpOption::NdpCount(0)], &[37, 3, 0]);
    ack_with(vec![DccpOption::NdpCount(0x1234)], &[37, 4, 0x12, 0x34]);
    ack_with(
        vec![DccpOption::NdpCount((1 << 48) - 1)],
        &[37, 8, 255, 255, 255, 255, 255, 255],
    );
    // 11.7: the decimal values of its example
    ack_with(
        vec![DccpOption::DataDropped(vec![0, 160, 3, 162])],
        &[40, 6, 0, 160, 3, 162],
    );
    ack_with(
        vec![DccpOption::Timestamp(0xDEAD_BEEF)],
        &[41, 6, 0xDE, 0xAD, 0xBE, 0xEF],
    );
    let echo = |elapsed| {
        vec![DccpOption::TimestampEcho {
            timestamp: 0xDEAD_BEEF,
            elapsed,
        }]
    };
    ack_with(echo(None), &[42, 6, 0xDE, 0xAD, 0xBE, 0xEF]);
    ack_with(echo(Some(258)), &[42, 8, 0xDE, 0xAD, 0xBE, 0xEF, 1, 2]);
    ack_with(
        echo(Some(50_000)),
        &[42, 10, 0xDE, 0xAD, 0xBE, 0xEF, 0, 0, 0xC3, 0x50],
    );
    ack_with(
        vec![
            DccpOption::Unknown {
                kind: 3,
                data: vec![],
            },
            DccpOption::Unknown {
                kind: 128,
                data: vec![1],
            },
        ],
        &[3, 128, 3, 1],
    );
}

/// RFC 4340 11.4.1's vector and 13.2's two forms of an elapsed time; the short one below 0.5 s.
#[test]
fn sections_11_4_and_13_2_ack_vector_and_elapsed_time() {
    let mut packet = packet(ack());
    packet.options.ack_vector = Some(AckVector::from_wire(&[0xC0, 0x05, 0xC4, 0x40]));
    packet.options.elapsed = Some(Duration::from_micros(499_990));
    let mut wire = generic(9, 0x07).to_vec();
    wire.extend(ACK_BYTES);
    wire.extend([38, 6, 0xC0, 0x05, 0xC4, 0x40, 43, 4, 0xC3, 0x4F, 0, 0]);
    same(&packet, &wire);
    packet.options.elapsed = Some(Duration::from_millis(500));
    wire.truncate(30);
    wire.extend([43, 6, 0, 0, 0xC3, 0x50]);
    same(&packet, &wire);
    // nonce 1 means the same, and of two in a row the second goes on
    wire[24..30].copy_from_slice(&[39, 4, 0xC0, 0x05, 38, 4]);
    wire.splice(30..30, [0xC4, 0x40, 0, 0]);
    wire[4] = 10;
    assert_eq!(decode(&wire), Ok((packet, 40)));
}

#[test]
fn times_too_long_are_the_greatest_and_are_rounded_down() {
    let mut packet = packet(ack());
    for (elapsed, read) in [
        (
            Duration::MAX,
            Duration::from_micros(u64::from(u32::MAX) * 10),
        ),
        (Duration::from_nanos(19_999), Duration::from_micros(10)),
    ] {
        packet.options.elapsed = Some(elapsed);
        let (again, _) = decode(&bytes(&packet)).expect("a packet");
        assert_eq!(again.options.elapsed, Some(read));
    }
    packet.options.list = vec![DccpOption::Multipath(MpOption::Rtt(PathRtt {
        kind: RttKind::Raw,
        rtt: Duration::MAX,
        age: Duration::from_nanos(1_999_999),
    }))];
    let (again, _) = decode(&bytes(&packet)).expect("a packet");
    let [DccpOption::Multipath(MpOption::Rtt(rtt))] = &again.options.list[..] else {
        panic!("{again:?}");
    };
    assert_eq!(rtt.rtt, Duration::from_millis(u64::from(u32::MAX)));
    assert_eq!(rtt.age, Duration::from_millis(1));
}

fn mp(option: MpOption) -> DccpOption {
    DccpOption::Multipath(option)
}

/// RFC 9897 3.2.2 to 3.2.12, each option's layout.
#[test]
fn multipath_options() {
    let connection = ConnectionId(0x1122_3344);
    let nonce = 0x5566_7788;
    let key = |byte| KeyData {
        kind: 0,
        data: vec![byte; 8],
    };
    ack_with(
        vec![mp(MpOption::Join {
            address: AddressId(2),
            connection,
            nonce,
        })],
        &[46, 12, 1, 2, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88],
    );
    ack_with(
        vec![mp(MpOption::FastClose(key(7)))],
        &[46, 11, 2, 7, 7, 7, 7, 7, 7, 7, 7],
    );
    ack_with(
        vec![mp(MpOption::Key {
            connection,
            keys: vec![key(0xAB)],
        })],
        &[
            46, 17, 3, 0, 0x11, 0x22, 0x33, 0x44, 0, 0xAB, 0xAB, 0xAB, 0xAB, 0xAB, 0xAB, 0xAB, 0xAB,
        ],
    );
    ack_with(
        vec![mp(MpOption::Hmac(Hmac([5; 20])))],
        &[&[46, 23, 5][..], &[5; 20]].concat(),
    );
    ack_with(
        vec![mp(MpOption::Rtt(PathRtt {
            kind: RttKind::Smooth,
            rtt: Duration::from_millis(40),
            age: Duration::from_millis(258),
        }))],
        &[46, 12, 6, 3, 0, 0, 0, 40, 0, 0, 1, 2],
    );
    let add = |address, port| {
        vec![mp(MpOption::AddAddress {
            id: AddressId(3),
            nonce,
            address,
            port,
        })]
    };
    let v4 = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let head = [3, 0x55, 0x66, 0x77, 0x88];
    let v4_bytes = [192, 0, 2, 1];
    ack_with(
        add(v4, None),
        &[&[46, 12, 7][..], &head, &v4_bytes].concat(),
    );
    ack_with(
        add(v4, Some(6511)),
        &[&[46, 14, 7][..], &head, &v4_bytes, &[0x19, 0x6F]].concat(),
    );
    let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    ack_with(
        add(v6.into(), None),
        &[&[46, 24, 7][..], &head, &v6.octets()].concat(),
    );
    ack_with(
        add(v6.into(), Some(6511)),
        &[&[46, 26, 7][..], &head, &v6.octets(), &[0x19, 0x6F]].concat(),
    );
    ack_with(
        vec![mp(MpOption::RemoveAddress {
            id: AddressId(3),
            nonce,
        })],
        &[&[46, 8, 8][..], &head].concat(),
    );
    ack_with(
        vec![mp(MpOption::Priority(PathPriority::SECONDARY))],
        &[46, 4, 9, 2],
    );
    ack_with(
        vec![mp(MpOption::Close(key(9)))],
        &[46, 11, 10, 9, 9, 9, 9, 9, 9, 9, 9],
    );
    ack_with(
        vec![mp(MpOption::Experimental(vec![1, 2, 3]))],
        &[46, 6, 11, 1, 2, 3],
    );
    ack_with(
        vec![mp(MpOption::Unknown {
            kind: 12,
            data: vec![1],
        })],
        &[46, 4, 12, 1],
    );
}

/// RFC 9897 3.2.1: the options with the numbers they came with, newest first; those of one packet
/// share its number.
#[test]
fn mp_confirm_lists_whole_options() {
    let newer = MpSeq::new(12);
    let older = MpSeq::new(9);
    let priority = MpOption::Priority(PathPriority::STANDBY);
    let remove = MpOption::RemoveAddress {
        id: AddressId(2),
        nonce: 1,
    };
    ack_with(
        vec![mp(MpOption::Confirm(vec![
            (priority, newer),
            (remove.clone(), newer),
            (remove, older),
        ]))],
        &[
            46, 41, 0, // MP_CONFIRM
            46, 9, 4, 0, 0, 0, 0, 0, 12, 46, 4, 9, 1, 46, 8, 8, 2, 0, 0, 0, 1, // of 12
            46, 9, 4, 0, 0, 0, 0, 0, 9, 46, 8, 8, 2, 0, 0, 0, 1, // of 9
        ],
    );
}

/// Within a Confirm a further one is passed over, and a list that does not add up is no Confirm.
#[test]
fn mp_confirm_with_other_contents() {
    let read = |inner: &[u8]| {
        let mut wire = generic(0, 0x05).to_vec();
        wire.extend([46, inner.len() as u8 + 3, 0]);
        wire.extend(inner);
        wire.resize(wire.len().next_multiple_of(4), 0);
        wire[4] = (wire.len() / 4) as u8;
        decode(&wire).expect("a packet").0.options.list.remove(0)
    };
    let nested = [46, 9, 4, 0, 0, 0, 0, 0, 9, 46, 3, 0, 46, 4, 9, 1];
    let priority = MpOption::Priority(PathPriority::STANDBY);
    assert_eq!(
        read(&nested),
        mp(MpOption::Confirm(vec![(priority, MpSeq::new(9))]))
    );
    for damaged in [
        &[46, 4, 9, 1][..],                            // no number
        &[46, 9, 4, 0, 0, 0, 0, 0, 9, 46, 5, 9, 1],    // longer than there is
        &[46, 9, 4, 0, 0, 0, 0, 0, 9, 46, 1],          // shorter than its head
        &[46, 9, 4, 0, 0, 0, 0, 0, 9, 46, 5, 9, 1, 1], // a priority of two bytes
        &[46, 9, 4, 0, 0, 0, 0, 0, 9, 46],             // half a head
    ] {
        let unknown = MpOption::Unknown {
            kind: 0,
            data: damaged.to_vec(),
        };
        assert_eq!(read(damaged), mp(unknown));
    }
}

/// RFC 4340 5.8: what is not as it should be is ignored, and nothing after an impossible length is
/// read.
#[test]
fn section_5_8_damaged_options() {
    let read = |option_bytes: &[u8]| {
        let mut wire = generic(6, 0x07).to_vec();
        wire.extend(ACK_BYTES);
        wire.extend(option_bytes);
        wire.resize(wire.len().next_multiple_of(4), 0);
        wire[4] = (wire.len() / 4) as u8;
        decode(&wire).expect("a packet").0.options
    };
    for nonsense in [
        &[41, 1, 0, 0][..],
        &[41, 0, 2, 2],
        &[41, 200, 2, 2],
        &[0, 0, 0, 41],
    ] {
        assert_eq!(read(nonsense), Options::default(), "{nonsense:?}");
    }
    assert_eq!(read(&[2, 41, 1, 2]).list, [DccpOption::SlowReceiver]);
    let short = DccpOption::Unknown {
        kind: 41,
        data: vec![1, 2],
    };
    assert_eq!(read(&[41, 4, 1, 2]).list, [short]);
    let key_too_short = mp(MpOption::Unknown {
        kind: 3,
        data: vec![0, 1, 1, 1, 1, 0, 5, 5],
    });
    assert_eq!(
        read(&[46, 11, 3, 0, 1, 1, 1, 1, 0, 5, 5]).list,
        [key_too_short]
    );
}

/// RFC 4340 table 3: what a data packet, and a packet without an acknowledgement number, may not
/// carry is ignored there.
#[test]
fn section_5_8_options_on_packets_that_may_not_have_them() {
    let everything = [
        1, 32, 4, 1, 2, 36, 3, 1, 38, 3, 0, 40, 3, 0, 43, 4, 0, 1, 2, 0,
    ];
    let read = |head: &[u8]| {
        let mut wire = [head, &everything].concat();
        wire[4] = (wire.len() / 4) as u8;
        decode(&wire).expect("a packet").0.options
    };
    let on_data = read(&generic(0, 0x05));
    assert_eq!(on_data.list, [DccpOption::SlowReceiver]);
    assert_eq!((on_data.ack_vector, on_data.elapsed), (None, None));
    let on_request = read(&[&generic(0, 0x01)[..], &[0; 4]].concat());
    assert_eq!(on_request.list.len(), 4, "{on_request:?}");
    assert_eq!((on_request.ack_vector, on_request.elapsed), (None, None));
    let on_ack = read(&[&generic(0, 0x07)[..], &ACK_BYTES].concat());
    assert_eq!(on_ack.list.len(), 5, "{on_ack:?}");
    assert!(on_ack.ack_vector.is_some() && on_ack.elapsed.is_some());
}

/// RFC 4340 5.8.2 and 5.6.
#[test]
fn section_5_8_2_mandatory() {
    let fault = |list| with(ack(), list).options.fault();
    let unknown = |kind, data: &[u8]| DccpOption::Unknown {
        kind,
        data: data.to_vec(),
    };
    let error = |code, data| Some(OptionFault { code, data });
    use DccpOption::{Mandatory, SlowReceiver};
    assert_eq!(fault(vec![]), None);
    assert_eq!(fault(vec![Mandatory, SlowReceiver]), None);
    assert_eq!(fault(vec![unknown(99, &[1]), SlowReceiver]), None);
    let absent = error(ResetCode::OPTION_ERROR, [1, 0, 0]);
    assert_eq!(fault(vec![SlowReceiver, Mandatory]), absent);
    assert_eq!(fault(vec![Mandatory, Mandatory, SlowReceiver]), absent);
    assert_eq!(
        fault(vec![Mandatory, SlowReceiver, Mandatory, unknown(99, &[7])]),
        error(ResetCode::MANDATORY_ERROR, [99, 7, 0])
    );
    let mp_unknown = mp(MpOption::Unknown {
        kind: 12,
        data: vec![5],
    });
    assert_eq!(
        fault(vec![Mandatory, mp_unknown]),
        error(ResetCode::MANDATORY_ERROR, [46, 12, 5])
    );
    // "Mandatory Padding" behaves like two bytes of padding
    let mut wire = generic(7, 0x07).to_vec();
    wire.extend(ACK_BYTES);
    wire.extend([1, 0, 2, 0]);
    let (read, _) = decode(&wire).expect("a packet");
    assert_eq!(read.options.list, [SlowReceiver]);
}

#[test]
fn the_error_of_bytes_that_are_no_packet_states_the_reason() {
    let rejected = |bytes: &[u8], text: &str| {
        let error = decode(bytes).expect_err(text);
        assert_eq!(error.to_string(), text);
    };
    rejected(&[], "a DCCP header has at least 16 bytes, these are 0");
    rejected(
        &generic(4, 0x05)[..15],
        "a DCCP header has at least 16 bytes, these are 15",
    );
    rejected(
        &generic(4, 0x04),
        "byte 8: short sequence numbers (X = 0) were not agreed on",
    );
    rejected(
        &generic(4, 0x15),
        "byte 8: packet type 10 is reserved, 0 to 9 are in use",
    );
    rejected(
        &generic(5, 0x07),
        "byte 4: the data offset is 20 bytes, and type 3 has 24 before options",
    );
    rejected(
        &generic(5, 0x05),
        "byte 4: the data offset is 20 bytes, and the packet has 16",
    );
}

#[test]
fn what_has_no_form_is_rejected_and_leaves_nothing() {
    let mut out = vec![1, 2, 3];
    let long = with(ack(), vec![mp(MpOption::Experimental(vec![0; 253]))]);
    assert_eq!(
        encode(&long, &mut out),
        Err(EncodeError::OptionTooLong {
            kind: 46,
            bytes: 256
        })
    );
    let many = with(ack(), vec![mp(MpOption::Experimental(vec![0; 252])); 4]);
    assert_eq!(
        encode(&many, &mut out),
        Err(EncodeError::HeaderTooLong { bytes: 1044 })
    );
    assert_eq!(out, [1, 2, 3]);
}

/// A vector longer than an option is split, one longer than the header cut at its old end.
#[test]
fn long_vectors() {
    let vector = AckVector::from_wire(&(0..300).map(|i| i as u8).collect::<Vec<_>>());
    let mut long = packet(ack());
    long.options.ack_vector = Some(vector);
    let wire = bytes(&long);
    assert_eq!((wire[24], wire[25]), (38, 255));
    assert_eq!((wire[279], wire[280]), (38, 49));
    assert_eq!(decode(&wire), Ok((long.clone(), wire.len())));
    let too_long = [0xC0; 2000];
    long.options.ack_vector = Some(AckVector::from_wire(&too_long));
    long.options.elapsed = Some(Duration::from_secs(1));
    let wire = bytes(&long);
    assert_eq!(wire.len(), MAX_HEADER_LEN);
    let (read, _) = decode(&wire).expect("a packet");
    let vector = read.options.ack_vector.expect("a vector");
    assert_eq!(vector.as_wire(), &too_long[..1020 - 24 - 6 - 4 * 2]);
    assert_eq!(read.options.elapsed, long.options.elapsed);
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let seq = (0..1u64 << 48).prop_map(SeqNo::new);
    (0..10u8, seq, any::<u32>(), any::<[u8; 4]>()).prop_map(
        |(code, ack, service, reset)| match code {
            0 => Kind::Request { service },
            1 => Kind::Response { ack, service },
            2 => Kind::Data,
            3 => Kind::Ack { ack },
            4 => Kind::DataAck { ack },
            5 => Kind::CloseReq { ack },
            6 => Kind::Close { ack },
            7 => Kind::Reset {
                ack,
                code: ResetCode(reset[0]),
                data: [reset[1], reset[2], reset[3]],
            },
            8 => Kind::Sync { ack },
            _ => Kind::SyncAck { ack },
        },
    )
}

fn any_signal() -> impl Strategy<Value = MpOption> {
    let address = prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(IpAddr::from)
    ];
    prop_oneof![
        (any::<u8>(), any::<u32>(), address, any::<Option<u16>>()).prop_map(
            |(id, nonce, address, port)| MpOption::AddAddress {
                id: AddressId(id),
                nonce,
                address,
                port
            }
        ),
        (any::<u8>(), any::<u32>()).prop_map(|(id, nonce)| MpOption::RemoveAddress {
            id: AddressId(id),
            nonce
        }),
        (0..16u8).prop_map(|bits| MpOption::Priority(PathPriority::from_bits(bits))),
    ]
}

fn any_mp() -> impl Strategy<Value = MpOption> {
    let key = vec(any::<u8>(), 8).prop_map(|data| KeyData { kind: 0, data });
    let seq = || (0..1u64 << 48).prop_map(MpSeq::new);
    let rtt_kind = prop_oneof![
        Just(RttKind::Raw),
        Just(RttKind::Min),
        Just(RttKind::Max),
        Just(RttKind::Smooth)
    ];
    prop_oneof![
        any_signal(),
        vec((any_signal(), seq()), 0..6).prop_map(MpOption::Confirm),
        any::<(u8, u32, u32)>().prop_map(|(address, connection, nonce)| MpOption::Join {
            address: AddressId(address),
            connection: ConnectionId(connection),
            nonce
        }),
        key.clone().prop_map(MpOption::FastClose),
        key.clone().prop_map(MpOption::Close),
        (any::<u32>(), vec(key, 0..4)).prop_map(|(connection, keys)| MpOption::Key {
            connection: ConnectionId(connection),
            keys
        }),
        any::<[u8; 20]>().prop_map(|bytes| MpOption::Hmac(Hmac(bytes))),
        (rtt_kind, any::<[u32; 2]>()).prop_map(|(kind, [rtt, age])| MpOption::Rtt(PathRtt {
            kind,
            rtt: Duration::from_millis(u64::from(rtt)),
            age: Duration::from_millis(u64::from(age))
        })),
        vec(any::<u8>(), 0..40).prop_map(MpOption::Experimental),
        (12..=255u8, vec(any::<u8>(), 0..40))
            .prop_map(|(kind, data)| MpOption::Unknown { kind, data }),
    ]
}

/// An option that comes back as it was on a packet with an acknowledgement number.
fn any_option() -> impl Strategy<Value = DccpOption> {
    let feature_kind = prop_oneof![
        Just(FeatureOptionKind::ChangeL),
        Just(FeatureOptionKind::ConfirmL),
        Just(FeatureOptionKind::ChangeR),
        Just(FeatureOptionKind::ConfirmR)
    ];
    let data = || vec(any::<u8>(), 1..30);
    prop_oneof![
        4 => any_mp().prop_map(DccpOption::Multipath),
        1 => Just(DccpOption::SlowReceiver),
        2 => (feature_kind, any::<u8>(), data()).prop_map(|(kind, feature, value)| {
            DccpOption::Feature(FeatureOption { kind, feature: Feature(feature), value })
        }),
        1 => data().prop_map(DccpOption::InitCookie),
        1 => (0..1u64 << 48).prop_map(DccpOption::NdpCount),
        1 => any::<u32>().prop_map(DccpOption::Timestamp),
        1 => any::<(u32, Option<u32>)>().prop_map(|(timestamp, elapsed)| {
            DccpOption::TimestampEcho { timestamp, elapsed }
        }),
        1 => data().prop_map(DccpOption::DataDropped),
        1 => (3..32u8).prop_map(|kind| DccpOption::Unknown { kind, data: vec![] }),
        1 => (47..=255u8, data()).prop_map(|(kind, data)| DccpOption::Unknown { kind, data }),
    ]
}

fn any_options() -> impl Strategy<Value = Options> {
    (
        proptest::option::of((0..1u64 << 48).prop_map(MpSeq::new)),
        vec(any_option(), 0..5),
        proptest::option::of(vec(any::<u8>(), 0..300)),
        proptest::option::of(any::<u32>()),
    )
        .prop_map(|(mp_seq, list, vector, elapsed)| Options {
            mp_seq,
            list,
            ack_vector: vector.map(|runs| AckVector::from_wire(&runs)),
            elapsed: elapsed.map(|steps| Duration::from_micros(u64::from(steps) * 10)),
        })
}

proptest! {
    #[test]
    fn any_packet_comes_back(
        source: u16,
        destination: u16,
        ccval in 0..16u8,
        seq in (0..1u64 << 48).prop_map(SeqNo::new),
        kind in any_kind(),
        options in any_options(),
        payload in vec(any::<u8>(), 0..20),
    ) {
        let options = match kind.ack() {
            Some(_) => options,
            // what such packets may carry (table 3)
            None => Options { list: Vec::new(), ack_vector: None, elapsed: None, ..options },
        };
        let packet = Packet { source, destination, ccval, seq, kind, options };
        let mut wire = Vec::new();
        match encode(&packet, &mut wire) {
            Ok(header) => {
                prop_assert_eq!(header, wire.len());
                prop_assert_eq!(header, encoded_len(&packet));
                wire.extend(&payload);
                prop_assert_eq!(decode(&wire), Ok((packet, header)));
            }
            Err(error) => prop_assert!(encoded_len(&packet) > MAX_HEADER_LEN, "{}", error),
        }
    }

    #[test]
    fn any_bytes_are_read_or_rejected(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }

    /// Any options at all behind a header that is right; what was read has a form, and reads again as
    /// the same.
    #[test]
    fn any_options_are_read_and_what_was_read_is_written_again(
        code in 0..10u8,
        bytes in vec(any::<u8>(), 0..200),
    ) {
        let mut wire = generic(0, code << 1 | 1).to_vec();
        wire.extend([0; 12]);
        wire.extend(bytes);
        wire.resize(wire.len().next_multiple_of(4), 0);
        wire[4] = (wire.len() / 4) as u8;
        let (packet, header) = decode(&wire).expect("its header is right");
        prop_assert_eq!(header, wire.len());
        let mut again = Vec::new();
        encode(&packet, &mut again).expect("what was read has a form");
        let (reread, _) = decode(&again).expect("what was written is a packet");
        // a Mandatory at the end of the list now stands before what has fields of its own
        if packet.options.fault().is_none() {
            prop_assert_eq!(reread, packet);
        }
    }
}
