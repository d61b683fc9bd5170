//! Shortest RTT first (Pieska et al. 2024, section 5.4; the default of MPTCP): among the paths whose
//! window has room the one of lowest smoothed RTT. Priorities count only among equals.

use super::{PathSet, PathView, Scheduler, Waiting};
use core::cmp::Reverse;
use units::Instant;

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
            .min_by_key(|path| (path.srtt_or_zero(), Reverse(path.priority), path.id))
            .map_or(PathSet::NONE, |path| PathSet::one(path.id))
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
}
