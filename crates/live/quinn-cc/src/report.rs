//! Bandwidth reports of a client over QUIC: what a datagram holds, when one leaves, and their way to the
//! controller of the server.
//!
//! ```text
//!   client: datagrams -> [Reporting] -> DATAGRAM frame -> [ReportFeed] -> controller: server
//! ```
//!
//! A report is a DATAGRAM frame (RFC 9221) of twelve bytes, numbers in network order:
//!
//! | byte | |
//! | --- | --- |
//! | 0 | 0xff: no HTTP datagram begins so, for its quarter stream ID would be above 2^60 - 1 (RFC 9297 2.1) |
//! | 1, 2 | 0xcdbe, the experiment's number in the TCP option too |
//! | 3 | version, 1 |
//! | 4 to 7 | the rate, bytes a second |
//! | 8 to 11 | the client's clock as the last data arrived, ms, modulo 2^32 |
//!
//! The clock orders reports, for datagrams may overtake each other.
//!
//! *Why this and no frame or transport parameter of our own*: quinn-proto 0.11 has a closed set of
//! frames and of transport parameters. A server that takes reports announces it by RFC 9221's
//! `max_datagram_frame_size` ([`allow_reports`]); to one without, quinn sends none.

use crate::flight::Flight;
use cc::{Arrival, Feedback, RateReport, RateReporter};
use quinn_proto::TransportConfig;
use rnis::{RadioReport, UeReport};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::{Bytes, Duration, Instant};

/// Length of a report.
pub const REPORT_BYTES: usize = 12;
/// What an end announces as `max_datagram_frame_size`; quinn counts 32 bytes of its own for each
/// datagram that waits, so that some may wait.
const RECEIVE_BUFFER: usize = 1_024;
/// Room for one report and quinn's 32 bytes: a newer one takes the place of one that has not left.
const SEND_BUFFER: usize = 64;
/// Marks a report.
const MARK: [u8; 3] = [0xff, 0xcd, 0xbe];
/// The form of the rest.
const VERSION: u8 = 1;

/// A client's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The bandwidth that it measures.
    pub rate: RateReport,
    /// Its clock as the last data arrived, ms.
    pub clock: u32,
}

/// The reason why a datagram is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// Foreign: it does not begin with the mark.
    #[error("it does not begin with ff cd be")]
    Foreign,
    /// Of another version.
    #[error("byte 3, its version, is {0}, expected {VERSION}")]
    Version(u8),
    /// Of another length.
    #[error("it has {0} bytes, expected {REPORT_BYTES}")]
    Length(usize),
}

impl Report {
    /// Reads a datagram of any bytes.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReportError> {
        let rest = bytes.strip_prefix(&MARK).ok_or(ReportError::Foreign)?;
        let (&version, rest) = rest.split_first().ok_or(ReportError::Length(bytes.len()))?;
        if version != VERSION {
            return Err(ReportError::Version(version));
        }
        let &[a, b, c, d, e, f, g, h] = rest else {
            return Err(ReportError::Length(bytes.len()));
        };
        Ok(Self {
            rate: RateReport::new(u32::from_be_bytes([a, b, c, d])),
            clock: u32::from_be_bytes([e, f, g, h]),
        })
    }

    /// As it travels.
    pub fn encode(self) -> [u8; REPORT_BYTES] {
        let mut bytes = [0; REPORT_BYTES];
        bytes[..3].copy_from_slice(&MARK);
        bytes[3] = VERSION;
        bytes[4..8].copy_from_slice(&self.rate.bytes_per_second().to_be_bytes());
        bytes[8..].copy_from_slice(&self.clock.to_be_bytes());
        bytes
    }
}

/// A time in ticks of 1 ms, as reports have it.
fn ticks(at: Instant) -> u32 {
    (at.as_nanos() / 1_000_000) as u32
}

/// Sets a connection's end up for reports: a server to take them, a client to send them.
pub fn allow_reports(transport: &mut TransportConfig) {
    transport
        .datagram_receive_buffer_size(Some(RECEIVE_BUFFER))
        .datagram_send_buffer_size(SEND_BUFFER);
}

/// Measures the bandwidth of a client's connection, and decides when a report leaves: when a tenth of a
/// round-trip time has passed since the last, and 5 ms at least.
///
/// A datagram makes the packet that carries it one to be acknowledged, and is not sent again if it is
/// lost: one for each acknowledgement would double the packets upstream, one for each change might
/// be missed.
#[derive(Debug)]
pub struct Reporting {
    reporter: Box<dyn RateReporter>,
    last_at: Option<Instant>,
}

impl Reporting {
    /// Minimum time between two reports.
    pub const MIN_SPACING: Duration = Duration::from_millis(5);
    /// Reports in a round-trip time.
    pub const PER_ROUND_TRIP: u64 = 10;

    /// What this reporter measures.
    pub fn new(reporter: Box<dyn RateReporter>) -> Self {
        Self {
            reporter,
            last_at: None,
        }
    }

    /// A UDP datagram of so much payload has arrived, with the round-trip time as far as it is known.
    /// Returns the report that leaves with its acknowledgement, if one is due. Mere acknowledgements are
    /// not counted.
    pub fn on_datagram(
        &mut self,
        now: Instant,
        bytes: Bytes,
        rtt: Option<Duration>,
    ) -> Option<Report> {
        if !Flight::counts(bytes) {
            return None;
        }
        self.reporter.on_data(&Arrival {
            now,
            bytes,
            timestamp: None,
            rtt,
        });
        let spacing = rtt.map_or(Duration::ZERO, |rtt| rtt / Self::PER_ROUND_TRIP);
        let is_early = |last| now.saturating_since(last) < spacing.max(Self::MIN_SPACING);
        if self.last_at.is_some_and(is_early) {
            return None;
        }
        self.last_at = Some(now);
        Some(Report {
            rate: self.reporter.rate(),
            clock: ticks(now),
        })
    }

    /// The client's modem reports its radio link.
    pub fn on_radio(&mut self, now: Instant, report: &RadioReport, ue: &UeReport) {
        self.reporter.on_radio(now, report, ue);
    }

    /// The present estimate.
    pub fn rate(&self) -> RateReport {
        self.reporter.rate()
    }
}

/// What becomes of a datagram of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportOutcome {
    /// The controller will be notified.
    Taken,
    /// Older than one that came before.
    Stale,
    /// It is no report.
    Unreadable(ReportError),
}

/// What has become of the datagrams of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportCounts {
    /// Reports that the controller was or will be notified of.
    pub taken: u64,
    /// Reports older than one that came before.
    pub stale: u64,
    /// Datagrams that are none.
    pub unreadable: u64,
    /// The last one taken; zero before.
    pub last: RateReport,
}

/// Hands a client's reports to the controller of one connection: a handle, cheap to clone.
///
/// The controller is notified of the newest before each of its next events.
#[derive(Clone, Debug, Default)]
pub struct ReportFeed(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Whether one waits: all that a connection reads of an empty feed.
    has_pending: AtomicBool,
    newest: Mutex<Newest>,
    taken: AtomicU64,
    stale: AtomicU64,
    unreadable: AtomicU64,
}

#[derive(Debug, Default)]
struct Newest {
    report: Option<Report>,
    is_notified: bool,
}

impl ReportFeed {
    /// A feed of a client that has reported nothing.
    pub fn new() -> Self {
        Self::default()
    }

    fn newest(&self) -> MutexGuard<'_, Newest> {
        // every change is complete at once: a thread that panicked left it whole
        self.0.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A datagram of the client has arrived, of any bytes.
    pub fn on_datagram(&self, bytes: &[u8]) -> ReportOutcome {
        let count = |counter: &AtomicU64, outcome| {
            counter.fetch_add(1, Ordering::Relaxed);
            outcome
        };
        let report = match Report::parse(bytes) {
            Ok(report) => report,
            Err(error) => return count(&self.0.unreadable, ReportOutcome::Unreadable(error)),
        };
        let mut newest = self.newest();
        let is_stale = |last: Report| report.clock.wrapping_sub(last.clock).cast_signed() < 0;
        if newest.report.is_some_and(is_stale) {
            return count(&self.0.stale, ReportOutcome::Stale);
        }
        newest.report = Some(report);
        newest.is_notified = false;
        self.0.has_pending.store(true, Ordering::Release);
        count(&self.0.taken, ReportOutcome::Taken)
    }

    /// What has become of the client's datagrams so far.
    pub fn counts(&self) -> ReportCounts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReportCounts {
            taken: get(&self.0.taken),
            stale: get(&self.0.stale),
            unreadable: get(&self.0.unreadable),
            last: self
                .newest()
                .report
                .map_or_else(RateReport::default, |r| r.rate),
        }
    }

    /// Takes the newest report that the controller was not notified of. It has no timestamps: QUIC's
    /// acknowledgements have none, and delays that some come with and some do not could not be compared.
    pub(crate) fn take(&self) -> Option<Feedback> {
        if !self.0.has_pending.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut newest = self.newest();
        if core::mem::replace(&mut newest.is_notified, true) {
            return None;
        }
        newest.report.map(|report| Feedback {
            report: Some(report.rate),
            timestamps: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rate: u32, clock: u32) -> Report {
        Report {
            rate: RateReport::new(rate),
            clock,
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let bytes = report(1_000_000, 0x0102_0304).encode();
        let expected = [0xff, 0xcd, 0xbe, 1, 0, 0x0f, 0x42, 0x40, 1, 2, 3, 4];
        assert_eq!(bytes, expected);
        assert_eq!(Report::parse(&bytes), Ok(report(1_000_000, 0x0102_0304)));
        for rate in [0, 1, u32::MAX] {
            let report = report(rate, u32::MAX - rate);
            assert_eq!(Report::parse(&report.encode()), Ok(report));
        }
    }

    #[test]
    fn what_is_no_report_has_its_own_error() {
        let good = report(7, 7).encode();
        assert_eq!(Report::parse(&[]), Err(ReportError::Foreign));
        assert_eq!(Report::parse(&good[..2]), Err(ReportError::Foreign));
        for length in 3..REPORT_BYTES {
            assert_eq!(
                Report::parse(&good[..length]),
                Err(ReportError::Length(length))
            );
        }
        let long = [&good[..], &[0]].concat();
        assert_eq!(Report::parse(&long), Err(ReportError::Length(13)));
        let mut other = good;
        other[3] = 2;
        assert_eq!(Report::parse(&other), Err(ReportError::Version(2)));
    }

    /// RFC 9297 2.1: a datagram of HTTP begins with a variable-length integer of at most 2^60 - 1.
    #[test]
    fn rfc_9297_no_http_datagram_is_a_report() {
        let first = report(0, 0).encode()[0];
        assert_eq!(first >> 6, 0b11, "a variable-length integer of eight bytes");
        let min = u64::from(first & 0x3f) << 56;
        assert!(min > (1 << 60) - 1);
    }

    #[test]
    fn reports_that_were_overtaken_are_not_passed_on() {
        let feed = ReportFeed::new();
        assert_eq!(feed.take(), None);
        use ReportOutcome::{Stale, Taken, Unreadable};
        for (rate, clock, outcome) in [(1, 10, Taken), (2, 30, Taken), (3, 20, Stale)] {
            let datagram = report(rate, clock).encode();
            assert_eq!(feed.on_datagram(&datagram), outcome);
        }
        let foreign = feed.on_datagram(b"hello");
        assert_eq!(foreign, Unreadable(ReportError::Foreign));
        let newest = feed.take().expect("one waits");
        assert_eq!(newest.report, Some(RateReport::new(2)));
        assert_eq!(feed.take(), None, "passed once");
        let counts = feed.counts();
        assert_eq!((counts.taken, counts.stale, counts.unreadable), (2, 1, 1));
        assert_eq!(counts.last, RateReport::new(2));
    }

    #[test]
    fn the_clients_clock_may_wrap() {
        let feed = ReportFeed::new();
        feed.on_datagram(&report(1, u32::MAX - 5).encode());
        feed.on_datagram(&report(2, 5).encode());
        assert_eq!(feed.counts().last, RateReport::new(2));
        assert_eq!(feed.counts().stale, 0);
    }

    fn reporting() -> Reporting {
        let config = cc::cdbe::estimator::Config::new(cc::cdbe::Mode::Default);
        Reporting::new(Box::new(cc::cdbe::estimator::Estimator::new(config)))
    }

    #[test]
    fn a_report_leaves_ten_times_a_round_trip() {
        let bytes = Bytes::new(1_200);
        for (rtt, count) in [
            (Some(Duration::from_millis(100)), 11),
            // before there is a round-trip time, and with a short one: every 5 ms
            (None, 21),
            (Some(Duration::from_micros(50)), 21),
        ] {
            let mut reporting = reporting();
            let due = |&ms: &u64| reporting.on_datagram(at(ms), bytes, rtt).is_some();
            assert_eq!((0..=100).filter(due).count(), count);
        }
    }

    #[test]
    fn what_arrives_is_measured_and_acknowledgements_are_not() {
        let mut reporting = reporting();
        let rtt = Some(Duration::from_millis(50));
        let mut last = None;
        for ms in 0..1_000 {
            let report = reporting.on_datagram(at(ms), Bytes::new(1_000), rtt);
            last = report.or(last);
            assert_eq!(reporting.on_datagram(at(ms), Bytes::new(40), rtt), None);
        }
        let rate = reporting.rate().bytes_per_second();
        assert!((990_000..=1_010_000).contains(&rate), "{rate}");
        let last = last.expect("reports left");
        assert_eq!((last.rate, last.clock), (reporting.rate(), 995));
    }
}
