//! Groups of packets and the variation of delay between them (sections 5.1 and 5.2).

use crate::controller::millis_between;
use units::Instant;

/// What is sent or arrives within so much is one group (section 5.2), ms.
const BURST_TIME: f64 = 5.0;

/// A burst of arrivals is no longer than this (libwebrtc, `kMaxBurstDuration`), ms.
const MAX_BURST: f64 = 100.0;

/// Two groups, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Delta {
    /// T(i) - T(i-1), ms.
    pub(super) departure_ms: f64,
    /// t(i) - t(i-1), ms.
    pub(super) arrival_ms: f64,
    /// t(i).
    pub(super) arrived_at: Instant,
}

/// A group of packets.
#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    first_arrival: Instant,
    last_arrival: Instant,
}

impl Group {
    fn new(sent: Instant, arrival: Instant) -> Self {
        Self {
            first_sent: sent,
            last_sent: sent,
            first_arrival: arrival,
            last_arrival: arrival,
        }
    }

    /// Section 5.2: sent within burst_time, or come within it of the packet before with d < 0.
    fn contains(&self, sent: Instant, arrival: Instant) -> bool {
        if millis_between(self.first_sent, sent) <= BURST_TIME {
            return true;
        }
        let apart = millis_between(self.last_arrival, arrival);
        let d = apart - millis_between(self.last_sent, sent);
        let is_burst = apart <= BURST_TIME && d < 0.0;
        is_burst && millis_between(self.first_arrival, arrival) < MAX_BURST
    }
}

/// The pre-filter.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    before: Option<Group>,
    current: Option<Group>,
}

impl Groups {
    /// A packet came. Returns the step between the two groups before it, if it begins another.
    pub(super) fn on_packet(&mut self, sent: Instant, arrival: Instant) -> Option<Delta> {
        let Some(current) = &mut self.current else {
            self.current = Some(Group::new(sent, arrival));
            return None;
        };
        // 5.1: packets out of order are ignored
        if millis_between(current.first_sent, sent) < 0.0 {
            return None;
        }
        if current.contains(sent, arrival) {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrival = current.last_arrival.max(arrival);
            return None;
        }
        let ended = *current;
        *current = Group::new(sent, arrival);
        let before = self.before.replace(ended)?;
        let delta = Delta {
            departure_ms: millis_between(before.last_sent, ended.last_sent),
            arrival_ms: millis_between(before.last_arrival, ended.last_arrival),
            arrived_at: ended.last_arrival,
        };
        // groups that came out of order
        (delta.arrival_ms >= 0.0).then_some(delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn at(ms: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(ms / 1e3)
    }

    #[test]
    fn d_of_section_5_1() {
        let mut groups = Groups::default();
        // two packets each, 1 ms apart; the second group takes 3 ms more
        let packets = [
            (0.0, 20.0),
            (1.0, 21.0),
            (33.0, 56.0),
            (34.0, 57.0),
            (66.0, 86.0),
        ];
        let deltas: Vec<_> = packets
            .into_iter()
            .map(|(sent, arrival)| groups.on_packet(at(sent), at(arrival)))
            .collect();
        assert_eq!(deltas[..4], [None; 4]);
        let delta = deltas[4].unwrap();
        assert_eq!((delta.departure_ms, delta.arrival_ms), (33.0, 36.0));
        assert_eq!(delta.arrived_at, at(57.0));
    }

    #[test]
    fn what_arrives_in_a_burst_after_an_outage_is_one_group() {
        let mut groups = Groups::default();
        groups.on_packet(at(0.0), at(20.0));
        // sent 33 ms apart, all let through at once
        for (sent, arrival) in [(33.0, 200.0), (66.0, 200.5), (99.0, 201.0)] {
            assert_eq!(groups.on_packet(at(sent), at(arrival)), None);
        }
        let delta = groups.on_packet(at(132.0), at(230.0)).unwrap();
        assert_eq!((delta.departure_ms, delta.arrival_ms), (99.0, 181.0));
    }

    #[test]
    fn packets_out_of_order_are_ignored() {
        let mut groups = Groups::default();
        groups.on_packet(at(0.0), at(20.0));
        groups.on_packet(at(50.0), at(70.0));
        assert_eq!(groups.on_packet(at(20.0), at(71.0)), None);
        let delta = groups.on_packet(at(100.0), at(120.0)).unwrap();
        assert_eq!((delta.departure_ms, delta.arrival_ms), (50.0, 50.0));
    }
}
