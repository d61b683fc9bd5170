//! Packets that leave beyond the window.

use crate::path::{AckOutcome, Acknowledgement, Sender, SenderConfig, SentPacket};
use crate::seq::SeqNo;
use units::{Bytes, Duration, Instant, Packets, Streams};

const SIZE: Bytes = Bytes::new(1_500);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn packet(number: u64) -> SentPacket {
    SentPacket {
        seq: SeqNo::new(number),
        bytes: Bytes::new(600),
        mp_seq: None,
        is_data: true,
    }
}

/// Ten packets fill the window, and five have left beyond it.
fn full() -> Sender {
    let build = cc::BuildConfig {
        mss: SIZE,
        initial_window: SIZE * 10,
    };
    let controller = cc::build("newreno", build).expect("known");
    let rng = Streams::new(1).stream("beyond");
    let mut sender = Sender::new(controller, SenderConfig::default(), rng);
    for number in 1..=10 {
        sender.on_sent(at(0), &packet(number));
    }
    assert!(sender.room().is_zero());
    for number in 11..=15 {
        assert!(!sender.room_beyond(Packets::new(5)).is_zero());
        sender.on_sent_beyond(at(0), &packet(number));
    }
    sender
}

#[test]
fn what_is_beyond_the_window_has_a_bound_and_does_not_count() {
    let sender = full();
    assert!(sender.room_beyond(Packets::new(5)).is_zero());
    assert_eq!(sender.in_flight(), Packets::new(15));
    assert_eq!(sender.bytes_in_flight(), SIZE * 10);
}

/// It is acknowledged and found lost as the others, and gives room beyond the window again.
#[test]
fn what_is_beyond_the_window_arrives_and_is_lost_as_the_rest() {
    let mut sender = full();
    let mut outcome = AckOutcome::default();
    let acknowledge = |sender: &mut Sender, ms, ack, outcome: &mut AckOutcome| {
        let ack = Acknowledgement {
            ack: SeqNo::new(ack),
            vector: None,
            elapsed: None,
        };
        sender.on_ack(at(ms), &ack, outcome);
    };
    // one of the window, then three beyond it, the last of them behind two that are missing
    acknowledge(&mut sender, 20, 1, &mut outcome);
    for number in [11, 12, 15] {
        acknowledge(&mut sender, 20, number, &mut outcome);
        assert!(outcome.acked.len() == 1 && outcome.acked[0].is_data);
    }
    assert_eq!(sender.room_beyond(Packets::new(5)), Packets::new(3));
    assert_eq!(sender.bytes_in_flight(), SIZE * 9);
    sender.on_deadline(at(10_000), &mut outcome);
    let lost = outcome.lost.iter().filter(|info| info.is_data);
    assert_eq!(lost.count(), 11);
    assert_eq!(sender.in_flight(), Packets::ZERO);
    assert_eq!(sender.room_beyond(Packets::new(5)), Packets::new(5));
    assert_eq!(sender.counters().acked, Packets::new(4));
}
