//! What holds for any feedback: reordered, duplicated, about packets that were never sent, without any time between.

use crate::link::{Kind, controller, limits};
use media::{EncodedFrame, Feedback, MediaController, PacketReport, Received, SentPacket};
use proptest::prelude::*;
use units::{Bytes, Duration, Ecn, Instant};

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Send(u64),
    Frame(u64, u64),
    Report(u64, Vec<(u64, Option<(u64, u8)>)>),
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0u64..100_000_000, any::<u64>()]
}

fn step() -> impl Strategy<Value = Step> {
    let packet = (
        prop_oneof![0u64..200, any::<u64>()],
        prop::option::of((time(), 0u8..4)),
    );
    prop_oneof![
        2 => prop_oneof![Just(0), 0u64..100_000_000].prop_map(Step::Wait),
        6 => (0u64..2000).prop_map(Step::Send),
        1 => (time(), time()).prop_map(|(bytes, delay)| Step::Frame(bytes, delay)),
        3 => (time(), prop::collection::vec(packet, 0..20))
            .prop_map(|(made_at, packets)| Step::Report(made_at, packets)),
    ]
}

fn check(controller: &dyn MediaController) -> Result<(), TestCaseError> {
    let target = controller.target_bitrate();
    prop_assert!(
        target >= limits().min() && target <= limits().max(),
        "{target}"
    );
    prop_assert!(controller.pacing_rate() >= target);
    // it never stops for good
    let opens = controller.window_opens_at(Bytes::new(1200));
    prop_assert!(opens < Instant::MAX);
    Ok(())
}

proptest! {
    #[test]
    fn the_rate_stays_within_its_limits(steps in prop::collection::vec(step(), 1..200)) {
        for kind in [Kind::Gcc, Kind::Scream, Kind::ScreamL4s] {
            let mut controller = controller(kind);
            let (mut now, mut seq) = (Instant::ZERO, 0);
            for step in &steps {
                match step {
                    Step::Wait(ns) => now += Duration::from_nanos(*ns),
                    Step::Send(bytes) => {
                        let bytes = Bytes::new(*bytes);
                        controller.on_packet_sent(now, SentPacket { seq, bytes });
                        seq += 1;
                    }
                    Step::Frame(bytes, delay) => controller.on_frame(EncodedFrame {
                        bytes: Bytes::new(*bytes),
                        queue_delay: Duration::from_nanos(*delay),
                    }),
                    Step::Report(made_at, packets) => {
                        let packets = packets.iter().map(|&(seq, received)| PacketReport {
                            seq,
                            received: received.map(|(at, ecn)| Received {
                                at: Instant::from_nanos(at),
                                ecn: Ecn::from_bits(ecn),
                            }),
                        });
                        let feedback = Feedback {
                            made_at: Instant::from_nanos(*made_at),
                            packets: packets.collect(),
                        };
                        controller.on_feedback(now, &feedback);
                        // the same again changes nothing that it may not
                        controller.on_feedback(now, &feedback);
                    }
                }
                check(&*controller)?;
            }
        }
    }
}
