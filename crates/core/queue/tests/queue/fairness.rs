//! Shreedhar and Varghese, "Efficient fair queueing using deficit round robin", theorem of section 3:
//! in any interval in which two flows wait, their bytes (over their weights) differ by no more than
//! a quantum and two of the largest packets.

use crate::harness::{Numbered, classes, rng};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use queue::{
    Capacity, ClassScheduler, DisciplineConfig, Ecn, FqCoDelConfig, QueueConfig, QueueManagement,
    SfqConfig, Turn,
};
use units::{Bytes, Instant};

const MAX_PACKET: u64 = 1500;
const FLOWS: usize = 4;

/// The order in which flows are served that all wait all the time, with the bytes of each packet.
/// `sizes` repeat; each flow begins elsewhere in them.
fn served(discipline: DisciplineConfig, sizes: &[u64]) -> Vec<(usize, u64)> {
    let config = QueueConfig {
        discipline,
        capacity: Capacity::Unlimited,
        backpressure: queue::BackpressureConfig::None,
    };
    let mut queue = config.build(rng(1)).expect("a configuration that works");
    let mut sent = [0; FLOWS];
    let mut put = |queue: &mut queue::Queue<Numbered>, flow: usize| {
        let packet = Numbered {
            id: sent[flow],
            bytes: sizes[(sent[flow] * (flow + 1) + flow) % sizes.len()],
            flow: flow as u64,
            ecn: Ecn::NotEct,
        };
        sent[flow] += 1;
        queue.enqueue(Instant::ZERO, packet).expect("no limit");
    };
    for flow in 0..FLOWS {
        put(&mut queue, flow);
        put(&mut queue, flow);
    }
    let mut order = Vec::new();
    for _ in 0..2000 {
        let next = queue.dequeue(Instant::ZERO, Bytes::MAX, &mut |p| panic!("dropped {p:?}"));
        let packet = next.expect("all flows wait").packet;
        order.push((packet.flow as usize, packet.bytes));
        put(&mut queue, packet.flow as usize);
    }
    order
}

/// The largest difference between two sums in any interval: of what each packet gives to `one` and to
/// `other`.
fn largest_difference(gains: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut min, mut max) = (0.0_f64, 0.0_f64, 0.0_f64);
    for gain in gains {
        sum += gain;
        min = min.min(sum);
        max = max.max(sum);
    }
    max - min
}

fn check(order: &[(usize, u64)], weights: &[f64], quantum: u64) -> TestCaseResult {
    let bound = (quantum + 2 * MAX_PACKET) as f64;
    for one in 0..weights.len() {
        for other in 0..one {
            let gain = |&(flow, bytes): &(usize, u64)| {
                if flow == one {
                    bytes as f64 / weights[one]
                } else if flow == other {
                    -(bytes as f64) / weights[other]
                } else {
                    0.0
                }
            };
            let difference = largest_difference(order.iter().map(gain));
            prop_assert!(
                difference <= bound,
                "{one} and {other}: {difference} > {bound}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn fq_codel(sizes in prop::collection::vec(40..=MAX_PACKET, 1..40)) {
        let config = FqCoDelConfig::default();
        let quantum = config.quantum.get();
        let order = served(DisciplineConfig::FqCoDel(config), &sizes);
        check(&order, &[1.0; FLOWS], quantum)?;
    }

    #[test]
    fn sfq_by_bytes(
        sizes in prop::collection::vec(40..=MAX_PACKET, 1..40),
        quantum in 64u64..6000,
    ) {
        let config = SfqConfig { turn: Turn::Bytes(Bytes::new(quantum)), ..SfqConfig::default() };
        let order = served(DisciplineConfig::Sfq(config), &sizes);
        check(&order, &[1.0; FLOWS], quantum)?;
    }

    #[test]
    fn sfq_by_packets(sizes in prop::collection::vec(40..=MAX_PACKET, 1..40)) {
        let order = served(DisciplineConfig::Sfq(SfqConfig::default()), &sizes);
        for round in order.chunks(FLOWS) {
            let mut flows: Vec<_> = round.iter().map(|&(flow, _)| flow).collect();
            flows.sort_unstable();
            prop_assert_eq!(flows, (0..FLOWS).collect::<Vec<_>>());
        }
    }

    #[test]
    fn weighted_classes(sizes in prop::collection::vec(40..=MAX_PACKET, 1..40)) {
        let drop_tail = || DisciplineConfig::DropTail;
        let set = [drop_tail(), drop_tail(), drop_tail()];
        let order = served(classes(ClassScheduler::Weighted, set), &sizes);
        // QFIs 1 and 2 share a class of weight 2; alone the classes have weights 1, 2 and 5
        let classes: Vec<_> = order.iter().map(|&(flow, bytes)| ([0, 1, 1, 2][flow], bytes)).collect();
        check(&classes, &[1.0, 2.0, 5.0], queue::MTU.get())?;
    }
}
