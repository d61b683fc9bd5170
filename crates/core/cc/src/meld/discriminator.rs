//! What MELD decides, without the controller that it wraps: reports, acknowledgements and losses go in,
//! verdicts on losses and a limit of the window come out.

use super::brake::Brake;
use super::evidence::{self, Evidence};
use super::round_trips::RoundTrips;
use super::{Config, LossDecision, Reason, Variant, paper, queue_threshold, tbs_threshold};
use crate::{LossSample, RadioState};
use units::{Bytes, Duration, Instant, Packets};

/// Most in flight for a silent repetition, as a multiple of what the last round trip delivered; what
/// this one has delivered so far comes to it. Slow start adds to its flight what is acknowledged, so
/// that it needs 2; HARQ and scheduling move some of a round trip's delivery into the next.
pub const MAX_FLIGHT_PER_DELIVERED: u64 = 3;
/// What may be in flight whatever was delivered, in segments: the initial window (RFC 6928).
pub const MIN_BOUND_SEGMENTS: u64 = 10;

/// What MELD reads of an acknowledgement, and of the controller that it wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Payload newly acknowledged.
    pub newly_acked: Bytes,
    /// Payload in flight before it.
    pub prior_in_flight: Bytes,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Least round-trip time of the connection.
    pub min_rtt: Duration,
    /// The wrapped controller's window.
    pub inner_cwnd: Bytes,
    /// The wrapped controller is in slow start.
    pub is_slow_start: bool,
}

/// What a [`Discriminator`] has reached, as far as it decides anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Payload acknowledged in this round trip, the last and the one before, and when this one began.
    pub delivered: (Instant, [Bytes; 3]),
    /// Packets that the radio lost, by the reports that are kept, and that no loss has been set against.
    pub unexplained: Packets,
    /// Most payload in flight; always none except in [`Variant::Default`], as all that follows.
    pub limit: Option<Bytes>,
    /// The least queue in the base station in the last round trip, as of the last report that was fresh.
    pub standing_queue: Bytes,
    /// The standing queue that is aimed at.
    pub target: Bytes,
    /// What the whole UE has in flight.
    pub in_flight_of_ue: Bytes,
    /// Until when that report counts.
    pub expires_at: Instant,
    /// The most in flight in this round trip, the last and the one before, and when this one began.
    pub peak: (Instant, [Bytes; 3]),
    /// No report lowers the limit before this time.
    pub lowered_until: Instant,
}

/// Distinguishes losses of congestion from those of the radio, for one connection. Times do not decrease
/// from call to call.
#[derive(Clone, Debug)]
pub struct Discriminator {
    config: Config,
    radio: Option<RadioState>,
    /// Reports so far.
    reports: u64,
    /// Acknowledged.
    delivered: RoundTrips,
    evidence: Evidence,
    /// [`Variant::Default`] only.
    brake: Option<Brake>,
    srtt: Duration,
    min_rtt: Duration,
}

impl Discriminator {
    /// Before the first report.
    pub fn new(config: Config) -> Self {
        let is_default = config.variant == Variant::Default;
        Self {
            config,
            radio: None,
            reports: 0,
            delivered: RoundTrips::default(),
            evidence: Evidence::default(),
            brake: is_default.then(Brake::default),
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
        }
    }

    /// A report arrived.
    pub fn on_radio(&mut self, now: Instant, state: &RadioState) {
        let number = self.reports;
        self.reports += 1;
        self.radio = Some(*state);
        self.evidence.on_radio(now, number, state);
        if let Some(brake) = &mut self.brake {
            brake.on_radio(now, number, state, self.config);
        }
    }

    /// An acknowledgement arrived. Returns whether the wrapped controller's window must not grow.
    pub fn on_ack(&mut self, now: Instant, ack: &Acked) -> bool {
        self.delivered.advance(now, ack.srtt);
        self.delivered.current += ack.newly_acked;
        (self.srtt, self.min_rtt) = (ack.srtt, ack.min_rtt);
        let brake = self.brake.as_mut();
        brake.is_some_and(|brake| brake.on_ack(now, ack))
    }

    /// Whether a loss that acknowledgements show is congestion, and why.
    pub fn judge(&mut self, now: Instant, loss: &LossSample) -> LossDecision {
        let most_in_flight = self.most_in_flight();
        let queue_threshold = self.radio.as_ref().map(queue_threshold);
        LossDecision {
            variant: self.config.variant,
            reason: self.reason(now, loss, most_in_flight),
            lost: loss.lost,
            bytes_in_flight: loss.bytes_in_flight,
            most_in_flight,
            radio: self.radio,
            age: self.radio.map(|radio| now.saturating_since(radio.made_at)),
            tbs_threshold: self
                .radio
                .map_or(Bytes::ZERO, |radio| tbs_threshold(self.config.pdu, &radio)),
            queue_threshold: queue_threshold.unwrap_or(Bytes::ZERO),
        }
    }

    /// Most payload in flight, if the queue in the base station limits it.
    pub fn limit(&self) -> Option<Bytes> {
        self.brake.as_ref().and_then(Brake::limit)
    }

    /// What it has reached.
    pub fn state(&self) -> State {
        let mut state = State {
            delivered: self.delivered.amounts(),
            unexplained: self.evidence.unexplained(),
            ..State::default()
        };
        if let Some(brake) = &self.brake {
            brake.describe(&mut state);
        }
        state
    }

    /// The most that may be in flight for a silent repetition.
    fn most_in_flight(&self) -> Bytes {
        // a radio link that stands still for a while delivers late, not less
        let [last, earlier] = self.delivered.before;
        let max = last.max(earlier) * MAX_FLIGHT_PER_DELIVERED + self.delivered.current;
        max.max(self.config.pdu * MIN_BOUND_SEGMENTS)
    }

    fn reason(&mut self, now: Instant, loss: &LossSample, most_in_flight: Bytes) -> Reason {
        let Some(radio) = &self.radio else {
            return Reason::NoReport;
        };
        if now.saturating_since(radio.made_at) > self.config.max_age {
            return Reason::Stale;
        }
        if loss.bytes_in_flight > most_in_flight {
            return Reason::BeyondDelivered;
        }
        if !paper::has_large_blocks(self.config.pdu, radio) {
            return Reason::SmallBlocks;
        }
        match self.config.variant {
            Variant::DownloadEnhancement => Reason::GoodRadio,
            Variant::MixedEnhancement if paper::has_long_queue(radio) => Reason::LongQueue,
            Variant::MixedEnhancement => Reason::GoodRadio,
            Variant::Default => {
                let path = evidence::Path {
                    srtt: self.srtt,
                    min_rtt: self.min_rtt,
                };
                self.evidence
                    .explain(now, loss, self.config.pdu, radio, path)
            }
        }
    }

    /// For tests of what times of the connection decide.
    #[cfg(test)]
    pub(super) fn set_times(&mut self, srtt: Duration, min_rtt: Duration) {
        (self.srtt, self.min_rtt) = (srtt, min_rtt);
    }
}
