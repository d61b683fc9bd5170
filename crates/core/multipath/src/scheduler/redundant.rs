//! Redundant: every packet on all paths, for the lowest delay and the lowest loss at the highest cost.
//! The receiver drops the copies that come later. A packet waits until all windows have room: what
//! there is goes no faster than the slowest path takes it, and none goes on one path alone.

use super::{PathSet, PathView, Scheduler, Waiting};
use units::Instant;

/// Every packet on every path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redundant;

impl Scheduler for Redundant {
    fn name(&self) -> &'static str {
        "redundant"
    }

    fn choose(&mut self, _now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        match paths.iter().all(PathView::has_room) {
            true => paths.iter().map(|path| path.id).collect(),
            false => PathSet::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choose, path};
    use super::*;

    #[test]
    fn every_path_gets_a_copy_once_all_have_room() {
        let paths = |used| [path(0, 3, 9, 0, 1), path(1, 3, 9, used, 1)];
        assert_eq!(choose(&mut Redundant, &paths(8)), [0, 1]);
        assert!(choose(&mut Redundant, &paths(9)).is_empty());
    }
}
