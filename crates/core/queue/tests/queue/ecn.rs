//! Marks in the place of drops.

use crate::harness::{Numbered, disciplines, rng};
use queue::{BackpressureConfig, Capacity, DisciplineConfig, Ecn, QueueConfig, QueueManagement};
use units::{Bytes, Duration, Instant};

/// Twice as many packets come as leave for 2 s: (sent, marked, dropped).
fn overloaded(discipline: &DisciplineConfig, ecn: Ecn) -> (u32, u32, u32) {
    let config = QueueConfig {
        discipline: discipline.clone(),
        capacity: Capacity::Unlimited,
        backpressure: BackpressureConfig::None,
    };
    let mut queue = config.build(rng(1)).expect("a configuration that works");
    let (mut sent, mut marked, mut dropped) = (0, 0, 0);
    for ms in 0..2000 {
        let now = Instant::ZERO + Duration::from_millis(ms);
        for id in 0..2 {
            let packet = Numbered {
                id,
                bytes: 1500,
                flow: 3,
                ecn,
            };
            dropped += u32::from(queue.enqueue(now, packet).is_err());
        }
        if let Some(next) = queue.dequeue(now, Bytes::MAX, &mut |_| dropped += 1) {
            sent += 1;
            marked += u32::from(next.packet.ecn == Ecn::Ce);
        }
    }
    (sent, marked, dropped)
}

/// Whether the discipline is to mark packets of flow 3, without limit and before overload.
fn marks(name: &str) -> bool {
    name != "drop-tail" && !drops_instead(name) && !name.starts_with("sfq")
}

/// Whether it drops what could be marked.
fn drops_instead(name: &str) -> bool {
    matches!(name, "codel without ecn" | "codel of the emulator")
}

#[test]
fn what_can_be_marked_is_not_dropped_but_on_overload_of_the_dual_queue() {
    for (name, discipline) in disciplines() {
        // in these classes flow 3 comes to FQ-CoDel and to DualPI2
        let (_, marked, dropped) = overloaded(&discipline, Ecn::Ect0);
        if name.starts_with("dualpi2") || name == "weighted classes" {
            assert!(marked > 0 && dropped > 0, "{name}: {marked} {dropped}");
        } else if drops_instead(name) {
            assert!(marked == 0 && dropped > 0, "{name}: {marked} {dropped}");
        } else {
            assert_eq!((marked > 0, dropped), (marks(name), 0), "{name}");
        }
    }
}

#[test]
fn what_cannot_be_marked_is_dropped() {
    for (name, discipline) in disciplines() {
        let (_, marked, dropped) = overloaded(&discipline, Ecn::NotEct);
        assert_eq!(marked, 0, "{name}");
        assert_eq!(dropped > 0, marks(name) || drops_instead(name), "{name}");
    }
}

#[test]
fn the_dual_queue_marks_a_scalable_flow_far_more_often_than_a_classic_one() {
    for (name, discipline) in disciplines() {
        if !name.starts_with("dualpi2") {
            continue;
        }
        let (_, classic, _) = overloaded(&discipline, Ecn::Ect0);
        let (_, scalable, _) = overloaded(&discipline, Ecn::Ect1);
        assert!(scalable > 2 * classic, "{name}: {scalable} {classic}");
    }
}
