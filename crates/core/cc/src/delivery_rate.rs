//! Delivery-rate samples.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-00 section 3, as in Linux `tcp_rate.c`; what
//! was in flight and lost as a packet left: draft-ietf-ccwg-bbr-06 section 4.1.
//! Amounts are in bytes of payload, rates in bit/s.
//!
//! Each packet carries a stamp of what had been delivered when it was sent. When it is acknowledged,
//! what has been delivered since, over the longer of the time in which it was sent and the time in
//! which it was acknowledged, is a rate that the path has sustained: acknowledgements that arrive
//! bunched cannot make it seem faster than the sender was.
//!
//! *Deviations*
//! - 3.2 begins a new flight when no packet is outstanding; here when none is in flight. The two
//!   differ after a timeout, when all is marked lost; samples shorter than the smallest round-trip time
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
    /// C.lost: payload found lost so far.
    lost: Bytes,
    /// C.app_limited: until more than this is delivered, samples may show the application's rate
    /// rather than the path's.
    app_limited_until: Option<Bytes>,
}

/// What an acknowledgement reports of the path's rate.
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
            in_flight: packet.bytes_in_flight + packet.bytes,
            lost: self.lost,
            is_app_limited: self.is_app_limited(),
        }
    }

    /// Counts what was found lost otherwise than by an acknowledgement: by a timer.
    pub fn on_lost(&mut self, lost: Bytes) {
        self.lost += lost;
    }

    /// RS.lost: what has been found lost since a packet was sent.
    pub fn lost_since(&self, stamp: &PacketStamp) -> Bytes {
        self.lost.saturating_sub(stamp.lost)
    }

    /// 3.3: counts what an acknowledgement delivered; none if it gives no valid sample.
    pub fn on_ack(&mut self, now: Instant, ack: &AckSample) -> Option<RateSample> {
        if !ack.newly_acked.is_zero() {
            self.delivered += ack.newly_acked;
            self.delivered_at = now;
        }
        self.lost += ack.newly_lost;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn sent(bytes_in_flight: u64) -> Sent {
        Sent {
            bytes: Bytes::new(1_000),
            bytes_in_flight: Bytes::new(bytes_in_flight),
            is_retransmission: false,
        }
    }

    fn ack(acked: u64, stamp: PacketStamp) -> AckSample {
        AckSample {
            newly_acked: Bytes::new(acked),
            newly_lost: Bytes::ZERO,
            bytes_in_flight: Bytes::ZERO,
            prior_in_flight: Bytes::new(acked),
            rtt: None,
            srtt: Duration::from_millis(10),
            min_rtt: Duration::from_millis(10),
            stamp: Some(stamp),
            is_recovering: false,
            is_cwnd_limited: true,
            is_round_start: false,
            ecn_echo: false,
            newly_marked: Bytes::ZERO,
        }
    }

    #[test]
    fn section_3_3_rate_is_delivered_over_the_ack_interval() {
        let mut rate = DeliveryRate::default();
        let first = rate.on_sent(at(0), &sent(0));
        let second = rate.on_sent(at(0), &sent(1_000));
        let sample = rate.on_ack(at(10), &ack(1_000, first)).expect("sample");
        // 1000 B in the 10 ms from the first transmission
        assert_eq!(sample.delivery_rate, BitRate::from_bps(800_000));
        let sample = rate.on_ack(at(20), &ack(1_000, second)).expect("sample");
        assert_eq!(
            (sample.delivered, sample.interval),
            (Bytes::new(2_000), at(20) - at(0))
        );
        assert_eq!(sample.prior_delivered, Bytes::ZERO);
        // a packet sent at 10 ms, after 1000 B were delivered, and acknowledged at 30 ms
        let mut rate = DeliveryRate::default();
        let first = rate.on_sent(at(0), &sent(0));
        rate.on_sent(at(0), &sent(1_000));
        rate.on_ack(at(10), &ack(1_000, first));
        let third = rate.on_sent(at(10), &sent(1_000));
        let sample = rate.on_ack(at(30), &ack(2_000, third)).expect("sample");
        assert_eq!(sample.delivery_rate, BitRate::from_bps(800_000));
        assert_eq!(sample.prior_delivered, Bytes::new(1_000));
    }

    #[test]
    fn section_3_3_bunched_acks_are_measured_by_the_send_interval() {
        let mut rate = DeliveryRate::default();
        let first = rate.on_sent(at(0), &sent(0));
        let stamps: Vec<_> = (1..=10)
            .map(|i| rate.on_sent(at(i * 10), &sent(i * 1_000)))
            .collect();
        rate.on_ack(at(100), &ack(1_000, first));
        // sent 10 ms apart, acknowledged at once: 10000 B over 100 ms, not over 1 ms
        let sample = rate
            .on_ack(at(101), &ack(10_000, stamps[9]))
            .expect("sample");
        assert_eq!(sample.interval, Duration::from_millis(101));
        let next = rate.on_sent(at(102), &sent(1_000));
        let last = rate.on_sent(at(152), &sent(2_000));
        rate.on_ack(at(153), &ack(1_000, next));
        let sample = rate.on_ack(at(154), &ack(1_000, last)).expect("sample");
        // sent 52 ms after the packet last acknowledged before, acknowledged 53 ms after
        assert_eq!(last.first_sent_at, at(100));
        assert_eq!(
            (sample.delivered, sample.interval),
            (Bytes::new(2_000), at(154) - at(101))
        );
    }

    #[test]
    fn section_3_3_samples_shorter_than_the_least_rtt_are_refused() {
        let mut rate = DeliveryRate::default();
        let stamp = rate.on_sent(at(0), &sent(0));
        assert_eq!(rate.on_ack(at(9), &ack(1_000, stamp)), None);
        assert_eq!(
            rate.delivered(),
            Bytes::new(1_000),
            "delivered all the same"
        );
    }

    #[test]
    fn section_3_4_the_bubble_is_marked_until_it_has_passed() {
        let mut rate = DeliveryRate::default();
        let before = rate.on_sent(at(0), &sent(0));
        rate.on_app_limited(Bytes::new(1_000));
        let within = rate.on_sent(at(5), &sent(1_000));
        assert!(!before.is_app_limited && within.is_app_limited);
        // the marked flight is 1000 B: the acknowledgement beyond it ends the mark
        rate.on_ack(at(10), &ack(1_000, before));
        assert!(rate.is_app_limited());
        let sample = rate.on_ack(at(15), &ack(1_000, within)).expect("sample");
        assert!(sample.is_app_limited && !rate.is_app_limited());
        assert!(!rate.on_sent(at(16), &sent(0)).is_app_limited);
    }

    #[test]
    fn section_3_2_a_flight_begins_when_nothing_is_in_flight() {
        let mut rate = DeliveryRate::default();
        let first = rate.on_sent(at(0), &sent(0));
        rate.on_ack(at(10), &ack(1_000, first));
        let later = rate.on_sent(at(500), &sent(0));
        assert_eq!(
            (later.first_sent_at, later.delivered_at),
            (at(500), at(500))
        );
        let sample = rate.on_ack(at(510), &ack(1_000, later)).expect("sample");
        assert_eq!(
            sample.interval,
            Duration::from_millis(10),
            "the pause does not count"
        );
    }
}
