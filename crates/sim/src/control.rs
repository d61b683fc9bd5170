//! The proxy's control plane: radio reports on their way, and the allocator that reads them.
//!
//! A report is made every period, is lost with a probability, and reaches the allocator after a
//! delay. The control plane decides nothing: telemetry and reports go into [`rapid::Allocator`],
//! decisions come out.

use crate::schedule::EntityId;
use rapid::{Allocator, Decision};
use rnis::RadioReport;
use std::collections::VecDeque;
use units::{Duration, Instant, Rng};

/// Radio reports between the cell and the proxy.
#[derive(Debug)]
pub(crate) struct ReportChannel {
    period: Duration,
    delay: Duration,
    /// Of each report, 0 to 1.
    loss: f64,
    rng: Rng,
    next_at: Instant,
    under_way: VecDeque<(Instant, RadioReport)>,
}

impl ReportChannel {
    /// The first report is made one period after the beginning.
    pub(crate) fn new(period: Duration, delay: Duration, loss: f64, rng: Rng) -> Self {
        let next_at = Instant::ZERO + period;
        Self {
            period,
            delay,
            loss,
            rng,
            next_at,
            under_way: VecDeque::new(),
        }
    }

    /// When the next report is to be made.
    pub(crate) fn next_report(&self) -> Instant {
        self.next_at
    }

    /// A report has been made.
    pub(crate) fn send(&mut self, now: Instant, report: RadioReport) {
        self.next_at += self.period;
        if !self.rng.chance(self.loss) {
            self.under_way.push_back((now + self.delay, report));
        }
    }

    /// When the next report reaches the proxy.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.under_way.front().map(|&(at, _)| at)
    }

    /// The next report that has reached the proxy by `now`.
    pub(crate) fn take_arrived(&mut self, now: Instant) -> Option<RadioReport> {
        self.next_arrival().filter(|&at| at <= now)?;
        self.under_way.pop_front().map(|(_, report)| report)
    }
}

/// The control plane with its places in the schedule.
#[derive(Debug)]
pub(crate) struct Control {
    /// The allocator.
    pub(crate) allocator: Allocator,
    /// Reports on their way to it.
    pub(crate) reports: ReportChannel,
    /// Makes reports.
    pub(crate) report_entity: EntityId,
    /// Hands over reports.
    pub(crate) arrival_entity: EntityId,
    /// The allocator's own deadlines.
    pub(crate) allocator_entity: EntityId,
    /// The sessions that the allocator counts.
    pub(crate) flows: Vec<u32>,
    /// Decisions to carry out; kept to reuse its memory.
    pub(crate) decisions: Vec<Decision>,
}

impl Control {
    /// Fetches all decisions.
    pub(crate) fn take_decisions(&mut self) -> Vec<Decision> {
        let mut decisions = core::mem::take(&mut self.decisions);
        while let Some(decision) = self.allocator.poll_decision() {
            decisions.push(decision);
        }
        decisions
    }

    /// Gives the list back.
    pub(crate) fn give_back(&mut self, mut decisions: Vec<Decision>) {
        decisions.clear();
        self.decisions = decisions;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rnis::{CellId, CellReport};
    use units::{Hertz, Prb, Slot, Streams};

    fn report() -> RadioReport {
        let cell = CellReport {
            id: CellId(1),
            n_prb: Prb::new(25),
            scs: Hertz::from_khz(15),
            slot_duration: Duration::from_millis(1),
            downlink_share: 1.0,
            slot: Slot::new(1),
            slots: 1,
            prb_background: Prb::new(0),
        };
        RadioReport {
            cell,
            ues: Vec::new(),
        }
    }

    #[test]
    fn reports_arrive_after_their_delay_and_some_are_lost() {
        let (period, delay) = (Duration::from_millis(2), Duration::from_millis(5));
        let rng = Streams::new(1).stream("pep/report-loss");
        let mut channel = ReportChannel::new(period, delay, 0.25, rng);
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
