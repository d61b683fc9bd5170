//! Both ends of N3: packets into messages and back, and what core and base stations answer beside them.

use super::hosts::Core;
use crate::clock::monotonic;
use crate::gtp::{Arrived, MAX_MESSAGE, Port, rebuilt};
use crate::packet::Packet;
use crate::split::Units;
use crate::{Error, label};
use f1u::n3::{CoreEnd, NtpTime, SessionEndpoints, StationEnd, echo_response, error_indication};
use gtpu::{Message, MessageKind};
use multipath::ecn::{decapsulated, encapsulated};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::{SocketAddrV4, UdpSocket};
use units::{Duration, Ecn};

/// Endpoint identifiers at the core begin here, and at the base stations with 1.
const UPLINK: u32 = 0x8000_0000;
/// QoS flows of a session, at most: those beyond share the last one.
const MAX_FLOWS: usize = gtpu::session::MAX_QFI as usize;

/// How long what comes by the next tunnel waits for the End Marker of the one before.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// What has passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets that came down to base stations.
    down: u64,
    /// Packets that came up to the core.
    up: u64,
    /// Tunnels downwards that there were.
    tunnels: u64,
    /// End Markers that came to base stations.
    end_markers: u64,
    /// Packets that a queue on the wire marked, and which are marked inside now.
    marked: u64,
    /// Messages that the sender's kernel did not take, or that an end could not read; packets that were passed by.
    failed: u64,
    /// Error Indications that came.
    refused: u64,
    /// Packets that were not ECN-capable and had CE outside.
    dropped: u64,
    /// The round trips that were measured, and all of them together.
    round_trips: (u64, Duration),
    /// The devices at the core.
    devices: String,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "N3 ({}): {} packets down, {} up, in {} tunnels down; {} End Markers; {} packets marked on the way, {} dropped as they could \
             not be; {} Error Indications; {} messages lost or unreadable",
            self.devices,
            self.down,
            self.up,
            self.tunnels,
            self.end_markers,
            self.marked,
            self.dropped,
            self.refused,
            self.failed
        )?;
        let (count, all) = self.round_trips;
        match all.as_micros().checked_div(count) {
            Some(mean) => write!(f, "; round trip {mean} us on average of {count}"),
            None => Ok(()),
        }
    }
}

/// A UE's session.
#[derive(Debug)]
struct Session {
    core: CoreEnd,
    station: StationEnd,
    /// Number of the wire to its base station.
    at: usize,
    /// Something was sent down.
    is_used: bool,
    /// The base station before, until the End Marker has come there, and when that was sent.
    before: Option<(StationEnd, NtpTime)>,
    /// What has come to the next one until then.
    held: VecDeque<Packet>,
}

/// The ends of all sessions, and their sockets.
#[derive(Debug)]
pub(crate) struct N3 {
    /// By base station, the sockets of the core and of the base station.
    wires: Vec<[Port; 2]>,
    /// By UE.
    sessions: Vec<Session>,
    /// The UE of each tunnel downwards.
    tunnels: BTreeMap<u32, usize>,
    /// Identifier of the next tunnel downwards.
    next: u32,
    /// What has come to base stations and not been taken.
    arrived: VecDeque<Packet>,
    buffer: Box<[u8]>,
    counts: Counts,
}

impl N3 {
    /// For so many UEs, in the first base station's tunnels.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn new(core: &Core, units: Option<&Units>, ues: usize) -> Result<Self, Error> {
        let wires = core.sockets(units)?;
        let devices: Vec<String> = (0..wires.len()).map(crate::names::n3_device).collect();
        let mut n3 = Self {
            wires,
            sessions: Vec::with_capacity(ues),
            tunnels: BTreeMap::new(),
            next: 1,
            arrived: VecDeque::new(),
            buffer: vec![0; MAX_MESSAGE].into(),
            counts: Counts {
                devices: devices.join(", "),
                ..Counts::default()
            },
        };
        for ue in 0..ues {
            let endpoints = SessionEndpoints {
                downlink: n3.tunnel(ue),
                uplink: UPLINK + ue as u32,
            };
            n3.sessions.push(Session {
                core: CoreEnd::new(endpoints),
                station: StationEnd::new(endpoints),
                at: 0,
                is_used: false,
                before: None,
                held: VecDeque::new(),
            });
        }
        Ok(n3)
    }

    /// The next tunnel downwards, for a UE.
    fn tunnel(&mut self, ue: usize) -> u32 {
        let teid = self.next;
        self.next += 1;
        self.tunnels.insert(teid, ue);
        self.counts.tunnels += 1;
        teid
    }

    /// The sockets of all ends.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = &UdpSocket> {
        self.wires.iter().flatten().map(Port::socket)
    }

    /// What has passed so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts.clone()
    }

    /// The core sends a UE's packets to the base station of this cell from now on: by a tunnel to it, and an End Marker behind the last in
    /// the one before. Nothing if it does already.
    pub(crate) fn switch(&mut self, ue: usize, cell: usize) {
        let at = cell.min(self.wires.len() - 1);
        match self.sessions.get_mut(ue) {
            Some(session) if session.at == at => return,
            Some(session) if session.is_used => {}
            Some(session) => {
                // its first base station
                session.at = at;
                return;
            }
            None => return,
        }
        let teid = self.tunnel(ue);
        let session = &mut self.sessions[ue];
        let moved = session.station.moved(teid);
        let before = core::mem::replace(&mut session.station, moved);
        let from = core::mem::replace(&mut session.at, at);
        if let Some((forgotten, _)) = session.before.replace((before, now())) {
            // its End Marker has not come yet: what waits for it goes on
            self.tunnels.remove(&forgotten.downlink());
            self.arrived.append(&mut session.held);
        }
        let marker = session.core.switch(teid);
        let sent = marker
            .is_some_and(|marker| self.wires[from][0].send(&marker, encapsulated(Ecn::NotEct)));
        if !sent {
            self.counts.failed += 1;
            self.end(ue);
        }
    }

    /// Nothing comes any more in the tunnel to the base station before: what has come to the next one goes on.
    fn end(&mut self, ue: usize) {
        let session = &mut self.sessions[ue];
        if let Some((before, _)) = session.before.take() {
            self.tunnels.remove(&before.downlink());
        }
        self.arrived.append(&mut session.held);
    }

    /// End Markers that have not come for long will not.
    fn give_up(&mut self) {
        for ue in 0..self.sessions.len() {
            let is_late = |at: NtpTime| now().since(at) > MAX_WAIT;
            let before = &self.sessions[ue].before;
            if before.as_ref().is_some_and(|(_, at)| is_late(*at)) {
                self.counts.failed += 1;
                self.end(ue);
            }
        }
    }

    /// The core sends a packet down in a QoS flow, numbered as its bearer, of a UE.
    pub(crate) fn send_down(&mut self, (ue, bearer): (usize, usize), packet: &Packet) {
        let sent = self.sessions.get_mut(ue).is_some_and(|session| {
            session.is_used = true;
            let message = session.core.downlink_data(now(), qfi(bearer), &packet.data);
            let outer = encapsulated(label::ecn(&packet.data));
            message.is_some_and(|message| self.wires[session.at][0].send(&message, outer))
        });
        self.counts.failed += u64::from(!sent);
    }

    /// The base station of a cell sends a packet up.
    pub(crate) fn send_up(&mut self, cell: usize, (ue, bearer): (usize, usize), packet: &Packet) {
        let at = cell.min(self.wires.len() - 1);
        let sent = self.sessions.get_mut(ue).is_some_and(|session| {
            let message = session
                .station
                .uplink_data(now(), qfi(bearer), &packet.data);
            let outer = encapsulated(label::ecn(&packet.data));
            message.is_some_and(|message| self.wires[at][1].send(&message, outer))
        });
        self.counts.failed += u64::from(!sent);
    }

    /// The next packet that has come down.
    pub(crate) fn take_down(&mut self) -> Option<Packet> {
        while self.arrived.is_empty() {
            let Some((number, arrived)) = self.receive(1) else {
                self.give_up();
                break;
            };
            self.came_down(number, arrived);
        }
        let packet = self.arrived.pop_front()?;
        self.counts.down += 1;
        Some(packet)
    }

    /// The next packet that has come up.
    pub(crate) fn take_up(&mut self) -> Option<Packet> {
        loop {
            let (number, arrived) = self.receive(0)?;
            if let Some(packet) = self.came_up(number, arrived) {
                self.counts.up += 1;
                return Some(packet);
            }
        }
    }

    /// What has come to any end of one side: 0 the core, 1 the base stations. With the wire's number.
    fn receive(&mut self, side: usize) -> Option<(usize, Arrived)> {
        let (buffer, failed) = (&mut self.buffer, &mut self.counts.failed);
        let mut wires = self.wires.iter().enumerate();
        wires.find_map(|(number, wire)| Some((number, wire[side].receive(buffer, failed)?)))
    }

    /// A message has come to a base station.
    fn came_down(&mut self, number: usize, arrived: Arrived) {
        let bytes = &self.buffer[..arrived.length];
        let Ok((message, _)) = Message::read(bytes) else {
            self.counts.failed += 1;
            return;
        };
        let ue = self.tunnels.get(&message.teid).copied();
        match (message.kind, ue) {
            (MessageKind::GPdu, Some(ue)) => {
                let session = &mut self.sessions[ue];
                let (end, waits) = match &mut session.before {
                    Some((before, _)) if before.downlink() == message.teid => (before, false),
                    before => (&mut session.station, before.is_some()),
                };
                let Ok(came) = end.on_message(now(), bytes) else {
                    self.counts.failed += 1;
                    return;
                };
                self.counts.failed += u64::from(came.missing);
                let Some(packet) = unwrapped(came.packet, &arrived, ue, &mut self.counts) else {
                    return;
                };
                match waits {
                    true => session.held.push_back(packet),
                    false => self.arrived.push_back(packet),
                }
            }
            (MessageKind::EndMarker, Some(ue)) => {
                self.counts.end_markers += 1;
                let before = self.sessions[ue].before.as_ref();
                if before.is_some_and(|(before, _)| before.downlink() == message.teid) {
                    self.end(ue);
                }
            }
            _ => self.answer((number, 1), arrived),
        }
    }

    /// A message has come to the core.
    fn came_up(&mut self, number: usize, arrived: Arrived) -> Option<Packet> {
        let bytes = &self.buffer[..arrived.length];
        let Ok((message, _)) = Message::read(bytes) else {
            self.counts.failed += 1;
            return None;
        };
        let ue = message.teid.checked_sub(UPLINK).map(|ue| ue as usize);
        let session = ue.and_then(|ue| Some((ue, self.sessions.get(ue)?)));
        let (MessageKind::GPdu, Some((ue, session))) = (message.kind, session) else {
            self.answer((number, 0), arrived);
            return None;
        };
        let Ok(came) = session.core.on_message(now(), bytes) else {
            self.counts.failed += 1;
            return None;
        };
        if let Some(round_trip) = came.round_trip {
            let (count, all) = &mut self.counts.round_trips;
            (*count, *all) = (*count + 1, *all + round_trip);
        }
        unwrapped(came.packet, &arrived, ue, &mut self.counts)
    }

    /// Answers what is of no session.
    fn answer(&mut self, (number, side): (usize, usize), arrived: Arrived) {
        let port = &mut self.wires[number][side];
        let Ok((message, _)) = Message::read(&self.buffer[..arrived.length]) else {
            return;
        };
        let from = arrived.from;
        let answer = match message.kind {
            MessageKind::EchoRequest => echo_response(&message).map(|answer| (answer, from)),
            MessageKind::GPdu => {
                let answer = error_indication(message.teid, port.address.into(), from.port());
                answer.map(|answer| (answer, SocketAddrV4::new(*from.ip(), gtpu::PORT)))
            }
            MessageKind::ErrorIndication => {
                self.counts.refused += 1;
                None
            }
            _ => None,
        };
        if let Some((answer, to)) = answer {
            let sent = port.send_to(&answer, encapsulated(Ecn::NotEct), to);
            self.counts.failed += u64::from(!sent);
        }
    }
}

/// The QoS flow of a bearer: numbered from 1.
fn qfi(bearer: usize) -> u8 {
    (bearer + 1).min(MAX_FLOWS) as u8
}

/// The packet of a UE that leaves its tunnel (RFC 6040 4.2). None if it is none of the UE's, or signals congestion and cannot.
fn unwrapped(data: &[u8], arrived: &Arrived, ue: usize, counts: &mut Counts) -> Option<Packet> {
    let inner = label::ecn(data);
    let Some(ecn) = decapsulated(inner, arrived.ecn).ecn else {
        counts.dropped += 1;
        return None;
    };
    let mut packet = rebuilt(data);
    if packet.address.ue != Some(ue) {
        counts.failed += 1;
        return None;
    }
    if ecn != inner {
        label::set_ecn(&mut packet.data, ecn);
        counts.marked += 1;
    }
    Some(packet)
}

/// By the clock that both ends have: the machine's since its start, as it is never set.
fn now() -> NtpTime {
    NtpTime::from_unix(Duration::from_nanos(monotonic()))
}
