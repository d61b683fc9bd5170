//! What the versions of BBR share: gains, rounds, the send quantum, the excess of aggregated
//! acknowledgements.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 (version 1) and draft-ietf-ccwg-bbr-06
//! (version 3), whose sections are given as `-00` and `-06`; constants and integer gains as in Linux.

mod ack_aggregation;
mod gain;

use crate::delivery_rate::RateSample;
use units::{BitRate, Bytes, Duration};

pub(crate) use ack_aggregation::{AckAggregation, Epoch};
pub(crate) use gain::Gain;

/// BBRMinPipeCwnd in segments: keeps delayed acknowledgements coming (-00 4.2.3.2, -06 2.8).
pub(crate) const MIN_CWND_SEGMENTS: u64 = 4;
/// Pacing stays this much below the estimate, to keep queues short (-06 5.6.2, 1 %).
pub(crate) const PACING_MARGIN_PERCENT: u64 = 1;
/// Round-trip time assumed before the first sample (-00 4.2.1, -06 5.6.2).
pub(crate) const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Quanta in the two hosts: qdisc, offload engine, receiver (-00 4.2.3.2, -06 5.5.8.1).
pub(crate) const QUANTA_IN_HOSTS: u64 = 3;
/// A send quantum is what leaves in this time (Linux `sk_pacing_shift`: 2^-10 s).
const QUANTUM_PER_SECOND: u64 = 1 << 10;
/// Largest quantum (Linux `GSO_MAX_SIZE - 1 - MAX_TCP_HEADER`).
const MAX_QUANTUM: Bytes = Bytes::new(65_536 - 1 - 320);
/// Below this rate a quantum may be one segment, else it is at least two (-00 4.2.2).
const MIN_TSO_RATE: BitRate = BitRate::from_bps(1_200_000);

/// -00 4.2.2, -06 5.6.3: what leaves in about a millisecond, whole segments rounded down.
pub(crate) fn send_quantum(pacing_rate: BitRate, mss: Bytes) -> Bytes {
    let in_a_tick = Bytes::new(pacing_rate.as_bps() / 8 / QUANTUM_PER_SECOND);
    let min = if pacing_rate < MIN_TSO_RATE { 1 } else { 2 };
    let segments = in_a_tick.min(MAX_QUANTUM).get() / mss.get();
    mss * segments.max(min)
}

/// The rate at which a gain paces, less the margin; at least one segment a second, so that no sample
/// can stop the flow.
pub(crate) fn paced(bandwidth: BitRate, gain: Gain, mss: Bytes) -> BitRate {
    let min = BitRate::from_bps(mss.bits().get());
    gain.of_rate(bandwidth, PACING_MARGIN_PERCENT).max(min)
}

/// Packet-timed round trips (-00 4.1.1.3, -06 5.5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// Rounds so far.
    pub(crate) count: u64,
    /// The round ends when a packet is acknowledged that was sent after so much was delivered.
    pub(crate) end: Bytes,
    /// The acknowledgement being handled began a round.
    pub(crate) is_start: bool,
}

impl Round {
    /// A round begins now.
    pub(crate) fn restart(&mut self, delivered: Bytes) {
        self.end = delivered;
    }

    pub(crate) fn update(&mut self, sample: &RateSample, delivered: Bytes) {
        self.is_start = sample.prior_delivered >= self.end;
        if self.is_start {
            self.end = delivered;
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draft_00_section_4_2_2_send_quantum() {
        let mss = Bytes::new(1_000);
        for (rate, segments) in [
            (1_199_999, 1),
            (1_200_000, 2),
            (81_920_000, 10),
            (u64::MAX, 65),
        ] {
            let quantum = send_quantum(BitRate::from_bps(rate), mss);
            assert_eq!(quantum, mss * segments, "{rate}");
        }
    }
}
