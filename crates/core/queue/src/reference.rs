//! FQ-CoDel and SFQ once more, as plainly as their texts have them, for tests: a queue of packets for each
//! flow, rings that are lists, CoDel's law at every packet. The real ones give and drop the same packets in
//! the same order.

use crate::codel::DropLaw;
use crate::fifo::try_mark;
use crate::flows::hash;
use crate::test_packet::TestPacket;
use crate::{
    Capacity, CoDelConfig, Dequeued, Ecn, FqCoDel, FqCoDelConfig, Occupancy, Packet,
    QueueManagement, Sfq, SfqConfig, Turn,
};
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Packets, Rng, Streams};

/// One flow queue.
#[derive(Clone, Default)]
struct Flow {
    packets: VecDeque<Dequeued<TestPacket>>,
    law: DropLaw,
    deficit: i64,
    is_waiting: bool,
}

impl Flow {
    fn bytes(&self) -> u64 {
        self.packets.iter().map(|entry| entry.packet.bytes).sum()
    }
}

/// What all queues have in common.
struct Common {
    capacity: Capacity,
    salt: u64,
    flows: Vec<Flow>,
    condemned: VecDeque<TestPacket>,
}

impl Common {
    fn new(queues: u32, capacity: Capacity, salt: u64) -> Self {
        Self {
            capacity,
            salt,
            flows: vec![Flow::default(); queues as usize],
            condemned: VecDeque::new(),
        }
    }

    fn held(&self) -> Occupancy {
        Occupancy {
            packets: self.flows.iter().map(|flow| flow.packets.len()).sum(),
            bytes: Bytes::new(self.flows.iter().map(Flow::bytes).sum()),
        }
    }

    fn occupancy(&self) -> Occupancy {
        let held = self.held();
        let condemned: u64 = self.condemned.iter().map(|packet| packet.bytes).sum();
        Occupancy {
            packets: held.packets + self.condemned.len(),
            bytes: held.bytes + Bytes::new(condemned),
        }
    }

    /// Into its queue, whose number is given if it was empty and is not any more; what is given back.
    fn enqueue(
        &mut self,
        now: Instant,
        packet: TestPacket,
    ) -> (Option<usize>, Result<(), TestPacket>) {
        if !self.capacity.admits(Occupancy::default(), packet.bytes()) {
            return (None, Err(packet));
        }
        let queue = hash(packet.flow, self.salt, self.flows.len());
        let was_empty = self.flows[queue].packets.is_empty();
        self.flows[queue].packets.push_back(Dequeued {
            packet,
            enqueued_at: now,
        });
        while !self.capacity.holds(self.held()) {
            let longest = (0..self.flows.len()).rev();
            let longest = longest.max_by_key(|&queue| self.flows[queue].bytes());
            let longest = longest.expect("a queue");
            let victim = self.flows[longest].packets.pop_front().expect("a packet");
            self.condemned.push_back(victim.packet);
        }
        let began = was_empty && !self.flows[queue].packets.is_empty();
        let given_back = self.condemned.pop_front().map_or(Ok(()), Err);
        (began.then_some(queue), given_back)
    }
}

/// RFC 8290 section 4.
struct PlainFqCoDel {
    config: FqCoDelConfig,
    common: Common,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl QueueManagement<TestPacket> for PlainFqCoDel {
    fn enqueue(&mut self, now: Instant, packet: TestPacket) -> Result<(), TestPacket> {
        let (began, result) = self.common.enqueue(now, packet);
        if let Some(queue) = began
            && !self.common.flows[queue].is_waiting
        {
            let flow = &mut self.common.flows[queue];
            (flow.is_waiting, flow.deficit) = (true, self.config.quantum.get() as i64);
            self.new.push_back(queue);
        }
        result
    }

    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(TestPacket),
    ) -> Option<Dequeued<TestPacket>> {
        self.common.condemned.drain(..).for_each(&mut *dropped);
        loop {
            let is_new = !self.new.is_empty();
            let ring = if is_new { &mut self.new } else { &mut self.old };
            let queue = *ring.front()?;
            let flow = &mut self.common.flows[queue];
            if flow.deficit <= 0 {
                flow.deficit += self.config.quantum.get() as i64;
                ring.pop_front();
                self.old.push_back(queue);
                continue;
            }
            while let Some(head) = flow.packets.front().copied() {
                let bytes = head.packet.bytes();
                if bytes > budget {
                    return None;
                }
                let behind = Bytes::new(flow.bytes()) - bytes;
                let sojourn = now.saturating_since(head.enqueued_at);
                let config = &self.config.codel;
                let mut next = flow.packets.pop_front().expect("the head");
                let signals = flow.law.signals_congestion(config, now, sojourn, behind);
                if !signals || (config.ecn && try_mark(&mut next.packet)) {
                    flow.deficit -= bytes.get() as i64;
                    return Some(next);
                }
                dropped(next.packet);
            }
            flow.law.on_empty();
            ring.pop_front();
            if is_new {
                self.old.push_back(queue);
            } else {
                flow.is_waiting = false;
            }
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.common.occupancy()
    }
}

/// McKenney 1990; Shreedhar and Varghese 1995.
struct PlainSfq {
    config: SfqConfig,
    common: Common,
    ring: VecDeque<usize>,
    perturb_at: Option<Instant>,
    rng: Rng,
}

impl PlainSfq {
    fn wait(&mut self, queue: usize) {
        let flow = &mut self.common.flows[queue];
        flow.is_waiting = true;
        flow.deficit = match self.config.turn {
            Turn::Packet => 1,
            Turn::Bytes(quantum) => quantum.get() as i64,
        };
        self.ring.push_back(queue);
    }

    fn perturb(&mut self, now: Instant) {
        let (Some(at), Some(period)) = (self.perturb_at, self.config.perturb) else {
            return;
        };
        if now < at {
            return;
        }
        let mut next = at;
        while next <= now {
            next += period;
        }
        self.perturb_at = Some(next);
        self.common.salt = self.rng.next_u64();
        self.ring.clear();
        let queues = self.common.flows.len();
        let flows = std::mem::replace(&mut self.common.flows, vec![Flow::default(); queues]);
        for entry in flows.into_iter().flat_map(|flow| flow.packets) {
            let queue = hash(entry.packet.flow, self.common.salt, queues);
            self.common.flows[queue].packets.push_back(entry);
        }
        for queue in 0..queues {
            if !self.common.flows[queue].packets.is_empty() {
                self.wait(queue);
            }
        }
    }
}

impl QueueManagement<TestPacket> for PlainSfq {
    fn enqueue(&mut self, now: Instant, packet: TestPacket) -> Result<(), TestPacket> {
        self.perturb(now);
        let (began, result) = self.common.enqueue(now, packet);
        if let Some(queue) = began
            && !self.common.flows[queue].is_waiting
        {
            self.wait(queue);
        }
        result
    }

    fn dequeue(
        &mut self,
        _now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(TestPacket),
    ) -> Option<Dequeued<TestPacket>> {
        self.common.condemned.drain(..).for_each(&mut *dropped);
        loop {
            let queue = *self.ring.front()?;
            let flow = &mut self.common.flows[queue];
            let Some(head) = flow.packets.front() else {
                self.ring.pop_front();
                flow.is_waiting = false;
                continue;
            };
            let (quantum, cost) = match self.config.turn {
                Turn::Packet => (1, 1),
                Turn::Bytes(quantum) => (quantum.get() as i64, head.packet.bytes as i64),
            };
            if flow.deficit <= 0 {
                flow.deficit += quantum;
                self.ring.rotate_left(1);
                continue;
            }
            if head.packet.bytes() > budget {
                return None;
            }
            flow.deficit -= cost;
            return flow.packets.pop_front();
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.common.occupancy()
    }
}

/// What happens next, and how much later.
#[derive(Clone, Debug)]
enum Event {
    Arrive { flow: u64, bytes: u64 },
    Leave { budget: u64 },
}

/// Between 2 and 0.5 packets come for one that leaves, some of which find no budget.
fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let phase = (1u32..5, 1u32..5, prop::bool::ANY).prop_flat_map(|(come, leave, is_tight)| {
        let budget = if is_tight { 0..3000 } else { 65_000..65_535u64 };
        let event = prop_oneof![
            come => (0u64..12, 40u64..1515).prop_map(|(flow, bytes)| Event::Arrive { flow, bytes }),
            leave => budget.prop_map(|budget| Event::Leave { budget }),
        ];
        prop::collection::vec((0u64..6_000, event), 1..200)
    });
    prop::collection::vec(phase, 1..5).prop_map(|phases| phases.concat())
}

fn capacities() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        Just(Capacity::Unlimited),
        (1u64..60).prop_map(|n| Capacity::Packets(Packets::new(n))),
        (100u64..40_000).prop_map(|n| Capacity::Bytes(Bytes::new(n))),
    ]
}

/// Packets of each of twelve flows, numbered; every third is ECT.
fn packet(flow: u64, bytes: u64, number: u64) -> TestPacket {
    let ecn = [Ecn::NotEct, Ecn::NotEct, Ecn::Ect0][(flow % 3) as usize];
    TestPacket {
        number,
        ..TestPacket::new(bytes).of_flow(flow).with_ecn(ecn)
    }
}

/// The same events to both: the same packets come back, leave and are dropped.
fn compare(
    real: &mut dyn QueueManagement<TestPacket>,
    plain: &mut dyn QueueManagement<TestPacket>,
    events: &[(u64, Event)],
) -> Result<(), TestCaseError> {
    let mut now = Instant::ZERO;
    let drain = (0..2 * events.len()).map(|_| (3_000, Event::Leave { budget: 65_535 }));
    let drain: Vec<_> = drain.collect();
    for (number, (later, event)) in events.iter().chain(&drain).enumerate() {
        now += Duration::from_micros(*later);
        match *event {
            Event::Arrive { flow, bytes } => {
                let packet = packet(flow, bytes, number as u64);
                prop_assert_eq!(real.enqueue(now, packet), plain.enqueue(now, packet));
            }
            Event::Leave { budget } => {
                let (mut one, mut two) = (Vec::new(), Vec::new());
                let budget = Bytes::new(budget);
                let left = real.dequeue(now, budget, &mut |packet| one.push(packet));
                let other = plain.dequeue(now, budget, &mut |packet| two.push(packet));
                prop_assert_eq!((left, one), (other, two));
            }
        }
        prop_assert_eq!(real.occupancy(), plain.occupancy());
    }
    prop_assert_eq!(real.occupancy(), Occupancy::default());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fq_codel_is_as_the_plain_one(
        events in events(),
        capacity in capacities(),
        queues in 1u32..30,
        quantum in 64u64..3_000,
        target_ms in 1u64..20,
        ecn: bool,
        seed: u64,
    ) {
        let codel = CoDelConfig {
            target: Duration::from_millis(target_ms),
            interval: Duration::from_millis(20),
            ecn,
            ..CoDelConfig::default()
        };
        let config = FqCoDelConfig { codel, queues, quantum: Bytes::new(quantum), l4s_threshold: None };
        let rng = || Streams::new(seed).stream("fq");
        let mut real = FqCoDel::new(config.clone(), capacity, &mut rng()).unwrap();
        let mut plain = PlainFqCoDel {
            common: Common::new(queues, capacity, rng().next_u64()),
            config,
            new: VecDeque::new(),
            old: VecDeque::new(),
        };
        compare(&mut real, &mut plain, &events)?;
    }

    #[test]
    fn sfq_is_as_the_plain_one(
        events in events(),
        capacity in capacities(),
        queues in 1u32..30,
        quantum in prop::option::of(64u64..3_000),
        perturb_ms in prop::option::of(1u64..200),
        seed: u64,
    ) {
        let config = SfqConfig {
            queues,
            turn: quantum.map_or(Turn::Packet, |bytes| Turn::Bytes(Bytes::new(bytes))),
            perturb: perturb_ms.map(Duration::from_millis),
        };
        let rng = || Streams::new(seed).stream("sfq");
        let mut real = Sfq::new(config.clone(), capacity, rng()).unwrap();
        let mut salts = rng();
        let mut plain = PlainSfq {
            common: Common::new(queues, capacity, salts.next_u64()),
            ring: VecDeque::new(),
            perturb_at: config.perturb.map(|period| Instant::ZERO + period),
            config,
            rng: salts,
        };
        compare(&mut real, &mut plain, &events)?;
    }
}

/// That the comparison sees CoDel act, new flows and overflows: counted over fixed events.
#[test]
fn the_plain_one_drops_and_marks() {
    let codel = CoDelConfig {
        interval: Duration::from_millis(20),
        ..CoDelConfig::default()
    };
    let mut plain = PlainFqCoDel {
        common: Common::new(4, Capacity::Packets(Packets::new(40)), 1),
        config: FqCoDelConfig {
            codel,
            queues: 4,
            ..FqCoDelConfig::default()
        },
        new: VecDeque::new(),
        old: VecDeque::new(),
    };
    let (mut given_back, mut dropped, mut marked) = (0, 0, 0);
    for number in 0..1_000 {
        let now = Instant::ZERO + Duration::from_millis(number);
        for flow in [number % 12, number % 5] {
            given_back += u32::from(plain.enqueue(now, packet(flow, 1000, number)).is_err());
        }
        let next = plain.dequeue(now, Bytes::MAX, &mut |_| dropped += 1);
        marked += u32::from(next.is_some_and(|next| next.packet.ecn == Ecn::Ce));
    }
    assert!(
        given_back > 0 && dropped > 0 && marked > 0,
        "{given_back} {dropped} {marked}"
    );
}
