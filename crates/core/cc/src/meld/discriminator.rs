//! What MELD decides, without the controller that it wraps: reports, acknowledgements and losses go in,
//! verdicts on losses and a limit of the window come out.

use super::evidence::{self, Evidence};
use super::round_trips::RoundTrips;
use super::steering::{Order, Steering};
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
    /// What the last fresh report makes the flow send, whether it does or not; all zero without one, and
    /// except in [`Variant::Default`] and [`Variant::Yielding`], as all that follows.
    pub order: Order,
    /// The most in flight in this round trip, the last and the one before, and when this one began.
    pub peak: (Instant, [Bytes; 3]),
    /// When the first order came, and what a round trip was then.
    pub began: (Instant, Duration),
    /// It is no newcomer any more.
    pub is_settled: bool,
    /// The wrapped controller's window does not count.
    pub is_leading: bool,
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
    /// Of the last acknowledgement.
    now: Instant,
    /// [`Variant::Default`] and [`Variant::Yielding`] only.
    steering: Option<Steering>,
    srtt: Duration,
    min_rtt: Duration,
}

impl Discriminator {
    /// Before the first report.
    pub fn new(config: Config) -> Self {
        let steering = match config.variant {
            Variant::Default => Some(Steering::default()),
            Variant::Yielding => Some(Steering::yielding()),
            Variant::DownloadEnhancement | Variant::MixedEnhancement => None,
        };
        Self {
            config,
            radio: None,
            reports: 0,
            delivered: RoundTrips::default(),
            evidence: Evidence::default(),
            now: Instant::ZERO,
            steering,
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
        if let Some(steering) = &mut self.steering {
            steering.on_radio(now, number, state, self.config);
        }
    }

    /// That much payload is sent, repetitions included.
    pub fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        if let Some(steering) = &mut self.steering {
            steering.on_sent(now, bytes);
        }
    }

    /// An acknowledgement arrived. Returns whether the wrapped controller's window must not grow.
    pub fn on_ack(&mut self, now: Instant, ack: &Acked) -> bool {
        self.delivered.advance(now, ack.srtt);
        self.delivered.current += ack.newly_acked;
        (self.srtt, self.min_rtt) = (ack.srtt, ack.min_rtt);
        self.now = now;
        let steering = self.steering.as_mut();
        steering.is_some_and(|steering| steering.on_ack(now, ack))
    }

    /// A loss was congestion, as judged here or not: the wrapped controller has been notified.
    pub fn on_congestion(&mut self) {
        if let Some(steering) = &mut self.steering {
            steering.on_congestion();
        }
    }

    /// Whether a loss that acknowledgements show is congestion, and why.
    pub fn judge(&mut self, now: Instant, loss: &LossSample) -> LossDecision {
        let max_in_flight = self.max_in_flight();
        let queue_threshold = self.radio.as_ref().map(queue_threshold);
        LossDecision {
            variant: self.config.variant,
            reason: self.reason(now, loss, max_in_flight),
            lost: loss.lost,
            bytes_in_flight: loss.bytes_in_flight,
            max_in_flight,
            radio: self.radio,
            age: self.radio.map(|radio| now.saturating_since(radio.made_at)),
            tbs_threshold: self
                .radio
                .map_or(Bytes::ZERO, |radio| tbs_threshold(self.config.pdu, &radio)),
            queue_threshold: queue_threshold.unwrap_or(Bytes::ZERO),
        }
    }

    /// What the reports make the flow send; none if it is the wrapped controller that decides.
    pub fn order(&self) -> Option<Order> {
        let steering = self.steering.as_ref()?;
        let order = steering.order()?;
        if !steering.is_bounded(self.now) {
            return Some(order);
        }
        let window = order.window.min(self.max_in_flight());
        Some(Order { window, ..order })
    }

    /// The wrapped controller's window, `inner`, with what the reports make of it.
    pub fn window(&self, inner: Bytes) -> Bytes {
        match self.order() {
            Some(order) if self.is_leading() => order.window,
            Some(order) => order.window.min(inner),
            None => inner,
        }
    }

    /// The order whose pace counts: none while the wrapped controller's window is the lesser, for the queue is
    /// short then, and a flow that is paced loses less in the buffer of another bottleneck than one beside it
    /// that is not.
    pub fn pacing_order(&self) -> Option<Order> {
        self.order().filter(|_| self.is_leading())
    }

    /// The wrapped controller's window does not count while there is an order.
    pub fn is_leading(&self) -> bool {
        self.steering.as_ref().is_some_and(Steering::is_leading)
    }

    /// What it has reached.
    pub fn state(&self) -> State {
        let mut state = State {
            delivered: self.delivered.amounts(),
            unexplained: self.evidence.unexplained(),
            ..State::default()
        };
        if let Some(steering) = &self.steering {
            steering.describe(&mut state);
        }
        state
    }

    /// The most that may be in flight for a silent repetition.
    fn max_in_flight(&self) -> Bytes {
        // a radio link that stands still for a while delivers late, not less
        let [last, earlier] = self.delivered.before;
        let max = last.max(earlier) * MAX_FLIGHT_PER_DELIVERED + self.delivered.current;
        max.max(self.config.pdu * MIN_BOUND_SEGMENTS)
    }

    fn reason(&mut self, now: Instant, loss: &LossSample, max_in_flight: Bytes) -> Reason {
        let Some(radio) = &self.radio else {
            return Reason::NoReport;
        };
        if now.saturating_since(radio.made_at) > self.config.max_age {
            return Reason::Stale;
        }
        if loss.bytes_in_flight > max_in_flight {
            return Reason::BeyondDelivered;
        }
        if !paper::has_large_blocks(self.config.pdu, radio) {
            return Reason::SmallBlocks;
        }
        match self.config.variant {
            Variant::DownloadEnhancement => Reason::GoodRadio,
            Variant::MixedEnhancement if paper::has_long_queue(radio) => Reason::LongQueue,
            Variant::MixedEnhancement => Reason::GoodRadio,
            Variant::Default | Variant::Yielding => {
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
