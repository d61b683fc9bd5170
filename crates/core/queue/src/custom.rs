//! A discipline that the caller brings along: bands of packets, each first in, first out, with a judge.
//!
//! ```text
//!                                     +-> band 0 -+
//!   enqueue -> [ on_arrival, band ] --+-> band 7 -+-> [ choose, on_departure ] -> dequeue
//!               accept, mark, drop    +-> ...    -+        accept, mark, drop
//! ```
//!
//! The judge sees what is known of a packet ([`Case`]), the queue keeps the packets: whatever a judge
//! answers, none is lost, sent twice or overtaken in its band. Drop-tail, RED, BLUE, PIE (at arrival) and
//! CoDel (at departure) need one band; priorities and fair queueing one for each class or flow.

use crate::fifo::{Fifo, told_by_mark};
use crate::{Capacity, ConfigError, Dequeued, Ecn, Occupancy, Packet, QueueManagement, Slot};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use units::{Bytes, Duration, Instant};

/// A packet that is to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The time.
    pub now: Instant,
    /// Bytes of the packet in the queue.
    pub bytes: Bytes,
    /// Its flow, as [`Packet::flow`].
    pub flow: u64,
    /// Its QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// What it says of ECN.
    pub ecn: Ecn,
    /// How long it has waited; zero on arrival.
    pub sojourn: Duration,
    /// What waits beside it: on arrival all, on departure what is behind it in its band.
    pub others: Occupancy,
    /// Whether it fits beside the others. On arrival, what does not fit is dropped whatever the judge
    /// says; on departure always true.
    pub has_room: bool,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it is.
    Accept,
    /// It tells its transport of congestion: marked and kept if it understands marks (or is marked
    /// already), else dropped.
    Mark,
    /// It is dropped.
    Drop,
}

/// Decides about the packets of one queue.
pub trait Judge: Send {
    /// A packet comes.
    fn on_arrival(&mut self, case: &Case) -> Verdict;
    /// In which band a packet waits that has been accepted: any number.
    fn band(&mut self, _case: &Case) -> u64 {
        0
    }
    /// From which band the next packet comes; asked where packets wait in several. It stays the turn of
    /// a band until its packet has left or has been dropped. A number that is not among them is the first.
    fn choose(&mut self, _now: Instant, bands: &[Band]) -> u64 {
        bands.first().map_or(0, |band| band.number)
    }
    /// The packet at the head may leave: after a drop the next one is judged at once.
    fn on_departure(&mut self, _case: &Case) -> Verdict {
        Verdict::Accept
    }
    /// A slot has been served below; never of a wired link.
    fn on_slot(&mut self, _now: Instant, _slot: Slot) {}
}

/// Packets that wait in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Its number, as [`Judge::band`] gave it. Bands are shown in ascending order.
    pub number: u64,
    /// Its first packet.
    pub head: Case,
}

/// The queue that a judge is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Docket {
    /// What it may hold.
    pub capacity: Capacity,
    /// For random decisions: of this queue and run alone.
    pub seed: u64,
}

/// Makes judges by name.
pub trait Judges: Send + Sync {
    /// A new judge of that name; none if it is not known.
    fn judge(&self, name: &str, docket: Docket) -> Option<Box<dyn Judge>>;
}

/// A discipline of the caller's, by its name: equal to any other of the same name.
#[derive(Clone)]
pub struct CustomConfig {
    name: String,
    /// Who makes its judges; none while nobody has been found.
    judges: Option<Arc<dyn Judges>>,
}

impl CustomConfig {
    /// Of that name. It can be built once [`Self::judged_by`] somebody.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            judges: None,
        }
    }
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// From now on its queues have judges of these.
    pub fn judged_by(&mut self, judges: &Arc<dyn Judges>) {
        self.judges = Some(Arc::clone(judges));
    }
    /// An empty queue. `seed` is what its judge may draw from.
    ///
    /// # Errors
    /// A capacity of zero, or a name that nobody knows.
    pub fn build<P: Packet>(
        &self,
        capacity: Capacity,
        seed: u64,
    ) -> Result<Custom<P>, ConfigError> {
        capacity.check()?;
        let judges = self.judges.as_ref();
        let judge = judges.and_then(|judges| judges.judge(&self.name, Docket { capacity, seed }));
        let Some(judge) = judge else {
            return Err(ConfigError::UnknownDiscipline {
                name: self.name.clone(),
            });
        };
        Ok(Custom {
            capacity,
            bands: BTreeMap::new(),
            held: Occupancy::default(),
            turn: None,
            judge,
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

/// One queue with a judge.
pub struct Custom<P> {
    capacity: Capacity,
    /// None of them is empty.
    bands: BTreeMap<u64, Fifo<P>>,
    /// What they hold together.
    held: Occupancy,
    /// The band that has been chosen, if its packet has not left yet.
    turn: Option<u64>,
    judge: Box<dyn Judge>,
}

impl<P: fmt::Debug> fmt::Debug for Custom<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own")
            .field("capacity", &self.capacity)
            .field("bands", &self.bands)
            .finish_non_exhaustive()
    }
}

fn case<P: Packet>(now: Instant, packet: &P, sojourn: Duration, others: Occupancy) -> Case {
    Case {
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

/// The first packet of a band, as a judge sees it.
fn head<P: Packet>(now: Instant, packets: &Fifo<P>) -> Option<Case> {
    let first = packets.front()?;
    let held = packets.occupancy();
    let others = Occupancy {
        packets: held.packets - 1,
        bytes: held.bytes - first.packet.bytes(),
    };
    let sojourn = now.saturating_since(first.enqueued_at);
    Some(case(now, &first.packet, sojourn, others))
}

impl<P: Packet> Custom<P> {
    /// Whose turn it is; none if nothing waits.
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
            self.turn = Some(self.judge.choose(now, &bands));
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
        let case = Case {
            has_room,
            ..case(now, &packet, Duration::ZERO, self.held)
        };
        let is_kept = match self.judge.on_arrival(&case) {
            _ if !has_room => false,
            Verdict::Accept => true,
            Verdict::Mark => told_by_mark(&mut packet),
            Verdict::Drop => false,
        };
        if !is_kept {
            return Err(packet);
        }
        let number = self.judge.band(&case);
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
            let case = head(now, packets)?;
            if case.bytes > budget {
                return None;
            }
            let is_sent = match self.judge.on_departure(&case) {
                Verdict::Accept => true,
                Verdict::Mark => packets.front_mut().is_some_and(told_by_mark),
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
        self.judge.on_slot(now, slot);
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

    /// Answers what it is told to, in turn, and keeps what it was asked. Flows are bands.
    #[derive(Clone, Default)]
    struct Script {
        verdicts: Vec<Verdict>,
        /// What it chooses next.
        turns: Arc<Mutex<Vec<u64>>>,
        asked: Arc<Mutex<Vec<Case>>>,
    }

    impl Script {
        fn next(&self, case: &Case) -> Verdict {
            let mut asked = self.asked.lock().unwrap();
            asked.push(*case);
            match self.verdicts.get(asked.len() - 1) {
                Some(verdict) => *verdict,
                None => Verdict::Accept,
            }
        }
    }

    impl Judge for Script {
        fn on_arrival(&mut self, case: &Case) -> Verdict {
            self.next(case)
        }
        fn on_departure(&mut self, case: &Case) -> Verdict {
            self.next(case)
        }
        fn band(&mut self, case: &Case) -> u64 {
            case.flow
        }
        fn choose(&mut self, _: Instant, bands: &[Band]) -> u64 {
            let numbers: Vec<u64> = bands.iter().map(|band| band.number).collect();
            assert!(numbers.len() > 1 && numbers.is_sorted(), "{numbers:?}");
            self.turns.lock().unwrap().pop().unwrap_or(numbers[0])
        }
    }

    impl Judges for Script {
        fn judge(&self, name: &str, _: Docket) -> Option<Box<dyn Judge>> {
            (name == "script").then(|| Box::new(self.clone()) as Box<dyn Judge>)
        }
    }

    fn config(script: &Script) -> CustomConfig {
        let mut config = CustomConfig::new("script");
        let judges: Arc<dyn Judges> = Arc::new(script.clone());
        config.judged_by(&judges);
        config
    }

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_judge_sees_the_packet_and_what_waits_beside_it() {
        let script = Script::default();
        let capacity = Capacity::Bytes(Bytes::new(2_500));
        let mut queue = config(&script).build(capacity, 1).unwrap();
        let packet = TestPacket::new(1_500).with_flow(7).with_qfi(9);
        queue.enqueue(at_ms(1), packet).unwrap();
        let behind = TestPacket::new(1_000).with_flow(7);
        queue.enqueue(at_ms(2), behind).unwrap();
        // accepted by the judge, but there is no room
        queue.enqueue(at_ms(3), TestPacket::new(1)).unwrap_err();
        queue
            .dequeue(at_ms(5), Bytes::MAX, &mut |_| panic!("dropped"))
            .unwrap();
        let asked = script.asked.lock().unwrap();
        let held = |packets, bytes| Occupancy {
            packets,
            bytes: Bytes::new(bytes),
        };
        let others: Vec<_> = asked.iter().map(|case| case.others).collect();
        let expected = [held(0, 0), held(1, 1_500), held(2, 2_500), held(1, 1_000)];
        assert_eq!(others, expected);
        let rooms: Vec<_> = asked.iter().map(|case| case.has_room).collect();
        assert_eq!(rooms, [true, true, false, true]);
        let last = asked[3];
        assert_eq!(
            (last.now, last.sojourn),
            (at_ms(5), Duration::from_millis(4))
        );
        assert_eq!((last.bytes, last.flow, last.qfi), (Bytes::new(1_500), 7, 9));
    }

    #[test]
    fn a_mark_drops_what_understands_no_marks() {
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
    fn a_name_that_nobody_knows_cannot_be_built() {
        let mut unknown = CustomConfig::new("nobody");
        let told = |config: &CustomConfig| {
            let queue = QueueConfig {
                discipline: DisciplineConfig::Custom(config.clone()),
                ..QueueConfig::drop_tail(Capacity::Unlimited)
            };
            let rng = Streams::new(1).stream("queue");
            queue.build::<TestPacket>(rng).unwrap_err().to_string()
        };
        assert!(told(&unknown).contains("\"nobody\" is not known"));
        let judges: Arc<dyn Judges> = Arc::new(Script::default());
        unknown.judged_by(&judges);
        assert!(told(&unknown).contains("\"nobody\" is not known"));
        let none =
            config(&Script::default()).build::<TestPacket>(Capacity::Packets(Packets::ZERO), 1);
        assert_eq!(none.unwrap_err(), ConfigError::ZeroCapacity);
    }

    #[test]
    fn the_judge_chooses_the_band_and_keeps_to_it_until_its_packet_has_left() {
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
        assert_eq!(next(500), None, "nobody overtakes what does not fit");
        assert_eq!(script.turns.lock().unwrap().len(), 1);
        assert_eq!(
            [next(1_000), next(1_000), next(1_000)],
            [Some(900), Some(300), Some(200)]
        );
        assert_eq!(next(1_000), None);
        let asked = script.asked.lock().unwrap();
        let behind: Vec<_> = asked[4..]
            .iter()
            .map(|case| case.others.bytes.get())
            .collect();
        assert_eq!(behind, [200, 300, 0, 0]);
    }

    proptest! {
        #[test]
        fn whatever_is_answered_packets_are_conserved_and_in_order(
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
