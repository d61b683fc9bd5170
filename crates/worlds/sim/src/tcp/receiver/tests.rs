//! What is acknowledged, and with which fields.

use super::*;

const RTO: Duration = Duration::from_millis(200);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// The segment of that number, sent and received at that time.
fn segment(number: u64, ms: u64) -> Segment {
    Segment {
        seq: 1 + 1_000 * number,
        ack: 1,
        window: 0,
        ts_val: at(ms),
        ts_ecr: Instant::ZERO,
        ts_ticks: 0,
        report: None,
        accecn: None,
        origin: at(ms),
        len: 1_000,
        sack: SackBlocks::NONE,
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        is_retransmission: false,
    }
}

fn open() -> Receiver {
    let config = Config {
        mss: Bytes::new(1_000),
        ..Config::default()
    };
    let mut receiver = Receiver::new(&config);
    receiver.on_syn(&segment(0, 1));
    receiver.ack_fields(true);
    receiver
}

/// The answer to a segment that must be acknowledged at once.
fn answer(receiver: &mut Receiver, segment: &Segment) -> AckFields {
    receiver.on_segment(segment.ts_val, segment, RTO);
    assert!(receiver.is_ack_due());
    receiver.ack_fields(true)
}

/// RFC 7323 4.3: the echo is of the segment that advanced the left edge, so that a round trip
/// measured by it contains the delay of the acknowledgement, and a gap shows no new segments.
#[test]
fn rfc_7323_4_3_which_timestamp_is_echoed() {
    let mut r = open();
    assert_eq!(answer(&mut r, &segment(0, 10)).ts_ecr, at(10));
    assert_eq!(
        answer(&mut r, &segment(2, 30)).ts_ecr,
        at(10),
        "beyond a gap"
    );
    assert_eq!(answer(&mut r, &segment(3, 40)).ts_ecr, at(10));
    let filled = answer(&mut r, &segment(1, 50));
    assert_eq!(
        (filled.ack, filled.ts_ecr),
        (4_001, at(50)),
        "the one that filled it"
    );
    assert_eq!(
        answer(&mut r, &segment(0, 45)).ts_ecr,
        at(50),
        "an older duplicate"
    );
}

#[test]
fn rfc_7323_4_3_a_delayed_acknowledgement_echoes_the_first() {
    let mut r = open();
    for k in 0..16 {
        answer(&mut r, &segment(k, 10 + k));
    }
    r.on_segment(at(60), &segment(16, 60), RTO);
    assert!(!r.is_ack_due());
    assert_eq!(answer(&mut r, &segment(17, 61)).ts_ecr, at(60));
}

#[test]
fn rfc_2883_4_a_duplicate_is_reported_once_and_first() {
    let mut r = open();
    answer(&mut r, &segment(0, 10));
    answer(&mut r, &segment(2, 11));
    let duplicate = Span {
        start: 1,
        end: 1_001,
    };
    let held = Span {
        start: 2_001,
        end: 3_001,
    };
    let blocks = |f: AckFields| f.sack.iter(f.ack).collect::<Vec<_>>();
    assert_eq!(blocks(answer(&mut r, &segment(0, 12))), [duplicate, held]);
    assert_eq!(blocks(r.ack_fields(true)), [held]);
    // out of order and received twice: both blocks, the first within the second
    assert_eq!(blocks(answer(&mut r, &segment(2, 13))), [held, held]);
}

#[test]
fn data_beyond_the_window_is_dropped_and_answered() {
    let mut r = open();
    let beyond = (6 << 20) / 1_000;
    let fields = answer(&mut r, &segment(beyond, 10));
    assert_eq!(fields.ack, 1);
    assert!(fields.sack.is_empty());
}

#[test]
fn a_fin_counts_once_all_data_is_there() {
    let mut r = open();
    let last = Segment {
        flags: Flags::ACK | Flags::FIN,
        ..segment(1, 10)
    };
    assert_eq!(answer(&mut r, &last).ack, 1);
    assert!(!r.is_finished());
    assert_eq!(answer(&mut r, &segment(0, 11)).ack, 2_002);
    assert!(r.is_finished());
}
