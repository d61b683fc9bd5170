//! What every report must pass before a program acts on it, with a log.

use daemon::LogLimit;
use rnis::RadioReport;
use rnis::identity::UeMap;
use rnis::intake::{Accepted, CheckedReport, Intake, IntakeCounts, Refusal};
use std::collections::BTreeMap;
use std::fmt::Display;
use units::Instant;

/// The intake of reports ([`rnis::intake`]); logs at intervals what it refuses, by its reason.
#[derive(Debug)]
pub struct Gate {
    intake: Intake,
    /// By kind of fault.
    logged: BTreeMap<&'static str, LogLimit>,
}

impl Gate {
    /// With addresses for UEs whose reports carry none.
    pub fn new(ues: UeMap) -> Self {
        Self {
            intake: Intake::new(ues, None),
            logged: BTreeMap::new(),
        }
    }

    /// What has come in so far.
    pub fn counts(&self) -> IntakeCounts {
        self.intake.counts()
    }

    /// A message: a report in JSON or in the binary form, or anything else, which is counted. Gives
    /// what is accepted, and when it was made on our clock. `is_foreign`: its source is on another machine.
    pub fn message(
        &mut self,
        now: Instant,
        bytes: &[u8],
        is_foreign: bool,
    ) -> Option<(CheckedReport, Instant)> {
        let verdict = self.intake.message(now, bytes, is_foreign);
        self.accepted(now, verdict)
    }

    /// A report; as [`Self::message`].
    pub fn report(
        &mut self,
        now: Instant,
        report: RadioReport,
        is_foreign: bool,
    ) -> Option<(CheckedReport, Instant)> {
        let verdict = self.intake.report(now, report, is_foreign);
        self.accepted(now, verdict)
    }

    fn accepted(
        &mut self,
        now: Instant,
        verdict: Result<Accepted, Refusal>,
    ) -> Option<(CheckedReport, Instant)> {
        let accepted = match verdict {
            Ok(accepted) => accepted,
            Err(refusal) => {
                self.log(now, refusal.name(), &refusal);
                return None;
            }
        };
        if let Some(missing) = accepted.unknown.first() {
            self.log(now, "unmapped", missing);
        }
        let placed = accepted.placed?;
        if placed.is_skewed {
            let what = "its time is not that of this machine's clock";
            self.log(now, "skewed", &what);
        }
        Some((accepted.report, placed.at))
    }

    /// Logs it, unless that was done lately.
    fn log(&mut self, now: Instant, kind: &'static str, what: &dyn Display) {
        if let Some(more) = self.logged.entry(kind).or_default().admit(now) {
            tracing::warn!(kind, more, "radio reports: {what}");
        }
    }
}
