//! The steps of a handover (TS 36.300 10.1.2.1, TS 38.300 9.2.3.2).
//!
//! ```text
//!   report --preparation--> command --interruption--> access --path switch--> switch --forwarding--> End Marker
//!                           source stops and          target                  the core sends         no more comes
//!                           forwards                  serves                  by the new path        from the source
//! ```
//!
//! *Deviations*: the report and the command take no time on the radio beside the preparation; whether the command is heard, the caller
//! decides; with an
//! interruption of zero (DAPS, TS 38.300 9.2.3.1) the source sends nothing while the target already does.

use units::{Duration, Instant};

/// A UE that comes back within this time has gone to and fro (TS 36.839 5.4: minimum time of stay of 1 s).
pub const MIN_STAY: Duration = Duration::from_secs(1);

/// How long the steps take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// From the measurement report to the command: the decision, and the target's admission.
    pub preparation: Duration,
    /// From the command to the access to the target: the UE is served by no cell.
    pub interruption: Duration,
    /// From the access to the core's sending by the new path.
    pub path_switch: Duration,
    /// From the source to the target.
    pub forwarding: Duration,
}

impl Timing {
    /// From the command to the End Marker.
    pub fn from_command(&self) -> Duration {
        self.interruption + self.path_switch + self.forwarding
    }
}

/// A step of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The UE leaves the source, which forwards what it has not delivered.
    Command,
    /// The target serves the UE.
    Access,
    /// What comes from the core goes to the target.
    PathSwitch,
    /// All that was forwarded has come; the handover is complete.
    EndMarker,
}

/// A handover under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    timing: Timing,
    /// The source.
    from: usize,
    /// The target.
    to: usize,
    /// The step that comes next, and when.
    next: Option<(Step, Instant)>,
    /// The step that was taken last.
    taken: Option<Step>,
}

impl Handover {
    /// The target has been reported now.
    pub fn new(now: Instant, from: usize, to: usize, timing: Timing) -> Self {
        Self {
            timing,
            from,
            to,
            next: Some((Step::Command, now + timing.preparation)),
            taken: None,
        }
    }

    /// The source sends the command now: the handover has been prepared before.
    pub fn prepared(now: Instant, from: usize, to: usize, timing: Timing) -> Self {
        Self {
            next: Some((Step::Command, now)),
            ..Self::new(now, from, to, timing)
        }
    }

    /// A UE that lost the source comes to the target now, which has fetched its context: the source forwards.
    pub fn after_failure(now: Instant, from: usize, to: usize, timing: Timing) -> Self {
        Self {
            timing,
            from,
            to,
            next: Some((Step::Access, now)),
            taken: Some(Step::Command),
        }
    }

    /// The cell that the UE leaves.
    pub fn source(&self) -> usize {
        self.from
    }

    /// The cell that it goes to.
    pub fn target(&self) -> usize {
        self.to
    }

    /// When the next step is due; none after the last.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.next.map(|(_, at)| at)
    }

    /// The step that is due, if one is; those that are due at the same time come one after the other.
    pub fn poll(&mut self, now: Instant) -> Option<Step> {
        let (step, at) = self.next.filter(|(_, at)| *at <= now)?;
        let Timing {
            interruption,
            path_switch,
            forwarding,
            ..
        } = self.timing;
        self.next = match step {
            Step::Command => Some((Step::Access, at + interruption)),
            Step::Access => Some((Step::PathSwitch, at + path_switch)),
            Step::PathSwitch => Some((Step::EndMarker, at + forwarding)),
            Step::EndMarker => None,
        };
        self.taken = Some(step);
        Some(step)
    }

    /// Whether no cell serves the UE.
    pub fn is_interrupted(&self) -> bool {
        self.taken == Some(Step::Command)
    }

    /// Where a packet that comes from the core now goes.
    pub fn route(&self) -> Route {
        match self.taken {
            None => Route::Source,
            Some(Step::Command | Step::Access) => Route::Forwarded,
            Some(Step::PathSwitch | Step::EndMarker) => Route::Target,
        }
    }
}

/// Where packets from the core go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// To the source, which still serves.
    Source,
    /// To the source, which forwards them.
    Forwarded,
    /// To the target.
    Target,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn steps_come_in_the_order_of_ts_36_300_section_10_1_2_1() {
        let timing = Timing {
            preparation: Duration::from_millis(20),
            interruption: Duration::from_millis(50),
            path_switch: Duration::from_millis(10),
            forwarding: Duration::from_millis(5),
        };
        let mut it = Handover::new(ms(100), 0, 1, timing);
        assert_eq!((it.poll(ms(119)), it.route()), (None, Route::Source));
        assert_eq!(it.poll(ms(120)), Some(Step::Command));
        assert!(it.is_interrupted());
        assert_eq!((it.poll(ms(169)), it.route()), (None, Route::Forwarded));
        assert_eq!(it.poll(ms(170)), Some(Step::Access));
        assert!(!it.is_interrupted());
        assert_eq!(it.route(), Route::Forwarded);
        assert_eq!(it.poll(ms(180)), Some(Step::PathSwitch));
        assert_eq!(it.route(), Route::Target);
        assert_eq!(it.poll(ms(184)), None);
        assert_eq!(it.poll(ms(185)), Some(Step::EndMarker));
        assert_eq!(it.next_deadline(), None);
    }

    #[test]
    fn a_prepared_handover_begins_with_the_command() {
        let timing = Timing {
            preparation: Duration::from_millis(20),
            interruption: Duration::from_millis(50),
            path_switch: Duration::from_millis(10),
            forwarding: Duration::from_millis(5),
        };
        let mut it = Handover::prepared(ms(100), 0, 1, timing);
        assert_eq!(it.poll(ms(100)), Some(Step::Command));
        let end = ms(100) + timing.from_command();
        let steps: Vec<_> = core::iter::from_fn(|| it.poll(end)).collect();
        assert_eq!(steps, [Step::Access, Step::PathSwitch, Step::EndMarker]);
        assert_eq!(timing.from_command().as_millis(), 65);
    }

    #[test]
    fn after_a_failure_the_target_serves_first() {
        let timing = Timing {
            preparation: Duration::from_millis(20),
            interruption: Duration::from_millis(50),
            path_switch: Duration::from_millis(10),
            forwarding: Duration::from_millis(5),
        };
        let mut it = Handover::after_failure(ms(100), 0, 1, timing);
        assert_eq!(it.route(), Route::Forwarded);
        assert_eq!(it.poll(ms(100)), Some(Step::Access));
        assert_eq!(it.poll(ms(110)), Some(Step::PathSwitch));
        assert_eq!(it.poll(ms(115)), Some(Step::EndMarker));
    }

    #[test]
    fn without_an_interruption_the_target_serves_at_once() {
        let timing = Timing {
            preparation: Duration::ZERO,
            interruption: Duration::ZERO,
            path_switch: Duration::ZERO,
            forwarding: Duration::ZERO,
        };
        let mut it = Handover::new(ms(7), 0, 1, timing);
        let steps: Vec<_> = core::iter::from_fn(|| it.poll(ms(7))).collect();
        let all = [
            Step::Command,
            Step::Access,
            Step::PathSwitch,
            Step::EndMarker,
        ];
        assert_eq!(steps, all);
    }
}
