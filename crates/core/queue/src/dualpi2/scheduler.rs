//! Which of the two queues goes first.

use super::DualScheduler;
use crate::Ratio;
use units::{Bytes, Instant};

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) is_low_latency: bool,
    /// The other queue waits too: only then is the packet charged.
    pub(super) is_contested: bool,
    /// It would be the other queue's turn, whose head does not fit.
    pub(super) is_substitute: bool,
}

/// The scheduler with its account.
#[derive(Debug)]
pub(super) struct Scheduler {
    kind: DualScheduler,
    /// A full packet, bytes times parts per million.
    full: i64,
    /// Weighted: what the low-latency queue has had above its part while both waited, bytes times parts
    /// per million. Kept while one queue waits alone.
    credit: i64,
}

fn units_of(bytes: Bytes, part: i64) -> i64 {
    i64::try_from(bytes.get())
        .unwrap_or(i64::MAX)
        .saturating_mul(part)
}

fn ppm(ratio: Ratio) -> i64 {
    i64::try_from(ratio.as_ppm()).unwrap_or(i64::MAX)
}

impl Scheduler {
    pub(super) fn new(kind: DualScheduler, mtu: Bytes) -> Self {
        let mut scheduler = Self {
            kind,
            full: units_of(mtu, ppm(Ratio::ONE)),
            credit: 0,
        };
        scheduler.reset(mtu);
        scheduler
    }

    /// Both queues are empty: the account begins anew, in favour of the queue of the larger part.
    pub(super) fn reset(&mut self, mtu: Bytes) {
        if let DualScheduler::Weighted { classic } = self.kind {
            let (classic, all) = (ppm(classic), ppm(Ratio::ONE));
            self.credit = units_of(mtu, classic - (all - classic));
        }
    }

    /// Whether the low-latency queue goes first, while both wait, their heads since then.
    pub(super) fn prefers_low_latency(
        &self,
        now: Instant,
        low_latency: Instant,
        classic: Instant,
    ) -> bool {
        let waited = |since: Instant| now.saturating_since(since);
        match self.kind {
            DualScheduler::TimeShifted { shift } => waited(low_latency) + shift >= waited(classic),
            DualScheduler::Weighted { .. } => self.credit <= 0,
        }
    }

    /// A packet has been sent.
    pub(super) fn charge(&mut self, turn: Turn, bytes: Bytes) {
        let DualScheduler::Weighted { classic } = self.kind else {
            return;
        };
        if !turn.is_contested {
            return;
        }
        let part = ppm(classic);
        let part = if turn.is_low_latency {
            part
        } else {
            part - ppm(Ratio::ONE)
        };
        let credit = self.credit.saturating_add(units_of(bytes, part));
        self.credit = if turn.is_substitute {
            // the queue that could not use its turn is made up for no more than a full packet, so that
            // it does not keep the other waiting for long once it can
            credit.clamp(self.credit.min(-self.full), self.credit.max(self.full))
        } else {
            credit
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use units::Duration;

    const MTU: Bytes = Bytes::new(1500);

    fn weighted(ppm: u64) -> Scheduler {
        let classic = Ratio::from_ppm(ppm);
        Scheduler::new(DualScheduler::Weighted { classic }, MTU)
    }
    fn turn(is_low_latency: bool) -> Turn {
        Turn {
            is_low_latency,
            is_contested: true,
            is_substitute: false,
        }
    }

    #[test]
    fn time_shifted_the_classic_head_goes_first_once_it_is_so_much_older() {
        let shift = Duration::from_millis(50);
        let scheduler = Scheduler::new(DualScheduler::TimeShifted { shift }, MTU);
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert!(scheduler.prefers_low_latency(at(50), at(50), at(0)));
        assert!(!scheduler.prefers_low_latency(at(51), at(51), at(0)));
    }

    /// Linux: -80 MTU percent to begin with, +10 and -90 for a full packet.
    #[test]
    fn weighted_the_credit_is_that_of_linux() {
        let mut scheduler = weighted(100_000);
        let percent = |scheduler: &Scheduler| scheduler.credit / 10_000 / 1500;
        assert_eq!(percent(&scheduler), -80);
        let served: Vec<bool> = (0..30)
            .map(|_| {
                let is_low_latency =
                    scheduler.prefers_low_latency(Instant::ZERO, Instant::ZERO, Instant::ZERO);
                scheduler.charge(turn(is_low_latency), MTU);
                is_low_latency
            })
            .collect();
        // -80 + 9 x 10 = 10 > 0, then C; after that one of ten
        let classic: Vec<usize> = (0..30).filter(|&n| !served[n]).collect();
        assert_eq!(classic, [9, 19, 29]);
        scheduler.charge(turn(true), MTU);
        scheduler.reset(MTU);
        assert_eq!(percent(&scheduler), -80);
    }

    #[test]
    fn a_queue_that_waits_alone_is_not_charged_and_keeps_the_account() {
        let mut scheduler = weighted(100_000);
        let before = scheduler.credit;
        let alone = Turn {
            is_contested: false,
            ..turn(true)
        };
        scheduler.charge(alone, MTU);
        assert_eq!(scheduler.credit, before);
    }

    #[test]
    fn what_a_queue_could_not_use_is_made_up_for_by_a_packet_at_most() {
        let mut scheduler = weighted(100_000);
        let instead = Turn {
            is_substitute: true,
            ..turn(true)
        };
        (0..1000).for_each(|_| scheduler.charge(instead, MTU));
        assert_eq!(scheduler.credit, scheduler.full);
        let instead = Turn {
            is_substitute: true,
            ..turn(false)
        };
        (0..1000).for_each(|_| scheduler.charge(instead, MTU));
        assert_eq!(scheduler.credit, -scheduler.full);
    }
}
