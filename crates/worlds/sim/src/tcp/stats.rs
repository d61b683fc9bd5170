//! What a connection reports of itself.

use queue::Ecn;
use units::{BitRate, Bytes, Duration, Instant, Packets};

/// Consecutive payload of one origin, handed to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadChunk {
    /// How much; > 0.
    pub bytes: Bytes,
    /// When the first server sent the last byte of the segment (or segments of the same origin) that
    /// brought it.
    pub origin: Instant,
}

/// A round trip that an acknowledgement completed. Retransmitted segments give none (Karn).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// From the segment's departure to the acknowledgement's arrival.
    pub rtt: Duration,
    /// Origin of the newest payload that the acknowledgement covered; with a relay, before this
    /// connection.
    pub origin: Instant,
}

/// State and counters of a connection's end. Counters begin at zero as it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Smoothed round-trip time (RFC 6298), once there is a sample.
    pub srtt: Option<Duration>,
    /// Minimum round-trip time, handshake included.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Window that congestion control (in recovery: PRR) allows.
    pub cwnd: Bytes,
    /// Slow-start threshold, where the controller has one.
    pub ssthresh: Option<Bytes>,
    /// Pacing rate, if the controller paces.
    pub pacing_rate: Option<BitRate>,
    /// Payload in flight: sent, and neither acknowledged nor found lost.
    pub bytes_in_flight: Bytes,
    /// What the peer's window still allows beyond what it has acknowledged.
    pub peer_window: Bytes,
    /// Receive window last advertised, less what arrived since.
    pub receive_window: Bytes,
    /// Segments sent with payload or FIN, repeats included.
    pub segments_sent: Packets,
    /// Segments among them sent again.
    pub retransmits: Packets,
    /// Their payload.
    pub bytes_resent: Bytes,
    /// Segments found lost, rightly or not.
    pub lost: Packets,
    /// Retransmission timeouts.
    pub timeouts: Packets,
    /// Tail loss probes sent.
    pub probes: Packets,
    /// Recovery episodes begun (fast and after timeouts).
    pub recoveries: Packets,
    /// Recovery episodes that proved unnecessary and were undone.
    pub spurious_recoveries: Packets,
    /// Windows of data of which a mark was reported and answered (RFC 3168 6.1.2).
    pub marked_windows: Packets,
    /// Segments received that the network had marked.
    pub marks_received: Packets,
    /// Segments of this end that the peer has reported as marked (RFC 9768; zero with other feedback).
    pub marks_reported: Packets,
    /// The codepoint of new data.
    pub codepoint: Ecn,
    /// Acknowledgements sent without payload.
    pub pure_acks_sent: Packets,
    /// Payload cumulatively acknowledged by the peer.
    pub bytes_acked: Bytes,
    /// Payload received in order.
    pub bytes_received_in_order: Bytes,
}
