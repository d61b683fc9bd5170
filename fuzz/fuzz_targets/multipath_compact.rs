//! Packets of encrypted datagrams in either form: any bytes are read or refused, what is compact is written as it was read, and
//! stands for one packet whatever it is read against.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multipath::packet::{Compact, Form, Reference, decode, decode_form};
use multipath::{MpSeq, SeqNo};

fuzz_target!(|bytes: &[u8]| {
    let Some((numbers, bytes)) = bytes.split_first_chunk::<16>() else {
        return;
    };
    let number = |at: usize| numbers[at..at + 6].iter().fold(0, |n, b| n << 8 | u64::from(*b));
    let reference = Reference {
        ports: (
            u16::from_be_bytes([numbers[0], numbers[1]]),
            u16::from_be_bytes([numbers[2], numbers[3]]),
        ),
        seq: SeqNo::new(number(4)),
        mp_seq: MpSeq::new(number(10)),
    };
    match decode_form(bytes) {
        Ok((Form::Compact(compact), header)) => {
            assert_eq!(compact.bytes()[..], bytes[..header]);
            let packet = compact.expand(&reference);
            assert_eq!(Compact::of(&packet), Some(compact));
            assert!(packet.seq.distance_from(reference.seq).abs() <= 1 << 21);
            let mp_seq = packet.options.mp_seq.expect("a number");
            assert!(mp_seq.distance_from(reference.mp_seq).abs() <= 1 << 23);
        }
        Ok((Form::Whole(packet), header)) => {
            assert_eq!(decode(&bytes[1..]), Ok((packet, header - 1)));
        }
        Err(error) => assert!(error.to_string().len() < 200, "{error}"),
    }
});
