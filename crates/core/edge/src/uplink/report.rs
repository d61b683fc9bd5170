//! What a modem's counters are reported as, a line of JSON each, and which of the lines count.
//!
//! ```text
//!   {"queue_bytes": 21000, "sent_bytes": 734003200, "at_ns": 81234000000}   a counter since the modem began
//!   {"queue_bytes": 21000, "granted_bytes": 9500}                           what was granted since the line before
//!      --> decode --> ModemReport --> ModemIntake: possible? in order? --> ModemStatus, with a counter of its own
//! ```
//!
//! Source: ours; bytes as of TS 36.321 and TS 38.321 5.4 (what waits, what grants carried). Other keys of a line are not read.
//!
//! *Deviations*: a counter that is less than before has begun again, whatever the reason; what was sent in between is not counted.

use super::ModemStatus;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

/// What waits in a modem at most.
const MAX_QUEUE: Bytes = Bytes::new(4_000_000_000);
/// What a radio carries at most, bytes in a nanosecond: 100 Gbit/s.
const MAX_RATE: f64 = 12.5;
/// Lines that follow sooner than this are one: read at once, they say nothing of a rate.
const MIN_INTERVAL: Duration = Duration::from_micros(500);

/// A line, as it is written.
#[derive(Debug, Deserialize, Serialize)]
struct Line {
    queue_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    granted_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_ns: Option<u64>,
}

/// What has gone out of a modem's buffer, IP bytes, each counted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Since it was started.
    InAll(Bytes),
    /// Since the report before this one.
    Since(Bytes),
}

/// What a modem reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModemReport {
    /// When it was so, CLOCK_MONOTONIC of the machine that reads it; none: as it comes.
    pub at: Option<Instant>,
    /// What has been sent, or granted.
    pub carried: Carried,
    /// What waits in its buffer.
    pub queue: Bytes,
}

/// The reason why bytes are no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// It is no such JSON object.
    #[error("no report of a modem: {0}; expected {{\"queue_bytes\": N, \"sent_bytes\": N}}")]
    Json(String),
    /// It has none or both of the two.
    #[error("expected one of sent_bytes (a counter) and granted_bytes (since the line before)")]
    Carried,
}

impl ModemReport {
    /// From a line, with or without its end.
    ///
    /// # Errors
    /// It is none.
    pub fn decode(line: &[u8]) -> Result<Self, ReportError> {
        let line: Line =
            serde_json::from_slice(line).map_err(|error| ReportError::Json(error.to_string()))?;
        let carried = match (line.sent_bytes, line.granted_bytes) {
            (Some(bytes), None) => Carried::InAll(Bytes::new(bytes)),
            (None, Some(bytes)) => Carried::Since(Bytes::new(bytes)),
            _ => return Err(ReportError::Carried),
        };
        Ok(Self {
            at: line.at_ns.map(Instant::from_nanos),
            carried,
            queue: Bytes::new(line.queue_bytes),
        })
    }

    /// As a line without its end.
    pub fn encode(&self) -> String {
        let (sent, granted) = match self.carried {
            Carried::InAll(bytes) => (Some(bytes.get()), None),
            Carried::Since(bytes) => (None, Some(bytes.get())),
        };
        let line = Line {
            queue_bytes: self.queue.get(),
            sent_bytes: sent,
            granted_bytes: granted,
            at_ns: self.at.map(|at| at.since_start().as_nanos()),
        };
        // numbers alone: it cannot fail
        serde_json::to_string(&line).unwrap_or_default()
    }
}

/// Why a report does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// It is of a time that has not come.
    Future,
    /// It is no later than the one before.
    Order,
    /// It follows the one before within half a millisecond; the next one counts with it.
    Early,
    /// More waits than 4 GB.
    Queue,
    /// More was sent than 100 Gbit/s carry.
    Rate,
}

impl Refusal {
    /// All.
    pub const ALL: [Self; 5] = [
        Self::Future,
        Self::Order,
        Self::Early,
        Self::Queue,
        Self::Rate,
    ];

    /// Its name in status and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Future => "future",
            Self::Order => "order",
            Self::Early => "early",
            Self::Queue => "queue",
            Self::Rate => "rate",
        }
    }
}

/// Which reports count, and what they come to.
#[derive(Clone, Debug, Default)]
pub struct ModemIntake {
    /// When the last one was made that counted.
    last_at: Option<Instant>,
    /// The modem's counter then.
    counter: Option<Bytes>,
    /// Granted by reports that came too early.
    pending: Bytes,
    /// All that counts.
    sent: Bytes,
}

impl ModemIntake {
    /// A report comes.
    ///
    /// # Errors
    /// It does not count.
    pub fn accept(&mut self, now: Instant, report: &ModemReport) -> Result<ModemStatus, Refusal> {
        let at = report.at.unwrap_or(now);
        self.check(now, at, report)?;
        let since = match (report.carried, self.counter) {
            (Carried::Since(bytes), _) => bytes,
            (Carried::InAll(is), Some(was)) => is.saturating_sub(was),
            (Carried::InAll(_), None) => Bytes::ZERO,
        };
        let sent = Bytes::new(since.get().saturating_add(self.pending.get()));
        self.counter = match report.carried {
            Carried::InAll(bytes) => Some(bytes),
            Carried::Since(_) => None,
        };
        self.pending = Bytes::ZERO;
        let last_at = self.last_at.replace(at);
        // of the first one, nothing is known of what it is since
        let Some(time) = last_at.map(|last| at.saturating_since(last)) else {
            return Ok(self.status(at, report));
        };
        if sent.get() as f64 > time.as_nanos() as f64 * MAX_RATE {
            return Err(Refusal::Rate);
        }
        self.sent = Bytes::new(self.sent.get().saturating_add(sent.get()));
        Ok(self.status(at, report))
    }

    fn check(&mut self, now: Instant, at: Instant, report: &ModemReport) -> Result<(), Refusal> {
        if at > now {
            return Err(Refusal::Future);
        }
        if report.queue > MAX_QUEUE {
            return Err(Refusal::Queue);
        }
        let Some(last) = self.last_at else {
            return Ok(());
        };
        if at <= last && report.at.is_some() {
            return Err(Refusal::Order);
        }
        if at.saturating_since(last) >= MIN_INTERVAL {
            return Ok(());
        }
        if let Carried::Since(bytes) = report.carried {
            self.pending = Bytes::new(self.pending.get().saturating_add(bytes.get()));
        }
        Err(Refusal::Early)
    }

    fn status(&self, at: Instant, report: &ModemReport) -> ModemStatus {
        ModemStatus {
            at,
            sent: self.sent,
            queue: report.queue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn report(carried: Carried, queue: u64, made: Option<u64>) -> ModemReport {
        ModemReport {
            at: made.map(at),
            carried,
            queue: Bytes::new(queue),
        }
    }

    fn in_all(bytes: u64) -> ModemReport {
        report(Carried::InAll(Bytes::new(bytes)), 7, None)
    }

    fn since(bytes: u64) -> ModemReport {
        report(Carried::Since(Bytes::new(bytes)), 7, None)
    }

    /// What has been sent in all, by the statuses of reports at these times, us.
    fn sent(reports: &[(u64, ModemReport)]) -> Vec<Result<u64, Refusal>> {
        let mut intake = ModemIntake::default();
        let mut of = |&(us, report): &(u64, ModemReport)| {
            let status = intake.accept(at(us), &report);
            status.map(|status| status.sent.get())
        };
        reports.iter().map(&mut of).collect()
    }

    #[test]
    fn a_line_is_read_and_written() {
        let line = br#"{"queue_bytes": 21000, "sent_bytes": 5, "at_ns": 9000, "cell": "7"}"#;
        let read = ModemReport::decode(line).expect("a report");
        assert_eq!(read, report(Carried::InAll(Bytes::new(5)), 21_000, Some(9)));
        let text = read.encode();
        assert_eq!(text, r#"{"queue_bytes":21000,"sent_bytes":5,"at_ns":9000}"#);
        let granted = br#"{"granted_bytes": 3, "queue_bytes": 7}"#;
        assert_eq!(ModemReport::decode(granted), Ok(since(3)));
    }

    #[test]
    fn what_is_no_report_is_refused_with_the_reason() {
        let message = |line: &str| {
            let refused = ModemReport::decode(line.as_bytes()).expect_err(line);
            refused.to_string()
        };
        assert!(message("").starts_with("no report of a modem: EOF"));
        assert!(message(r#"{"sent_bytes":1}"#).contains("missing field `queue_bytes`"));
        assert!(message(r#"{"queue_bytes":-1,"sent_bytes":1}"#).contains("-1"));
        assert!(message(r#"{"queue_bytes":1.5,"sent_bytes":1}"#).contains("1.5"));
        assert!(message(r#"{"queue_bytes":1,"queue_bytes":1}"#).contains("duplicate"));
        let neither = message(r#"{"queue_bytes":1}"#);
        assert!(neither.starts_with("expected one of sent_bytes"));
        let both = message(r#"{"queue_bytes":1,"sent_bytes":1,"granted_bytes":1}"#);
        assert_eq!(both, neither);
    }

    #[test]
    fn a_counter_counts_from_the_first_report_on_and_may_begin_again() {
        let found = sent(&[
            (0, in_all(1_000)),
            (5_000, in_all(1_500)),
            (10_000, in_all(10)),
            (15_000, in_all(110)),
        ]);
        assert_eq!(found, [Ok(0), Ok(500), Ok(500), Ok(600)]);
    }

    #[test]
    fn reports_that_come_together_count_as_one() {
        let found = sent(&[
            (0, since(9)),
            (5_000, since(100)),
            (5_001, since(20)),
            (5_002, since(3)),
            (10_000, since(1_000)),
        ]);
        let early = Err(Refusal::Early);
        assert_eq!(found, [Ok(0), Ok(100), early, early, Ok(1_123)]);
        let found = sent(&[(0, in_all(0)), (100, in_all(7)), (5_000, in_all(9))]);
        assert_eq!(found, [Ok(0), early, Ok(9)]);
    }

    #[test]
    fn what_cannot_be_does_not_count() {
        let of = |made, queue| report(Carried::InAll(Bytes::new(0)), queue, Some(made));
        let found = sent(&[
            (10_000, of(10_001, 0)),
            (10_000, of(9_000, 0)),
            (11_000, of(9_000, 0)),
            (12_000, of(12_000, 5_000_000_000)),
            // 100 Gbit/s are 12.5 kB a microsecond
            (13_000, in_all(12_500 * 4_000 + 1)),
            (14_000, in_all(12_500 * 4_000 + 101)),
        ]);
        let refused = |refusal| Err::<u64, _>(refusal);
        assert_eq!(
            found,
            [
                refused(Refusal::Future),
                Ok(0),
                refused(Refusal::Order),
                refused(Refusal::Queue),
                refused(Refusal::Rate),
                Ok(100),
            ]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = ModemReport::decode(&bytes);
        }

        /// Whatever is reported, statuses are in order, and their counter never falls.
        #[test]
        fn statuses_are_in_order(
            reports in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>(), prop::option::of(any::<u64>()), 0_u64..20_000), 1..50),
        ) {
            let mut intake = ModemIntake::default();
            let mut last: Option<ModemStatus> = None;
            let mut now = Instant::ZERO;
            for (bytes, queue, is_total, made, us) in reports {
                now += Duration::from_micros(us);
                let bytes = Bytes::new(bytes);
                let carried = if is_total { Carried::InAll(bytes) } else { Carried::Since(bytes) };
                let one = ModemReport { at: made.map(Instant::from_nanos), carried, queue: Bytes::new(queue) };
                prop_assert_eq!(ModemReport::decode(one.encode().as_bytes()), Ok(one));
                if let Ok(status) = intake.accept(now, &one) {
                    prop_assert!(status.at <= now && status.queue <= MAX_QUEUE);
                    if let Some(last) = last {
                        prop_assert!(status.at > last.at && status.sent >= last.sent);
                    }
                    last = Some(status);
                }
            }
        }
    }
}
