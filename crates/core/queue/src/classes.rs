//! Classes of QoS flows: the queues of the SDAP sublayer and the scheduler between them.
//!
//! Source: TS 37.324 section 5.2 maps QoS flows to bearers and leaves the order to the implementation;
//! the dynamic-buffer paper (section 5) serves low-latency classes first. Two schedulers: strict priority,
//! and deficit round robin by weight (Shreedhar and Varghese, SIGCOMM 1995). Each class is a queue
//! with a discipline of its own. Bytes.
//!
//! *Deviations*
//! - A deficit may go below zero by less than a packet, as in [`crate::Sfq`].
//! - Where the head of the class whose turn it is does not fit the budget, nothing is given: no class
//!   overtakes because its packets are smaller.
//! - Over the capacity of all classes together, the arriving packet is dropped, whatever its class.

use crate::config::Discipline;
use crate::fq_codel::deficit_of;
use crate::{
    Capacity, ConfigError, Dequeued, DisciplineConfig, MTU, Occupancy, Packet, QueueManagement,
    Room, Slot, error,
};
use units::{Bytes, Instant, Rng};

/// The highest QoS flow identifier (TS 37.324 section 6.3.4).
const MAX_QFI: u8 = 63;

/// Which class goes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassScheduler {
    /// The first class that has a packet.
    #[default]
    StrictPriority,
    /// Each in turn, bytes by weight: deficit round robin.
    Weighted,
}

/// One class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassConfig {
    /// Its QoS flow identifiers, 0 to 63 each. The last class takes all that no class names.
    pub qfis: Vec<u8>,
    /// Its part of the link where the scheduler is weighted, 1 to 1000.
    pub weight: u32,
    /// Order, drops and marks within it; not classes again.
    pub discipline: Box<DisciplineConfig>,
    /// What it may hold.
    pub capacity: Capacity,
}

/// The SDAP sublayer's queues: one a class of QoS flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassesConfig {
    /// Which class goes next.
    pub scheduler: ClassScheduler,
    /// In descending priority.
    pub classes: Vec<ClassConfig>,
}

impl ClassesConfig {
    /// # Errors
    /// No classes or more than 64, a QFI out of range or in two classes, a weight of zero or above 1000, classes within
    /// a class, and what its disciplines reject.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.classes.is_empty() {
            return Err(ConfigError::NoClasses);
        }
        let count = self.classes.len();
        error::expect(count <= 64, "number of classes", &count, "1 to 64")?;
        let mut is_taken = [false; MAX_QFI as usize + 1];
        for class in &self.classes {
            for &qfi in &class.qfis {
                error::expect(qfi <= MAX_QFI, "QFI of a class", &qfi, "0 to 63")?;
                if std::mem::replace(&mut is_taken[usize::from(qfi)], true) {
                    return Err(ConfigError::QfiTwice { qfi });
                }
            }
            let weight = class.weight;
            error::expect(
                (1..=1000).contains(&weight),
                "weight of a class",
                &weight,
                "1 to 1000",
            )?;
            if matches!(*class.discipline, DisciplineConfig::Classes(_)) {
                return Err(ConfigError::NestedClasses);
            }
            class.capacity.check()?;
            class.discipline.check()?;
        }
        Ok(())
    }
}

impl ClassesConfig {
    /// Each of its classes.
    pub(crate) fn scale(&mut self, ratio: f64) {
        for class in &mut self.classes {
            class.capacity = class.capacity.scaled(ratio);
            class.discipline.scale(ratio);
        }
    }
}

/// One class as it runs.
#[derive(Debug)]
struct Class<P> {
    packets: Discipline<P>,
    /// Bytes that a turn adds: a full packet for each unit of weight.
    quantum: i64,
    /// Bytes that it may still send in this turn; below zero by less than a packet.
    deficit: i64,
}

/// The queues of all classes.
#[derive(Debug)]
pub struct Classes<P> {
    scheduler: ClassScheduler,
    capacity: Capacity,
    /// In descending priority.
    classes: Vec<Class<P>>,
    /// Which class each QFI belongs to.
    class_of: [u8; MAX_QFI as usize + 1],
    /// Whose turn it is.
    turn: usize,
}

impl<P: Packet + Send> Classes<P> {
    /// Empty queues; `rng` is for the disciplines of the classes.
    ///
    /// # Errors
    /// As [`ClassesConfig::check`]; a capacity of zero.
    pub fn new(
        config: &ClassesConfig,
        capacity: Capacity,
        rng: &mut Rng,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        let mut class_of = [(config.classes.len() - 1) as u8; MAX_QFI as usize + 1];
        let mut classes = Vec::with_capacity(config.classes.len());
        for (index, class) in config.classes.iter().enumerate() {
            for &qfi in &class.qfis {
                class_of[usize::from(qfi)] = index as u8;
            }
            classes.push(Class {
                packets: Discipline::new(&class.discipline, class.capacity, rng)?,
                quantum: deficit_of(MTU * u64::from(class.weight)),
                deficit: 0,
            });
        }
        Ok(Self {
            scheduler: config.scheduler,
            capacity,
            classes,
            class_of,
            turn: 0,
        })
    }

    fn class_of(&self, packet: &P) -> usize {
        let last = self.classes.len() - 1;
        self.class_of
            .get(usize::from(packet.qfi()))
            .map_or(last, |&class| usize::from(class))
    }

    fn dequeue_first(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        for class in &mut self.classes {
            if class.packets.occupancy().packets == 0 {
                continue;
            }
            let next = class.packets.dequeue(now, budget, dropped);
            // what still waits did not fit; a class may also have dropped all it had
            if next.is_some() || class.packets.occupancy().packets > 0 {
                return next;
            }
        }
        None
    }

    fn dequeue_in_turn(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        let mut empty = 0;
        while empty < self.classes.len() {
            let class = &mut self.classes[self.turn];
            if class.packets.occupancy().packets == 0 {
                class.deficit = 0;
                empty += 1;
                self.pass_turn();
                continue;
            }
            empty = 0;
            if class.deficit <= 0 {
                self.pass_turn();
                continue;
            }
            let next = class.packets.dequeue(now, budget, dropped);
            if let Some(next) = &next {
                class.deficit -= deficit_of(next.packet.bytes());
            }
            if next.is_some() || class.packets.occupancy().packets > 0 {
                return next;
            }
        }
        None
    }

    fn pass_turn(&mut self) {
        self.turn = (self.turn + 1) % self.classes.len();
        let class = &mut self.classes[self.turn];
        class.deficit = class.deficit.saturating_add(class.quantum);
    }

    fn sum(occupancies: impl Iterator<Item = Occupancy>) -> Occupancy {
        occupancies.fold(Occupancy::default(), |sum, held| Occupancy {
            packets: sum.packets + held.packets,
            bytes: sum.bytes + held.bytes,
        })
    }
}

impl<P: Packet + Send> QueueManagement<P> for Classes<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if self.capacity != Capacity::Unlimited
            && !self.capacity.admits(self.occupancy(), packet.bytes())
        {
            return Err(packet);
        }
        let class = self.class_of(&packet);
        self.classes[class].packets.enqueue(now, packet)
    }

    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        match self.scheduler {
            ClassScheduler::StrictPriority => self.dequeue_first(now, budget, dropped),
            ClassScheduler::Weighted => self.dequeue_in_turn(now, budget, dropped),
        }
    }

    fn occupancy(&self) -> Occupancy {
        Self::sum(self.classes.iter().map(|class| class.packets.occupancy()))
    }
    fn ready(&self, now: Instant) -> Occupancy {
        Self::sum(self.classes.iter().map(|class| class.packets.ready(now)))
    }
    fn room(&mut self, now: Instant) -> Room {
        let rooms = self.classes.iter_mut().map(|class| class.packets.room(now));
        rooms.fold(Room::Unlimited, crate::queue::lesser)
    }
    fn on_blocked(&mut self, now: Instant) {
        for class in &mut self.classes {
            class.packets.on_blocked(now);
        }
    }
    fn on_slot(&mut self, now: Instant, slot: Slot) {
        for class in &mut self.classes {
            class.packets.on_slot(now, slot);
        }
    }
    fn next_deadline(&self) -> Option<Instant> {
        let deadlines = self
            .classes
            .iter()
            .map(|class| class.packets.next_deadline());
        deadlines.flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet::TestPacket;
    use proptest::prelude::*;
    use units::{Packets, Streams};

    fn class(qfis: &[u8], weight: u32) -> ClassConfig {
        ClassConfig {
            qfis: qfis.to_vec(),
            weight,
            discipline: Box::new(DisciplineConfig::DropTail),
            capacity: Capacity::Unlimited,
        }
    }
    fn classes(
        scheduler: ClassScheduler,
        classes: Vec<ClassConfig>,
        capacity: Capacity,
    ) -> Result<Classes<TestPacket>, ConfigError> {
        let config = ClassesConfig { scheduler, classes };
        Classes::new(&config, capacity, &mut Streams::new(1).stream("classes"))
    }
    fn next(classes: &mut Classes<TestPacket>, budget: u64) -> Option<TestPacket> {
        let next = classes.dequeue(Instant::ZERO, Bytes::new(budget), &mut |_| {
            panic!("dropped")
        });
        next.map(|next| next.packet)
    }

    #[test]
    fn the_last_class_takes_what_no_class_names() {
        let two = vec![class(&[5], 1), class(&[1, 9], 1)];
        let built = classes(ClassScheduler::StrictPriority, two, Capacity::Unlimited).unwrap();
        let of = |qfi| built.class_of(&TestPacket::new(1).of_qfi(qfi));
        assert_eq!(
            [of(5), of(1), of(9), of(0), of(63), of(200)],
            [0, 1, 1, 1, 1, 1]
        );
    }

    #[test]
    fn weights_share_the_bytes() {
        let two = vec![class(&[1], 3), class(&[2], 1)];
        let mut built = classes(ClassScheduler::Weighted, two, Capacity::Unlimited).unwrap();
        for _ in 0..2000 {
            for (qfi, bytes) in [(1, 700), (2, 1500)] {
                let packet = TestPacket::new(bytes).of_qfi(qfi);
                built.enqueue(Instant::ZERO, packet).unwrap();
            }
        }
        let (mut heavy, mut light) = (0, 0);
        for _ in 0..1500 {
            let packet = next(&mut built, u64::MAX).unwrap();
            *(if packet.qfi == 1 {
                &mut heavy
            } else {
                &mut light
            }) += packet.bytes;
        }
        // within a turn of the heavier class
        assert!(
            heavy.abs_diff(3 * light) <= 3 * 1500 + 2 * 1500,
            "{heavy} {light}"
        );
    }

    #[test]
    fn the_set_has_a_capacity_of_its_own() {
        let two = vec![class(&[1], 1), class(&[2], 1)];
        let capacity = Capacity::Packets(Packets::new(3));
        let mut built = classes(ClassScheduler::StrictPriority, two, capacity).unwrap();
        for qfi in [2, 2, 2] {
            built
                .enqueue(Instant::ZERO, TestPacket::new(1).of_qfi(qfi))
                .unwrap();
        }
        assert!(
            built
                .enqueue(Instant::ZERO, TestPacket::new(1).of_qfi(1))
                .is_err()
        );
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let rejected = |set: Vec<ClassConfig>| {
            let built = classes(ClassScheduler::Weighted, set, Capacity::Unlimited);
            built.map(drop).unwrap_err().to_string()
        };
        assert_eq!(
            rejected(vec![]),
            "the queue has no classes, expected at least one"
        );
        assert!(rejected(vec![class(&[1], 1), class(&[2, 1], 1)]).starts_with("QFI 1 is in two"));
        assert!(rejected(vec![class(&[64], 1)]).contains("64, expected 0 to 63"));
        assert!(rejected(vec![class(&[1], 0)]).contains("1 to 1000"));
        let inner = ClassesConfig {
            scheduler: ClassScheduler::Weighted,
            classes: vec![class(&[], 1)],
        };
        let nested = ClassConfig {
            discipline: Box::new(DisciplineConfig::Classes(inner)),
            ..class(&[], 1)
        };
        assert!(rejected(vec![nested]).contains("classes of its own"));
    }

    proptest! {
        #[test]
        fn strict_priority_never_serves_a_lower_class_while_a_higher_one_waits(
            steps in prop::collection::vec((0u8..3, 40u64..1500, 0u64..2000, any::<bool>()), 1..300),
        ) {
            let three = vec![class(&[0], 1), class(&[1], 1), class(&[2], 1)];
            let mut built =
                classes(ClassScheduler::StrictPriority, three, Capacity::Unlimited).unwrap();
            let mut waiting = [0; 3];
            for (qfi, bytes, budget, is_arrival) in steps {
                if is_arrival {
                    let packet = TestPacket::new(bytes).of_qfi(qfi);
                    built.enqueue(Instant::ZERO, packet).unwrap();
                    waiting[usize::from(qfi)] += 1;
                } else if let Some(packet) = next(&mut built, budget) {
                    let class = usize::from(packet.qfi);
                    prop_assert!(waiting[..class].iter().all(|&n| n == 0));
                    prop_assert!(packet.bytes <= budget);
                    waiting[class] -= 1;
                }
            }
        }
    }
}
