//! Calls whose video adapts: the congestion control of media, what sends frames by it, and what receives them.
//!
//! ```text
//!   frames -> Encoder -> pacer -> packets --> network --> Receiver -> frames that came whole
//!                ^ target   ^ rate, window                   |
//!             [ MediaController: Gcc, Scream ] <-- feedback -'
//! ```
//!
//! [`MediaController`] is the seam: [`Gcc`] and [`Scream`] implement it, and [`Sender`] drives any other as well. A
//! transport that has its own pacer and encoder uses a controller alone.
//!
//! What this crate is *not*: it encodes nothing, knows neither RTP's nor RTCP's bytes (only their sizes), repairs no
//! loss, and has no jitter buffer. It has no clock: all times are arguments.
#![forbid(unsafe_code)]

mod controller;
mod encoder;
mod feedback;
mod gcc;
mod history;
mod receiver;
mod scream;
mod sender;

pub use controller::{EncodedFrame, MediaController, RateLimits, SentPacket};
pub use encoder::{Encoder, EncoderConfig, Frame};
pub use feedback::{Feedback, FeedbackFormat, PacketReport, Received};
pub use gcc::Gcc;
pub use receiver::{ArrivedFrame, Receiver};
pub use scream::{EcnMode, Scream, ScreamConfig};
pub use sender::{MediaPacket, Sender};

use units::{BitRate, Duration};

/// Why a call cannot be set up as configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The three rates are not in order.
    #[error("rates {min}, {start} and {max}: allowed is 0 < minimum <= start <= maximum")]
    Rates {
        /// The lowest.
        min: BitRate,
        /// The first.
        start: BitRate,
        /// The highest.
        max: BitRate,
    },
    /// The frame rate is none.
    #[error("{0} frames per second: allowed are 1 to 1000")]
    FrameRate(u32),
    /// Frames vary by more than they are large.
    #[error("frame sizes with a deviation of {0} of their mean: allowed is 0 to 1")]
    Deviation(String),
    /// Key frames come more often than frames.
    #[error("a key frame every {0}: allowed is at least the time of two frames")]
    KeyFrames(Duration),
    /// Key frames are smaller than others.
    #[error("key frames of {0} times the mean: allowed is 1 to 20")]
    KeyFrameSize(String),
}
