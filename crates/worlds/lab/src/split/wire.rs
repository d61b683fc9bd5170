//! Both ends of F1-U: packets into messages and back, and the statuses of the distributed units.

use super::hosts::Units;
use super::leg::{Leg, OnWire, UPLINK};
use crate::Error;
use crate::gtp::{MAX_MESSAGE, Port, rebuilt, teid};
use crate::packet::Packet;
use network::Place;
use queue::Ecn;
use ran::BearerConfig;
use scenario::UeSpec;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::UdpSocket;
use units::Instant;

/// Which PDU a packet came down in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pdu {
    /// Number of its tunnels.
    pub(super) leg: u32,
    /// Its COUNT.
    pub(crate) count: u64,
    /// NR-U's number.
    pub(super) sequence: u32,
}

/// A packet that has come to a distributed unit.
#[derive(Debug)]
pub(crate) struct Down {
    pub(crate) packet: Packet,
    /// Where it belongs, where there are several cells.
    pub(crate) place: Option<Place>,
}

/// What has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets that came down to distributed units.
    pub(crate) down: u64,
    /// Packets that came up to the centralized one.
    pub(crate) up: u64,
    /// Statuses without a packet.
    pub(crate) statuses: u64,
    /// Tunnels downwards that there were.
    pub(crate) tunnels: u64,
    /// Messages that the sender's kernel did not take, or that an end could not read.
    pub(crate) failed: u64,
    /// Packets that a distributed unit had no room for.
    pub(crate) rejected: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "F1-U: {} packets down, {} up, {} statuses alone, in {} tunnels each way; {} without room in a distributed unit, {} \
             messages lost or unreadable. Radio reports are those of brimful rnis on this wire, as they come: report-delay does not apply",
            self.down, self.up, self.statuses, self.tunnels, self.rejected, self.failed
        )
    }
}

/// The tunnels of a bearer, by their number.
#[derive(Clone, Debug)]
struct Bearer {
    config: BearerConfig,
    current: Option<u32>,
    /// Those before: what they still have comes up.
    previous: Option<u32>,
}

/// The ends of all bearers, and their sockets.
#[derive(Debug)]
pub(crate) struct Split {
    /// By cell, the sockets of the centralized and of the cell's distributed unit.
    wires: Vec<[Port; 2]>,
    /// By UE.
    bearers: Vec<Vec<Bearer>>,
    legs: BTreeMap<u32, Leg>,
    /// Number of the next tunnels.
    next: u32,
    /// What the wire has lost.
    lost: Vec<OnWire>,
    buffer: Box<[u8]>,
    counts: Counts,
}

impl Split {
    /// For these UEs. Where there is one cell it serves them all.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn new(units: &Units, ues: &[UeSpec]) -> Result<Self, Error> {
        let bearer = |config: &BearerConfig| Bearer {
            config: config.clone(),
            current: None,
            previous: None,
        };
        let bearers = ues.iter().map(|ue| ue.bearers.iter().map(bearer).collect());
        let mut split = Self {
            wires: units.sockets()?,
            bearers: bearers.collect(),
            legs: BTreeMap::new(),
            next: 0,
            lost: Vec::new(),
            buffer: vec![0; MAX_MESSAGE].into(),
            counts: Counts::default(),
        };
        if split.wires.len() == 1 {
            for ue in 0..ues.len() {
                split.serve(ue, 0);
            }
        }
        Ok(split)
    }

    /// The sockets of all units.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = &UdpSocket> {
        self.wires.iter().flatten().map(Port::socket)
    }

    /// What has passed so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// A cell serves a UE from now on: its bearers get tunnels to the cell's unit.
    pub(crate) fn serve(&mut self, ue: usize, cell: usize) {
        let Some(bearers) = self.bearers.get_mut(ue) else {
            return;
        };
        for (number, bearer) in bearers.iter_mut().enumerate() {
            let before = bearer.current.and_then(|leg| self.legs.get(&leg));
            let leg = match before {
                Some(before) => before.moved(self.next, cell),
                None => Leg::new(self.next, cell, (ue, number), &bearer.config),
            };
            self.legs.insert(self.next, leg);
            let forgotten = bearer
                .previous
                .take()
                .and_then(|leg| self.legs.remove(&leg));
            self.lost
                .extend(forgotten.into_iter().flat_map(|mut leg| leg.take_back()));
            bearer.previous = bearer.current.replace(self.next);
            self.next += 1;
            self.counts.tunnels += 1;
        }
    }

    /// A UE leaves its cell, whose unit sends last statuses. What has not come to the unit is given back, in its order.
    pub(crate) fn leave(&mut self, now: Instant, ue: usize) -> VecDeque<(Place, Packet)> {
        let mut back = VecDeque::new();
        let bearers = self.bearers.get(ue).into_iter().flatten();
        for number in bearers.filter_map(|bearer| bearer.current) {
            let Some(leg) = self.legs.get_mut(&number) else {
                continue;
            };
            back.extend(leg.take_back().into_iter().map(OnWire::into_parts));
            let Some(message) = leg.unit.leave(now, leg.progress) else {
                continue;
            };
            let sent = self.wires[leg.cell][1].send(&message, Ecn::NotEct);
            self.counts.statuses += u64::from(sent);
            self.counts.failed += u64::from(!sent);
        }
        back
    }

    /// What the wire has lost of what belongs to several cells.
    pub(crate) fn take_lost(&mut self) -> impl Iterator<Item = (Place, Packet)> + use<> {
        core::mem::take(&mut self.lost)
            .into_iter()
            .map(OnWire::into_parts)
    }

    fn leg(&mut self, (ue, number): (usize, usize)) -> Option<(u32, &mut Leg)> {
        let leg = self.bearers.get(ue)?.get(number)?.current?;
        Some((leg, self.legs.get_mut(&leg)?))
    }

    /// The centralized unit sends a packet down in a bearer of a UE; where there are several cells, one that belongs there.
    pub(crate) fn send_down(&mut self, of: (usize, usize), packet: Packet, place: Option<Place>) {
        let framed = self.leg(of).and_then(|(number, leg)| {
            let (pdu, message) = leg.down(number, &packet)?;
            Some((pdu, message, leg.cell))
        });
        let sent =
            framed.filter(|(_, message, cell)| self.wires[*cell][0].send(message, Ecn::NotEct));
        self.counts.failed += u64::from(sent.is_none());
        let Some(place) = place else { return };
        match (sent, self.leg(of)) {
            (Some((pdu, ..)), Some((_, leg))) => leg.sent(pdu, place, packet),
            _ => self.lost.push(OnWire::lost(place, packet)),
        }
    }

    /// The distributed unit sends a packet up.
    pub(crate) fn send_up(&mut self, now: Instant, of: (usize, usize), packet: &Packet) {
        let framed = self.leg(of).and_then(|(_, leg)| {
            let progress = leg.progress;
            let message = leg.unit.uplink_data(now, &packet.data, progress)?;
            Some((message, leg.cell))
        });
        let sent =
            framed.is_some_and(|(message, cell)| self.wires[cell][1].send(&message, Ecn::NotEct));
        self.counts.failed += u64::from(!sent);
    }

    /// The next packet that has come down.
    pub(crate) fn take_down(&mut self) -> Option<Down> {
        for [_, unit] in &self.wires {
            while let Some(arrived) = unit.receive(&mut self.buffer, &mut self.counts.failed) {
                let message = &self.buffer[..arrived.length];
                let number = teid(message).and_then(|teid| teid.checked_sub(1));
                let leg = number.and_then(|number| Some((number, self.legs.get_mut(&number)?)));
                let read = leg.and_then(|(number, leg)| {
                    let received = leg.unit.on_message(message).ok()?;
                    Some((number, leg, received))
                });
                let Some((number, leg, received)) = read else {
                    self.counts.failed += 1;
                    continue;
                };
                let pdu = Pdu {
                    leg: number,
                    count: received.count,
                    sequence: received.sequence,
                };
                let packet = Packet {
                    pdu: Some(pdu),
                    ..rebuilt(received.packet)
                };
                let mut place = None;
                if self.wires.len() > 1 {
                    // what has been taken back, or given up, is not wanted a second time
                    let Some((came, lost)) = leg.came(received.sequence) else {
                        continue;
                    };
                    self.counts.failed += lost.len() as u64;
                    self.lost.extend(lost);
                    place = Some(came.place);
                }
                self.counts.down += 1;
                return Some(Down { packet, place });
            }
        }
        None
    }

    /// The next packet that has come up.
    pub(crate) fn take_up(&mut self) -> Option<Packet> {
        for [central, _] in &self.wires {
            while let Some(arrived) = central.receive(&mut self.buffer, &mut self.counts.failed) {
                let message = &self.buffer[..arrived.length];
                let number = teid(message).and_then(|teid| teid.checked_sub(UPLINK));
                let leg = number.and_then(|number| self.legs.get(&number));
                match leg.map(|leg| leg.central.on_message(message)) {
                    Some(Ok(Some(packet))) => {
                        self.counts.up += 1;
                        return Some(rebuilt(packet));
                    }
                    Some(Ok(None)) => {}
                    Some(Err(_)) | None => self.counts.failed += 1,
                }
            }
        }
        None
    }

    /// The UE has a packet.
    pub(crate) fn on_delivered(&mut self, pdu: Pdu) {
        if let Some(leg) = self.legs.get_mut(&pdu.leg) {
            leg.on_delivered(pdu.count);
        }
    }

    /// The cell has dropped a packet. One of which nothing was sent the unit had no room for.
    pub(crate) fn on_dropped(&mut self, pdu: Pdu) {
        let Some(leg) = self.legs.get_mut(&pdu.leg) else {
            return;
        };
        if pdu.count >= leg.progress.transmitted {
            leg.unit.on_rejected(pdu.sequence);
            self.counts.rejected += 1;
        }
    }

    /// The progress of all bearers is what their cells have done: `transmitted` has the highest number of a cell's UE's bearer.
    pub(crate) fn progress(&mut self, transmitted: impl Fn(usize, (usize, usize)) -> Option<u64>) {
        let current = self.bearers.iter().flatten();
        for number in current.filter_map(|bearer| bearer.current) {
            if let Some(leg) = self.legs.get_mut(&number)
                && let Some(count) = transmitted(leg.cell, leg.of)
            {
                leg.progress.transmitted = count + 1;
            }
        }
    }

    /// The distributed units send the statuses that are due.
    pub(crate) fn report(&mut self, now: Instant) {
        for leg in self.legs.values_mut() {
            let Some(message) = leg.unit.status(now, leg.progress) else {
                continue;
            };
            let sent = self.wires[leg.cell][1].send(&message, Ecn::NotEct);
            self.counts.statuses += u64::from(sent);
            self.counts.failed += u64::from(!sent);
        }
    }

    /// When a status is due next.
    pub(crate) fn next_status(&self) -> Option<Instant> {
        let due = |leg: &Leg| leg.unit.status_at(leg.progress);
        self.legs.values().filter_map(due).min()
    }
}
