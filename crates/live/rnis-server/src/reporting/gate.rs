//! What every report must pass before a program acts on it.

use super::clock::SourceClock;
use rnis::codec::decode;
use rnis::identity::UeMap;
use rnis::vet::{Refusal, Vetter};
use rnis::{DecodeError, RadioReport};
use std::collections::BTreeMap;
use std::fmt::Display;
use units::{Duration, Instant};

/// Between two lines of the log about the same kind of fault.
const QUIET: Duration = Duration::from_secs(10);

/// What has come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateCounts {
    /// Reports that were accepted.
    pub accepted: u64,
    /// Messages that are no report.
    pub unreadable: u64,
    /// Reports with values that no base station can have.
    pub absurd: u64,
    /// Reports older than the last of their cell, or the same.
    pub out_of_order: u64,
    /// Reports of a source on this machine whose time is not that of this machine's clock.
    pub skewed: u64,
    /// UEs in reports whose address is not known.
    pub unmapped_ues: u64,
}

/// Vets reports ([`rnis::vet`]), puts their time on our clock, counts what it rejects by its reason,
/// and logs that at intervals.
#[derive(Debug)]
pub struct Gate {
    vetter: Vetter,
    counts: GateCounts,
    logged: BTreeMap<&'static str, Logged>,
}

#[derive(Clone, Copy, Debug)]
struct Logged {
    at: Instant,
    since: u64,
}

impl Gate {
    /// With addresses for UEs whose reports carry none.
    pub fn new(ues: UeMap) -> Self {
        Self {
            vetter: Vetter::new(ues),
            counts: GateCounts::default(),
            logged: BTreeMap::new(),
        }
    }

    /// What has come in so far.
    pub fn counts(&self) -> GateCounts {
        self.counts
    }

    /// A message: a report in JSON or in the binary form, or anything else, which is counted. Gives
    /// what is accepted, and when it was made on our clock.
    pub fn message(
        &mut self,
        now: Instant,
        bytes: &[u8],
        clock: &mut SourceClock,
    ) -> Option<(RadioReport, Instant)> {
        match decode(bytes) {
            Ok(report) => self.report(now, report, clock),
            Err(error) => {
                let kind = match error {
                    DecodeError::Report(_) => {
                        self.counts.absurd += 1;
                        "absurd"
                    }
                    _ => {
                        self.counts.unreadable += 1;
                        "unreadable"
                    }
                };
                self.log(now, kind, &error);
                None
            }
        }
    }

    /// A report; as [`Self::message`].
    pub fn report(
        &mut self,
        now: Instant,
        report: RadioReport,
        clock: &mut SourceClock,
    ) -> Option<(RadioReport, Instant)> {
        let vetted = match self.vetter.vet(report) {
            Ok(vetted) => vetted,
            Err(refusal) => {
                let kind = match refusal {
                    Refusal::Repeated { .. } | Refusal::Late { .. } => {
                        self.counts.out_of_order += 1;
                        "out-of-order"
                    }
                    _ => {
                        self.counts.absurd += 1;
                        "absurd"
                    }
                };
                self.log(now, kind, &refusal);
                return None;
            }
        };
        self.counts.accepted += 1;
        self.counts.unmapped_ues += vetted.unknown.len() as u64;
        if let Some(missing) = vetted.unknown.first() {
            self.log(now, "unmapped", missing);
        }
        let report = vetted.report;
        let stamp = report.ues.iter().map(|ue| ue.timestamp).max()?;
        let placed = clock.place(now, stamp);
        if placed.is_skewed {
            self.counts.skewed += 1;
            self.log(
                now,
                "skewed",
                &"its time is not that of this machine's clock",
            );
        }
        Some((report, placed.at))
    }

    /// Logs it, unless that was done lately.
    fn log(&mut self, now: Instant, kind: &'static str, what: &dyn Display) {
        match self.logged.get_mut(kind) {
            Some(last) if now.saturating_since(last.at) < QUIET => last.since += 1,
            last => {
                let more = last.map_or(0, |last| last.since);
                tracing::warn!(kind, more, "radio reports: {what}");
                self.logged.insert(kind, Logged { at: now, since: 0 });
            }
        }
    }
}
