//! The fewest packets: of the paths whose window has room, the one on which the least is in flight or waits.

use super::{PathSet, PathView, Scheduler, Waiting};
use units::Instant;

/// The fewest packets.
#[derive(Clone, Copy, Debug)]
pub struct Fewest;

impl Scheduler for Fewest {
    fn name(&self) -> &'static str {
        "fewest"
    }

    fn choose(&mut self, _now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        paths
            .iter()
            .filter(|path| path.has_room())
            .min_by_key(|path| (path.used(), path.id))
            .map_or(PathSet::NONE, |path| PathSet::one(path.id))
    }
}
