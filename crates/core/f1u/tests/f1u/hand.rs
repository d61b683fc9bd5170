//! A bearer whose frames are written by hand.

use crate::common::{CENTRAL, UNIT, at_ms, config, ip_packet};
use f1u::{Monitor, SnLength};
use gtpu::nru::{DeliveryStatus, Frame, UserData};
use gtpu::outer::packet;
use gtpu::{Extension, Header, NR_RAN_CONTAINER, write};
use units::Instant;

/// A bearer that is written by hand.
pub struct Hand {
    pub monitor: Monitor,
    pub length: SnLength,
    pub downlink: u32,
    pub uplink: u32,
}

impl Hand {
    pub fn new(length: SnLength) -> Self {
        Self {
            monitor: Monitor::new(config(length)),
            length,
            downlink: 7,
            uplink: 70,
        }
    }

    pub fn frame(&mut self, now: Instant, frame: &Frame, payload: &[u8]) {
        let content = frame.write();
        let extension = Extension {
            kind: NR_RAN_CONTAINER,
            content: &content,
        };
        let (teid, from, to) = match frame {
            Frame::UserData(_) => (self.downlink, CENTRAL, UNIT),
            _ => (self.uplink, UNIT, CENTRAL),
        };
        let mut message = Vec::new();
        write(&Header::g_pdu(teid, &[extension]), payload, &mut message).expect("a message");
        let packet = packet(from, to, &message).expect("a packet");
        self.monitor.on_packet(now, &packet);
    }

    /// A packet of 1,000 bytes with this number, for a UE.
    pub fn data(&mut self, now: Instant, number: u64, ue: usize) {
        let mut pdu = Vec::new();
        gtpu::pdcp::write_header(self.length.sn(number), self.length, &mut pdu);
        pdu.push(1);
        pdu.extend(ip_packet(ue, 1_000));
        let frame = Frame::UserData(UserData {
            sequence: (number & 0xff_ffff) as u32,
            ..UserData::default()
        });
        self.frame(now, &frame, &pdu);
    }

    pub fn status(&mut self, now: Instant, transmitted: u64) {
        let sn = Some(self.length.sn(transmitted));
        self.status_with(now, |status| {
            (status.transmitted, status.delivered) = (sn, sn);
        });
    }

    pub fn status_with(&mut self, now: Instant, of: impl FnOnce(&mut DeliveryStatus)) {
        let mut status = DeliveryStatus {
            desired_buffer: 1_000_000,
            ..DeliveryStatus::default()
        };
        of(&mut status);
        self.frame(now, &Frame::DeliveryStatus(status), &[]);
    }

    /// What waits by the last status: at its time, so that nothing has drained.
    pub fn queue(&self, now: Instant) -> Option<u64> {
        let (_, _, estimate) = self.monitor.estimates(now).next()?;
        Some(estimate?.queue.get())
    }

    /// Sends 20 packets and has half of them transmitted, from this number on.
    pub fn begin(&mut self, from: u64) {
        for number in from..from + 20 {
            self.data(at_ms(0), number, 0);
        }
        self.status(at_ms(10), from + 4);
        self.status(at_ms(20), from + 9);
    }
}

/// Of the first of so many packets half is taken to have gone.
pub fn waiting(packets: u64) -> Option<u64> {
    Some(packets * 1_000 - 500)
}
