//! The two ends of a bearer's F1-U, for tests and labs: the centralized unit numbers packets and sends them down, the
//! distributed unit reports what became of them.
//!
//! ```text
//!   packet -> [ CentralEnd ] -- user data ------------> [ UnitEnd ] -> packet, COUNT
//!   packet <- [            ] <- status, PDU, both ----- [         ] <- packet, Progress
//! ```
//!
//! Statuses are those of srsRAN's distributed unit: at most every [`STATUS_PERIOD`], and only if something has changed since the
//! last; with each packet upwards; at once where the centralized unit polls. PDUs are not ciphered (NEA0) and not protected.
//!
//! *Deviations* from TS 38.425: a PDU whose NR-U number has been passed by is lost at once, not after a time; and what the
//! distributed unit has no room for it reports as lost, too, as it has not taken it.

#[cfg(test)]
mod tests;

use gtpu::nru::{DeliveryStatus, Frame, Range, UserData};
use gtpu::pdcp::{SnLength, number, write_header};
use gtpu::{Extension, Header, Message, MessageKind, NR_RAN_CONTAINER, ReadError, write};
use units::{Bytes, Duration, Instant};

/// From one status to the next, as srsRAN's timer has it.
pub const STATUS_PERIOD: Duration = Duration::from_millis(10);

/// SDAP's header, of one octet: the QoS flow.
const QFI: u8 = 1;
/// Octets of SDAP's header.
const SDAP_HEADER: usize = 1;
/// NR-U's sequence numbers, and those of a QoS flow on N3.
pub(crate) const SEQUENCES: u32 = 1 << 24;
/// Ranges of lost PDUs in a status, at most (TS 38.425 5.5.2.2).
const MAX_RANGES: usize = 255;
/// A step of NR-U's number that is larger is no loss, but another beginning.
pub(crate) const MAX_LOST: u32 = SEQUENCES / 2;

/// The tunnels of a bearer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoints {
    /// Endpoint identifier at the distributed unit.
    pub downlink: u32,
    /// Endpoint identifier at the centralized unit.
    pub uplink: u32,
    /// Width of PDCP's numbers.
    pub length: SnLength,
}

/// A message that an end does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndError {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(#[from] ReadError),
    /// It is for another tunnel, or none.
    #[error("a message for tunnel {teid}")]
    Foreign {
        /// Its endpoint identifier.
        teid: u32,
    },
    /// It carries no PDU that this end takes, or no frame.
    #[error("a message without a PDU")]
    Empty,
}

/// A PDU that came down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received<'a> {
    /// Its COUNT.
    pub count: u64,
    /// NR-U's number.
    pub sequence: u32,
    /// The packet in it.
    pub packet: &'a [u8],
}

/// What the distributed unit has done with the PDUs of a bearer so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// PDUs that were handed to lower layers, all of each: COUNT of the highest, and one.
    pub transmitted: u64,
    /// PDUs that the UE has, with all before them: COUNT of the highest, and one. Unacknowledged mode states none.
    pub delivered: u64,
}

/// The end at the centralized unit.
#[derive(Clone, Debug)]
pub struct CentralEnd {
    endpoints: Endpoints,
    /// In this tunnel.
    sent: u64,
    /// COUNT of the next packet.
    next: u64,
}

impl CentralEnd {
    /// Of a bearer of which nothing was sent.
    pub const fn new(endpoints: Endpoints) -> Self {
        Self {
            endpoints,
            sent: 0,
            next: 0,
        }
    }

    /// The bearer goes on in another tunnel, to another distributed unit: PDCP's numbers go on, NR-U's begin anew (TS 38.401 8.2.1).
    #[must_use]
    pub const fn moved(&self, endpoints: Endpoints) -> Self {
        Self {
            endpoints,
            sent: 0,
            next: self.next,
        }
    }

    /// PDUs that were sent down in this tunnel.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// NR-U's number of the next PDU.
    pub const fn next_sequence(&self) -> u32 {
        sequence(self.sent)
    }

    /// COUNT of the next packet that has none.
    pub const fn next_count(&self) -> u64 {
        self.next
    }

    /// The message in which a packet goes down. None for one that is longer than a message can be.
    pub fn user_data(&mut self, packet: &[u8], polls_status: bool) -> Option<Vec<u8>> {
        let message = self.message(self.next, packet, polls_status)?;
        self.next += 1;
        Some(message)
    }

    /// The message in which a packet goes down again that went down in another tunnel, with the COUNT that it had there. None for one
    /// that is longer than a message can be.
    pub fn resend(&mut self, count: u64, packet: &[u8]) -> Option<Vec<u8>> {
        self.message(count, packet, false)
    }

    fn message(&mut self, count: u64, packet: &[u8], polls_status: bool) -> Option<Vec<u8>> {
        let frame = Frame::UserData(UserData {
            sequence: sequence(self.sent),
            polls_status,
            ..UserData::default()
        });
        let pdu = pdu(self.endpoints.length, count, packet);
        let message = message(self.endpoints.downlink, &frame, &pdu)?;
        self.sent += 1;
        Some(message)
    }

    /// The packet in a message that came up; none in a status alone.
    ///
    /// # Errors
    /// A message that is none of this bearer's.
    pub fn on_message<'a>(&self, message: &'a [u8]) -> Result<Option<&'a [u8]>, EndError> {
        let message = read(message, self.endpoints.uplink)?;
        if message.payload.is_empty() {
            return Ok(None);
        }
        let (_, packet) = packet(&message, self.endpoints.length)?;
        Ok(Some(packet))
    }

    /// The message that ends the tunnel downwards.
    pub fn end_marker(&self) -> Option<Vec<u8>> {
        end_marker(self.endpoints.downlink)
    }
}

/// The end at the distributed unit.
#[derive(Clone, Debug)]
pub struct UnitEnd {
    endpoints: Endpoints,
    desired_buffer: Bytes,
    /// NR-U's number and COUNT after those of the last PDU that came down.
    next: Option<(u32, u64)>,
    /// NR-U's numbers that are to be reported as lost, in the order in which that was noticed.
    lost: Vec<Range>,
    /// PDUs that went up.
    sent: u64,
    reported: Option<Progress>,
    next_status: Instant,
    is_polled: bool,
    /// The bearer has left the unit.
    has_left: bool,
}

impl UnitEnd {
    /// Of a bearer of which nothing came; the unit requests so much outstanding.
    pub const fn new(endpoints: Endpoints, desired_buffer: Bytes) -> Self {
        Self {
            endpoints,
            desired_buffer,
            next: None,
            lost: Vec::new(),
            sent: 0,
            reported: None,
            next_status: Instant::ZERO,
            is_polled: false,
            has_left: false,
        }
    }

    /// The end of the same bearer at another unit, to which it goes: NR-U's numbers begin anew, PDCP's go on.
    #[must_use]
    pub fn moved(&self, endpoints: Endpoints) -> Self {
        Self {
            next: self.next.map(|(_, count)| (0, count)),
            sent: self.sent,
            ..Self::new(endpoints, self.desired_buffer)
        }
    }

    /// The bearer leaves the unit: the status that says that it is the last (final frame indication). Those on
    /// packets upwards that the unit still has say so too.
    pub fn leave(&mut self, now: Instant, progress: Progress) -> Option<Vec<u8>> {
        self.has_left = true;
        let frame = self.report(now, progress);
        message(self.endpoints.uplink, &frame, &[])
    }

    /// The packet in a message that came down. PDUs that were passed by are reported as lost.
    ///
    /// # Errors
    /// A message that is none of this bearer's, or carries no PDU.
    pub fn on_message<'a>(&mut self, message: &'a [u8]) -> Result<Received<'a>, EndError> {
        let message = read(message, self.endpoints.downlink)?;
        let content = message.extension(NR_RAN_CONTAINER).ok_or(EndError::Empty)?;
        let Frame::UserData(frame) = Frame::read(content)? else {
            return Err(EndError::Empty);
        };
        self.is_polled |= frame.polls_status;
        let (sn, packet) = packet(&message, self.endpoints.length)?;
        let sequence = frame.sequence % SEQUENCES;
        let count = match self.next {
            None => u64::from(sn),
            Some((expected, next)) => {
                let missing = sequence.wrapping_sub(expected) % SEQUENCES;
                if (1..MAX_LOST).contains(&missing) {
                    self.lose(expected, (sequence + SEQUENCES - 1) % SEQUENCES);
                }
                self.endpoints.length.nearest(sn, next)
            }
        };
        self.next = Some(((sequence + 1) % SEQUENCES, count + 1));
        Ok(Received {
            count,
            sequence,
            packet,
        })
    }

    /// A PDU that came down, with this number of NR-U's, has found no room.
    pub fn on_rejected(&mut self, sequence: u32) {
        self.lose(sequence, sequence);
    }

    fn lose(&mut self, start: u32, end: u32) {
        match self.lost.last_mut() {
            Some(last) if (last.end + 1) % SEQUENCES == start => last.end = end,
            _ => self.lost.push(Range { start, end }),
        }
    }

    /// When a status is due; none if there is nothing new to report, or after the last.
    pub fn status_at(&self, progress: Progress) -> Option<Instant> {
        if self.has_left {
            return None;
        }
        let has_news = self.reported != Some(progress) || !self.lost.is_empty();
        match (self.is_polled, has_news) {
            (true, _) => Some(Instant::ZERO),
            (false, has_news) => has_news.then_some(self.next_status),
        }
    }

    /// The status that is due now, if one is.
    pub fn status(&mut self, now: Instant, progress: Progress) -> Option<Vec<u8>> {
        self.status_at(progress).filter(|at| *at <= now)?;
        let frame = self.report(now, progress);
        message(self.endpoints.uplink, &frame, &[])
    }

    /// The message in which a packet goes up, with a status. None for one that is longer than a message can be.
    pub fn uplink_data(
        &mut self,
        now: Instant,
        packet: &[u8],
        progress: Progress,
    ) -> Option<Vec<u8>> {
        let pdu = pdu(self.endpoints.length, self.sent, packet);
        let frame = self.report(now, progress);
        let message = message(self.endpoints.uplink, &frame, &pdu)?;
        self.sent += 1;
        Some(message)
    }

    fn report(&mut self, now: Instant, progress: Progress) -> Frame {
        self.is_polled = false;
        self.next_status = now + STATUS_PERIOD;
        self.reported = Some(progress);
        let highest = |pdus: u64| {
            let count = pdus.checked_sub(1)?;
            Some(self.endpoints.length.sn(count))
        };
        let (delivered, transmitted) = (highest(progress.delivered), highest(progress.transmitted));
        let first = self.lost.len().min(MAX_RANGES);
        Frame::DeliveryStatus(DeliveryStatus {
            is_final: self.has_left,
            desired_buffer: u32::try_from(self.desired_buffer.get()).unwrap_or(u32::MAX),
            lost: self.lost.drain(..first).collect(),
            delivered,
            transmitted,
            ..DeliveryStatus::default()
        })
    }
}

/// Both ends of a bearer, without what is between them.
#[derive(Clone, Debug)]
pub struct EmulatedBearer {
    central: CentralEnd,
    unit: UnitEnd,
}

impl EmulatedBearer {
    /// A bearer between two tunnel endpoints: that at the distributed unit and that at the centralized. The distributed unit requests
    /// so much outstanding.
    pub const fn new(downlink: u32, uplink: u32, length: SnLength, desired_buffer: Bytes) -> Self {
        let endpoints = Endpoints {
            downlink,
            uplink,
            length,
        };
        Self {
            central: CentralEnd::new(endpoints),
            unit: UnitEnd::new(endpoints, desired_buffer),
        }
    }

    /// PDUs that were sent down.
    pub const fn sent(&self) -> u64 {
        self.central.sent()
    }

    /// As [`CentralEnd::user_data`].
    pub fn user_data(&mut self, packet: &[u8], polls_status: bool) -> Option<Vec<u8>> {
        let message = self.central.user_data(packet, polls_status)?;
        self.unit.is_polled |= polls_status;
        Some(message)
    }

    /// As [`UnitEnd::status`].
    pub fn status(&mut self, now: Instant, progress: Progress) -> Option<Vec<u8>> {
        self.unit.status(now, progress)
    }

    /// As [`UnitEnd::uplink_data`].
    pub fn uplink_data(
        &mut self,
        now: Instant,
        packet: &[u8],
        progress: Progress,
    ) -> Option<Vec<u8>> {
        self.unit.uplink_data(now, packet, progress)
    }

    /// As [`CentralEnd::end_marker`].
    pub fn end_marker(&self) -> Option<Vec<u8>> {
        self.central.end_marker()
    }
}

/// NR-U's number of a PDU.
const fn sequence(count: u64) -> u32 {
    (count & (SEQUENCES as u64 - 1)) as u32
}

/// A packet as PDCP has it.
fn pdu(length: SnLength, count: u64, packet: &[u8]) -> Vec<u8> {
    let mut pdu = Vec::with_capacity(packet.len() + length.header() + SDAP_HEADER);
    write_header(length.sn(count), length, &mut pdu);
    pdu.push(QFI);
    pdu.extend_from_slice(packet);
    pdu
}

/// PDCP's number and the packet in a message.
fn packet<'a>(message: &Message<'a>, length: SnLength) -> Result<(u32, &'a [u8]), EndError> {
    let sn = number(message.payload, length).ok_or(EndError::Empty)?;
    let packet = message.payload.get(length.header() + SDAP_HEADER..);
    Ok((sn, packet.ok_or(EndError::Empty)?))
}

/// The message that ends a tunnel.
pub(crate) fn end_marker(teid: u32) -> Option<Vec<u8>> {
    let header = Header {
        kind: MessageKind::EndMarker,
        ..Header::g_pdu(teid, &[])
    };
    let mut out = Vec::new();
    write(&header, &[], &mut out).ok()?;
    Some(out)
}

/// A user's message for a tunnel.
pub(crate) fn read(bytes: &[u8], teid: u32) -> Result<Message<'_>, EndError> {
    let (message, _) = Message::read(bytes)?;
    match message.kind {
        MessageKind::GPdu if message.teid == teid => Ok(message),
        _ => Err(EndError::Foreign { teid: message.teid }),
    }
}

fn message(teid: u32, frame: &Frame, payload: &[u8]) -> Option<Vec<u8>> {
    let content = frame.write();
    let extension = Extension {
        kind: NR_RAN_CONTAINER,
        content: &content,
    };
    let mut out = Vec::with_capacity(payload.len() + 32);
    write(&Header::g_pdu(teid, &[extension]), payload, &mut out).ok()?;
    Some(out)
}
