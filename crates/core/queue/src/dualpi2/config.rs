//! How DualPI2 works, and its keys.

use super::DualPi2;
use crate::codel::FRAME;
use crate::config::Configure;
use crate::registry::{ANYWHERE, Algorithm, Made, Parameter, Quantity};
use crate::{Capacity, ConfigError, DisciplineConfig, Packet, Ratio, error};
use units::{Bytes, Duration, Rng};

/// RFC 9332 appendix A.1 and Linux.
const TARGET: Duration = Duration::from_millis(15);
/// Linux; appendix A.1 computes 15 ms and names 16 ms for rounding.
const UPDATE_INTERVAL: Duration = Duration::from_millis(16);
/// Linux, 41/256 and 819/256 Hz; appendix A.1 computes 0.15 and 3.0 and names these for rounding.
const INTEGRAL_GAIN: Ratio = Ratio::from_ppm(160_000);
const PROPORTIONAL_GAIN: Ratio = Ratio::from_ppm(3_200_000);
/// RFC 9332 section 2.1: k.
const COUPLING: Ratio = Ratio::from_ppm(2_000_000);
/// Linux: step_thresh.
const STEP: Duration = Duration::from_millis(1);
/// Linux: classic_protection.
const CLASSIC: Ratio = Ratio::from_ppm(100_000);

/// RFC 9332 appendix A.1: RTT_max.
const MAX_RTT: Duration = Duration::from_millis(100);
/// RFC 9332 appendix A.1: minTh and range.
const RAMP_FROM: Duration = Duration::from_micros(800);
const RAMP_RANGE: Duration = Duration::from_micros(400);
/// RFC 9332 appendix A.1: Th_len.
const MIN_LENGTH: usize = 1;
/// RFC 9332 appendix A.1: the weight that it gives as an example, 1/16.
const SIXTEENTH: Ratio = Ratio::from_ppm(62_500);

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

/// How DualPI2 works. The default is that of Linux; [`DualPi2Config::rfc9332`] is the appendix's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DualPi2Config {
    /// The delay that the PI controller aims at, above zero.
    pub target: Duration,
    /// Tupdate: from one update of the controller to the next, above zero.
    pub update_interval: Duration,
    /// alpha: what each update adds to p' for each second of delay above the target; above zero.
    pub integral_gain: Ratio,
    /// beta: what each update adds to p' for each second by which the delay has grown.
    pub proportional_gain: Ratio,
    /// k: how many times the base probability the low-latency queue is marked with, at least 1.
    pub coupling: Ratio,
    /// The low-latency queue's sojourn time above which it marks by itself.
    pub ramp_from: Duration,
    /// The further sojourn time at which it marks all; zero is a step.
    pub ramp_range: Duration,
    /// The low-latency queue does not mark by itself with fewer packets behind the one that leaves.
    pub min_length: usize,
    /// With less than two of these in both queues, the controller's probabilities are not applied.
    pub mtu: Bytes,
    /// Which queue goes first.
    pub scheduler: DualScheduler,
}

impl Default for DualPi2Config {
    /// Linux (`sch_dualpi2`).
    fn default() -> Self {
        Self {
            target: TARGET,
            update_interval: UPDATE_INTERVAL,
            integral_gain: INTEGRAL_GAIN,
            proportional_gain: PROPORTIONAL_GAIN,
            coupling: COUPLING,
            ramp_from: STEP,
            ramp_range: Duration::ZERO,
            min_length: 0,
            mtu: FRAME,
            scheduler: DualScheduler::Weighted { classic: CLASSIC },
        }
    }
}

impl DualPi2Config {
    /// RFC 9332 appendix A as printed: gains computed for 100 ms, the ramp, one packet that is not marked,
    /// a sixteenth for the classic queue.
    pub fn rfc9332() -> Self {
        Self {
            ramp_from: RAMP_FROM,
            ramp_range: RAMP_RANGE,
            min_length: MIN_LENGTH,
            scheduler: DualScheduler::Weighted { classic: SIXTEENTH },
            ..Self::for_rtt(TARGET, MAX_RTT)
        }
    }

    /// The controller for round trip times of at most `max_rtt`, above zero (appendix A.1, lines 6 to 11):
    /// `Tupdate = min(target, max_rtt / 3)`, `alpha = 0.1 Tupdate / max_rtt^2`, `beta = 0.3 / max_rtt`,
    /// the gains rounded to a millionth.
    pub fn for_rtt(target: Duration, max_rtt: Duration) -> Self {
        let update_interval = target.min(max_rtt / 3);
        let seconds = max_rtt.as_secs_f64();
        Self {
            target,
            update_interval,
            integral_gain: Ratio::from_f64(0.1 * update_interval.as_secs_f64() / seconds.powi(2)),
            proportional_gain: Ratio::from_f64(0.3 / seconds),
            ..Self::default()
        }
    }

    /// # Errors
    /// Times of zero, an alpha of zero, a coupling below one, a full packet of no bytes, a part of the link
    /// that is none or all.
    pub fn check(&self) -> Result<(), ConfigError> {
        error::expect_time("dualpi2 target", self.target)?;
        error::expect_time("dualpi2 update interval", self.update_interval)?;
        error::expect(
            self.integral_gain > Ratio::ZERO,
            "dualpi2 alpha",
            &self.integral_gain.as_f64(),
            "above 0",
        )?;
        error::expect(
            self.coupling >= Ratio::ONE,
            "dualpi2 coupling",
            &self.coupling.as_f64(),
            "at least 1",
        )?;
        error::expect_bytes("dualpi2 mtu", self.mtu)?;
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

const TARGET_KEY: &Parameter = &Parameter::new(
    "dualpi2-target",
    Quantity::Duration,
    "15 ms",
    (1e-6, 10.0),
    "DualPI2: delay that its controller aims at (RFC 9332 A.1).",
);
const TUPDATE: &Parameter = &Parameter::new(
    "dualpi2-tupdate",
    Quantity::Duration,
    "16 ms",
    (1e-4, 10.0),
    "DualPI2: from one update of its probability to the next (Linux; RFC 9332 A.1 computes 15 ms).",
);
const ALPHA: &Parameter = &Parameter::new(
    "dualpi2-alpha",
    Quantity::Number,
    "0.16",
    (1e-6, 1000.0),
    "DualPI2: what an update adds for each second of delay above the target (Linux; RFC 9332 A.1 computes 0.15).",
);
const BETA: &Parameter = &Parameter::new(
    "dualpi2-beta",
    Quantity::Number,
    "3.2",
    (0.0, 1000.0),
    "DualPI2: what an update adds for each second by which the delay has grown (Linux; RFC 9332 A.1 computes 3).",
);
const COUPLING_KEY: &Parameter = &Parameter::new(
    "dualpi2-coupling",
    Quantity::Number,
    "2",
    (1.0, 100.0),
    "DualPI2: how many times the root of the classic queue's probability the low-latency queue marks with (RFC 9332 2.1: k).",
);
const THRESHOLD: &Parameter = &Parameter::new(
    "dualpi2-threshold",
    Quantity::Duration,
    "1 ms",
    (0.0, 10.0),
    "DualPI2: delay of the low-latency queue above which it marks by itself (Linux; RFC 9332 A.1: 800 us).",
);
const RANGE: &Parameter = &Parameter::new(
    "dualpi2-range",
    Quantity::Duration,
    "0 s",
    (0.0, 10.0),
    "DualPI2: over so much more delay its marking rises to all packets; zero: a step (RFC 9332 A.1: 400 us).",
);
const LENGTH: &Parameter = &Parameter::new(
    "dualpi2-min-length",
    Quantity::Count,
    "0",
    (0.0, 1e6),
    "DualPI2: the low-latency queue does not mark by itself with fewer packets left in it (RFC 9332 A.1: 1).",
);
const CLASSIC_KEY: &Parameter = &Parameter::new(
    "dualpi2-classic",
    Quantity::Number,
    "0.1",
    (0.001, 0.999),
    "DualPI2: the classic queue's part of the link while both wait (Linux; RFC 9332 A.1: 1/16).",
);
const SHIFT: &Parameter = &Parameter::new(
    "dualpi2-shift",
    Quantity::Duration,
    "0 s",
    (0.0, 10.0),
    "DualPI2: above zero, a FIFO shifted by this in favour of the low-latency queue takes the place of the weights (RFC 9332 A.1: 50 ms).",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "dualpi2",
    title: "DualPI2",
    places: ANYWHERE,
    is_aqm: true,
    is_backpressure: false,
    parameters: &[
        TARGET_KEY,
        TUPDATE,
        ALPHA,
        BETA,
        COUPLING_KEY,
        THRESHOLD,
        RANGE,
        LENGTH,
        CLASSIC_KEY,
        SHIFT,
    ],
    make: |values| {
        let shift = values.duration(SHIFT);
        Made::Discipline(DisciplineConfig::DualPi2(DualPi2Config {
            target: values.duration(TARGET_KEY),
            update_interval: values.duration(TUPDATE),
            integral_gain: values.ratio(ALPHA),
            proportional_gain: values.ratio(BETA),
            coupling: values.ratio(COUPLING_KEY),
            ramp_from: values.duration(THRESHOLD),
            ramp_range: values.duration(RANGE),
            min_length: values.count(LENGTH) as usize,
            mtu: values.shared.mtu,
            scheduler: if shift.is_zero() {
                let classic = values.ratio(CLASSIC_KEY);
                DualScheduler::Weighted { classic }
            } else {
                DualScheduler::TimeShifted { shift }
            },
        }))
    },
};

impl Configure for DualPi2Config {
    type Queue<P: Packet + Send> = DualPi2<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    /// Times stay, and packets keep their size.
    fn scale(&mut self, _ratio: f64) {}
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        _rng: &mut Rng,
    ) -> Result<DualPi2<P>, ConfigError> {
        DualPi2::new(self.clone(), capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_the_constants_of_linux() {
        let linux = DualPi2Config::default();
        assert_eq!(linux.update_interval, Duration::from_millis(16));
        // netlink carries 1/256 Hz: 41 and 819
        assert!((linux.integral_gain.as_f64() - 41.0 / 256.0).abs() < 0.5 / 256.0);
        assert!((linux.proportional_gain.as_f64() - 819.0 / 256.0).abs() < 0.5 / 256.0);
        assert_eq!(
            linux.scheduler,
            DualScheduler::Weighted { classic: CLASSIC }
        );
    }

    #[test]
    fn appendix_a_1_gains() {
        let rfc = DualPi2Config::rfc9332();
        assert_eq!(rfc.update_interval, Duration::from_millis(15));
        assert_eq!(rfc.integral_gain, Ratio::from_f64(0.15));
        assert_eq!(rfc.proportional_gain, Ratio::from_f64(3.0));
        // a third of the longest round trip time, where that is less than the target
        let short = DualPi2Config::for_rtt(TARGET, Duration::from_millis(30));
        assert_eq!(short.update_interval, Duration::from_millis(10));
        assert_eq!(short.integral_gain, Ratio::from_f64(0.1 * 0.01 / 0.0009));
        assert_eq!(short.proportional_gain, Ratio::from_f64(10.0));
    }

    #[test]
    fn values_that_cannot_work_are_refused() {
        let refused = |config: DualPi2Config| config.check().unwrap_err().to_string();
        let linux = DualPi2Config::default();
        let half = Ratio::from_ppm(500_000);
        let no_coupling = DualPi2Config {
            coupling: half,
            ..linux.clone()
        };
        assert!(refused(no_coupling).contains("coupling"));
        let no_gain = DualPi2Config {
            integral_gain: Ratio::ZERO,
            ..linux.clone()
        };
        assert!(refused(no_gain).contains("alpha"));
        let all = DualPi2Config {
            scheduler: DualScheduler::Weighted {
                classic: Ratio::ONE,
            },
            ..linux
        };
        assert!(refused(all).contains("classic part"));
    }
}
