//! What is known of the path from the proxy to the UEs at one time.

/// A UE that does not send all that it is let may have so many times what it is delivered, and so many segments in a T (the initial window
/// of RFC 6928).
const HEADROOM: f64 = 1.25;
const INITIAL_SEGMENTS: f64 = 10.0;

/// Rates in byte/s, times in seconds, amounts in bytes; of one UE, or of all that share a link.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::default_mode) struct Path {
    /// UEs.
    pub(in crate::default_mode) ues: f64,
    /// What they could have, and what they are served lately.
    pub(in crate::default_mode) capacity: f64,
    pub(in crate::default_mode) served: f64,
    /// T, what stands for the radio's variation included, and without that.
    pub(in crate::default_mode) time: f64,
    pub(in crate::default_mode) base_time: f64,
    /// The least and the most that T can be.
    pub(in crate::default_mode) min_time: f64,
    pub(in crate::default_mode) max_time: f64,
    /// The radio's queue over the one aimed at.
    pub(in crate::default_mode) queue: f64,
    /// Delivered lately.
    pub(in crate::default_mode) delivered: f64,
    /// Acknowledged and sent again so far, by flows that have ended as well if it is of all.
    pub(in crate::default_mode) acked: u64,
    pub(in crate::default_mode) resent: u64,
    pub(in crate::default_mode) in_flight: f64,
    /// A segment of each flow, and their mean.
    pub(in crate::default_mode) segments: f64,
    pub(in crate::default_mode) segment: f64,
    /// Our flows send all that they are let.
    pub(in crate::default_mode) is_greedy: bool,
    /// No packets of others are in the radio's queue.
    pub(in crate::default_mode) is_alone: bool,
    /// Flows take turns.
    pub(in crate::default_mode) takes_turns: bool,
    /// Reports are not too old.
    pub(in crate::default_mode) is_fresh: bool,
}

impl Path {
    /// All UEs of a cell together, by those that send all that they are let, if there are any; none without UEs. `ended`:
    /// acknowledged and sent again by flows that have ended.
    pub(in crate::default_mode) fn of_all<'a>(
        paths: impl Iterator<Item = &'a Self> + Clone,
        ended: (u64, u64),
    ) -> Option<Self> {
        let is_greedy = paths.clone().any(|path| path.is_greedy);
        let mut all = Self {
            is_greedy,
            is_alone: true,
            is_fresh: true,
            acked: ended.0,
            resent: ended.1,
            ..Self::default()
        };
        let mut weights = 0.0;
        for path in paths {
            all.acked = all.acked.saturating_add(path.acked);
            all.resent = all.resent.saturating_add(path.resent);
            if path.is_greedy != is_greedy {
                continue;
            }
            all.ues += 1.0;
            all.capacity += path.capacity;
            all.served += path.served;
            all.delivered += path.delivered;
            all.in_flight += path.in_flight;
            all.segments += path.segments;
            all.segment += path.segment;
            all.queue = all.queue.max(path.queue);
            all.is_alone &= path.is_alone;
            all.is_fresh &= path.is_fresh;
            all.takes_turns |= path.takes_turns;
            let weight = path.delivered.max(1.0);
            weights += weight;
            all.time += weight * path.time;
            all.base_time += weight * path.base_time;
            all.min_time += weight * path.min_time;
            all.max_time += weight * path.max_time;
        }
        if all.ues == 0.0 {
            return None;
        }
        for time in [
            &mut all.time,
            &mut all.base_time,
            &mut all.min_time,
            &mut all.max_time,
        ] {
            *time /= weights;
        }
        all.segment /= all.ues;
        Some(all)
    }

    /// What one UE may have of a link that it shares: all that the radio could carry, or what it uses and a little more.
    pub(in crate::default_mode) fn demand(&self) -> f64 {
        if self.is_greedy {
            return self.capacity;
        }
        let start = INITIAL_SEGMENTS * self.segment / self.time.max(0.001);
        (HEADROOM * self.delivered + start).min(self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(is_greedy: bool) -> Path {
        Path {
            ues: 1.0,
            capacity: 8e6,
            served: 3e6,
            time: 0.02,
            base_time: 0.01,
            min_time: 0.01,
            max_time: 0.05,
            queue: 0.25,
            delivered: 2e6,
            acked: 1000,
            resent: 10,
            in_flight: 4e4,
            segments: 2896.0,
            segment: 1448.0,
            is_greedy,
            is_alone: true,
            takes_turns: false,
            is_fresh: true,
        }
    }

    #[test]
    fn those_that_send_all_that_they_are_let_count_and_all_that_was_acknowledged() {
        let slow = Path {
            delivered: 6e6,
            time: 0.1,
            queue: 7.0,
            ..path(true)
        };
        let paths = [path(true), slow, path(false)];
        let all = Path::of_all(paths.iter(), (5, 7)).expect("three");
        assert_eq!((all.ues, all.capacity, all.delivered), (2.0, 16e6, 8e6));
        assert_eq!((all.acked, all.resent), (3005, 37));
        assert_eq!((all.queue, all.segment), (7.0, 1448.0));
        // a quarter of what is delivered is of the first
        assert!((all.time - (0.25 * 0.02 + 0.75 * 0.1)).abs() < 1e-12);
        assert!(Path::of_all(paths[..0].iter(), (0, 0)).is_none());
    }

    #[test]
    fn one_that_does_not_is_left_a_little_more_than_it_uses() {
        assert_eq!(path(true).demand(), 8e6);
        assert_eq!(path(false).demand(), 1.25 * 2e6 + 10.0 * 1448.0 / 0.02);
        let fast = Path {
            delivered: 7e6,
            ..path(false)
        };
        assert_eq!(fast.demand(), 8e6);
    }
}
