//! What a receiver reports to its sender beyond acknowledgements: the bandwidth that it measures (CDBE,
//! CQIC), and the timestamps from which one-way delays follow.
//!
//! ```text
//!   client: Arrival -> RateReporter -> RateReport on an ACK -> server: Feedback -> CongestionControl
//! ```

use rnis::{RadioReport, UeReport};
use units::{BitRate, Bytes, Duration, Instant};

/// A bandwidth as it travels on acknowledgements (CDBE section III-A-1: a value of 32 bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateReport(u32);

impl RateReport {
    /// So many bytes a second.
    pub const fn new(bytes_per_second: u32) -> Self {
        Self(bytes_per_second)
    }
    /// Bytes a second.
    pub const fn bytes_per_second(self) -> u32 {
        self.0
    }
    /// As a rate.
    pub const fn rate(self) -> BitRate {
        BitRate::from_bps(self.0 as u64 * 8)
    }
    /// The nearest report of a rate: whole bytes a second, rounded down, 2^32 - 1 at most.
    pub fn of(rate: BitRate) -> Self {
        Self::saturating(rate.as_bps() / 8)
    }
    /// So many bytes a second, 2^32 - 1 at most.
    pub fn saturating(bytes_per_second: u64) -> Self {
        Self(u32::try_from(bytes_per_second).unwrap_or(u32::MAX))
    }
}

/// The timestamps of an acknowledgement (RFC 7323 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the peer's clock as the acknowledgement left, in ticks of the peer's.
    pub val: u32,
    /// TSecr: one's own clock as the acknowledged segment left, in ticks of 1 ms.
    pub ecr: u32,
}

/// What an acknowledgement carries for a controller that the peer helps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// The peer's bandwidth, if the acknowledgement reports it.
    pub report: Option<RateReport>,
    /// Its timestamps, where the transport has any (TCP).
    pub timestamps: Option<Timestamps>,
}

/// What a controller that the client helps shows of itself (CDBE figure 5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateView {
    /// The report as it is used.
    pub used: RateReport,
    /// Reports that were beyond what is accepted of one.
    pub bounded: u64,
    /// The pacing gain.
    pub gain: f64,
    /// Mean downstream delay of the present window or the last, but for a constant where the clocks of
    /// the two hosts differ.
    pub delay_ms: f64,
    /// The minimum one that is reckoned with.
    pub least_delay_ms: f64,
}

/// Data that has arrived at a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub now: Instant,
    /// Payload.
    pub bytes: Bytes,
    /// The sender's timestamp (TSval), in its ticks; none where the transport has no timestamps.
    pub timestamp: Option<u32>,
    /// The client's estimate of the round-trip time, once it has one.
    pub rtt: Option<Duration>,
}

/// What a client measures of its bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reporter {
    /// At what rate data arrives (CDBE).
    Cdbe,
    /// What its modem's link could carry (CQIC).
    Cqic,
}

impl Reporter {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Cdbe, Self::Cqic];
    /// The names that scenario files use, in the same order.
    pub const NAMES: &'static [&'static str] = &[Self::ALL[0].name(), Self::ALL[1].name()];

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.name() == name)
    }

    /// Its name in scenario files, which is that of the [`RateReporter`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cdbe => "cdbe",
            Self::Cqic => "cqic",
        }
    }
}

/// Measures, at a client, the bandwidth that it reports.
pub trait RateReporter: core::fmt::Debug + Send {
    /// Its name: [`Reporter::name`] of what it measures.
    fn name(&self) -> &'static str;
    /// Data arrived, in order or not.
    fn on_data(&mut self, arrival: &Arrival);
    /// The client's modem reports its radio link. All but reporters that read the radio ignore it.
    fn on_radio(&mut self, _now: Instant, _report: &RadioReport, _ue: &UeReport) {}
    /// The present estimate.
    fn rate(&self) -> RateReport;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_carried_in_bytes_a_second() {
        let report = RateReport::of(BitRate::from_mbps(8));
        assert_eq!(report.bytes_per_second(), 1_000_000);
        assert_eq!(report.rate(), BitRate::from_mbps(8));
        assert_eq!(
            RateReport::of(BitRate::from_bps(u64::MAX)),
            RateReport::new(u32::MAX)
        );
    }
}
