//! Shortest RTT first (Pieska et al. 2024, section 5.4; the default of MPTCP): among the paths whose
//! window has room the one of lowest smoothed RTT. Priorities count only among equals.
//!
//! *Deviation*: a path with nothing in flight counts with its minimum RTT. Its smoothed one is of the
//! time when it was last used, with a queue that is gone since; taken as it is, one such path is not
//! chosen again for as long as the others are faster than that.

use super::{PathSet, PathView, Scheduler, Waiting};
use core::cmp::Reverse;
use units::{Duration, Instant};

/// Shortest RTT first.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortestRtt;

impl Scheduler for ShortestRtt {
    fn name(&self) -> &'static str {
        "srtt"
    }

    fn choose(&mut self, _now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        paths
            .iter()
            .filter(|path| path.has_room())
            .min_by_key(|path| (present_rtt(path), Reverse(path.priority), path.id))
            .map_or(PathSet::NONE, |path| PathSet::one(path.id))
    }
}

/// What is known of a path's RTT as it is now.
fn present_rtt(path: &PathView) -> Duration {
    match path.min_rtt {
        Some(min) if path.used().is_zero() => min,
        _ => path.srtt_or_zero(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choose, path};
    use super::*;

    #[test]
    fn the_lower_rtt_is_taken_as_long_as_it_has_room() {
        let paths = |used| [path(0, 3, 10, used, 20), path(1, 4, 10, 0, 40)];
        assert_eq!(choose(&mut ShortestRtt, &paths(9)), [0]);
        assert_eq!(choose(&mut ShortestRtt, &paths(10)), [1]);
    }

    /// It was left with a queue of 40 ms: while others are in use the queue has gone.
    #[test]
    fn an_idle_path_has_no_queue() {
        let left = PathView {
            min_rtt: Some(Duration::from_millis(20)),
            ..path(0, 3, 10, 0, 60)
        };
        let used = PathView {
            in_flight: units::Packets::new(1),
            ..left
        };
        let other = path(1, 4, 10, 5, 40);
        assert_eq!(choose(&mut ShortestRtt, &[left, other]), [0]);
        assert_eq!(choose(&mut ShortestRtt, &[used, other]), [1]);
    }
}
