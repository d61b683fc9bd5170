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
/// NR-U's sequence numbers.
const SEQUENCES: u32 = 1 << 24;
/// Ranges of lost PDUs in a status, at most (TS 38.425 5.5.2.2).
const MAX_RANGES: usize = 255;
/// A step of NR-U's number that is larger is no loss, but another beginning.
const MAX_LOST: u32 = SEQUENCES / 2;

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
    sent: u64,
}

impl CentralEnd {
    /// Of a bearer of which nothing was sent.
    pub const fn new(endpoints: Endpoints) -> Self {
        Self { endpoints, sent: 0 }
    }

    /// PDUs that were sent down.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// The message in which a packet goes down. None for one that is longer than a message can be.
    pub fn user_data(&mut self, packet: &[u8], polls_status: bool) -> Option<Vec<u8>> {
        let frame = Frame::UserData(UserData {
            sequence: sequence(self.sent),
            polls_status,
            ..UserData::default()
        });
        let pdu = pdu(self.endpoints.length, self.sent, packet);
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
        let header = Header {
            kind: MessageKind::EndMarker,
            ..Header::g_pdu(self.endpoints.downlink, &[])
        };
        let mut out = Vec::new();
        write(&header, &[], &mut out).ok()?;
        Some(out)
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
        }
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
        Ok(Received { count, packet })
    }

    /// A PDU that came down has found no room.
    pub fn on_rejected(&mut self, count: u64) {
        let Some((sequence, next)) = self.next else {
            return;
        };
        let behind = self::sequence(next.saturating_sub(count));
        let of = sequence.wrapping_sub(behind) % SEQUENCES;
        self.lose(of, of);
    }

    fn lose(&mut self, start: u32, end: u32) {
        match self.lost.last_mut() {
            Some(last) if (last.end + 1) % SEQUENCES == start => last.end = end,
            _ => self.lost.push(Range { start, end }),
        }
    }

    /// When a status is due; none if there is nothing new to report.
    pub fn status_at(&self, progress: Progress) -> Option<Instant> {
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

/// NR-U's number of a PDU, or a step between two.
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

/// A user's message for a tunnel.
fn read(bytes: &[u8], teid: u32) -> Result<Message<'_>, EndError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const ENDPOINTS: Endpoints = Endpoints {
        downlink: 7,
        uplink: 70,
        length: SnLength::Bits12,
    };

    fn ends() -> (CentralEnd, UnitEnd) {
        let unit = UnitEnd::new(ENDPOINTS, Bytes::new(5_000));
        (CentralEnd::new(ENDPOINTS), unit)
    }

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn status(message: &[u8]) -> DeliveryStatus {
        let (message, _) = Message::read(message).expect("a message");
        let content = message.extension(NR_RAN_CONTAINER).expect("a frame");
        match Frame::read(content).expect("a frame") {
            Frame::DeliveryStatus(status) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn packets_go_down_and_up_as_they_are() {
        let (mut central, mut unit) = ends();
        // more than numbers of 12 bits
        for count in 0..5_000_u64 {
            let packet = count.to_be_bytes();
            let message = central.user_data(&packet, false).expect("a message");
            let received = unit.on_message(&message).expect("its own");
            assert_eq!((received.count, received.packet), (count, &packet[..]));
        }
        let progress = Progress {
            transmitted: 4_100,
            delivered: 4_099,
        };
        let message = unit.uplink_data(at_ms(1), b"up", progress);
        let message = message.expect("a message");
        assert_eq!(central.on_message(&message), Ok(Some(&b"up"[..])));
        let status = status(&message);
        assert_eq!(
            (status.transmitted, status.delivered, status.desired_buffer),
            (Some(3), Some(2), 5_000)
        );
        assert!(status.lost.is_empty());
        let other = EndError::Foreign { teid: 70 };
        assert_eq!(unit.on_message(&message), Err(other));
    }

    #[test]
    fn what_does_not_come_or_finds_no_room_is_lost_once() {
        let (mut central, mut unit) = ends();
        for count in 0..10 {
            let message = central.user_data(b"down", false).expect("a message");
            if ![3, 4, 7].contains(&count) {
                unit.on_message(&message).expect("its own");
            }
        }
        unit.on_rejected(8);
        let progress = Progress::default();
        let first = status(&unit.status(at_ms(10), progress).expect("due"));
        let range = |start, end| Range { start, end };
        assert_eq!(first.lost, [range(3, 4), range(7, 8)]);
        assert_eq!(first.transmitted, None);
        assert_eq!(unit.status(at_ms(30), progress), None);
    }

    #[test]
    fn a_status_comes_when_something_has_changed_and_the_timer_allows_it_or_is_polled() {
        let (mut central, mut unit) = ends();
        let progress = |transmitted| Progress {
            transmitted,
            delivered: 0,
        };
        let first = unit.status(at_ms(1), progress(1)).expect("due");
        assert_eq!(status(&first).delivered, None);
        assert_eq!(unit.status_at(progress(1)), None);
        assert_eq!(unit.status_at(progress(2)), Some(at_ms(11)));
        assert_eq!(unit.status(at_ms(10), progress(2)), None);
        assert!(unit.status(at_ms(11), progress(2)).is_some());
        let polled = central.user_data(b"down", true).expect("a message");
        unit.on_message(&polled).expect("its own");
        assert!(unit.status(at_ms(11), progress(2)).is_some());
        assert_eq!(unit.status(at_ms(12), progress(2)), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..80), teid in 0_u32..2) {
            let (central, mut unit) = ends();
            let _ = (central.on_message(&bytes), unit.on_message(&bytes));
            let mut framed = Vec::new();
            let extension = Extension { kind: NR_RAN_CONTAINER, content: &bytes[..bytes.len() / 2] };
            let header = [70, 7][teid as usize];
            write(&Header::g_pdu(header, &[extension]), &bytes, &mut framed).expect("a message");
            let _ = (central.on_message(&framed), unit.on_message(&framed));
            unit.on_rejected(u64::from(teid));
            let _ = unit.status(at_ms(10), Progress::default());
        }
    }
}
