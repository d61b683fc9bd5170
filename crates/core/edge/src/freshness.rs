//! What a cell's silence means.

use serde::{Deserialize, Serialize};
use units::Duration;

/// How a cell's connections are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Reports arrive: windows follow the radio.
    Following,
    /// Reports are late: windows decay to what was lately delivered (the allocator's safe state).
    Decaying,
    /// Reports have stopped, or have not begun: connections are relayed and nothing more.
    Plain,
}

impl State {
    /// Its name in logs, metrics and status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Following => "following",
            Self::Decaying => "decaying",
            Self::Plain => "plain",
        }
    }

    /// After silence for so long.
    pub(crate) fn after(silence: Duration, max_age: Duration, plain_after: Duration) -> Self {
        if silence > plain_after {
            Self::Plain
        } else if silence > max_age {
            Self::Decaying
        } else {
            Self::Following
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_goes_from_following_through_decaying_to_plain() {
        let after = |ms| {
            State::after(
                Duration::from_millis(ms),
                Duration::from_millis(100),
                Duration::from_secs(2),
            )
        };
        assert_eq!(after(100), State::Following);
        assert_eq!(after(101), State::Decaying);
        assert_eq!(after(2_001), State::Plain);
    }
}
