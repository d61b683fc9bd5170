//! Keeps the queue in the base station short: the window of [`super::Variant::Default`].
//!
//! A sender that no longer slows down for losses on the radio fills the base station's buffer, which
//! is MELD-DE; one that slows down for them when the queue is long halves its window although it is too
//! large by a few kilobytes only, which is MELD-ME, and leaves the link idle. The reports say by how
//! much it is too large:
//!
//! ```text
//!   standing = minimum queue that the reports of the last round trip state      target = 3/4 Q_th
//!   standing > 2 target:  limit = flight (1 - (standing - target) / (rate srtt)), once in a round trip
//!   standing < target:    limit grows by (target - standing) a round trip
//!   between:              limit stays, and so does the wrapped controller's window
//! ```
//!
//! Bursts fill the queue too: acknowledgements come in groups, what waits for a HARQ retransmission
//! arrives at once, and a short fade stops what leaves. They are gone within a round trip, so that the
//! minimum queue of one is what stands there for no use (as CoDel has it, RFC 8289 3.2). The target is
//! below Q_th, which is enough for full use of a link that varies (equation 2), and above what bursts
//! leave behind.
//!
//! rate srtt is what the whole UE has in flight, so that each of its flows gives way by its share, and
//! all grow alike: they converge as additive increase and multiplicative decrease do. A newcomer, in slow
//! start with less than half of what the UE has in flight, is neither held nor limited until the standing
//! queue is four targets long: else a flow that fills the link would keep out all that come after it.
//!
//! The window is the lesser of the limit and the wrapped controller's, which does not grow while the limit
//! binds it. Without fresh reports there is no limit, and losses are congestion: what is left is the
//! wrapped controller.

use super::discriminator::Acked;
use super::round_trips::RoundTrips;
use super::{Config, MAX_REPORTS, State, paper};
use crate::RadioState;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant};

/// The standing queue that is aimed at, as a share of Q_th: numerator, denominator.
pub const TARGET: (u64, u64) = (3, 4);
/// The standing queue that lowers the limit, as a multiple of the target.
pub const MAX_PER_TARGET: u64 = 2;
/// The standing queue that holds newcomers too, as a multiple of the target.
pub const MAX_FOR_NEWCOMERS: u64 = 4;
/// A flow with less than the inverse of this of what the UE has in flight is a newcomer while it is in
/// slow start.
pub const NEWCOMER_SHARE: u64 = 2;
/// Least limit, in packets.
pub const MIN_PACKETS: u64 = 4;

/// A limit of the window by the queue in the base station.
#[derive(Clone, Debug, Default)]
pub(super) struct Brake {
    limit: Option<Bytes>,
    /// What the last report holds the window by.
    hold: Option<Hold>,
    /// Queues of the last round trip, and what left them, with the times at which they were received of.
    received: VecDeque<ReceivedState>,
    bytes_in_flight: Bytes,
    /// The most in flight.
    peak: RoundTrips,
    srtt: Duration,
    /// No report lowers the limit before this time: the effect of the last reduction shows a round trip
    /// later.
    lowered_until: Instant,
}

/// What a report contains of the queue.
#[derive(Clone, Copy, Debug)]
struct ReceivedState {
    number: u64,
    at: Instant,
    queue: Bytes,
    served: Bytes,
    period: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    standing: Bytes,
    target: Bytes,
    /// What the whole UE has in flight.
    in_flight_of_ue: Bytes,
    expires_at: Instant,
}

impl Hold {
    /// The queue is at its target or above.
    fn is_filled(&self) -> bool {
        self.standing >= self.target
    }

    /// It is so long that newcomers must not grow either.
    fn is_very_long(&self) -> bool {
        self.standing > self.target * MAX_FOR_NEWCOMERS
    }
}

impl Brake {
    /// The report of this number arrived.
    pub(super) fn on_radio(
        &mut self,
        now: Instant,
        number: u64,
        state: &RadioState,
        config: Config,
    ) {
        let expires_at = state.made_at + config.max_age;
        if now > expires_at {
            return; // too old as it came
        }
        let threshold = paper::queue_threshold(state);
        let target = threshold * TARGET.0 / TARGET.1;
        self.receive(now, number, state);
        let standing = self.standing_queue();
        let in_flight_of_ue = self.in_flight_of_ue();
        self.hold = Some(Hold {
            standing,
            target,
            in_flight_of_ue,
            expires_at,
        });
        if self.srtt.is_zero() {
            return;
        }
        if standing > target * MAX_PER_TARGET {
            if now >= self.lowered_until {
                let excess = standing.saturating_sub(target);
                self.lower(in_flight_of_ue, excess, config.pdu * MIN_PACKETS);
                self.lowered_until = now + self.srtt;
            }
        } else if let Some(limit) = &mut self.limit {
            let missing = target.saturating_sub(standing);
            let part = state.period.min(self.srtt).as_nanos();
            *limit += share(missing, part, self.srtt.as_nanos());
        }
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
        self.received.push_back(ReceivedState {
            number,
            at: now,
            queue: state.queue,
            served: state.served,
            period: state.period,
        });
    }

    fn standing_queue(&self) -> Bytes {
        let min = self.received.iter().map(|received| received.queue).min();
        min.unwrap_or_default()
    }

    /// What leaves the base station in a round trip, by the rate of the last one: so much was in flight as
    /// it began. This flow's own, if that is more.
    fn in_flight_of_ue(&self) -> Bytes {
        let (mut served, mut period) = (Bytes::ZERO, Duration::ZERO);
        for received in &self.received {
            served += received.served;
            period += received.period;
        }
        let rate = BitRate::from_bytes_per(served, period);
        rate.bytes_in(self.srtt).max(self.peak())
    }

    /// The most that this flow had in flight in this round trip and the last.
    fn peak(&self) -> Bytes {
        self.peak.current.max(self.peak.before[0])
    }

    fn lower(&mut self, in_flight_of_ue: Bytes, excess: Bytes, min: Bytes) {
        let kept = in_flight_of_ue.saturating_sub(excess).get();
        let limit = share(self.bytes_in_flight, kept, in_flight_of_ue.get().max(1));
        self.limit = Some(limit.max(min));
    }

    /// An acknowledgement arrived. Returns whether the wrapped controller's window must not grow.
    pub(super) fn on_ack(&mut self, now: Instant, ack: &Acked) -> bool {
        self.bytes_in_flight = ack.prior_in_flight;
        self.srtt = ack.srtt;
        self.peak.advance(now, ack.srtt);
        self.peak.current = self.peak.current.max(ack.prior_in_flight);
        let Some(hold) = self.hold.filter(|hold| now <= hold.expires_at) else {
            self.limit = None;
            return false;
        };
        let is_newcomer = ack.is_slow_start && self.peak() * NEWCOMER_SHARE < hold.in_flight_of_ue;
        if is_newcomer && !hold.is_very_long() {
            self.limit = None;
            return false;
        }
        hold.is_filled() || self.limit.is_some_and(|limit| limit <= ack.inner_cwnd)
    }

    /// Most payload in flight.
    pub(super) fn limit(&self) -> Option<Bytes> {
        self.limit
    }

    /// Fills in what of the state is the brake's.
    pub(super) fn describe(&self, state: &mut State) {
        state.limit = self.limit;
        if let Some(hold) = self.hold {
            state.standing_queue = hold.standing;
            state.target = hold.target;
            state.in_flight_of_ue = hold.in_flight_of_ue;
            state.expires_at = hold.expires_at;
        }
        state.peak = self.peak.amounts();
        state.lowered_until = self.lowered_until;
    }
}

/// `part / whole` of an amount, rounded down; `part` is at most `whole`, which is not 0.
fn share(amount: Bytes, part: u64, whole: u64) -> Bytes {
    let product = u128::from(amount.get()) * u128::from(part);
    Bytes::new(u64::try_from(product / u128::from(whole)).unwrap_or(u64::MAX))
}
