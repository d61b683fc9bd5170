//! How much the socket towards the UE may take beyond what it sends.
//!
//! ```text
//!   bound = clamp(unsent_share x window, unsent_min, unsent_max)
//! ```
//!
//! What waits should wait in the proxy, where it is counted at once and closes the window towards the server;
//! what the socket holds unsent is seen only with the next telemetry. A part of a window is enough to
//! send at every acknowledgement. The bound is changed only when it is off by more than the factor `unsent_step`.

use serde::{Deserialize, Serialize};
use units::Bytes;

/// The rule with its constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UnsentBound {
    /// Share of the window towards the UE (0 to 1).
    pub unsent_share: f64,
    /// The least bound.
    pub unsent_min: Bytes,
    /// The largest.
    pub unsent_max: Bytes,
    /// The bound is changed when it is off by more than this factor (1 to 64).
    #[serde(default = "unsent_step")]
    pub unsent_step: u64,
}

// what recordings have that were made before there was this key
fn unsent_step() -> u64 {
    2
}

impl Default for UnsentBound {
    /// A quarter, from 16 KiB to 1 MiB, changed when off by two.
    fn default() -> Self {
        Self {
            unsent_share: 0.25,
            unsent_min: Bytes::new(16_384),
            unsent_max: Bytes::new(1 << 20),
            unsent_step: unsent_step(),
        }
    }
}

impl UnsentBound {
    /// The bound for a window towards the UE; none if `bound` is good enough.
    pub fn change(&self, window: Bytes, bound: Option<Bytes>) -> Option<Bytes> {
        let share = Bytes::new((window.get() as f64 * self.unsent_share) as u64);
        let wanted = share.max(self.unsent_min).min(self.unsent_max);
        let step = self.unsent_step;
        let is_good = bound.is_some_and(|bound| wanted <= bound * step && wanted >= bound / step);
        (!is_good).then_some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_within_its_range_and_changed_only_when_off_by_two() {
        let change = |window, bound: Option<u64>| {
            let bound = bound.map(Bytes::new);
            UnsentBound::default()
                .change(Bytes::new(window), bound)
                .map(Bytes::get)
        };
        assert_eq!(change(400_000, None), Some(100_000));
        assert_eq!(change(1_000, None), Some(16_384));
        assert_eq!(change(100_000_000, None), Some(1 << 20));
        assert_eq!(change(400_000, Some(50_000)), None);
        assert_eq!(change(400_000, Some(49_999)), Some(100_000));
        assert_eq!(change(400_000, Some(200_002)), Some(100_000));
        let exact = UnsentBound {
            unsent_step: 1,
            ..UnsentBound::default()
        };
        let [window, bound, off] = [400_000, 100_000, 100_001].map(Bytes::new);
        assert_eq!(exact.change(window, Some(bound)), None);
        assert_eq!(exact.change(window, Some(off)), Some(bound));
    }
}
