//! FQ-CoDel: flows in queues of their own, each under CoDel, served in turn.
//!
//! Source: RFC 8290, section 4. Flows are hashed to queues; a queue that begins to wait is *new* and goes
//! before the *old* ones until it has sent a quantum; turns go round by deficit.
//!
//! *Deviations*
//! - The limit is on what all queues hold, in packets or bytes. Over it, packets are dropped from the
//!   head of the queue with the largest backlog, as many as it takes (section 4.1). Linux drops up to 64 at once to
//!   save time; here the search goes over a dense array. CoDel's `count` does not take part in these
//!   drops.
//! - ECN as in CoDel here. Beside it, as Linux's `ce_threshold` with its selector for ECT(1) (RFC 9331 section 5.4.2),
//!   packets with ECT(1) are marked that have waited longer than `l4s_threshold`; by default there is none.
//! - The RFC hashes the 5-tuple with a secret of the boot; here the number that stands for the flow,
//!   salted by the run's seed.

use crate::codel::{self, DropLaw, FRAME, Head, Source};
use crate::config::Configure;
use crate::fifo::try_mark;
use crate::flows::{FlowQueues, OneQueue, Ring};
use crate::registry::{ANYWHERE, Algorithm, Made, Parameter, Quantity};
use crate::{
    Capacity, CoDelConfig, ConfigError, Dequeued, DisciplineConfig, Ecn, Occupancy, Packet,
    QueueManagement, error,
};
use units::{Bytes, Duration, Instant, Rng};

/// Section 5.2.2 of RFC 8290.
const QUEUES: u32 = 1024;
/// The smallest quantum that does not make the scheduler go round and round for one packet.
const MIN_QUANTUM: Bytes = Bytes::new(64);

/// How FQ-CoDel works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FqCoDelConfig {
    /// CoDel of each queue.
    pub codel: CoDelConfig,
    /// Queues that flows are hashed to, 1 to 65,536.
    pub queues: u32,
    /// Bytes that a flow may send in its turn, at least 64.
    pub quantum: Bytes,
    /// ECT(1) is marked that has waited longer, whatever CoDel does.
    pub l4s_threshold: Option<Duration>,
}

impl Default for FqCoDelConfig {
    /// RFC 8290: 1024 queues, a quantum of 1514 bytes.
    fn default() -> Self {
        Self {
            codel: CoDelConfig::default(),
            queues: QUEUES,
            quantum: FRAME,
            l4s_threshold: None,
        }
    }
}

impl FqCoDelConfig {
    /// # Errors
    /// As [`CoDelConfig::check`]; no queues or too many, a quantum below 64 bytes.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.codel.check()?;
        check_flows(self.queues, self.quantum)
    }
}

pub(crate) const FLOWS_KEY: &Parameter = &Parameter::new(
    "fq-flows",
    Quantity::Count,
    "1024",
    (1.0, 65_536.0),
    "FQ-CoDel, SFQ: queues that flows are hashed to (RFC 8290 5.2.3).",
);
pub(crate) const QUANTUM_KEY: &Parameter = &Parameter::new(
    "quantum",
    Quantity::Bytes,
    "1514 B",
    (64.0, 65_535.0),
    "FQ-CoDel, `default`: bytes that a flow may send in a round (RFC 8290 5.2.2).",
);
const L4S_KEY: &Parameter = &Parameter::new(
    "fq-l4s-threshold",
    Quantity::Duration,
    "0 s",
    (0.0, 10.0),
    "FQ-CoDel: packets with ECT(1) that have waited longer are marked at once (RFC 9331 5.4.2; Linux: `ce_threshold`); zero: they are as others.",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "fq-codel",
    title: "FQ-CoDel",
    places: ANYWHERE,
    is_aqm: true,
    is_backpressure: false,
    parameters: &[
        codel::TARGET_KEY,
        codel::INTERVAL_KEY,
        FLOWS_KEY,
        QUANTUM_KEY,
        L4S_KEY,
    ],
    make: |values| {
        let l4s_threshold = values.duration(L4S_KEY);
        Made::Discipline(DisciplineConfig::FqCoDel(FqCoDelConfig {
            codel: CoDelConfig::of(values),
            queues: values.count(FLOWS_KEY),
            quantum: values.bytes(QUANTUM_KEY),
            l4s_threshold: (!l4s_threshold.is_zero()).then_some(l4s_threshold),
        }))
    },
};

impl Configure for FqCoDelConfig {
    type Queue<P: Packet + Send> = FqCoDel<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, _ratio: f64) {}
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        rng: &mut Rng,
    ) -> Result<FqCoDel<P>, ConfigError> {
        FqCoDel::new(self.clone(), capacity, rng)
    }
}

/// Rejects a number of queues or a quantum that cannot work.
pub(crate) fn check_flows(queues: u32, quantum: Bytes) -> Result<(), ConfigError> {
    error::expect(
        (1..=65_536).contains(&queues),
        "number of flow queues",
        &queues,
        "1 to 65,536",
    )?;
    error::expect(quantum >= MIN_QUANTUM, "quantum", &quantum, "at least 64 B")
}

/// A queue's law [`DropLaw::is_calm`]: as long as its packets wait less than the target, it need not be looked
/// at.
#[derive(Clone, Copy, Debug)]
struct IsCalm(bool);

/// The queues of all flows.
#[derive(Debug)]
pub struct FqCoDel<P> {
    config: FqCoDelConfig,
    capacity: Capacity,
    quantum: i64,
    flows: FlowQueues<P, IsCalm>,
    /// CoDel of each queue. Apart from the queues, since most turns go without.
    laws: Vec<DropLaw>,
    new: Ring,
    old: Ring,
}

impl<P: Packet> Source<P> for OneQueue<'_, P, IsCalm> {
    #[inline]
    fn front(&self) -> Option<&Dequeued<P>> {
        self.front()
    }
    fn mark_front(&mut self) -> bool {
        self.front_mut().is_some_and(try_mark)
    }
    #[inline]
    fn pop(&mut self) -> Option<Dequeued<P>> {
        self.pop()
    }
    #[inline]
    fn bytes(&self) -> Bytes {
        self.backlog()
    }
}

/// Bytes as a deficit.
pub(crate) fn deficit_of(bytes: Bytes) -> i64 {
    i64::try_from(bytes.get()).unwrap_or(i64::MAX)
}

impl<P: Packet> FqCoDel<P> {
    /// Empty queues; `rng` gives the salt of the hash.
    ///
    /// # Errors
    /// As [`FqCoDelConfig::check`]; a capacity of zero.
    pub fn new(
        config: FqCoDelConfig,
        capacity: Capacity,
        rng: &mut Rng,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            capacity,
            quantum: deficit_of(config.quantum),
            flows: FlowQueues::new(config.queues, rng.next_u64(), IsCalm(true)),
            laws: vec![DropLaw::default(); config.queues as usize],
            new: Ring::EMPTY,
            old: Ring::EMPTY,
            config,
        })
    }

    /// CoDel of all queues tolerates so long a sojourn from now on (RFC 8289 section 4.4): for a driver that finds out
    /// meanwhile how the link varies. Zero changes nothing.
    pub fn set_target(&mut self, target: Duration) {
        if !target.is_zero() {
            self.config.codel.target = target;
        }
    }

    /// Goes on with another limit and threshold; what waits stays. Where more waits than the new limit, the next packet that
    /// comes has it kept.
    ///
    /// # Errors
    /// A capacity of zero: nothing is changed.
    pub fn configure(
        &mut self,
        capacity: Capacity,
        l4s_threshold: Option<Duration>,
    ) -> Result<(), ConfigError> {
        capacity.check()?;
        self.capacity = capacity;
        self.config.l4s_threshold = l4s_threshold;
        Ok(())
    }

    /// A queue that has a packet takes its place among the new ones, unless it still has one.
    fn wait(&mut self, queue: usize) {
        let flow = self.flows.queue_mut(queue);
        if !flow.is_waiting {
            flow.is_waiting = true;
            flow.deficit = self.quantum;
            self.new.push(&mut self.flows, queue);
        }
    }
}

/// RFC 9331 section 5.4.2: the codepoint chooses a shallower threshold.
fn mark_l4s<P: Packet>(next: &mut Dequeued<P>, now: Instant, threshold: Duration) {
    let sojourn = now.saturating_since(next.enqueued_at);
    if next.packet.ecn() == Ecn::Ect1 && sojourn > threshold {
        next.packet.mark();
    }
}

/// What stands at the head of a queue, after CoDel has dropped and marked.
#[inline(always)]
fn head_of<P: Packet>(
    packets: &mut OneQueue<'_, P, IsCalm>,
    law: &mut DropLaw,
    config: &CoDelConfig,
    now: Instant,
    budget: Bytes,
    dropped: &mut dyn FnMut(P),
) -> Head {
    if packets.queue.state.0 {
        let Some(head) = packets.front() else {
            return Head::Empty;
        };
        let bytes = head.packet.bytes();
        let sojourn = now.saturating_since(head.enqueued_at);
        let behind = packets.backlog().saturating_sub(bytes);
        if bytes <= budget && config.is_short(sojourn, behind) {
            return Head::Ready(bytes);
        }
    }
    let head = codel::prepare(packets, law, config, now, budget, dropped);
    packets.queue.state.0 = law.is_calm();
    head
}

impl<P: Packet + Send> QueueManagement<P> for FqCoDel<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if !self.capacity.admits(Occupancy::default(), packet.bytes()) {
            return Err(packet);
        }
        let queue = self.flows.queue_of(&packet);
        self.flows.push(queue, now, packet);
        if self.flows.is_over(self.capacity) {
            let result = self.flows.shed(self.capacity);
            if !self.flows.queue(queue).is_empty() {
                self.wait(queue);
            }
            return result;
        }
        self.wait(queue);
        Ok(())
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        self.flows.hand_over(dropped);
        loop {
            let is_new = self.new.first().is_some();
            let ring = if is_new { &mut self.new } else { &mut self.old };
            let queue = ring.first()?;
            let mut packets = self.flows.open(queue);
            if packets.queue.deficit <= 0 {
                packets.queue.deficit += self.quantum;
                ring.pop(&self.flows);
                self.old.push(&mut self.flows, queue);
                continue;
            }
            let (law, config) = (&mut self.laws[queue], &self.config.codel);
            match head_of(&mut packets, law, config, now, budget, dropped) {
                Head::Ready(bytes) => {
                    packets.queue.deficit -= deficit_of(bytes);
                    let mut next = packets.take(bytes);
                    if let (Some(threshold), Some(next)) = (self.config.l4s_threshold, &mut next) {
                        mark_l4s(next, now, threshold);
                    }
                    return next;
                }
                Head::TooLarge => return None,
                // section 4.2: an emptied new queue waits among the old ones, so that a flow that
                // sends now and then cannot starve them
                Head::Empty if is_new => {
                    ring.pop(&self.flows);
                    self.old.push(&mut self.flows, queue);
                }
                Head::Empty => {
                    packets.queue.is_waiting = false;
                    ring.pop(&self.flows);
                }
            }
        }
    }

    #[inline]
    fn occupancy(&self) -> Occupancy {
        self.flows.occupancy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet::TestPacket;
    use units::{Duration, Packets, Streams};

    fn fq(capacity: Capacity) -> FqCoDel<TestPacket> {
        let mut rng = Streams::new(1).stream("fq");
        FqCoDel::new(FqCoDelConfig::default(), capacity, &mut rng).unwrap()
    }
    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }
    fn next_flow(fq: &mut FqCoDel<TestPacket>) -> Option<u64> {
        let next = fq.dequeue(at_ms(0), Bytes::MAX, &mut |_| panic!("dropped"));
        next.map(|next| next.packet.flow)
    }

    #[test]
    fn section_4_2_a_new_flow_goes_first_for_a_quantum() {
        let mut fq = fq(Capacity::Unlimited);
        let mut put = |flow, n| {
            for _ in 0..n {
                let packet = TestPacket::new(1514).of_flow(flow);
                fq.enqueue(at_ms(0), packet).unwrap();
            }
        };
        put(1, 10);
        put(2, 10);
        let both: Vec<_> = (0..4).filter_map(|_| next_flow(&mut fq)).collect();
        assert_eq!(both, [1, 2, 1, 2]);
        for _ in 0..3 {
            fq.enqueue(at_ms(0), TestPacket::new(700).of_flow(3))
                .unwrap();
        }
        // 700 x 3 is above a quantum with the third packet, which the deficit still admits
        let then: Vec<_> = (0..5).filter_map(|_| next_flow(&mut fq)).collect();
        assert_eq!(then, [3, 3, 3, 1, 2]);
    }

    #[test]
    fn section_4_2_an_emptied_new_flow_waits_among_the_old_ones() {
        let mut fq = fq(Capacity::Unlimited);
        for _ in 0..10 {
            fq.enqueue(at_ms(0), TestPacket::new(1514).of_flow(1))
                .unwrap();
        }
        assert_eq!(next_flow(&mut fq), Some(1));
        assert_eq!(next_flow(&mut fq), Some(1));
        // flow 2 always has one packet; it does not keep flow 1 from its turn
        let mut served = Vec::new();
        for _ in 0..6 {
            if fq.flows.held().packets < 9 {
                fq.enqueue(at_ms(0), TestPacket::new(1514).of_flow(2))
                    .unwrap();
            }
            served.extend(next_flow(&mut fq));
        }
        assert!(
            served.iter().filter(|&&flow| flow == 1).count() >= 2,
            "{served:?}"
        );
    }

    /// A standing queue of 50 ms, a packet a millisecond: how many are dropped in a second.
    fn dropped_of_a_standing_queue(target: Duration) -> usize {
        let mut fq = fq(Capacity::Unlimited);
        fq.set_target(target);
        let mut dropped = 0;
        for ms in 0..1_000 {
            let packet = TestPacket::new(1500).of_flow(1);
            fq.enqueue(at_ms(ms), packet).unwrap();
            if fq.occupancy().packets > 50 {
                fq.dequeue(at_ms(ms), Bytes::MAX, &mut |_| dropped += 1);
            }
        }
        dropped
    }

    #[test]
    fn a_target_that_is_set_is_what_codel_tolerates() {
        assert!(dropped_of_a_standing_queue(Duration::from_millis(5)) > 3);
        assert_eq!(dropped_of_a_standing_queue(Duration::from_millis(60)), 0);
        // zero: as before
        assert!(dropped_of_a_standing_queue(Duration::ZERO) > 3);
    }

    #[test]
    fn rfc_9331_section_5_4_2_ect1_has_a_threshold_of_its_own_where_configured() {
        let marked = |l4s_threshold, ecn| {
            let config = FqCoDelConfig {
                l4s_threshold,
                ..FqCoDelConfig::default()
            };
            let mut rng = Streams::new(1).stream("fq");
            let mut fq = FqCoDel::new(config, Capacity::Unlimited, &mut rng).unwrap();
            [1, 2, 3].map(|ms| {
                let packet = TestPacket::new(1500).with_ecn(ecn);
                fq.enqueue(at_ms(0), packet).unwrap();
                let next = fq.dequeue(at_ms(ms), Bytes::MAX, &mut |_| panic!("dropped"));
                next.is_some_and(|next| next.packet.ecn == Ecn::Ce)
            })
        };
        let threshold = Some(Duration::from_millis(2));
        assert_eq!(marked(threshold, Ecn::Ect1), [false, false, true]);
        assert_eq!(marked(threshold, Ecn::Ect0), [false; 3]);
        assert_eq!(marked(threshold, Ecn::NotEct), [false; 3]);
        assert_eq!(marked(None, Ecn::Ect1), [false; 3]);
    }

    #[test]
    fn another_limit_and_threshold_count_for_what_waits() {
        let bytes = |n| Capacity::Bytes(Bytes::new(n));
        let mut fq = fq(bytes(10_000));
        for _ in 0..6 {
            let packet = TestPacket::new(1_000).with_ecn(Ecn::Ect1);
            fq.enqueue(at_ms(0), packet).unwrap();
        }
        assert!(fq.configure(bytes(0), None).is_err());
        fq.configure(bytes(2_000), Some(Duration::from_millis(1)))
            .unwrap();
        assert_eq!(fq.occupancy().packets, 6);
        let mut next = || fq.dequeue(at_ms(2), Bytes::MAX, &mut |_| panic!("dropped"));
        assert_eq!(next().map(|next| next.packet.ecn), Some(Ecn::Ce));
        // five wait: the sixth is too much by four
        assert!(fq.enqueue(at_ms(2), TestPacket::new(1_000)).is_err());
        let mut dropped = 0;
        let mut left = 0;
        while fq
            .dequeue(at_ms(2), Bytes::MAX, &mut |_| dropped += 1)
            .is_some()
        {
            left += 1;
        }
        assert_eq!((left, dropped), (2, 3));
    }

    #[test]
    fn each_flow_has_its_own_codel() {
        let mut fq = fq(Capacity::Packets(Packets::new(10_240)));
        let (mut drops, mut late) = ([0; 2], 0);
        for _ in 0..300 {
            fq.enqueue(at_ms(0), TestPacket::new(1500)).unwrap();
        }
        for ms in 0..600 {
            // flow 1 sends a packet every 5 ms, flow 0 stands
            if ms % 5 == 0 {
                fq.enqueue(at_ms(ms), TestPacket::new(200).of_flow(1))
                    .unwrap();
            }
            if ms % 2 == 0 {
                let mut count = |packet: TestPacket| drops[packet.flow as usize] += 1;
                let out = fq.dequeue(at_ms(ms), Bytes::MAX, &mut count);
                late += u32::from(out.is_some_and(|out| {
                    out.packet.flow == 1 && at_ms(ms) > out.enqueued_at + Duration::from_millis(5)
                }));
            }
        }
        assert_eq!((drops[1], late), (0, 0));
        assert!(drops[0] > 5, "{drops:?}");
    }
}
