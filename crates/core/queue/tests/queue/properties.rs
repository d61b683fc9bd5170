//! What holds for every queue, whatever happens to it.

use crate::harness::{Numbered, all, backpressures, rng};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use queue::{
    Capacity, DisciplineConfig, Ecn, Occupancy, Packet as _, Queue, QueueConfig, QueueManagement,
    Slot,
};
use std::collections::BTreeMap;
use units::{Bytes, Duration, Instant, Packets};

/// What happens next, and how much later.
#[derive(Clone, Debug)]
enum Event {
    Arrive { flow: u64, bytes: u64 },
    Leave { budget: u64 },
    Slot { capacity: u64 },
    Blocked,
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![
        5 => (0u64..12, 40u64..1501).prop_map(|(flow, bytes)| Event::Arrive { flow, bytes }),
        4 => (0u64..4000).prop_map(|budget| Event::Leave { budget }),
        1 => (0u64..20_000).prop_map(|capacity| Event::Slot { capacity }),
        1 => Just(Event::Blocked),
    ];
    prop::collection::vec((0u64..8_000, event), 1..400)
}

/// The codepoint of all packets of a flow.
fn ecn_of(flow: u64) -> Ecn {
    [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][(flow % 3) as usize]
}

/// A queue and what should be in it.
struct Watched {
    queue: Queue<Numbered>,
    now: Instant,
    inside: BTreeMap<usize, Numbered>,
    next_id: usize,
    /// The last packet of each flow that has left.
    last: BTreeMap<u64, usize>,
    /// What left, what was dropped, in order.
    left: Vec<usize>,
    dropped: Vec<usize>,
}

impl Watched {
    fn new(config: &QueueConfig, seed: u64) -> Self {
        Self {
            queue: config.build(rng(seed)).expect("a configuration that works"),
            now: Instant::ZERO,
            inside: BTreeMap::new(),
            next_id: 0,
            last: BTreeMap::new(),
            left: Vec::new(),
            dropped: Vec::new(),
        }
    }

    fn drop(&mut self, packet: Numbered) -> TestCaseResult {
        let original = self.inside.remove(&packet.id);
        prop_assert_eq!(original.map(|p| p.bytes), Some(packet.bytes));
        self.dropped.push(packet.id);
        Ok(())
    }

    fn arrive(&mut self, flow: u64, bytes: u64) -> TestCaseResult {
        let packet = Numbered {
            id: self.next_id,
            bytes,
            flow,
            ecn: ecn_of(flow),
        };
        self.next_id += 1;
        self.inside.insert(packet.id, packet);
        match self.queue.enqueue(self.now, packet) {
            Ok(()) => Ok(()),
            Err(dropped) => self.drop(dropped),
        }
    }

    fn leave(&mut self, budget: u64) -> TestCaseResult {
        let mut dropped = Vec::new();
        let next = self
            .queue
            .dequeue(self.now, Bytes::new(budget), &mut |p| dropped.push(p));
        for packet in dropped {
            self.drop(packet)?;
        }
        let Some(next) = next else { return Ok(()) };
        let packet = next.packet;
        prop_assert!(packet.bytes <= budget);
        prop_assert!(next.enqueued_at <= self.now);
        let original = self.inside.remove(&packet.id);
        let Some(original) = original else {
            return Err(TestCaseError::fail(format!("{packet:?} was not inside")));
        };
        let is_marked = packet.ecn == Ecn::Ce && original.ecn != Ecn::NotEct;
        prop_assert!(packet.ecn == original.ecn || is_marked);
        prop_assert_eq!(
            Numbered {
                ecn: original.ecn,
                ..packet
            },
            original
        );
        if let Some(before) = self.last.insert(packet.flow, packet.id) {
            prop_assert!(before < packet.id, "flow {} reordered", packet.flow);
        }
        self.left.push(packet.id);
        Ok(())
    }

    fn check(&mut self, config: &QueueConfig) -> TestCaseResult {
        let held = Occupancy {
            packets: self.inside.len(),
            bytes: self.inside.values().map(|p| p.bytes()).sum(),
        };
        prop_assert_eq!(self.queue.occupancy(), held);
        // without a budget nothing leaves; what was dropped before is handed over
        let left = self.left.len();
        self.leave(0)?;
        prop_assert_eq!(self.left.len(), left);
        let held = self.queue.occupancy();
        match config.capacity {
            Capacity::Packets(limit) => prop_assert!(held.packets as u64 <= limit.get()),
            Capacity::Bytes(limit) => prop_assert!(held.bytes <= limit),
            Capacity::Unlimited => {}
        }
        Ok(())
    }

    fn happen(&mut self, event: &Event) -> TestCaseResult {
        match *event {
            Event::Arrive { flow, bytes } => self.arrive(flow, bytes)?,
            Event::Leave { budget } => self.leave(budget)?,
            Event::Slot { capacity } => {
                let slot = Slot {
                    remaining: self.queue.occupancy(),
                    capacity: Bytes::new(capacity),
                    tti: Duration::from_millis(1),
                };
                self.queue.on_slot(self.now, slot);
            }
            Event::Blocked => self.queue.on_blocked(self.now),
        }
        let ready = self.queue.ready(self.now);
        prop_assert!(ready.packets <= self.queue.occupancy().packets);
        let _ = self.queue.room(self.now);
        Ok(())
    }

    /// Everything that can leave does.
    fn drain(&mut self) -> TestCaseResult {
        while self.queue.occupancy().packets > 0 {
            let before = self.queue.occupancy();
            self.now += Duration::from_micros(100);
            self.leave(u64::MAX)?;
            prop_assert!(self.queue.occupancy().packets < before.packets, "stuck");
        }
        prop_assert!(self.inside.is_empty());
        prop_assert_eq!(self.left.len() + self.dropped.len(), self.next_id);
        Ok(())
    }
}

fn run(config: &QueueConfig, seed: u64, events: &[(u64, Event)]) -> Result<Watched, TestCaseError> {
    let mut watched = Watched::new(config, seed);
    for (later, event) in events {
        watched.now += Duration::from_micros(*later);
        watched.happen(event)?;
        watched.check(config)?;
    }
    watched.drain()?;
    Ok(watched)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What goes in comes out or is dropped, once; a flow stays in order; capacity and budget are
    /// kept; only what can be marked is marked.
    #[test]
    fn every_queue_conserves_its_packets_and_the_order_of_flows(events in events()) {
        for (name, config) in all() {
            let outcome = run(&config, 1, &events);
            if let Err(error) = outcome {
                return Err(TestCaseError::fail(format!("{name}: {error}")));
            }
        }
    }

    #[test]
    fn a_seed_repeats_every_decision(events in events(), seed: u64) {
        for (name, config) in all() {
            let (one, two) = (run(&config, seed, &events)?, run(&config, seed, &events)?);
            prop_assert_eq!((one.left, one.dropped), (two.left, two.dropped), "{}", name);
        }
    }

    /// Once its queue is empty and a slot has passed, every limiter is open.
    #[test]
    fn a_limiter_never_closes_for_good(events in events()) {
        for (name, backpressure) in backpressures() {
            let config = QueueConfig {
                discipline: DisciplineConfig::DropTail,
                capacity: Capacity::Unlimited,
                backpressure,
            };
            let mut watched = run(&config, 1, &events)?;
            let tti = Duration::from_millis(1);
            let nothing = Occupancy::default();
            let slot = Slot { remaining: nothing, capacity: Bytes::new(15_000), tti };
            watched.queue.on_slot(watched.now, slot);
            let room = watched.queue.room(watched.now + tti);
            prop_assert!(room.admits(), "{}: {:?}", name, room);
        }
    }
}

#[test]
fn another_seed_is_another_run() {
    let arrivals = (0..200).map(|n| {
        (
            10,
            Event::Arrive {
                flow: n % 12,
                bytes: 1500,
            },
        )
    });
    let leaves = (0..200).map(|_| (100, Event::Leave { budget: 4000 }));
    let events: Vec<_> = arrivals.chain(leaves).collect();
    let differing = |name: &str| {
        let (_, config) = all()
            .into_iter()
            .find(|(n, _)| n.starts_with(name))
            .expect("a queue of that name");
        let order = |seed| run(&config, seed, &events).map(|watched| watched.left);
        (2..6)
            .filter(|&seed| order(seed).ok() != order(1).ok())
            .count()
    };
    for hashed in ["fq-codel of three", "sfq by bytes", "red, gentle"] {
        assert!(differing(hashed) >= 3, "{hashed}");
    }
    for plain in ["drop-tail", "codel", "dualpi2"] {
        assert_eq!(differing(plain), 0, "{plain}");
    }
}

#[test]
fn a_queue_without_capacity_is_refused() {
    for (name, config) in all() {
        let none = QueueConfig {
            capacity: Capacity::Packets(Packets::ZERO),
            ..config
        };
        let rejected = none.build::<Numbered>(rng(1)).map(drop).unwrap_err();
        assert_eq!(
            rejected.to_string(),
            "queue capacity is zero, expected at least one packet",
            "{name}"
        );
    }
}
