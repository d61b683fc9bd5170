//! There and back for any packet.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

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
