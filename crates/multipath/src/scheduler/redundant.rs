//! Redundant: every packet on all paths whose window has room, for the least delay and the least
//! loss at the highest cost. The receiver drops the copies that come later.

use super::{PathSet, PathView, Scheduler, Waiting};
use units::Instant;

/// Every packet on every path with room.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redundant;

impl Scheduler for Redundant {
    fn name(&self) -> &'static str {
        "redundant"
    }

    fn choose(&mut self, _now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        paths
            .iter()
            .filter(|path| path.has_room())
            .map(|path| path.id)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choose, path};
    use super::*;

    #[test]
    fn every_path_with_room_gets_a_copy() {
        let paths = [
            path(0, 3, 9, 0, 1),
            path(1, 3, 9, 9, 1),
            path(2, 3, 9, 8, 1),
        ];
        assert_eq!(choose(&mut Redundant, &paths), [0, 2]);
    }
}
