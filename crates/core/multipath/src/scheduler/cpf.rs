//! Cheapest path first (Pieska et al. 2024, section 2.3): the path of highest priority whose window
//! has room; the next one only when that is full. Ties go to the lower smoothed RTT.

use super::{PathSet, PathView, Scheduler, Waiting};
use core::cmp::Reverse;
use units::Instant;

/// Cheapest path first.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheapestPathFirst;

/// The best of the paths that pass: highest priority, then lowest smoothed RTT, then lowest number.
pub(super) fn cheapest<'a>(paths: impl Iterator<Item = &'a PathView>) -> PathSet {
    paths
        .min_by_key(|path| (Reverse(path.priority), path.srtt_or_zero(), path.id))
        .map_or(PathSet::NONE, |path| PathSet::one(path.id))
}

impl Scheduler for CheapestPathFirst {
    fn name(&self) -> &'static str {
        "cpf"
    }

    fn choose(&mut self, _now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        cheapest(paths.iter().filter(|path| path.has_room()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choose, path};
    use super::*;

    #[test]
    fn the_expensive_path_gets_what_the_cheap_window_does_not_take() {
        let mut cpf = CheapestPathFirst;
        let cheap = |used| path(0, 4, 10, used, 90);
        let dear = path(1, 3, 10, 0, 10);
        assert_eq!(choose(&mut cpf, &[cheap(9), dear]), [0]);
        assert_eq!(choose(&mut cpf, &[cheap(10), dear]), [1]);
        let queued = PathView {
            queued: units::Packets::new(1),
            ..cheap(9)
        };
        assert_eq!(choose(&mut cpf, &[queued, dear]), [1]);
    }

    #[test]
    fn ties_go_to_the_lower_rtt() {
        let paths = [path(0, 3, 10, 0, 40), path(1, 3, 10, 0, 20)];
        assert_eq!(choose(&mut CheapestPathFirst, &paths), [1]);
    }
}
