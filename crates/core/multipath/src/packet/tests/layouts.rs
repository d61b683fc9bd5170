//! DCCP: headers and options as they are laid out.

use super::*;

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
