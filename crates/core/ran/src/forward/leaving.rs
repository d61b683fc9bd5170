//! The queues above the RLC, as a UE leaves.

use super::Forwarder;
use crate::handover::drain;
use crate::packet::Held;
use crate::stats::DirectionStats;
use queue::Packet;
use units::Instant;

impl<P: Packet + Send> Forwarder<P> {
    /// Takes out what these queues hold of a bearer, in order.
    pub(crate) fn empty(
        &mut self,
        now: Instant,
        bearer: usize,
        stats: &mut DirectionStats,
    ) -> Vec<Held<P>> {
        let layers = &mut self.layers[bearer];
        let mut all = Vec::new();
        if let Some(sdap) = &mut layers.sdap {
            all = drain(sdap, now);
            for held in &all {
                stats.sdap.remove(held.bytes());
            }
        }
        let above = drain(&mut layers.upf, now);
        for held in &above {
            stats.upf.remove(held.bytes());
        }
        all.extend(above);
        self.settle(bearer);
        all
    }
}
