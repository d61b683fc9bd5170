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
//!   full = bdp + min((gain - 1) * bdp, rate * max_queue) + allowance      but never more than cwnd
//! ```
//!
//! `rate` is what the path has lately delivered, or what a fresh radio report says that it can. With
//! `gain` above 1 the path keeps being filled a little above its estimate, so that the estimate can
//! rise when the path does, but by no longer a queue than `max_queue`, which stays below what CoDel
//! takes for a standing one (RFC 8289: 5 ms); the allowance is for acknowledgements that come in
//! pairs or batches. What neither path takes waits in the scheduler's buffer, where it can still go
//! either way, and not in a bottleneck.
//!
//! A path that paces is full as well once a packet would wait there for longer than `max_wait`: the
//! numbers of packets are given as paths are chosen, and what waits on one path while later numbers
//! leave on another arrives out of order.
//!
//! A path so slow that the receiver would give its packets up before they come (its least round-trip
//! time against the least of all, halved) is not used while there is another.
//!
//! While the rate still grows, `gain` is 2, as in slow start; it has stopped growing when it has not
//! risen by a quarter for three round trips (the rule by which BBR leaves its startup). Without any
//! estimate the window alone says when a path is full.
//!
//! Among paths of the same priority the lower smoothed RTT is first, as in `cpf`.

use super::cpf::cheapest;
use super::{PathSet, PathView, Scheduler, Waiting};
use units::{BitRate, Duration, Instant, Packets};

/// Gain while a path's rate grows.
const GROWING_GAIN: f64 = 2.0;
/// A rate so much above the last has grown.
const GROWTH: f64 = 1.25;
/// Round trips without growth after which a rate has stopped growing.
const FULL_ROUNDS: u64 = 3;

/// Of [`Aware`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AwareConfig {
    /// Bandwidth-delay products that a path is filled to: 1 or more.
    pub gain: f64,
    /// Packets beside them.
    pub allowance: Packets,
    /// Longest wait on a path that paces.
    pub max_wait: Duration,
    /// Longest queue that the gain makes.
    pub max_queue: Duration,
}

impl Default for AwareConfig {
    fn default() -> Self {
        Self {
            gain: 1.25,
            allowance: Packets::new(6),
            max_wait: Duration::from_millis(2),
            max_queue: Duration::from_millis(3),
        }
    }
}

/// How far a path's rate has grown.
#[derive(Clone, Copy, Debug)]
struct Growth {
    rate: BitRate,
    /// When it last grew to that.
    at: Instant,
}

/// Congestion-aware cheapest path first.
#[derive(Clone, Debug)]
pub struct Aware {
    config: AwareConfig,
    /// How much later than the fastest path another may deliver.
    max_lag: Duration,
    /// By path number.
    growth: Vec<Option<Growth>>,
}

impl Aware {
    /// With that configuration; a gain below 1 counts as 1.
    pub fn new(config: AwareConfig) -> Self {
        Self {
            config: AwareConfig {
                gain: config.gain.max(1.0),
                ..config
            },
            max_lag: Duration::MAX,
            growth: Vec::new(),
        }
    }

    fn is_too_slow(&self, path: &PathView, fastest: Duration) -> bool {
        path.min_rtt
            .is_some_and(|rtt| rtt.saturating_sub(fastest) / 2 > self.max_lag)
    }

    fn note_growth(&mut self, now: Instant, path: &PathView) {
        let index = usize::from(path.id.0);
        if self.growth.len() <= index {
            self.growth.resize(index + 1, None);
        }
        let Some(rate) = path.delivery_rate else {
            self.growth[index] = None;
            return;
        };
        let has_grown = self.growth[index].is_none_or(|last| rate.ratio(last.rate) >= GROWTH);
        if has_grown {
            self.growth[index] = Some(Growth { rate, at: now });
        }
    }

    fn gain(&self, now: Instant, path: &PathView) -> f64 {
        let rounds = path.srtt_or_zero() * FULL_ROUNDS;
        match self.growth.get(usize::from(path.id.0)) {
            Some(Some(last)) if now.saturating_since(last.at) < rounds => GROWING_GAIN,
            _ => self.config.gain,
        }
    }

    /// The packets at which the path is full; none: its window alone says.
    fn fill(&self, now: Instant, path: &PathView) -> Option<Packets> {
        let rate = path.radio_rate.or(path.delivery_rate)?;
        let bdp = rate.bytes_in(path.min_rtt?);
        let gain = self.gain(now, path);
        let queue = bdp.mul_f64(gain - 1.0);
        let queue = match gain > self.config.gain {
            true => queue,
            false => queue.min(rate.bytes_in(self.config.max_queue)),
        };
        let packets = (bdp + queue).ratio(path.packet_size);
        Some(Packets::new(packets.ceil() as u64) + self.config.allowance)
    }

    fn has_room(&self, now: Instant, path: &PathView) -> bool {
        path.has_room()
            && path.pacing_wait() <= self.config.max_wait
            && self.fill(now, path).is_none_or(|fill| path.used() < fill)
    }
}

impl Scheduler for Aware {
    fn name(&self) -> &'static str {
        "aware"
    }

    fn choose(&mut self, now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        paths.iter().for_each(|path| self.note_growth(now, path));
        let fastest = paths.iter().filter_map(|path| path.min_rtt).min();
        let fastest = fastest.unwrap_or(Duration::ZERO);
        let usable = paths.iter().filter(|path| !self.is_too_slow(path, fastest));
        cheapest(usable.filter(|path| self.has_room(now, path)))
    }

    fn set_max_lag(&mut self, lag: Duration) {
        self.max_lag = lag;
    }

    fn is_full(&self, now: Instant, path: &PathView) -> bool {
        !self.has_room(now, path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path;
    use super::*;

    /// Long after its rate has stopped growing.
    fn settled(aware: &mut Aware, paths: &[PathView]) -> Vec<u8> {
        let waiting = Waiting {
            packets: Packets::new(1),
            next: units::Bytes::new(1_400),
        };
        aware.choose(Instant::ZERO, waiting, paths);
        let later = Instant::ZERO + Duration::from_secs(1);
        let chosen = aware.choose(later, waiting, paths);
        chosen.iter().map(|path| path.0).collect()
    }

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
            ..AwareConfig::default()
        });
        let dear = path(1, 3, 10, 0, 40);
        assert_eq!(settled(&mut aware, &[measured(105), dear]), [0]);
        assert_eq!(settled(&mut aware, &[measured(106), dear]), [1]);
        // and with the expensive one full too, the packet waits
        let full = path(1, 3, 10, 10, 40);
        assert!(settled(&mut aware, &[measured(106), full]).is_empty());
    }

    #[test]
    fn a_report_of_the_radio_is_believed_before_the_past() {
        let mut aware = Aware::new(AwareConfig::default());
        let faded = PathView {
            radio_rate: Some(BitRate::from_bps(5_000_000)),
            ..measured(30)
        };
        assert!(settled(&mut aware, &[faded]).is_empty());
        assert_eq!(settled(&mut aware, &[measured(30)]), [0]);
    }

    #[test]
    fn packets_do_not_wait_long_on_a_path_that_paces() {
        let mut aware = Aware::new(AwareConfig::default());
        let pacing = |queued| PathView {
            queued: Packets::new(queued),
            // 1,500 bytes in 0.24 ms
            pacing_rate: Some(BitRate::from_mbps(50)),
            ..measured(20)
        };
        assert_eq!(settled(&mut aware, &[pacing(8)]), [0]);
        assert!(settled(&mut aware, &[pacing(9)]).is_empty());
    }

    #[test]
    fn a_path_that_cannot_be_put_in_order_is_left_while_there_is_another() {
        let mut aware = Aware::new(AwareConfig::default());
        aware.set_max_lag(Duration::from_millis(90));
        let slow = |rtt| path(1, 3, 100, 0, rtt);
        assert_eq!(settled(&mut aware, &[measured(200), slow(204)]), [1]);
        assert!(settled(&mut aware, &[measured(200), slow(206)]).is_empty());
        assert_eq!(settled(&mut aware, &[slow(206)]), [1]);
    }

    #[test]
    fn a_rate_that_grows_may_double() {
        let mut aware = Aware::new(AwareConfig::default());
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let waiting = Waiting {
            packets: Packets::new(1),
            next: units::Bytes::new(1_400),
        };
        let mut has_room = |ms, used| !aware.choose(at(ms), waiting, &[measured(used)]).is_empty();
        assert!(has_room(0, 205) && !has_room(0, 206));
        // three round trips of 24 ms later 3 ms more than the product: 112.5 packets
        assert!(has_room(71, 205) && !has_room(72, 119) && has_room(72, 118));
    }
}
