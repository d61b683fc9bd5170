//! How late the lab does what was due.

use network::measure::Samples;
use scenario::Distribution;
use units::Instant;

/// Records when what was due was done.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    samples: Samples,
}

impl Lateness {
    /// Something due at `due` is done at `now`.
    pub(crate) fn record(&mut self, due: Instant, now: Instant) {
        self.samples.record(now.saturating_since(due));
    }

    /// The distribution, ms.
    pub(crate) fn distribution(&mut self) -> Distribution {
        self.samples.distribution()
    }
}
