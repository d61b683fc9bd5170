//! Bandwidth reports of a client over QUIC: what a datagram holds, when one leaves, and their way to the
//! controller of the server.
//!
//! ```text
//!   client: RateReporter -> [ReportCadence] -> DATAGRAM frame -> [ReportFeed] -> controller: server
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
//! frames and of transport parameters. A server that takes reports says so by RFC 9221's
//! `max_datagram_frame_size`; one that does not (an AdapterFactory without a feed, any other server that
//! has no datagrams) has none, and is sent none.

use cc::{Feedback, RateReport};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::{Duration, Instant};

/// Length of a report.
pub const REPORT_BYTES: usize = 12;
/// What a server announces as `max_datagram_frame_size` if it takes reports and no other datagrams;
/// quinn counts 32 bytes of its own for each that waits, so that some may wait.
pub const REPORT_BUFFER: usize = 1_024;
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

/// Why a datagram is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// Somebody else's: it does not begin with the mark.
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

/// Decides when a client's report leaves: when a tenth of a round-trip time has passed since the last, and
/// 5 ms at least.
///
/// A datagram makes the packet that carries it one to be acknowledged, and is not sent again if it
/// is lost: one for each acknowledgement would double the packets upstream, one for each change would
/// leave the server without delays.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportCadence {
    last_at: Option<Instant>,
}

impl ReportCadence {
    /// Least time between two reports.
    pub const LEAST: Duration = Duration::from_millis(5);
    /// Reports in a round-trip time.
    pub const PER_ROUND_TRIP: u64 = 10;

    /// Data has arrived: the report that leaves with its acknowledgement, if one is due.
    pub fn on_data(
        &mut self,
        now: Instant,
        rtt: Option<Duration>,
        rate: RateReport,
    ) -> Option<Report> {
        let spacing = rtt.map_or(Duration::ZERO, |rtt| rtt / Self::PER_ROUND_TRIP);
        let spacing = spacing.max(Self::LEAST);
        let is_due = self
            .last_at
            .is_none_or(|last| now.saturating_since(last) >= spacing);
        is_due.then(|| {
            self.last_at = Some(now);
            Report {
                rate,
                clock: ticks(now),
            }
        })
    }
}

/// What has become of the datagrams of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportCounts {
    /// Reports that the controller was or will be told of.
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
/// The controller is told of the newest before each of its next events.
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
    is_told: bool,
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
    pub fn on_datagram(&self, bytes: &[u8]) {
        let count = |counter: &AtomicU64| {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        let Ok(report) = Report::parse(bytes) else {
            return count(&self.0.unreadable);
        };
        let mut newest = self.newest();
        let is_stale = |last: Report| report.clock.wrapping_sub(last.clock).cast_signed() < 0;
        if newest.report.is_some_and(is_stale) {
            return count(&self.0.stale);
        }
        newest.report = Some(report);
        newest.is_told = false;
        self.0.has_pending.store(true, Ordering::Release);
        count(&self.0.taken);
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

    /// Takes the newest report that the controller was not told of. It has no timestamps: QUIC's
    /// acknowledgements have none, and delays that some come with and some do not could not be compared.
    pub(crate) fn take(&self) -> Option<Feedback> {
        if !self.0.has_pending.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut newest = self.newest();
        if core::mem::replace(&mut newest.is_told, true) {
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
    fn what_is_no_report_is_told_apart() {
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
        let least = u64::from(first & 0x3f) << 56;
        assert!(least > (1 << 60) - 1);
    }

    #[test]
    fn reports_that_were_overtaken_are_not_told() {
        let feed = ReportFeed::new();
        assert_eq!(feed.take(), None);
        for (rate, clock) in [(1, 10), (2, 30), (3, 20)] {
            feed.on_datagram(&report(rate, clock).encode());
        }
        feed.on_datagram(b"hello");
        let told = feed.take().expect("one waits");
        assert_eq!(told.report, Some(RateReport::new(2)));
        assert_eq!(feed.take(), None, "told once");
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

    #[test]
    fn a_report_leaves_ten_times_a_round_trip() {
        let mut cadence = ReportCadence::default();
        let rtt = Some(Duration::from_millis(100));
        let mut due = |ms| cadence.on_data(at(ms), rtt, RateReport::new(9)).is_some();
        let left = (0..=100).filter(|&ms| due(ms)).count();
        assert_eq!(left, 11);
        // before there is a round-trip time, and with a short one: every 5 ms
        for rtt in [None, Some(Duration::from_micros(50))] {
            let mut cadence = ReportCadence::default();
            let left =
                (0..=100).filter(|&ms| cadence.on_data(at(ms), rtt, RateReport::new(9)).is_some());
            assert_eq!(left.count(), 21);
        }
    }
}
