//! Late binding: mode `default`, our own. `docs/algorithms/late-binding.md` derives it.
//!
//! ```text
//!   [ UPF: Paced ] --room: a largest slot--> [ SDAP and RLC: LateBinding ] --MAC's pull-->
//!     flows, marks                                flows, ready after the preparation time
//! ```
//!
//! Packets wait by flow until the MAC fills a transport block, and only then is it decided which of
//! them go into it. A packet that comes later than the preparation time before its slot is not
//! considered, as the hardware could not. So nothing stands in first-in first-out order before the
//! radio, and a packet of an idle or urgent flow waits for the next slot and for nothing else.
//!
//! Source: the idea that packets wait above until they are needed is the paper's (section 4); per-flow
//! queues with sparse flows first are RFC 8290's; what a base station may request of the layer above (desired
//! buffer size, desired data rate) is TS 38.425 5.4.2.1. Times in ns, sizes in bytes.

mod flows;
mod largest;
mod paced;

pub use paced::{Paced, PacedConfig};

use crate::codel::FRAME;
use crate::config::Configure;
use crate::fq_codel::QUANTUM_KEY;
use crate::registry::{Algorithm, Made, Parameter, Place, Quantity, Values};
use crate::{
    Capacity, ConfigError, Dequeued, DisciplineConfig, Occupancy, Packet, QueueManagement, Ratio,
    Room, Slot, Urgent, error,
};
use flows::Flows;
use largest::Largest;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Rng};

/// Packets that are taken before the first slot has shown what one can carry; an initial window
/// (RFC 6928).
const FIRST_PACKETS: u64 = 10;
/// How long the largest slot is kept by default.
const MEMORY: Duration = Duration::from_secs(10);

/// How many times what the next slot carries there is room for by default.
const DEFAULT_MARGIN: Ratio = Ratio::from_ppm(2_000_000);

/// Which flows are sparse, and go first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SparseRule {
    /// Those that have tokens, the one of which the least waits first.
    #[default]
    Tokens,
    /// Those that have tokens and of which nothing was left after the last slot, the first to come first.
    Idle,
}

/// `sparse-idle`: [`SparseRule::Idle`].
const SPARSE_IDLE: &Parameter = &Parameter::new(
    "sparse-idle",
    Quantity::Flag,
    "false",
    (0.0, 1.0),
    "Late binding: a flow of which anything was left after the last slot is not sparse, whatever its tokens",
);

/// `room-margin`: [`LateBindingConfig::margin`].
const MARGIN: &Parameter = &Parameter::new(
    "room-margin",
    Quantity::Number,
    "2",
    (0.0, 1000.0),
    "`default`: room is for so many times what the next slot carries by the newest slots, and no more than \
     the largest slot of `memory`; 0: for the largest, whatever the next",
);
/// For so long the newest slots stand for the next: a period of CQI reports (TS 38.214 5.2.1.4).
const NEWEST: Duration = Duration::from_millis(40);

/// How late binding works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateBindingConfig {
    /// From the last moment at which a packet may come to be sent in a slot, to that slot.
    pub preparation: Duration,
    /// QoS flow identifiers in descending priority; all that are not named come last, together.
    pub classes: Vec<Vec<u8>>,
    /// Bytes that a flow may send in its turn, at least 64.
    pub quantum: Bytes,
    /// For how long the largest slot is kept, above zero.
    pub memory: Duration,
    /// Which flows go first.
    pub sparse: SparseRule,
    /// Room is for so many times what the next slot carries, as the newest slots have it, and no more than the
    /// largest slot kept; zero: for the largest, whatever the next.
    pub margin: Ratio,
}

impl Default for LateBindingConfig {
    /// No preparation, no classes, RFC 8290's quantum, 10 s, twice the next slot.
    fn default() -> Self {
        Self {
            preparation: Duration::ZERO,
            classes: Vec::new(),
            quantum: FRAME,
            memory: MEMORY,
            sparse: SparseRule::default(),
            margin: DEFAULT_MARGIN,
        }
    }
}

impl LateBindingConfig {
    /// # Errors
    /// A quantum below 64 bytes, a memory of zero, a QFI above 63.
    pub fn check(&self) -> Result<(), ConfigError> {
        check(&self.classes, self.quantum, self.memory)
    }
}

/// What there is to state of both queues: the UPF's is paced, the one below binds late.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "default",
    title: "default",
    places: &[Place::Upf, Place::Sdap, Place::Rlc],
    is_aqm: true,
    is_backpressure: true,
    parameters: &[QUANTUM_KEY, SPARSE_IDLE, MARGIN],
    make: |values| {
        Made::Discipline(match values.place {
            Place::Upf => DisciplineConfig::Paced(PacedConfig::of(values)),
            _ => DisciplineConfig::LateBinding(LateBindingConfig::of(values)),
        })
    },
};

impl LateBindingConfig {
    fn of(values: &Values<'_>) -> Self {
        Self {
            preparation: values.shared.preparation,
            classes: values.shared.classes.clone(),
            quantum: values.bytes(QUANTUM_KEY),
            memory: values.shared.memory,
            sparse: SparseRule::of(values),
            margin: values.ratio(MARGIN),
        }
    }
}

impl SparseRule {
    fn of(values: &Values<'_>) -> Self {
        if values.flag(SPARSE_IDLE) {
            Self::Idle
        } else {
            Self::Tokens
        }
    }
}

impl Configure for LateBindingConfig {
    type Queue<P: Packet + Send> = LateBinding<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    // it is given times and slots only
    fn scale(&mut self, _ratio: f64) {}
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        _rng: &mut Rng,
    ) -> Result<LateBinding<P>, ConfigError> {
        LateBinding::new(self.clone(), capacity)
    }
}

/// What both queues need.
fn check(classes: &[Vec<u8>], quantum: Bytes, memory: Duration) -> Result<(), ConfigError> {
    crate::fq_codel::check_flows(1, quantum)?;
    error::expect_time("memory of late binding", memory)?;
    let highest = classes.iter().flatten().max().copied().unwrap_or(0);
    error::expect(highest <= 63, "QFI of a class", &highest, "0 to 63")
}

/// A packet that is not eligible yet.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    /// Where it is held.
    node: u32,
    /// It came although there was no room.
    is_beyond: bool,
}

/// The queue that the MAC pulls from.
#[derive(Debug)]
pub struct LateBinding<P> {
    config: LateBindingConfig,
    capacity: Capacity,
    /// Packets that came less than the preparation time ago, in the order of their coming.
    arriving: VecDeque<Arriving>,
    /// Their bytes.
    arriving_bytes: Bytes,
    /// Bytes of those that came although there was no room.
    arriving_beyond: Bytes,
    flows: Flows<P>,
    largest: Largest,
    /// The largest of the newest slots.
    newest: Largest,
    /// What this queue is to hold.
    target: Bytes,
}

impl<P: Packet> LateBinding<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// As [`LateBindingConfig::check`]; a capacity of zero.
    pub fn new(config: LateBindingConfig, capacity: Capacity) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            flows: Flows::new(&config.classes, config.quantum, config.sparse),
            largest: Largest::new(config.memory),
            newest: Largest::new(NEWEST),
            target: FRAME * FIRST_PACKETS,
            config,
            capacity,
            arriving: VecDeque::new(),
            arriving_bytes: Bytes::ZERO,
            arriving_beyond: Bytes::ZERO,
        })
    }

    /// Whether a packet that came then may go into a slot now.
    #[inline]
    fn is_prepared(&self, now: Instant, enqueued_at: Instant) -> bool {
        enqueued_at + self.config.preparation <= now
    }

    /// What has come in time by now joins its flow.
    #[inline]
    fn settle(&mut self, now: Instant) {
        while let Some(&Arriving { node, is_beyond }) = self.arriving.front()
            && let Some(first) = self.flows.entry(node)
            && self.is_prepared(now, first.enqueued_at)
        {
            self.arriving.pop_front();
            let bytes = self.flows.join(node, is_beyond);
            self.arriving_bytes -= bytes;
            if is_beyond {
                self.arriving_beyond -= bytes;
            }
        }
    }

    /// Packets that are not eligible yet, in the order of their coming.
    fn arriving(&self) -> impl Iterator<Item = &Dequeued<P>> {
        let nodes = self.arriving.iter().map(|arriving| arriving.node);
        nodes.filter_map(|node| self.flows.entry(node))
    }

    /// How much may come, besides what comes beyond it.
    #[inline]
    fn left(&self) -> Bytes {
        let beyond = match self.config.sparse {
            SparseRule::Tokens => self.flows.beyond() + self.arriving_beyond,
            SparseRule::Idle => Bytes::ZERO,
        };
        let held = self.flows.occupancy().bytes + self.arriving_bytes - beyond;
        self.target.saturating_sub(held)
    }

    /// What this queue is to hold after a slot: as much as the next one can carry with a margin, and two
    /// packets that are left after it and show that their flow is busy.
    fn target(&self) -> Bytes {
        let largest = self.largest.get();
        if largest.is_zero() {
            return FRAME * FIRST_PACKETS;
        }
        let slot = if self.config.margin == Ratio::ZERO {
            largest
        } else {
            let next = self.newest.get();
            next.mul_f64(self.config.margin.as_f64()).min(largest)
        };
        slot + FRAME * 2
    }
}

impl<P: Packet + Send> QueueManagement<P> for LateBinding<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        let bytes = packet.bytes();
        if !self.capacity.admits(self.occupancy(), bytes) {
            return Err(packet);
        }
        let is_beyond = self.left().is_zero();
        if is_beyond {
            self.arriving_beyond += bytes;
        }
        self.arriving_bytes += bytes;
        let node = self.flows.hold(now, packet);
        self.arriving.push_back(Arriving { node, is_beyond });
        Ok(())
    }

    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        _dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        self.settle(now);
        let taken = self.flows.pop(budget)?;
        self.flows.release(taken)
    }

    fn occupancy(&self) -> Occupancy {
        let waiting = self.flows.occupancy();
        Occupancy {
            packets: waiting.packets + self.arriving.len(),
            bytes: waiting.bytes + self.arriving_bytes,
        }
    }

    fn ready(&self, now: Instant) -> Occupancy {
        let mut ready = self.flows.occupancy();
        let in_time = |packet: &&Dequeued<P>| self.is_prepared(now, packet.enqueued_at);
        for packet in self.arriving().take_while(in_time) {
            ready.packets += 1;
            ready.bytes += packet.packet.bytes();
        }
        ready
    }

    fn room(&mut self, _now: Instant) -> Room {
        Room::Bytes(self.left())
    }

    fn admits_urgent(&self, packet: Urgent) -> bool {
        if self.config.sparse == SparseRule::Idle || self.flows.is_named(packet.qfi) {
            return true;
        }
        let arriving = self.arriving().map(|arriving| &arriving.packet);
        let same = arriving.filter(|of| of.flow() == packet.flow);
        let arriving: Bytes = same.map(Packet::bytes).sum();
        let waiting = self.flows.waiting(packet.qfi, packet.flow) + arriving;
        waiting + packet.bytes <= self.config.quantum * 2
    }

    fn on_slot(&mut self, now: Instant, slot: Slot) {
        self.flows.next_slot(slot.capacity);
        self.flows.promote(|_| true);
        self.largest.add(now, slot.capacity);
        self.newest.add(now, slot.capacity);
        self.target = self.target();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet::TestPacket;

    const SLOT: Slot = Slot {
        remaining: Occupancy {
            packets: 0,
            bytes: Bytes::ZERO,
        },
        capacity: Bytes::new(6000),
        tti: Duration::from_millis(10),
    };

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn queue(preparation_us: u64) -> LateBinding<TestPacket> {
        let config = LateBindingConfig {
            preparation: Duration::from_micros(preparation_us),
            ..LateBindingConfig::default()
        };
        LateBinding::new(config, Capacity::Unlimited).unwrap()
    }

    #[test]
    fn a_packet_within_the_preparation_time_waits_for_the_next_slot() {
        let mut queue = queue(500);
        queue.enqueue(at_us(9_500), TestPacket::new(100)).unwrap();
        queue.enqueue(at_us(9_501), TestPacket::new(200)).unwrap();
        assert_eq!(queue.ready(at_us(10_000)).packets, 1);
        assert_eq!(queue.ready(at_us(10_001)).bytes, Bytes::new(300));
        let mut pull = |us| queue.dequeue(at_us(us), Bytes::MAX, &mut |_| ());
        assert_eq!(pull(10_000).unwrap().packet.bytes(), Bytes::new(100));
        assert!(pull(10_000).is_none());
        assert_eq!(pull(20_000).unwrap().enqueued_at, at_us(9_501));
    }

    #[test]
    fn there_is_room_for_a_largest_slot_and_two_packets() {
        let mut queue = queue(0);
        assert_eq!(queue.room(at_us(0)), Room::Bytes(Bytes::new(15_140)));
        queue.on_slot(at_us(0), SLOT);
        queue.on_slot(
            at_us(10_000),
            Slot {
                capacity: Bytes::new(1500),
                ..SLOT
            },
        );
        assert_eq!(queue.room(at_us(10_000)), Room::Bytes(Bytes::new(9028)));
        for _ in 0..7 {
            queue.enqueue(at_us(10_000), TestPacket::new(1500)).unwrap();
        }
        assert!(!queue.room(at_us(10_000)).admits());
    }

    #[test]
    fn in_a_fade_there_is_room_for_twice_the_next_slot_and_for_the_largest_without_a_margin() {
        let after_a_fade = |margin| {
            let config = LateBindingConfig {
                margin: Ratio::from_f64(margin),
                ..LateBindingConfig::default()
            };
            let mut queue: LateBinding<TestPacket> =
                LateBinding::new(config, Capacity::Unlimited).unwrap();
            for ms in (0..1000).step_by(10) {
                let capacity = Bytes::new(if ms < 500 { 22_500 } else { 1500 });
                queue.on_slot(at_us(ms * 1000), Slot { capacity, ..SLOT });
            }
            queue.room(at_us(1_000_000))
        };
        let frames = 2 * 1514;
        assert_eq!(after_a_fade(2.0), Room::Bytes(Bytes::new(3000 + frames)));
        assert_eq!(after_a_fade(20.0), Room::Bytes(Bytes::new(22_500 + frames)));
        assert_eq!(after_a_fade(0.0), Room::Bytes(Bytes::new(22_500 + frames)));
    }

    #[test]
    fn an_idle_flow_overtakes_what_waits_of_a_busy_one() {
        let mut queue = queue(0);
        for _ in 0..4 {
            queue
                .enqueue(at_us(0), TestPacket::new(1500).with_flow(1))
                .unwrap();
        }
        let pull = |queue: &mut LateBinding<TestPacket>| {
            queue
                .dequeue(at_us(10), Bytes::MAX, &mut |_| ())
                .unwrap()
                .packet
                .flow()
        };
        assert_eq!([pull(&mut queue), pull(&mut queue)], [1, 1]);
        queue
            .enqueue(at_us(5), TestPacket::new(100).with_flow(2))
            .unwrap();
        assert_eq!([pull(&mut queue), pull(&mut queue)], [2, 1]);
    }
}
