//! Video calls whose rate adapts.

use media::{EncoderConfig, RateLimits};
use units::{Bytes, Duration};

/// Which congestion control a call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallController {
    /// GCC, as browsers have it.
    Gcc,
    /// SCReAMv2.
    Scream,
}

impl CallController {
    /// The names in scenario files.
    pub const NAMES: &'static [&'static str] = &["gcc", "scream"];

    /// By its name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "gcc" => Some(Self::Gcc),
            "scream" => Some(Self::Scream),
            _ => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Scream => "scream",
        }
    }

    /// Whether it answers marks.
    pub const fn answers_marks(self) -> bool {
        matches!(self, Self::Scream)
    }
}

/// A video call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSpec {
    /// Its congestion control.
    pub controller: CallController,
    /// Between what and what its rate is, and where it begins.
    pub limits: RateLimits,
    /// How frames come about.
    pub encoder: EncoderConfig,
    /// Largest payload of a packet.
    pub packet: Bytes,
    /// Frames with more delay than this count as late.
    pub late_after: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_of_a_controller() {
        for name in CallController::NAMES {
            assert_eq!(
                CallController::from_name(name).map(CallController::name),
                Some(*name)
            );
        }
        assert_eq!(CallController::from_name("nada"), None);
    }
}
