//! Data packets in compact form.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Of 48 bits.
const ALL: u64 = 1 << 48;

fn data(seq: u64, mp_seq: u64, is_unordered: bool) -> Packet {
    Packet {
        source: 7,
        destination: 9,
        ccval: 0,
        seq: SeqNo::new(seq),
        kind: Kind::Data,
        options: Options {
            mp_seq: Some(MpSeq::new(mp_seq)),
            list: is_unordered.then(unordered_mark).into_iter().collect(),
            ..Options::default()
        },
    }
}

fn reference(seq: u64, mp_seq: u64) -> Reference {
    Reference {
        ports: (7, 9),
        seq: SeqNo::new(seq),
        mp_seq: MpSeq::new(mp_seq),
    }
}

#[test]
fn the_layout_is_as_it_is_documented() {
    let packet = data(0x0123_4567_89ab, 0x0bcd_ef01_2345, false);
    let compact = Compact::of(&packet).expect("usual");
    assert_eq!(compact.bytes(), [0xa7, 0x89, 0xab, 0x01, 0x23, 0x45]);
    let packet = data(0x0123_4567_89ab, 0x0bcd_ef01_2345, true);
    let compact = Compact::of(&packet).expect("usual");
    assert_eq!(compact.bytes(), [0xe7, 0x89, 0xab, 0x01, 0x23, 0x45]);
}

#[test]
fn all_else_is_written_whole() {
    let ack = SeqNo::new(3);
    let usual = data(1, 2, true);
    let mut others = vec![
        Packet {
            ccval: 1,
            ..usual.clone()
        },
        Packet {
            kind: Kind::DataAck { ack },
            ..usual.clone()
        },
        Packet {
            kind: Kind::Ack { ack },
            ..usual.clone()
        },
    ];
    let mut with = |change: fn(&mut Options)| {
        let mut packet = usual.clone();
        change(&mut packet.options);
        others.push(packet);
    };
    with(|options| options.mp_seq = None);
    with(|options| options.ack_vector = Some(AckVector::default()));
    with(|options| options.elapsed = Some(Duration::from_millis(1)));
    with(|options| options.list.push(DccpOption::SlowReceiver));
    with(|options| options.list[0] = DccpOption::Timestamp(9));
    with(|options| options.list.push(unordered_mark()));
    for packet in others {
        assert_eq!(Compact::of(&packet), None, "{packet:?}");
        let mut bytes = vec![WHOLE];
        let length = encode(&packet, &mut bytes).expect("room");
        let (form, header) = decode_form(&bytes).expect("a packet");
        assert_eq!(header, length + 1);
        assert!(matches!(form, Form::Whole(_)));
    }
}

#[test]
fn what_is_neither_form_is_refused() {
    for first in 1..0x80 {
        let error = decode_form(&[first; 40]).expect_err("neither");
        assert_eq!(error, DecodeError::UnknownForm { first });
    }
    for bytes in [&[][..], &[0x80; 5], &[0; 16]] {
        assert!(matches!(
            decode_form(bytes),
            Err(DecodeError::TooShort { .. })
        ));
    }
}

proptest! {
    /// Numbers wherever they are on the circle, as far from the reference as they may be.
    #[test]
    fn what_was_written_is_expanded_to_the_same_packet(
        seq in 0..ALL,
        mp_seq in 0..ALL,
        ahead in -(1i64 << 21)..1 << 21,
        mp_ahead in -(1i64 << 23)..1 << 23,
        is_unordered: bool,
        payload in vec(any::<u8>(), 0..40),
    ) {
        let packet = data(seq, mp_seq, is_unordered);
        let mut bytes = Compact::of(&packet).expect("usual").bytes().to_vec();
        bytes.extend(&payload);
        let (form, header) = decode_form(&bytes).expect("a packet");
        prop_assert_eq!(&bytes[header..], &payload[..]);
        let Form::Compact(compact) = form else { panic!("compact") };
        let reference = reference(
            seq.wrapping_add_signed(-ahead),
            mp_seq.wrapping_add_signed(-mp_ahead),
        );
        let expanded = compact.expand(&reference);
        prop_assert_eq!(&expanded, &packet);
        prop_assert_eq!(Compact::of(&expanded), Some(compact));
    }

    /// Any bytes are one of both forms or none, and what is one is written as it was read.
    #[test]
    fn any_bytes_are_read(bytes in vec(any::<u8>(), 0..60), seq in 0..ALL, mp_seq in 0..ALL) {
        match decode_form(&bytes) {
            Ok((Form::Compact(compact), header)) => {
                prop_assert_eq!(&compact.bytes()[..], &bytes[..header]);
                let packet = compact.expand(&reference(seq, mp_seq));
                prop_assert_eq!(Compact::of(&packet), Some(compact));
            }
            Ok((Form::Whole(packet), header)) => {
                prop_assert_eq!(decode(&bytes[1..]), Ok((packet, header - 1)));
            }
            Err(_) => {}
        }
    }
}
