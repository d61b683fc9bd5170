//! The estimate by delay (section 5.5).

use super::Signal;
use crate::RateLimits;
use units::{Duration, Instant};

/// beta (5.5).
const BETA: f64 = 0.85;
/// The increase of a second, far from convergence (5.5).
const ETA: f64 = 1.08;
/// The estimate stays below so many times the received rate (5.5).
const MAX_OF_RECEIVED: f64 = 1.5;
/// Added to the round-trip time for the response time (5.5), ms.
const DETECTOR_TIME: f64 = 100.0;
/// Least step of an additive increase (5.5), bit.
const MIN_STEP: f64 = 1000.0;
/// The frame rate and the packets that an additive increase assumes (5.5).
const FRAMES: f64 = 30.0;
const PACKET_BITS: f64 = 1200.0 * 8.0;

/// Weight of what was before in the average of received rates at a decrease (5.5).
const AVERAGING: f64 = 0.95;
/// The range of its relative variance, of kbit/s (libwebrtc, `LinkCapacityEstimator`); it begins with the least.
const VARIANCE: (f64, f64) = (0.4, 2.5);

/// The states of section 5.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Increase,
    Decrease,
    Hold,
}

impl State {
    /// The table of section 5.5.
    fn after(self, signal: Signal) -> Self {
        match (signal, self) {
            (Signal::Overuse, _) => Self::Decrease,
            (Signal::Normal, Self::Hold) => Self::Increase,
            (Signal::Normal, Self::Increase) => Self::Increase,
            (Signal::Normal, Self::Decrease) => Self::Hold,
            (Signal::Underuse, _) => Self::Hold,
        }
    }
}

/// The average of received rates at decreases, kbit/s, with its variance relative to itself.
#[derive(Clone, Copy, Debug)]
struct Convergence {
    mean: f64,
    variance: f64,
}

impl Convergence {
    /// Three standard deviations.
    fn width(&self) -> f64 {
        3.0 * (self.variance * self.mean).sqrt()
    }

    /// With one more received rate at a decrease.
    fn with(before: Option<Self>, kbps: f64) -> Self {
        let Some(before) = before.filter(|of| kbps >= of.mean - of.width()) else {
            return Self {
                mean: kbps,
                variance: VARIANCE.0,
            };
        };
        let mean = AVERAGING * before.mean + (1.0 - AVERAGING) * kbps;
        let error = mean - kbps;
        let sample = error * error / mean.max(1.0);
        let variance = AVERAGING * before.variance + (1.0 - AVERAGING) * sample;
        Self {
            mean,
            variance: variance.clamp(VARIANCE.0, VARIANCE.1),
        }
    }
}

/// The estimate A.
#[derive(Clone, Debug)]
pub(super) struct DelayBased {
    limits: RateLimits,
    /// bit/s.
    estimate: f64,
    state: State,
    updated_at: Option<Instant>,
    convergence: Option<Convergence>,
}

/// The increase within so much time, far from convergence.
fn multiplicative(estimate: f64, seconds: f64) -> f64 {
    estimate * ETA.powf(seconds.min(1.0))
}

/// The increase within so much time, close to convergence.
fn additive(estimate: f64, seconds: f64, rtt: Duration) -> f64 {
    let response_ms = DETECTOR_TIME + rtt.as_millis_f64();
    let alpha = 0.5 * (seconds * 1e3 / response_ms).min(1.0);
    let bits_per_frame = estimate / FRAMES;
    let packets_per_frame = (bits_per_frame / PACKET_BITS).ceil().max(1.0);
    estimate + MIN_STEP.max(alpha * bits_per_frame / packets_per_frame)
}

impl DelayBased {
    /// At the first rate.
    pub(super) fn new(limits: RateLimits) -> Self {
        Self {
            limits,
            estimate: limits.start().as_bps() as f64,
            state: State::Increase,
            updated_at: None,
            convergence: None,
        }
    }

    /// A, bit/s.
    pub(super) fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Feedback has come. `received` is R, bit/s.
    pub(super) fn update(
        &mut self,
        now: Instant,
        signal: Signal,
        received: Option<f64>,
        rtt: Duration,
    ) {
        let before = self.updated_at.replace(now).unwrap_or(now);
        let seconds = now.saturating_since(before).as_secs_f64();
        let was = self.state;
        self.state = was.after(signal);
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(seconds, received, rtt),
            State::Decrease => {
                // before R is known, the estimate stands for it
                let received = received.unwrap_or(self.estimate);
                if was != State::Decrease {
                    self.convergence = Some(Convergence::with(self.convergence, received / 1e3));
                }
                self.estimate = self.estimate.min(BETA * received);
            }
        }
        self.estimate = self.limits.clamp(self.estimate);
    }

    fn increase(&mut self, seconds: f64, received: Option<f64>, rtt: Duration) {
        let kbps = received.map(|bps| bps / 1e3);
        let is_beyond = |of: &Convergence| kbps.is_some_and(|kbps| kbps > of.mean + of.width());
        self.convergence = self.convergence.filter(|of| !is_beyond(of));
        let increased = match self.convergence {
            None => multiplicative(self.estimate, seconds),
            Some(_) => additive(self.estimate, seconds, rtt),
        };
        let bound = received.map_or(f64::INFINITY, |bps| MAX_OF_RECEIVED * bps);
        self.estimate = increased.min(bound.max(self.estimate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    fn rate() -> DelayBased {
        let bps = BitRate::from_bps;
        DelayBased::new(RateLimits::new(bps(100_000), bps(1_000_000), bps(9_000_000)).unwrap())
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn section_5_5_table() {
        use Signal::{Normal, Overuse, Underuse};
        use State::{Decrease, Hold, Increase};
        let of = |signal| [Hold, Increase, Decrease].map(|state| state.after(signal));
        assert_eq!(of(Overuse), [Decrease, Decrease, Decrease]);
        assert_eq!(of(Normal), [Increase, Increase, Hold]);
        assert_eq!(of(Underuse), [Hold, Hold, Hold]);
    }

    /// 1.08^0.5 in half a second, 1.08 at most.
    #[test]
    fn section_5_5_multiplicative() {
        let mut rate = rate();
        rate.update(at(0), Signal::Normal, None, Duration::ZERO);
        assert_eq!(rate.estimate(), 1e6);
        rate.update(at(500), Signal::Normal, Some(1e6), Duration::ZERO);
        assert!((rate.estimate() - 1e6 * 1.08f64.sqrt()).abs() < 1e-3);
        let before = rate.estimate();
        rate.update(at(9000), Signal::Normal, Some(1e6), Duration::ZERO);
        assert!((rate.estimate() - before * 1.08).abs() < 1e-3);
    }

    /// 3 Mbit/s: 100 kbit a frame, 11 packets of 9091 bit; alpha = 0.5 x 50 / 150: 1515 bit.
    #[test]
    fn section_5_5_additive() {
        let next = additive(3e6, 0.05, Duration::from_millis(50));
        assert!((next - 3e6 - 100_000.0 / 11.0 / 6.0).abs() < 1e-6, "{next}");
        // a packet of 400 kbit/s at most, and 1000 bit at least
        let next = additive(400_000.0, 0.001, Duration::from_millis(50));
        assert_eq!(next, 401_000.0);
    }

    #[test]
    fn section_5_5_decrease_is_0_85_of_what_is_received() {
        let mut rate = rate();
        rate.update(at(0), Signal::Overuse, Some(800_000.0), Duration::ZERO);
        assert_eq!(rate.estimate(), 680_000.0);
        // while it lasts, by the received rate of the time; never up
        rate.update(at(50), Signal::Overuse, Some(700_000.0), Duration::ZERO);
        assert_eq!(rate.estimate(), 595_000.0);
        rate.update(at(100), Signal::Overuse, Some(900_000.0), Duration::ZERO);
        assert_eq!(rate.estimate(), 595_000.0);
    }

    #[test]
    fn close_to_convergence_it_is_additive_and_beyond_multiplicative() {
        let mut rate = rate();
        rate.update(at(0), Signal::Overuse, Some(1e6), Duration::ZERO);
        rate.update(at(50), Signal::Normal, Some(9e5), Duration::ZERO);
        let held = rate.estimate();
        assert_eq!(held, 850_000.0, "hold");
        let rtt = Duration::from_millis(50);
        rate.update(at(100), Signal::Normal, Some(9e5), rtt);
        assert_eq!(rate.estimate(), additive(held, 0.05, rtt));
        // 1000 + 3 sqrt(0.4 x 1000) = 1060 kbit/s
        let before = rate.estimate();
        rate.update(at(150), Signal::Normal, Some(1_061_000.0), rtt);
        assert!((rate.estimate() - multiplicative(before, 0.05)).abs() < 1e-6);
    }

    #[test]
    fn what_is_not_sent_bounds_the_increase() {
        let mut rate = rate();
        rate.update(at(0), Signal::Normal, Some(1e5), Duration::ZERO);
        rate.update(at(900), Signal::Normal, Some(1e5), Duration::ZERO);
        assert_eq!(rate.estimate(), 1e6);
        rate.update(at(1800), Signal::Normal, Some(680_000.0), Duration::ZERO);
        assert_eq!(rate.estimate(), 1_020_000.0);
    }
}
