use super::*;
use crate::path::SentInfo;
use proptest::prelude::*;
use units::Bytes;

const ISR: u64 = (1 << 48) - 3;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn seq(n: u64) -> SeqNo {
    SeqNo::new(ISR).add(n)
}

fn receiver() -> Receiver {
    Receiver::new(ReceiverConfig::default())
}

fn arrive(r: &mut Receiver, ms: u64, n: u64) -> Arrival {
    r.on_packet(at(ms), seq(n), Ecn::Ect0, true)
}

fn runs(parts: &AckParts) -> Vec<(ReceptionState, u8)> {
    parts.vector.runs().map(|r| (r.state, r.packets)).collect()
}

fn outcome_of(acked: &[u64], lost: &[u64]) -> AckOutcome {
    let infos = |numbers: &[u64]| {
        let info = |&n: &u64| SentInfo {
            seq: SeqNo::new(n),
            mp_seq: None,
            bytes: Bytes::ZERO,
            sent_at: Instant::ZERO,
            is_data: false,
        };
        numbers.iter().map(info).collect()
    };
    AckOutcome {
        acked: infos(acked),
        lost: infos(lost),
        ..AckOutcome::default()
    }
}

#[test]
fn rfc_4340_11_4_the_vector_is_newest_first_across_the_wrap() {
    use ReceptionState::{Marked, NotReceived, Received};
    let mut r = receiver();
    for n in [0, 1, 2, 4, 5] {
        arrive(&mut r, n, n);
    }
    r.on_packet(at(6), seq(6), Ecn::Ce, true);
    let parts = r
        .acknowledge(at(10), SeqNo::new(1), usize::MAX)
        .expect("arrivals");
    assert_eq!(parts.ack, SeqNo::new(3), "wrapped");
    assert_eq!(
        runs(&parts),
        [(Marked, 1), (Received, 2), (NotReceived, 1), (Received, 3)]
    );
    assert_eq!(parts.elapsed, Duration::from_millis(4));
    let gaps: Vec<_> = r.gaps().collect();
    let gap = Gap {
        first: seq(3),
        packets: Packets::new(1),
    };
    assert_eq!(gaps, [gap]);
}

#[test]
fn arrivals_are_distinguished() {
    let new = |missing: u64, is_late| Arrival::New {
        missing_before: Packets::new(missing),
        is_late,
    };
    let mut r = receiver();
    assert_eq!(arrive(&mut r, 0, 10), new(0, false));
    assert_eq!(arrive(&mut r, 0, 9), Arrival::TooOld, "before the first");
    assert_eq!(arrive(&mut r, 0, 14), new(3, false));
    assert_eq!(arrive(&mut r, 0, 12), new(0, true));
    assert_eq!(arrive(&mut r, 0, 12), Arrival::Duplicate);
    assert_eq!(arrive(&mut r, 0, 14), Arrival::Duplicate);
    assert_eq!(arrive(&mut r, 0, 14 + (1 << 14)), new((1 << 14) - 1, false));
    assert_eq!(arrive(&mut r, 0, 14), Arrival::TooOld);
    assert_eq!(arrive(&mut r, 0, 15), new(0, true), "the oldest kept");
    let counters = r.counters();
    let counts = [counters.received, counters.late, counters.duplicates];
    assert_eq!(counts.map(Packets::get), [5, 2, 2]);
    assert_eq!(counters.missed, Packets::new(3 + (1 << 14) - 1));
}

#[test]
fn rfc_4341_6_acks_are_due_by_ratio_delay_gap_and_mark() {
    let mut r = receiver();
    arrive(&mut r, 0, 0);
    assert!(!r.is_ack_due(at(4)) && r.should_piggyback());
    assert_eq!(r.next_deadline(), Some(at(5)));
    assert!(r.is_ack_due(at(5)), "delayed long enough");
    arrive(&mut r, 1, 1);
    assert!(r.is_ack_due(at(1)), "the second packet");
    r.acknowledge(at(1), SeqNo::new(1), usize::MAX);
    assert!(!r.is_ack_due(at(100)) && !r.should_piggyback());
    assert_eq!(r.next_deadline(), None);
    arrive(&mut r, 2, 3);
    assert!(r.is_ack_due(at(2)), "a gap");
    r.acknowledge(at(2), SeqNo::new(2), usize::MAX);
    arrive(&mut r, 3, 2);
    assert!(r.is_ack_due(at(3)), "what was missing came");
    r.acknowledge(at(3), SeqNo::new(3), usize::MAX);
    r.on_packet(at(4), seq(4), Ecn::Ce, true);
    assert!(r.is_ack_due(at(4)), "a mark");
}

#[test]
fn short_packets_are_acknowledged_by_a_ratio_of_their_own() {
    let mut r = Receiver::new(ReceiverConfig {
        short_ack_ratio: 16,
        ..ReceiverConfig::default()
    });
    let short = |r: &mut Receiver, n: u64| {
        arrive(r, 1, n);
        r.note_short();
    };
    (0..15).for_each(|n| short(&mut r, n));
    assert!(!r.is_ack_due(at(5)) && r.should_piggyback());
    assert!(r.is_ack_due(at(6)), "delayed long enough");
    short(&mut r, 15);
    assert!(r.is_ack_due(at(1)), "the sixteenth");
    r.acknowledge(at(1), SeqNo::new(1), usize::MAX);
    // a long one counts as eight of them
    arrive(&mut r, 1, 16);
    (17..24).for_each(|n| short(&mut r, n));
    assert!(!r.is_ack_due(at(1)));
    short(&mut r, 24);
    assert!(r.is_ack_due(at(1)));
    r.acknowledge(at(1), SeqNo::new(2), usize::MAX);
    short(&mut r, 26);
    assert!(r.is_ack_due(at(1)), "a gap");
}

#[test]
fn rfc_4340_11_1_acks_of_acks_go_with_data_or_seldom() {
    let mut r = receiver();
    for n in 0..200 {
        r.on_packet(at(n), seq(n), Ecn::NotEct, false);
        assert_eq!(r.is_ack_due(at(1_000)), n >= 31);
        assert_eq!(r.should_piggyback(), n >= 15);
    }
    assert_eq!(r.next_deadline(), None);
}

#[test]
fn rfc_4340_11_4_2_what_the_sender_has_confirmed_is_left_out() {
    let mut r = receiver();
    for n in 0..100 {
        arrive(&mut r, n, n);
    }
    let parts = r
        .acknowledge(at(100), SeqNo::new(500), usize::MAX)
        .expect("arrivals");
    assert_eq!(parts.vector.packets(), 100);
    r.acknowledge(at(101), SeqNo::new(501), usize::MAX);
    r.on_outcome(&outcome_of(&[501], &[]));
    arrive(&mut r, 102, 100);
    let parts = r
        .acknowledge(at(102), SeqNo::new(502), usize::MAX)
        .expect("arrivals");
    assert_eq!(parts.vector.packets(), 101, "501 was not the one watched");
    r.on_outcome(&outcome_of(&[502, 500], &[]));
    arrive(&mut r, 103, 102);
    let parts = r
        .acknowledge(at(103), SeqNo::new(503), usize::MAX)
        .expect("arrivals");
    assert_eq!(parts.vector.packets(), 3, "100, 101 and 102");
    // one that is lost is followed by the next
    r.on_outcome(&outcome_of(&[], &[503]));
    r.acknowledge(at(104), SeqNo::new(504), usize::MAX);
    r.on_outcome(&outcome_of(&[504], &[]));
    let parts = r
        .acknowledge(at(105), SeqNo::new(505), usize::MAX)
        .expect("arrivals");
    assert_eq!(parts.vector.packets(), 1, "at least the newest");
    // what comes below is reported again
    arrive(&mut r, 106, 101);
    let parts = r
        .acknowledge(at(106), SeqNo::new(506), usize::MAX)
        .expect("arrivals");
    assert_eq!(runs(&parts), [(ReceptionState::Received, 2)]);
}

/// What had no room in the acknowledgement that arrived is reported again.
#[test]
fn a_vector_cut_short_proves_nothing() {
    let mut r = receiver();
    for n in 0..10 {
        arrive(&mut r, n, 2 * n);
    }
    let parts = r.acknowledge(at(10), SeqNo::new(1), 4).expect("arrivals");
    assert_eq!(parts.vector.packets(), 4);
    r.on_outcome(&outcome_of(&[1], &[]));
    let parts = r.acknowledge(at(11), SeqNo::new(2), 253).expect("arrivals");
    assert_eq!(parts.vector.packets(), 19);
    r.on_outcome(&outcome_of(&[2], &[]));
    let parts = r.acknowledge(at(12), SeqNo::new(3), 253).expect("arrivals");
    assert_eq!(parts.vector.packets(), 1);
}

#[test]
fn an_absurd_jump_costs_no_more_than_the_history() {
    let mut r = receiver();
    arrive(&mut r, 0, 0);
    arrive(&mut r, 1, (1 << 46) + 7);
    let parts = r
        .acknowledge(at(2), SeqNo::new(1), usize::MAX)
        .expect("arrivals");
    assert_eq!(parts.ack, seq((1 << 46) + 7));
    assert_eq!(parts.vector.len(), 253);
    assert_eq!(arrive(&mut r, 3, 0), Arrival::TooOld);
}

proptest! {
    /// Whatever arrives, the vector reports each number's true state, and no number twice.
    #[test]
    fn vectors_report_what_arrived(
        arrivals in prop::collection::vec((0u64..400, any::<bool>()), 1..300),
        max_vector in 1usize..20,
        history in 64u64..512,
    ) {
        let mut r = Receiver::new(ReceiverConfig {
            history: Packets::new(history),
            max_vector,
            ..ReceiverConfig::default()
        });
        r.on_packet(at(0), seq(0), Ecn::NotEct, true);
        let mut known = std::collections::BTreeMap::from([(0, false)]);
        for (n, is_marked) in arrivals {
            let ecn = if is_marked { Ecn::Ce } else { Ecn::Ect0 };
            if let Arrival::New { .. } = r.on_packet(at(1), seq(n), ecn, true) {
                prop_assert!(known.insert(n, is_marked).is_none());
            }
        }
        let highest = known.last_key_value().map_or(0, |(&n, _)| n);
        let parts = r.acknowledge(at(2), SeqNo::new(1), usize::MAX).expect("arrivals");
        prop_assert_eq!(parts.ack, seq(highest));
        prop_assert!(parts.vector.len() <= max_vector);
        prop_assert_eq!(&AckVector::from_wire(parts.vector.as_wire()), &parts.vector);
        let mut n = highest + 1;
        for run in parts.vector.runs() {
            for _ in 0..run.packets {
                n -= 1;
                let state = match known.get(&n) {
                    None => ReceptionState::NotReceived,
                    Some(false) => ReceptionState::Received,
                    Some(true) => ReceptionState::Marked,
                };
                prop_assert_eq!(run.state, state, "{}", n);
            }
        }
        let oldest = (highest + 1).saturating_sub(history.next_power_of_two());
        prop_assert!(n == oldest || parts.vector.len() == max_vector, "{} {}", n, oldest);
        let missing: u64 = r.gaps().map(|gap| gap.packets.get()).sum();
        prop_assert_eq!(missing, highest + 1 - oldest - known.range(oldest..).count() as u64);
    }
}
