//! The two ends of a bearer's F1-U, for tests and labs: the centralized unit numbers packets and sends them down, the
//! distributed unit reports what became of them.
//!
//! Statuses are those of srsRAN's distributed unit: at most every [`STATUS_PERIOD`], and only if something has changed since the
//! last; with each packet upwards; at once where the centralized unit polls. PDUs are not ciphered (NEA0) and not protected.

use gtpu::nru::{DeliveryStatus, Frame, UserData};
use gtpu::pdcp::{SnLength, write_header};
use gtpu::{Extension, Header, MessageKind, NR_RAN_CONTAINER, write};
use units::{Bytes, Duration, Instant};

/// From one status to the next, as srsRAN's timer has it.
pub const STATUS_PERIOD: Duration = Duration::from_millis(10);

/// SDAP's header, of one octet: the QoS flow.
const QFI: u8 = 1;

/// What the distributed unit has done with the PDUs of a bearer so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// PDUs that were handed to lower layers, all of each.
    pub transmitted: u64,
    /// PDUs that the UE has, with all before them.
    pub delivered: u64,
}

/// Both ends of a bearer.
#[derive(Clone, Debug)]
pub struct EmulatedBearer {
    /// Endpoint at the distributed unit.
    downlink: u32,
    /// Endpoint at the centralized unit.
    uplink: u32,
    length: SnLength,
    desired_buffer: Bytes,
    sent: u64,
    /// PDUs that went up.
    received: u64,
    reported: Option<Progress>,
    next_status: Instant,
    is_polled: bool,
}

impl EmulatedBearer {
    /// A bearer between two tunnel endpoints: that at the distributed unit and that at the centralized. The distributed unit wants
    /// so much outstanding.
    pub fn new(downlink: u32, uplink: u32, length: SnLength, desired_buffer: Bytes) -> Self {
        Self {
            downlink,
            uplink,
            length,
            desired_buffer,
            sent: 0,
            received: 0,
            reported: None,
            next_status: Instant::ZERO,
            is_polled: false,
        }
    }

    /// PDUs that were sent down.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The message in which a packet goes down. None for one that is longer than a message can be.
    pub fn user_data(&mut self, packet: &[u8], polls_status: bool) -> Option<Vec<u8>> {
        let frame = Frame::UserData(UserData {
            sequence: (self.sent & 0xff_ffff) as u32,
            polls_status,
            ..UserData::default()
        });
        let pdu = self.pdu(self.sent, packet);
        let message = message(self.downlink, &frame, &pdu)?;
        self.sent += 1;
        self.is_polled |= polls_status;
        Some(message)
    }

    /// The status that is due now, if one is.
    pub fn status(&mut self, now: Instant, progress: Progress) -> Option<Vec<u8>> {
        let is_due = now >= self.next_status && self.reported != Some(progress);
        if !is_due && !core::mem::take(&mut self.is_polled) {
            return None;
        }
        let frame = self.report(now, progress);
        message(self.uplink, &frame, &[])
    }

    /// The message in which a packet goes up, with a status. None for one that is longer than a message can be.
    pub fn uplink_data(
        &mut self,
        now: Instant,
        packet: &[u8],
        progress: Progress,
    ) -> Option<Vec<u8>> {
        let pdu = self.pdu(self.received, packet);
        let frame = self.report(now, progress);
        let message = message(self.uplink, &frame, &pdu)?;
        self.received += 1;
        Some(message)
    }

    /// A packet as PDCP has it.
    fn pdu(&self, count: u64, packet: &[u8]) -> Vec<u8> {
        let mut pdu = Vec::with_capacity(packet.len() + 4);
        write_header(self.length.sn(count), self.length, &mut pdu);
        pdu.push(QFI);
        pdu.extend_from_slice(packet);
        pdu
    }

    fn report(&mut self, now: Instant, progress: Progress) -> Frame {
        self.is_polled = false;
        self.next_status = now + STATUS_PERIOD;
        self.reported = Some(progress);
        let highest = |pdus: u64| pdus.checked_sub(1).map(|count| self.length.sn(count));
        Frame::DeliveryStatus(DeliveryStatus {
            desired_buffer: u32::try_from(self.desired_buffer.get()).unwrap_or(u32::MAX),
            delivered: highest(progress.delivered),
            transmitted: highest(progress.transmitted),
            ..DeliveryStatus::default()
        })
    }

    /// When a status is due next, if something changes.
    pub fn next_status(&self) -> Instant {
        self.next_status
    }

    /// The message that ends the tunnel downwards.
    pub fn end_marker(&self) -> Option<Vec<u8>> {
        let header = Header {
            kind: MessageKind::EndMarker,
            ..Header::g_pdu(self.downlink, &[])
        };
        let mut out = Vec::new();
        write(&header, &[], &mut out).ok()?;
        Some(out)
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
