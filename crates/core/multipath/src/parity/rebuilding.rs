//! The receiver's half: packets that came, and parities that wait for some.

use super::Group;
use crate::Payload;
use crate::seq::MpSeq;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// Packets kept; with more the oldest goes.
const MAX_PACKETS: usize = 256;
/// Parities of which more than one packet is missing.
const MAX_PARITIES: usize = 32;

/// What is kept to rebuild packets from.
#[derive(Debug)]
pub(crate) struct Rebuilder<P> {
    /// How long packets are of use.
    deadline: Duration,
    packets: VecDeque<(MpSeq, P, Instant)>,
    parities: VecDeque<(Group, P, Instant)>,
}

impl<P: Payload> Rebuilder<P> {
    pub(crate) fn new(deadline: Duration) -> Self {
        Self {
            deadline,
            packets: VecDeque::new(),
            parities: VecDeque::new(),
        }
    }

    /// A latency-sensitive packet came, as it was sent: the one that can be rebuilt now.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        number: MpSeq,
        payload: P,
    ) -> Option<(MpSeq, P)> {
        self.expire(now);
        if self.payload(number).is_some() {
            return None;
        }
        self.keep(now, number, payload);
        let is_of = |(group, ..): &(Group, P, Instant)| group.numbers().any(|of| of == number);
        let at = self.parities.iter().position(is_of)?;
        let (group, parity, since) = self.parities.remove(at)?;
        self.rebuild(now, group, parity, since)
    }

    /// A parity came: the packet that can be rebuilt now.
    pub(crate) fn on_parity(
        &mut self,
        now: Instant,
        group: Group,
        parity: P,
    ) -> Option<(MpSeq, P)> {
        self.expire(now);
        self.rebuild(now, group, parity, now)
    }

    /// Packets, and parities, that are kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.packets.len(), self.parities.len())
    }

    fn keep(&mut self, now: Instant, number: MpSeq, payload: P) {
        while self.packets.len() >= MAX_PACKETS {
            self.packets.pop_front();
        }
        self.packets.push_back((number, payload, now));
    }

    fn payload(&self, number: MpSeq) -> Option<&P> {
        let mut packets = self.packets.iter().rev();
        let found = packets.find(|(of, ..)| *of == number);
        found.map(|(_, payload, _)| payload)
    }

    /// The missing packet of a group; of one that misses several the parity waits.
    fn rebuild(
        &mut self,
        now: Instant,
        group: Group,
        parity: P,
        since: Instant,
    ) -> Option<(MpSeq, P)> {
        let is_missing = |number: &MpSeq| self.payload(*number).is_none();
        let missing: Vec<MpSeq> = group.numbers().filter(is_missing).collect();
        let number = *missing.first()?;
        if missing.len() > 1 {
            if self.parities.len() >= MAX_PARITIES {
                self.parities.pop_front();
            }
            self.parities.push_back((group, parity, since));
            return None;
        }
        let others = group.numbers().filter_map(|of| self.payload(of));
        let others: Vec<P> = others.cloned().collect();
        let rebuilt = parity.rebuilt(&others)?;
        self.keep(now, number, rebuilt.clone());
        Some((number, rebuilt))
    }

    fn expire(&mut self, now: Instant) {
        let is_old = |since: Instant| now.saturating_since(since) >= self.deadline;
        while self
            .packets
            .front()
            .is_some_and(|(.., since)| is_old(*since))
        {
            self.packets.pop_front();
        }
        self.parities.retain(|(.., since)| !is_old(*since));
    }
}
