//! Bytes that are no packet, and what has no form.

use super::*;

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
