//! The trend of the delay and the over-use detector (sections 5.3 and 5.4).
//!
//! The estimator is libwebrtc's `TrendlineEstimator`: the accumulated variation of delay is smoothed, a line is fitted
//! to the last 20 points by least squares, and its slope, times a gain and the number of groups up to 60, stands for
//! m(i) in the detector. Its gains of the threshold differ from the draft's 0.01 and 0.00018 (5.6), since this m(i) is
//! another number than the Kalman filter's.

use super::Signal;
use super::groups::Delta;
use crate::controller::millis_between;
use std::collections::VecDeque;
use units::Instant;

/// Points that the line is fitted to.
const WINDOW: usize = 20;
/// Weight of the smoothed delay before.
const SMOOTHING: f64 = 0.9;
/// Gain of the slope.
const GAIN: f64 = 4.0;
/// Groups that the slope is multiplied by at most.
const MAX_GROUPS: u32 = 60;

/// del_var_th(0) (5.4), ms.
const THRESHOLD: f64 = 12.5;
/// Its range (5.4), ms.
const THRESHOLD_RANGE: (f64, f64) = (6.0, 600.0);
/// K_u, for an m(i) outside the threshold, per ms.
const K_UP: f64 = 0.0087;
/// K_d, for one inside, per ms.
const K_DOWN: f64 = 0.039;
/// Beyond the threshold by more than this, it is not adapted (5.4), ms.
const MAX_ADAPT_OFFSET: f64 = 15.0;
/// No step of the threshold is for more than this, ms.
const MAX_ADAPT_TIME: f64 = 100.0;
/// overuse_time_th (5.4), ms.
const OVERUSE_TIME: f64 = 10.0;

/// Estimator and detector.
#[derive(Clone, Debug)]
pub(super) struct Trendline {
    groups: u32,
    first_arrival: Option<Instant>,
    accumulated: f64,
    smoothed: f64,
    /// (ms since the first arrival, smoothed delay in ms).
    points: VecDeque<(f64, f64)>,
    slope_before: f64,
    threshold: f64,
    threshold_at: Option<Instant>,
    /// How long over-use has been seen, ms.
    over_for: Option<f64>,
    /// In how many groups.
    over_count: u32,
    signal: Signal,
}

impl Default for Trendline {
    fn default() -> Self {
        Self {
            groups: 0,
            first_arrival: None,
            accumulated: 0.0,
            smoothed: 0.0,
            points: VecDeque::with_capacity(WINDOW + 1),
            slope_before: 0.0,
            threshold: THRESHOLD,
            threshold_at: None,
            over_for: None,
            over_count: 0,
            signal: Signal::Normal,
        }
    }
}

/// The slope of the line of least squares; none if all points are at one time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let (sum_x, sum_y) = points
        .iter()
        .fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for (x, y) in points {
        numerator += (x - mean_x) * (y - mean_y);
        denominator += (x - mean_x) * (x - mean_x);
    }
    (denominator > 0.0).then(|| numerator / denominator)
}

impl Trendline {
    /// What is signalled.
    pub(super) fn signal(&self) -> Signal {
        self.signal
    }

    /// A group came after another.
    pub(super) fn update(&mut self, delta: Delta) {
        self.groups = self.groups.saturating_add(1);
        let first = *self.first_arrival.get_or_insert(delta.arrived_at);
        // 5.1: d(i) = t(i) - t(i-1) - (T(i) - T(i-1))
        self.accumulated += delta.arrival_ms - delta.departure_ms;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        let since_first = millis_between(first, delta.arrived_at);
        self.points.push_back((since_first, self.smoothed));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        let fitted = (self.points.len() == WINDOW).then(|| slope(&self.points));
        let slope = fitted.flatten().unwrap_or(self.slope_before);
        self.detect(slope, delta);
    }

    /// 5.4: over-use for overuse_time_th, with a slope that does not fall.
    fn detect(&mut self, slope: f64, delta: Delta) {
        if self.groups < 2 {
            return;
        }
        let m = f64::from(self.groups.min(MAX_GROUPS)) * slope * GAIN;
        if m > self.threshold {
            // at first: for half of the time since the group before
            let over_for = match self.over_for {
                None => delta.departure_ms / 2.0,
                Some(before) => before + delta.departure_ms,
            };
            self.over_for = Some(over_for);
            self.over_count += 1;
            if over_for > OVERUSE_TIME && self.over_count > 1 && slope >= self.slope_before {
                self.over_for = Some(0.0);
                self.over_count = 0;
                self.signal = Signal::Overuse;
            }
        } else {
            self.over_for = None;
            self.over_count = 0;
            self.signal = if m < -self.threshold {
                Signal::Underuse
            } else {
                Signal::Normal
            };
        }
        self.slope_before = slope;
        self.adapt(m, delta.arrived_at);
    }

    /// 5.4: del_var_th(i) = del_var_th(i-1) + (t(i) - t(i-1)) K(i) (|m(i)| - del_var_th(i-1)).
    fn adapt(&mut self, m: f64, now: Instant) {
        let before = self.threshold_at.replace(now).unwrap_or(now);
        if m.abs() > self.threshold + MAX_ADAPT_OFFSET {
            return;
        }
        let k = if m.abs() < self.threshold {
            K_DOWN
        } else {
            K_UP
        };
        let time = millis_between(before, now).clamp(0.0, MAX_ADAPT_TIME);
        let threshold = self.threshold + time * k * (m.abs() - self.threshold);
        self.threshold = threshold.clamp(THRESHOLD_RANGE.0, THRESHOLD_RANGE.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    /// Groups every 33 ms, each `d` ms later than the one before.
    fn run(trendline: &mut Trendline, from: u64, n: u64, d: f64) -> Vec<Signal> {
        (from..from + n)
            .map(|i| {
                let ms = 33.0 * i as f64 + d * (i - from) as f64;
                trendline.update(Delta {
                    departure_ms: 33.0,
                    arrival_ms: 33.0 + d,
                    arrived_at: Instant::ZERO + Duration::from_secs_f64(ms / 1e3),
                });
                trendline.signal()
            })
            .collect()
    }

    #[test]
    fn least_squares_by_hand() {
        // means 1 and 3: ((-1)(-2) + 0 + (1)(2)) / (1 + 0 + 1) = 2
        let points = [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)].into();
        assert_eq!(slope(&points), Some(2.0));
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0)].into()), None);
    }

    #[test]
    fn a_delay_that_does_not_change_is_normal_and_lowers_the_threshold() {
        let mut trendline = Trendline::default();
        let signals = run(&mut trendline, 0, 100, 0.0);
        assert!(signals.iter().all(|&signal| signal == Signal::Normal));
        assert_eq!(trendline.threshold, 6.0);
    }

    #[test]
    fn a_delay_that_grows_is_over_use_once_the_window_is_full() {
        let mut trendline = Trendline::default();
        // 3 ms in 36: a slope of 0.083 at last
        let signals = run(&mut trendline, 0, 40, 3.0);
        let first = signals.iter().position(|&signal| signal == Signal::Overuse);
        // the 20th group is the first with a slope, which the smoothing brings up within the next ten
        assert!(
            first.is_some_and(|first| (20..30).contains(&first)),
            "{first:?}"
        );
        let signals = run(&mut trendline, 40, 30, -3.0);
        assert!(signals.contains(&Signal::Underuse));
    }

    /// 12.5 + 33 x 0.0087 x (20 - 12.5) = 14.653; 12.5 + 33 x 0.039 x (10 - 12.5) = 9.2825.
    #[test]
    fn section_5_4_threshold() {
        for (m, expected) in [(20.0, 14.65325), (10.0, 9.2825), (-20.0, 14.65325)] {
            let mut trendline = Trendline::default();
            trendline.adapt(0.0, Instant::ZERO);
            trendline.threshold = 12.5;
            trendline.adapt(m, Instant::ZERO + Duration::from_millis(33));
            assert!((trendline.threshold - expected).abs() < 1e-9, "{m}");
        }
        let mut trendline = Trendline::default();
        trendline.adapt(0.0, Instant::ZERO);
        trendline.adapt(28.0, Instant::ZERO + Duration::from_millis(33));
        assert_eq!(trendline.threshold, 12.5, "more than 15 above");
    }
}
