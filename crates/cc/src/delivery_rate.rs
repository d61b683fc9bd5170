//! Delivery-rate samples.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-00 section 3, as in Linux `tcp_rate.c`.
//! Amounts are in bytes of payload, rates in bit/s.
//!
//! Each packet carries a stamp of what had been delivered when it was sent. When it is acknowledged,
//! what has been delivered since, over the longer of the time in which it was sent and the time in
//! which it was acknowledged, is a rate that the path has sustained: acknowledgements that arrive
//! bunched cannot make it seem faster than the sender was.
//!
//! *Deviations*
//! - 3.2 begins a new flight when no packet is outstanding; here when none is in flight. The two
//!   differ after a timeout, when all is marked lost; samples shorter than the least round-trip time
//!   are refused (3.3), which catches the short ones.

use crate::{AckSample, PacketStamp, Sent};
use units::{BitRate, Bytes, Duration, Instant};

/// Counts deliveries and turns acknowledgements into rate samples.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    /// C.delivered: payload delivered so far.
    delivered: Bytes,
    /// C.delivered_time: when that amount was reached.
    delivered_at: Instant,
    /// C.first_sent_time: when the packet was sent that began the flight being sampled.
    first_sent_at: Instant,
    /// C.app_limited: until more than this is delivered, samples may show the application's rate
    /// rather than the path's.
    app_limited_until: Option<Bytes>,
}

/// What an acknowledgement says of the path's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Payload delivered in the interval; > 0.
    pub delivered: Bytes,
    /// The longer of the intervals of sending and of acknowledging; > 0.
    pub interval: Duration,
    /// `delivered` over `interval`, rounded down.
    pub delivery_rate: BitRate,
    /// Payload that had been delivered when the sampled packet was sent.
    pub prior_delivered: Bytes,
    /// The sender had nothing to send at some time of the interval: the path may be faster.
    pub is_app_limited: bool,
}

impl DeliveryRate {
    /// Payload delivered so far.
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }
    /// When the last of it was.
    pub fn delivered_at(&self) -> Instant {
        self.delivered_at
    }
    /// True while what is in flight contains a gap that the application left.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// 3.2: the stamp of a packet that leaves now.
    pub fn on_sent(&mut self, now: Instant, packet: &Sent) -> PacketStamp {
        if packet.bytes_in_flight.is_zero() {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        PacketStamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            sent_at: now,
            is_app_limited: self.is_app_limited(),
        }
    }

    /// 3.3: counts what an acknowledgement delivered; none if it gives no valid sample.
    pub fn on_ack(&mut self, now: Instant, ack: &AckSample) -> Option<RateSample> {
        if !ack.newly_acked.is_zero() {
            self.delivered += ack.newly_acked;
            self.delivered_at = now;
        }
        if self
            .app_limited_until
            .is_some_and(|until| self.delivered > until)
        {
            self.app_limited_until = None;
        }
        let stamp = ack.stamp?;
        self.first_sent_at = stamp.sent_at;
        let send_elapsed = stamp.sent_at.saturating_since(stamp.first_sent_at);
        let ack_elapsed = now.saturating_since(stamp.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered.saturating_sub(stamp.delivered);
        if interval.is_zero() || interval < ack.min_rtt || delivered.is_zero() {
            return None;
        }
        Some(RateSample {
            delivered,
            interval,
            delivery_rate: BitRate::from_bytes_per(delivered, interval),
            prior_delivered: stamp.delivered,
            is_app_limited: stamp.is_app_limited,
        })
    }

    /// 3.4: the application left a gap behind what is in flight.
    pub fn on_app_limited(&mut self, bytes_in_flight: Bytes) {
        self.app_limited_until = Some((self.delivered + bytes_in_flight).max(Bytes::new(1)));
    }
}
