//! Round robin: the paths in turn, packet by packet, past those whose window has no room.

use super::{PathSet, PathView, Scheduler, Waiting};
use crate::PathId;
use units::Instant;

/// Round robin.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    /// The path chosen last.
    last: Option<PathId>,
}

impl Scheduler for RoundRobin {
    fn name(&self) -> &'static str {
        "rr"
    }

    fn choose(&mut self, _now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        let with_room = || paths.iter().filter(|path| path.has_room());
        let next = with_room()
            .find(|path| Some(path.id) > self.last)
            .or_else(|| with_room().next());
        let Some(next) = next else {
            return PathSet::NONE;
        };
        self.last = Some(next.id);
        PathSet::one(next.id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choose, path};
    use super::*;

    #[test]
    fn paths_take_turns_and_full_ones_are_passed() {
        let mut scheduler = RoundRobin::default();
        let open = [
            path(0, 3, 9, 0, 1),
            path(1, 3, 9, 0, 1),
            path(2, 3, 9, 0, 1),
        ];
        let turns: Vec<_> = (0..4).flat_map(|_| choose(&mut scheduler, &open)).collect();
        assert_eq!(turns, [0, 1, 2, 0]);
        let full = [open[0], path(1, 3, 9, 9, 1), open[2]];
        assert_eq!(choose(&mut scheduler, &full), [2]);
    }
}
