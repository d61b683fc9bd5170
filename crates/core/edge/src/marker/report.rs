//! The report side: from what a report shows of a UE's radio to the order by which its packets are judged.
//!
//! The rate is [`Unsplit::share`], times the configured part. How much it spreads chooses the ramp of the L4S law: a
//! radio that varies has its queue swing by that, and a short ramp would let it run dry.

use super::fixed::{DRAIN_SHIFT, MAX_DRAIN};
use super::{MarkerConfig, Order};
use rapid::Unsplit;
use units::{Bytes, Duration, Instant};

/// Forgetting time of the mean rate and its deviation, and of what waits of the proxy's flows, seconds.
const SPREAD_TIME: f64 = 0.2;
/// Forgetting time of a rate that is by chance, seconds.
const CHANCE_TIME: f64 = 0.01;
/// Standard deviation over mean absolute deviation, of a normal distribution.
const NORMAL: f64 = 1.253;
/// Relative standard deviations up to which a radio is steady, and from which on its ramp is the wide one.
const STEADY: f64 = 0.05;
const VARYING: f64 = 0.25;
/// Eighths of the share below which a flow is left alone: alone with the radio, and beside flows of the proxy that request
/// all, whose part of the queue marks would be for.
const SPARED: u64 = 4;
const SPARED_CONTESTED: u64 = 7;

/// The flows of the proxy aim at a few milliseconds: what waits of them beyond this is no aim of theirs.
const MAX_OWN_WAIT: Duration = Duration::from_millis(20);

/// What is kept of a UE's reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reporter {
    number: u64,
    last: Option<Instant>,
    /// Of the capacity, byte/s: mean, and mean absolute deviation.
    mean: f64,
    deviation: f64,
    /// The share over the capacity, and the capacity where it is by chance, byte/s.
    capacity: f64,
    /// How long what waits of the flows of the proxy takes, averaged, ns.
    own_wait: f64,
}

impl Reporter {
    /// A report came at `now`.
    pub fn order(&mut self, now: Instant, unsplit: &Unsplit, config: &MarkerConfig) -> Order {
        let elapsed = match self.last.replace(unsplit.reported_at) {
            Some(last) => unsplit.reported_at.saturating_since(last).as_secs_f64(),
            None => 0.0,
        };
        let share = self.rate(unsplit, elapsed) * config.rate_fraction;
        self.follow_own_wait(unsplit, elapsed);
        let t = ((self.spread() - STEADY) / (VARYING - STEADY)).clamp(0.0, 1.0);
        let between = |steady: Duration, wide: Duration| {
            let (steady, wide) = (steady.as_nanos() as f64, wide.as_nanos() as f64);
            // what the proxy's own flows let wait is not for this traffic to make up for
            (steady + t * (wide - steady) + self.own_wait) as u64
        };
        let slack = match unsplit.is_contested {
            true => config.contested_slack,
            false => config.slack,
        };
        // what waits in the base station had passed here by then
        let reported_at = unsplit.reported_at.min(now).since_start();
        self.number += 1;
        Order {
            number: self.number,
            counted_until: reported_at.saturating_sub(config.transit).as_nanos(),
            valid_until: (reported_at + config.max_age).as_nanos(),
            drain: drain(share),
            queue: unsplit.queue.get(),
            slack: Bytes::new((share * slack.as_secs_f64()) as u64).get(),
            ramp_from: between(config.ramp_from, config.wide_ramp_from),
            ramp_to: between(config.ramp_to, config.wide_ramp_to),
            target: config.target.as_nanos(),
            spared: match unsplit.is_contested {
                true => SPARED_CONTESTED,
                false => SPARED,
            },
        }
    }

    /// The share, byte/s; its capacity averaged where a report of it is by chance.
    fn rate(&mut self, unsplit: &Unsplit, elapsed: f64) -> f64 {
        let capacity = unsplit.capacity.as_bps() as f64 / 8.0;
        let share = unsplit.share.as_bps() as f64 / 8.0;
        let is_first = self.number == 0;
        let weight = |time: f64| match is_first {
            true => 1.0,
            false => elapsed / (elapsed + time),
        };
        let chance = match unsplit.is_by_chance {
            true => weight(CHANCE_TIME),
            false => 1.0,
        };
        self.capacity += chance * (capacity - self.capacity);
        let difference = (self.capacity - self.mean).abs();
        if !is_first {
            self.deviation += weight(SPREAD_TIME) * (difference - self.deviation);
        }
        self.mean += weight(SPREAD_TIME) * (self.capacity - self.mean);
        match capacity > 0.0 {
            true => share * self.capacity / capacity,
            false => 0.0,
        }
    }

    fn follow_own_wait(&mut self, unsplit: &Unsplit, elapsed: f64) {
        let weight = match self.number {
            0 => 1.0,
            _ => elapsed / (elapsed + SPREAD_TIME),
        };
        let found = unsplit.own_wait.min(MAX_OWN_WAIT).as_nanos() as f64;
        self.own_wait += weight * (found - self.own_wait);
    }

    /// How long what waits of the flows of the proxy takes, averaged.
    pub(super) fn own_wait(&self) -> Duration {
        Duration::from_nanos(self.own_wait as u64)
    }

    /// Standard deviation of the capacity over its mean.
    fn spread(&self) -> f64 {
        match self.mean > 0.0 {
            true => NORMAL * self.deviation / self.mean,
            false => 0.0,
        }
    }
}

/// Byte/s as bytes in 2^24 ns; rounds to the nearest, at most 1.02 Tbit/s.
fn drain(rate: f64) -> u64 {
    let drain = rate * f64::from(1_u32 << DRAIN_SHIFT) / 1e9;
    (drain.round() as u64).min(MAX_DRAIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    fn unsplit(mbps: u64, ms: u64) -> Unsplit {
        Unsplit {
            capacity: BitRate::from_mbps(mbps),
            share: BitRate::from_mbps(mbps / 2),
            is_contested: false,
            queue: Bytes::new(7_000),
            reported_at: Instant::ZERO + Duration::from_millis(ms),
            own_wait: Duration::ZERO,
            is_by_chance: false,
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn an_order_has_the_share_the_queue_and_the_times() {
        let config = MarkerConfig {
            rate_fraction: 1.0,
            ..MarkerConfig::default()
        };
        let mut reporter = Reporter::default();
        let order = reporter.order(at(12), &unsplit(16, 10), &config);
        let ms = |ms: u64| ms * 1_000_000;
        assert_eq!(
            order,
            Order {
                number: 1,
                counted_until: ms(9),
                valid_until: ms(110),
                // 1 MB/s
                drain: 16_777,
                queue: 7_000,
                slack: 5_000,
                ramp_from: ms(8),
                ramp_to: ms(16),
                target: ms(18),
                spared: 4,
            }
        );
        let contested = Unsplit {
            is_contested: true,
            ..unsplit(16, 11)
        };
        let order = reporter.order(at(13), &contested, &config);
        assert_eq!((order.number, order.slack, order.spared), (2, 100_000, 7));
    }

    #[test]
    fn the_ramp_begins_beyond_what_waits_of_the_proxys_flows() {
        let ramp = |own| {
            let of = Unsplit {
                is_contested: true,
                own_wait: Duration::from_millis(own),
                ..unsplit(16, 10)
            };
            let order = Reporter::default().order(at(12), &of, &MarkerConfig::default());
            [order.ramp_from, order.ramp_to, order.target].map(|ns| ns / 1_000_000)
        };
        assert_eq!(ramp(9), [17, 25, 18]);
        assert_eq!(ramp(500), [28, 36, 18], "20 ms at the most");
    }

    #[test]
    fn a_radio_that_varies_has_the_wide_ramp() {
        let ramp = |rates: [u64; 2]| {
            let mut reporter = Reporter::default();
            let config = MarkerConfig::default();
            let orders = (0..2_000).map(|ms| {
                let rate = rates[ms as usize / 20 % 2];
                reporter.order(at(ms + 1), &unsplit(rate, ms), &config)
            });
            let last = orders.last().expect("some");
            [last.ramp_from, last.ramp_to].map(|ns| ns / 1_000)
        };
        assert_eq!(ramp([16, 16]), [8_000, 16_000]);
        assert_eq!(ramp([8, 24]), [8_000, 24_000]);
        let [from, to] = ramp([14, 18]);
        assert!(from == 8_000 && (16_001..24_000).contains(&to), "{to}");
    }

    #[test]
    fn a_rate_that_is_by_chance_is_averaged() {
        let mut reporter = Reporter::default();
        let config = MarkerConfig {
            rate_fraction: 1.0,
            ..MarkerConfig::default()
        };
        let mut drains = Vec::new();
        for ms in 0..200 {
            let of = Unsplit {
                is_by_chance: true,
                ..unsplit(if ms % 2 == 0 { 32 } else { 64 }, ms)
            };
            drains.push(reporter.order(at(ms), &of, &config).drain);
        }
        // 24 Mbit/s on average: 3 MB/s
        let last = &drains[150..];
        let is_near = |drain: &u64| (45_000..56_000).contains(drain);
        assert!(last.iter().all(is_near), "{last:?}");
    }

    #[test]
    fn rates_of_nothing_and_of_a_terabit_have_a_drain() {
        assert_eq!(drain(0.0), 0);
        assert_eq!(drain(f64::NAN), 0);
        assert_eq!(drain(1e30), MAX_DRAIN);
        assert_eq!(drain(1.25e11), 2_097_152_000);
    }
}
