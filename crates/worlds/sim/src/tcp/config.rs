//! Parameters of a connection's end.

use recovery::Validation;
use units::{Bytes, Duration};

/// Range of the maximum segment size: RFC 9293 3.7.1 allows less than 536, but timers and
/// windows below 88 bytes (Linux `TCP_MIN_SND_MSS` + options) make no sense; IPv4 ends at 65,535.
const MSS: (u64, u64) = (88, 65_483);
/// The largest window that RFC 7323 2.3 can express.
const MAX_WINDOW: u64 = 1 << 30;
/// The maximum of a send buffer: positions in it must stay far from the end of `u64`.
const MAX_SEND_BUFFER: u64 = 1 << 40;

/// What Linux's timestamps count in.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// How a receiver reports marks to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// RFC 3168 6.1.3: from a mark on, until the peer reports that it has reduced its window.
    UntilReduced,
    /// RFC 8257 3.2: of each segment, whether it was marked.
    EachSegment,
    /// RFC 9768: counters of what was marked.
    Accurate,
}

/// Explicit congestion notification of one end. It is in use if the peer has it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnConfig {
    /// What this end sends is ECT(1) (RFC 9331), not ECT(0). With a peer whose feedback is that of RFC 3168 it is
    /// nothing: it states too little for a scalable controller.
    pub is_ect1: bool,
    /// How this end answers marks. RFC 8257 has no negotiation of it: both ends must agree.
    pub echo: EcnEcho,
}

impl EcnConfig {
    /// RFC 3168: ECT(0), an echo until the window is reduced.
    pub const CLASSIC: Self = Self {
        is_ect1: false,
        echo: EcnEcho::UntilReduced,
    };
    /// RFC 8257: ECT(0), an echo of each segment.
    pub const DCTCP: Self = Self {
        is_ect1: false,
        echo: EcnEcho::EachSegment,
    };
    /// RFC 9331 with the feedback of RFC 9768: ECT(1).
    pub const L4S: Self = Self {
        is_ect1: true,
        echo: EcnEcho::Accurate,
    };
    /// The feedback of RFC 9768 for a classic controller: ECT(0).
    pub const ACCURATE: Self = Self {
        is_ect1: false,
        echo: EcnEcho::Accurate,
    };

    /// The codepoint of new data.
    pub(super) fn codepoint(self) -> queue::Ecn {
        if self.is_ect1 {
            queue::Ecn::Ect1
        } else {
            queue::Ecn::Ect0
        }
    }
}

/// How one end of a connection behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum segment size, in payload; 88 to 65,483 bytes. Both ends have the same.
    pub mss: Bytes,
    /// Initial window in segments, 1 or more (RFC 6928: 10). The congestion controller owns the
    /// window: build it with [`Self::initial_cwnd`].
    pub initial_window: u32,
    /// Receive buffer, counted in payload: one segment to 1 GiB.
    pub receive_buffer: Bytes,
    /// Send buffer, counted in payload: one segment to 1 TiB. Holds what is not acknowledged.
    pub send_buffer: Bytes,
    /// Acknowledge every second segment, or after 40 ms (RFC 1122 4.2.3.2); else every segment.
    pub delayed_ack: bool,
    /// The application takes data as it arrives in order: it never fills the receive buffer.
    /// [`super::Connection::read`] still reports what arrived.
    pub auto_read: bool,
    /// Send small segments at once (`TCP_NODELAY`), without waiting as Nagle would.
    pub nodelay: bool,
    /// Explicit congestion notification; none: ECN is neither requested nor understood.
    pub ecn: Option<EcnConfig>,
    /// Which rules validate a congestion window that is not used.
    pub validation: Validation,
    /// What this end's timestamps count in, above zero (Linux: 1 ms). Round-trip times are measured to the
    /// nanosecond all the same: only controllers that look at one-way delays see ticks.
    pub timestamp_tick: Duration,
}

impl Default for Config {
    /// MSS 1448 (Ethernet with timestamps), initial window 10, Linux's largest default buffers, no validation.
    fn default() -> Self {
        Self {
            mss: Bytes::new(1_448),
            initial_window: 10,
            receive_buffer: Bytes::new(6 << 20),
            send_buffer: Bytes::new(4 << 20),
            delayed_ack: true,
            auto_read: false,
            nodelay: false,
            ecn: None,
            validation: Validation::Off,
            timestamp_tick: TICK,
        }
    }
}

/// Why a connection cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The segment size is out of range.
    #[error("TCP maximum segment size is {0}, expected {min} to {max} bytes", min = MSS.0, max = MSS.1)]
    Mss(Bytes),
    /// The initial window is zero.
    #[error("TCP initial window is 0 segments, expected 1 or more (RFC 6928: 10)")]
    InitialWindow,
    /// The receive buffer is out of range.
    #[error("TCP receive buffer is {0}, expected one segment ({1}) to 1 GiB (RFC 7323 2.3)")]
    ReceiveBuffer(Bytes, Bytes),
    /// Timestamps would count nothing.
    #[error("the tick of TCP timestamps is 0 s, expected more")]
    Tick,
    /// The send buffer is out of range.
    #[error("TCP send buffer is {0}, expected one segment ({1}) to 1 TiB")]
    SendBuffer(Bytes, Bytes),
}

impl Config {
    /// Whether a connection can be built of it.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let one_to = |limit: u64| self.mss..=Bytes::new(limit);
        if !(MSS.0..=MSS.1).contains(&self.mss.get()) {
            Err(ConfigError::Mss(self.mss))
        } else if self.timestamp_tick.is_zero() {
            Err(ConfigError::Tick)
        } else if self.initial_window == 0 {
            Err(ConfigError::InitialWindow)
        } else if !one_to(MAX_WINDOW).contains(&self.receive_buffer) {
            Err(ConfigError::ReceiveBuffer(self.receive_buffer, self.mss))
        } else if !one_to(MAX_SEND_BUFFER).contains(&self.send_buffer) {
            Err(ConfigError::SendBuffer(self.send_buffer, self.mss))
        } else {
            Ok(())
        }
    }

    /// The initial congestion window, for the controller that goes with this configuration.
    pub fn initial_cwnd(&self) -> Bytes {
        self.mss * u64::from(self.initial_window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let good = Config::default();
        assert_eq!(good.check(), Ok(()));
        let mss = Config {
            mss: Bytes::new(87),
            ..good
        };
        assert_eq!(mss.check(), Err(ConfigError::Mss(Bytes::new(87))));
        assert!(
            mss.check()
                .unwrap_err()
                .to_string()
                .contains("87 B, expected 88 to 65483")
        );
        assert!(
            Config {
                initial_window: 0,
                ..good
            }
            .check()
            .is_err()
        );
        assert!(
            Config {
                receive_buffer: Bytes::new(1_447),
                ..good
            }
            .check()
            .is_err()
        );
        assert!(
            Config {
                receive_buffer: Bytes::new((1 << 30) + 1),
                ..good
            }
            .check()
            .is_err()
        );
        assert!(
            Config {
                send_buffer: Bytes::ZERO,
                ..good
            }
            .check()
            .is_err()
        );
    }

    #[test]
    fn rfc_6928_initial_window_is_ten_segments() {
        assert_eq!(Config::default().initial_cwnd(), Bytes::new(14_480));
    }
}
