//! Time division of what is less than two segments a flow.
//!
//! Two segments are the least window with which a flow is acknowledged without delay (RFC 5681 4.2: every second
//! segment; a lone one waits for 40 ms and more). Where the fair part of what may be under way, from the server to the
//! acknowledgement of the UE, is less than that, windows of two segments for all would stand as a queue: 200 flows over
//! 16 Mbit/s have 0.3 s of it. Flows take turns instead:
//!
//! ```text
//!   a turn begins    for the flow that waits longest, while under way + 2 MSS <= rate x (RTT_WAN + T)
//!   it ends          once 2 MSS have arrived from the server, or nothing has in TURN_TIME or 2 RTT_WAN
//!   the server sees  2 MSS as the turn begins, nothing more until the next one
//! ```
//!
//! Under way is what is in flight to the UE or waits here, and of each turn what has not arrived yet. A flow whose turn
//! ends before two segments have arrived has no more to send now. It is quiet: it is shown two segments all the time,
//! is left its rate, and takes no turns until it has used them within the time of a turn.

use super::flow::Flow;
use super::flows::Flows;
use crate::FlowId;
use units::{Bytes, Instant};

/// What a turn is worth, segments.
const SEGMENTS: u64 = 2;
/// The least window with which a flow is acknowledged without delay, segments.
pub(super) const MIN_WINDOW: f64 = SEGMENTS as f64;
/// Turns begin when the fair part is less than two segments, and are no longer needed from so many on.
const LEAVE: f64 = 2.5;
/// Fewer flows take no turns: two segments of each are less of a queue than what turns, which begin with reports, add.
const MIN_FLOWS: f64 = 4.0;
/// A turn without an arrival ends after so much time or two round trips, seconds.
const TURN_TIME: f64 = 0.01;

/// A flow's place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// It has the turn: payload that had arrived when it began, and when.
    since: Option<(Bytes, Instant)>,
    /// The number of the last turn.
    number: u64,
    /// It is quiet: payload that had arrived, and when, as that was found last.
    quiet: Option<(Bytes, Instant)>,
}

impl Turn {
    /// The turn begins at this time: the server is shown two segments. What it was shown it may use later, too, so
    /// that it is shown no more afterwards: else, each of these that arrives would let it send another.
    pub(super) fn begins(&self, now: Instant) -> bool {
        self.since.is_some_and(|(_, at)| at == now)
    }
}

/// The turns of a UE's flows.
#[derive(Debug, Default)]
pub(super) struct Turns {
    are_taken: bool,
    /// Of the last turn.
    number: u64,
    waiting: Vec<(u64, FlowId)>,
}

impl Turns {
    /// Whether so many flows take turns from now on: `fair` is the part of each in what may be under way, segments.
    pub(super) fn are_needed(&mut self, flows: f64, fair: f64) -> bool {
        let limit = if self.are_taken { LEAVE } else { MIN_WINDOW };
        let are_needed = flows >= MIN_FLOWS && fair < limit;
        self.are_taken |= are_needed;
        are_needed
    }

    /// Flows take turns.
    pub(super) fn are_taken(&self) -> bool {
        self.are_taken
    }

    /// Ends turns and begins others of those flows that need more than they have. `limit` of what is under way,
    /// bytes.
    pub(super) fn update(&mut self, now: Instant, limit: f64, flows: &mut Flows) {
        let mut under_way = 0.0;
        self.waiting.clear();
        for (id, flow) in flows.iter_mut().filter(|(_, flow)| flow.takes_turns()) {
            let telemetry = &flow.telemetry;
            under_way += telemetry.ran_in_flight.get() as f64 + telemetry.buffered.get() as f64;
            match flow.rest_of_turn(now) {
                Some(rest) => under_way += rest.get() as f64,
                None if flow.takes_turns() => self.waiting.push((flow.turn.number, *id)),
                None => {}
            }
        }
        self.waiting.sort_unstable();
        for (_, id) in &self.waiting {
            let Some(flow) = flows.get_mut(*id) else {
                continue;
            };
            let quantum = (flow.mss * SEGMENTS).get() as f64;
            if under_way + quantum > limit && under_way > 0.0 {
                break;
            }
            under_way += quantum;
            self.number += 1;
            flow.turn.since = Some((flow.telemetry.wan_arrived, now));
            flow.turn.number = self.number;
        }
    }

    /// Flows take no turns from now on.
    pub(super) fn end(&mut self, flows: &mut Flows) {
        if core::mem::take(&mut self.are_taken) {
            for flow in flows.values_mut() {
                flow.turn.since = None;
            }
        }
    }
}

impl Flow {
    /// It sends all that it is let.
    pub(super) fn takes_turns(&self) -> bool {
        self.counts && self.turn.quiet.is_none()
    }

    /// How long a turn lasts if nothing arrives, seconds.
    fn turn_time(&self) -> f64 {
        self.wan_rtt().map_or(0.0, |rtt| 2.0 * rtt).max(TURN_TIME)
    }

    /// What has not arrived yet of two segments, counted from `before`.
    fn rest(&self, before: Bytes) -> Bytes {
        let arrived = self.telemetry.wan_arrived.saturating_sub(before);
        (self.mss * SEGMENTS).saturating_sub(arrived)
    }

    /// Whether it is still quiet.
    pub(super) fn update_quiet(&mut self, now: Instant) {
        if let Some((before, at)) = self.turn.quiet {
            let is_old = now.saturating_since(at).as_secs_f64() > self.turn_time();
            if self.rest(before).is_zero() {
                self.turn.quiet = None;
            } else if is_old {
                self.turn.quiet = Some((self.telemetry.wan_arrived, now));
            }
        }
    }

    /// What has not arrived yet of its turn; none if it has none, or it is over.
    fn rest_of_turn(&mut self, now: Instant) -> Option<Bytes> {
        let (before, at) = self.turn.since?;
        let rest = self.rest(before);
        let is_late = now.saturating_since(at).as_secs_f64() > self.turn_time();
        if rest.is_zero() || is_late {
            self.turn.since = None;
            let quiet = (self.telemetry.wan_arrived, now);
            self.turn.quiet = (!rest.is_zero()).then_some(quiet);
            return None;
        }
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowOpened;
    use rnis::Rnti;
    use units::Duration;

    const MSS: Bytes = Bytes::new(1440);

    fn flows(count: u64) -> Flows {
        let opened = FlowOpened {
            ue: Rnti(1),
            mss: MSS,
            place: 0,
        };
        let flow = |id| (FlowId(id), Flow::new(Instant::ZERO, opened));
        (0..count).map(flow).collect()
    }

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    /// Those whose turn begins at this time.
    fn beginning(now: Instant, flows: &mut Flows) -> Vec<u64> {
        let begins = flows.iter_mut().filter(|(_, flow)| flow.turn.begins(now));
        begins.map(|(id, _)| id.0).collect()
    }

    fn arrive(flow: &mut Flow, segments: u64) {
        flow.telemetry.wan_arrived += MSS * segments;
    }

    #[test]
    fn what_is_under_way_is_bounded_and_each_has_its_turn_in_order() {
        let mut flows = flows(6);
        let mut turns = Turns::default();
        assert!(!turns.are_needed(3.0, 1.9));
        assert!(turns.are_needed(4.0, 1.9) && turns.are_needed(6.0, 2.4));
        assert!(!turns.are_needed(6.0, 2.5));
        // room for two turns
        let limit = (MSS * 5).get() as f64;
        let mut order = Vec::new();
        for n in 1..=6 {
            turns.update(ms(n), limit, &mut flows);
            let began = beginning(ms(n), &mut flows);
            assert_eq!(began.len(), 2, "at {n} ms");
            for id in &began {
                // it arrives, is sent on, and acknowledged until the next report
                arrive(flows.get_mut(FlowId(*id)).expect("a flow"), 2);
            }
            order.extend(began);
        }
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_is_in_flight_or_waits_leaves_no_room() {
        let mut flows = flows(3);
        for flow in flows.values_mut() {
            flow.telemetry.ran_in_flight = MSS;
            flow.telemetry.buffered = MSS;
        }
        let mut turns = Turns::default();
        turns.update(ms(1), (MSS * 7).get() as f64, &mut flows);
        assert_eq!(beginning(ms(1), &mut flows), Vec::<u64>::new());
        turns.update(ms(2), (MSS * 8).get() as f64, &mut flows);
        assert_eq!(beginning(ms(2), &mut flows), [0]);
    }

    #[test]
    fn a_flow_without_data_is_quiet_until_it_sends_two_segments_in_a_turns_time() {
        let mut flows = flows(1);
        let mut turns = Turns::default();
        let limit = (MSS * 2).get() as f64;
        turns.update(ms(1), limit, &mut flows);
        let quiet = |flows: &Flows| flows.values().all(|flow| !flow.takes_turns());
        assert!(!quiet(&flows));
        turns.update(ms(12), limit, &mut flows);
        assert!(quiet(&flows) && beginning(ms(12), &mut flows).is_empty());
        let with = |flows: &mut Flows, at, segments| {
            let flow = flows.get_mut(FlowId(0)).expect("a flow");
            arrive(flow, segments);
            flow.update_quiet(ms(at));
        };
        // one segment in each turn's time is not all that it is let
        with(&mut flows, 20, 1);
        with(&mut flows, 31, 0);
        with(&mut flows, 35, 1);
        assert!(quiet(&flows));
        with(&mut flows, 36, 1);
        assert!(!quiet(&flows));
    }

    #[test]
    fn one_turn_is_there_however_small_the_limit() {
        let mut flows = flows(2);
        let mut turns = Turns::default();
        turns.update(ms(1), 1.0, &mut flows);
        assert_eq!(beginning(ms(1), &mut flows), [0]);
        turns.update(ms(2), 1.0, &mut flows);
        assert_eq!(beginning(ms(2), &mut flows), Vec::<u64>::new());
    }
}
