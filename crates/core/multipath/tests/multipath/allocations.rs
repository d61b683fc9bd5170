//! Nothing is allocated to write or read a data packet, with or without an acknowledgement.

use multipath::packet::{
    AckVector, Kind, MAX_HEADER_LEN, Options, Packet, ReceptionState, decode, encode,
};
use multipath::{MpSeq, SeqNo};
use units::Duration;

fn data(number: u64, is_acknowledging: bool) -> Packet {
    let mut options = Options {
        mp_seq: Some(MpSeq::new(number)),
        ..Options::default()
    };
    let mut kind = Kind::Data;
    if is_acknowledging {
        let mut vector = AckVector::default();
        vector.push(ReceptionState::Received, number % 500);
        vector.push(ReceptionState::NotReceived, 3);
        vector.push(ReceptionState::Received, 300);
        options.ack_vector = Some(vector);
        options.elapsed = Some(Duration::from_micros(number * 10));
        let ack = SeqNo::new(number);
        kind = Kind::DataAck { ack };
    }
    Packet {
        source: 1_000,
        destination: 6_511,
        ccval: 0,
        seq: SeqNo::new(number),
        kind,
        options,
    }
}

#[test]
fn data_packets_are_written_and_read_without_allocation() {
    let mut wire = Vec::with_capacity(MAX_HEADER_LEN);
    let counted = allocation_counter::measure(|| {
        for number in 0..10_000 {
            let packet = data(number, number % 2 == 0);
            wire.clear();
            let header = encode(&packet, &mut wire).expect("it has a form");
            assert_eq!(decode(&wire), Ok((packet, header)));
        }
    });
    assert_eq!(counted.count_total, 0);
}
