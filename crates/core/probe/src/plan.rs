//! What a UE has recorded.

use crate::message::Request;
use units::{BitRate, Bytes, Duration};

/// Allowed sizes of packets, with IP and UDP headers: a probe fits, and a datagram that is not cut on Ethernet with large
/// frames.
pub const PACKETS: core::ops::RangeInclusive<Bytes> = Bytes::new(120)..=Bytes::new(9_000);
/// Longest recording: each millisecond of it takes 64 bytes of memory, and at times twice that.
pub const MAX_DURATION: Duration = Duration::from_secs(1_800);
/// Most packets of a train.
pub const MAX_TRAIN: u16 = 64;
/// Shortest and longest time between two trains.
pub const INTERVALS: core::ops::RangeInclusive<Duration> =
    Duration::from_millis(20)..=Duration::from_secs(10);

/// What a UE has recorded: rounds of a light and a heavy workload, until the time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Rate of the heavy workload towards the UE; zero for none.
    pub down: BitRate,
    /// From the UE.
    pub up: BitRate,
    /// A packet of either workload, with IP and UDP headers.
    pub packet: Bytes,
    /// The whole, without the time in which queues drain.
    pub duration: Duration,
    /// The light workload of a round; zero for none.
    pub light: Duration,
    /// The heavy one.
    pub heavy: Duration,
    /// Packets of a train.
    pub train: u16,
    /// From the beginning of a train to that of the next.
    pub interval: Duration,
}

/// Why nothing can be recorded by a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Of the packet's size.
    #[error("a packet of {0}: expected {first} to {last}", first = PACKETS.start(), last = PACKETS.end())]
    Packet(Bytes),
    /// Of the duration.
    #[error("a recording of {0}: expected more than 0 s and at most {MAX_DURATION}")]
    Duration(Duration),
    /// No workload.
    #[error(
        "nothing would be recorded: a light or a heavy workload needs some time, and the heavy one a rate"
    )]
    Nothing,
    /// Of the train.
    #[error("a train of {0} packets: expected 1 to {MAX_TRAIN}")]
    Train(u16),
    /// Of the interval.
    #[error("a train every {0}: expected {first} to {last}", first = INTERVALS.start(), last = INTERVALS.end())]
    Interval(Duration),
}

impl Plan {
    /// # Errors
    /// [`PlanError`] with the value and what is allowed.
    pub fn check(&self) -> Result<(), PlanError> {
        let has_rate = !self.down.is_zero() || !self.up.is_zero();
        if !PACKETS.contains(&self.packet) {
            Err(PlanError::Packet(self.packet))
        } else if self.duration.is_zero() || self.duration > MAX_DURATION {
            Err(PlanError::Duration(self.duration))
        } else if self.light.is_zero() && (self.heavy.is_zero() || !has_rate) {
            Err(PlanError::Nothing)
        } else if !(1..=MAX_TRAIN).contains(&self.train) {
            Err(PlanError::Train(self.train))
        } else if !INTERVALS.contains(&self.interval) {
            Err(PlanError::Interval(self.interval))
        } else {
            Ok(())
        }
    }

    /// What is asked for.
    pub(crate) const fn request(&self) -> Request {
        Request {
            down: self.down,
            up: self.up,
            duration: self.duration,
            packet: self.packet,
        }
    }

    /// Whether a round has a heavy workload.
    pub(crate) const fn has_heavy(&self) -> bool {
        let has_rate = !self.down.is_zero() || !self.up.is_zero();
        has_rate && !self.heavy.is_zero()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const PLAN: Plan = Plan {
        down: BitRate::from_mbps(20),
        up: BitRate::from_mbps(10),
        packet: Bytes::new(1_400),
        duration: Duration::from_secs(4),
        light: Duration::from_secs(1),
        heavy: Duration::from_secs(3),
        train: 5,
        interval: Duration::from_millis(200),
    };

    #[test]
    fn plans_that_cannot_be_are_refused_with_what_is_allowed() {
        assert_eq!(PLAN.check(), Ok(()));
        let nothing = Plan {
            light: Duration::ZERO,
            down: BitRate::ZERO,
            up: BitRate::ZERO,
            ..PLAN
        };
        assert_eq!(nothing.check(), Err(PlanError::Nothing));
        let packet = Plan {
            packet: Bytes::new(60),
            ..PLAN
        };
        let text = packet.check().expect_err("too small").to_string();
        assert_eq!(text, "a packet of 60 B: expected 120 B to 9 kB");
        let duration = Plan {
            duration: Duration::from_secs(1_801),
            ..PLAN
        };
        assert!(duration.check().is_err());
        assert!(Plan { train: 0, ..PLAN }.check().is_err());
        assert!(Plan { train: 65, ..PLAN }.check().is_err());
        let interval = Duration::from_millis(1);
        assert!(Plan { interval, ..PLAN }.check().is_err());
    }
}
