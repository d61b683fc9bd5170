//! The bandwidth that a client measures, and when it reports it.

use super::super::segment::{SackBlocks, Segment};
use cc::cdbe::cadence::Cadence;
use cc::{Arrival, RateReport, RateReporter};
use rnis::{RadioReport, UeReport};
use units::{Bytes, Duration, Instant};

/// Measures the bandwidth of what arrives, and reports it on acknowledgements.
#[derive(Debug)]
pub(in crate::tcp) struct Reporting {
    reporter: Box<dyn RateReporter>,
    cadence: Cadence,
    /// Round-trip time as a receiver measures it, smoothed (RFC 7323 4.1, Linux `tcp_rcv_rtt_measure_ts`).
    rtt: Option<Duration>,
}

impl Reporting {
    pub(in crate::tcp) fn new(reporter: Box<dyn RateReporter>, cadence: Cadence) -> Self {
        Self {
            reporter,
            cadence,
            rtt: None,
        }
    }

    /// Data arrived.
    pub(super) fn on_data(&mut self, now: Instant, segment: &Segment) {
        if segment.ts_ecr > Instant::ZERO {
            let sample = now.saturating_since(segment.ts_ecr);
            self.rtt = Some(self.rtt.map_or(sample, |rtt| (rtt * 7 + sample) / 8));
        }
        self.reporter.on_data(&Arrival {
            now,
            bytes: Bytes::new(u64::from(segment.len)),
            timestamp: Some(segment.ts_ticks),
            rtt: self.rtt,
        });
    }

    pub(super) fn on_radio(&mut self, now: Instant, report: &RadioReport, ue: &UeReport) {
        self.reporter.on_radio(now, report, ue);
    }

    /// The present estimate.
    pub(super) fn rate(&self) -> RateReport {
        self.reporter.rate()
    }

    /// What an acknowledgement with these blocks carries: three leave no room.
    pub(super) fn for_ack(&mut self, sack: &SackBlocks) -> Option<RateReport> {
        if sack.is_full() {
            return None;
        }
        self.cadence.on_ack(self.reporter.rate())
    }
}
