//! Sends at what the radio serves, with a short queue in the base station: [`super::Variant::Default`].
//!
//! A sender that no longer slows down for losses on the radio fills the base station's buffer, which
//! is MELD-DE; one that slows down for them when the queue is long halves its window although it is too
//! large by a few kilobytes only, which is MELD-ME, and leaves the link idle. And while HARQ repeats a block,
//! the receiver holds back what comes after it: acknowledgements stop for 8 to 24 ms although the base
//! station goes on sending, and a sender that waits for them lets its queue run dry. The reports state what
//! is served, acknowledged or not, and what waits. So they set the rate:
//!
//! ```text
//!   passing = served in the last round trip, per time, x srtt       target = 3/2 Q_th
//!   wanted  = max(passing + target - queue, passing / 4)            of the whole UE, in a round trip
//!   pace    = ((wanted - target / 4) x own / in flight of the UE + target / 4 + a packet) / srtt
//!   window  = 3 x max(pace, own part of what passes) x min_rtt + target
//! ```
//!
//! The pace is the actuator: the window lets a silence of acknowledgements pass, and bounds what is in flight
//! where the narrowest link is not the radio.
//!
//! *Sharing.* `own` is the most that this flow had in flight in this round trip and the last, and the whole
//! UE has what passes in one: each flow gives way by its share, and all grow alike by a quarter of the target and a
//! packet, so that they converge as additive increase and multiplicative decrease do. The queue of several flows is
//! longer than that of one: by these quarters, and because what each had most in flight is more in all than what
//! passes. (By what is acknowledged instead, the parts are exact, and a flow alone falls short of its own while
//! acknowledgements are held back: 2 % of the link.) A newcomer, in slow start with less than half of
//! what the UE has in flight, is the wrapped controller's until the queue is four targets long: else a flow that
//! fills the link would keep out all that come after it. Once it is steered it stays so.
//!
//! *The start.* For two round trips from the first report on, what the UE could have been sent and was not is the
//! flow's too: the block that its slot would carry, at each slot, less what was served. (In the second, what was sent in
//! the first begins to be served.)
//!
//! *Losses of congestion* are the wrapped controller's: from the first on, the window is the lesser of both and there is
//! no pace, until that controller's allows what the pace sends in a round trip. Without fresh reports there is no pace, and
//! losses are congestion: what is left is the wrapped controller.

use super::discriminator::Acked;
use super::round_trips::RoundTrips;
use super::yielding::{self, Yielding};
use super::{Config, MAX_REPORTS, State, paper};
use crate::RadioState;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant};

/// The queue that is aimed at, as a share of Q_th: numerator, denominator.
pub const TARGET: (u64, u64) = (3, 2);
/// However long the queue, the inverse of this of what passes is sent.
pub const MAX_DRAIN: u64 = 4;
/// Each flow of a UE gets the inverse of this of the target alike, in a round trip.
pub const ALIKE_SHARE: u64 = 4;
/// What may be in flight, as a multiple of what is sent in the least round trip, by the pace or by what passes.
pub const MAX_ROUND_TRIPS: u64 = 3;
/// The queue that holds newcomers too, as a multiple of the target.
pub const MAX_FOR_NEWCOMERS: u64 = 4;
/// A flow with less than the inverse of this of what the UE has in flight is a newcomer while it is in
/// slow start.
pub const NEWCOMER_SHARE: u64 = 2;
/// How long the start lasts, in round trips.
pub const START_ROUND_TRIPS: u64 = 2;
/// Round trips after the first order, from which on no more may be in flight than what is delivered
/// justifies: what it sent is acknowledged by then.
pub const BOUND_AFTER: u64 = 4;
/// A report steers for so many of its periods at least, however short the age is at which it explains no loss.
pub const MAX_AGE_PERIODS: u64 = 2;
/// Least pace: a byte a second.
pub const MIN_PACE: BitRate = BitRate::from_bps(8);
/// Least window, in packets.
pub const MIN_PACKETS: u64 = 4;

/// What a flow is to send, by the reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// How fast.
    pub pace: BitRate,
    /// The most in flight.
    pub window: Bytes,
    /// What the pace sends in a round trip.
    pub per_round_trip: Bytes,
    /// What waits in the base station.
    pub queue: Bytes,
    /// What is to wait there.
    pub target: Bytes,
    /// What the whole UE has in flight.
    pub in_flight_of_ue: Bytes,
    /// The time that the report covers.
    pub period: Duration,
    /// Until when the report counts.
    pub expires_at: Instant,
}

impl Order {
    /// The queue is so long that newcomers must give way too.
    fn is_very_long(&self) -> bool {
        self.queue > self.target * MAX_FOR_NEWCOMERS
    }
}

/// The rate of a flow by the queue in the base station.
#[derive(Clone, Debug)]
pub(super) struct Steering {
    /// By the last report.
    order: Option<Order>,
    /// What left the queues in the last round trip.
    received: VecDeque<Served>,
    /// The most in flight.
    peak: RoundTrips,
    srtt: Duration,
    min_rtt: Duration,
    /// When the first report after the first acknowledgement came, and what a round trip was then.
    began: Option<(Instant, Duration)>,
    /// The wrapped controller is in slow start.
    is_slow_start: bool,
    /// No newcomer any more.
    is_settled: bool,
    /// The wrapped controller's window does not count.
    is_leading: bool,
    /// [`super::Variant::Yielding`] only.
    yielding: Option<Yielding>,
}

/// What left the queues, by the report of that number.
#[derive(Clone, Copy, Debug)]
struct Served {
    number: u64,
    at: Instant,
    bytes: Bytes,
    period: Duration,
}

impl Default for Steering {
    fn default() -> Self {
        Self {
            order: None,
            received: VecDeque::new(),
            peak: RoundTrips::default(),
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            began: None,
            is_slow_start: false,
            is_settled: false,
            is_leading: true,
            yielding: None,
        }
    }
}

impl Steering {
    /// One that yields to flows that begin.
    pub(super) fn yielding() -> Self {
        Self {
            yielding: Some(Yielding::default()),
            ..Self::default()
        }
    }

    /// That much payload is sent.
    pub(super) fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        if let Some(yielding) = &mut self.yielding {
            yielding.on_sent(now, bytes);
        }
    }

    /// The report of this number arrived.
    pub(super) fn on_radio(
        &mut self,
        now: Instant,
        number: u64,
        state: &RadioState,
        config: Config,
    ) {
        if !config.steers_by(now, state) {
            return; // too old as it came
        }
        self.receive(now, number, state);
        if self.srtt.is_zero() {
            return;
        }
        let (began, round_trip) = *self.began.get_or_insert((now, self.srtt));
        let is_starting = now.saturating_since(began) < round_trip * START_ROUND_TRIPS;
        let (left, takes_unused) = self.yields(now, state, config);
        let rate = self.rate();
        let passing = rate.bytes_in(self.srtt);
        let peak = self.peak();
        let in_flight_of_ue = passing.max(peak);
        let target = paper::queue_threshold(state) * TARGET.0 / TARGET.1;
        let wanted = (passing + target)
            .saturating_sub(state.queue)
            .max(passing / MAX_DRAIN);
        let own_of = |amount| share(amount, peak.get(), in_flight_of_ue.get().max(1));
        let unused = if is_starting || takes_unused {
            radio_rate(state).saturating_sub(rate)
        } else {
            BitRate::ZERO
        };
        // alone a flow gets back what it gives
        let alike = target / ALIKE_SHARE;
        let unused = unused.bytes_in(self.srtt);
        let added = alike + config.pdu + unused;
        let shared = own_of(wanted.saturating_sub(alike)) + added;
        let per_round_trip = match left {
            Some(left) => {
                let rest = wanted.saturating_sub(left);
                shared.min(rest.max(passing / yielding::MAX_YIELD))
            }
            None => shared,
        };
        let pace = BitRate::from_bytes_per(per_round_trip, self.srtt).max(MIN_PACE);
        // a long queue slows down, and takes away no room
        let most = per_round_trip.max(own_of(passing));
        let most = BitRate::from_bytes_per(most, self.srtt).bytes_in(self.min_rtt);
        let window = most * MAX_ROUND_TRIPS + target;
        self.order = Some(Order {
            pace,
            window: window.max(config.pdu * MIN_PACKETS),
            per_round_trip,
            queue: state.queue,
            target,
            in_flight_of_ue,
            period: state.period,
            expires_at: config.steers_until(state),
        });
        self.settle();
    }

    /// What is left to flows that begin, in a round trip, and whether what the radio could carry beyond what it serves is
    /// to be used.
    fn yields(
        &mut self,
        now: Instant,
        state: &RadioState,
        config: Config,
    ) -> (Option<Bytes>, bool) {
        let Some(yielding) = &mut self.yielding else {
            return (None, false);
        };
        let path = yielding::Path {
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            pdu: config.pdu,
        };
        yielding.on_radio(now, state, path);
        let time = self.srtt * START_ROUND_TRIPS;
        (yielding.left(), yielding.takes_unused(now, time))
    }

    /// Whether it is a newcomer no more.
    fn settle(&mut self) {
        let Some(order) = self.order else { return };
        let is_small = self.peak() * NEWCOMER_SHARE < order.in_flight_of_ue;
        self.is_settled |= !(self.is_slow_start && is_small) || order.is_very_long();
    }

    /// Keeps the reports of the last round trip.
    fn receive(&mut self, now: Instant, number: u64, state: &RadioState) {
        let round_trip = self.srtt.max(state.period);
        while let Some(first) = self.received.front()
            && (first.number + MAX_REPORTS <= number
                || now.saturating_since(first.at) >= round_trip)
        {
            self.received.pop_front();
        }
        self.received.push_back(Served {
            number,
            at: now,
            bytes: state.served,
            period: state.period,
        });
    }

    /// What left the base station in the last round trip, per time.
    fn rate(&self) -> BitRate {
        let (mut bytes, mut period) = (Bytes::ZERO, Duration::ZERO);
        for served in &self.received {
            bytes += served.bytes;
            period += served.period;
        }
        BitRate::from_bytes_per(bytes, period)
    }

    /// The most that this flow had in flight in this round trip and the last.
    fn peak(&self) -> Bytes {
        self.peak.current.max(self.peak.before[0])
    }

    /// An acknowledgement arrived. Returns whether the wrapped controller's window must not grow.
    pub(super) fn on_ack(&mut self, now: Instant, ack: &Acked) -> bool {
        (self.srtt, self.min_rtt) = (ack.srtt, ack.min_rtt);
        self.is_slow_start = ack.is_slow_start;
        self.peak.advance(now, ack.srtt);
        self.peak.current = self.peak.current.max(ack.prior_in_flight);
        self.order = self.order.filter(|order| now <= order.expires_at);
        let Some(order) = self.order else {
            return false;
        };
        self.settle();
        if !self.is_settled {
            return false;
        }
        self.is_leading |= ack.inner_cwnd >= order.per_round_trip;
        // it follows what is in flight, so that there is a window when the reports end
        let followed = if self.is_leading {
            ack.prior_in_flight
        } else {
            order.window
        };
        ack.inner_cwnd >= followed
    }

    /// A loss was congestion.
    pub(super) fn on_congestion(&mut self) {
        self.is_leading = false;
    }

    /// What the flow is to send, unless it is the wrapped controller's.
    pub(super) fn order(&self) -> Option<Order> {
        self.order.filter(|_| self.is_settled)
    }

    /// The wrapped controller's window does not count.
    pub(super) fn is_leading(&self) -> bool {
        self.is_leading
    }

    /// What is delivered bounds the window: see [`BOUND_AFTER`].
    pub(super) fn is_bounded(&self, now: Instant) -> bool {
        self.began.is_some_and(|(began, round_trip)| {
            now.saturating_since(began) >= round_trip * BOUND_AFTER
        })
    }

    /// Fills in what of the state is the steering's.
    pub(super) fn describe(&self, state: &mut State) {
        state.order = self.order.unwrap_or_default();
        state.peak = self.peak.amounts();
        state.began = self.began.unwrap_or_default();
        state.is_settled = self.is_settled;
        state.is_leading = self.is_leading;
    }
}

/// What the radio would carry for the UE if it were sent all that it could.
fn radio_rate(state: &RadioState) -> BitRate {
    BitRate::from_bytes_per(state.tbs * u64::from(state.slots), state.period)
}

/// `part / whole` of an amount, rounded down; `part` is at most `whole`, which is not 0.
fn share(amount: Bytes, part: u64, whole: u64) -> Bytes {
    let product = u128::from(amount.get()) * u128::from(part);
    Bytes::new(u64::try_from(product / u128::from(whole)).unwrap_or(u64::MAX))
}
