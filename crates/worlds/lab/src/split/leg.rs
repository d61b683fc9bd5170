//! A bearer of a UE while one cell serves it: a pair of tunnels between the centralized unit and the cell's distributed unit.

use super::wire::Pdu;
use crate::packet::Packet;
use f1u::{CentralEnd, Endpoints, Progress, SnLength, UnitEnd};
use network::Place;
use queue::Capacity;
use ran::{BearerConfig, RlcMode};
use std::collections::VecDeque;
use units::Bytes;

/// Endpoint identifiers at the centralized unit begin here, and at the distributed ones with 1.
pub(super) const UPLINK: u32 = 0x8000_0000;
/// What a packet of a buffer that is counted in packets has.
const PACKET: u64 = 1_500;

/// A packet that the distributed unit has not got yet: the centralized one has it until then.
#[derive(Debug)]
pub(super) struct OnWire {
    sequence: u32,
    pub(super) place: Place,
    packet: Packet,
}

impl OnWire {
    /// One that no wire has taken.
    pub(super) fn lost(place: Place, packet: Packet) -> Self {
        Self {
            sequence: 0,
            place,
            packet,
        }
    }

    /// The packet, with the COUNT that it was sent with, and its place.
    pub(super) fn into_parts(self) -> (Place, Packet) {
        (self.place, self.packet)
    }
}

/// A bearer at one unit.
#[derive(Debug)]
pub(super) struct Leg {
    /// The UE, and the bearer among its.
    pub(super) of: (usize, usize),
    /// Its cell, among all.
    pub(super) cell: usize,
    pub(super) central: CentralEnd,
    pub(super) unit: UnitEnd,
    /// In acknowledged mode deliveries are reported.
    is_acknowledged: bool,
    pub(super) progress: Progress,
    on_wire: VecDeque<OnWire>,
}

impl Leg {
    /// The first of a bearer, with tunnels of this number.
    pub(super) fn new(number: u32, cell: usize, of: (usize, usize), config: &BearerConfig) -> Self {
        let room = match config.downlink_buffer {
            Capacity::Bytes(bytes) => bytes,
            Capacity::Packets(packets) => Bytes::new(packets.get().saturating_mul(PACKET)),
            Capacity::Unlimited => Bytes::new(u32::MAX.into()),
        };
        let endpoints = endpoints(number);
        Self {
            of,
            cell,
            central: CentralEnd::new(endpoints),
            unit: UnitEnd::new(endpoints, room),
            is_acknowledged: matches!(config.rlc, RlcMode::Am(_)),
            progress: Progress::default(),
            on_wire: VecDeque::new(),
        }
    }

    /// The next of the same bearer, at the unit of another cell or of this one again.
    pub(super) fn moved(&self, number: u32, cell: usize) -> Self {
        let endpoints = endpoints(number);
        Self {
            cell,
            central: self.central.moved(endpoints),
            unit: self.unit.moved(endpoints),
            progress: Progress::default(),
            on_wire: VecDeque::new(),
            ..*self
        }
    }

    /// The message in which a packet goes down, and the PDU in it; one that was sent to another unit before keeps its COUNT.
    pub(super) fn down(&mut self, number: u32, packet: &Packet) -> Option<(Pdu, Vec<u8>)> {
        let sequence = self.central.next_sequence();
        let count = match packet.pdu {
            Some(pdu) => pdu.count,
            None => self.central.next_count(),
        };
        let message = match packet.pdu {
            Some(_) => self.central.resend(count, &packet.data),
            None => self.central.user_data(&packet.data, false),
        };
        let pdu = Pdu {
            leg: number,
            count,
            sequence,
        };
        Some((pdu, message?))
    }

    /// It is on the wire.
    pub(super) fn sent(&mut self, pdu: Pdu, place: Place, packet: Packet) {
        self.on_wire.push_back(OnWire {
            sequence: pdu.sequence,
            place,
            packet: Packet {
                pdu: Some(pdu),
                ..packet
            },
        });
    }

    /// It has come: what was on the wire of it, and those before it, which will not come.
    pub(super) fn came(&mut self, sequence: u32) -> Option<(OnWire, Vec<OnWire>)> {
        let at = self.on_wire.iter().position(|it| it.sequence == sequence)?;
        let mut all = self.on_wire.drain(..=at);
        let came = all.next_back()?;
        Some((came, all.collect()))
    }

    /// All that has not come, in its order.
    pub(super) fn take_back(&mut self) -> VecDeque<OnWire> {
        core::mem::take(&mut self.on_wire)
    }

    /// The UE has a packet.
    pub(super) fn on_delivered(&mut self, count: u64) {
        if self.is_acknowledged {
            let delivered = &mut self.progress.delivered;
            *delivered = (*delivered).max(count + 1);
        }
    }
}

fn endpoints(number: u32) -> Endpoints {
    Endpoints {
        downlink: 1 + number,
        uplink: UPLINK + number,
        length: SnLength::Bits18,
    }
}
