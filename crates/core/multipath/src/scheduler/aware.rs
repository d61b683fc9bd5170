//! Congestion-aware cheapest path first (ours; the paper's future work vi).
//!
//! Cheapest path first takes the cheap path for full when its congestion window is: at two
//! bandwidth-delay products with BBR, at the whole bottleneck buffer with a controller that fills it.
//! A sender outside whose own window is smaller than that never reaches the expensive path, and sees
//! no more than one path can carry; so its window never grows. Here a path is full when the packets
//! in it are as many as it needs to be busy:
//!
//! ```text
//!   bdp   = rate * min_rtt
//!   full  = bdp + queue + allowance                                      but never more than cwnd
//!   queue = min((gain - 1) * bdp, rate * max_queue)                      if a queue stands there
//!           max(bdp, rate * min_queue)                                   if none does
//!   a queue stands there: srtt > min_rtt + max_queue / 2
//! ```
//!
//! `rate` is what the path has lately delivered, or the capacity of a fresh radio report. What
//! was delivered is what there was to send as long as nothing queues, and the path may be as fast
//! again: then its filling may double in a round trip, as in slow start. Once a queue stands there the
//! rate is the path's own. Then `gain` above 1 keeps it filled a little above the estimate, so that
//! no acknowledgement finds it empty, but by no longer a queue than `max_queue`, which stays below what
//! CoDel takes for a standing one (RFC 8289: 5 ms). The allowance is for acknowledgements that come in
//! pairs, `min_queue` for hosts that hand packets on in batches: over a path of microseconds the
//! product is a few packets, and every few packets would wake both ends. What neither path takes waits
//! in the scheduler's buffer, where it can still go either way, and not in a bottleneck.
//!
//! Where round trips differ without a queue (a radio that sends again, a host that is late), `full` packets over a round
//! trip longer than `full / rate` deliver less than `rate`, which is then the rate, and so on: the path carries ever less.
//! `aware-jitter` is for such paths:
//!
//! ```text
//!   spread = srtt - recent_min                                           what packets wait that not all of them wait
//!   full   = bdp + rate * min(spread, min_rtt / 2) + queue + allowance
//!   a queue stands there: recent_min > min_rtt + max(max_queue / 2, spread)
//! ```
//!
//! `recent_min` is the least of the last two rounds. A burst looks like jitter, and the queue behind it is seen a round
//! later: over paths without jitter `aware` is better. Where only smoothed times are known (paths of TCP carriers)
//! both are the same.
//!
//! A path that paces is full as well once a packet would wait there for longer than `max_wait`: the
//! numbers of packets are given as paths are chosen, and what waits on one path while later numbers
//! leave on another arrives out of order.
//!
//! A path so slow that the receiver would give its packets up before they come (its minimum round-trip
//! time against the minimum of all, halved) is not used while there is another.
//!
//! Among paths of the same priority the lower smoothed RTT is first, as in `cpf`.

use super::cpf::cheapest;
use super::{PathSet, PathView, Scheduler, Waiting};
use units::{Duration, Instant, Packets};

/// Gain while nothing queues on a path.
const GROWING_GAIN: f64 = 2.0;

/// Of [`Aware`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AwareConfig {
    /// Bandwidth-delay products that a path is filled to: 1 or more.
    pub gain: f64,
    /// Packets beside them.
    pub allowance: Packets,
    /// Longest wait on a path that paces.
    pub max_wait: Duration,
    /// Shortest queue that a path is given beside its product while none stands there.
    pub min_queue: Duration,
    /// Longest queue that the gain makes.
    pub max_queue: Duration,
    /// Round trips differ without a queue: `aware-jitter`.
    pub has_jitter: bool,
}

impl Default for AwareConfig {
    fn default() -> Self {
        Self {
            gain: 1.25,
            allowance: Packets::new(6),
            max_wait: Duration::from_millis(2),
            min_queue: Duration::from_millis(1),
            max_queue: Duration::from_millis(3),
            has_jitter: false,
        }
    }
}

/// Congestion-aware cheapest path first.
#[derive(Clone, Debug)]
pub struct Aware {
    config: AwareConfig,
    /// How much later than the fastest path another may deliver.
    max_lag: Duration,
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
        }
    }

    fn is_too_slow(&self, path: &PathView, fastest: Duration) -> bool {
        path.min_rtt
            .is_some_and(|rtt| rtt.saturating_sub(fastest) / 2 > self.max_lag)
    }

    /// What packets wait on average that not all of them wait.
    fn spread(&self, path: &PathView) -> Duration {
        match path.recent_min_rtt {
            Some(least) if self.config.has_jitter => path.srtt_or_zero().saturating_sub(least),
            _ => Duration::ZERO,
        }
    }

    /// A queue stands on the path; with jitter: the fastest packet waits too, and for longer than packets differ by.
    fn has_queue(&self, path: &PathView) -> bool {
        let min_rtt = path.min_rtt.unwrap_or_default();
        let spread = self.spread(path);
        let rtt = match path.recent_min_rtt {
            Some(least) if self.config.has_jitter => least,
            _ => path.srtt_or_zero(),
        };
        !path.in_flight.is_zero() && rtt > min_rtt + spread.max(self.config.max_queue / 2)
    }

    /// The packets at which the path is full; none: its window alone decides.
    fn fill(&self, path: &PathView) -> Option<Packets> {
        let rate = path.radio_rate.or(path.delivery_rate)?;
        let min_rtt = path.min_rtt?;
        let bdp = rate.bytes_in(min_rtt);
        let AwareConfig {
            gain,
            min_queue,
            max_queue,
            ..
        } = self.config;
        let queue = match self.has_queue(path) || path.radio_rate.is_some() {
            true => bdp.mul_f64(gain - 1.0).min(rate.bytes_in(max_queue)),
            false => bdp
                .mul_f64(GROWING_GAIN - 1.0)
                .max(rate.bytes_in(min_queue)),
        };
        let late = rate.bytes_in(self.spread(path).min(min_rtt / 2));
        let filled = bdp + late + queue;
        let packets = filled.ratio(path.packet_size).ceil();
        Some(Packets::new(packets as u64) + self.config.allowance)
    }

    fn has_room(&self, path: &PathView) -> bool {
        path.has_room()
            && path.pacing_wait() <= self.config.max_wait
            && self.fill(path).is_none_or(|fill| path.used() < fill)
    }
}

impl Scheduler for Aware {
    fn name(&self) -> &'static str {
        match self.config.has_jitter {
            true => "aware-jitter",
            false => "aware",
        }
    }

    fn choose(&mut self, _now: Instant, _waiting: Waiting, paths: &[PathView]) -> PathSet {
        let fastest = paths.iter().filter_map(|path| path.min_rtt).min();
        let fastest = fastest.unwrap_or(Duration::ZERO);
        let usable = paths.iter().filter(|path| !self.is_too_slow(path, fastest));
        cheapest(usable.filter(|path| self.has_room(path)))
    }

    fn bounds_paths(&self) -> bool {
        true
    }

    fn set_max_lag(&mut self, lag: Duration) {
        self.max_lag = lag;
    }

    fn is_full(&self, _now: Instant, path: &PathView) -> bool {
        !self.has_room(path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choose, path};
    use super::*;
    use units::BitRate;

    fn measured(used: u64) -> PathView {
        PathView {
            // 50 Mbit/s and 24 ms: 150,000 bytes, 100 packets
            delivery_rate: Some(BitRate::from_bps(50_000_000)),
            srtt: Some(Duration::from_millis(27)),
            ..path(0, 4, 500, used, 24)
        }
    }

    #[test]
    fn a_path_is_full_at_its_bandwidth_delay_product() {
        let mut aware = Aware::new(AwareConfig {
            gain: 1.0,
            min_queue: Duration::ZERO,
            allowance: Packets::new(6),
            ..AwareConfig::default()
        });
        let dear = path(1, 3, 10, 0, 40);
        assert_eq!(choose(&mut aware, &[measured(105), dear]), [0]);
        assert_eq!(choose(&mut aware, &[measured(106), dear]), [1]);
        // and with the expensive one full too, the packet waits
        let full = path(1, 3, 10, 10, 40);
        assert!(choose(&mut aware, &[measured(106), full]).is_empty());
    }

    #[test]
    fn a_radio_report_takes_precedence_over_the_measured_rate() {
        let mut aware = Aware::new(AwareConfig::default());
        let faded = PathView {
            radio_rate: Some(BitRate::from_bps(5_000_000)),
            ..measured(30)
        };
        assert!(choose(&mut aware, &[faded]).is_empty());
        assert_eq!(choose(&mut aware, &[measured(30)]), [0]);
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
        assert_eq!(choose(&mut aware, &[pacing(8)]), [0]);
        assert!(choose(&mut aware, &[pacing(9)]).is_empty());
    }

    #[test]
    fn a_path_that_cannot_be_put_in_order_is_left_while_there_is_another() {
        let mut aware = Aware::new(AwareConfig::default());
        aware.set_max_lag(Duration::from_millis(90));
        let slow = |rtt| path(1, 3, 100, 0, rtt);
        assert_eq!(choose(&mut aware, &[measured(200), slow(204)]), [1]);
        assert!(choose(&mut aware, &[measured(200), slow(206)]).is_empty());
        assert_eq!(choose(&mut aware, &[slow(206)]), [1]);
    }

    #[test]
    fn a_short_path_holds_a_millisecond() {
        let mut aware = Aware::new(AwareConfig::default());
        let at = |used| PathView {
            // 1 Gbit/s and 48 us: four packets; a millisecond is 83.3
            delivery_rate: Some(BitRate::from_mbps(1_000)),
            min_rtt: Some(Duration::from_micros(48)),
            srtt: Some(Duration::from_micros(48)),
            ..measured(used)
        };
        let mut has_room = |path| !choose(&mut aware, &[path]).is_empty();
        assert!(has_room(at(93)) && !has_room(at(94)));
    }

    fn tolerant() -> Aware {
        Aware::new(AwareConfig {
            has_jitter: true,
            ..AwareConfig::default()
        })
    }

    /// 50 Mbit/s and 24 ms, 100 packets; packets take 28 ms on average.
    #[test]
    fn with_jitter_what_not_all_packets_wait_is_no_queue_and_a_path_holds_it() {
        let mut aware = tolerant();
        let at = |used, recent_min_us| PathView {
            srtt: Some(Duration::from_millis(28)),
            recent_min_rtt: Some(Duration::from_micros(recent_min_us)),
            ..measured(used)
        };
        let mut has_room = |path| !choose(&mut aware, &[path]).is_empty();
        // no queue: twice the product, 4 ms more, and six
        assert!(has_room(at(222, 24_000)) && !has_room(at(223, 24_000)));
        // all wait 2 ms, some more, 2 ms on average: twice the product, 2 ms more, and six
        assert!(has_room(at(214, 26_000)) && !has_room(at(215, 26_000)));
        // all wait 2.16 ms, which is more than they differ by: the product, 3 and 1.84 ms more, and six
        assert!(has_room(at(126, 26_160)) && !has_room(at(127, 26_160)));
        // without jitter the smoothed time is what counts: a queue, the product, 3 ms more, and six
        let mut plain = Aware::new(AwareConfig::default());
        let mut has_room = |path| !choose(&mut plain, &[path]).is_empty();
        assert!(has_room(at(118, 24_000)) && !has_room(at(119, 24_000)));
    }

    #[test]
    fn what_a_path_holds_of_jitter_is_half_a_product_at_most() {
        let mut aware = tolerant();
        let at = |used| PathView {
            srtt: Some(Duration::from_millis(84)),
            recent_min_rtt: Some(Duration::from_millis(24)),
            ..measured(used)
        };
        let mut has_room = |path| !choose(&mut aware, &[path]).is_empty();
        assert!(has_room(at(255)) && !has_room(at(256)));
    }

    #[test]
    fn a_path_without_a_queue_may_take_as_much_again() {
        let mut aware = Aware::new(AwareConfig::default());
        let at = |used, srtt_us| PathView {
            srtt: Some(Duration::from_micros(srtt_us)),
            ..measured(used)
        };
        let mut has_room = |path| !choose(&mut aware, &[path]).is_empty();
        assert!(has_room(at(205, 25_500)) && !has_room(at(206, 25_500)));
        // with a queue of 3 ms beside the product: 112.5 packets and six
        assert!(has_room(at(118, 25_501)) && !has_room(at(119, 25_501)));
    }
}
