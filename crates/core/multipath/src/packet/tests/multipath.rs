//! MP-DCCP: the options of RFC 9897.

use super::*;

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
