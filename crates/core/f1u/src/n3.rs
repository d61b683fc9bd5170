//! The two ends of a PDU session's N3, for tests and labs: packets in GTP-U with the PDU Session Container (TS 29.281, TS 38.415).
//!
//! ```text
//!   packet -> [ CoreEnd ] -- container of type 0: QoS flow, number, time ----> [ StationEnd ] -> packet
//!   packet <- [         ] <- container of type 1: QoS flow, number, times ---- [            ] <- packet
//! ```
//!
//! Each QoS flow's packets are numbered in both directions. A packet downwards each second states when it was sent; the
//! next one upwards returns that with the times of the base station, and the core has the round trip of N3 (TS 38.415 5.4.1, which
//! needs no common clock).
//!
//! In a handover between base stations the session gets another tunnel downwards, and the old one an End Marker behind its last
//! packet (TS 38.300 9.2.3.2.2); the tunnel upwards and the numbers of the QoS flows stay.
//!
//! Beside the sessions both ends answer [an Echo Request](echo_response), and a packet for a tunnel that there is not with
//! [an Error Indication](error_indication).

#[cfg(test)]
mod tests;

use crate::ends::{EndError, MAX_LOST, SEQUENCES, end_marker, read};
use core::net::IpAddr;
use gtpu::element::Element;
use gtpu::session::{Container, Downlink, Times, Uplink};
use gtpu::{
    Extension, Header, Message, MessageKind, PDU_SESSION_CONTAINER, UDP_PORT_HEADER, write,
};
use std::collections::BTreeMap;
use units::Duration;

/// From one packet that measures the round trip to the next.
pub const MEASUREMENT_PERIOD: Duration = Duration::from_secs(1);

/// NTP's seconds at the beginning of 1970 (RFC 5905 6).
const SECONDS_UNTIL_1970: u64 = 2_208_988_800;
const NANOS: u128 = 1_000_000_000;

/// A time of NTP's 64 bits (RFC 5905 6): seconds since 1900 modulo 2^32, and fractions of a second. An end that compares two has both
/// of the same clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NtpTime(u64);

impl NtpTime {
    /// So long after the beginning of 1970.
    pub const fn from_unix(since_1970: Duration) -> Self {
        let fractions = ((since_1970.as_nanos() as u128) << 32) / NANOS;
        Self((fractions as u64).wrapping_add(SECONDS_UNTIL_1970 << 32))
    }

    /// How long after another it is; zero if it is not after it.
    pub const fn since(self, earlier: Self) -> Duration {
        let fractions = self.0.wrapping_sub(earlier.0);
        if fractions > u64::MAX / 2 {
            return Duration::ZERO;
        }
        Duration::from_nanos(((fractions as u128 * NANOS) >> 32) as u64)
    }
}

/// The tunnels of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionEndpoints {
    /// Endpoint identifier at the base station.
    pub downlink: u32,
    /// Endpoint identifier at the core.
    pub uplink: u32,
}

/// A packet that came to the base station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FromCore<'a> {
    /// The packet.
    pub packet: &'a [u8],
    /// Its QoS flow, 0 to 63.
    pub qfi: u8,
    /// Packets of that flow that were passed by: they are lost, or come late.
    pub missing: u32,
}

/// A packet that came to the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FromStation<'a> {
    /// The packet.
    pub packet: &'a [u8],
    /// Its QoS flow, 0 to 63.
    pub qfi: u8,
    /// The round trip of N3, if this packet measures it.
    pub round_trip: Option<Duration>,
}

/// The next number of each QoS flow.
#[derive(Clone, Debug, Default)]
struct Sequences(BTreeMap<u8, u32>);

impl Sequences {
    fn next(&mut self, qfi: u8) -> u32 {
        let next = self.0.entry(qfi).or_default();
        let number = *next;
        *next = (number + 1) % SEQUENCES;
        number
    }

    /// How many numbers were passed by, at one that has come.
    fn came(&mut self, qfi: u8, number: u32) -> u32 {
        let following = (number + 1) % SEQUENCES;
        let Some(expected) = self.0.insert(qfi, following) else {
            return 0;
        };
        match number.wrapping_sub(expected) % SEQUENCES {
            missing if missing < MAX_LOST => missing,
            // one that comes late is not expected again
            _ => {
                self.0.insert(qfi, expected);
                0
            }
        }
    }
}

/// The end at the core.
#[derive(Clone, Debug)]
pub struct CoreEnd {
    endpoints: SessionEndpoints,
    sequences: Sequences,
    measured_at: Option<NtpTime>,
}

impl CoreEnd {
    /// Of a session of which nothing was sent.
    pub fn new(endpoints: SessionEndpoints) -> Self {
        Self {
            endpoints,
            sequences: Sequences::default(),
            measured_at: None,
        }
    }

    /// The message in which a packet of a QoS flow (0 to 63) goes down. None for one that is longer than a message can be.
    pub fn downlink_data(&mut self, now: NtpTime, qfi: u8, packet: &[u8]) -> Option<Vec<u8>> {
        let is_due = |at: NtpTime| now.since(at) >= MEASUREMENT_PERIOD;
        let measures = self.measured_at.is_none_or(is_due);
        if measures {
            self.measured_at = Some(now);
        }
        let container = Container::Downlink(Downlink {
            qfi,
            sent_at: measures.then_some(now.0),
            sequence: Some(self.sequences.next(qfi)),
            ..Downlink::default()
        });
        g_pdu(self.endpoints.downlink, &container, packet)
    }

    /// What goes down takes another tunnel from now on. The message that ends the one before, behind its last packet.
    pub fn switch(&mut self, downlink: u32) -> Option<Vec<u8>> {
        let before = core::mem::replace(&mut self.endpoints.downlink, downlink);
        end_marker(before)
    }

    /// The packet in a message that came up.
    ///
    /// # Errors
    /// A message that is none of this session's, or has no container of type 1.
    pub fn on_message<'a>(
        &self,
        now: NtpTime,
        message: &'a [u8],
    ) -> Result<FromStation<'a>, EndError> {
        let message = read(message, self.endpoints.uplink)?;
        let Container::Uplink(container) = container(&message)? else {
            return Err(EndError::Empty);
        };
        let round_trip = container.times.map(|times| {
            let all = now.since(NtpTime(times.downlink_sent));
            let there = NtpTime(times.uplink_sent).since(NtpTime(times.downlink_received));
            all.saturating_sub(there)
        });
        Ok(FromStation {
            packet: message.payload,
            qfi: container.qfi,
            round_trip,
        })
    }
}

/// The end at the base station.
#[derive(Clone, Debug)]
pub struct StationEnd {
    endpoints: SessionEndpoints,
    sent: Sequences,
    expected: Sequences,
    /// When the packet was sent, and came, that measures the round trip and has not been answered.
    measures: Option<(u64, NtpTime)>,
}

impl StationEnd {
    /// Of a session of which nothing came.
    pub fn new(endpoints: SessionEndpoints) -> Self {
        Self {
            endpoints,
            sent: Sequences::default(),
            expected: Sequences::default(),
            measures: None,
        }
    }

    /// The end of the same session at another base station, to which it goes.
    #[must_use]
    pub fn moved(&self, downlink: u32) -> Self {
        let endpoints = SessionEndpoints {
            downlink,
            ..self.endpoints
        };
        Self {
            sent: self.sent.clone(),
            ..Self::new(endpoints)
        }
    }

    /// The tunnel downwards.
    pub const fn downlink(&self) -> u32 {
        self.endpoints.downlink
    }

    /// The packet in a message that came down.
    ///
    /// # Errors
    /// A message that is none of this session's, or has no container of type 0.
    pub fn on_message<'a>(
        &mut self,
        now: NtpTime,
        message: &'a [u8],
    ) -> Result<FromCore<'a>, EndError> {
        let message = read(message, self.endpoints.downlink)?;
        let Container::Downlink(container) = container(&message)? else {
            return Err(EndError::Empty);
        };
        let qfi = container.qfi;
        if let Some(sent_at) = container.sent_at {
            self.measures = Some((sent_at, now));
        }
        let number = container.sequence.map(|number| number % SEQUENCES);
        Ok(FromCore {
            packet: message.payload,
            qfi,
            missing: number.map_or(0, |number| self.expected.came(qfi, number)),
        })
    }

    /// The message in which a packet of a QoS flow (0 to 63) goes up. None for one that is longer than a message can be.
    pub fn uplink_data(&mut self, now: NtpTime, qfi: u8, packet: &[u8]) -> Option<Vec<u8>> {
        let times = self.measures.take().map(|(sent_at, came_at)| Times {
            downlink_sent: sent_at,
            downlink_received: came_at.0,
            uplink_sent: now.0,
        });
        let container = Container::Uplink(Uplink {
            qfi,
            times,
            sequence: Some(self.sent.next(qfi)),
            ..Uplink::default()
        });
        g_pdu(self.endpoints.uplink, &container, packet)
    }
}

/// The answer to an Echo Request, for the port that it came from (TS 29.281 7.2.2); none to any other message.
pub fn echo_response(request: &Message<'_>) -> Option<Vec<u8>> {
    if request.kind != MessageKind::EchoRequest {
        return None;
    }
    let mut elements = Vec::new();
    Element::Recovery(0).write(&mut elements);
    let header = Header {
        kind: MessageKind::EchoResponse,
        sequence: Some(request.sequence.unwrap_or(0)),
        ..Header::g_pdu(0, &[])
    };
    written(&header, &elements)
}

/// The answer to a packet for a tunnel that there is not, which came from a port to an address, for port [`gtpu::PORT`] (TS 29.281
/// 7.3.1).
pub fn error_indication(teid: u32, at: IpAddr, from_port: u16) -> Option<Vec<u8>> {
    let mut elements = Vec::new();
    Element::TeidDataI(teid).write(&mut elements);
    Element::PeerAddress(at).write(&mut elements);
    let port = from_port.to_be_bytes();
    let extensions = [Extension {
        kind: UDP_PORT_HEADER,
        content: &port,
    }];
    let header = Header {
        kind: MessageKind::ErrorIndication,
        sequence: Some(0),
        ..Header::g_pdu(0, &extensions)
    };
    written(&header, &elements)
}

fn container(message: &Message<'_>) -> Result<Container, EndError> {
    let content = message.extension(PDU_SESSION_CONTAINER);
    Ok(Container::read(content.ok_or(EndError::Empty)?)?)
}

fn g_pdu(teid: u32, container: &Container, packet: &[u8]) -> Option<Vec<u8>> {
    let content = container.write();
    let extensions = [Extension {
        kind: PDU_SESSION_CONTAINER,
        content: &content,
    }];
    written(&Header::g_pdu(teid, &extensions), packet)
}

fn written(header: &Header<'_>, payload: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(payload.len() + 48);
    write(header, payload, &mut out).ok()?;
    Some(out)
}
