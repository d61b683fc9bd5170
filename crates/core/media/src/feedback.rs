//! What the receiver reports of each packet.

use units::{Bytes, Duration, Ecn, Instant};

/// A packet that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// When, by the receiver's clock.
    pub at: Instant,
    /// The ECN field that it came with.
    pub ecn: Ecn,
}

/// What is reported of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// Its number.
    pub seq: u64,
    /// None if it has not come.
    pub received: Option<Received>,
}

/// One feedback message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// When it was made, by the receiver's clock.
    pub made_at: Instant,
    /// The packets that it is about.
    pub packets: Vec<PacketReport>,
}

/// What feedback looks like on the wire, and when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackFormat {
    /// RTP extensions for transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01):
    /// every packet once, in steps of 250 us, without ECN.
    TransportWide,
    /// RFC 8888: the last 32 packets, or all since the last message if they are more, in steps of 1/1024 s.
    Rfc8888,
}

/// IPv4 and UDP apart, what SRTCP adds to a message: its index and the authentication tag (RFC 3711 3.4).
const SRTCP: u64 = 4 + 10;

impl FeedbackFormat {
    /// The step in which times of arrival are reported.
    const fn tick(self) -> Duration {
        match self {
            Self::TransportWide => Duration::from_micros(250),
            Self::Rfc8888 => Duration::from_nanos(1_000_000_000 / 1024),
        }
    }

    /// What comes after at the latest when a packet has come that is not reported: 50 ms, the shortest interval of
    /// libwebrtc's transport-wide feedback, and 40 ms (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 5).
    pub(crate) const fn interval(self) -> Duration {
        match self {
            Self::TransportWide => Duration::from_millis(50),
            Self::Rfc8888 => Duration::from_millis(40),
        }
    }

    /// Whether a message is due before that: after 16 packets, or the last packet of a frame (the same section).
    pub(crate) const fn is_due_early(self, unreported: u64, is_last_of_frame: bool) -> bool {
        match self {
            Self::TransportWide => false,
            Self::Rfc8888 => unreported >= 16 || is_last_of_frame,
        }
    }

    /// How many packets up to the highest are in every message, reported before or not.
    pub(crate) const fn repeated(self) -> u64 {
        match self {
            Self::TransportWide => 0,
            Self::Rfc8888 => 32,
        }
    }

    /// A time of arrival as it is reported.
    pub(crate) fn rounded(self, at: Instant) -> Instant {
        let tick = self.tick().as_nanos();
        Instant::from_nanos(at.as_nanos() / tick * tick)
    }

    /// The ECN field as it is reported.
    pub(crate) const fn reported(self, ecn: Ecn) -> Ecn {
        match self {
            Self::TransportWide => Ecn::NotEct,
            Self::Rfc8888 => ecn,
        }
    }

    /// The UDP payload of a message about so many packets, `received` of which came.
    pub(crate) const fn payload(self, packets: u64, received: u64) -> Bytes {
        let message = match self {
            // 3.1: 20 bytes of headers, 2 for each 7 symbols of 2 bits, a byte for each delta
            Self::TransportWide => 20 + 2 * packets.div_ceil(7) + received,
            // RFC 8888 3.1: 8 of header, 8 for the SSRC with its range, 2 for each packet, 4 of timestamp
            Self::Rfc8888 => 20 + 2 * packets,
        };
        Bytes::new(message.next_multiple_of(4) + SRTCP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_sizes_of_their_formats() {
        // transport-wide: 20 + 2 x 2 symbols chunks + 9 deltas = 33, padded to 36
        let size = FeedbackFormat::TransportWide.payload(10, 9);
        assert_eq!(size, Bytes::new(36 + 14));
        // RFC 8888: 20 + 64
        let size = FeedbackFormat::Rfc8888.payload(32, 32);
        assert_eq!(size, Bytes::new(84 + 14));
    }

    #[test]
    fn arrival_is_reported_in_steps() {
        let at = Instant::from_nanos(1_249_999);
        let rounded = FeedbackFormat::TransportWide.rounded(at);
        assert_eq!(rounded, Instant::from_nanos(1_000_000));
        let rounded = FeedbackFormat::Rfc8888.rounded(at);
        assert_eq!(rounded, Instant::from_nanos(976_562));
    }
}
