//! RRC connection re-establishment after a radio link failure (TS 36.331 5.3.7, TS 38.331 5.3.7).
//!
//! ```text
//!   failure --selection--> a suitable cell --access--> it has the context, or fetches it from the source: served
//!      |                         |
//!      |                         +--access, setup--> it does not: a new connection, what waited is lost
//!      +---T311 without one: idle, the context is released --> a suitable cell --setup--> a new connection
//! ```
//!
//! *Deviations*: the request is not lost and T301 does not expire; the time of each part is a constant; a cell is suitable by its
//! SINR (`LinkMonitorConfig::is_suitable`) instead of the criterion S of TS 36.304 and 38.304 5.2.3.2.

use crate::link_monitor::INDICATION_PERIOD;
use crate::procedure::MIN_STAY;
use units::{Duration, Instant};

/// How a UE comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReestablishmentConfig {
    /// From the failure to the first choice of a cell.
    pub selection: Duration,
    /// T311: so long after the failure without a suitable cell the UE is idle.
    pub t311: Duration,
    /// From the choice to the access: system information, random access, the request, and fetching the context.
    pub access: Duration,
    /// A cell without the UE's context fetches it from the source; otherwise it rejects the UE.
    pub fetches_context: bool,
    /// A new connection, from idle.
    pub setup: Duration,
}

/// What the chosen cell has of the UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UeContext {
    /// All: it is the cell that was lost.
    Kept,
    /// What it has fetched from the source.
    Fetched,
    /// Nothing: the connection is a new one.
    Released,
}

/// What kind of failure of mobility it was (TS 36.300 22.4.2.2, TS 38.300 15.5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The UE came back in another cell, having been in the lost one for long: a handover came too late, or not at all.
    TooLate,
    /// Just handed over, it came back in the cell that it was handed over from.
    TooEarly,
    /// Just handed over, it came back in a third cell.
    WrongCell,
    /// It came back in the cell that it had lost: no failure of a handover.
    SameCell,
}

impl FailureKind {
    /// Of a UE that lost a cell at a time and came back in another; `before`: the source of the last handover, and when it was complete.
    pub fn of(
        (from, to): (usize, usize),
        failed_at: Instant,
        before: Option<(usize, Instant)>,
    ) -> Self {
        if from == to {
            return Self::SameCell;
        }
        match before.filter(|(_, at)| failed_at.saturating_since(*at) < MIN_STAY) {
            Some((source, _)) if source == to => Self::TooEarly,
            Some(_) => Self::WrongCell,
            None => Self::TooLate,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No cell has been chosen; when it is looked for one.
    Selecting(Instant),
    /// This cell has been; when it serves.
    Accessing(usize, UeContext, Instant),
}

/// A UE on its way back.
#[derive(Clone, Copy, Debug)]
pub struct Reestablishment {
    config: ReestablishmentConfig,
    from: usize,
    failed_at: Instant,
    state: State,
}

impl Reestablishment {
    /// The link to this cell has failed now.
    pub fn new(now: Instant, from: usize, config: ReestablishmentConfig) -> Self {
        Self {
            config,
            from,
            failed_at: now,
            state: State::Selecting(now + config.selection),
        }
    }

    /// The cell that was lost.
    pub fn source(&self) -> usize {
        self.from
    }

    /// When.
    pub fn failed_at(&self) -> Instant {
        self.failed_at
    }

    /// When anything is due.
    pub fn next_deadline(&self) -> Instant {
        match self.state {
            State::Selecting(at) | State::Accessing(_, _, at) => at,
        }
    }

    /// Whether a cell is to be chosen: [`Self::select`].
    pub fn is_selecting(&self, now: Instant) -> bool {
        matches!(self.state, State::Selecting(at) if at <= now)
    }

    /// The best suitable cell; without one it is looked for again.
    pub fn select(&mut self, now: Instant, cell: Option<usize>) {
        let ReestablishmentConfig {
            t311,
            access,
            setup,
            fetches_context,
            ..
        } = self.config;
        let is_idle = now.saturating_since(self.failed_at) >= t311;
        self.state = match cell {
            None => State::Selecting(now + INDICATION_PERIOD),
            Some(cell) if is_idle => State::Accessing(cell, UeContext::Released, now + setup),
            Some(cell) if cell == self.from => {
                State::Accessing(cell, UeContext::Kept, now + access)
            }
            Some(cell) if fetches_context => {
                State::Accessing(cell, UeContext::Fetched, now + access)
            }
            Some(cell) => State::Accessing(cell, UeContext::Released, now + access + setup),
        };
    }

    /// The cell that serves the UE now, and what it has of it.
    pub fn access(&self, now: Instant) -> Option<(usize, UeContext)> {
        match self.state {
            State::Accessing(cell, context, at) if at <= now => Some((cell, context)),
            State::Accessing(..) | State::Selecting(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }
    const CONFIG: ReestablishmentConfig = ReestablishmentConfig {
        selection: Duration::from_millis(150),
        t311: Duration::from_secs(3),
        access: Duration::from_millis(100),
        fetches_context: true,
        setup: Duration::from_millis(500),
    };

    /// Where no suitable cell was before a time: when the UE is served, and with which context.
    fn served(
        config: ReestablishmentConfig,
        to: usize,
        suitable_from: u64,
    ) -> (Instant, UeContext) {
        let mut it = Reestablishment::new(ms(1_000), 0, config);
        loop {
            let now = it.next_deadline();
            if it.is_selecting(now) {
                it.select(now, (now >= ms(suitable_from)).then_some(to));
            } else if let Some((cell, context)) = it.access(now) {
                assert_eq!(cell, to);
                return (now, context);
            }
        }
    }

    #[test]
    fn the_lost_cell_has_the_context_and_another_fetches_it() {
        assert_eq!(served(CONFIG, 0, 0), (ms(1_250), UeContext::Kept));
        assert_eq!(served(CONFIG, 1, 0), (ms(1_250), UeContext::Fetched));
        assert_eq!(served(CONFIG, 1, 2_005), (ms(2_110), UeContext::Fetched));
    }

    #[test]
    fn without_a_context_the_connection_is_set_up_anew() {
        let without = ReestablishmentConfig {
            fetches_context: false,
            ..CONFIG
        };
        assert_eq!(served(without, 0, 0), (ms(1_250), UeContext::Kept));
        assert_eq!(served(without, 1, 0), (ms(1_750), UeContext::Released));
    }

    #[test]
    fn after_t311_the_context_is_released_in_every_cell() {
        assert_eq!(served(CONFIG, 0, 3_999), (ms(4_500), UeContext::Released));
        assert_eq!(served(CONFIG, 0, 3_990), (ms(4_090), UeContext::Kept));
    }

    #[test]
    fn failures_are_named_as_in_ts_36_300_section_22_4_2_2() {
        let of = |to, before| FailureKind::of((0, to), ms(5_000), before);
        let (just, long) = (Some((1, ms(4_500))), Some((1, ms(3_000))));
        assert_eq!(of(1, None), FailureKind::TooLate);
        assert_eq!(of(1, long), FailureKind::TooLate);
        assert_eq!(of(1, just), FailureKind::TooEarly);
        assert_eq!(of(2, just), FailureKind::WrongCell);
        assert_eq!(of(0, just), FailureKind::SameCell);
    }
}
