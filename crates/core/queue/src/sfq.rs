//! SFQ: stochastic fairness queueing.
//!
//! Source: McKenney, "Stochastic fairness queueing", INFOCOM 1990: flows are hashed to queues that are
//! served in turn, a packet each; when the buffer is full the longest queue loses; the hash changes now
//! and then, so that flows that share a queue do not share it for ever. By bytes, turns are those of
//! deficit round robin (Shreedhar and Varghese, SIGCOMM 1995). It is what the UPF of the dynamic-buffer
//! paper has. Bytes, nanoseconds.
//!
//! *Deviations*
//! - The longest queue is that with the most bytes, and loses at its head, so that the sender learns of it
//!   earlier (McKenney counts packets; Linux drops at the tail by default).
//! - A deficit may go below zero by less than a packet and is made up for in the next turn, where DRR
//!   holds back a packet that is larger than its deficit. The fairness bound is the same: no two
//!   waiting flows differ by more than a quantum and two packets.
//! - Hashed anew, packets are sorted into their new queues at once, so that no flow is reordered.

use crate::codel::FRAME;
use crate::config::{Configure, fork};
use crate::flows::{FlowQueues, Ring};
use crate::fq_codel::{FLOWS_KEY, check_flows, deficit_of};
use crate::registry::{ANYWHERE, Algorithm, Made};
use crate::{
    Capacity, ConfigError, Dequeued, DisciplineConfig, Occupancy, Packet, QueueManagement, error,
};
use units::{Bytes, Duration, Instant, Rng};

/// Queues, as many as FQ-CoDel has.
const QUEUES: u32 = 1024;

/// What a flow may send in its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// One packet, as McKenney has it.
    #[default]
    Packet,
    /// So many bytes: deficit round robin. At least 64.
    Bytes(Bytes),
}

/// How SFQ works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SfqConfig {
    /// Queues that flows are hashed to, 1 to 65,536.
    pub queues: u32,
    /// What a flow may send in its turn.
    pub turn: Turn,
    /// How often flows are hashed anew, above zero; none is never.
    pub perturb: Option<Duration>,
}

impl Default for SfqConfig {
    /// Packet by packet over 1024 queues, hashed once.
    fn default() -> Self {
        Self {
            queues: QUEUES,
            turn: Turn::Packet,
            perturb: None,
        }
    }
}

impl SfqConfig {
    /// # Errors
    /// No queues or too many, a turn below 64 bytes, a period of zero.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(perturb) = self.perturb {
            error::expect_time("sfq perturbation", perturb)?;
        }
        let quantum = match self.turn {
            Turn::Packet => FRAME,
            Turn::Bytes(quantum) => quantum,
        };
        check_flows(self.queues, quantum)
    }
}

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "sfq",
    title: "SFQ",
    places: ANYWHERE,
    is_aqm: false,
    is_backpressure: false,
    parameters: &[FLOWS_KEY],
    make: |values| {
        Made::Discipline(DisciplineConfig::Sfq(SfqConfig {
            queues: values.count(FLOWS_KEY),
            ..SfqConfig::default()
        }))
    },
};

impl Configure for SfqConfig {
    type Queue<P: Packet + Send> = Sfq<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, _ratio: f64) {}
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        rng: &mut Rng,
    ) -> Result<Sfq<P>, ConfigError> {
        Sfq::new(self.clone(), capacity, fork(rng))
    }
}

/// The queues of all flows.
#[derive(Debug)]
pub struct Sfq<P> {
    config: SfqConfig,
    capacity: Capacity,
    flows: FlowQueues<P, ()>,
    ring: Ring,
    /// When flows are hashed anew.
    perturb_at: Option<Instant>,
    rng: Rng,
}

impl<P: Packet> Sfq<P> {
    /// Empty queues; `rng` gives the salts of the hash.
    ///
    /// # Errors
    /// As [`SfqConfig::check`]; a capacity of zero.
    pub fn new(config: SfqConfig, capacity: Capacity, mut rng: Rng) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            capacity,
            flows: FlowQueues::new(config.queues, rng.next_u64(), ()),
            ring: Ring::EMPTY,
            perturb_at: config.perturb.map(|period| Instant::ZERO + period),
            config,
            rng,
        })
    }

    /// What a turn adds to a deficit; by packets, one of any size.
    fn quantum(&self) -> i64 {
        match self.config.turn {
            Turn::Packet => 1,
            Turn::Bytes(quantum) => deficit_of(quantum),
        }
    }
    /// A queue that has a packet takes its place, unless it still has one.
    fn wait(&mut self, queue: usize) {
        let quantum = self.quantum();
        let flow = self.flows.queue_mut(queue);
        if !flow.is_waiting {
            flow.is_waiting = true;
            flow.deficit = quantum;
            self.ring.push(&mut self.flows, queue);
        }
    }

    /// Hashes anew if it is time. Turns begin anew, in the order of the queues.
    fn perturb(&mut self, now: Instant) {
        let (Some(at), Some(period)) = (self.perturb_at, self.config.perturb) else {
            return;
        };
        if now < at {
            return;
        }
        let missed = now.saturating_since(at) / period;
        self.perturb_at = Some(at + period * (missed + 1));
        self.flows.rehash(self.rng.next_u64());
        self.ring = Ring::EMPTY;
        for queue in 0..self.flows.len() {
            self.flows.queue_mut(queue).is_waiting = false;
            if !self.flows.queue(queue).is_empty() {
                self.wait(queue);
            }
        }
    }
}

impl<P: Packet + Send> QueueManagement<P> for Sfq<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        self.perturb(now);
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
        _now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        self.flows.hand_over(dropped);
        let quantum = self.quantum();
        loop {
            let queue = self.ring.first()?;
            let mut packets = self.flows.open(queue);
            let Some(head) = packets.front() else {
                packets.queue.is_waiting = false;
                self.ring.pop(&self.flows);
                continue;
            };
            if packets.queue.deficit <= 0 {
                packets.queue.deficit += quantum;
                self.ring.pop(&self.flows);
                self.ring.push(&mut self.flows, queue);
                continue;
            }
            let bytes = head.packet.bytes();
            if bytes > budget {
                return None;
            }
            packets.queue.deficit -= match self.config.turn {
                Turn::Packet => 1,
                Turn::Bytes(_) => deficit_of(bytes),
            };
            return packets.take(bytes);
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
    use units::Streams;

    fn served(config: SfqConfig, n: usize) -> Vec<u64> {
        let rng = Streams::new(3).stream("sfq");
        let mut sfq = Sfq::new(config, Capacity::Unlimited, rng).unwrap();
        for (flow, bytes) in [(1, 1500), (2, 500)] {
            for _ in 0..20 {
                let packet = TestPacket::new(bytes).of_flow(flow);
                sfq.enqueue(Instant::ZERO, packet).unwrap();
            }
        }
        let mut next = || sfq.dequeue(Instant::ZERO, Bytes::MAX, &mut |_| panic!("dropped"));
        (0..n).filter_map(|_| Some(next()?.packet.flow)).collect()
    }

    #[test]
    fn packet_by_packet_flows_take_turns() {
        assert_eq!(served(SfqConfig::default(), 6), [1, 2, 1, 2, 1, 2]);
    }

    #[test]
    fn by_bytes_small_packets_get_as_many_turns_as_they_need() {
        let config = SfqConfig {
            turn: Turn::Bytes(Bytes::new(1500)),
            ..SfqConfig::default()
        };
        assert_eq!(served(config, 8), [1, 2, 2, 2, 1, 2, 2, 2]);
    }

    #[test]
    fn flows_that_share_a_queue_do_not_share_it_for_ever() {
        let config = SfqConfig {
            queues: 2,
            perturb: Some(Duration::from_secs(1)),
            ..SfqConfig::default()
        };
        let rng = Streams::new(3).stream("sfq");
        let mut sfq = Sfq::new(config, Capacity::Unlimited, rng).unwrap();
        let is_shared = |sfq: &Sfq<TestPacket>| {
            let queue = |flow| sfq.flows.queue_of(&TestPacket::new(1).of_flow(flow));
            queue(1) == queue(2)
        };
        let mut shared = 0;
        for second in 1..=2_500 {
            let now = Instant::ZERO + Duration::from_secs(second);
            sfq.enqueue(now, TestPacket::new(100).of_flow(1)).unwrap();
            sfq.dequeue(now, Bytes::MAX, &mut |_| panic!("dropped"))
                .unwrap();
            shared += u32::from(is_shared(&sfq));
        }
        // binomial with n = 2500 and p = 1/2: mean 1250, standard deviation 25; six of them
        assert!(shared.abs_diff(1_250) <= 150, "{shared}");
    }
}
