//! The queue delay (section 4.2.1.4; RFC 6817 for the base delay).

use crate::controller::millis_between;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// QDELAY_AVG_G.
const QDELAY_AVG_G: f64 = 1.0 / 4.0;
/// BASE_HISTORY of RFC 6817 3.4.2: minutes whose minima are kept.
const BASE_HISTORY: usize = 10;
/// Each minimum is of this time.
const MINUTE: Duration = Duration::from_secs(60);

/// The queue delay, s, with its average.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueDelay {
    /// Minima of one-way delays, ms between two clocks; the last is of the minute that `minute_began`.
    base: VecDeque<f64>,
    minute_began: Instant,
    qdelay: f64,
    qdelay_avg: f64,
    last_update: Instant,
}

impl QueueDelay {
    /// qdelay, s.
    pub(super) fn qdelay(&self) -> f64 {
        self.qdelay
    }

    /// qdelay_avg, s.
    pub(super) fn qdelay_avg(&self) -> f64 {
        self.qdelay_avg
    }

    /// The packet of the highest number that is reported left and came then.
    pub(super) fn on_packet(&mut self, now: Instant, sent_at: Instant, at: Instant) {
        let delay = millis_between(sent_at, at);
        let is_next = now.saturating_since(self.minute_began) >= MINUTE;
        if is_next || self.base.is_empty() {
            self.minute_began = now;
            self.base.push_back(delay);
            if self.base.len() > BASE_HISTORY {
                self.base.pop_front();
            }
        }
        if let Some(minute) = self.base.back_mut() {
            *minute = minute.min(delay);
        }
        let base = self.base.iter().copied().fold(f64::INFINITY, f64::min);
        self.qdelay = (delay - base) / 1e3;
    }

    /// Averages, at least so many seconds apart: slow attack, fast decay.
    pub(super) fn update(&mut self, now: Instant, interval: f64) {
        if now.saturating_since(self.last_update).as_secs_f64() < interval {
            return;
        }
        self.last_update = now;
        self.qdelay_avg = if self.qdelay < self.qdelay_avg {
            self.qdelay
        } else {
            QDELAY_AVG_G * self.qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// 20 ms at least: 40 ms are 20 of queue, averaged 5, then 8.75; 24 ms are 4.
    #[test]
    fn section_4_2_1_4_by_hand() {
        let mut delay = QueueDelay::default();
        delay.on_packet(at(100), at(70), at(90));
        delay.update(at(100), 0.025);
        assert_eq!((delay.qdelay(), delay.qdelay_avg()), (0.0, 0.0));
        delay.on_packet(at(130), at(80), at(120));
        delay.update(at(130), 0.025);
        assert_eq!((delay.qdelay(), delay.qdelay_avg()), (0.02, 0.005));
        delay.update(at(140), 0.025);
        assert_eq!(delay.qdelay_avg(), 0.005, "25 ms have not passed");
        delay.update(at(155), 0.025);
        assert!((delay.qdelay_avg() - 0.008_75).abs() < 1e-15);
        delay.on_packet(at(190), at(160), at(184));
        delay.update(at(190), 0.025);
        assert_eq!((delay.qdelay(), delay.qdelay_avg()), (0.004, 0.004));
    }

    #[test]
    fn clocks_may_differ() {
        let mut delay = QueueDelay::default();
        let of_receiver = |ms: u64| at(ms + 3_600_000);
        delay.on_packet(at(100), at(70), of_receiver(90));
        delay.on_packet(at(130), at(80), of_receiver(120));
        assert_eq!(delay.qdelay(), 0.02);
    }

    #[test]
    fn the_base_is_of_ten_minutes() {
        let mut delay = QueueDelay::default();
        delay.on_packet(at(0), at(0), at(20));
        for minute in 1..=10 {
            let sent = 60_000 * minute;
            delay.on_packet(at(sent), at(sent), at(sent + 30));
            let expected = if minute < 10 { 0.01 } else { 0.0 };
            assert_eq!(delay.qdelay(), expected, "{minute}");
        }
    }
}
