//! How the receiving end puts packets in order, as configured.

use core::fmt;
use core::str::FromStr;
use units::{Duration, Packets};

/// How long a packet that came early is held for those before it (Pieska et al. 2024, section 2.1;
/// the formulas are those of the Linux MP-DCCP modules).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitRule {
    /// Nothing is held.
    Off,
    /// So long.
    Fixed(Duration),
    /// The difference between the slowest path's latency and the fastest's, and a margin.
    Adaptive,
    /// The difference between the slowest path's latency and that of the path the packet came on,
    /// and a margin.
    Equalised,
    /// As adaptive, but with a margin long enough for retransmissions to arrive, and without the
    /// limit.
    Static,
}

impl WaitRule {
    /// The name that scenario files and configurations use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "none",
            Self::Fixed(_) => "fixed",
            Self::Adaptive => "adaptive",
            Self::Equalised => "equalised",
            Self::Static => "static",
        }
    }

    /// The names of all rules.
    pub const NAMES: &'static [&'static str] =
        &["none", "fixed", "adaptive", "equalised", "static"];
}

impl fmt::Display for WaitRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No rule has the requested name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown reordering {name:?}; known are {known}", known = WaitRule::NAMES.join(", "))]
pub struct UnknownWaitRule {
    /// The requested name.
    pub name: String,
}

impl FromStr for WaitRule {
    type Err = UnknownWaitRule;

    /// `fixed` has 50 ms until it is given another.
    fn from_str(name: &str) -> Result<Self, UnknownWaitRule> {
        Ok(match name {
            "none" => Self::Off,
            "fixed" => Self::Fixed(FIXED_WAIT),
            "adaptive" => Self::Adaptive,
            "equalised" => Self::Equalised,
            "static" => Self::Static,
            _ => {
                return Err(UnknownWaitRule {
                    name: name.to_owned(),
                });
            }
        })
    }
}

/// What happens to a packet whose place has been given up before it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// It is delivered, out of order.
    #[default]
    Forward,
    /// It is dropped.
    Drop,
}

impl Late {
    /// Both, by their names in files.
    pub const NAMES: [(&'static str, Self); 2] = [("forward", Self::Forward), ("drop", Self::Drop)];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Drop => "drop",
        }
    }
}

/// Margin of [`WaitRule::Adaptive`] and [`WaitRule::Equalised`] (table 1 of the paper; its text states
/// 5 ms).
pub const MARGIN: Duration = Duration::from_millis(10);
/// Margin of [`WaitRule::Static`] (section 5.2 of the paper).
pub const STATIC_MARGIN: Duration = Duration::from_millis(150);
/// The longest wait of every rule but [`WaitRule::Static`].
pub const MAX_WAIT: Duration = Duration::from_millis(100);
/// Wait of [`WaitRule::Fixed`] unless given.
pub const FIXED_WAIT: Duration = Duration::from_millis(50);
/// Weight of a new latency sample (table 1 of the paper: 95 %).
pub const LATENCY_WEIGHT: f64 = 0.95;
/// Packets held at most (table 1 of the paper).
pub const BUFFER: Packets = Packets::new(1_500);

/// How the receiving end puts packets in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderConfig {
    /// How long early packets are held.
    pub rule: WaitRule,
    /// Added to the difference of latencies; not used by [`WaitRule::Fixed`].
    pub margin: Duration,
    /// The longest wait; not used by [`WaitRule::Static`].
    pub max_wait: Duration,
    /// Packets held at most, at least 1; when more come the first gap is given up.
    pub buffer: Packets,
    /// What happens to late packets.
    pub late: Late,
    /// Gaps that can no longer be filled are given up at once (paper, section 2.1).
    pub has_fast_loss_detection: bool,
    /// Packets of fast paths are held by what their path is faster than the slowest (paper, section
    /// 2.1; Evensen et al. 2009).
    pub has_delay_equalisation: bool,
    /// Weight of a new latency sample, 0 to 1.
    pub latency_weight: f64,
}

impl ReorderConfig {
    /// That rule with the margin and the limits of the paper.
    pub const fn new(rule: WaitRule) -> Self {
        Self {
            rule,
            margin: match rule {
                WaitRule::Static => STATIC_MARGIN,
                _ => MARGIN,
            },
            max_wait: MAX_WAIT,
            buffer: BUFFER,
            late: Late::Forward,
            has_fast_loss_detection: !matches!(rule, WaitRule::Static),
            has_delay_equalisation: false,
            latency_weight: LATENCY_WEIGHT,
        }
    }
}

impl ReorderConfig {
    /// By how much two paths may differ for packets of both to be put in order.
    pub fn max_lag(&self) -> Duration {
        match self.rule {
            // no packet waits, whatever the difference
            WaitRule::Off | WaitRule::Static => Duration::MAX,
            WaitRule::Fixed(wait) => wait.min(self.max_wait),
            WaitRule::Adaptive | WaitRule::Equalised => self.max_wait.saturating_sub(self.margin),
        }
    }
}

impl Default for ReorderConfig {
    fn default() -> Self {
        Self::new(WaitRule::Adaptive)
    }
}
