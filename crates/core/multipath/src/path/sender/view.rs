//! What there is to see of a path.

use super::super::rate::RateEstimate;
use super::{Sender, SenderCounters};
use units::{BitRate, Bytes, Duration, Packets};

/// What there is to see of a path.
impl Sender {
    /// The controller's name.
    pub fn controller(&self) -> &'static str {
        self.cc.name()
    }
    /// Maximum data in flight, as counted.
    pub fn cwnd(&self) -> Bytes {
        self.cc.cwnd()
    }
    /// The same in packets, rounded down, at least one.
    pub fn window(&self) -> Packets {
        Packets::new(self.window)
    }
    /// Slow-start threshold, where the controller has one and it has been set.
    pub fn ssthresh(&self) -> Option<Bytes> {
        self.cc.ssthresh().filter(|&ssthresh| ssthresh < Bytes::MAX)
    }
    /// True while the controller is looking for the path's rate: below the slow-start threshold, or
    /// with a controller that has none until the delivery rate has stopped growing.
    pub fn is_starting(&self) -> bool {
        match self.cc.ssthresh() {
            Some(ssthresh) => self.cc.cwnd() < ssthresh,
            None => !self.meter.is_pipe_full(),
        }
    }
    /// The rate at which the controller has packets leave, if it sets one.
    pub fn pacing_rate(&self) -> Option<BitRate> {
        self.cc.pacing_rate()
    }
    /// Data packets in flight.
    pub fn in_flight(&self) -> Packets {
        Packets::new(self.flight.packets())
    }
    /// Data in flight, as counted.
    pub fn bytes_in_flight(&self) -> Bytes {
        self.flight.counted()
    }
    /// Smoothed round-trip time; none before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }
    /// Variation of the round-trip time (RFC 6298, RTTVAR).
    pub fn rttvar(&self) -> Duration {
        self.rtt.rttvar()
    }
    /// Minimum round-trip time so far.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.rtt.min_rtt()
    }
    /// The least of the round that goes on and the one before; none before the first sample.
    pub fn recent_min_rtt(&self) -> Option<Duration> {
        self.recent_min.get()
    }
    /// The last round-trip time.
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.rtt.latest()
    }
    /// The retransmission timeout, backoff included.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }
    /// What the path has delivered lately; none before the first round trip.
    pub fn delivery_rate(&self) -> Option<RateEstimate> {
        self.meter.estimate()
    }
    /// Largest recent delivery rate times minimum round-trip time: what fills the path without a
    /// queue, as counted.
    pub fn bdp(&self) -> Option<Bytes> {
        let rate = self.meter.estimate()?.max;
        Some(rate.bytes_in(self.rtt.min_rtt()?))
    }
    /// A reduction of the window is under way.
    pub fn is_recovering(&self) -> bool {
        self.episode.is_some()
    }
    /// Timeouts since anything was last acknowledged.
    pub fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts_in_a_row
    }
    /// So many timeouts have passed without an acknowledgement that the path seems to have failed.
    pub fn is_failing(&self) -> bool {
        self.timeouts_in_a_row >= self.config.failing_after
    }
    /// Counts since the path began.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }
}
