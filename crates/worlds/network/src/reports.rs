//! Radio reports on their way from the cell to their readers.
//!
//! A report is made every period, is lost with a probability or in a gap, and arrives after a delay.

use rnis::RadioReport;
use scenario::ReportSpec;
use std::collections::VecDeque;
use units::{Duration, Instant, Rng};

/// Radio reports between the cell and a reader.
#[derive(Debug)]
pub struct ReportChannel {
    period: Duration,
    delay: Duration,
    /// Of each report, 0 to 1.
    loss: f64,
    /// Reports made in the last part, so long, of each interval are lost.
    gap: Duration,
    gap_interval: Duration,
    rng: Rng,
    next_at: Instant,
    under_way: VecDeque<(Instant, RadioReport)>,
}

impl ReportChannel {
    /// The first report is made one period after the beginning.
    pub fn new(spec: &ReportSpec, rng: Rng) -> Self {
        let next_at = Instant::ZERO + spec.period;
        Self {
            period: spec.period,
            delay: spec.delay,
            loss: spec.loss,
            gap: spec.gap,
            gap_interval: spec.gap_interval,
            rng,
            next_at,
            under_way: VecDeque::new(),
        }
    }

    /// When the next report is to be made.
    pub fn next_report(&self) -> Instant {
        self.next_at
    }

    /// A report has been made.
    pub fn send(&mut self, now: Instant, report: RadioReport) {
        self.send_all(now, [report]);
    }

    /// Reports have been made, one of each cell; each is lost by itself.
    pub fn send_all(&mut self, now: Instant, reports: impl IntoIterator<Item = RadioReport>) {
        self.next_at += self.period;
        for report in reports {
            self.send_one(now, report);
        }
    }

    fn send_one(&mut self, now: Instant, report: RadioReport) {
        let whole = now.since_start() / self.gap_interval;
        let into_interval = now.since_start() - self.gap_interval * whole;
        let is_in_gap = into_interval + self.gap >= self.gap_interval && !self.gap.is_zero();
        if !self.rng.chance(self.loss) && !is_in_gap {
            self.under_way.push_back((now + self.delay, report));
        }
    }

    /// When the next report reaches the reader.
    pub fn next_arrival(&self) -> Option<Instant> {
        self.under_way.front().map(|&(at, _)| at)
    }

    /// The next report that has reached the proxy by `now`.
    pub fn take_arrived(&mut self, now: Instant) -> Option<RadioReport> {
        self.next_arrival().filter(|&at| at <= now)?;
        self.under_way.pop_front().map(|(_, report)| report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rnis::{CellId, CellReport};
    use units::{Prb, Streams};

    fn report() -> RadioReport {
        let cell = CellReport::fdd(CellId(1), Prb::new(25));
        RadioReport {
            cell,
            ues: Vec::new(),
        }
    }

    fn pep(period: Duration, delay: Duration) -> ReportSpec {
        ReportSpec {
            period,
            delay,
            loss: 0.0,
            gap: Duration::ZERO,
            gap_interval: Duration::from_secs(1),
        }
    }

    #[test]
    fn reports_of_a_gap_are_lost_and_no_others() {
        let period = Duration::from_millis(1);
        let spec = ReportSpec {
            gap: Duration::from_millis(100),
            gap_interval: Duration::from_millis(500),
            ..pep(period, Duration::ZERO)
        };
        let mut channel = ReportChannel::new(&spec, Streams::new(1).stream("pep/report-loss"));
        let arrives = |ms: u64| {
            let now = Instant::ZERO + period * ms;
            channel.send(now, report());
            channel.take_arrived(now).is_some()
        };
        let lost: Vec<u64> = {
            let mut arrives = arrives;
            (1..=1000).filter(|&ms| !arrives(ms)).collect()
        };
        let expected: Vec<u64> = (400..500).chain(900..1000).collect();
        assert_eq!(lost, expected);
    }

    #[test]
    fn reports_arrive_after_their_delay_and_some_are_lost() {
        let (period, delay) = (Duration::from_millis(2), Duration::from_millis(5));
        let spec = ReportSpec {
            loss: 0.25,
            ..pep(period, delay)
        };
        let mut channel = ReportChannel::new(&spec, Streams::new(1).stream("pep/report-loss"));
        let mut arrived = 0u32;
        for k in 1..=4000u64 {
            let made = Instant::ZERO + period * k;
            assert_eq!(channel.next_report(), made);
            channel.send(made, report());
            let now = made + delay;
            assert!(channel.next_arrival().is_none_or(|at| at <= now));
            while channel.take_arrived(now).is_some() {
                arrived += 1;
            }
        }
        assert!((2900..3100).contains(&arrived), "{arrived} of 4000");
    }
}
