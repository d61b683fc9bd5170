//! What decides how fast media is sent.

use crate::{ConfigError, Feedback};
use core::fmt;
use units::{BitRate, Bytes, Duration, Instant};

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// Its number: one more than that of the packet before.
    pub seq: u64,
    /// Its UDP payload.
    pub bytes: Bytes,
}

/// A frame that the encoder hands to the pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedFrame {
    /// The payload of all its packets.
    pub bytes: Bytes,
    /// How long the oldest packet in the pacer has waited there.
    pub queue_delay: Duration,
}

/// Congestion control of media: from packets sent and feedback received to a rate for the encoder and for the pacer.
pub trait MediaController: fmt::Debug + Send {
    /// Its name, as scenarios have it.
    fn name(&self) -> &'static str;

    /// A packet leaves now.
    fn on_packet_sent(&mut self, now: Instant, packet: SentPacket);

    /// Feedback on packets has come.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback);

    /// The encoder hands over a frame. For controllers that account for what waits in the pacer.
    fn on_frame(&mut self, frame: EncodedFrame) {
        let _ = frame;
    }

    /// What the encoder may produce.
    fn target_bitrate(&self) -> BitRate;

    /// How fast packets may follow each other.
    fn pacing_rate(&self) -> BitRate;

    /// When a packet of so many bytes may leave, as far as a window limits it; before the present: at once.
    fn window_opens_at(&self, bytes: Bytes) -> Instant {
        let _ = bytes;
        Instant::ZERO
    }

    /// The latest estimate of the round-trip time, if there is one.
    fn rtt(&self) -> Option<Duration>;
}

/// Between what and what the rate of the media is, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    min: BitRate,
    start: BitRate,
    max: BitRate,
}

impl RateLimits {
    /// From the lowest, the first and the highest rate.
    ///
    /// # Errors
    /// If they are not 0 < `min` <= `start` <= `max`.
    pub fn new(min: BitRate, start: BitRate, max: BitRate) -> Result<Self, ConfigError> {
        if min.is_zero() || start < min || max < start {
            return Err(ConfigError::Rates { min, start, max });
        }
        Ok(Self { min, start, max })
    }

    /// The lowest rate.
    pub const fn min(&self) -> BitRate {
        self.min
    }

    /// The first rate.
    pub const fn start(&self) -> BitRate {
        self.start
    }

    /// The highest rate.
    pub const fn max(&self) -> BitRate {
        self.max
    }

    /// A rate in bit/s, brought between the lowest and the highest; what is no number is the lowest.
    pub(crate) fn clamp(&self, bps: f64) -> f64 {
        let (min, max) = (self.min.as_bps() as f64, self.max.as_bps() as f64);
        if bps.is_nan() {
            min
        } else {
            bps.clamp(min, max)
        }
    }
}

/// From `earlier` to `later` in milliseconds, negative if it is the other way round. The two may be of clocks that
/// differ.
pub(crate) fn millis_between(earlier: Instant, later: Instant) -> f64 {
    let ns = i128::from(later.as_nanos()) - i128::from(earlier.as_nanos());
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_out_of_order_are_rejected_with_their_values() {
        let mbps = BitRate::from_mbps;
        assert!(RateLimits::new(mbps(1), mbps(2), mbps(2)).is_ok());
        let error = RateLimits::new(mbps(1), mbps(3), mbps(2)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rates 1 Mbit/s, 3 Mbit/s and 2 Mbit/s: allowed is 0 < minimum <= start <= maximum"
        );
        assert!(RateLimits::new(BitRate::ZERO, mbps(1), mbps(2)).is_err());
    }

    #[test]
    fn what_is_no_number_is_the_lowest_rate() {
        let mbps = BitRate::from_mbps;
        let limits = RateLimits::new(mbps(1), mbps(1), mbps(2)).unwrap();
        let clamped = [f64::NAN, f64::INFINITY, -1.0, 1.5e6].map(|bps| limits.clamp(bps));
        assert_eq!(clamped, [1e6, 2e6, 1e6, 1.5e6]);
    }
}
