//! Congestion-aware cheapest path first (ours; the paper's future work vi).
//!
//! Cheapest path first takes the cheap path for full when its congestion window is: at two
//! bandwidth-delay products with BBR, at the whole bottleneck buffer with a controller that fills it.
//! A sender outside whose own window is smaller than that never reaches the expensive path, and sees
//! no more than one path can carry; so its window never grows. Here a path is full when the packets
//! in it are as many as it needs to be busy:
//!
//! ```text
//!   bdp  = rate * min_rtt
//!   full = gain * bdp + allowance          but never more than cwnd
//! ```
//!
//! `rate` is what the path has lately delivered, or what a fresh radio report says that it can. With
//! `gain` above 1 the path keeps being filled a little above its estimate, so that the estimate can
//! rise when the path does; the allowance is for acknowledgements that come in pairs or batches.
//! What neither path takes waits in the scheduler's buffer, where it can still go either way, and
//! not in a bottleneck.
//!
//! While a path's controller is still starting (slow start, BBR's startup), its whole window is
//! used: an estimate that is still growing is no measure of what the path needs.
//!
//! Among paths of the same priority the lower smoothed RTT is first, as in `cpf`.

use super::cpf::cheapest;
use super::{PathSet, PathView, Scheduler, Waiting};
use units::{BitRate, Instant, Packets};

/// Of [`Aware`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AwareConfig {
    /// Bandwidth-delay products that a path is filled to: 1 or more.
    pub gain: f64,
    /// Packets beside them.
    pub allowance: Packets,
}

impl Default for AwareConfig {
    fn default() -> Self {
        Self {
            gain: 1.25,
            allowance: Packets::new(6),
        }
    }
}

/// Congestion-aware cheapest path first.
#[derive(Clone, Copy, Debug)]
pub struct Aware {
    config: AwareConfig,
}

impl Aware {
    /// With that configuration; a gain below 1 counts as 1.
    pub fn new(config: AwareConfig) -> Self {
        Self {
            config: AwareConfig {
                gain: config.gain.max(1.0),
                ..config
            },
        }
    }

    /// The packets at which the path is full; none: its window alone says.
    fn fill(&self, path: &PathView) -> Option<Packets> {
        if path.is_starting && path.radio_rate.is_none() {
            return None;
        }
        let rate: BitRate = path.radio_rate.or(path.delivery_rate)?;
        let bdp = rate.bytes_in(path.min_rtt?);
        let packets = bdp.ratio(path.packet_size) * self.config.gain;
        Some(Packets::new(packets.ceil() as u64) + self.config.allowance)
    }

    fn has_room(&self, path: &PathView) -> bool {
        path.has_room() && self.fill(path).is_none_or(|fill| path.used() < fill)
    }
}

impl Scheduler for Aware {
    fn name(&self) -> &'static str {
        "aware"
    }

    fn choose(&mut self, _now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        cheapest(paths.iter().filter(|path| self.has_room(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choose, path};
    use super::*;

    fn measured(used: u64) -> PathView {
        PathView {
            // 50 Mbit/s and 24 ms: 150,000 bytes, 100 packets
            delivery_rate: Some(BitRate::from_bps(50_000_000)),
            ..path(0, 4, 500, used, 24)
        }
    }

    #[test]
    fn a_path_is_full_at_its_bandwidth_delay_product() {
        let mut aware = Aware::new(AwareConfig {
            gain: 1.0,
            allowance: Packets::new(6),
        });
        let dear = path(1, 3, 10, 0, 40);
        assert_eq!(choose(&mut aware, &[measured(105), dear]), [0]);
        assert_eq!(choose(&mut aware, &[measured(106), dear]), [1]);
        // and with the expensive one full too, the packet waits
        let full = path(1, 3, 10, 10, 40);
        assert!(choose(&mut aware, &[measured(106), full]).is_empty());
    }

    #[test]
    fn a_report_of_the_radio_is_believed_before_the_past() {
        let mut aware = Aware::new(AwareConfig::default());
        let faded = PathView {
            radio_rate: Some(BitRate::from_bps(5_000_000)),
            ..measured(30)
        };
        assert!(choose(&mut aware, &[faded]).is_empty());
        assert_eq!(choose(&mut aware, &[measured(30)]), [0]);
    }

    #[test]
    fn a_path_that_is_starting_uses_its_whole_window() {
        let mut aware = Aware::new(AwareConfig::default());
        let starting = PathView {
            is_starting: true,
            ..measured(400)
        };
        assert_eq!(choose(&mut aware, &[starting]), [0]);
    }
}
