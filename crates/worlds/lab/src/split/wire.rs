//! Both ends of F1-U: packets into messages and back, and the statuses of the distributed unit.

use super::hosts::Units;
use crate::Error;
use crate::offload::open_checksum_of;
use crate::packet::Packet;
use f1u::{CentralEnd, Endpoints, Progress, SnLength, UnitEnd};
use queue::Capacity;
use ran::{BearerConfig, RlcMode};
use scenario::UeSpec;
use std::fmt;
use std::io::ErrorKind;
use std::net::UdpSocket;
use units::{Bytes, Instant};

/// The longest message.
const MAX_MESSAGE: usize = 1 << 16;
/// Endpoint identifiers at the centralized unit begin here, and at the distributed one with 1.
const UPLINK: u32 = 0x8000_0000;
/// What a packet of a buffer that is counted in packets has.
const PACKET: u64 = 1_500;

/// Which PDU a packet came down in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pdu {
    /// Its bearer, among all.
    bearer: u32,
    /// Its COUNT.
    pub(crate) count: u64,
}

/// What has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets that came down to the distributed unit.
    pub(crate) down: u64,
    /// Packets that came up to the centralized one.
    pub(crate) up: u64,
    /// Statuses without a packet.
    pub(crate) statuses: u64,
    /// Messages that the sender's kernel did not take, or that an end could not read.
    pub(crate) failed: u64,
    /// Packets that the distributed unit had no room for.
    pub(crate) rejected: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "F1-U: {} packets down, {} up, {} statuses alone; {} without room in the distributed unit, {} messages lost or \
             unreadable. Radio reports are those of brimful rnis on this wire, as they come: report-delay does not apply",
            self.down, self.up, self.statuses, self.rejected, self.failed
        )
    }
}

/// A bearer of a UE.
#[derive(Debug)]
struct Bearer {
    /// The UE, and the bearer among its.
    of: (usize, usize),
    central: CentralEnd,
    unit: UnitEnd,
    /// In acknowledged mode deliveries are reported.
    is_acknowledged: bool,
    progress: Progress,
}

/// The ends of all bearers, and their sockets.
#[derive(Debug)]
pub(crate) struct Split {
    central: UdpSocket,
    unit: UdpSocket,
    bearers: Vec<Bearer>,
    /// By UE, its first bearer.
    first: Vec<usize>,
    buffer: Box<[u8]>,
    counts: Counts,
}

impl Split {
    /// For these UEs.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn new(units: &Units, ues: &[UeSpec]) -> Result<Self, Error> {
        let [central, unit] = units.sockets()?;
        let mut bearers: Vec<Bearer> = Vec::new();
        let mut first = Vec::with_capacity(ues.len());
        for (index, ue) in ues.iter().enumerate() {
            first.push(bearers.len());
            for (number, config) in ue.bearers.iter().enumerate() {
                let bearer = Bearer::new(bearers.len() as u32, (index, number), config);
                bearers.push(bearer);
            }
        }
        Ok(Self {
            central,
            unit,
            bearers,
            first,
            buffer: vec![0; MAX_MESSAGE].into(),
            counts: Counts::default(),
        })
    }

    /// The sockets of the centralized and of the distributed unit.
    pub(crate) fn sockets(&self) -> [&UdpSocket; 2] {
        [&self.central, &self.unit]
    }

    /// What has passed so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    fn bearer(&mut self, (ue, number): (usize, usize)) -> Option<&mut Bearer> {
        let first = *self.first.get(ue)?;
        let bearer = self.bearers.get_mut(first + number)?;
        (bearer.of == (ue, number)).then_some(bearer)
    }

    /// The centralized unit sends a packet down in a bearer of a UE.
    pub(crate) fn send_down(&mut self, of: (usize, usize), packet: &Packet) {
        let message = self
            .bearer(of)
            .and_then(|bearer| bearer.central.user_data(&packet.data, false));
        let sent = message.is_some_and(|message| self.central.send(&message).is_ok());
        self.counts.failed += u64::from(!sent);
    }

    /// The distributed unit sends a packet up.
    pub(crate) fn send_up(&mut self, now: Instant, of: (usize, usize), packet: &Packet) {
        let message = self.bearer(of).and_then(|bearer| {
            let progress = bearer.progress;
            bearer.unit.uplink_data(now, &packet.data, progress)
        });
        let sent = message.is_some_and(|message| self.unit.send(&message).is_ok());
        self.counts.failed += u64::from(!sent);
    }

    /// The next packet that has come down.
    pub(crate) fn take_down(&mut self) -> Option<Packet> {
        loop {
            let length = receive(&self.unit, &mut self.buffer, &mut self.counts)?;
            let message = &self.buffer[..length];
            let index = teid(message).and_then(|teid| teid.checked_sub(1));
            let bearer =
                index.and_then(|index| Some((index, self.bearers.get_mut(index as usize)?)));
            let received = bearer.and_then(|(index, of)| {
                let received = of.unit.on_message(message).ok()?;
                Some((index, received))
            });
            let Some((bearer, received)) = received else {
                self.counts.failed += 1;
                continue;
            };
            self.counts.down += 1;
            let pdu = Pdu {
                bearer,
                count: received.count,
            };
            return Some(Packet {
                pdu: Some(pdu),
                ..rebuilt(received.packet)
            });
        }
    }

    /// The next packet that has come up.
    pub(crate) fn take_up(&mut self) -> Option<Packet> {
        loop {
            let length = receive(&self.central, &mut self.buffer, &mut self.counts)?;
            let message = &self.buffer[..length];
            let index = teid(message).and_then(|teid| teid.checked_sub(UPLINK));
            let bearer = index.and_then(|index| self.bearers.get(index as usize));
            match bearer.map(|bearer| bearer.central.on_message(message)) {
                Some(Ok(Some(packet))) => {
                    self.counts.up += 1;
                    return Some(rebuilt(packet));
                }
                Some(Ok(None)) => {}
                Some(Err(_)) | None => self.counts.failed += 1,
            }
        }
    }

    /// The UE has a packet.
    pub(crate) fn on_delivered(&mut self, pdu: Pdu) {
        let Some(bearer) = self.bearers.get_mut(pdu.bearer as usize) else {
            return;
        };
        if bearer.is_acknowledged {
            let delivered = &mut bearer.progress.delivered;
            *delivered = (*delivered).max(pdu.count + 1);
        }
    }

    /// The cell has dropped a packet. One of which nothing was sent the unit had no room for.
    pub(crate) fn on_dropped(&mut self, pdu: Pdu) {
        let Some(bearer) = self.bearers.get_mut(pdu.bearer as usize) else {
            return;
        };
        if pdu.count >= bearer.progress.transmitted {
            bearer.unit.on_rejected(pdu.count);
            self.counts.rejected += 1;
        }
    }

    /// The progress of all bearers is what the cell has done: `transmitted` has the highest number of a UE's bearer.
    pub(crate) fn progress(&mut self, transmitted: impl Fn((usize, usize)) -> Option<u64>) {
        for bearer in &mut self.bearers {
            if let Some(count) = transmitted(bearer.of) {
                bearer.progress.transmitted = count + 1;
            }
        }
    }

    /// The distributed unit sends the statuses that are due.
    pub(crate) fn report(&mut self, now: Instant) {
        for bearer in &mut self.bearers {
            let Some(message) = bearer.unit.status(now, bearer.progress) else {
                continue;
            };
            let sent = self.unit.send(&message).is_ok();
            self.counts.statuses += u64::from(sent);
            self.counts.failed += u64::from(!sent);
        }
    }

    /// When a status is due next.
    pub(crate) fn next_status(&self) -> Option<Instant> {
        let due = |bearer: &Bearer| bearer.unit.status_at(bearer.progress);
        self.bearers.iter().filter_map(due).min()
    }
}

impl Bearer {
    fn new(index: u32, of: (usize, usize), config: &BearerConfig) -> Self {
        let endpoints = Endpoints {
            downlink: 1 + index,
            uplink: UPLINK + index,
            length: SnLength::Bits18,
        };
        let room = match config.downlink_buffer {
            Capacity::Bytes(bytes) => bytes,
            Capacity::Packets(packets) => Bytes::new(packets.get().saturating_mul(PACKET)),
            Capacity::Unlimited => Bytes::new(u32::MAX.into()),
        };
        Self {
            of,
            central: CentralEnd::new(endpoints),
            unit: UnitEnd::new(endpoints, room),
            is_acknowledged: matches!(config.rlc, RlcMode::Am(_)),
            progress: Progress::default(),
        }
    }
}

/// A datagram, if one has come.
fn receive(socket: &UdpSocket, buffer: &mut [u8], counts: &mut Counts) -> Option<usize> {
    loop {
        match socket.recv(buffer) {
            Ok(length) => return Some(length),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // what the other end's kernel has answered is there once
            Err(_) => {
                counts.failed += 1;
                return None;
            }
        }
    }
}

/// The tunnel of a message.
fn teid(message: &[u8]) -> Option<u32> {
    gtpu::Message::read(message)
        .ok()
        .map(|(message, _)| message.teid)
}

/// A packet as it is without what passes no wire.
fn rebuilt(data: &[u8]) -> Packet {
    Packet::new(data.into(), open_checksum_of(data))
}
