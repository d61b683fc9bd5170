//! A discipline that the caller supplies: bands of packets, each first in, first out, with a
//! [`CustomDiscipline`] that decides.
//!
//! ```text
//!                                     +-> band 0 -+
//!   enqueue -> [ on_arrival, band ] --+-> band 7 -+-> [ choose, on_departure ] -> dequeue
//!               accept, mark, drop    +-> ...    -+        accept, mark, drop
//! ```
//!
//! The discipline sees the attributes of a packet ([`PacketView`]), the queue keeps the packets: whatever
//! it returns, none is lost, sent twice or overtaken in its band. Drop-tail, RED, BLUE, PIE (at arrival) and
//! CoDel (at departure) need one band; priorities and fair queueing one for each class or flow.

use crate::fifo::{Fifo, try_mark};
use crate::{Capacity, ConfigError, Dequeued, Ecn, Occupancy, Packet, QueueManagement, Slot};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use units::{Bytes, Duration, Instant};

/// A packet as a custom discipline sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketView {
    /// The time.
    pub now: Instant,
    /// Bytes of the packet in the queue.
    pub bytes: Bytes,
    /// Its flow, as [`Packet::flow`].
    pub flow: u64,
    /// Its QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// How long it has waited; zero on arrival.
    pub sojourn: Duration,
    /// What waits beside it: on arrival all, on departure what is behind it in its band.
    pub others: Occupancy,
    /// Whether it fits beside the others. On arrival, what does not fit is dropped whatever the
    /// verdict; on departure always true.
    pub has_room: bool,
}

/// What is done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it is.
    Accept,
    /// It signals congestion: marked and kept if it is ECN-capable (or is marked already), else dropped.
    Mark,
    /// It is dropped.
    Drop,
}

/// Decides about the packets of one queue.
pub trait CustomDiscipline: Send {
    /// A packet arrives.
    fn on_arrival(&mut self, packet: &PacketView) -> Verdict;
    /// In which band a packet waits that has been accepted: any number.
    fn band(&mut self, _packet: &PacketView) -> u64 {
        0
    }
    /// From which band the next packet comes; called where packets wait in several. It stays the turn of
    /// a band until its packet has left or has been dropped. A number that is not among them is the first.
    fn choose(&mut self, _now: Instant, bands: &[Band]) -> u64 {
        bands.first().map_or(0, |band| band.number)
    }
    /// The packet at the head may leave: after a drop the next one follows at once.
    fn on_departure(&mut self, _packet: &PacketView) -> Verdict {
        Verdict::Accept
    }
    /// A slot has been served below; never of a wired link.
    fn on_slot(&mut self, _now: Instant, _slot: Slot) {}
}

/// Packets that wait in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Its number, as [`CustomDiscipline::band`] gave it. Bands are shown in ascending order.
    pub number: u64,
    /// Its first packet.
    pub head: PacketView,
}

/// The queue that a discipline is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueParameters {
    /// What it may hold.
    pub capacity: Capacity,
    /// For random decisions: of this queue and run alone.
    pub seed: u64,
}

/// Builds custom disciplines by name.
pub trait DisciplineFactory: Send + Sync {
    /// A new discipline of that name; none if the name is unknown.
    fn build(&self, name: &str, queue: QueueParameters) -> Option<Box<dyn CustomDiscipline>>;
}

/// A discipline of the caller's, by its name: equal to any other of the same name.
#[derive(Clone)]
pub struct CustomConfig {
    name: String,
    /// What builds it; none until [`Self::set_factory`].
    factory: Option<Arc<dyn DisciplineFactory>>,
}

impl CustomConfig {
    /// Of that name. It can be built after [`Self::set_factory`].
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            factory: None,
        }
    }
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// From now on this builds the disciplines of its queues.
    pub fn set_factory(&mut self, factory: &Arc<dyn DisciplineFactory>) {
        self.factory = Some(Arc::clone(factory));
    }
    /// An empty queue. `seed` is for its discipline's random decisions.
    ///
    /// # Errors
    /// A capacity of zero, or a name that the factory does not have.
    pub fn build<P: Packet>(
        &self,
        capacity: Capacity,
        seed: u64,
    ) -> Result<Custom<P>, ConfigError> {
        capacity.check()?;
        let factory = self.factory.as_ref();
        let parameters = QueueParameters { capacity, seed };
        let discipline = factory.and_then(|factory| factory.build(&self.name, parameters));
        let Some(discipline) = discipline else {
            return Err(ConfigError::UnknownDiscipline {
                name: self.name.clone(),
            });
        };
        Ok(Custom {
            capacity,
            bands: BTreeMap::new(),
            held: Occupancy::default(),
            turn: None,
            discipline,
        })
    }
}

impl fmt::Debug for CustomConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomConfig").field(&self.name).finish()
    }
}

impl PartialEq for CustomConfig {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CustomConfig {}

/// One queue with a custom discipline.
pub struct Custom<P> {
    capacity: Capacity,
    /// None of them is empty.
    bands: BTreeMap<u64, Fifo<P>>,
    /// What they hold together.
    held: Occupancy,
    /// The band that has been chosen, if its packet has not left yet.
    turn: Option<u64>,
    discipline: Box<dyn CustomDiscipline>,
}

impl<P: fmt::Debug> fmt::Debug for Custom<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom")
            .field("capacity", &self.capacity)
            .field("bands", &self.bands)
            .finish_non_exhaustive()
    }
}

fn view<P: Packet>(now: Instant, packet: &P, sojourn: Duration, others: Occupancy) -> PacketView {
    PacketView {
        now,
        bytes: packet.bytes(),
        flow: packet.flow(),
        qfi: packet.qfi(),
        ecn: packet.ecn(),
        sojourn,
        others,
        has_room: true,
    }
}

/// The first packet of a band, as the discipline sees it.
fn head<P: Packet>(now: Instant, packets: &Fifo<P>) -> Option<PacketView> {
    let first = packets.front()?;
    let held = packets.occupancy();
    let others = Occupancy {
        packets: held.packets - 1,
        bytes: held.bytes - first.packet.bytes(),
    };
    let sojourn = now.saturating_since(first.enqueued_at);
    Some(view(now, &first.packet, sojourn, others))
}

impl<P: Packet> Custom<P> {
    /// The band whose turn it is; none if nothing waits.
    fn next_band(&mut self, now: Instant) -> Option<u64> {
        let first = *self.bands.first_key_value()?.0;
        if self.bands.len() == 1 {
            return Some(first);
        }
        if self.turn.is_none() {
            let bands = self.bands.iter();
            let bands: Vec<Band> = bands
                .filter_map(|(&number, packets)| {
                    let head = head(now, packets)?;
                    Some(Band { number, head })
                })
                .collect();
            self.turn = Some(self.discipline.choose(now, &bands));
        }
        self.turn
            .filter(|turn| self.bands.contains_key(turn))
            .or(Some(first))
    }

    /// Takes the first packet of a band out.
    fn pop(&mut self, number: u64) -> Option<Dequeued<P>> {
        let packets = self.bands.get_mut(&number)?;
        let first = packets.pop()?;
        if packets.front().is_none() {
            self.bands.remove(&number);
        }
        self.turn = None;
        self.held.packets -= 1;
        self.held.bytes -= first.packet.bytes();
        Some(first)
    }
}

impl<P: Packet + Send> QueueManagement<P> for Custom<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P) -> Result<(), P> {
        let has_room = self.capacity.admits(self.held, packet.bytes());
        let view = PacketView {
            has_room,
            ..view(now, &packet, Duration::ZERO, self.held)
        };
        let is_kept = match self.discipline.on_arrival(&view) {
            _ if !has_room => false,
            Verdict::Accept => true,
            Verdict::Mark => try_mark(&mut packet),
            Verdict::Drop => false,
        };
        if !is_kept {
            return Err(packet);
        }
        let number = self.discipline.band(&view);
        self.held.packets += 1;
        self.held.bytes += packet.bytes();
        let packets = self.bands.entry(number).or_insert_with(Fifo::new);
        packets.push(now, packet);
        Ok(())
    }

    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        loop {
            let number = self.next_band(now)?;
            let packets = self.bands.get_mut(&number)?;
            let view = head(now, packets)?;
            if view.bytes > budget {
                return None;
            }
            let is_sent = match self.discipline.on_departure(&view) {
                Verdict::Accept => true,
                Verdict::Mark => packets.front_mut().is_some_and(try_mark),
                Verdict::Drop => false,
            };
            let first = self.pop(number)?;
            if is_sent {
                return Some(first);
            }
            dropped(first.packet);
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.held
    }

    fn on_slot(&mut self, now: Instant, slot: Slot) {
        self.discipline.on_slot(now, slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet::TestPacket;
    use crate::{DisciplineConfig, QueueConfig};
    use proptest::prelude::*;
    use std::sync::Mutex;
    use units::{Packets, Streams};

    /// Returns the verdicts of a list, in turn, and records the packets it was given. Flows are bands.
    #[derive(Clone, Default)]
    struct Script {
        verdicts: Vec<Verdict>,
        /// What it chooses next.
        turns: Arc<Mutex<Vec<u64>>>,
        seen: Arc<Mutex<Vec<PacketView>>>,
    }

    impl Script {
        fn next(&self, packet: &PacketView) -> Verdict {
            let mut seen = self.seen.lock().unwrap();
            seen.push(*packet);
            match self.verdicts.get(seen.len() - 1) {
                Some(verdict) => *verdict,
                None => Verdict::Accept,
            }
        }
    }

    impl CustomDiscipline for Script {
        fn on_arrival(&mut self, packet: &PacketView) -> Verdict {
            self.next(packet)
        }
        fn on_departure(&mut self, packet: &PacketView) -> Verdict {
            self.next(packet)
        }
        fn band(&mut self, packet: &PacketView) -> u64 {
            packet.flow
        }
        fn choose(&mut self, _: Instant, bands: &[Band]) -> u64 {
            let numbers: Vec<u64> = bands.iter().map(|band| band.number).collect();
            assert!(numbers.len() > 1 && numbers.is_sorted(), "{numbers:?}");
            self.turns.lock().unwrap().pop().unwrap_or(numbers[0])
        }
    }

    impl DisciplineFactory for Script {
        fn build(&self, name: &str, _: QueueParameters) -> Option<Box<dyn CustomDiscipline>> {
            (name == "script").then(|| Box::new(self.clone()) as Box<dyn CustomDiscipline>)
        }
    }

    fn config(script: &Script) -> CustomConfig {
        let mut config = CustomConfig::new("script");
        let factory: Arc<dyn DisciplineFactory> = Arc::new(script.clone());
        config.set_factory(&factory);
        config
    }

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_discipline_sees_the_packet_and_what_waits_beside_it() {
        let script = Script::default();
        let capacity = Capacity::Bytes(Bytes::new(2_500));
        let mut queue = config(&script).build(capacity, 1).unwrap();
        let packet = TestPacket::new(1_500).with_flow(7).with_qfi(9);
        queue.enqueue(at_ms(1), packet).unwrap();
        let behind = TestPacket::new(1_000).with_flow(7);
        queue.enqueue(at_ms(2), behind).unwrap();
        // accepted by the discipline, but there is no room
        queue.enqueue(at_ms(3), TestPacket::new(1)).unwrap_err();
        queue
            .dequeue(at_ms(5), Bytes::MAX, &mut |_| panic!("dropped"))
            .unwrap();
        let seen = script.seen.lock().unwrap();
        let held = |packets, bytes| Occupancy {
            packets,
            bytes: Bytes::new(bytes),
        };
        let others: Vec<_> = seen.iter().map(|view| view.others).collect();
        let expected = [held(0, 0), held(1, 1_500), held(2, 2_500), held(1, 1_000)];
        assert_eq!(others, expected);
        let rooms: Vec<_> = seen.iter().map(|view| view.has_room).collect();
        assert_eq!(rooms, [true, true, false, true]);
        let last = seen[3];
        assert_eq!(
            (last.now, last.sojourn),
            (at_ms(5), Duration::from_millis(4))
        );
        assert_eq!((last.bytes, last.flow, last.qfi), (Bytes::new(1_500), 7, 9));
    }

    #[test]
    fn a_mark_drops_packets_that_are_not_ecn_capable() {
        for (ecn, is_kept) in [(Ecn::NotEct, false), (Ecn::Ect1, true), (Ecn::Ce, true)] {
            let script = Script {
                verdicts: vec![Verdict::Accept, Verdict::Mark, Verdict::Mark],
                ..Script::default()
            };
            let mut queue = config(&script).build(Capacity::Unlimited, 1).unwrap();
            let packet = TestPacket::new(100).with_ecn(ecn);
            queue.enqueue(at_ms(0), packet).unwrap();
            let marked = queue.enqueue(at_ms(0), packet);
            assert_eq!(marked.is_ok(), is_kept, "{ecn:?}");
            let mut dropped = 0;
            let next = queue.dequeue(at_ms(0), Bytes::MAX, &mut |_| dropped += 1);
            assert_eq!(next.map(|next| next.packet.ecn), is_kept.then_some(Ecn::Ce));
            assert_eq!(dropped, usize::from(!is_kept));
        }
    }

    #[test]
    fn an_unknown_name_cannot_be_built() {
        let mut unknown = CustomConfig::new("none-such");
        let error = |config: &CustomConfig| {
            let queue = QueueConfig {
                discipline: DisciplineConfig::Custom(config.clone()),
                ..QueueConfig::drop_tail(Capacity::Unlimited)
            };
            let rng = Streams::new(1).stream("queue");
            queue.build::<TestPacket>(rng).unwrap_err().to_string()
        };
        assert!(error(&unknown).contains("\"none-such\" is not known"));
        let factory: Arc<dyn DisciplineFactory> = Arc::new(Script::default());
        unknown.set_factory(&factory);
        assert!(error(&unknown).contains("\"none-such\" is not known"));
        let none =
            config(&Script::default()).build::<TestPacket>(Capacity::Packets(Packets::ZERO), 1);
        assert_eq!(none.unwrap_err(), ConfigError::ZeroCapacity);
    }

    #[test]
    fn a_chosen_band_keeps_its_turn_until_its_packet_has_left() {
        let script = Script {
            // from behind: 9 is no band, then band 5 twice
            turns: Arc::new(Mutex::new(vec![5, 5, 9])),
            ..Script::default()
        };
        let mut queue = config(&script).build(Capacity::Unlimited, 1).unwrap();
        for (flow, bytes) in [(2, 100), (2, 200), (5, 900), (5, 300)] {
            let packet = TestPacket::new(bytes).with_flow(flow);
            queue.enqueue(at_ms(0), packet).unwrap();
        }
        let mut next = |budget| {
            let next = queue.dequeue(at_ms(1), Bytes::new(budget), &mut |_| panic!("dropped"));
            next.map(|next| next.packet.bytes)
        };
        assert_eq!(next(1_000), Some(100), "no band is the first band");
        assert_eq!(next(500), None, "no packet overtakes one that does not fit");
        assert_eq!(script.turns.lock().unwrap().len(), 1);
        assert_eq!(
            [next(1_000), next(1_000), next(1_000)],
            [Some(900), Some(300), Some(200)]
        );
        assert_eq!(next(1_000), None);
        let seen = script.seen.lock().unwrap();
        let behind: Vec<_> = seen[4..]
            .iter()
            .map(|view| view.others.bytes.get())
            .collect();
        assert_eq!(behind, [200, 300, 0, 0]);
    }

    proptest! {
        #[test]
        fn whatever_the_verdicts_packets_are_conserved_and_in_order(
            verdicts in prop::collection::vec(0u8..3, 0..400),
            turns in prop::collection::vec(0u64..5, 0..300),
            moves in prop::collection::vec((any::<bool>(), 1u64..3_000, 0u8..4), 1..300),
            limit in 1u64..20_000,
        ) {
            let all = [Verdict::Accept, Verdict::Mark, Verdict::Drop];
            let script = Script {
                verdicts: verdicts.into_iter().map(|v| all[usize::from(v)]).collect(),
                turns: Arc::new(Mutex::new(turns)),
                ..Script::default()
            };
            let capacity = Capacity::Bytes(Bytes::new(limit));
            let mut queue = config(&script).build(capacity, 1).unwrap();
            let codepoints = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
            let (mut gone, mut left) = (Vec::new(), Vec::new());
            let mut came = 0;
            for (ms, (comes, size, ecn)) in moves.into_iter().enumerate() {
                let now = at_ms(ms as u64);
                if comes {
                    let mut packet = TestPacket::new(size).with_ecn(codepoints[usize::from(ecn)]);
                    packet.flow = size % 4;
                    packet.number = came;
                    came += 1;
                    gone.extend(queue.enqueue(now, packet).err().map(|p| p.number));
                } else {
                    let next = queue.dequeue(now, Bytes::new(size), &mut |p| gone.push(p.number));
                    left.extend(next.map(|next| (next.packet.flow, next.packet.number)));
                }
                prop_assert!(queue.occupancy().bytes.get() <= limit);
            }
            for flow in 0..4 {
                prop_assert!(left.iter().filter(|left| left.0 == flow).is_sorted());
            }
            let waiting = queue.occupancy().packets;
            prop_assert_eq!(gone.len() + left.len() + waiting, came as usize);
            gone.extend(left.into_iter().map(|(_, number)| number));
            gone.sort_unstable();
            gone.dedup();
            prop_assert_eq!(gone.len() + waiting, came as usize);
        }
    }
}
