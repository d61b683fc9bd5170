//! DualPI2: configuration.

use crate::{ConfigError, Ratio, error};
use units::Duration;

/// RFC 9332 appendix A.1.
const TARGET: Duration = Duration::from_millis(15);
const MAX_RTT: Duration = Duration::from_millis(100);
const COUPLING: Ratio = Ratio::from_ppm(2_000_000);
/// RFC 9332 appendix A.2: minTh and range.
const RAMP_FROM: Duration = Duration::from_micros(800);
const RAMP_RANGE: Duration = Duration::from_micros(400);
/// RFC 9332 appendix A.1: Th_len.
const MIN_LENGTH: usize = 1;
/// Of the time-shifted FIFO.
const SHIFT: Duration = Duration::from_millis(50);

/// Which of the two queues goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DualScheduler {
    /// The packet that has waited longer, those of the low-latency queue counting so much more.
    TimeShifted {
        /// The advantage of the low-latency queue.
        shift: Duration,
    },
    /// Weighted round robin by bytes.
    Weighted {
        /// The classic queue's part of the link while both wait, above 0 and below 1.
        classic: Ratio,
    },
}

/// How DualPI2 works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DualPi2Config {
    /// The classic queue's delay aimed at, above zero.
    pub target: Duration,
    /// The longest round trip time that is to be stable, above zero.
    pub max_rtt: Duration,
    /// k: how many times the base probability the low-latency queue is marked with, at least 1.
    pub coupling: Ratio,
    /// The low-latency queue's delay from which it marks by itself.
    pub ramp_from: Duration,
    /// The further delay at which it marks all; zero is a step.
    pub ramp_range: Duration,
    /// The low-latency queue does not mark by itself with no more than so many packets waiting.
    pub min_length: usize,
    /// Which queue goes first.
    pub scheduler: DualScheduler,
}

impl Default for DualPi2Config {
    /// RFC 9332 appendix A.
    fn default() -> Self {
        Self {
            target: TARGET,
            max_rtt: MAX_RTT,
            coupling: COUPLING,
            ramp_from: RAMP_FROM,
            ramp_range: RAMP_RANGE,
            min_length: MIN_LENGTH,
            scheduler: DualScheduler::TimeShifted { shift: SHIFT },
        }
    }
}

impl DualPi2Config {
    /// # Errors
    /// Times of zero, a coupling below one, a part of the link that is none or all.
    pub fn check(&self) -> Result<(), ConfigError> {
        error::expect_time("dualpi2 target", self.target)?;
        error::expect_time("dualpi2 round trip time", self.max_rtt)?;
        let coupling = self.coupling;
        error::expect(
            coupling >= Ratio::ONE,
            "dualpi2 coupling",
            &coupling.as_f64(),
            "at least 1",
        )?;
        if let DualScheduler::Weighted { classic } = self.scheduler {
            error::expect(
                classic > Ratio::ZERO && classic < Ratio::ONE,
                "dualpi2 classic part",
                &classic.as_f64(),
                "above 0 and below 1",
            )?;
        }
        Ok(())
    }
}
