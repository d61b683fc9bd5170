//! The probabilities: the PI controller, the low-latency queue's own marking, and how events are spread.

use super::DualPi2Config;
use units::{Duration, Instant};

/// The PI controller (appendix A.1), fed by the longer of both queues' delays (appendix A.2).
#[derive(Debug)]
pub(super) struct Pi {
    /// Seconds.
    target: f64,
    /// Per second and update: alpha and beta of appendix A.1.
    integral_gain: f64,
    proportional_gain: f64,
    /// p', 0 to 1.
    pub(super) base_probability: f64,
    /// The delay at the last update, seconds.
    last_delay: f64,
    /// Tupdate.
    interval: Duration,
    next_update: Instant,
}

impl Pi {
    pub(super) fn new(config: &DualPi2Config) -> Self {
        Self {
            target: config.target.as_secs_f64(),
            integral_gain: config.integral_gain.as_f64(),
            proportional_gain: config.proportional_gain.as_f64(),
            base_probability: 0.0,
            last_delay: 0.0,
            interval: config.update_interval,
            next_update: Instant::ZERO + config.update_interval,
        }
    }

    /// `p' += alpha (delay - target) + beta (delay - last delay)`.
    fn update(&mut self, delay: Duration) {
        let delay = delay.as_secs_f64();
        let change = self.integral_gain * (delay - self.target)
            + self.proportional_gain * (delay - self.last_delay);
        self.base_probability = (self.base_probability + change).clamp(0.0, 1.0);
        self.last_delay = delay;
    }

    /// Makes the updates that are due; `oldest` is when the older one of the two heads came.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Instant, oldest: Option<Instant>) {
        if now >= self.next_update {
            self.tick_until(now, oldest);
        }
    }

    #[cold]
    fn tick_until(&mut self, now: Instant, oldest: Option<Instant>) {
        while now >= self.next_update {
            let at = self.next_update;
            self.update(oldest.map_or(Duration::ZERO, |came| at.saturating_since(came)));
            self.next_update = at + self.interval;
            if oldest.is_none() && self.base_probability <= 0.0 {
                // empty queues change nothing more
                let missed = now.saturating_since(at) / self.interval;
                self.next_update = at + self.interval * (missed + 1);
            }
        }
    }
}

/// Spreads events of a probability evenly (appendix A.1, `recur`). What is certain happens at once and
/// leaves the counter as it is: the pseudocode misses the first of a series.
#[derive(Debug, Default)]
pub(super) struct Recurrence(f64);

impl Recurrence {
    pub(super) fn is_due(&mut self, probability: f64) -> bool {
        if probability >= 1.0 {
            return true;
        }
        self.0 += probability;
        if self.0 > 1.0 {
            self.0 -= 1.0;
            return true;
        }
        false
    }
}

/// The low-latency queue's own probability (appendix A.1, `laqm`); over no range the step of Linux, which
/// marks what has waited longer than the threshold.
pub(super) fn ramp(sojourn: Duration, from: Duration, range: Duration) -> f64 {
    if sojourn <= from {
        0.0
    } else if sojourn >= from + range {
        1.0
    } else {
        sojourn.saturating_sub(from).ratio(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn appendix_a_1_a_step_of_delay() {
        let mut pi = Pi::new(&DualPi2Config::rfc9332());
        pi.update(Duration::from_millis(35));
        // 0.15 x 20 ms + 3 x 35 ms
        assert!((pi.base_probability - 0.108).abs() < 1e-12);
        pi.update(Duration::from_millis(15));
        // 0 + 3 x -20 ms
        assert!((pi.base_probability - 0.048).abs() < 1e-12);
        pi.update(Duration::ZERO);
        assert!((pi.base_probability - 0.00075).abs() < 1e-12);
        pi.update(Duration::ZERO);
        assert!(pi.base_probability.abs() < 1e-12);
    }

    #[test]
    fn linux_a_step_of_156_ms_alone_is_half_of_all() {
        // beta x 156 ms + alpha x 141 ms = 0.4992 + 0.02256
        let mut pi = Pi::new(&DualPi2Config::default());
        pi.update(Duration::from_millis(156));
        assert!((pi.base_probability - 0.521_76).abs() < 1e-12);
    }

    #[test]
    fn late_ticks_see_the_delay_of_their_time() {
        let pi = || Pi::new(&DualPi2Config::default());
        let (mut late, mut timely) = (pi(), pi());
        for ms in 0..=200 {
            timely.catch_up(at_ms(ms), Some(at_ms(3)));
        }
        late.catch_up(at_ms(200), Some(at_ms(3)));
        assert!((timely.base_probability - late.base_probability).abs() < 1e-15);
        assert!(late.base_probability > 0.0);
        assert_eq!(timely.next_update, late.next_update);
        late.catch_up(at_ms(1_000_000_000), None);
        assert!(late.next_update > at_ms(1_000_000_000));
    }

    #[test]
    fn appendix_a_1_ramp_and_the_step_of_linux() {
        let us = Duration::from_micros;
        let rfc = |sojourn| ramp(us(sojourn), us(800), us(400));
        assert_eq!((rfc(800), rfc(1000), rfc(1200)), (0.0, 0.5, 1.0));
        let linux = |sojourn| ramp(us(sojourn), us(1000), Duration::ZERO);
        assert_eq!((linux(1000), linux(1001)), (0.0, 1.0));
    }

    #[test]
    fn events_are_spread_evenly_and_the_certain_ones_are_all() {
        let mut events = Recurrence::default();
        assert!((0..10).all(|_| events.is_due(1.0)));
        let due = (0..1000).filter(|_| events.is_due(0.25)).count();
        assert!((249..=250).contains(&due), "{due}");
    }
}
