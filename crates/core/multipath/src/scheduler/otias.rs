//! OTIAS: out-of-order transmission for in-order arrival scheduling (Yang, Wang and Amer 2014).
//!
//! A packet goes where it will arrive first, whether the path's window has room or not: what does
//! not fit waits on its path for whole round trips.
//!
//! ```text
//!   rounds = (queued - room) / cwnd        room = cwnd - in_flight
//!   arrival = rounds * srtt + srtt / 2
//! ```
//!
//! *Deviations*: a path without an RTT sample counts as one of RTT 0, so that it gets one.

use super::{PathSet, PathView, Scheduler, Waiting};
use units::{Duration, Instant};

/// Out-of-order transmission for in-order arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Otias;

/// Round trips until a packet leaves that is queued on the path now: 0 as long as the window takes
/// it.
fn rounds_to_wait(path: &PathView) -> f64 {
    let room = path.cwnd.get() as f64 - path.in_flight.get() as f64;
    let excess = path.queued.get() as f64 - room;
    excess.max(0.0) / path.cwnd.get().max(1) as f64
}

/// How long from now it arrives.
fn arrival(path: &PathView) -> Duration {
    path.srtt_or_zero().mul_f64(rounds_to_wait(path) + 0.5)
}

impl Scheduler for Otias {
    fn name(&self) -> &'static str {
        "otias"
    }

    fn choose(&mut self, _now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        paths
            .iter()
            .min_by_key(|path| (arrival(path), path.id))
            .map_or(PathSet::NONE, |path| PathSet::one(path.id))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choose, path};
    use super::*;
    use units::Packets;

    fn queued(used: u64, queued: u64, rtt_ms: u64, id: u8) -> PathView {
        PathView {
            queued: Packets::new(queued),
            ..path(id, 3, 10, used, rtt_ms)
        }
    }

    #[test]
    fn arrival_counts_the_rounds_to_wait() {
        // 10 in flight, 10 queued: a round to wait, and half a round trip on the way
        assert_eq!(arrival(&queued(10, 10, 20, 0)), Duration::from_millis(30));
        assert_eq!(arrival(&queued(5, 5, 20, 0)), Duration::from_millis(10));
    }

    #[test]
    fn the_earlier_arrival_wins_even_without_room() {
        // 20 ms and full: 0.5 and 0.7 rounds to wait make 20 and 24 ms, against 22 ms on the other
        let slow = path(1, 3, 10, 0, 44);
        assert_eq!(choose(&mut Otias, &[queued(10, 5, 20, 0), slow]), [0]);
        assert_eq!(choose(&mut Otias, &[queued(10, 7, 20, 0), slow]), [1]);
    }
}
