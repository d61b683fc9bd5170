//! Measurements that are made at multiples of a period, and serve from a delay later on.

use std::collections::VecDeque;
use units::{Duration, Instant};

/// Reports of one link.
#[derive(Clone, Debug)]
pub(crate) struct Reports<T> {
    period: Duration,
    delay: Duration,
    /// Next measurement that has not been made.
    next_measurement: Instant,
    /// What the base station uses; none before the first call.
    in_use: Option<T>,
    /// Reports that have not arrived, in order, with the times of their arrival.
    underway: VecDeque<(Instant, T)>,
    /// When the next measurement or arrival is due.
    due: Instant,
    /// The first arrival that may change what is in use, measured or not.
    arrival: Instant,
}

impl<T: Copy> Reports<T> {
    /// The period is not zero.
    pub(crate) fn new(period: Duration, delay: Duration) -> Self {
        Self {
            period,
            delay,
            next_measurement: Instant::ZERO,
            in_use: None,
            underway: VecDeque::new(),
            due: Instant::ZERO,
            arrival: Instant::ZERO,
        }
    }
    pub(crate) fn in_use(&self) -> Option<&T> {
        self.in_use.as_ref()
    }
    pub(crate) fn underway(&self) -> impl Iterator<Item = &(Instant, T)> {
        self.underway.iter()
    }
    pub(crate) fn next_measurement(&self) -> Instant {
        self.next_measurement
    }
    pub(crate) fn arrival(&self) -> Instant {
        self.arrival
    }

    /// Makes the measurements that are due and takes in the reports that have arrived.
    pub(crate) fn catch_up(&mut self, now: Instant, mut measure: impl FnMut(Instant) -> T) {
        if now < self.due {
            return;
        }
        // Of the measurements whose reports have arrived only the latest counts.
        if self.next_measurement + self.period + self.delay <= now {
            let latest = (now - self.delay).since_start() / self.period;
            self.next_measurement = Instant::ZERO + self.period * latest;
        }
        while self.next_measurement <= now {
            let at = self.next_measurement;
            self.underway.push_back((at + self.delay, measure(at)));
            self.next_measurement = at + self.period;
        }
        while let Some((arrives, report)) = self.underway.front().copied() {
            if arrives > now && self.in_use.is_some() {
                break;
            }
            self.in_use = Some(report);
            // before it has arrived the first report serves, but it is still on its way
            if arrives > now {
                break;
            }
            self.underway.pop_front();
        }
        let next_report = self.next_measurement + self.delay;
        self.arrival = self.underway.front().map_or(next_report, |it| it.0);
        self.due = self.next_measurement.min(self.arrival);
    }
}
