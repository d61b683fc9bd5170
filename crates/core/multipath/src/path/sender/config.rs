//! How a path's sending half is set up.

use recovery::Validation;
use units::{Bytes, Duration, Packets};

/// What a data packet counts in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Each the same, [`SenderConfig::packet_size`] (RFC 4341 section 5).
    #[default]
    Packets,
    /// Each its own size.
    Bytes,
}

/// How a path's sending half is set up.
#[derive(Clone, Copy, Debug)]
pub struct SenderConfig {
    /// What a packet counts.
    pub counting: Counting,
    /// Largest size of what a packet carries: the controller's segment size. At least one byte.
    pub packet_size: Bytes,
    /// Minimum term of the variance in the timeout (RFC 6298 2.4).
    pub min_rto: Duration,
    /// Greatest timeout (RFC 6298 2.5).
    pub max_rto: Duration,
    /// Timeouts in a row after which the path is taken to have failed; at least 1.
    pub failing_after: u32,
    /// Maximum packet numbers, of data and of acknowledgements, whose outcome may be open; rounded up to
    /// a power of two. With less room than a control packet needs the oldest number is given up as
    /// lost.
    pub max_outstanding: Packets,
    /// The window of a path that was idle for longer than a retransmission timeout is kept, for five
    /// minutes (RFC 7661); otherwise it is restarted (RFC 5681 4.1). Of no effect with a validation.
    pub keeps_idle_window: bool,
    /// Which rules validate a window that is not used.
    pub validation: Validation,
}

impl Default for SenderConfig {
    /// Packets of 1500 bytes; 200 ms; a minute; two timeouts; 2^17 numbers; no validation.
    fn default() -> Self {
        Self {
            counting: Counting::Packets,
            packet_size: Bytes::new(1_500),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(60),
            failing_after: 2,
            max_outstanding: Packets::new(1 << 17),
            keeps_idle_window: false,
            validation: Validation::Off,
        }
    }
}
