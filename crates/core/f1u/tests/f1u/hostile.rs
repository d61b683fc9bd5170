//! What goes wrong on the wire: tunnels that are used again, ends that get lost, statuses that go back, numbers that wrap, and
//! bytes of any kind.

use crate::common::{CENTRAL, UNIT, at_ms, at_us, config, ip_packet};
use crate::hand::{Hand, waiting};
use f1u::{EmulatedBearer, Monitor, Progress, SnLength};
use gtpu::nru::{Cause, DiscardBlock, Frame, Range, UserData};
use gtpu::outer::packet;
use proptest::collection::vec;
use proptest::prelude::*;
use units::{Bytes, Duration};

#[test]
fn numbers_wrap() {
    for (length, period) in [(SnLength::Bits12, 1_u64 << 12), (SnLength::Bits18, 1 << 18)] {
        let mut hand = Hand::new(length);
        let (mut sent, mut done) = (period - 3_000, period - 3_010);
        let mut now = at_ms(0);
        // round twice, ten outstanding
        while sent < 2 * period + 3_000 {
            for _ in 0..50 {
                hand.data(now, sent, 0);
                sent += 1;
            }
            done = sent - 10;
            now += Duration::from_millis(10);
            hand.status(now, done - 1);
        }
        assert_eq!(done, sent - 10);
        let counts = hand.monitor.counts();
        assert_eq!(
            (counts.backward, counts.unsent, counts.reused),
            (0, 0, 0),
            "{length:?}"
        );
        assert_eq!(hand.queue(now), waiting(10), "{length:?}");
    }
}

#[test]
fn a_status_that_goes_back_is_used_for_nothing_and_many_begin_anew() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(100);
    assert_eq!(hand.queue(at_ms(20)), waiting(10));
    hand.status(at_ms(20), 101);
    assert_eq!(hand.queue(at_ms(20)), waiting(10));
    assert_eq!(hand.monitor.counts().backward, 1);
    hand.status(at_ms(30), 114);
    assert_eq!(hand.queue(at_ms(30)), waiting(5));
    // the unit has begun anew
    for _ in 0..8 {
        hand.status(at_ms(30), 102);
    }
    assert_eq!(hand.monitor.counts().backward, 8);
    hand.status(at_ms(30), 103);
    assert_eq!(hand.monitor.counts().backward, 8, "it goes on from there");
}

#[test]
fn an_end_marker_ends_a_bearer_and_so_does_a_final_frame() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    let ends = EmulatedBearer::new(7, 70, SnLength::Bits18, Bytes::new(1));
    let marker = packet(CENTRAL, UNIT, &ends.end_marker().expect("a message"));
    hand.monitor
        .on_packet(at_ms(21), &marker.expect("a packet"));
    assert_eq!(hand.monitor.followed(), (0, 0));
    hand.begin(0);
    assert_eq!(
        hand.monitor.followed(),
        (1, 1),
        "the tunnels are another bearer's"
    );
    hand.status_with(at_ms(30), |status| status.is_final = true);
    assert_eq!(hand.monitor.followed(), (0, 0));
    assert_eq!(hand.monitor.counts().ended, 2);
}

#[test]
fn a_bearer_whose_end_marker_was_lost_is_forgotten() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    hand.monitor.report(at_ms(29_000));
    assert_eq!(hand.monitor.followed(), (1, 1));
    hand.monitor.report(at_ms(30_020));
    assert_eq!(hand.monitor.followed(), (0, 0));
    assert_eq!(hand.monitor.counts().idle, 1);
}

#[test]
fn what_is_lost_on_the_way_down_or_discarded_waits_nowhere() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    hand.status_with(at_ms(20), |status| {
        status.lost = vec![Range { start: 12, end: 13 }];
    });
    assert_eq!(hand.queue(at_ms(20)), waiting(8));
    let discard = |discard_to, discard| {
        Frame::UserData(UserData {
            sequence: 20,
            discard_to,
            discard,
            ..UserData::default()
        })
    };
    let block = DiscardBlock { start: 15, size: 2 };
    hand.frame(at_ms(20), &discard(None, vec![block]), &[]);
    assert_eq!(hand.queue(at_ms(20)), waiting(6));
    hand.frame(at_ms(20), &discard(Some(17), Vec::new()), &[]);
    assert_eq!(hand.queue(at_ms(20)), waiting(2));
}

#[test]
fn packets_that_were_overtaken_and_gaps_are_counted_once() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    for number in [20, 23, 21, 22, 22, 3, 26] {
        hand.data(at_ms(20), number, 0);
    }
    hand.status(at_ms(20), 9);
    // 10 to 23 and 26
    assert_eq!(hand.queue(at_ms(20)), waiting(15));
    assert_eq!(hand.monitor.counts().reused, 0);
}

#[test]
fn what_the_capture_missed_is_no_misfit() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    hand.status(at_ms(30), 25);
    assert_eq!(hand.queue(at_ms(30)), Some(0));
    hand.data(at_ms(31), 26, 0);
    hand.status(at_ms(31), 25);
    assert_eq!(hand.queue(at_ms(31)), waiting(1));
    assert_eq!(hand.monitor.counts().unsent, 0);
}

#[test]
fn a_link_that_is_out_drains_nothing() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    hand.status(at_ms(30), 14);
    hand.status_with(at_ms(30), |status| status.cause = Some(Cause::LinkOutage));
    assert_eq!(hand.queue(at_ms(500)), waiting(5));
    let (_, _, estimate) = hand
        .monitor
        .estimates(at_ms(500))
        .next()
        .expect("the bearer");
    assert_eq!(estimate.expect("known").drain_time(), None);
    hand.status_with(at_ms(500), |status| status.cause = Some(Cause::LinkResume));
    let now = at_ms(504);
    // five packets in 10 ms, as before
    assert_eq!(hand.queue(now), Some(4_500 - 2_000));
    // a status would have come since
    assert_eq!(hand.queue(at_ms(520)), waiting(5));
}

#[test]
fn a_pair_whose_statuses_never_fit_is_taken_apart() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    for _ in 0..8 {
        hand.status(at_ms(21), 100_000);
    }
    assert_eq!(hand.monitor.counts().unsent, 8);
    assert_eq!(hand.monitor.followed(), (1, 0));
    hand.status(at_ms(30), 12);
    hand.status(at_ms(40), 14);
    assert_eq!(hand.monitor.followed(), (1, 1));
    assert_eq!(hand.queue(at_ms(40)), waiting(5));
}

#[test]
fn tunnels_are_distinguished_by_their_numbers() {
    let mut hand = Hand::new(SnLength::Bits18);
    // two bearers that have sent alike; the tunnels upwards are in the other order
    for number in 0..10 {
        for teid in [7, 8] {
            hand.downlink = teid;
            hand.data(at_ms(number), number, teid as usize);
        }
    }
    for (uplink, transmitted) in [(70, 2), (71, 3), (70, 4), (71, 5)] {
        hand.uplink = uplink;
        hand.status(at_ms(20), transmitted);
    }
    assert_eq!(hand.monitor.followed(), (2, 0), "either could be of either");
    for round in 0..3 {
        // the first gets more, the second nothing
        hand.downlink = 7;
        for number in 10 + round * 5..15 + round * 5 {
            hand.data(at_ms(30 + round), number, 7);
        }
        hand.uplink = 71;
        hand.status(at_ms(31 + round), 14 + round * 5);
        hand.uplink = 70;
        hand.status(at_ms(31 + round), 7 + round);
    }
    assert_eq!(hand.monitor.followed(), (2, 2));
    let now = at_ms(33);
    let queues: Vec<u64> = hand
        .monitor
        .estimates(now)
        .map(|(_, _, estimate)| estimate.expect("known").queue.get())
        .collect();
    assert_eq!(queues, [0, 0]);
    hand.downlink = 8;
    hand.data(now, 10, 8);
    let queues: Vec<u64> = hand
        .monitor
        .estimates(now)
        .map(|(_, _, estimate)| estimate.expect("known").queue.get())
        .collect();
    assert_eq!(queues, [0, 1_000], "the second's");
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    // invented tunnels: downwards, whose statuses never come, and upwards
    for teid in 0..5_000 {
        (hand.downlink, hand.uplink) = (1_000 + teid, 100_000 + teid);
        hand.data(at_ms(25), 0, 1);
        hand.status(at_ms(25), 0);
    }
    let (followed, paired) = hand.monitor.followed();
    assert_eq!((followed, paired), (f1u::MAX_BEARERS, 1));
    let too_many = hand.monitor.counts().too_many;
    assert_eq!(too_many, 5_001 - f1u::MAX_BEARERS as u64);
}

#[test]
fn of_too_much_that_is_outstanding_the_longest_ledger_goes() {
    let mut hand = Hand::new(SnLength::Bits18);
    hand.begin(0);
    let mut message = EmulatedBearer::new(8, 80, SnLength::Bits18, Bytes::new(1));
    let message = message.user_data(&ip_packet(1, 60), false);
    let mut packet = packet(CENTRAL, UNIT, &message.expect("a message")).expect("a packet");
    for teid in 1..4_u8 {
        for number in 0..90_000_u32 {
            // the TEID, NR-U's number and PDCP's
            packet[35] = 100 + teid;
            packet[43..46].copy_from_slice(&number.to_be_bytes()[1..]);
            packet[48..51].copy_from_slice(&(0x80_0000 | number).to_be_bytes()[1..]);
            hand.monitor.on_packet(at_ms(25), &packet);
        }
    }
    assert_eq!(hand.monitor.followed().0, 4);
    hand.monitor.report(at_ms(30));
    assert_eq!(
        (hand.monitor.followed().0, hand.monitor.counts().too_many),
        (3, 1)
    );
    hand.status(at_ms(30), 12);
    let mut all = hand.monitor.estimates(at_ms(30));
    let (_, _, kept) = all.find(|of| of.0.teid == 7).expect("it has little");
    assert_eq!(Some(kept.expect("known").queue.get()), waiting(7));
}

#[test]
fn only_units_of_the_cell_are_followed() {
    let mut hand = Hand::new(SnLength::Bits18);
    let mut other = config(SnLength::Bits18);
    other.units = vec![[10, 9, 9, 9].into()];
    hand.monitor = Monitor::new(other);
    hand.begin(0);
    assert_eq!(hand.monitor.followed(), (0, 0));
    let counts = hand.monitor.counts();
    assert_eq!(
        (counts.messages, counts.user_data, counts.statuses),
        (22, 0, 0)
    );
}

#[test]
fn an_emulated_unit_reports_changes_only_and_at_once_when_polled() {
    let mut ends = EmulatedBearer::new(1, 2, SnLength::Bits12, Bytes::new(9));
    let progress = |transmitted| Progress {
        transmitted,
        delivered: 0,
    };
    assert!(ends.status(at_ms(0), progress(0)).is_some(), "the first");
    assert!(
        ends.status(at_ms(20), progress(0)).is_none(),
        "nothing has changed"
    );
    assert!(ends.status(at_ms(21), progress(1)).is_some());
    assert!(ends.status(at_ms(25), progress(2)).is_none(), "not yet");
    ends.user_data(&[0; 20], true).expect("a message");
    assert!(ends.status(at_ms(25), progress(2)).is_some(), "polled");
    assert_eq!(ends.next_status(), at_ms(35));
    assert!(ends.user_data(&[0; 70_000], false).is_none());
    assert_eq!(ends.sent(), 1);
}

/// Anything that could pass.
#[derive(Clone, Debug)]
enum Passing {
    Data(u64, usize),
    Status(u64),
    Lost(u32, u32),
    Discard(u32, u8),
    End,
    Bytes(Vec<u8>),
}

fn passing() -> impl Strategy<Value = Passing> {
    prop_oneof![
        4 => (0..40_u64, 0..3_usize).prop_map(|(number, ue)| Passing::Data(number, ue)),
        1 => (any::<u32>(), 0..3_usize).prop_map(|(number, ue)| Passing::Data(number.into(), ue)),
        4 => (0..40_u64).prop_map(Passing::Status),
        1 => any::<u32>().prop_map(|number| Passing::Status(number.into())),
        1 => (0..40_u32, 0..40_u32).prop_map(|(start, end)| Passing::Lost(start, end)),
        1 => (0..40_u32, any::<u8>()).prop_map(|(start, size)| Passing::Discard(start, size)),
        1 => Just(Passing::End),
        1 => vec(any::<u8>(), 0..80).prop_map(Passing::Bytes),
    ]
}

proptest! {
    #[test]
    fn whatever_passes_queues_are_of_what_was_sent(
        passing in vec((passing(), 0..2_u32), 0..200),
        is_short in any::<bool>(),
    ) {
        let length = if is_short { SnLength::Bits12 } else { SnLength::Bits18 };
        let mut hand = Hand::new(length);
        let (mut sent, mut served) = (0, 0);
        for (step, (passing, bearer)) in passing.into_iter().enumerate() {
            let now = at_us(step as u64 * 700);
            (hand.downlink, hand.uplink) = (7 + bearer, 70 + bearer);
            match passing {
                Passing::Data(number, ue) => {
                    hand.data(now, number, ue);
                    sent += 1_000;
                }
                Passing::Status(number) => hand.status(now, number),
                Passing::Lost(start, end) => hand.status_with(now, |status| {
                    status.lost = vec![Range { start, end }];
                }),
                Passing::Discard(start, size) => {
                    let frame = Frame::UserData(UserData {
                        discard: vec![DiscardBlock { start, size }],
                        ..UserData::default()
                    });
                    hand.frame(now, &frame, &[]);
                }
                Passing::End => {
                    let ends = EmulatedBearer::new(hand.downlink, 0, length, Bytes::new(1));
                    let marker = packet(CENTRAL, UNIT, &ends.end_marker().expect("a message"));
                    hand.monitor.on_packet(now, &marker.expect("a packet"));
                }
                Passing::Bytes(bytes) => {
                    let packet = packet(UNIT, CENTRAL, &bytes).expect("a packet");
                    hand.monitor.on_packet(now, &packet);
                    hand.monitor.on_packet(now, &bytes);
                }
            }
            let report = hand.monitor.report(now);
            prop_assert!(rnis::intake::CheckedReport::new(report.clone()).is_ok());
            for ue in &report.ues {
                served += ue.served_bytes.get();
                prop_assert!(ue.rlc_queue_bytes.get() + served <= sent);
            }
        }
    }
}
