//! Vectors worked by hand from the RFC's text, and the counters of a receiver read through loss.

use super::super::{Counters, FieldOrder};
use super::*;
use proptest::prelude::*;

const MSS: u64 = 1_000;

fn ace(value: u64) -> Ace {
    Ace::of_count(value)
}

/// An acknowledgement of so many full segments.
fn ack(value: u64, packets: u64) -> AckEvidence {
    AckEvidence {
        ace: ace(value),
        option: None,
        is_plain: true,
        is_superseded: false,
        packets,
        bytes: packets * MSS,
    }
}

fn with_option(value: u64, packets: u64, e1b: u64, ceb: u64) -> AckEvidence {
    let counts = ByteCounts { e0b: 1, ceb, e1b };
    AckEvidence {
        option: Some(AccEcnOption::new(FieldOrder::Ect1First, counts, 2)),
        ..ack(value, packets)
    }
}

#[test]
fn rfc_9768_a_2_the_safest_likely_number_of_packets() {
    // stated by the field, newly acknowledged, taken
    for (stated, packets, taken) in [
        (0, 0, 0),
        (0, 7, 0),
        (0, 8, 8),
        (0, 15, 8),
        (0, 16, 16),
        (2, 2, 2),
        (2, 9, 2),
        (2, 10, 10),
        (2, 17, 10),
        (2, 18, 18),
        (7, 7, 7),
        (7, 14, 7),
        (7, 15, 15),
        // 3.2.2.5.2: more marks than packets: the field is right
        (5, 3, 5),
        (7, 0, 7),
    ] {
        assert_eq!(safest(stated, packets), taken, "{stated} of {packets}");
    }
}

#[test]
fn rfc_9768_a_2_marked_bytes_show_how_often_the_field_went_round() {
    // stated, packets that the marked bytes need at least, taken
    for (stated, least, taken) in [
        (2, 0, 2),
        (2, 2, 2),
        (2, 3, 10),
        (2, 10, 10),
        (2, 11, 18),
        (0, 1, 8),
        (0, 8, 8),
        (5, 5, 5),
    ] {
        assert_eq!(with_bytes(stated, least), taken, "{stated}, {least}");
    }
}

#[test]
fn rfc_9768_3_2_2_2_the_difference_is_positive_whatever_went_round() {
    assert_eq!(forward(5, 5, 8), 0);
    assert_eq!(forward(0, 5, 8), 3);
    assert_eq!(forward(4, 13, 8), 7);
    assert_eq!(forward(1, FIELD_VALUES - 1, FIELD_VALUES), 2);
    let mut reader = MarkReader::new(MSS, false);
    // 5 -> 7 -> 1: two and two
    assert_eq!(reader.on_ack(&ack(7, 2)), 2);
    assert_eq!(reader.on_ack(&ack(1, 4)), 2);
    assert_eq!(reader.marks(), 4);
    assert_eq!(reader.take_marked(Bytes::new(10_000)), Bytes::new(4_000));
}

/// Table 4, row by row: s.cep, whether new data stays ECN-capable, whether marks count from then on.
#[test]
fn rfc_9768_table_4_what_a_server_makes_of_the_handshakes_end() {
    for (value, marks, may_mark, counts) in [
        (0b000, 0, false, false),
        (0b001, 0, true, true),
        (0b010, 0, true, true),
        (0b011, 0, false, true),
        (0b100, 0, false, true),
        (0b101, 0, true, true),
        (0b110, 1, false, true),
        (0b111, 0, true, true),
    ] {
        let mut reader = MarkReader::new(MSS, true);
        assert_eq!(reader.on_ack(&ack(value, 0)), 0, "{value:03b}");
        assert_eq!(
            (reader.marks(), reader.may_mark()),
            (marks, may_mark),
            "{value:03b}"
        );
        let next = 5 + marks + 1;
        let expected = u64::from(counts);
        assert_eq!(reader.on_ack(&ack(next, 4)), expected, "{value:03b}");
    }
    // with data it is a counter
    let mut reader = MarkReader::new(MSS, true);
    let with_data = AckEvidence {
        is_plain: false,
        ..ack(6, 0)
    };
    assert_eq!(reader.on_ack(&with_data), 1);
}

#[test]
fn rfc_9768_3_2_2_4_a_field_that_begins_at_zero_is_ignored() {
    let mut reader = MarkReader::new(MSS, false);
    assert_eq!(reader.on_ack(&ack(0, 2)), 0);
    assert!(!reader.may_mark());
    assert_eq!(reader.on_ack(&ack(3, 2)), 0);
    // later zero is a number like others
    let mut reader = MarkReader::new(MSS, false);
    reader.on_ack(&ack(5, 2));
    assert_eq!(reader.on_ack(&ack(0, 3)), 3);
    assert!(reader.may_mark());
}

#[test]
fn rfc_9768_3_2_2_3_a_syn_that_became_ecn_capable_stops_it_and_marks_still_count() {
    for arrived in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        let mut reader = MarkReader::new(MSS, false);
        reader.on_handshake_echo(Some(arrived));
        assert!(!reader.may_mark());
        assert_eq!(reader.on_ack(&ack(6, 2)), 1);
    }
    let mut reader = MarkReader::new(MSS, false);
    reader.on_handshake_echo(Some(Ecn::NotEct));
    reader.on_handshake_echo(None);
    assert!(reader.may_mark());
}

#[test]
fn rfc_9768_3_2_2_3_a_path_that_clears_the_field_is_found_by_options_that_stay_away() {
    let mut reader = MarkReader::new(MSS, false);
    for _ in 0..20 {
        reader.on_ack(&ack(5, 2));
    }
    assert!(reader.may_mark(), "without options nothing is known");
    let mut reader = MarkReader::new(MSS, false);
    reader.on_option_seen();
    for k in 1..=5 {
        assert!(reader.may_mark(), "{k}");
        reader.on_ack(&ack(5, 2));
    }
    assert!(!reader.may_mark());
    let mut reader = MarkReader::new(MSS, false);
    reader.on_option_seen();
    for k in 1..=20 {
        reader.on_ack(&with_option(5, 2, 1 + 2_000 * k, 0));
    }
    assert!(reader.may_mark(), "ECT(1) arrives");
}

#[test]
fn rfc_9768_3_2_3_2_5_marked_bytes_without_a_marked_packet_stop_it() {
    let mut reader = MarkReader::new(MSS, false);
    reader.on_ack(&with_option(5, 2, 2_001, 0));
    reader.on_ack(&with_option(5, 2, 2_001, 2_000));
    assert!(!reader.may_mark());
    // eight marks do not change the field
    let mut reader = MarkReader::new(MSS, false);
    assert_eq!(reader.on_ack(&with_option(5, 9, 1_001, 8_000)), 8);
    assert!(reader.may_mark());
}

#[test]
fn an_option_corrects_what_was_estimated_without() {
    let mut reader = MarkReader::new(MSS, false);
    // 10 packets, 2 marks stated: 10 taken, though it was 2
    assert_eq!(reader.on_ack(&ack(7, 10)), 10);
    assert_eq!(reader.take_marked(Bytes::new(6_000)), Bytes::new(6_000));
    assert_eq!(reader.on_ack(&with_option(7, 2, 10_001, 2_000)), 0);
    assert_eq!(
        reader.take_marked(Bytes::new(2_000)),
        Bytes::ZERO,
        "more than is true"
    );
    // four more are what was given before
    assert_eq!(reader.on_ack(&with_option(3, 4, 10_001, 6_000)), 4);
    assert_eq!(reader.take_marked(Bytes::new(4_000)), Bytes::ZERO);
    assert_eq!(reader.on_ack(&with_option(4, 1, 10_001, 7_000)), 1);
    assert_eq!(reader.take_marked(Bytes::new(1_000)), Bytes::new(1_000));
}

#[test]
fn rfc_9768_a_1_what_was_overtaken_is_ignored() {
    let mut reader = MarkReader::new(MSS, false);
    assert_eq!(reader.on_ack(&ack(7, 4)), 2);
    let old = AckEvidence {
        is_superseded: true,
        ..ack(6, 0)
    };
    assert_eq!((reader.on_ack(&old), reader.marks()), (0, 2));
    assert_eq!(reader.on_ack(&ack(7, 2)), 0);
}

#[test]
fn rfc_9768_a_3_marked_bytes_are_estimated_by_the_mean_size() {
    let mut reader = MarkReader::new(MSS, false);
    let small = AckEvidence {
        bytes: 600,
        ..ack(6, 3)
    };
    assert_eq!(reader.on_ack(&small), 1);
    assert_eq!(reader.take_marked(Bytes::new(600)), Bytes::new(200));
}

/// Data packets, each marked or not, each acknowledged by something that arrives or not (the first and the last are).
fn through_loss(packets: &[(bool, bool)], has_options: bool) -> (Counters, MarkReader, u64) {
    let mut counters = Counters::new(None);
    let mut reader = MarkReader::new(MSS, false);
    let (mut waiting, mut given) = (0, 0);
    let last = packets.len() - 1;
    for (k, &(is_marked, arrives)) in packets.iter().enumerate() {
        let ecn = if is_marked { Ecn::Ce } else { Ecn::Ect1 };
        counters.on_packet(ecn, MSS, true);
        waiting += 1;
        let field = counters.ace(true);
        let option = counters.option(8).filter(|_| has_options);
        if arrives || k == 0 || k == last {
            let evidence = AckEvidence {
                ace: field,
                option,
                ..ack(0, waiting)
            };
            reader.on_ack(&evidence);
            given += reader.take_marked(Bytes::new(waiting * MSS)).get();
            waiting = 0;
        }
    }
    (counters, reader, given)
}

proptest! {
    /// With options the number of marked bytes is exact whatever acknowledgements are lost, once one arrives.
    #[test]
    fn with_options_marks_are_exact_through_any_loss(
        packets in prop::collection::vec(any::<(bool, bool)>(), 1..200),
    ) {
        let (counters, reader, given) = through_loss(&packets, true);
        let marks = packets.iter().filter(|(is_marked, _)| *is_marked).count() as u64;
        prop_assert_eq!(counters.marks(), marks);
        prop_assert_eq!(given, marks * MSS);
        prop_assert_eq!(reader.marks(), marks);
    }

    /// Without options it is exact while fewer than eight packets are acknowledged at once, and else never less than
    /// the truth.
    #[test]
    fn without_options_marks_are_never_fewer_than_there_were(
        packets in prop::collection::vec(any::<(bool, bool)>(), 1..200),
    ) {
        let (_, reader, given) = through_loss(&packets, false);
        let marks = packets.iter().filter(|(is_marked, _)| *is_marked).count() as u64;
        prop_assert!(reader.marks() >= marks);
        prop_assert!(given >= marks * MSS);
        let longest = packets.split(|(_, arrives)| *arrives).map(<[_]>::len).max();
        if longest.unwrap_or(0) + 1 < 8 {
            prop_assert_eq!(reader.marks(), marks);
            prop_assert_eq!(given, marks * MSS);
        }
    }
}
