//! Nothing is allocated for a packet once a queue is as large as it gets.

use crate::harness::{Numbered, backpressures, disciplines, rng};
use queue::{BackpressureConfig, Capacity, Ecn, Queue, QueueConfig, QueueManagement, Slot};
use units::{Bytes, Duration, Instant, Packets};

/// So many packets of 1000 flows in turn, 1 us apart, keeping `waiting` packets: one leaves for one
/// that comes; each thousandth time a slot is served.
fn pass(queue: &mut Queue<Numbered>, from: usize, packets: usize, waiting: usize) {
    for id in from..from + packets {
        let now = Instant::from_nanos(id as u64 * 1000);
        let packet = Numbered {
            id,
            bytes: 60 + id as u64 * 7 % 1400,
            flow: id as u64 % 1000,
            ecn: if id % 3 == 0 { Ecn::Ect1 } else { Ecn::NotEct },
        };
        let _ = queue.enqueue(now, packet);
        if queue.occupancy().packets > waiting {
            let _ = queue.dequeue(now, Bytes::MAX, &mut |_| ());
        }
        if id % 1000 == 0 {
            let slot = Slot {
                remaining: queue.occupancy(),
                capacity: Bytes::new(100_000),
                tti: Duration::from_millis(1),
            };
            queue.on_slot(now, slot);
            queue.on_blocked(now);
        }
        let _ = queue.room(now);
    }
}

/// Allocations of 50,000 packets after 50,000 others.
fn steady_allocations(config: &QueueConfig, waiting: usize) -> u64 {
    let mut queue = config.build(rng(1)).expect("a configuration that works");
    pass(&mut queue, 0, 50_000, waiting);
    let counted = allocation_counter::measure(|| pass(&mut queue, 50_000, 50_000, waiting));
    counted.count_total
}

#[test]
fn no_discipline_allocates_for_a_packet() {
    let capacities = [
        (Capacity::Unlimited, 10_000),
        // always full: every packet makes others drop
        (Capacity::Packets(Packets::new(10_000)), usize::MAX),
        (Capacity::Bytes(Bytes::new(5_000_000)), usize::MAX),
    ];
    for (name, discipline) in disciplines() {
        for (capacity, waiting) in capacities {
            let config = QueueConfig {
                discipline: discipline.clone(),
                capacity,
                backpressure: BackpressureConfig::None,
            };
            let allocations = steady_allocations(&config, waiting);
            assert_eq!(allocations, 0, "{name}, {capacity:?}");
        }
    }
}

#[test]
fn no_backpressure_allocates_for_a_packet() {
    for (name, backpressure) in backpressures() {
        let config = QueueConfig {
            backpressure,
            ..QueueConfig::drop_tail(Capacity::Unlimited)
        };
        assert_eq!(steady_allocations(&config, 100), 0, "{name}");
    }
}

#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| {
        std::hint::black_box(Vec::<u64>::with_capacity(8));
    });
    assert_eq!(counted.count_total, 1);
}
