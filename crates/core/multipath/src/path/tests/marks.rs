//! What the controller is given of marks.

use crate::packet::{AckVector, ReceptionState};
use crate::path::{AckOutcome, Acknowledgement, Counting, Sender, SenderConfig, SentPacket};
use crate::seq::SeqNo;
use cc::{AckSample, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, Sent};
use std::sync::{Arc, Mutex};
use units::{BitRate, Bytes, Duration, Instant, Packets, Streams};

/// What a controller was given: acknowledged and marked of each acknowledgement, and events.
#[derive(Debug, Default)]
struct Given {
    acks: Vec<(u64, u64, bool)>,
    events: Vec<LossKind>,
}

#[derive(Clone, Debug)]
struct Recorder(Arc<Mutex<Given>>);

impl CongestionControl for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }
    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        PacketStamp {
            sent_at: cx.now,
            ..PacketStamp::default()
        }
    }
    fn on_ack(&mut self, _cx: &mut Ctx<'_>, ack: &AckSample) {
        let (acked, marked) = (ack.newly_acked.get(), ack.newly_marked.get());
        let mut given = self.0.lock().unwrap();
        given.acks.push((acked, marked, ack.ecn_echo));
    }
    fn on_loss(&mut self, _cx: &mut Ctx<'_>, loss: &LossSample) {
        self.0.lock().unwrap().events.push(loss.kind);
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(1 << 20)
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A sender with packets 1 to 20 in flight, the n-th of 1,000 + n bytes.
fn with_twenty(counting: Counting) -> (Sender, Arc<Mutex<Given>>) {
    let given = Arc::default();
    let config = SenderConfig {
        counting,
        ..SenderConfig::default()
    };
    let rng = Streams::new(1).stream("test");
    let mut sender = Sender::new(Box::new(Recorder(Arc::clone(&given))), config, rng);
    for n in 1..=20 {
        let packet = SentPacket {
            seq: SeqNo::new(n),
            bytes: Bytes::new(1_000 + n),
            mp_seq: None,
            is_data: true,
        };
        sender.on_sent(at(n), &packet);
    }
    (sender, given)
}

/// Acknowledges up to that number by runs, newest first.
fn acknowledge(
    sender: &mut Sender,
    ms: u64,
    newest: u64,
    runs: &[(ReceptionState, u64)],
) -> Packets {
    let mut vector = AckVector::default();
    for &(state, packets) in runs {
        vector.push(state, packets);
    }
    let ack = Acknowledgement {
        ack: SeqNo::new(newest),
        vector: Some(&vector),
        elapsed: None,
    };
    let mut outcome = AckOutcome::default();
    sender.on_ack(at(ms), &ack, &mut outcome);
    outcome.marked
}

/// RFC 4340 11.4: the vector states of each packet whether it was marked; only those are marked.
#[test]
fn rfc_4340_11_4_marked_bytes_are_those_of_the_marked_packets() {
    use ReceptionState::{Marked, NotReceived, Received};
    let (mut sender, given) = with_twenty(Counting::Bytes);
    // 10 9 marked, 8 missing, 7 marked, 6 to 1
    let runs = [(Marked, 2), (NotReceived, 1), (Marked, 1), (Received, 6)];
    assert_eq!(acknowledge(&mut sender, 60, 10, &runs), Packets::new(3));
    let all: u64 = (1..=10).filter(|&n| n != 8).map(|n| 1_000 + n).sum();
    let marked = 1_010 + 1_009 + 1_007;
    assert_eq!(given.lock().unwrap().acks, [(all, marked, true)]);
    // again, with what is new: nothing is counted twice, though an acknowledgement was lost between
    let runs = [(Received, 4), (Marked, 1), (Received, 1), (Marked, 2)];
    assert_eq!(acknowledge(&mut sender, 70, 16, &runs), Packets::new(1));
    let given = given.lock().unwrap();
    let all: u64 = (11..=16).map(|n| 1_000 + n).sum();
    assert_eq!(given.acks[1], (all, 1_012, true));
    assert_eq!(given.events, [LossKind::Ecn], "once a window of data");
}

#[test]
fn counted_packets_are_marked_by_their_count() {
    use ReceptionState::{Marked, Received};
    let (mut sender, given) = with_twenty(Counting::Packets);
    acknowledge(
        &mut sender,
        60,
        20,
        &[(Received, 5), (Marked, 5), (Received, 10)],
    );
    assert_eq!(given.lock().unwrap().acks, [(20 * 1_500, 5 * 1_500, true)]);
}

/// RFC 6040 4.1 copies a mark into the outer field: that it arrives is no signal of the path.
#[test]
fn a_packet_that_has_left_marked_is_no_signal() {
    use ReceptionState::{Marked, Received};
    let (mut sender, given) = with_twenty(Counting::Packets);
    sender.on_sent_marked();
    let runs = [(Marked, 1), (Received, 19)];
    assert_eq!(acknowledge(&mut sender, 60, 20, &runs), Packets::ZERO);
    let given = given.lock().unwrap();
    assert!(given.events.is_empty() && !given.acks[0].2);
    assert_eq!(sender.counters().marked, Packets::ZERO);
}
